// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel for a stencil: which families there are, what they take, and how fast they are.

use crate::device::chain2d::Chain;
use crate::device::sweep2d::{Config, Sweep};
use crate::device::{Gpu, Pass};
use crate::{Dtype, Error, Shape};
use transform::Stencil;
use transform::window::window;

/// The most time steps that any kernel takes as one sum.
pub const MOST_FUSED: usize = 7;

/// The most sweeps that any kernel chains.
pub const MOST_CHAINED: usize = 4;

/// A kernel of `kernels-gpu`, for stencils of some radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// One sweep in 2D, radius 1 to 3.
    Sweep2d {
        /// Radius.
        radius: usize,
    },
    /// Chained sweeps in 2D, radius 1 to 3.
    Chain2d {
        /// Radius of each.
        radius: usize,
        /// How many.
        chain: usize,
    },
}

impl Kernel {
    /// Points per second, in 10^9, of a large grid on an H200 (`docs/performance.md`).
    pub fn speed(self) -> f64 {
        match self {
            Self::Sweep2d { .. } => 950.0,
            Self::Chain2d { radius, chain } => match (radius, chain) {
                (1, ..=2) => 880.0,
                (1, _) => 660.0,
                (2, ..=2) => 855.0,
                (2, 3) => 760.0,
                (2, _) => 665.0,
                (_, ..=2) => 780.0,
                (_, _) => 580.0,
            },
        }
    }

    /// Loads the operand of a (fused) stencil.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn pass(self, gpu: &Gpu, fused: &Stencil, shape: Shape) -> Result<Box<dyn Pass>, Error> {
        let [_, ny, nx] = shape.extents().map(|extent| extent as u32);
        let window = window(fused).expect("the kernel was chosen for it");
        Ok(match self {
            Self::Sweep2d { radius } => {
                let config = Config::tuned(radius);
                Box::new(Sweep::new(gpu, radius, &window.encode_f16(), ny, nx, config)?)
            }
            Self::Chain2d { chain, .. } => {
                let stages = kernels_gpu::chain2d::Stages { input: 4, ring: 4 };
                Box::new(Chain::new(gpu, &window, chain, ny, nx, None, stages)?)
            }
        })
    }
}

/// The fastest kernel for a (fused) stencil, `chain` sweeps at once; or why there is none.
///
/// # Errors
/// The reason.
pub fn kernel(fused: &Stencil, dtype: Dtype, chain: usize) -> Result<Kernel, String> {
    if dtype != Dtype::F16 {
        return Err(format!("it stores f16, not {dtype}"));
    }
    let radius = window(fused).map_err(|reason| reason.to_string())?.radius;
    if chain == 1 {
        return Ok(Kernel::Sweep2d { radius });
    }
    match kernels_gpu::chain2d::kernel(radius as u32, chain as u32) {
        Some(_) => Ok(Kernel::Chain2d { radius, chain }),
        None => Err(format!("no kernel chains {chain} sweeps of radius {radius}")),
    }
}
