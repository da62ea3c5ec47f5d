// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of a sweep (SparStencil §3.3, equations 6 to 10): the slowest of tensor cores, shared
//! memory and global memory.
//!
//! Equation 10 counts the bytes of B' written to and read from shared memory. Here the grid itself
//! lies there, each point once, and a lookup table takes the place of B': written are the points, read
//! is what the loads of the fragments need, in wavefronts, bank conflicts and reuse in registers
//! included. What the schedulers issue counts too.

use crate::lookup::{BANKS, WORD};
use crate::machine::{Machine, SUB_CORES};
use cuda_mma::fragment::{M, N, SparseMma};
use serde::{Deserialize, Serialize};

/// What a layout does for the outputs of one warp-wide product: 8 tiles side by side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProductWork {
    /// The instruction.
    pub mma: SparseMma,
    /// Whether A is sparse. A dense instruction is half as deep as the sparse one with as many words.
    pub sparse: bool,
    /// Outputs of a tile along z, y and x.
    pub factors: [usize; 3],
    /// Instructions: ⌈k''/K⌉ for tiles of up to 16 outputs.
    pub instructions: usize,
    /// Instructions that load B, those for addresses included.
    pub issued: usize,
    /// Wavefronts of the loads of B.
    pub wavefronts: usize,
}

/// Seconds of a sweep, by what they are spent on; these overlap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// Tensor cores (equation 7).
    pub compute: f64,
    /// Shared memory (second part of equation 8).
    pub shared: f64,
    /// Schedulers: one instruction of a warp a cycle each.
    pub issue: f64,
    /// Global memory: the grid read once and written once (first part of equation 8).
    pub global: f64,
}

impl Time {
    /// Equation 6.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.compute.max(self.shared).max(self.issue).max(self.global)
    }

    /// What the sweep waits for.
    #[must_use]
    pub fn bound(&self) -> Bound {
        let total = self.total();
        if self.global == total {
            Bound::Global
        } else if self.compute == total {
            Bound::Compute
        } else if self.issue == total {
            Bound::Issue
        } else {
            Bound::Shared
        }
    }

    /// Work that does not overlap with copying the grid: which of two layouts at the memory limit
    /// leaves more room.
    #[must_use]
    pub fn pressure(&self) -> f64 {
        self.compute + self.shared + self.issue
    }
}

/// The part of a sweep that takes longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Global memory.
    Global,
    /// Arithmetic.
    Compute,
    /// Shared memory.
    Shared,
    /// Instructions issued.
    Issue,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Global => "memory",
            Self::Compute => "compute",
            Self::Shared => "shared memory",
            Self::Issue => "issue",
        })
    }
}

/// The time of a sweep over a grid of extents (z, y, x); `None` where the machine has no sparse units
/// for the type.
#[must_use]
pub fn time(machine: &Machine, extents: [usize; 3], work: &ProductWork) -> Option<Time> {
    let [nz, ny, nx] = extents;
    let [rz, ry, rx] = work.factors;
    // n'/N of equation 9.
    let products = (nz.div_ceil(rz) * ny.div_ceil(ry) * nx.div_ceil(rx).div_ceil(N)) as f64;
    let bytes = (extents.iter().product::<usize>() * work.mma.element.bytes()) as f64;
    let read = products * work.wavefronts as f64;
    let written = bytes / (BANKS * WORD) as f64;
    let rates = machine.rates(work.mma.element.into());
    let (peak, depth) =
        if work.sparse { (rates.sparse?, work.mma.k) } else { (rates.dense, work.mma.kept()) };
    let flop = (2 * M * N * depth * work.instructions) as f64;
    let issued = (work.instructions + work.issued) as f64;
    Some(Time {
        compute: products * flop / peak,
        // A wavefront of shared memory a cycle and multiprocessor.
        shared: (read + written) / machine.multiprocessor_cycles_per_s(),
        issue: products * issued / (SUB_CORES * machine.multiprocessors) as f64 / machine.clock_hz,
        global: global(machine, extents, work.mma.element.bytes()),
    })
}

/// The memory limit: the time to read and write a grid once.
#[must_use]
pub fn global(machine: &Machine, extents: [usize; 3], bytes: usize) -> f64 {
    (2 * extents.iter().product::<usize>() * bytes) as f64 / machine.copy_bytes_per_s
}

impl ProductWork {
    /// Outputs of the 8 tiles.
    #[must_use]
    pub fn outputs(&self) -> usize {
        N * self.factors.iter().product::<usize>()
    }

    /// Instructions for 128 outputs: what a full fragment yields.
    #[must_use]
    pub fn instructions_per_128_outputs(&self) -> f64 {
        (self.instructions * M * N) as f64 / self.outputs() as f64
    }

    /// Multiply-adds that the tensor cores do for an output, those with zeros included: 16 rows times
    /// the kept half of K.
    #[must_use]
    pub fn macs_per_output(&self) -> f64 {
        (self.instructions * M * N * self.mma.kept()) as f64 / self.outputs() as f64
    }
}
