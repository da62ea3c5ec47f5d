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

/// All elements, in two orders of events, of more tiles than blocks and more stages than the ring has.
#[cfg(test)]
#[test]
fn products_are_those_of_the_matrices() {
    use cuda_sim::{Chip, LaunchConfig, Memory, OnChip as _, Swizzle, TensorMap, launch};
    use kernel::*;

    for (shape, size) in [(DENSE, [768, 256, 320]), (SPARSE, [384, 512, 384])] {
        let operands = operands::Operands::random(size, shape);
        let mut memory = Memory::new();
        let mut map = |at: usize, values: &[u16], swizzle| {
            let [width, height, box_width, box_height] = operands.boxes()[at];
            let address = memory.input(["a", "b"][at], values).as_ptr().cast();
            let (dims, strides) = (vec![width.into(), height.into()], vec![2 * u64::from(width)]);
            let box_dims = vec![box_width, box_height];
            let map = TensorMap { address, element_bytes: 2, dims, strides, box_dims, swizzle };
            memory.tensor_map(map).unwrap()
        };
        let a = map(0, &operands.kept, shape.swizzle());
        let b = map(1, &operands.b, Swizzle::Bytes128);
        let metadata = memory.input("metadata", &operands.metadata).as_ptr().cast();
        let [height, width, steps] = operands.extents;
        let (threads, shared_bytes) = (THREADS, shape.shared_bytes());
        memory.allow_shared("product", shared_bytes).unwrap();
        for seed in 0..2 {
            let out = memory.output::<u16>("c", size[0] * size[1]);
            let c = out.as_mut_ptr().cast();
            let work = MatrixProduct { a, b, metadata, c, height, width, steps, band: 2 };
            let config =
                LaunchConfig { blocks: 2, threads, shared_bytes, seed, ..LaunchConfig::default() };
            // SAFETY: the operands are laid out as the kernels have it.
            let kernel = || unsafe { if shape.sparse { sparse(work) } else { dense(work) } };
            let result = Chip::Sm90a.with(|| launch("product", config, &mut memory, kernel));
            result.unwrap_or_else(|fault| panic!("{fault}"));
            operands.check(&memory.read(out), None);
        }
    }
}
