// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layout of 3D stars of radius 1 for chained sweeps: how the kernels `chain3d` of `kernels-gpu`
//! order M and K. Two products give 128 outputs, and the outputs of a step are the operand of the next
//! as they lie.
//!
//! A tile is 4 rows × 4 columns of outputs, and a product takes 8 tiles side by side. Its inputs are
//! 64: its own plane, the columns and the rows next to it, and the same points of the planes before and
//! behind. Lane `4g + t` of a warp holds two words of tile `g` of a plane ([`own`]):
//!
//! | | t = 0 | t = 1 | t = 2 | t = 3 |
//! | --- | --- | --- | --- | --- |
//! | word 0 | row 0, columns 0, 1 | row 2, columns 0, 1 | row 0, columns 2, 3 | row 2, columns 2, 3 |
//! | word 1 | row 1, columns 0, 1 | row 3, columns 0, 1 | row 1, columns 2, 3 | row 3, columns 2, 3 |
//!
//! M has the same order, so transposing the sums gives such words again. The first product takes the
//! two words of the plane in the middle, a word of the columns 4 and −1, and a word of the rows 4 and −1
//! ([`input`]); the second one the words of the plane before and of that behind. A group of four slots
//! holds two columns of two rows that are two apart, of which no output needs more than two.

use crate::encode::{Encoded, encode_as};
use crate::matrix::Matrix;
use crate::sparsify::Sparse24;
use crate::stencil::Stencil;
use cuda_mma::fragment::{Element, SparseMma};
use thiserror::Error;

/// Rows and columns of a tile.
pub const TILE: usize = 4;

/// Outputs of a tile: rows of A.
const M: usize = TILE * TILE;

/// Inputs of a product.
const K: usize = 32;

/// Why a stencil has no such layout.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoStar3d {
    /// Not a 3D stencil.
    #[error("the layout of stars in space is for 3D stencils; this one has {0} dimensions")]
    Dimensions(usize),
    /// A neighbour is not next to the point along an axis.
    #[error("the layout of stars in space takes the 6 nearest neighbours; this stencil has {0:?}")]
    Neighbour([i32; 3]),
}

/// Row and column in a tile of element `e` of a word of lane `4g + t`.
#[must_use]
pub const fn own(word: usize, t: usize, e: usize) -> (usize, usize) {
    (word + t % 2 * 2, t / 2 * 2 + e)
}

/// Row and column in a tile of a row of A.
#[must_use]
pub const fn output(row: usize) -> (usize, usize) {
    own(row / 8, row % 8 / 2, row % 2)
}

/// Input of a slot, relative to the tile's first output: (z, y, x).
#[must_use]
pub const fn input(slot: usize) -> [i32; 3] {
    let (j, t, e) = (slot % K / 8, slot % 8 / 2, slot % 2);
    let (y, x) = own(j % 2, t, e);
    let (y, x) = (y as i32, x as i32);
    match (slot / K, j) {
        (0, 0 | 1) => [0, y, x],
        (0, 2) => [0, (t % 2 * 2 + e) as i32, if t < 2 { TILE as i32 } else { -1 }],
        (0, _) => [0, if t % 2 == 0 { TILE as i32 } else { -1 }, x],
        (_, 0 | 1) => [-1, y, x],
        (_, _) => [1, y, x],
    }
}

/// Operand A and metadata of the two products, which share the metadata, with the weights rounded to a
/// 16-bit type; then the same for operands whose first half of the slots is the second.
///
/// # Errors
/// Stencils of other than 3 dimensions or with other than the 6 nearest neighbours.
///
/// # Panics
/// On another type.
pub fn star3d(stencil: &Stencil, element: Element) -> Result<Encoded, NoStar3d> {
    if stencil.dims() != 3 {
        return Err(NoStar3d::Dimensions(stencil.dims()));
    }
    let far = stencil.taps().iter().find(|tap| tap.weight != 0.0 && !is_near(tap.offset));
    if let Some(tap) = far {
        return Err(NoStar3d::Neighbour(tap.offset));
    }
    let mma = SparseMma::deepest(element);
    assert_eq!(mma.k, K, "the layout is for 16-bit types");
    let order: Vec<usize> = (0..2 * K).chain((0..2 * K).map(|slot| slot ^ (K / 2))).collect();
    let matrix = Matrix::new(M, order.len(), |row, at| stencil.weight(offset(row, order[at])));
    let sparse = Sparse24::new(&matrix, (0..order.len()).map(Some).collect())
        .expect("an output has at most two neighbours in a group");
    Ok(encode_as(&sparse, mma, 0, |row, at| {
        // Both products use equal slots, so that one word of metadata is enough.
        let slot = order[at] % K;
        is_near(offset(row, slot)) || is_near(offset(row, slot + K))
    }))
}

/// Where the input of a slot is, seen from the output of a row.
const fn offset(row: usize, slot: usize) -> [i32; 3] {
    let ((row, column), [z, y, x]) = (output(row), input(slot));
    [z, y - row as i32, x - column as i32]
}

/// Whether a neighbour is one of a star of radius 1.
const fn is_near([z, y, x]: [i32; 3]) -> bool {
    z.abs() + y.abs() + x.abs() <= 1
}
