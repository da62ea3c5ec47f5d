// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be computed, on which grid, with what around it; and what rounding that takes. Nothing here computes.

pub mod arithmetic;
#[cfg(feature = "ndarray")]
mod array;
pub mod boundary;
pub mod grid;
pub mod job;
pub mod jump;
pub mod region;
pub mod shape;
pub mod view;

pub use arithmetic::Arithmetic;
pub use boundary::Boundary;
pub use grid::Grid;
pub use job::{Depth, Job};
pub use jump::{Jump, Jumped};
pub use region::Region;
pub use shape::Shape;
pub use view::{Layout, Slice, View};
