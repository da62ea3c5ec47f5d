// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random operands as the kernels take them, and what the product is to be.

use crate::kernel::{DEPTH, Shape};
use cuda_mma::warpgroup::{Factor::F16, LANES, M, WarpgroupMma};

/// The product of a stage that has selector 0, and the one that has selector 1.
const MMA: WarpgroupMma = WarpgroupMma { a: F16, b: F16, n: 8, sparse: true };

/// A, of a sparse one the two kept numbers of every four, row by row, and B, column by column; in f16.
pub struct Operands {
    shape: Shape,
    /// Rows of A, columns of B, and what both have in common.
    pub size: [usize; 3],
    pub a: Vec<u16>,
    pub b: Vec<u16>,
    /// Of a sparse A.
    pub metadata: Vec<u32>,
}

/// xorshift64*.
fn random(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize
}

impl Operands {
    pub fn random([m, n, k]: [usize; 3], shape: Shape) -> Self {
        let sparse = shape.sparse;
        let mut state = 0x9e37_79b9_7f4a_7c15;
        // Four are added, about normal, of mean 0 and variance 1.
        let mut unit = || random(&mut state) as f64 / f64::from(u32::MAX) - 0.5;
        let mut number = |_| F16.bits(1.73 * (unit() + unit() + unit() + unit())) as u16;
        let a = (0..if sparse { m * k / 2 } else { m * k }).map(&mut number).collect();
        let b = (0..n * k).map(number).collect();
        let words = if sparse { m / M * (k / DEPTH as usize) * LANES } else { 0 };
        let mut operands = Self { shape, size: [m, n, k], a, b, metadata: vec![0; words] };
        for group in 0..if sparse { m * k / 4 } else { 0 } {
            let places = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]][random(&mut state) % 6];
            for (at, place) in places.into_iter().enumerate() {
                let (word, bit) = operands.place(2 * group / (k / 2), 2 * group % (k / 2) + at);
                operands.metadata[word] |= place << bit;
            }
        }
        operands
    }

    /// The word of the metadata, and its lowest bit, that say where a kept number stands.
    fn place(&self, row: usize, kept: usize) -> (usize, usize) {
        let (product, kept) = (kept / MMA.kept(), kept % MMA.kept());
        let (lane, bit) = MMA.metadata(row % M, kept);
        let stage = row / M * (self.size[2] / DEPTH as usize) + product / 2;
        (stage * LANES + lane + 2 * (product % 2), bit)
    }

    /// Asserts that an element of C is that of the product in f64, rounded to f16 after sums in f32 in some
    /// order.
    pub fn check(&self, c: &[u16], row: usize, column: usize) {
        let [m, n, k] = self.size;
        let (stored, value) = (self.a.len() / m, |bits: u16| F16.value(bits.into()));
        let (mut exact, mut magnitude) = (0.0, 0.0);
        for at in 0..stored {
            let mut from = at;
            if stored < k {
                let (word, bit) = self.place(row, at);
                from = at / 2 * 4 + (self.metadata[word] >> bit & 3) as usize;
            }
            let product = value(self.a[row * stored + at]) * value(self.b[column * k + from]);
            (exact, magnitude) = (exact + product, magnitude + product.abs());
        }
        let got = value(c[row * n + column]);
        let bound = 2f64.powi(-11) * exact.abs() + 2f64.powi(-21) * magnitude + 2f64.powi(-25);
        assert!((got - exact).abs() <= bound, "row {row}, column {column}: {got}, not {exact}");
    }

    /// Asserts that so many elements are right, anywhere.
    pub fn check_some(&self, c: &[u16], count: usize) {
        let (state, [m, n, _]) = (&mut 77, self.size);
        (0..count).for_each(|_| self.check(c, random(state) % m, random(state) % n));
    }

    /// Tiles of C along its columns and its rows, and stages.
    pub fn extents(&self) -> [u32; 3] {
        let tile = [self.shape.rows(), self.shape.columns, DEPTH];
        [0, 1, 2].map(|at| {
            let (size, tile) = (self.size[at] as u32, tile[at]);
            assert!(size.is_multiple_of(tile), "{size} is no multiple of {tile}");
            size / tile
        })
    }

    /// Columns and rows of the arrays of A and B, and of the boxes for a stage.
    pub fn boxes(&self) -> [[u32; 4]; 2] {
        let ([m, n, k], Shape { columns, .. }) = (self.size.map(|size| size as u32), self.shape);
        let stored = self.a.len() as u32 / m;
        [[stored, m, stored / (k / DEPTH), self.shape.rows()], [k, n, DEPTH, columns]]
    }
}
