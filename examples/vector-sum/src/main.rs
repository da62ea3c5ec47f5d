// SPDX-License-Identifier: MIT OR Apache-2.0
//! `c = a + b`: the whole of a program with a kernel.
//!
//! `cargo test` runs the kernel in the emulator, on any machine; `cargo run` on a GPU.

use cuda_std::{global, host_only, kernel, thread};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Adds two arrays of `n` numbers; each thread adds one pair.
///
/// # Safety
/// `a` and `b` have `n` numbers, `c` has room for `n`, and nobody else uses it. Blocks have [`THREADS`]
/// threads, and there are enough of them.
#[kernel]
pub unsafe fn add(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    // SAFETY: the threads beyond the arrays access nothing, the others a place each.
    unsafe {
        let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        if i < n {
            let i = i as usize;
            let sum = global::load_f32(a.add(i)) + global::load_f32(b.add(i));
            global::store_f32(c.add(i), sum);
        }
    }
}

#[host_only]
fn sum_on_gpu(a: &[f32], b: &[f32]) -> Result<Vec<f32>, cuda_driver::Error> {
    let gpu = cuda_driver::Gpu::open()?;
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let n = u32::try_from(a.len()).expect("fewer than 2^32 numbers");
    let (a, b) = (gpu.upload(a)?, gpu.upload(b)?);
    let mut c = gpu.zeros(a.len())?;
    let extents =
        cuda_driver::Extents { blocks: n.div_ceil(THREADS), threads: THREADS, shared_bytes: 0 };
    // SAFETY: three arrays of `n` numbers, and a thread for each.
    unsafe { kernels.launch::<add>(extents, (a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), n))? };
    let sums = c.read()?;
    println!("{} sums on {}", sums.len(), gpu.name());
    Ok(sums)
}

#[host_only]
fn main() -> Result<(), cuda_driver::Error> {
    let a: Vec<f32> = (0..1_000_003u32).map(|i| i as f32).collect();
    let b: Vec<f32> = a.iter().map(|a| 0.5 * a + 1.0).collect();
    let sums = sum_on_gpu(&a, &b)?;
    assert!(a.iter().zip(&b).map(|(a, b)| a + b).eq(sums), "the GPU and the CPU agree");
    println!("all are right");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{THREADS, add};
    use cuda_sim::{LaunchConfig, Memory, launch};

    #[test]
    fn the_kernel_adds_and_touches_nothing_else() {
        for n in [1u32, 255, 256, 1000] {
            let numbers = |scale: f32| (0..n).map(|i| i as f32 * scale).collect::<Vec<_>>();
            let mut memory = Memory::new();
            let (a, b) = (memory.input("a", &numbers(0.25)), memory.input("b", &numbers(-2.0)));
            // Each seed is another order of events. Every access is checked: bounds, races, …
            for seed in 0..4 {
                let c = memory.output("c", n as usize);
                let blocks = n.div_ceil(THREADS);
                let config =
                    LaunchConfig { blocks, threads: THREADS, seed, ..LaunchConfig::default() };
                launch("add", config, &mut memory, || {
                    // SAFETY: three arrays of `n` numbers, and a thread for each.
                    unsafe { add(a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), n) }
                })
                .unwrap_or_else(|fault| panic!("{fault}"));
                assert_eq!(memory.read(c), numbers(-1.75));
            }
        }
    }
}
