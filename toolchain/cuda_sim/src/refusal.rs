// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the driver does not launch.

use cuda_chip::Chip;
use thiserror::Error;

/// The most blocks of a launch.
pub(crate) const MOST_BLOCKS: u32 = i32::MAX as u32;

/// The most threads of a block.
pub(crate) const MOST_THREADS: u32 = 1024;

/// The most blocks of a launch along y, and along z.
pub(crate) const MOST_BLOCKS_YZ: u32 = u16::MAX as u32;

/// The most threads of a block along z.
pub(crate) const MOST_THREADS_Z: u32 = 64;

/// The most bytes of a kernel's parameters.
pub(crate) const MOST_PARAMETER_BYTES: usize = 4096;

/// Why the driver refuses a launch.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// No block, or more than a launch has.
    #[error("it has {0} blocks; 1 to {MOST_BLOCKS} are possible")]
    Blocks(u32),
    /// More blocks along y or z than a launch has.
    #[error("it has {0:?} blocks along y and z; up to {MOST_BLOCKS_YZ} are possible")]
    BlocksYz([u32; 2]),
    /// More threads along z than a block has.
    #[error("its blocks have {0} threads along z; up to {MOST_THREADS_Z} are possible")]
    ThreadsZ(u32),
    /// More static shared memory than a block has.
    #[error("its blocks have {bytes} bytes of static shared memory; {most} are possible")]
    StaticShared {
        /// Of the statics.
        bytes: usize,
        /// What a block can have.
        most: u32,
    },
    /// More static and dynamic shared memory than a block has of both.
    #[error(
        "its blocks have {static_bytes} bytes of static and {bytes} of dynamic shared memory; {most} are possible together"
    )]
    SharedTogether {
        /// Of the statics.
        static_bytes: usize,
        /// Of the launch.
        bytes: u32,
        /// What a block can have: 48 KiB, or what the chip has if [`crate::Memory::allow_shared`] was called.
        most: u32,
    },
    /// No thread, or more than a block has.
    #[error("its blocks have {0} threads; 1 to {MOST_THREADS} are possible")]
    Threads(u32),
    /// More shared memory than a block has.
    #[error("its blocks have {bytes} bytes of shared memory; {chip} has {most}")]
    SharedMemory {
        /// What was asked for.
        bytes: u32,
        /// The chip.
        chip: Chip,
        /// What a block can have.
        most: u32,
    },
    /// More shared memory than the kernel was allowed when it was launched.
    #[error(
        "its blocks have {bytes} bytes of dynamic shared memory; the kernel is allowed {allowed}, as it was set last"
    )]
    NotAllowed {
        /// What was asked for.
        bytes: u32,
        /// What [`crate::Memory::allow_shared`] has set, or what every kernel is allowed.
        allowed: u32,
    },
    /// More registers than a multiprocessor has.
    #[error(
        "its blocks have {threads} threads with up to {registers} registers each; a multiprocessor has them for {most} threads"
    )]
    Registers {
        /// Of a thread.
        registers: u32,
        /// Of a block.
        threads: u32,
        /// Threads that there are registers for.
        most: u32,
    },
    /// More bytes of parameters than a kernel takes.
    #[error("its parameters have {0} bytes; {MOST_PARAMETER_BYTES} are possible")]
    Parameters(usize),
    /// More blocks than run at once, in a launch whose blocks wait for each other.
    #[error("it is cooperative and has {blocks} blocks, of which {most} run at once on {chip}")]
    Cooperative {
        /// What was asked for.
        blocks: u32,
        /// The chip.
        chip: Chip,
        /// How many run at once.
        most: u32,
    },
}
