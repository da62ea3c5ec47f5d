// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel for a stencil: which families there are, what they take, and how fast they are.

use crate::device::chain2d::Chain;
use crate::device::sweep2d::{Config, Sweep};
use crate::device::{Gpu, Pass};
use crate::{Dtype, Error, Shape};
use transform::Stencil;
use transform::fragment::Element;
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
        /// Element type.
        element: Element,
        /// Radius.
        radius: usize,
    },
    /// Chained sweeps in 2D, radius 1 to 3.
    Chain2d {
        /// Element type, of 16 bits.
        element: Element,
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
            // tf32 moves twice the bytes.
            Self::Sweep2d { element: Element::Tf32, .. } => 475.0,
            Self::Sweep2d { .. } => 950.0,
            Self::Chain2d { radius, chain, .. } => match (radius, chain) {
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
            Self::Sweep2d { element, radius } => {
                let config = Config::tuned(element, radius);
                Box::new(Sweep::new(gpu, radius, &window.encode(element), ny, nx, config)?)
            }
            Self::Chain2d { element, chain, .. } => {
                let stages = kernels_gpu::chain2d::Stages { input: 4, ring: 4 };
                Box::new(Chain::new(gpu, element, &window, chain, [ny, nx], None, stages)?)
            }
        })
    }
}

/// The fastest kernel for a (fused) stencil, `chain` sweeps at once; or why there is none.
///
/// # Errors
/// The reason.
pub fn kernel(fused: &Stencil, dtype: Dtype, chain: usize) -> Result<Kernel, String> {
    let Some(element) = dtype.factors() else {
        return Err(format!("it multiplies f16, bf16 or tf32, not {dtype}"));
    };
    let radius = window(fused).map_err(|reason| reason.to_string())?.radius;
    if chain == 1 {
        return Ok(Kernel::Sweep2d { element, radius });
    }
    match kernels_gpu::chain2d::kernel(element, radius as u32, chain as u32) {
        Some(_) => Ok(Kernel::Chain2d { element, radius, chain }),
        None => Err(format!("no kernel chains {chain} sweeps of radius {radius} in {dtype}")),
    }
}
