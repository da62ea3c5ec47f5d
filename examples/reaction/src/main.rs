// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function of one's own inside a kernel on sparse tensor cores. What spreads and grows, u' = S(u) + dt·u·(1 − u)
//! (Fisher, KPP), is one pass through memory: the tensor cores sum, the function finishes the sum in registers.
//!
//! `cargo test` runs the kernel in the emulator, on any machine; `cargo run --release` on a GPU, and
//! `cargo run --release -- --bench 10240` measures there what the function costs.

use cuda_std::{host_only, kernel};
use kernels_gpu::half::F16;
use kernels_gpu::pointwise::{Identity, Point, Pointwise};
use kernels_gpu::sweep2d::{AppliedStep, step};

#[cfg(not(target_arch = "nvptx64"))]
mod gpu;
#[cfg(not(target_arch = "nvptx64"))]
mod plate;

/// Logistic growth for a time `dt`.
#[derive(Clone, Copy)]
pub struct Growth {
    /// The time, in units in which the growth rate is 1.
    pub dt: f32,
}

impl Pointwise for Growth {
    #[inline(always)]
    fn apply(self, sum: f32, centre: f32, _: Point) -> f32 {
        sum + self.dt * centre * (1.0 - centre)
    }
}

/// A step of what spreads and grows.
///
/// # Safety
/// As [`step`] has it, for f16 and radius 1.
#[kernel(registers = 96)]
pub unsafe fn reaction(launch: AppliedStep, dt: f32) {
    // SAFETY: as the caller promises.
    unsafe { step::<F16, 1, _>(&launch, Growth { dt }) }
}

/// A step of what spreads without growing, to compare `reaction` with.
///
/// # Safety
/// The launch has the threads and the dynamic shared memory that [`step`] asks for. Input and output are two
/// different arrays of f16 numbers, laid out as in `kernels_gpu::layout`, which nothing else writes. `fragments` is an
/// operand of f16 and radius 1.
#[kernel(registers = 96)]
pub unsafe fn diffusion(launch: AppliedStep) {
    // SAFETY: as the caller promises.
    unsafe { step::<F16, 1, _>(&launch, Identity) }
}

#[host_only]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => gpu::front(),
        ["--bench"] => gpu::bench(10240),
        ["--bench", size] => gpu::bench(size.parse()?),
        _ => Err("no arguments, or --bench [SIZE]".into()),
    }
}

#[cfg(test)]
mod tests;
