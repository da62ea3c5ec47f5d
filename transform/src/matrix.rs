// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small dense matrix of f64, in row-major order.

use std::fmt;

/// A dense matrix.
#[derive(Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// The matrix with `value(row, column)` everywhere.
    pub fn new(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let at = |row| (0..columns).map(move |column| (row, column));
        let values = (0..rows).flat_map(at).map(|(row, column)| value(row, column)).collect();
        Self { rows, columns, values }
    }

    /// The matrix with zeros everywhere.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![0.0; rows * columns] }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The value at a place.
    ///
    /// # Panics
    /// Where the place is outside.
    #[must_use]
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.row(row)[column]
    }

    /// One row.
    ///
    /// # Panics
    /// Where there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// One row, to be written.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.columns..][..self.columns]
    }

    /// Fraction of the values that are not zero; 0 for an empty matrix.
    #[must_use]
    pub fn density(&self) -> f64 {
        let nonzeros = self.values.iter().filter(|value| **value != 0.0).count();
        nonzeros as f64 / self.values.len().max(1) as f64
    }
}

/// One line a row, `#` for a value and `.` for zero: the pattern, as the papers draw it.
impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in 0..self.rows {
            let mark = |value: &f64| if *value == 0.0 { '.' } else { '#' };
            writeln!(f, "{}", self.row(row).iter().map(mark).collect::<String>())?;
        }
        Ok(())
    }
}
