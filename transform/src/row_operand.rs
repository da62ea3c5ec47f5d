// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operand A of the kernels on row windows: `line1d` and `wide2d` of `kernels-gpu`.
//!
//! A step takes one input row, in the slot order of [`crate::row_window`]: a group of slots holds
//! window columns c, c + 1, c + 16 and c + 17 (c even). An output x whose weights reach up to
//! [`MAX_REACH`] columns to either side has them in window columns x + 1 to x + 15, and so in one half
//! of each group: the upper where c < x, otherwise the lower. The metadata then depends on neither the
//! stencil nor the step, and one register holds it for all of them.

use crate::dense_operand::dense_words;
use crate::row_window::{SHIFT, inputs_of_step};
use crate::stencil::Stencil;
use cuda_mma::fragment::{Element, LANES, M, SparseMma};
use cuda_mma::number::bits;
use std::array;
use thiserror::Error;

/// How far weights may reach along x.
pub const MAX_REACH: usize = SHIFT - 1;

/// A stencil as the kernels on row windows take it.
#[derive(Clone, Debug, PartialEq)]
pub struct RowOperand {
    /// Type of the weights.
    pub element: Element,
    /// Products for each 128 outputs: one for each row that a weight may stand in.
    pub steps: usize,
    /// For each step, from the highest row down, 4 words of A; then 1 of metadata; each for 32 lanes.
    pub words: Vec<u32>,
}

impl RowOperand {
    /// The words of A for dense products, step by step ([`dense_words`]).
    #[must_use]
    pub fn dense(&self) -> Vec<u32> {
        let mma = SparseMma::deepest(self.element);
        let word = |index: usize, lane: usize| self.words[index * LANES + lane];
        let metadata = array::from_fn(|lane| word(mma.a_words() * self.steps, lane));
        let each = |step: usize| {
            dense_words(mma, |index, lane| word(mma.a_words() * step + index, lane), &metadata)
        };
        (0..self.steps).flat_map(each).collect()
    }
}

/// Why a stencil has no such operand.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoRowOperand {
    /// The instruction's window is too narrow for the type.
    #[error("row windows are for the 16-bit types; {0} has none")]
    Element(Element),
    /// Not a stencil of one plane.
    #[error("row windows are for 1D and 2D stencils; this one has {0} dimensions")]
    Dimensions(usize),
    /// Weights too far along x.
    #[error(
        "row windows take weights up to {MAX_REACH} columns away; this stencil has some {0} away"
    )]
    Reach(usize),
    /// Weights too far along y.
    #[error("the kernel takes weights up to {most} rows away; this stencil has some {found} away")]
    Rows {
        /// What the kernel takes.
        most: usize,
        /// What the stencil has.
        found: usize,
    },
}

/// The output of its tile that a row of A computes: ordered so that the two rows of a lane are
/// neighbouring outputs.
#[must_use]
pub const fn output_of_row(row: usize) -> usize {
    2 * (row % 8) + row / 8
}

/// The output of its tile that a row of A computes, ordered so that two transposes leave a lane with 4 neighbouring
/// outputs.
#[must_use]
pub const fn transposed_output_of_row(row: usize) -> usize {
    let (half, pair, odd) = (row / 8, row % 8 / 2, row % 2);
    4 * pair + 2 * half + odd
}

/// Lays a stencil out for a kernel that takes `rows` input rows to either side.
///
/// # Errors
/// A stencil or type that such a kernel does not take.
pub fn row_operand(
    stencil: &Stencil,
    rows: usize,
    element: Element,
) -> Result<RowOperand, NoRowOperand> {
    let mma = SparseMma::deepest(element);
    if mma.per_word() != 2 {
        return Err(NoRowOperand::Element(element));
    }
    if stencil.dims() > 2 {
        return Err(NoRowOperand::Dimensions(stencil.dims()));
    }
    let [_, found, reach] = stencil.radii();
    if reach > MAX_REACH {
        return Err(NoRowOperand::Reach(reach));
    }
    if found > rows {
        return Err(NoRowOperand::Rows { most: rows, found });
    }
    let mut inputs = [0; 2 * M];
    for (slot, input) in inputs_of_step(mma, 0) {
        inputs[slot] = input;
    }
    let steps = 2 * rows + 1;
    let mut words = Vec::with_capacity((steps * mma.a_words() + 1) * LANES);
    for step in 0..steps {
        let dy = step as i32 - rows as i32;
        let value = |(row, kept): (usize, usize)| {
            let dx = inputs[slot(&inputs, row, kept)] - output_of_row(row) as i32;
            bits(element, stencil.weight([0, dy, dx]))
        };
        for word in 0..mma.a_words() {
            words.extend(
                (0..LANES)
                    .map(|lane| value(mma.a(lane, word, 0)) | value(mma.a(lane, word, 1)) << 16),
            );
        }
    }
    let mut metadata = [0u32; LANES];
    for row in 0..M {
        for kept in 0..mma.kept() {
            let (lane, bit) = mma.metadata(row, kept);
            metadata[lane] |= (slot(&inputs, row, kept) as u32 % 4) << bit;
        }
    }
    // Lanes whose word the selector ignores repeat one that counts.
    words.extend((0..LANES).map(|lane| metadata[lane / 4 * 4 + lane % mma.metadata_lanes()]));
    Ok(RowOperand { element, steps, words })
}

/// The slot of a kept column of A.
fn slot(inputs: &[i32; 2 * M], row: usize, kept: usize) -> usize {
    let group = kept / 2 * 4;
    let upper = inputs[group] + (SHIFT as i32) < output_of_row(row) as i32;
    group + 2 * usize::from(upper) + kept % 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::stencil::Tap;
    use cuda_mma::emulate::mma_sp;
    use cuda_mma::fragment::{self, N};
    use cuda_mma::number::value;

    /// Weights and inputs that are small integers, so that every sum is exact in every type.
    fn small(seed: usize) -> f64 {
        (seed.wrapping_mul(0x9e37_79b9) >> 7) as f64 % 7.0 - 3.0
    }

    fn dense(rows: usize, reach: usize) -> Stencil {
        let width = 2 * reach + 1;
        let weights: Vec<f64> = (0..(2 * rows + 1) * width).map(|i| small(i + 1)).collect();
        Stencil::dense("small", &[2 * rows + 1, width], &weights).unwrap()
    }

    /// The product of all steps, against the sum over the taps.
    fn check(stencil: &Stencil, rows: usize, element: Element) {
        let mma = SparseMma::deepest(element);
        let operand = row_operand(stencil, rows, element).unwrap();
        assert_eq!(operand.words.len(), (4 * operand.steps + 1) * LANES);
        let word = |index: usize, lane: usize| operand.words[index * LANES + lane];
        let metadata: [u32; LANES] = std::array::from_fn(|lane| word(4 * operand.steps, lane));
        // Eight tiles side by side; a row's first column is -SHIFT.
        let input = |y: i32, x: i32| small((1000 * (y + 20) + x + 50) as usize);
        let mut d = [[0f32; 4]; LANES];
        for step in 0..operand.steps {
            let y = step as i32 - rows as i32;
            let a = std::array::from_fn(|l| std::array::from_fn(|w| word(4 * step + w, l)));
            let b = std::array::from_fn(|lane| {
                let (tile, chunk) = (lane / 4, [0, 2, 1, 3][lane % 4]);
                std::array::from_fn(|w| {
                    let x = (M * tile + 8 * chunk + 2 * w) as i32 - SHIFT as i32;
                    bits(element, input(y, x)) | bits(element, input(y, x + 1)) << 16
                })
            });
            d = mma_sp::<4>(mma, 0, &a, &metadata, &b, &d).unwrap();
        }
        for (lane, d) in d.iter().enumerate() {
            for (w, d) in d.iter().enumerate() {
                let (row, tile) = fragment::c(lane, w);
                let x = (M * tile + output_of_row(row)) as i32;
                let term = |tap: &Tap| tap.weight * input(tap.offset[1], x + tap.offset[2]);
                let sum: f64 = stencil.taps().iter().map(term).sum();
                assert_eq!(f64::from(*d), sum, "tile {tile}, output of row {row}");
            }
        }
        assert_eq!(value(element, bits(element, 3.0)), 3.0, "small integers are exact");
    }

    #[test]
    fn the_product_is_the_stencil() {
        for element in [Element::F16, Element::Bf16] {
            for (rows, reach) in [(0, 7), (1, 1), (7, 7), (4, 6), (7, 0)] {
                check(&dense(rows, reach), rows, element);
            }
            // More rows than the stencil has.
            check(&dense(2, 5), 4, element);
        }
    }

    #[test]
    fn metadata_is_the_same_for_every_stencil() {
        let of = |stencil: &Stencil, rows| {
            let words = row_operand(stencil, rows, Element::F16).unwrap().words;
            words[words.len() - LANES..].to_vec()
        };
        let line = catalogue::find("star1d1r").unwrap();
        assert_eq!(of(&line, 0), of(&dense(7, 7), 7));
        assert_eq!(of(&line, 0)[..2], [0x444e_4444, 0x4444_4444]);
    }

    #[test]
    fn every_output_has_a_row() {
        for order in [output_of_row, transposed_output_of_row] {
            let mut outputs: Vec<usize> = (0..M).map(order).collect();
            outputs.sort_unstable();
            assert_eq!(outputs, (0..M).collect::<Vec<_>>());
        }
        assert_eq!(M / 2, N, "half the rows are transposed at once");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_numbers() {
        let refusal = |name, rows, element| {
            row_operand(&catalogue::find(name).unwrap(), rows, element).unwrap_err().to_string()
        };
        assert_eq!(
            refusal("box2d8r", 8, Element::F16),
            "row windows take weights up to 7 columns away; this stencil has some 8 away"
        );
        assert_eq!(
            refusal("box2d3r", 2, Element::F16),
            "the kernel takes weights up to 2 rows away; this stencil has some 3 away"
        );
        assert_eq!(
            refusal("box3d1r", 1, Element::F16),
            "row windows are for 1D and 2D stencils; this one has 3 dimensions"
        );
        assert_eq!(
            refusal("box2d1r", 1, Element::Tf32),
            "row windows are for the 16-bit types; tf32 has none"
        );
    }
}
