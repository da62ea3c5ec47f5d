// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a sparse matrix to the words that lanes load: kept values and metadata (SparStencil §3.2,
//! last part; PTX ISA, "Sparse matrix storage").
//!
//! The 2-bit indices say where in a group of four the kept values stood. In the 1:2 form of tf32 a
//! pair counts as four half words and an index of 4 bits names the two that were kept: 0b0100 (halves
//! 0 and 1) the first element, 0b1110 (halves 2 and 3) the second.

use crate::dense_operand::dense_words;
use crate::matrix::Matrix;
use crate::sparsify::{Granularity, Sparse24};
use cuda_mma::fragment::{Element, LANES, M, M16N8K32, SparseMma};
use cuda_mma::number::bits;
use std::array;

/// A sparse matrix with only its kept values: half as wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    /// Half the values of each group.
    pub values: Matrix,
    /// Position of each kept value in its group, row-major; the two of a group of four increase.
    pub indices: Vec<u8>,
}

/// Keeps half the values of each group: the nonzeros. In 2:4 form, a lone nonzero at position p is
/// kept as (p, 3), or (0, 3) when p = 3, and an empty group as (0, 1): increasing, as
/// `ordered_metadata` demands. In 1:2 form an empty pair keeps its first value.
#[must_use]
pub fn compress(sparse: &Sparse24) -> Compressed {
    compress_as(sparse, |row, column| sparse.matrix.at(row, column) != 0.0)
}

/// As [`compress`], with what stands where `keep(row, column)` says, zeros too. So matrices of one
/// pattern have the same indices.
///
/// # Panics
/// Where `keep` drops a nonzero, or keeps more than the form allows.
#[must_use]
pub fn compress_as(sparse: &Sparse24, keep: impl Fn(usize, usize) -> bool) -> Compressed {
    let matrix = &sparse.matrix;
    let (group, kept) = (sparse.granularity.group(), sparse.granularity.kept());
    let mut indices = Vec::with_capacity(matrix.rows() * matrix.columns() / 2);
    for row in 0..matrix.rows() {
        for (index, values) in matrix.row(row).chunks(group).enumerate() {
            let keep = |&p: &u8| keep(row, index * group + usize::from(p));
            let positions: Vec<u8> = (0..group as u8).filter(keep).collect();
            let dropped =
                (0..group as u8).any(|p| values[usize::from(p)] != 0.0 && !positions.contains(&p));
            assert!(!dropped, "row {row}, group {index}: a nonzero is not kept");
            match (sparse.granularity, &*positions) {
                (Granularity::OneOfTwo, []) => indices.push(0),
                (Granularity::OneOfTwo, &[p]) => indices.push(p),
                (Granularity::TwoOfFour, []) => indices.extend([0, 1]),
                (Granularity::TwoOfFour, [3]) => indices.extend([0, 3]),
                (Granularity::TwoOfFour, &[p]) => indices.extend([p, 3]),
                (Granularity::TwoOfFour, &[p, q]) => indices.extend([p, q]),
                _ => panic!("row {row}, group {index}: more is kept than the form allows"),
            }
        }
    }
    let width = matrix.columns() / group * kept;
    let values = Matrix::new(matrix.rows(), width, |row, column| {
        matrix.at(row, column / kept * group + usize::from(indices[row * width + column]))
    });
    Compressed { values, indices }
}

/// Operand A of a sequence of `mma.sp` steps, as the lanes load it.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// The instruction.
    pub mma: SparseMma,
    /// Which lanes supply metadata.
    pub selector: usize,
    /// Products along K.
    pub steps: usize,
    /// For each step: the words of A, then 1 of metadata, each for 32 lanes.
    pub words: Vec<u32>,
}

/// Words of a lane in one step of `m16n8k32` in a 16-bit type.
pub const WORDS_PER_STEP: usize = M16N8K32.a_words() + 1;

impl Encoded {
    /// One word of all lanes.
    ///
    /// # Panics
    /// Where the step or word does not exist.
    #[must_use]
    pub fn word(&self, step: usize, word: usize) -> &[u32] {
        let words_per_step = self.mma.a_words() + 1;
        &self.words[(step * words_per_step + word) * LANES..][..LANES]
    }

    /// Operand A of dense products that take the place of these: for each step its words, as of [`dense_words`].
    #[must_use]
    pub fn dense(&self) -> Vec<u32> {
        let each = |step: usize| {
            let metadata = self.word(step, self.mma.a_words());
            let word = |word: usize, lane: usize| self.word(step, word)[lane];
            dense_words(self.mma, word, &array::from_fn(|lane| metadata[lane]))
        };
        (0..self.steps).flat_map(each).collect()
    }
}

/// Packs a matrix of up to 16 rows, the others being zero, and a multiple of K columns; values are
/// rounded to the nearest.
///
/// Lanes whose metadata word the selector ignores repeat that of a lane that counts.
///
/// # Panics
/// On any other size, a matrix of another form, or a selector that the shape lacks: a planner offers
/// only whole fragments.
#[must_use]
pub fn encode(sparse: &Sparse24, mma: SparseMma, selector: usize) -> Encoded {
    let rows = sparse.matrix.rows();
    let keep = |row, column| row < rows && sparse.matrix.at(row, column) != 0.0;
    encode_as(sparse, mma, selector, keep)
}

/// As [`encode`], keeping what stands where `keep(row, column)` says ([`compress_as`]). Where that
/// depends on the column within a step only, all steps have the same metadata.
///
/// # Panics
/// Where [`encode`] or [`compress_as`] panics.
#[must_use]
pub fn encode_as(
    sparse: &Sparse24,
    mma: SparseMma,
    selector: usize,
    keep: impl Fn(usize, usize) -> bool,
) -> Encoded {
    assert_eq!(sparse.granularity, Granularity::of(mma.element), "the form is that of the type");
    let rows = sparse.matrix.rows();
    assert!(rows <= M, "a fragment has {M} rows");
    assert_eq!(sparse.matrix.columns() % mma.k, 0, "steps are {} columns deep", mma.k);
    assert!(selector < mma.selectors(), "{mma} has selectors 0 to {}", mma.selectors() - 1);
    let filled = Matrix::new(M, sparse.matrix.columns(), |row, column| {
        if row < rows { sparse.matrix.at(row, column) } else { 0.0 }
    });
    let compressed = compress_as(&Sparse24 { matrix: filled, ..sparse.clone() }, keep);
    let steps = sparse.matrix.columns() / mma.k;
    let width = steps * mma.kept();
    let mut words = Vec::with_capacity(steps * (mma.a_words() + 1) * LANES);
    for step in 0..steps {
        let first = step * mma.kept();
        for word in 0..mma.a_words() {
            words.extend((0..LANES).map(|lane| {
                (0..mma.per_word()).fold(0, |packed, i| {
                    let (row, kept) = mma.a(lane, word, i);
                    packed | bits(mma.element, compressed.values.at(row, first + kept)) << (16 * i)
                })
            }));
        }
        let mut metadata = [0u32; LANES];
        for row in 0..M {
            for kept in 0..mma.kept() {
                let (lane, bit) = mma.metadata(row, kept);
                let index = compressed.indices[row * width + first + kept];
                metadata[lane] |= index_bits(mma.element, index) << bit;
            }
        }
        words.extend((0..LANES).map(|lane| metadata[lane / 4 * 4 + lane % mma.metadata_lanes()]));
    }
    Encoded { mma, selector, steps, words }
}

/// The metadata of a kept value.
fn index_bits(element: Element, index: u8) -> u32 {
    match (element, index) {
        (Element::F16 | Element::Bf16, index) => u32::from(index),
        (Element::Tf32, 0) => 0b0100,
        (Element::Tf32, _) => 0b1110,
    }
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
