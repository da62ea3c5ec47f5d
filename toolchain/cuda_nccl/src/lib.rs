// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![allow(unsafe_code, reason = "this crate is the border to NCCL's C interface")]

mod api;
mod communicator;
mod error;
mod id;
mod load;
mod nccl;
mod places;

pub use communicator::{Communicator, Message, Stream};
pub use error::Error;
pub use id::UniqueId;
pub use load::{LoadError, load};
pub use nccl::Nccl;
