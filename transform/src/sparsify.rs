// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structured sparsity (SparStencil §3.2): A' with its columns permuted so that every aligned group
//! of four holds at most two nonzeros in each row. Permuting the rows of B' alike leaves the
//! product as it was.

use crate::matrix::Matrix;
use thiserror::Error;

/// Columns in a group.
pub const GROUP: usize = 4;

/// Nonzeros that a row may have in a group.
pub const KEPT: usize = 2;

/// A'' : a matrix in 2:4 form, and the permutation that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse24 {
    /// Slot (column of A'') → column of A'; `None` is a zero column that fills a group.
    pub order: Vec<Option<usize>>,
    /// A''.
    pub matrix: Matrix,
}

/// Why an order of columns is no 2:4 form.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NotSparse {
    /// Too many nonzeros in one group.
    #[error("row {row} has {found} nonzeros in columns {first} to {}; 2:4 allows 2", first + 3)]
    Crowded {
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
    /// Permutes the columns of `matrix`; the width is filled up to whole groups.
    ///
    /// # Errors
    /// Where the result is not 2:4, or a column with weights is missing or used twice.
    ///
    /// # Panics
    /// Where the order names a column that does not exist.
    pub fn new(matrix: &Matrix, mut order: Vec<Option<usize>>) -> Result<Self, NotSparse> {
        order.resize(order.len().next_multiple_of(GROUP), None);
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
            for (group, values) in permuted.row(row).chunks(GROUP).enumerate() {
                let found = values.iter().filter(|value| **value != 0.0).count();
                if found > KEPT {
                    return Err(NotSparse::Crowded { row, first: group * GROUP, found });
                }
            }
        }
        Ok(Self { order, matrix: permuted })
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
        let crowded = NotSparse::Crowded { row: 0, first: 0, found: 4 };
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
}
