// SPDX-License-Identifier: MIT OR Apache-2.0
//! `C = A·B` in f16 with sums in f32, dense and with two numbers in every four columns of A, by
//! asynchronous products of warpgroups. The page `docs/explanation/warpgroup-product.md` grows it step by step.
//! `cargo test` runs the kernels in the emulator, `cargo run --release -- 8192` on a Hopper.

mod kernel;
#[cfg(not(target_arch = "nvptx64"))]
mod operands;

use cuda_std::host_only;

/// Measures a kernel on a GPU, and checks what it computed.
#[host_only]
fn measure<K: cuda_std::Kernel<Parameters = (kernel::MatrixProduct,)>>(
    gpu: &cuda_driver::Gpu,
    shape: kernel::TileShape,
    size: usize,
) -> Result<(), cuda_driver::Error> {
    use cuda_driver::{ElementType, Extents, L2Promotion, Swizzle, TensorMap2d};

    let operands = operands::Operands::random([size; 3], shape);
    let arrays = [gpu.upload(&operands.kept)?, gpu.upload(&operands.b)?];
    let metadata = gpu.upload(&operands.metadata)?;
    let map = |at: usize, swizzle| {
        let [width, height, box_width, box_height] = operands.boxes()[at];
        let map = TensorMap2d {
            element: ElementType::F16,
            width: width.into(),
            height: height.into(),
            row_bytes: 2 * u64::from(width),
            box_width,
            box_height,
            l2_promotion: L2Promotion::Bytes256,
            swizzle,
        };
        gpu.upload(&[map.encode(arrays[at].as_ptr())?])
    };
    let maps = [map(0, shape.swizzle())?, map(1, Swizzle::Bytes128)?];
    let [a, b] = [maps[0].as_ptr().cast(), maps[1].as_ptr().cast()];
    let mut c = gpu.zeros::<u16>(size * size)?;
    let (metadata, to) = (metadata.as_ptr().cast(), c.as_mut_ptr().cast());
    let ([height, width, steps], band) = (operands.extents, if shape.sparse { 16 } else { 8 });
    let work = kernel::MatrixProduct { a, b, metadata, c: to, height, width, steps, band };
    let (blocks, threads) = (gpu.multiprocessors()?.min(height * width), kernel::THREADS);
    let extents = Extents { blocks, threads, shared_bytes: shape.shared_bytes() };
    let kernels = gpu.load(cuda_driver::kernels!())?;
    // SAFETY: the operands are laid out as the kernels have it, and C has room for the product.
    let launch = || unsafe { kernels.launch::<K>(extents, (work,)) };
    let times = (0..11).map(|_| gpu.milliseconds(|| (0..10).try_for_each(|_| launch())));
    let mut times = times.collect::<Result<Vec<f32>, _>>()?;
    times.sort_by(f32::total_cmp);
    operands.check(&c.read()?, Some(4000));
    let [best, median] = [0, 5].map(|at| 2e-8 * (size as f64).powi(3) / f64::from(times[at]));
    println!("{}: right; {best:.0} TFLOP/s at best, {median:.0} in the middle", K::NAME);
    Ok(())
}

#[host_only]
fn main() -> Result<(), cuda_driver::Error> {
    let size = std::env::args().nth(1).map_or(8192, |size| size.parse().expect("a number"));
    let gpu = cuda_driver::Gpu::open()?;
    println!("{}, {size}³; 4000 elements of each product are compared with f64", gpu.name());
    measure::<kernel::dense>(&gpu, kernel::DENSE, size)?;
    measure::<kernel::sparse>(&gpu, kernel::SPARSE, size)
}

#[cfg(test)]
mod tests;
