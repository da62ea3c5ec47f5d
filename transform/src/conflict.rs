// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which columns of A' conflict (SparStencil §3.2, Definition 1): those with a nonzero in the same
//! row.
//!
//! The pattern of A' is enough for that. A column is a set of at most 16 rows, the height of a
//! fragment, and so one [`RowMask`] word: two columns conflict where the words share a bit.

use crate::stencil::Stencil;
use cuda_mma::fragment::M;
use thiserror::Error;

/// The rows in which a column is nonzero, one bit each.
pub type RowMask = u16;

const _: () = assert!(RowMask::BITS as usize == M, "a column fits one word");

/// The most inputs of a tile for which a pattern is made: no product of a large box stays fast, and
/// the operand of one this long fills the shared memory of an SM.
pub const MAX_INPUTS: usize = 1 << 14;

/// The pattern of A': where its columns that are not zero are nonzero.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Outputs of a tile along z, y and x.
    pub factors: [usize; 3],
    /// Extents of the stencil's bounding box, L, along z, y and x.
    pub lengths: [usize; 3],
    /// Column → input, relative to the tile's first output; (z, y, x), x fastest.
    pub inputs: Vec<[i32; 3]>,
    /// Column → rows.
    pub columns: Vec<RowMask>,
}

/// Why a tile has no pattern.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoPattern {
    /// More outputs than a fragment has rows.
    #[error("{0} outputs in a tile; a fragment has {M} rows")]
    Outputs(usize),
    /// Too many inputs.
    #[error(
        "a tile's bounding box has {inputs} inputs ({}); at most {MAX_INPUTS} are planned for",
        extents.map(|extent| extent.to_string()).join("x")
    )]
    Inputs {
        /// Points of the box.
        inputs: usize,
        /// Its extents.
        extents: [usize; 3],
    },
}

impl Pattern {
    /// The pattern for a tile of `factors` outputs.
    ///
    /// # Errors
    /// A tile of more than 16 outputs, or of more than [`MAX_INPUTS`] inputs.
    ///
    /// # Panics
    /// Where a factor is 0.
    pub fn new(stencil: &Stencil, factors: [usize; 3]) -> Result<Self, NoPattern> {
        assert!(factors.iter().all(|&factor| factor > 0), "a tile has at least one output");
        let rows: usize = factors.iter().product();
        if rows > M {
            return Err(NoPattern::Outputs(rows));
        }
        let (low, lengths) = bounding_box(stencil);
        let extents: [usize; 3] = std::array::from_fn(|axis| lengths[axis] + factors[axis] - 1);
        let inputs = extents.iter().product();
        if inputs > MAX_INPUTS {
            return Err(NoPattern::Inputs { inputs, extents });
        }
        let index = |[z, y, x]: [usize; 3]| (z * extents[1] + y) * extents[2] + x;
        let place = |offset: [i32; 3]| {
            index(std::array::from_fn(|axis| (offset[axis] - low[axis]) as usize))
        };
        let taps: Vec<usize> = stencil.taps().iter().map(|tap| place(tap.offset)).collect();
        let mut columns = vec![0; inputs];
        for row in 0..rows {
            let shift = index(unravel(row, factors));
            for &tap in &taps {
                columns[tap + shift] |= 1 << row;
            }
        }
        let used: Vec<usize> = (0..inputs).filter(|&input| columns[input] != 0).collect();
        let input = |&input: &usize| {
            let at = unravel(input, extents);
            std::array::from_fn(|axis| low[axis] + at[axis] as i32)
        };
        Ok(Self {
            factors,
            lengths,
            inputs: used.iter().map(input).collect(),
            columns: used.iter().map(|&input| columns[input]).collect(),
        })
    }

    /// Rows of A'.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.factors.iter().product()
    }

    /// The least coordinates of the inputs.
    #[must_use]
    pub fn first_input(&self) -> [i32; 3] {
        let least = |axis: usize| self.inputs.iter().map(|input| input[axis]).min();
        std::array::from_fn(|axis| least(axis).unwrap_or(0))
    }

    /// Whether two columns conflict.
    ///
    /// # Panics
    /// Where a column does not exist.
    #[must_use]
    pub fn conflict(&self, a: usize, b: usize) -> bool {
        self.columns[a] & self.columns[b] != 0
    }

    /// Nonzeros of the fullest row.
    #[must_use]
    pub fn fullest_row(&self) -> usize {
        let count = |row| self.columns.iter().filter(|&&rows| rows >> row & 1 == 1).count();
        (0..self.rows()).map(count).max().unwrap_or(0)
    }

    /// Fraction of A' that is not zero.
    #[must_use]
    pub fn density(&self) -> f64 {
        let nonzeros: u32 = self.columns.iter().map(|rows| rows.count_ones()).sum();
        f64::from(nonzeros) / (self.rows() * self.columns.len()).max(1) as f64
    }

    /// Whether A' is a staircase at every level (Definition 4): all columns of the bounding box are
    /// there, and output (z, y, x) reaches exactly the inputs from (z, y, x) to
    /// (z, y, x) + L − 1.
    #[must_use]
    pub fn is_staircase(&self) -> bool {
        let extents: [usize; 3] =
            std::array::from_fn(|axis| self.lengths[axis] + self.factors[axis] - 1);
        if self.columns.len() != extents.iter().product::<usize>() {
            return false;
        }
        let reaches = |row: usize, column: usize| {
            let (output, input) = (unravel(row, self.factors), unravel(column, extents));
            (0..3).all(|axis| {
                (output[axis]..output[axis] + self.lengths[axis]).contains(&input[axis])
            })
        };
        self.columns.iter().enumerate().all(|(column, rows)| {
            (0..self.rows()).all(|row| (rows >> row & 1 == 1) == reaches(row, column))
        })
    }
}

/// First offset and extents of the stencil's bounding box.
fn bounding_box(stencil: &Stencil) -> ([i32; 3], [usize; 3]) {
    let offsets = || stencil.taps().iter().map(|tap| tap.offset);
    let low = offsets().reduce(|a, b| std::array::from_fn(|axis| a[axis].min(b[axis])));
    let high = offsets().reduce(|a, b| std::array::from_fn(|axis| a[axis].max(b[axis])));
    let (low, high) = (low.unwrap_or_default(), high.unwrap_or_default());
    (low, std::array::from_fn(|axis| (high[axis] - low[axis] + 1) as usize))
}

/// The coordinates of a position in C order.
fn unravel(position: usize, extents: [usize; 3]) -> [usize; 3] {
    let [_, ny, nx] = extents;
    [position / (ny * nx), position / nx % ny, position % nx]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::morph::morph;

    #[test]
    fn it_is_the_pattern_of_the_morphed_matrix() {
        for name in ["star2d3r", "box2d2r", "star3d2r", "box1d3r"] {
            let stencil = catalogue::find(name).unwrap();
            let factors = if stencil.dims() == 1 { [1, 1, 8] } else { [1, 2, 4] };
            let pattern = Pattern::new(&stencil, factors).unwrap();
            let morphed = morph(&stencil, factors).without_zero_columns();
            assert_eq!(pattern.inputs, morphed.inputs, "{name}");
            assert_eq!(pattern.density(), morphed.matrix.density(), "{name}");
            for (column, rows) in pattern.columns.iter().enumerate() {
                for row in 0..8 {
                    let nonzero = morphed.matrix.at(row, column) != 0.0;
                    assert_eq!(rows >> row & 1 == 1, nonzero, "{name}");
                }
            }
        }
    }

    #[test]
    fn only_boxes_are_staircases() {
        let staircase = |name: &str, factors| {
            Pattern::new(&catalogue::find(name).unwrap(), factors).unwrap().is_staircase()
        };
        assert!(staircase("box2d1r", [1, 2, 8]));
        assert!(staircase("box3d1r", [2, 2, 2]));
        assert!(staircase("box1d4r", [1, 1, 16]));
        assert!(!staircase("star2d1r", [1, 2, 8]));
    }

    #[test]
    fn columns_far_apart_never_conflict() {
        let pattern = Pattern::new(&catalogue::find("box2d2r").unwrap(), [1, 4, 4]).unwrap();
        for (a, [_, ya, xa]) in pattern.inputs.iter().enumerate() {
            for (b, [_, yb, xb]) in pattern.inputs.iter().enumerate() {
                let far = ya.abs_diff(*yb) >= 5 || xa.abs_diff(*xb) >= 5;
                assert_eq!(pattern.conflict(a, b), !far, "columns {a} and {b}");
            }
        }
    }

    #[test]
    fn large_boxes_are_refused() {
        let huge = catalogue::find("box3d16r").unwrap();
        let error = Pattern::new(&huge, [1, 1, 8]).unwrap_err();
        let text =
            "a tile's bounding box has 43560 inputs (33x33x40); at most 16384 are planned for";
        assert_eq!(error.to_string(), text);
        assert_eq!(Pattern::new(&huge, [1, 4, 8]), Err(NoPattern::Outputs(32)));
    }
}
