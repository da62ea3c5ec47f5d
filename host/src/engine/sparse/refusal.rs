// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a schedule is not taken.

use crate::memory::Bytes;
use thiserror::Error;

/// Why a family of kernels does not compute a job with some depths.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refusal {
    /// It has no kernel for the stencil, the type and the depths.
    #[error("{0}")]
    Kernel(String),
    /// Another kernel is faster than this one can be; seconds of a step.
    #[error(
        "not laid out: with the fewest products that its weights fit, it takes {least:.2e} s a step, \
         another kernel {other:.2e} s"
    )]
    Slower {
        /// What it takes at least.
        least: f64,
        /// What the other takes.
        other: f64,
    },
    /// The chip is too old for the kernel.
    #[error("the kernel for it needs sm_90 or later")]
    Chip,
    /// A block needs more shared memory than a multiprocessor has.
    #[error(
        "a block of the kernel for it needs {} of shared memory; the GPU has {}",
        Bytes((*.needed).into()),
        Bytes((*.has).into())
    )]
    SharedMemory {
        /// Bytes of a block.
        needed: u32,
        /// Bytes that a block can have.
        has: u32,
    },
    /// The kernel does not take the extents of the grid.
    #[error("{0}")]
    Grid(String),
    /// What it gets wrong near the boundary cannot be computed again.
    #[error("{0}")]
    Frame(String),
}

impl Refusal {
    /// How many questions the kernel had answered: the more, the nearer it was to being taken.
    #[must_use]
    pub fn passed(&self) -> usize {
        match self {
            Self::Kernel(_) => 0,
            Self::Slower { .. } => 1,
            Self::Chip => 2,
            Self::SharedMemory { .. } => 3,
            Self::Grid(_) => 4,
            Self::Frame(_) => 5,
        }
    }
}
