// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be computed, on which grid, with what around it; what rounding that takes; and the oracles that results
//! are compared with. No device and no file.

pub mod arithmetic;
#[cfg(feature = "ndarray")]
mod array;
pub mod boundary;
pub mod bytes;
pub mod check;
mod clock;
pub mod control;
pub mod error;
pub mod expression;
pub mod grid;
pub mod job;
pub mod jump;
pub mod memory;
pub mod names;
pub mod noise;
pub mod observe;
pub mod region;
pub mod shape;
pub mod similar_names;
pub mod text;
pub mod values;
pub mod view;

pub use arithmetic::Arithmetic;
pub use boundary::Boundary;
pub use clock::Clock;
pub use error::{Error, ErrorKind, ValueLocation};
pub use grid::Grid;
pub use job::{Depth, Job};
pub use jump::{JumpReport, Jumped};
pub use region::Region;
pub use shape::Shape;
pub use text::Text;
pub use values::{Dtype, Values};
pub use view::{Slice, View, ViewLayout};
