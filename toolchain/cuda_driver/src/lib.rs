// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![allow(unsafe_code, reason = "this crate is the border to the driver's C interface")]

mod api;
mod buffer;
mod call;
mod error;
mod extents;
mod gpu;
mod kernels;
mod load;
mod module;
mod tensor_map;

#[cfg(feature = "cust")]
mod box_copy;
#[cfg(feature = "cust")]
mod device;
#[cfg(feature = "cust")]
mod event;
#[cfg(feature = "cust")]
mod function;
#[cfg(feature = "cust")]
mod launch;
#[cfg(feature = "cust")]
mod peer;
#[cfg(feature = "cust")]
mod stream;

pub use buffer::Buffer;
pub use call::{CallError, check};
pub use cuda_kernel::{AnyCall, Call, Entry, Kernel, Parameter, Passed, Slice, SliceMut};
pub use error::Error;
pub use extents::{BlockSize, Extents, Extents3d, GridSize};
pub use gpu::Gpu;
pub use kernels::{Code, Kernels};
pub use load::{LoadError, is_loaded, load};
pub use module::Module;
pub use tensor_map::{
    DeviceAddress, ElementType, L2Promotion, Swizzle, TensorMap, TensorMap2d, TensorMapError,
};

#[cfg(feature = "cust")]
pub use box_copy::{BoxExtent, BoxPlace, copy_box, copy_box_peer};
#[cfg(feature = "cust")]
pub use cust;
#[cfg(feature = "cust")]
pub use device::{Attribute, attribute};
#[cfg(feature = "cust")]
pub use event::{StreamEvent, StreamEventHandle};
#[cfg(feature = "cust")]
pub use function::{prefer_shared_memory, set_max_dynamic_shared_memory};
#[cfg(feature = "cust")]
pub use launch::{launch_cooperative, launch_in_order, launch_overlapping};
#[cfg(feature = "cust")]
pub use peer::{can_access, copy_peer, enable_access};
#[cfg(feature = "cust")]
pub use stream::non_blocking_stream;
