// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a 2:4 matrix to the words that lanes load: kept values and metadata (SparStencil §3.2, last
//! part; PTX ISA, "Sparse matrix storage").

use crate::fragment::{LANES, M, M16N8K32};
use crate::matrix::Matrix;
use crate::sparsify::{GROUP, Sparse24};
use half::f16;

/// A 2:4 matrix with only its kept values: half as wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    /// Two values for each group of four columns.
    pub values: Matrix,
    /// Position of each kept value in its group, row-major; the two of a group increase.
    pub indices: Vec<u8>,
}

/// Keeps two values of each group. A lone nonzero at position p is kept as (p, 3), or (0, 3) when
/// p = 3, and an empty group as (0, 1): increasing, as `ordered_metadata` demands.
#[must_use]
pub fn compress(sparse: &Sparse24) -> Compressed {
    let matrix = &sparse.matrix;
    let pair = |row: usize, group: usize| {
        let values = &matrix.row(row)[group * GROUP..][..GROUP];
        let nonzeros: Vec<u8> = (0..4).filter(|&p| values[usize::from(p)] != 0.0).collect();
        match *nonzeros {
            [] => [0, 1],
            [3] => [0, 3],
            [p] => [p, 3],
            [p, q] => [p, q],
            _ => unreachable!("Sparse24 holds at most two nonzeros in a group"),
        }
    };
    let groups = matrix.columns() / GROUP;
    let rows = 0..matrix.rows();
    let indices: Vec<u8> =
        rows.flat_map(|row| (0..groups).flat_map(move |group| pair(row, group))).collect();
    let width = 2 * groups;
    let values = Matrix::new(matrix.rows(), width, |row, kept| {
        matrix.at(row, kept / 2 * GROUP + usize::from(indices[row * width + kept]))
    });
    Compressed { values, indices }
}

/// Operand A of a sequence of `mma.sp` m16n8k32 steps in f16, as the lanes load it.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// Products along K.
    pub steps: usize,
    /// For each step: 4 words of A, then 1 of metadata (selector 0), each for 32 lanes.
    pub words: Vec<u32>,
}

/// Words of a lane in one step.
pub const WORDS_PER_STEP: usize = M16N8K32.a_words() + 1;

impl Encoded {
    /// One word of all lanes.
    ///
    /// # Panics
    /// Where the step or word does not exist.
    #[must_use]
    pub fn word(&self, step: usize, word: usize) -> &[u32] {
        &self.words[(step * WORDS_PER_STEP + word) * LANES..][..LANES]
    }
}

/// Packs a matrix of 16 rows and a multiple of 32 columns; values are rounded to the nearest f16.
///
/// Lanes 2 and 3 of a group, whose metadata word selector 0 ignores, repeat that of 0 and 1.
///
/// # Panics
/// On any other size: a planner offers only whole fragments.
#[must_use]
pub fn encode_f16(sparse: &Sparse24) -> Encoded {
    const MMA: crate::fragment::SparseMma = M16N8K32;
    assert_eq!(sparse.matrix.rows(), M, "a fragment has 16 rows");
    assert_eq!(sparse.matrix.columns() % MMA.k, 0, "steps are 32 columns deep");
    let compressed = compress(sparse);
    let steps = sparse.matrix.columns() / MMA.k;
    let width = steps * MMA.kept();
    let mut words = Vec::with_capacity(steps * WORDS_PER_STEP * LANES);
    for step in 0..steps {
        let first = step * MMA.kept();
        for word in 0..MMA.a_words() {
            words.extend((0..LANES).map(|lane| {
                let half = |i| {
                    let (row, kept) = MMA.a(lane, word, i);
                    u32::from(f16::from_f64(compressed.values.at(row, first + kept)).to_bits())
                };
                half(0) | half(1) << 16
            }));
        }
        let mut metadata = [0u32; LANES];
        for row in 0..M {
            for kept in 0..MMA.kept() {
                let (lane, bit) = MMA.metadata(row, kept);
                metadata[lane] |= u32::from(compressed.indices[row * width + first + kept]) << bit;
            }
        }
        words.extend((0..LANES).map(|lane| metadata[lane / 4 * 4 + lane % 2]));
    }
    Encoded { steps, words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_increase_in_every_pair() {
        let patterns: [[f64; 4]; 6] = [
            [0., 0., 0., 0.],
            [5., 0., 0., 0.],
            [0., 0., 0., 5.],
            [0., 0., 5., 0.],
            [0., 5., 6., 0.],
            [5., 0., 0., 6.],
        ];
        let matrix = Matrix::new(6, 4, |row, column| patterns[row][column]);
        let sparse = Sparse24::new(&matrix, (0..4).map(Some).collect()).unwrap();
        let compressed = compress(&sparse);
        assert_eq!(compressed.indices, [0, 1, 0, 3, 0, 3, 2, 3, 1, 2, 0, 3]);
        assert_eq!(compressed.values.row(2), [0.0, 5.0]);
        assert_eq!(compressed.values.row(3), [5.0, 0.0]);
        assert_eq!(compressed.values.row(4), [5.0, 6.0]);
    }
}
