// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sum of many numbers: each thread sums some, shuffles sum those of a warp, shared memory those of a
//! block, and a second launch those of the grid.
//!
//! `cargo test` runs the kernel in the emulator, on any machine; `cargo run` on a GPU.

use cuda_std::{global, host_only, kernel, shared, thread, warp};

/// Threads of a block: whole warps.
pub const THREADS: u32 = 256;
/// Warps of a block, one shared word for each.
pub const WARPS: u32 = THREADS / warp::SIZE;
/// Shared memory of a block.
pub const SHARED_BYTES: u32 = 4 * WARPS;

const _: () = assert!(WARPS <= warp::SIZE, "one warp sums what all warps found");

/// The sum of `n` numbers in as many pieces as there are blocks.
///
/// # Safety
/// There are `n` numbers and room for as many `sums` as there are blocks, which nobody else uses. Blocks
/// have [`THREADS`] threads and [`SHARED_BYTES`] of shared memory.
#[kernel]
pub unsafe fn sum(numbers: *const f32, n: u64, sums: *mut f32) {
    // SAFETY: threads read their own places below `n`; a word of shared memory is written by one warp and
    // read after the block's barrier; all lanes of a warp take the same branches around shuffles.
    unsafe {
        let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
        let block = thread::block_idx_x();
        let stride = u64::from(thread::grid_dim_x() * THREADS);
        let mut i = u64::from(block * THREADS + thread);
        let mut sum = 0.0;
        while i < n {
            sum += global::load_f32(numbers.add(i as usize));
            i += stride;
        }

        let of_warp = sum_of_warp(sum);
        let words = shared::dynamic();
        if lane == 0 {
            shared::store(words.offset(thread / warp::SIZE * 4), of_warp.to_bits());
        }
        thread::sync_threads();
        if thread < warp::SIZE {
            let of_warp = if lane < WARPS { shared::load(words.offset(lane * 4)) } else { 0 };
            let of_block = sum_of_warp(f32::from_bits(of_warp));
            if lane == 0 {
                global::store_f32(sums.add(block as usize), of_block);
            }
        }
    }
}

/// The sum of a number of each lane, in lane 0. Lane by lane, half as many count in each round.
///
/// # Safety
/// All 32 lanes execute it.
#[inline(always)]
unsafe fn sum_of_warp(mut sum: f32) -> f32 {
    let mut distance = warp::SIZE / 2;
    while distance > 0 {
        // SAFETY: the caller promises all lanes.
        sum += f32::from_bits(unsafe { warp::shuffle_down(sum.to_bits(), distance) });
        distance /= 2;
    }
    sum
}

#[host_only]
fn sum_on_gpu(numbers: &[f32]) -> Result<f32, cuda_driver::Error> {
    /// Blocks that read the numbers: a few for each multiprocessor of a large GPU.
    const BLOCKS: u32 = 1024;

    let gpu = cuda_driver::Gpu::open()?;
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let extents =
        |blocks| cuda_driver::Extents { blocks, threads: THREADS, shared_bytes: SHARED_BYTES };
    let numbers = gpu.upload(numbers)?;
    let mut sums = gpu.zeros(BLOCKS as usize)?;
    let mut total = gpu.zeros(1)?;
    // SAFETY: the arrays have as many numbers as is said, and room for one from each block.
    unsafe {
        let n = numbers.len() as u64;
        kernels.launch::<sum>(extents(BLOCKS), (numbers.as_ptr(), n, sums.as_mut_ptr()))?;
        let n = u64::from(BLOCKS);
        kernels.launch::<sum>(extents(1), (sums.as_ptr(), n, total.as_mut_ptr()))?;
    }
    let total = total.read()?[0];
    println!("the sum of {} numbers on {} is {total}", numbers.len(), gpu.name());
    Ok(total)
}

#[host_only]
fn main() -> Result<(), cuda_driver::Error> {
    // Small whole numbers, so that f32 sums are exact in any order.
    let numbers: Vec<f32> = (0..5_000_011u32).map(|i| (i % 7) as f32 - 2.0).collect();
    let total = sum_on_gpu(&numbers)?;
    assert_eq!(total, numbers.iter().sum::<f32>(), "the GPU and the CPU agree");
    println!("it is right");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{SHARED_BYTES, THREADS, sum};
    use cuda_sim::{LaunchConfig, Memory, Module, launch};

    #[test]
    fn the_kernel_sums_every_number_once() {
        // What the GPU gets, if there was a compiler for it.
        let code = cuda_driver::kernels!().codes().next();
        let module = code.map(|code| Module::read(&code.ptx()).expect("PTX"));
        for (n, blocks) in [(0, 1), (1, 1), (255, 1), (256, 2), (5000, 3)] {
            let numbers: Vec<f32> = (0..n).map(|i| (i % 7) as f32 - 2.0).collect();
            let mut memory = Memory::new();
            let input = memory.input("numbers", &numbers);
            // Each seed is another order of events. Every access is checked: bounds, races, …
            for seed in 0..4 {
                let sums = memory.output("sums", blocks as usize);
                let (threads, shared_bytes) = (THREADS, SHARED_BYTES);
                let config =
                    LaunchConfig { blocks, threads, shared_bytes, seed, ..LaunchConfig::default() };
                launch("sum", config, &mut memory, || {
                    // SAFETY: `n` numbers, and room for one from each block.
                    unsafe { sum(input.as_ptr(), n, sums.as_mut_ptr()) }
                })
                .unwrap_or_else(|fault| panic!("{fault}"));
                let total: f32 = memory.read(sums).into_iter().sum();
                assert_eq!(total, numbers.iter().sum::<f32>(), "{n} numbers, {blocks} blocks");
                let Some(module) = &module else { continue };
                let sums = memory.output("sums", blocks as usize);
                let parameters = (input.as_ptr(), n, sums.as_mut_ptr());
                let executed = module.launch::<sum>(config, &mut memory, parameters);
                executed.unwrap_or_else(|fault| panic!("PTX: {fault}"));
                let total: f32 = memory.read(sums).into_iter().sum();
                assert_eq!(total, numbers.iter().sum::<f32>(), "PTX: {n} numbers");
            }
        }
    }
}
