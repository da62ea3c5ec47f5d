// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
//!
//! ## How
//! [`launch`] runs each lane of a block as a coroutine. A seed decides which warp goes on and when
//! an asynchronous copy completes, so a run is repeatable, and another seed is another interleaving.
//! Blocks run one after the other, in an order that the seed shuffles; those that wait for each other,
//! through counters in global memory, take turns.
//!
//! The emulator promises what the ISA promises. Warp collectives other than [`warp::sync`] bring
//! lanes together but order no memory accesses. The data of an asynchronous copy may be used only
//! after a wait for its completion. A copy engine sees what ordinary instructions wrote only after
//! a proxy fence.
//! [`FaultKind`] lists the mistakes. [`OnChip`] chooses an older chip, which lacks some instructions. What
//! the driver would not launch ([`Refusal`]) does not run here either.
//!
//! | module | what it imitates |
//! | --- | --- |
//! | [`thread`], [`warp`] | indices, block barrier, warp barrier |
//! | [`shared`], [`global`] | loads and stores; counters by which blocks wait for each other |
//! | [`barrier`] | `mbarrier`: arrivals, announced bytes, phases |
//! | [`copy`] | `cp.async`, bulk copies, TMA boxes: data is read when the copy completes |
//! | [`grid`] | overlapping launches: a kernel that starts the next one must wait for the one before |
//! | [`math`] | multiply-add, rounding to tf32 |
//! | [`matrix`], [`mma`] | collectives: executed when all 32 lanes have arrived |
//! | [`wgmma`] | asynchronous products of a warpgroup: their sums may be used after a wait |
//!
//! These modules have the functions of `cuda_std`'s modules of the same names, which call them on a
//! host target; outside of [`launch`] they panic. A new device function needs its counterpart here:
//! an access through `with`, a wait through `when`, a collective through `collective` (all in
//! `lane`). Accesses that a kernel makes through plain references or pointers work, unchecked; a [`Module`], which is the
//! kernel's PTX, makes them by these functions, too.

mod allocation;
pub mod atomic;
pub mod barrier;
mod block;
mod buffer;
mod chip;
mod clock;
mod config;
pub mod copy;
mod counter;
mod fault;
pub mod global;
pub mod grid;
mod host;
pub mod io;
mod lane;
mod launch;
mod limits;
pub mod math;
pub mod matrix;
mod mbarrier;
mod memory;
pub mod mma;
mod named;
mod pending;
mod product_fault;
mod products;
mod ptx;
mod refusal;
mod released;
mod reports;
mod shadow;
pub mod shared;
mod shared_memory;
mod site;
mod source;
mod stack;
mod statics;
mod store;
mod strong;
mod tensor_map;
pub mod thread;
mod touched;
pub mod warp;
mod warpgroup;
pub mod wgmma;

pub use buffer::Buffer;
pub use chip::OnChip;
pub use config::{LaunchConfig, Stats};
pub use cuda_chip::Chip;
pub use fault::{Access, Fault, FaultKind, MemoryBytes};
pub use launch::{launch, only_blocks};
pub use limits::{enter, resident_blocks};
pub use memory::Memory;
pub use product_fault::ProductFault;
pub use ptx::{Module, ParseError};
pub use refusal::Refusal;
pub use shared::static_shared;
pub use site::Site;
pub use source::SourceLine;
pub use tensor_map::{Swizzle, TensorMap, TensorMapError};
