// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays that are 0 at most points of the grid, or are needed at few of them: the coefficients and the memories of a perfectly matched
//! layer, and the adjoints of these memories.

use serde::{Deserialize, Serialize};

use super::expression::Array;

/// An array, and indices of the whole grid along an axis between which its values are 0, or are multiplied by 0 wherever they are read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vanishing {
    /// The array: of a field its present level, which stands for all of them and for its next values.
    pub array: Array,
    /// The axis: 0 to 2 for z, y, x.
    pub axis: usize,
    /// The first index.
    pub from: i64,
    /// The index behind the last one.
    pub to: i64,
}

impl Vanishing {
    /// Whether it tells of an array.
    #[must_use]
    pub fn is_of(&self, array: Array) -> bool {
        match self.array {
            Array::Field { field, .. } => array.is_of_field(field),
            own => own == array,
        }
    }
}
