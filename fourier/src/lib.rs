// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans of Fourier transforms in f64, made by `rustfft` and `realfft`. Both crates are generic: in each crate that
//! makes a plan, the compiler translates all of their algorithms. This crate makes the plans, so that it does so once.

use std::sync::Arc;

use realfft::RealFftPlanner;
pub use realfft::{ComplexToReal, RealToComplex};
pub use rustfft::Fft;
use rustfft::FftPlanner;

/// Makes plans, and keeps what they share.
pub struct Planner {
    real: RealFftPlanner<f64>,
    complex: FftPlanner<f64>,
}

impl Default for Planner {
    fn default() -> Self {
        Self::new()
    }
}

impl Planner {
    /// One that has made none.
    #[must_use]
    pub fn new() -> Self {
        Self { real: RealFftPlanner::new(), complex: FftPlanner::new() }
    }

    /// The transforms of lines of so many real values, there and back, without a factor.
    pub fn real(
        &mut self,
        length: usize,
    ) -> (Arc<dyn RealToComplex<f64>>, Arc<dyn ComplexToReal<f64>>) {
        (self.real.plan_fft_forward(length), self.real.plan_fft_inverse(length))
    }

    /// The transforms of lines of so many complex values, there and back, without a factor.
    pub fn complex(&mut self, length: usize) -> (Arc<dyn Fft<f64>>, Arc<dyn Fft<f64>>) {
        (self.complex.plan_fft_forward(length), self.complex.plan_fft_inverse(length))
    }
}
