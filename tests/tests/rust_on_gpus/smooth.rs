// SPDX-License-Identifier: MIT OR Apache-2.0
// What stands below the kernel `smooth` of docs/explanation/rust-on-gpus.md in its `main.rs`: a launch, a test.

#[host_only]
fn main() -> Result<(), cuda_driver::Error> {
    let gpu = cuda_driver::Gpu::open()?;
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let from: Vec<f32> = (0..1_000_003u32).map(|i| (i % 7) as f32 * 3.0).collect();
    let (n, input) = (1_000_003, gpu.upload(&from)?);
    let mut to = gpu.zeros(from.len())?;
    let (blocks, threads, shared_bytes) = (u32::div_ceil(n, THREADS), THREADS, SHARED_BYTES);
    let extents = cuda_driver::Extents { blocks, threads, shared_bytes };
    // SAFETY: two arrays of `n` numbers, and a thread for each.
    unsafe { kernels.launch::<smooth>(extents, (input.as_ptr(), to.as_mut_ptr(), n))? };
    assert_eq!(to.read()?, means(&from));
    println!("{} has smoothed {n} numbers", gpu.name());
    Ok(())
}

/// What the kernel makes, by a loop.
#[host_only]
fn means(from: &[f32]) -> Vec<f32> {
    let around = [&[0.0], from, &[0.0]].concat();
    around.windows(3).map(|three| (three[0] + three[1] + three[2]) / 3.0).collect()
}

#[cfg(test)]
mod tests {
    use super::{SHARED_BYTES, THREADS, means, smooth};
    use cuda_sim::{LaunchConfig, Memory, launch};

    #[test]
    fn each_number_becomes_the_mean_of_three() {
        for n in [1u32, 127, 128, 129, 1000] {
            let from: Vec<f32> = (0..n).map(|i| (i % 7) as f32 * 3.0).collect();
            let (blocks, threads, shared_bytes) = (n.div_ceil(THREADS), THREADS, SHARED_BYTES);
            for seed in 0..4 {
                let mut memory = Memory::new();
                let (input, to) = (memory.input("from", &from), memory.output("to", n as usize));
                let config =
                    LaunchConfig { blocks, threads, shared_bytes, seed, ..LaunchConfig::default() };
                launch("smooth", config, &mut memory, || {
                    // SAFETY: two arrays of `n` numbers, and a thread for each.
                    unsafe { smooth(input.as_ptr(), to.as_mut_ptr(), n) }
                })
                .unwrap_or_else(|fault| panic!("{fault}"));
                assert_eq!(memory.read(to), means(&from));
            }
        }
    }
}
