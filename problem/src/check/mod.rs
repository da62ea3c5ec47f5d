// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a result is right: the plain stencil in f64, what rounding explains of a difference, which points are
//! compared where not all can be, and what values may grow to. Nothing here knows how engines compute.

pub mod field_growth;
pub mod growth;
pub mod reference;
pub mod rounded;
pub mod sample;
pub mod seams;
pub mod verify;
pub mod wave_growth;
