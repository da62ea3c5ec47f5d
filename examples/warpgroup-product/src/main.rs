// SPDX-License-Identifier: MIT OR Apache-2.0
//! `C = A·B` in f16 with sums in f32, dense and with two numbers in every four columns of A, by
//! asynchronous products of warpgroups. The page `docs/warpgroup-product.md` grows it step by step.
//!
//! `cargo test` runs the kernels in the emulator; `cargo run --release -- 8192` on a Hopper.

mod kernel;
#[cfg(not(target_arch = "nvptx64"))]
mod operands;

use cuda_std::host_only;

/// Measures all kernels that are called for on one pair of operands.
#[host_only]
fn measure(gpu: &cuda_driver::Gpu, size: usize, sparse: bool) -> Result<(), cuda_driver::Error> {
    use crate::kernel::*;
    use cuda_driver::{ElementType, Extents, L2Promotion, TensorMap2d};

    let kernels = gpu.load(cuda_driver::kernels!())?;
    let operands = operands::Operands::random([size; 3], sparse);
    let (a, b) = (gpu.upload(&operands.a)?, gpu.upload(&operands.b)?);
    let metadata = gpu.upload(&operands.metadata)?;
    let mut c = gpu.zeros::<u16>(size * size)?;
    let mut run = |name: &str, shape: Shape, dense: bool, wide: bool| {
        let swizzles = [shape.swizzle(), cuda_driver::Swizzle::Bytes128];
        let map = |at: usize, address| {
            let [width, height, box_width, box_height] = operands.boxes(shape)[at];
            let map = TensorMap2d {
                element: ElementType::F16,
                width: width as u64,
                height: height as u64,
                row_bytes: 2 * width as u64,
                box_width: box_width as u32,
                box_height: box_height as u32,
                l2_promotion: L2Promotion::Bytes256,
                swizzle: swizzles[at],
            };
            gpu.upload(&[map.encode(address)?])
        };
        let maps = [map(0, a.as_ptr())?, map(1, b.as_ptr())?];
        let [height, width, steps] = operands.extents(shape);
        let blocks = gpu.multiprocessors()?.min(height * width);
        let extents = Extents { blocks, threads: THREADS, shared_bytes: shape.shared_bytes() };
        for band in [4, 8, 16, 32] {
            c.clear()?;
            let work = Work {
                a: maps[0].as_ptr().cast(),
                b: maps[1].as_ptr().cast(),
                metadata: metadata.as_ptr().cast(),
                c: c.as_mut_ptr().cast(),
                height,
                width,
                steps,
                band,
            };
            // SAFETY: the operands are laid out as the kernels have it, and C has room for the product.
            let launch = || unsafe {
                match (dense, wide) {
                    (true, true) => kernels.launch::<dense_wide>(extents, (work,)),
                    (true, false) => kernels.launch::<dense_tall>(extents, (work,)),
                    (false, true) => kernels.launch::<sparse_wide>(extents, (work,)),
                    (false, false) => kernels.launch::<sparse_tall>(extents, (work,)),
                }
            };
            launch()?;
            operands.check_some(&c.read()?, 1000);
            let mut times = Vec::new();
            for _ in 0..10 {
                times.push(gpu.milliseconds(|| (0..10).try_for_each(|_| launch()))? / 10.0);
            }
            times.sort_by(f32::total_cmp);
            let teraflops = |time: f32| 2.0 * (size as f64).powi(3) / f64::from(time) / 1e9;
            let (best, median) = (teraflops(times[0]), teraflops(times[5]));
            println!("{name} {size} band {band}: best {best:.0}, median {median:.0} TFLOP/s");
        }
        Ok::<(), cuda_driver::Error>(())
    };
    if sparse {
        run("sparse_wide", SPARSE_WIDE, false, true)?;
        run("sparse_tall", SPARSE_TALL, false, false)
    } else {
        run("dense_wide", DENSE_WIDE, true, true)?;
        run("dense_tall", DENSE_TALL, true, false)
    }
}

#[host_only]
fn main() -> Result<(), cuda_driver::Error> {
    let size = std::env::args().nth(1).map_or(8192, |size| size.parse().expect("a number"));
    let gpu = cuda_driver::Gpu::open()?;
    println!("{}: 1000 elements of each product are compared with f64", gpu.name());
    measure(&gpu, size, false)?;
    measure(&gpu, size, true)
}

#[cfg(test)]
mod tests {
    use super::kernel::*;
    use super::operands::Operands;
    use cuda_sim::{Chip, Config, Memory, OnChip as _, Swizzle, TensorMap, launch};

    /// Runs a kernel on random operands, with as many orders of events as there are seeds.
    fn check(kernel: unsafe fn(Work), shape: Shape, size: [usize; 3], blocks: u32, seeds: u64) {
        let operands = Operands::random(size, shape.sparse);
        let [m, n, _] = size;
        let mut memory = Memory::new();
        let mut map = |at: usize, name, values: &[u16], swizzle| {
            let [width, height, box_width, box_height] = operands.boxes(shape)[at];
            let map = TensorMap {
                address: memory.input(name, values).as_ptr().cast(),
                element_bytes: 2,
                dims: vec![width as u64, height as u64],
                strides: vec![2 * width as u64],
                box_dims: vec![box_width as u32, box_height as u32],
                swizzle,
            };
            memory.tensor_map(map).unwrap()
        };
        let a = map(0, "a", &operands.a, shape.swizzle());
        let b = map(1, "b", &operands.b, Swizzle::Bytes128);
        let metadata = memory.input("metadata", &operands.metadata).as_ptr().cast();
        let [height, width, steps] = operands.extents(shape);
        Chip::Sm90a.with(|| {
            let shared_bytes = shape.shared_bytes();
            memory.allow_shared("product", shared_bytes).unwrap();
            for seed in 0..seeds {
                let out = memory.output::<u16>("c", m * n);
                let c = out.as_mut_ptr().cast();
                let work = Work { a, b, metadata, c, height, width, steps, band: 2 };
                let config =
                    Config { blocks, threads: THREADS, shared_bytes, seed, ..Config::default() };
                // SAFETY: the operands are laid out as the kernel has it.
                launch("product", config, &mut memory, || unsafe { kernel(work) })
                    .unwrap_or_else(|fault| panic!("{fault}"));
                let c = memory.read(out);
                for row in 0..m {
                    (0..n).for_each(|column| operands.check(&c, row, column));
                }
            }
        });
    }

    #[test]
    fn a_dense_product_is_that_of_the_matrices() {
        check(dense_wide, DENSE_WIDE, [384, 512, 320], 2, 2);
        check(dense_tall, DENSE_TALL, [512, 256, 192], 1, 1);
    }

    #[test]
    fn a_sparse_product_is_that_of_the_matrices() {
        check(sparse_wide, SPARSE_WIDE, [384, 512, 384], 2, 2);
        check(sparse_tall, SPARSE_TALL, [512, 256, 192], 1, 1);
    }
}
