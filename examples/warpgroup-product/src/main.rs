// SPDX-License-Identifier: MIT OR Apache-2.0
//! `C = A·B` in f16 with sums in f32, dense and with two numbers in every four columns of A, by
//! asynchronous products of warpgroups. The page `docs/warpgroup-product.md` grows it step by step.
//! `cargo test` runs the kernels in the emulator, `cargo run --release -- 8192` on a Hopper.

mod kernel;
#[cfg(not(target_arch = "nvptx64"))]
mod operands;

use cuda_std::host_only;

/// Checks a kernel on a GPU, and measures it.
#[host_only]
fn measure<K: cuda_std::Kernel<Parameters = (kernel::Work,)>>(
    gpu: &cuda_driver::Gpu,
    shape: kernel::Shape,
    size: usize,
) -> Result<(), cuda_driver::Error> {
    use cuda_driver::{ElementType::F16, Extents, L2Promotion, Swizzle, TensorMap2d};

    let kernels = gpu.load(cuda_driver::kernels!())?;
    let operands = operands::Operands::random([size; 3], shape);
    let (a, b) = (gpu.upload(&operands.a)?, gpu.upload(&operands.b)?);
    let map = |at: usize, address: *const u16, swizzle| {
        let [width, height, box_width, box_height] = operands.boxes()[at];
        let (row_bytes, l2_promotion) = (2 * u64::from(width), L2Promotion::Bytes256);
        let (element, width, height) = (F16, width.into(), height.into());
        #[rustfmt::skip]
        let map = TensorMap2d {
            element, width, height, row_bytes, box_width, box_height, l2_promotion, swizzle,
        };
        gpu.upload(&[map.encode(address)?])
    };
    let maps = [map(0, a.as_ptr(), shape.swizzle())?, map(1, b.as_ptr(), Swizzle::Bytes128)?];
    let [a, b] = [maps[0].as_ptr().cast(), maps[1].as_ptr().cast()];
    let metadata = gpu.upload(&operands.metadata)?;
    let mut c = gpu.zeros::<u16>(size * size)?;
    let [height, width, steps] = operands.extents();
    let blocks = gpu.multiprocessors()?.min(height * width);
    let extents = Extents { blocks, threads: kernel::THREADS, shared_bytes: shape.shared_bytes() };
    let (metadata, to) = (metadata.as_ptr().cast(), c.as_mut_ptr().cast());
    let work = kernel::Work { a, b, metadata, c: to, height, width, steps, band: shape.band };
    // SAFETY: the operands are laid out as the kernels have it, and C has room for the product.
    let launch = || unsafe { kernels.launch::<K>(extents, (work,)) };
    launch()?;
    operands.check_some(&c.read()?, 4000);
    let times = (0..10).map(|_| gpu.milliseconds(|| (0..10).try_for_each(|_| launch())));
    let mut times = times.collect::<Result<Vec<f32>, _>>()?;
    times.sort_by(f32::total_cmp);
    operands.check_some(&c.read()?, 4000);
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
mod tests {
    use super::{kernel::*, operands::Operands};
    use cuda_sim::{Chip, Config, Memory, OnChip as _, Swizzle, TensorMap, launch};

    /// Runs a kernel on random operands, in as many orders of events as there are seeds.
    fn check(kernel: unsafe fn(Work), shape: Shape, size: [usize; 3], blocks: u32, seeds: u64) {
        let operands = Operands::random(size, shape);
        let mut memory = Memory::new();
        let mut map = |at: usize, values: &[u16], swizzle| {
            let [width, height, box_width, box_height] = operands.boxes()[at];
            let address = memory.input(["a", "b"][at], values).as_ptr().cast();
            let (dims, strides) = (vec![width.into(), height.into()], vec![2 * u64::from(width)]);
            let box_dims = vec![box_width, box_height];
            let map = TensorMap { address, element_bytes: 2, dims, strides, box_dims, swizzle };
            memory.tensor_map(map).unwrap()
        };
        let a = map(0, &operands.a, shape.swizzle());
        let b = map(1, &operands.b, Swizzle::Bytes128);
        let metadata = memory.input("metadata", &operands.metadata).as_ptr().cast();
        let [height, width, steps] = operands.extents();
        let shared_bytes = shape.shared_bytes();
        Chip::Sm90a.with(|| {
            memory.allow_shared("product", shared_bytes).unwrap();
            for seed in 0..seeds {
                let out = memory.output::<u16>("c", size[0] * size[1]);
                let c = out.as_mut_ptr().cast();
                let work = Work { a, b, metadata, c, height, width, steps, band: 2 };
                let (threads, rest) = (THREADS, Config::default());
                let config = Config { blocks, threads, shared_bytes, seed, ..rest };
                // SAFETY: the operands are laid out as the kernel has it.
                launch("product", config, &mut memory, || unsafe { kernel(work) })
                    .unwrap_or_else(|fault| panic!("{fault}"));
                let c = memory.read(out);
                let place = |at| (at / size[1], at % size[1]);
                (0..c.len()).map(place).for_each(|(row, column)| operands.check(&c, row, column));
            }
        });
    }

    #[test]
    fn products_are_those_of_the_matrices() {
        check(dense, DENSE, [768, 256, 320], 2, 2);
        check(sparse, SPARSE, [384, 512, 384], 2, 2);
    }
}
