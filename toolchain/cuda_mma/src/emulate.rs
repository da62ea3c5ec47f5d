// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mma.sp` in software, on packed registers: the oracle for everything that encodes operands; and dense `mma`.

use crate::fragment::{self, Element, LANES, M, M16N8K32, N, SparseMma};
use crate::number::value;
use half::f16;
use thiserror::Error;

pub mod dense;
pub mod warpgroup;

/// A register of every lane of a warp.
pub type Lanes<T> = [T; LANES];

/// Metadata that no instruction accepts.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("metadata of row {row}, group {group} is ({first}, {second}); the indices must increase")]
pub struct Unordered {
    /// Row of A.
    pub row: usize,
    /// Group of four columns; of two in tf32.
    pub group: usize,
    /// First index.
    pub first: usize,
    /// Second index.
    pub second: usize,
}

/// The two numbers in a word, lower half first.
#[must_use]
pub fn unpack_f16(word: u32) -> [f16; 2] {
    [f16::from_bits(word as u16), f16::from_bits((word >> 16) as u16)]
}

/// Two numbers in a word, `low` in the lower half.
#[must_use]
pub fn pack_f16(low: f16, high: f16) -> u32 {
    u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16
}

/// Element `i` of a word.
fn element(element: Element, word: u32, i: usize) -> f64 {
    value(element, word >> (16 * i) & (u32::MAX >> (32 - 32 / element.per_word())))
}

/// `mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32`, selector 0: D = A·B + C.
///
/// # Errors
/// Metadata that is not ordered.
pub fn mma_sp_m16n8k32_f16(
    a: &Lanes<[u32; 4]>,
    metadata: &Lanes<u32>,
    b: &Lanes<[u32; 4]>,
    c: &Lanes<[f32; 4]>,
) -> Result<Lanes<[f32; 4]>, Unordered> {
    mma_sp(M16N8K32, 0, a, metadata, b, c)
}

/// `mma.sp::ordered_metadata`: D = A·B + C with sums in f32. `W` is the number of words of A and of B
/// in a lane: 4 for the deeper shape of a type, 2 for the other.
///
/// Products are exact; each D is the f64 sum of its products and C, rounded once to f32. (The
/// hardware's order of summation is not documented; both are within 17 · 2⁻²⁴ · Σ|a·b|.)
///
/// # Errors
/// Metadata that is not ordered, or in tf32 other than 0b0100 and 0b1110: undefined behaviour.
///
/// # Panics
/// Where `W` or the selector is not one of the shape.
pub fn mma_sp<const W: usize>(
    mma: SparseMma,
    selector: usize,
    a: &Lanes<[u32; W]>,
    metadata: &Lanes<u32>,
    b: &Lanes<[u32; W]>,
    c: &Lanes<[f32; 4]>,
) -> Result<Lanes<[f32; 4]>, Unordered> {
    assert!(mma.a_words() == W && mma.b_words() == W, "{mma} has {} words", mma.a_words());
    assert!(selector < mma.selectors(), "{mma} has selectors 0 to {}", mma.selectors() - 1);
    let mut kept = [[0.0f64; M16N8K32.kept()]; M];
    let mut inputs = [[0.0f64; N]; M16N8K32.k];
    for lane in 0..LANES {
        for word in 0..W {
            for i in 0..mma.per_word() {
                let (row, column) = mma.a(lane, word, i);
                kept[row][column] = element(mma.element, a[lane][word], i);
                let (row, column) = mma.b(lane, word, i);
                inputs[row][column] = element(mma.element, b[lane][word], i);
            }
        }
    }
    let positions = columns(mma, selector, metadata)?;
    let mut d = *c;
    for (lane, d) in d.iter_mut().enumerate() {
        for (word, d) in d.iter_mut().enumerate() {
            let (row, column) = fragment::c(lane, word);
            let products =
                (0..mma.kept()).map(|i| kept[row][i] * inputs[positions[row][i]][column]);
            *d = (f64::from(*d) + products.sum::<f64>()) as f32;
        }
    }
    Ok(d)
}

/// Row and kept column of A → column of the expanded A.
///
/// # Errors
/// Metadata that is not ordered.
pub fn columns(
    mma: SparseMma,
    selector: usize,
    metadata: &Lanes<u32>,
) -> Result<[[usize; M16N8K32.kept()]; M], Unordered> {
    let bits = |row, kept| {
        let (lane, bit) = mma.metadata(row, kept);
        (metadata[lane + selector * mma.metadata_lanes()] >> bit) as usize
    };
    let mut positions = [[0; M16N8K32.kept()]; M];
    for (row, positions) in positions.iter_mut().enumerate() {
        match mma.element {
            Element::F16 | Element::Bf16 => {
                for group in 0..mma.k / 4 {
                    let (first, second) = (bits(row, 2 * group) & 3, bits(row, 2 * group + 1) & 3);
                    if first >= second {
                        return Err(Unordered { row, group, first, second });
                    }
                    positions[2 * group] = 4 * group + first;
                    positions[2 * group + 1] = 4 * group + second;
                }
            }
            Element::Tf32 => {
                for (group, position) in positions[..mma.kept()].iter_mut().enumerate() {
                    *position = match bits(row, group) & 15 {
                        0b0100 => 2 * group,
                        0b1110 => 2 * group + 1,
                        halves => {
                            let (first, second) = (halves & 3, halves >> 2);
                            return Err(Unordered { row, group, first, second });
                        }
                    };
                }
            }
        }
    }
    Ok(positions)
}
