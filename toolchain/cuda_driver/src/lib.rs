// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![allow(unsafe_code, reason = "this crate is the border to the driver's C interface")]

mod allocation;
mod api;
mod box_copy;
mod buffer;
mod call;
mod context;
mod device;
mod error;
mod event;
mod extents;
mod function;
mod gpu;
mod kernels;
mod launch;
mod load;
mod module;
mod peer;
mod stream;
pub mod sys;
mod tensor_map;

pub use allocation::Allocation;
pub use api::Handle;
pub use box_copy::{BoxExtent, BoxPlace, copy_box, copy_box_peer};
pub use buffer::Buffer;
pub use call::{CallError, check};
pub use context::{Context, ContextGuard, free_memory, stream_priorities, synchronize};
pub use cuda_kernel::{AnyCall, Call, Entry, Kernel, Parameter, Passed, Slice, SliceMut};
#[cfg(feature = "cust")]
pub use cust;
pub use device::{Attribute, Device, driver_version};
pub use error::Error;
pub use event::{StreamEvent, StreamEventHandle};
pub use extents::{BlockSize, Extents, Extents3d, GridSize};
pub use function::{Function, Loaded, prefer_shared_memory, set_max_dynamic_shared_memory};
pub use gpu::Gpu;
pub use kernels::{Code, Kernels};
pub use launch::{launch_cooperative, launch_in_order, launch_overlapping};
pub use load::{LoadError, is_loaded, load};
pub use module::Module;
pub use peer::{can_access, copy_peer, enable_access};
pub use stream::Stream;
pub use tensor_map::{
    DeviceAddress, ElementType, L2Promotion, Swizzle, TensorMap, TensorMap2d, TensorMapError,
};
