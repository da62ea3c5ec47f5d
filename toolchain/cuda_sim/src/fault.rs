// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel can do wrong, and where it did.

use crate::Chip;
use crate::product_fault::ProductFault;
use crate::refusal::Refusal;
use crate::site::Site;
use cuda_mma::emulate::Unordered;
use std::fmt;
use thiserror::Error;

/// A mistake of a kernel, found while it ran, or a launch that the driver refuses.
#[derive(Clone, Debug, Error, PartialEq)]
pub struct Fault {
    /// The name given to the launch.
    pub kernel: Box<str>,
    /// Who did it, and in which line.
    pub site: Site,
    /// What it is.
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, site, kind } = self;
        match kind {
            // No lane's.
            FaultKind::Refused(_) => write!(f, "kernel {kernel}: {kind}"),
            FaultKind::Trampled { .. } => write!(f, "kernel {kernel}: {kind}"),
            FaultKind::Race { other, .. } if other.block == site.block => {
                write!(f, "kernel {kernel}, {site}: missing barrier: {kind}")
            }
            _ => write!(f, "kernel {kernel}, {site}: {kind}"),
        }
    }
}

/// Bytes of a memory.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryBytes {
    /// Offset in the block's shared memory.
    Shared(u32),
    /// Offset in a buffer of global memory; negative before its start.
    Global {
        /// The buffer's name.
        buffer: String,
        /// Offset in bytes.
        offset: i64,
    },
}

impl fmt::Display for MemoryBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(offset) => write!(f, "byte {offset} of shared memory"),
            Self::Global { buffer, offset } => write!(f, "byte {offset} of buffer `{buffer}`"),
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// The kinds of mistakes.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FaultKind {
    /// An access past the end of a memory or before its start.
    #[error("out of bounds: {access} of {bytes} bytes at {place}, which has {size}")]
    OutOfBounds {
        /// What the access does.
        access: Access,
        /// How many bytes.
        bytes: usize,
        /// Where.
        place: MemoryBytes,
        /// Bytes of that memory.
        size: usize,
    },
    /// A pointer into no buffer.
    #[error("wild pointer: {access} at {address:#x}, which is in or near no buffer of the launch")]
    WildPointer {
        /// What the access does.
        access: Access,
        /// The pointer.
        address: usize,
    },
    /// An address, size or coordinate that the hardware does not accept.
    #[error("misaligned: {what} is {value}, but must be a multiple of {alignment}")]
    Misaligned {
        /// The value's meaning.
        what: &'static str,
        /// The value; of a pointer, where in its buffer it points.
        value: String,
        /// What the hardware asks for.
        alignment: u32,
    },
    /// A write to a buffer that the launch declared an input.
    #[error("write to {0}, which is an input of this launch")]
    ReadOnly(MemoryBytes),
    /// A read of bytes that nobody has written.
    #[error("unwritten: read of {0}, which nothing has written yet")]
    Unwritten(MemoryBytes),
    /// Two accesses that no barrier orders.
    #[error(
        "data race: no barrier orders this {access} of {place} after the {other_access} by {other}"
    )]
    Race {
        /// What this access does.
        access: Access,
        /// Where they meet.
        place: MemoryBytes,
        /// What the other one does.
        other_access: Access,
        /// Who does it, and in which line.
        other: Site,
    },
    /// Atomic accesses of two blocks, one of which is atomic for its own block only.
    #[error(
        "too narrow a scope: this atomic {access} of {place} and the atomic access by {other} are of two blocks, and one of them is atomic among the threads of its own block only"
    )]
    NarrowScope {
        /// What this access does.
        access: Access,
        /// Where they meet.
        place: MemoryBytes,
        /// Who does the other one, and in which line.
        other: Site,
    },
    /// An access to bytes that an asynchronous copy or product uses, without having waited for it.
    #[error(
        "missing wait: this {access} of {place} meets the asynchronous copy or product that {copy} issued; wait for its completion first"
    )]
    MissingWait {
        /// What this access does.
        access: Access,
        /// Where.
        place: MemoryBytes,
        /// Who issued the copy.
        copy: Site,
    },
    /// A copy by a copy engine of what ordinary instructions wrote, or over it, without a proxy fence
    /// after the write.
    #[error(
        "missing proxy fence: this copy's {access} of {place} is ordered after the ordinary write by {other}, but the copy engine need not see it; call {fence} in between, in this block"
    )]
    Unfenced {
        /// What the copy does there.
        access: Access,
        /// Where they meet.
        place: MemoryBytes,
        /// Who wrote, and in which line.
        other: Site,
        /// The function that fences.
        fence: &'static str,
    },
    /// A collective that not all lanes execute.
    #[error(
        "divergence: this lane is at {operation}, but warp {warp}, lane {lane} {instead}; all of the {scope} must execute it together"
    )]
    Divergence {
        /// The collective.
        operation: &'static str,
        /// Who must execute it.
        scope: &'static str,
        /// Warp of a lane that does not.
        warp: u32,
        /// That lane.
        lane: u32,
        /// What that lane does.
        instead: String,
    },
    /// A collective of a whole warp in a block whose last warp has fewer lanes.
    #[error(
        "part of a warp: {operation} needs 32 lanes, but this warp has {lanes}; launch blocks of whole warps"
    )]
    PartialWarp {
        /// The collective.
        operation: &'static str,
        /// The lanes that there are.
        lanes: u32,
    },
    /// A collective whose mask leaves out a lane that executes it or is read.
    #[error("lane {lane} is not in the mask {mask:#010x} of the collective that it takes part in")]
    NotInMask {
        /// The lane.
        lane: u32,
        /// The mask.
        mask: u32,
    },
    /// A shuffle in segments that a warp does not have.
    #[error("a shuffle in segments of {0} lanes; 1, 2, 4, 8, 16 and 32 are possible")]
    Width(u32),
    /// No lane of the block can go on.
    #[error("deadlock: this lane waits for {waits_for}; no lane of the block can go on")]
    Deadlock {
        /// What never comes.
        waits_for: String,
    },
    /// A barrier of some of a block's warps, used as none can be.
    #[error("barrier {number} of some warps: {what}")]
    NamedBarrier {
        /// Its number.
        number: u32,
        /// What is wrong.
        what: String,
    },
    /// Use of bytes that are no barrier as one.
    #[error("no barrier: nothing has initialised a barrier at byte {0} of shared memory")]
    NoBarrier(u32),
    /// Initialisation of a barrier that exists.
    #[error("barrier at byte {0} of shared memory is initialised a second time")]
    BarrierTwice(u32),
    /// Use of a barrier by a thread that cannot know of its initialisation.
    #[error(
        "unseen barrier: nothing orders this use of the barrier at byte {at} of shared memory after its initialisation by {init}; put a block barrier in between"
    )]
    BarrierUnseen {
        /// Its address.
        at: u32,
        /// Who initialised it.
        init: Site,
    },
    /// A copy on a barrier that the copy engine may not see.
    #[error(
        "unfenced barrier: the copy engine may not see the barrier at byte {0} of shared memory; call fence_init after init"
    )]
    BarrierUnfenced(u32),
    /// More arrivals than a phase of the barrier expects.
    #[error(
        "over-arrival: phase {phase} of the barrier at byte {at} of shared memory expects no more arrivals"
    )]
    OverArrival {
        /// Its address.
        at: u32,
        /// The phase.
        phase: u32,
    },
    /// A wait that means one phase or another, depending on the barrier's progress.
    #[error(
        "ambiguous wait: parity {parity} of the barrier at byte {at} of shared memory would mean phase {phase} here, but this thread only knows that {known} phases have completed; wait for every phase in turn"
    )]
    AmbiguousPhase {
        /// Its address.
        at: u32,
        /// The parity waited for.
        parity: u32,
        /// The phase that it would mean in this run.
        phase: i64,
        /// Completed phases that the thread knows of.
        known: u32,
    },
    /// An announcement of more bytes than a barrier can count.
    #[error(
        "barrier at byte {at} of shared memory: {bytes} announced bytes are more than 2^20 - 1"
    )]
    TooManyBytes {
        /// Its address.
        at: u32,
        /// What was announced.
        bytes: u32,
    },
    /// A copy that completes in a later phase than it was issued in.
    #[error(
        "unannounced copy: the phase {phase} of the barrier at byte {at} of shared memory in which this copy was issued completed without its {bytes} bytes; announce them with arrive_expect"
    )]
    Unannounced {
        /// The barrier's address.
        at: u32,
        /// The phase.
        phase: u32,
        /// The copy's bytes.
        bytes: u32,
    },
    /// A copy, or an arrival that waits for one, that is still under way when the block ends, or the
    /// thread that must wait for it itself.
    #[error(
        "unfinished copy: the block or the thread ends while this copy is under way; wait for it"
    )]
    Unfinished,
    /// An access to what the launch before may still use, in a kernel that lets launches overlap.
    #[error(
        "missing wait: the launch before may still use {0}, because launches of this kernel overlap; call wait_for_previous first"
    )]
    NoWaitForPrevious(MemoryBytes),
    /// The next launch may start before the launch before has ended.
    #[error(
        "early start: the next launch would start while the launch before may still run; call wait_for_previous before start_next"
    )]
    EarlyStart,
    /// A launch beside the one before ends without it.
    #[error(
        "early end: this launch may end before the one before, which whoever waits for this one takes for ended; let a block call wait_for_previous"
    )]
    EarlyEnd,
    /// An ordinary access to a word that the launch also uses as a counter.
    #[error(
        "mixed access: the launch uses {0} as a counter; access it by add_release and wait_at_least only"
    )]
    Counter(MemoryBytes),
    /// Metadata that `ordered_metadata` forbids.
    #[error(transparent)]
    Unordered(#[from] Unordered),
    /// A pointer to no tensor map.
    #[error("no tensor map at {0:#x}: pass the pointer that Memory::tensor_map returned")]
    NoTensorMap(usize),
    /// A tensor map with another number of dimensions than the copy.
    #[error("the tensor map has {map} dimensions, but the copy {copy}")]
    Dimensions {
        /// The number of dimensions of the map.
        map: usize,
        /// The number of dimensions of the copy.
        copy: usize,
    },
    /// An instruction that the launch's chip does not have.
    #[error("{instruction} does not exist on {chip}, only on sm_90 and later")]
    NotOnChip {
        /// The instruction.
        instruction: &'static str,
        /// The chip of the launch.
        chip: Chip,
    },
    /// A mistake with asynchronous products.
    #[error(transparent)]
    Product(#[from] ProductFault),
    /// A wait for other blocks in a launch that need not run all blocks at once.
    #[error(
        "wait for other blocks: the launch is not cooperative, so that they may have to wait for this one to end"
    )]
    NotCooperative,
    /// A launch that does not start.
    #[error("the driver refuses the launch: {0}")]
    Refused(#[from] Refusal),
    /// A thread that goes on and on.
    #[error(
        "endless: this thread has taken more than {0} steps; let the launch allow more (`LaunchConfig::steps`) if it needs them"
    )]
    Endless(u64),
    /// A shuffle from a lane that no warp has, or that is as far away.
    #[error("no such lane: a shuffle names lane or distance {0}; a warp has lanes 0 to 31")]
    NoLane(u32),
    /// A store past the end of a buffer, or before its start, that no device function made.
    #[error(
        "out of bounds: something has written {place}, which has {size} bytes; run the kernel's PTX to see which line"
    )]
    Trampled {
        /// Where.
        place: MemoryBytes,
        /// Bytes of the buffer.
        size: usize,
    },
    /// An access past a thread's own variables.
    #[error(
        "out of bounds: access of {bytes} bytes at byte {at} of this thread's local memory, which has {size}"
    )]
    OutOfLocal {
        /// The offset.
        at: u64,
        /// How many bytes.
        bytes: usize,
        /// Bytes of that memory.
        size: usize,
    },
    /// An instruction that ends the kernel: of a panic, such as that of an index beyond a slice.
    #[error("trap: the kernel panics or ends itself here")]
    Trap,
    /// An instruction that the emulator does not know.
    #[error(
        "the emulator does not know this instruction: `{0}`; run the kernel's own code instead of its PTX"
    )]
    UnknownInstruction(String),
    /// An instruction for clusters of blocks.
    #[error(
        "no clusters: `{0}` is for blocks of a cluster, and every block is alone here, as cuda_driver launches them; let blocks hand numbers over in global memory (`cuda_std::global::add_release` and `wait_at_least`, or atomics of the device's scope)"
    )]
    Cluster(String),
    /// An assertion of `cuda_std` that does not hold.
    #[error("assertion failed: {0}")]
    Assertion(String),
    /// A panic in the kernel's own code. The line is that of the lane's last device function.
    #[error("panic after this line: {0}")]
    Panic(String),
}

/// Refuses a value that the hardware does not accept.
pub(crate) fn aligned(what: &'static str, value: i64, alignment: u32) -> Result<(), FaultKind> {
    if value % i64::from(alignment) == 0 {
        Ok(())
    } else {
        Err(FaultKind::Misaligned { what, value: value.to_string(), alignment })
    }
}
