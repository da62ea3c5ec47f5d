// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs kernels written against `cuda_std` on the CPU, as the PTX ISA says, and reports what a GPU
//! would silently get wrong.
//!
//! [`launch`] runs each lane of a block as a coroutine. A seed decides which warp goes on and when
//! an asynchronous copy completes, so a run is repeatable, and another seed is another interleaving.
//! What the detectors find does not depend on luck: two accesses race if no barrier orders them
//! ([`clock`](crate) keeps vector clocks), whichever came first in this run.
//!
//! | module | what it imitates |
//! | --- | --- |
//! | [`thread`], [`warp`] | indices, block barrier, warp barrier |
//! | [`shared`], [`global`] | loads and stores |
//! | [`barrier`] | `mbarrier`: arrivals, announced bytes, phases |
//! | [`copy`] | `cp.async`, bulk copies, TMA boxes: data is read when the copy completes |
//! | [`matrix`], [`mma`] | collectives: executed when all 32 lanes have arrived |
//!
//! These modules have the functions of `cuda_std`'s modules of the same names, which call them on a
//! host target. Outside of [`launch`] they panic.
//!
//! Blocks run one after the other, in an order that the seed shuffles. Warp collectives other than
//! [`warp::sync`] bring lanes together but order no memory accesses: that is what the ISA promises.

pub mod barrier;
mod block;
mod clock;
pub mod copy;
mod fault;
pub mod global;
mod lane;
mod launch;
pub mod matrix;
mod memory;
pub mod mma;
mod shadow;
pub mod shared;
mod tensor_map;
pub mod thread;
pub mod warp;

pub use fault::{Access, Fault, FaultKind, Place, Site};
pub use launch::{Config, Stats, launch};
pub use memory::{Buffer, Memory};
pub use tensor_map::{TensorMap, TensorMapError};
