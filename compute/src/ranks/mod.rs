// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid shared among ranks: GPUs of this machine, each with a thread of this process, or processes of this and other
//! machines.
//!
//! Each rank has a [part](part::Part): its own points, and ghosts around them, which are copies of the neighbours'
//! points. It advances that by an engine's session as if it were a grid by itself; what is wrong near where others' points go on
//! comes nearer with every step, and before it reaches the own points the ghosts are got anew ([`halo`]). Rank 0 runs the
//! program, with a [`team::Team`] as its session; the others do what it says ([`member`]).

mod boxes;
pub mod edges;
pub mod engine;
mod gather;
mod ghosted;
pub mod halo;
mod local;
pub mod member;
mod message_carrier;
pub mod messenger;
#[cfg(feature = "mpi")]
pub mod mpi;
mod nccl_carrier;
pub(crate) mod on_device;
pub(crate) mod parcel;
pub mod part;
pub mod partition;
mod peer_carrier;
mod setup;
pub mod team;
#[cfg(test)]
mod tests;
mod threads;

pub use boxes::held;
pub use gather::Gather;
pub use ghosted::{Exchange, Ghosted, from_bytes};
pub use local::{ghosts_on, propose};
pub use member::Member;
pub use messenger::{MessageKind, Messenger};
pub use partition::Partition;
pub use setup::{Carrier, GpuStepping, Launched, RankEngine, Setup};
pub use team::{GridCut, Team};
pub use threads::Threads;

/// What the MPI library calls itself with which this program was built, if it was.
#[must_use]
pub fn mpi_version() -> Option<String> {
    #[cfg(feature = "mpi")]
    return Some(mpi::version());
    #[cfg(not(feature = "mpi"))]
    return None;
}
