// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stencil reads outside the grid.

use std::fmt;

/// The value of points outside the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// Every point outside is 0, at every time step.
    #[default]
    Zero,
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
        }
    }
}
