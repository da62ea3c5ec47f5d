// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structured sparsity (SparStencil §3.2): A' with its columns permuted so that every aligned group
//! of four holds at most two nonzeros in each row (2:4), or every pair at most one (1:2, which tf32
//! needs). Permuting the rows of B' alike leaves the product as it was.

use crate::matrix::Matrix;
use cuda_mma::fragment::Element;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Columns in a group.
pub const GROUP: usize = 4;

/// Nonzeros that a row may have in a group.
pub const KEPT: usize = 2;

/// How sparse a matrix has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Granularity {
    /// At most two nonzeros in an aligned group of four columns: 16-bit types.
    #[serde(rename = "2:4")]
    TwoOfFour,
    /// At most one nonzero in an aligned pair of columns: tf32. Every 1:2 matrix is 2:4 too.
    #[serde(rename = "1:2")]
    OneOfTwo,
}

impl Granularity {
    /// How sparse a matrix has to be for the sparse products of a type.
    #[must_use]
    pub const fn of(element: Element) -> Self {
        match element {
            Element::F16 | Element::Bf16 => Self::TwoOfFour,
            Element::Tf32 => Self::OneOfTwo,
        }
    }

    /// Columns in a group.
    #[must_use]
    pub const fn group(self) -> usize {
        match self {
            Self::TwoOfFour => GROUP,
            Self::OneOfTwo => GROUP / 2,
        }
    }

    /// Nonzeros that a row may have in a group: half its columns.
    #[must_use]
    pub const fn kept(self) -> usize {
        self.group() / 2
    }
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kept(), self.group())
    }
}

/// A'' : a matrix in 2:4 (or 1:2) form, and the permutation that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse24 {
    /// The form that was asked for and checked.
    pub granularity: Granularity,
    /// Slot (column of A'') → column of A'; `None` is a zero column that fills a group.
    pub order: Vec<Option<usize>>,
    /// A''.
    pub matrix: Matrix,
}

/// Why an order of columns is no sparse form.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NotSparse {
    /// Too many nonzeros in one group.
    #[error(
        "row {row} has {found} nonzeros in columns {first} to {}; {granularity} allows {}",
        first + granularity.group() - 1, granularity.kept()
    )]
    Crowded {
        /// The form that was asked for.
        granularity: Granularity,
        /// Row of A''.
        row: usize,
        /// First column of the group.
        first: usize,
        /// Nonzeros found.
        found: usize,
    },
    /// A column of A' left out or used twice.
    #[error("column {column} is used {times} times; every column that is not zero is needed once")]
    Column {
        /// Column of A'.
        column: usize,
        /// How often the order names it.
        times: usize,
    },
}

impl Sparse24 {
    /// Permutes the columns of `matrix` to 2:4 form; the width is filled up to whole groups.
    ///
    /// # Errors
    /// Where the result is not 2:4, or a column with weights is missing or used twice.
    ///
    /// # Panics
    /// Where the order names a column that does not exist.
    pub fn new(matrix: &Matrix, order: Vec<Option<usize>>) -> Result<Self, NotSparse> {
        Self::with(Granularity::TwoOfFour, matrix, order)
    }

    /// Permutes the columns of `matrix` to the form asked for; the width is filled up to whole groups.
    ///
    /// # Errors
    /// Where the result has another form, or a column with weights is missing or used twice.
    ///
    /// # Panics
    /// Where the order names a column that does not exist.
    pub fn with(
        granularity: Granularity,
        matrix: &Matrix,
        mut order: Vec<Option<usize>>,
    ) -> Result<Self, NotSparse> {
        order.resize(order.len().next_multiple_of(granularity.group()), None);
        let mut uses = vec![0; matrix.columns()];
        for &column in order.iter().flatten() {
            uses[column] += 1;
        }
        let empty = |column| (0..matrix.rows()).all(|row| matrix.at(row, column) == 0.0);
        let wrong = (0..uses.len()).find(|&c| uses[c] > 1 || (uses[c] == 0 && !empty(c)));
        if let Some(column) = wrong {
            return Err(NotSparse::Column { column, times: uses[column] });
        }
        let value = |row, slot: usize| order[slot].map_or(0.0, |column| matrix.at(row, column));
        let permuted = Matrix::new(matrix.rows(), order.len(), value);
        for row in 0..permuted.rows() {
            for (group, values) in permuted.row(row).chunks(granularity.group()).enumerate() {
                let found = values.iter().filter(|value| **value != 0.0).count();
                if found > granularity.kept() {
                    let first = group * granularity.group();
                    return Err(NotSparse::Crowded { granularity, row, first, found });
                }
            }
        }
        Ok(Self { granularity, order, matrix: permuted })
    }

    /// Zero columns that were added.
    #[must_use]
    pub fn zero_columns(&self) -> usize {
        self.order.iter().filter(|column| column.is_none()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_order_is_refused_with_the_place() {
        let full = Matrix::new(2, 4, |_, _| 1.0);
        let natural = |n| (0..n).map(Some).collect::<Vec<_>>();
        let granularity = Granularity::TwoOfFour;
        let crowded = NotSparse::Crowded { granularity, row: 0, first: 0, found: 4 };
        let text = "row 0 has 4 nonzeros in columns 0 to 3; 2:4 allows 2";
        assert_eq!(crowded.to_string(), text);
        assert_eq!(Sparse24::new(&full, natural(4)), Err(crowded));
        assert_eq!(
            Sparse24::new(&full, natural(3)),
            Err(NotSparse::Column { column: 3, times: 0 })
        );
        let twice = vec![Some(0), None, None, Some(0)];
        assert_eq!(Sparse24::new(&full, twice), Err(NotSparse::Column { column: 0, times: 2 }));
    }

    #[test]
    fn zero_columns_fill_groups() {
        let full = Matrix::new(1, 3, |_, _| 1.0);
        let order = vec![Some(2), Some(0), None, None, Some(1)];
        let sparse = Sparse24::new(&full, order).unwrap();
        assert_eq!(sparse.matrix.columns(), 8);
        assert_eq!(sparse.zero_columns(), 5);
    }

    #[test]
    fn one_of_two_is_stricter() {
        let matrix = Matrix::new(1, 4, |_, column| [1.0, 1.0, 0.0, 0.0][column]);
        let natural: Vec<_> = (0..4).map(Some).collect();
        assert!(Sparse24::new(&matrix, natural.clone()).is_ok());
        let one = Sparse24::with(Granularity::OneOfTwo, &matrix, natural).unwrap_err();
        assert_eq!(one.to_string(), "row 0 has 2 nonzeros in columns 0 to 1; 1:2 allows 1");
        let apart = [0, 2, 1, 3].map(Some).to_vec();
        assert!(Sparse24::with(Granularity::OneOfTwo, &matrix, apart).is_ok());
    }
}
