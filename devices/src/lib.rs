// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices: GPUs, and the emulator, which imitates one; what a GPU is, and the device code that this program
//! carries, which the build script compiles.
//!
//! All `unsafe` of this crate is in [`cuda`], but for one block of [`Emulator`], which calls kernels, and one
//! implementation in `generated`, which names the kernel that is written for a system of fields.

mod carried;
mod code;
pub mod cuda;
mod emulator;
mod executor;
mod fetch;
pub mod generated;
mod info;
mod launch;
mod limits;
mod measure;
mod memory;
mod packing;
pub mod plane;
mod plane_reader;
mod wait;

pub use carried::Carried;
pub use code::{Code, VARIABLE, code_for, device_compiler, embedded};
pub use cuda::{
    DeviceArray, DeviceBytes, DeviceGrid, Gpu, Link, RemoteMemory, RemoteSyncPoint, SyncPoint,
    TimedPoint,
};
pub use cuda::{Nccl, nccl_id, nccl_version, reaches};
pub use cuda_chip::Chip;
pub use emulator::Emulator;
pub use executor::{Device, Sharing};
pub use fetch::{Fetch, Fetched};
pub use info::{DeviceInfo, count, first, probe};
pub use launch::{Launch, StartOrder};
pub use limits::Limits;
pub use measure::{Measured, measure};
pub use memory::{ForeignMemory, Memory, MemoryRows};
pub use packing::Packing;
pub use plane::Plane;
pub use plane_reader::PlaneReader;
pub use wait::{Watch, wait_until};

use problem::Error;

/// Says what was being done when a driver call failed.
fn failed<E: std::fmt::Display>(action: &str) -> impl Fn(E) -> Error + '_ {
    move |reason| Error::Driver { action: action.into(), reason: reason.to_string() }
}
