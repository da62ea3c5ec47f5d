// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random operands as the kernels take them, and what the product is to be.

use crate::kernel::{DEPTH, Shape};
use cuda_mma::warpgroup::{Factor, LANES, M, WarpgroupMma};

/// A and B. A sparse A has two numbers in every four columns of a row.
pub struct Operands {
    /// Rows of A, columns of B, and what both have in common.
    pub size: [usize; 3],
    pub sparse: bool,
    /// A's numbers, of a sparse A the kept ones, row by row; B, column by column; in f16.
    pub a: Vec<u16>,
    pub b: Vec<u16>,
    /// Of a sparse A.
    pub metadata: Vec<u32>,
}

/// Numbers that look random (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    /// Of mean 0 and, as four are added, about normal.
    fn f16(&mut self) -> u16 {
        let sum: f64 = (0..4).map(|_| self.next() as f64 / f64::from(u32::MAX) - 0.5).sum();
        Factor::F16.bits(1.7 * sum) as u16
    }
}

impl Operands {
    pub fn random([m, n, k]: [usize; 3], sparse: bool) -> Self {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ k as u64);
        let stored = if sparse { k / 2 } else { k };
        let a: Vec<u16> = (0..m * stored).map(|_| random.f16()).collect();
        let b = (0..n * k).map(|_| random.f16()).collect();
        let mut operands = Self { size: [m, n, k], sparse, a, b, metadata: Vec::new() };
        if sparse {
            operands.metadata = vec![0; m / M * (k / DEPTH as usize) * LANES];
            for row in 0..m {
                for group in 0..k / 4 {
                    let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
                    for (at, place) in pairs[random.next() as usize % 6].into_iter().enumerate() {
                        let (word, bit) = operands.place(row, 2 * group + at);
                        operands.metadata[word] |= place << bit;
                    }
                }
            }
        }
        operands
    }

    /// The word of the metadata, and its lowest bit, that say where a kept value stands: of two products
    /// in a stage, the second has selector 1.
    fn place(&self, row: usize, kept: usize) -> (usize, usize) {
        let steps = self.size[2] / DEPTH as usize;
        let mma = WarpgroupMma { a: Factor::F16, b: Factor::F16, n: 8, sparse: true };
        let (product, kept) = (kept / mma.kept(), kept % mma.kept());
        let (lane, bit) = mma.metadata(row % M, kept);
        (((row / M) * steps + product / 2) * LANES + lane + 2 * (product % 2), bit)
    }

    /// An element of the product in f64, and the sum of the products' magnitudes.
    pub fn element(&self, row: usize, column: usize) -> (f64, f64) {
        let k = self.size[2];
        let stored = if self.sparse { k / 2 } else { k };
        let products = (0..stored).map(|at| {
            let b = if self.sparse {
                let (word, bit) = self.place(row, at);
                at / 2 * 4 + (self.metadata[word] >> bit & 3) as usize
            } else {
                at
            };
            let value = |bits: u16| Factor::F16.value(bits.into());
            value(self.a[row * stored + at]) * value(self.b[column * k + b])
        });
        products.fold((0.0, 0.0), |(sum, magnitude), it| (sum + it, magnitude + it.abs()))
    }

    /// Asserts that an element of C is the product's: rounded to f16, after sums in f32 whose order is the
    /// hardware's.
    pub fn check(&self, c: &[u16], row: usize, column: usize) {
        let (exact, magnitude) = self.element(row, column);
        let got = Factor::F16.value(c[row * self.size[1] + column].into());
        let bound = 2f64.powi(-11) * exact.abs() + 2f64.powi(-21) * magnitude + 2f64.powi(-25);
        let error = (got - exact).abs();
        assert!(error <= bound, "row {row}, column {column}: {got} instead of {exact}");
    }

    /// Asserts that this many elements are right, anywhere.
    pub fn check_some(&self, c: &[u16], count: usize) {
        let mut random = Random(77);
        let [m, n, _] = self.size;
        for _ in 0..count {
            self.check(c, random.next() as usize % m, random.next() as usize % n);
        }
    }

    /// Tiles of C along its columns and its rows, and stages.
    pub fn extents(&self, shape: Shape) -> [u32; 3] {
        let [m, n, k] = self.size.map(|size| size as u32);
        let tile = [shape.rows(), shape.columns, DEPTH];
        assert!([m % tile[0], n % tile[1], k % tile[2]] == [0; 3], "whole tiles of {tile:?}");
        [m / tile[0], n / tile[1], k / tile[2]]
    }

    /// Of the arrays of A and B in global memory: columns and rows, and those of a box for a stage.
    pub fn boxes(&self, shape: Shape) -> [[usize; 4]; 2] {
        let [m, n, k] = self.size;
        let (stored, depth) = (self.a.len() / m, shape.swizzle().row_bytes() as usize / 2);
        [[stored, m, depth, shape.rows() as usize], [k, n, DEPTH as usize, shape.columns as usize]]
    }
}
