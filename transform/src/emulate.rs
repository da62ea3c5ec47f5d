// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mma.sp` in software, on packed registers: the oracle for everything that encodes operands.

use crate::fragment::{self, LANES, M, M16N8K32, N};
use half::f16;
use thiserror::Error;

/// A register of every lane of a warp.
pub type Lanes<T> = [T; LANES];

/// Metadata whose two indices do not increase: undefined behaviour under `ordered_metadata`.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("metadata of row {row}, group {group} is ({first}, {second}); the indices must increase")]
pub struct Unordered {
    /// Row of A.
    pub row: usize,
    /// Group of four columns.
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

/// `mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32`, selector 0: D = A·B + C.
///
/// Products are exact; each D is the f64 sum of its products and C, rounded once to f32. (The
/// hardware's order of summation is not documented; both are within 17 · 2⁻²⁴ · Σ|a·b|.)
///
/// # Errors
/// Metadata that is not ordered.
pub fn mma_sp_m16n8k32_f16(
    a: &Lanes<[u32; 4]>,
    metadata: &Lanes<u32>,
    b: &Lanes<[u32; 4]>,
    c: &Lanes<[f32; 4]>,
) -> Result<Lanes<[f32; 4]>, Unordered> {
    const MMA: fragment::SparseMma = M16N8K32;
    let mut kept = [[0.0f64; MMA.kept()]; M];
    let mut inputs = [[0.0f64; N]; MMA.k];
    for lane in 0..LANES {
        for word in 0..4 {
            let (values, rows) = (unpack_f16(a[lane][word]), unpack_f16(b[lane][word]));
            for i in 0..2 {
                let (row, column) = MMA.a(lane, word, i);
                kept[row][column] = values[i].to_f64();
                let (row, column) = MMA.b(lane, word, i);
                inputs[row][column] = rows[i].to_f64();
            }
        }
    }
    let index = |row, column| {
        let (lane, bit) = MMA.metadata(row, column);
        (metadata[lane] >> bit & 3) as usize
    };
    let mut positions = [[0usize; MMA.kept()]; M];
    for (row, positions) in positions.iter_mut().enumerate() {
        for group in 0..MMA.k / 4 {
            let (first, second) = (index(row, 2 * group), index(row, 2 * group + 1));
            if first >= second {
                return Err(Unordered { row, group, first, second });
            }
            positions[2 * group] = 4 * group + first;
            positions[2 * group + 1] = 4 * group + second;
        }
    }
    let mut d = *c;
    for (lane, d) in d.iter_mut().enumerate() {
        for (word, d) in d.iter_mut().enumerate() {
            let (row, column) = fragment::c(lane, word);
            let products =
                (0..MMA.kept()).map(|i| kept[row][i] * inputs[positions[row][i]][column]);
            *d = (f64::from(*d) + products.sum::<f64>()) as f32;
        }
    }
    Ok(d)
}
