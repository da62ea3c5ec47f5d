// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of everything a GPU has.

/// Shared memory that the driver keeps for itself in each block, in bytes. A multiprocessor has so much more
/// than the most that a block can ask for.
pub const RESERVED_SHARED_BYTES: u32 = 1 << 10;

/// How much a GPU has for the blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes: u32,
    /// Threads that a multiprocessor runs at once.
    pub threads: u32,
    /// Blocks that a multiprocessor runs at once.
    pub blocks: u32,
}

impl Resources {
    /// The resources of an A100.
    pub const A100: Self =
        Self { multiprocessors: 108, shared_bytes: 164 << 10, threads: 2048, blocks: 32 };
    /// The resources of an H200.
    pub const H200: Self =
        Self { multiprocessors: 132, shared_bytes: 228 << 10, threads: 2048, blocks: 32 };
    /// The resources of a B200.
    pub const B200: Self =
        Self { multiprocessors: 148, shared_bytes: 228 << 10, threads: 2048, blocks: 32 };
    /// The resources of an RTX 5090.
    pub const RTX_5090: Self =
        Self { multiprocessors: 170, shared_bytes: 100 << 10, threads: 1536, blocks: 24 };

    /// The most shared memory of a block, in bytes.
    #[must_use]
    pub const fn shared_bytes_per_block(self) -> u32 {
        self.shared_bytes - RESERVED_SHARED_BYTES
    }
}
