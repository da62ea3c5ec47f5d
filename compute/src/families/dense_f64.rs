// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands of products of f64 on dense tensor cores (`kernels_gpu::dense_f64`).

use super::domain::push_real;
use cuda_mma::dense::{DenseMma, Factor};
use cuda_mma::fragment::LANES;
use problem::Dtype;

/// The product whose fragments operands are laid out for.
pub const MMA: DenseMma = DenseMma { m: 16, k: 16, factor: Factor::F64 };

/// A matrix of 16 rows, as lanes hold it: two words of each number, of each register of each product. `weight` has a
/// row and a column of it, the columns of all products counted on.
pub fn operand(products: usize, weight: impl Fn(usize, usize) -> f64) -> Vec<u32> {
    let mut words = Vec::new();
    for product in 0..products {
        for register in 0..MMA.a_registers() {
            for lane in 0..LANES {
                let (row, column) = MMA.a(lane, register, 0);
                push_real(&mut words, Dtype::F64, weight(row, MMA.k * product + column));
            }
        }
    }
    words
}

/// The matrix of an operand of so many products: its rows.
#[cfg(test)]
pub fn matrix(words: &[u32], products: usize) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![f64::NAN; MMA.k * products]; MMA.m];
    for (index, words) in words.chunks_exact(2).enumerate() {
        let (lane, register) = (index % LANES, index / LANES % MMA.a_registers());
        let (row, column) = MMA.a(lane, register, 0);
        let product = index / LANES / MMA.a_registers();
        let bits = u64::from(words[1]) << 32 | u64::from(words[0]);
        matrix[row][MMA.k * product + column] = f64::from_bits(bits);
    }
    matrix
}
