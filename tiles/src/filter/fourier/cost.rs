// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether transforms are faster than sums term by term, and of which blocks: by speeds that were measured once.

use std::sync::LazyLock;

use fearless_simd::{Simd, SimdBase};
use serde::Deserialize;

use crate::at_level;

/// Speeds of a thread, if all cores are busy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speeds {
    /// What was measured, when and how.
    #[allow(dead_code, reason = "for readers of the file")]
    pub measured: String,
    /// Nanoseconds of a product of f32 and its sum, in registers of `register_bytes`.
    pub product_ns: f64,
    pub register_bytes: f64,
    /// Nanoseconds that a point of a block takes in both transforms: in all, and for each factor of 2 of the block's extents.
    pub point_ns: f64,
    pub level_ns: f64,
    /// Nanoseconds for each point of blocks larger than `cached` points more, by each factor of 2 that they are larger by.
    pub beyond_ns: f64,
    pub cached: f64,
    /// Points of a block at most.
    pub most: usize,
}

/// The speeds that come with the program.
pub fn speeds() -> &'static Speeds {
    static SPEEDS: LazyLock<Speeds> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../../data/fourier.json")).expect("a test reads it")
    });
    &SPEEDS
}

/// A sum over a box.
#[derive(Clone, Copy, Debug)]
pub struct BoxSum {
    /// Extents of the array, and how many such there are.
    pub extents: [usize; 3],
    pub arrays: usize,
    /// How far the sum reaches.
    pub reach: [usize; 3],
    pub terms: usize,
    /// Bytes of a value in sums term by term.
    pub bytes: usize,
    pub threads: usize,
}

/// Points that are transformed together, and those of them that are results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub transformed: [usize; 3],
    pub results: [usize; 3],
}

/// Points of a block that need not be counted: half a megabyte.
const FEW_POINTS: usize = 1 << 16;
/// Points of a block at least, where a sum does not reach along y.
const ROWS_OF: usize = 1 << 15;

impl BoxSum {
    /// The blocks whose transforms take less time than sums term by term; none if none do.
    pub fn blocks(&self, speeds: &Speeds) -> Option<Blocks> {
        let (direct, most) = (self.direct(speeds), self.most().min(speeds.most));
        let lengths: [Vec<usize>; 3] = std::array::from_fn(|axis| self.lengths(axis));
        let mut best = None;
        for &z in &lengths[0] {
            for &y in &lengths[1] {
                for &x in &lengths[2] {
                    let Some(blocks) = self.blocks_of([z, y, x], most) else { continue };
                    let time = self.transformed(blocks, speeds);
                    if time < best.map_or(direct, |(_, time)| time) {
                        best = Some((blocks, time));
                    }
                }
            }
        }
        best.map(|(blocks, _)| blocks)
    }

    /// Points of a block at most: the spectra of all threads and of the weights take no more than twice the memory of the arrays, or little.
    fn most(&self) -> usize {
        let bytes = self.extents.iter().product::<usize>() * self.arrays * self.bytes;
        let spectrum = size_of::<f64>() * (self.threads + 1);
        (2 * bytes / spectrum).max(FEW_POINTS)
    }

    /// Nanoseconds of sums term by term.
    fn direct(&self, speeds: &Speeds) -> f64 {
        let points = self.extents.iter().product::<usize>() as f64 * self.arrays as f64;
        let wide = self.bytes as f64 / 4.0 * speeds.register_bytes / register_bytes();
        points * self.terms as f64 * speeds.product_ns * wide / self.threads as f64
    }

    /// Extents of blocks along an axis: of small factors, up to what the array has room for.
    fn lengths(&self, axis: usize) -> Vec<usize> {
        let (extent, reach) = (self.extents[axis], self.reach[axis]);
        if reach == 0 && axis < 2 {
            return vec![1];
        }
        let (least, most) = (2 * reach + 2, extent + 2 * reach);
        let sizes = (2..23).flat_map(|power| [4, 5, 6, 7].map(|part| part << power >> 2));
        let mut sizes: Vec<usize> = sizes.filter(|it| *it >= least && it % 2 == 0).collect();
        sizes.sort_unstable();
        // One block at most.
        let enough = sizes.partition_point(|it| *it < most) + 1;
        sizes.truncate(enough);
        sizes
    }

    fn blocks_of(&self, transformed: [usize; 3], most: usize) -> Option<Blocks> {
        if transformed.iter().product::<usize>() > most {
            return None;
        }
        let mut results: [usize; 3] = std::array::from_fn(|axis| {
            (transformed[axis] - 2 * self.reach[axis]).min(self.extents[axis])
        });
        if self.reach[1] == 0 {
            // Rows by themselves.
            results[1] = (ROWS_OF / transformed[2]).clamp(1, self.extents[1]);
        }
        // Blocks of about the same extents.
        let even = |axis: usize| {
            let parts = self.extents[axis].div_ceil(results[axis]);
            self.extents[axis].div_ceil(parts)
        };
        Some(Blocks { transformed, results: std::array::from_fn(even) })
    }

    /// Nanoseconds of sums by transforms.
    fn transformed(&self, blocks: Blocks, speeds: &Speeds) -> f64 {
        let points = blocks.transformed.iter().product::<usize>() as f64;
        let rows = if self.reach[1] == 0 { blocks.results[1] as f64 } else { 1.0 };
        let beyond = (points / speeds.cached).log2().max(0.0);
        let point = speeds.point_ns + speeds.level_ns * points.log2() + speeds.beyond_ns * beyond;
        let parts = |axis: usize| self.extents[axis].div_ceil(blocks.results[axis]);
        let count = (0..3).map(parts).product::<usize>() * self.arrays;
        // The transform of the weights comes before all others, and there is no more than one thread for it.
        let turns = count.div_ceil(self.threads) as f64;
        points * point * (rows * turns + 0.5)
    }
}

/// Bytes of a vector register.
fn register_bytes() -> f64 {
    let lanes = at_level!(Level::new(), simd => lanes(simd));
    (lanes * size_of::<f32>()) as f64
}

fn lanes<S: Simd>(_: S) -> usize {
    S::f32s::LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(extents: [usize; 3], reach: [usize; 3], bytes: usize) -> BoxSum {
        let terms = reach.iter().map(|it| 2 * it + 1).product();
        BoxSum { extents, arrays: 1, reach, terms, bytes, threads: 2 }
    }

    #[test]
    fn large_boxes_are_transformed_and_small_ones_are_not() {
        let speeds = speeds();
        for bytes in [4, 8] {
            for reach in [[0, 1, 1], [0, 5, 5], [1, 1, 1], [0, 0, 9], [3, 3, 3]] {
                assert_eq!(sum([300; 3], reach, bytes).blocks(speeds), None, "{reach:?}");
            }
            for reach in [[0, 50, 50], [15, 15, 15], [0, 0, 9000]] {
                let sum = sum([300, 400, 5000], reach, bytes);
                let blocks = sum.blocks(speeds).expect("transforms");
                for axis in 0..3 {
                    let fits = blocks.results[axis] + 2 * reach[axis] <= blocks.transformed[axis];
                    assert!(fits || reach[axis] == 0, "{reach:?} {blocks:?}");
                    assert!(blocks.results[axis] <= sum.extents[axis] && blocks.results[axis] > 0);
                }
            }
        }
    }
}
