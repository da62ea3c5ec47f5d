// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which lane of a warp holds which element of the operands of a sparse matrix product
//! (PTX ISA, "Matrix Fragments for sparse mma.m16n8k…"; checked against an H200).
//!
//! All shapes follow one rule. With lane = 4g + t and `e` elements in a 32-bit word (2 of 16 bits,
//! 1 of 32 bits):
//!
//! | operand | word `w`, element `i` |
//! | --- | --- |
//! | A, kept values (16 rows) | row g + 8·(w mod 2), kept column e·(t + 4·⌊w/2⌋) + i |
//! | B (K rows × 8 columns) | row e·(t + 4w) + i, column g |
//! | C, D (16 × 8, f32) | word w: row g + 8·⌊w/2⌋, column 2t + w mod 2 |
//!
//! Kept columns 2q and 2q + 1 belong to the aligned group q of four columns (1:2 shapes: kept column
//! q to the pair q). Getting a map wrong does not fail; it computes another product. Hence these are
//! proved to be bijections, one element after another, in the tests below.

use core::fmt;

/// Lanes in a warp.
pub const LANES: usize = 32;

/// Rows of A, C and D.
pub const M: usize = 16;

/// Columns of B, C and D.
pub const N: usize = 8;

/// The type of the factors; sums are f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Element {
    /// 16 bits, 11 of precision.
    F16,
    /// 16 bits, 8 of precision, the range of f32.
    Bf16,
    /// f32 of which 11 bits of precision count.
    Tf32,
}

impl Element {
    /// Elements in a 32-bit word.
    #[must_use]
    pub const fn per_word(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 1,
        }
    }

    /// Bytes of an element in memory.
    #[must_use]
    pub const fn bytes(self) -> usize {
        4 / self.per_word()
    }
}

/// The name in PTX.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
        })
    }
}

/// A shape of `mma.sp`: its logical depth and the type of its factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SparseMma {
    /// Logical columns of A: rows of B.
    pub k: usize,
    /// Type of A and B.
    pub element: Element,
}

/// `m16n8k32` in f16.
pub const M16N8K32: SparseMma = SparseMma { k: 32, element: Element::F16 };

/// Every shape: two depths for each type, the deeper one first.
pub const SHAPES: [SparseMma; 6] = [
    M16N8K32,
    SparseMma { k: 16, element: Element::F16 },
    SparseMma { k: 32, element: Element::Bf16 },
    SparseMma { k: 16, element: Element::Bf16 },
    SparseMma { k: 16, element: Element::Tf32 },
    SparseMma { k: 8, element: Element::Tf32 },
];

impl SparseMma {
    /// The deepest shape for a type: the one with most arithmetic in an instruction.
    #[must_use]
    pub const fn deepest(element: Element) -> Self {
        Self { k: 16 * element.per_word(), element }
    }

    /// Elements in a 32-bit word.
    #[must_use]
    pub const fn per_word(self) -> usize {
        self.element.per_word()
    }

    /// Kept columns of A: half the logical ones.
    #[must_use]
    pub const fn kept(self) -> usize {
        self.k / 2
    }

    /// Words of A in a lane.
    #[must_use]
    pub const fn a_words(self) -> usize {
        M * self.kept() / LANES / self.per_word()
    }

    /// Words of B in a lane.
    #[must_use]
    pub const fn b_words(self) -> usize {
        self.k * N / LANES / self.per_word()
    }

    /// Row and kept column of element `i` of word `w` of A in `lane`.
    #[must_use]
    pub const fn a(self, lane: usize, w: usize, i: usize) -> (usize, usize) {
        let (g, t) = (lane / 4, lane % 4);
        (g + 8 * (w % 2), self.per_word() * (t + 4 * (w / 2)) + i)
    }

    /// Row and column of element `i` of word `w` of B in `lane`.
    #[must_use]
    pub const fn b(self, lane: usize, w: usize, i: usize) -> (usize, usize) {
        let (g, t) = (lane / 4, lane % 4);
        (self.per_word() * (t + 4 * w) + i, g)
    }

    /// Lanes of each group of four that supply metadata: a lane holds 16 bits for each of two rows.
    #[must_use]
    pub const fn metadata_lanes(self) -> usize {
        self.metadata_bits_per_row() / 16
    }

    /// Ways to choose those lanes: selector `s` takes lanes `s · metadata_lanes` and following.
    #[must_use]
    pub const fn selectors(self) -> usize {
        4 / self.metadata_lanes()
    }

    /// 2 bits for each kept value, 4 in the 1:2 shapes.
    #[must_use]
    pub const fn metadata_bits_per_row(self) -> usize {
        self.kept() * 4 / self.per_word()
    }

    /// Where the index of a kept value lies under selector 0: lane and lowest bit. Selector `s` has it
    /// in the same bit, `s · metadata_lanes` lanes further.
    #[must_use]
    pub const fn metadata(self, row: usize, kept: usize) -> (usize, usize) {
        let bit = kept * 4 / self.per_word();
        (4 * (row % 8) + bit / 16, bit % 16 + 16 * (row / 8))
    }
}

/// The shape in PTX, such as `m16n8k32.f16`.
impl fmt::Display for SparseMma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{M}n{N}k{}.{}", self.k, self.element)
    }
}

/// Row and column of word `w` of C or D in `lane`.
#[must_use]
pub const fn c(lane: usize, w: usize) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    (g + 8 * (w / 2), 2 * t + w % 2)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    fn assert_bijection(mut places: Vec<(usize, usize)>, rows: usize, columns: usize) {
        assert_eq!(places.len(), rows * columns);
        places.sort_unstable();
        let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        assert_eq!(places, all.collect::<Vec<_>>());
    }

    fn elements(words: usize, per_word: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let word = move |lane| (0..words).map(move |w| (lane, w));
        (0..LANES).flat_map(word).flat_map(move |(l, w)| (0..per_word).map(move |i| (l, w, i)))
    }

    #[test]
    fn every_element_lies_in_exactly_one_place() {
        for mma in SHAPES {
            let a = elements(mma.a_words(), mma.per_word()).map(|(l, w, i)| mma.a(l, w, i));
            assert_bijection(a.collect(), M, mma.kept());
            let b = elements(mma.b_words(), mma.per_word()).map(|(l, w, i)| mma.b(l, w, i));
            assert_bijection(b.collect(), mma.k, N);
        }
        assert_bijection(elements(4, 1).map(|(l, w, _)| c(l, w)).collect(), M, N);
    }

    #[test]
    fn metadata_fills_its_lanes_without_overlap() {
        for mma in SHAPES {
            let width = 4 / mma.per_word();
            let mut bits = [0u32; LANES];
            for row in 0..M {
                for kept in 0..mma.kept() {
                    let (lane, bit) = mma.metadata(row, kept);
                    let mask = ((1 << width) - 1) << bit;
                    assert_eq!(bits[lane] & mask, 0, "row {row} kept {kept}");
                    bits[lane] |= mask;
                }
            }
            for (lane, used) in bits.iter().enumerate() {
                let supplies = lane % 4 < mma.metadata_lanes();
                assert_eq!(*used, if supplies { u32::MAX } else { 0 });
            }
        }
    }

    #[test]
    fn m16n8k32_is_as_measured() {
        assert_eq!(M16N8K32.a(4 * 3 + 1, 3, 1), (11, 11));
        assert_eq!(M16N8K32.b(4 * 3 + 1, 2, 0), (18, 3));
        assert_eq!(M16N8K32.metadata(10, 9), (4 * 2 + 1, 16 + 2));
        assert_eq!(c(4 * 3 + 1, 2), (11, 2));
    }
}
