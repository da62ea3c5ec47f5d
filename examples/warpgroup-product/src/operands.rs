// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random operands as the kernels take them, and what the product is to be.

use crate::kernel::{DEPTH, TileShape};
use cuda_mma::warpgroup::{LANES, M, WarpgroupFactor::F16, WarpgroupMma};

/// The product of a stage that has selector 0, and the one that has selector 1.
const MMA: WarpgroupMma = WarpgroupMma { a: F16, b: F16, n: 8, sparse: true };

/// A, row by row, and B, column by column, in f16.
pub struct Operands {
    shape: TileShape,
    /// Rows of A, columns of B, and what both have in common.
    size: [usize; 3],
    /// Tiles of C along its columns and its rows, and stages.
    pub extents: [u32; 3],
    a: Vec<u16>,
    /// A, of a sparse one the two kept numbers of every four.
    pub kept: Vec<u16>,
    /// Where they stand.
    pub metadata: Vec<u32>,
    pub b: Vec<u16>,
}

/// xorshift64*.
fn random(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize
}

/// The sum of four, about normal, of mean 0 and variance 1.
fn number(state: &mut u64) -> u16 {
    let mut unit = || random(state) as f64 / f64::from(u32::MAX) - 0.5;
    F16.bits(1.73 * (unit() + unit() + unit() + unit())) as u16
}

impl Operands {
    pub fn random(size: [usize; 3], shape: TileShape) -> Self {
        let tile = [shape.rows(), shape.columns, DEPTH];
        let extents = [0, 1, 2].map(|at| {
            let (size, tile) = (size[at] as u32, tile[at]);
            assert!(size > 0 && size.is_multiple_of(tile), "{size} is no multiple of {tile}");
            size / tile
        });
        let ([m, n, k], state) = (size, &mut 0x9e37_79b9_7f4a_7c15);
        let b = (0..n * k).map(|_| number(state)).collect();
        let (mut a, mut kept, mut metadata) = (vec![0; m * k], vec![], vec![0; m * k / 32]);
        for (row, group) in (0..m * k / 4).map(|at| (at / (k / 4), at % (k / 4))) {
            let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
            let places = if shape.sparse { &pairs[random(state) % 6][..] } else { &[0, 1, 2, 3] };
            for (at, &place) in places.iter().enumerate() {
                kept.push(number(state));
                a[row * k + 4 * group + place] = kept[kept.len() - 1];
                // Two products in a stage, which two consumers have for 64 rows each.
                let (product, at) = ((2 * group + at) / MMA.kept(), (2 * group + at) % MMA.kept());
                let (lane, bit) = MMA.metadata(row % M, at);
                let stage = row / (2 * M) * (k / DEPTH as usize) + product / 2;
                let word = (2 * stage + row / M % 2) * LANES + lane + 2 * (product % 2);
                if shape.sparse {
                    metadata[word] |= (place as u32) << bit;
                }
            }
        }
        Self { shape, size, extents, a, kept, metadata, b }
    }

    /// Asserts that so many elements, or all, are those of the product in f64, rounded to f16 after sums in
    /// f32 in some order.
    pub fn check(&self, c: &[u16], count: Option<usize>) {
        let ([_, n, k], value) = (self.size, |bits: u16| F16.value(bits.into()));
        let state = &mut 77;
        for at in 0..count.unwrap_or(c.len()) {
            let at = if count.is_some() { random(state) % c.len() } else { at };
            let (row, column) = (at / n, at % n);
            let factors = self.a[row * k..][..k].iter().zip(&self.b[column * k..]);
            let products = factors.map(|(&a, &b)| value(a) * value(b));
            let (exact, magnitude) = products.fold((0.0, 0.0), |(e, m), p| (e + p, m + p.abs()));
            let bound = 2f64.powi(-11) * exact.abs() + 2f64.powi(-21) * magnitude + 2f64.powi(-25);
            let error = (value(c[at]) - exact).abs();
            assert!(error <= bound, "row {row}, column {column}: {error} from {exact}");
        }
    }

    /// Columns and rows of the arrays of A's kept numbers and B, and of the boxes for a stage.
    pub fn boxes(&self) -> [[u32; 4]; 2] {
        let ([m, n, k], TileShape { columns, .. }) =
            (self.size.map(|size| size as u32), self.shape);
        let kept = self.kept.len() as u32 / m;
        [[kept, m, kept / (k / DEPTH), self.shape.rows()], [k, n, DEPTH, columns]]
    }
}
