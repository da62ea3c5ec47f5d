// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shape of a launch, and what it did.

use std::collections::BTreeMap;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks of the grid; along x, if it has several dimensions.
    pub blocks: u32,
    /// Blocks along y and z.
    pub blocks_yz: [u32; 2],
    /// Threads of a block, up to 1024 in all; along x, if it has several dimensions.
    pub threads: u32,
    /// Threads of a block along y and z.
    pub threads_yz: [u32; 2],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Chooses the interleaving.
    pub seed: u64,
    /// Registers that a thread may have unless the kernel states a number of its own.
    pub registers: u32,
    /// Whether blocks may wait for each other: then they all run at once, or the driver refuses.
    pub cooperative: bool,
    /// Whether it may start before the launch before has ended, where that one lets it.
    pub overlapping: bool,
    /// How many steps a thread may take before it is taken for one that never ends: calls of device functions, and of
    /// a kernel that is executed as PTX instructions.
    pub steps: u64,
}

/// A block of one warp, without shared memory, with as many registers as every block finds; it starts when the
/// launch before has ended.
impl Default for LaunchConfig {
    fn default() -> Self {
        let threads = LANES as u32;
        Self {
            blocks: 1,
            blocks_yz: [1; 2],
            threads,
            threads_yz: [1; 2],
            shared_bytes: 0,
            seed: 0,
            registers: 64,
            cooperative: false,
            overlapping: false,
            steps: STEPS,
        }
    }
}

impl LaunchConfig {
    /// All blocks of the grid, as many as fit in the number.
    pub(crate) fn blocks_of_grid(&self) -> u32 {
        let [y, z] = self.blocks_yz;
        self.blocks.saturating_mul(y).saturating_mul(z)
    }

    /// All threads of a block, as many as fit in the number.
    pub(crate) fn threads_of_block(&self) -> u32 {
        let [y, z] = self.threads_yz;
        self.threads.saturating_mul(y).saturating_mul(z)
    }
}

/// The steps of a thread unless a launch says otherwise.
const STEPS: u64 = 1 << 22;

/// Counts of what a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often a warp executed each collective, by name, such as `warp::sync`.
    pub collectives: BTreeMap<&'static str, u64>,
    /// Asynchronous copies.
    pub copies: u64,
    /// Bytes that they wrote to shared memory.
    pub copied_bytes: u64,
}
