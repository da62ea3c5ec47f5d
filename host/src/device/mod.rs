// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPU: what there is, the device code that this program carries, and safe handles to both.
//!
//! All `unsafe` of this crate is here.

#![allow(unsafe_code)]

mod boxes;
pub mod chain2d;
pub mod chain3d;
mod code;
pub mod domain;
pub mod frame;
pub mod gather;
mod gpu;
mod info;
mod limits;
pub mod line1d;
mod measure;
mod modules;
mod occupancy;
pub mod pass;
pub mod plain;
pub mod plane;
pub mod sweep2d;
pub mod sweep3d;
pub mod wide2d;

pub use code::{Code, VARIABLE, code_for, device_compiler, embedded};
pub use cuda_chip::Chip;
pub use gpu::Gpu;
pub use info::{DeviceInfo, first, probe};
pub use limits::Limits;
pub use measure::{Measured, measure};
pub use pass::Pass;
pub use plane::Plane;

use crate::Error;
use cuda_driver::cust::error::CudaError;
use cuda_driver::cust::memory::DeviceBuffer;

/// Says what was being done when a driver call failed.
fn failed<E: std::fmt::Display>(action: &str) -> impl Fn(E) -> Error + '_ {
    move |reason| Error::Driver { action: action.into(), reason: reason.to_string() }
}

/// As [`failed`], for allocations: running out of memory has a kind of its own.
fn refused(action: &str) -> impl Fn(CudaError) -> Error + '_ {
    move |reason| match reason {
        CudaError::OutOfMemory => Error::GpuFull { action: action.into() },
        other => failed(action)(other),
    }
}

/// A value as a parameter of a launch.
fn parameter<T>(value: &T) -> *mut std::ffi::c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Words in device memory, ready for kernels on any stream.
fn upload_words(words: &[u32]) -> Result<DeviceBuffer<u32>, Error> {
    let buffer = DeviceBuffer::from_slice(words).map_err(refused("upload weights"))?;
    plane::settle()?;
    Ok(buffer)
}
