// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense `mma` in software, on the registers of a warp's lanes.

use super::{Lanes, element};
use crate::dense::{DenseMma, Factor};
use crate::fragment::{Element, LANES, M, N};

/// The most columns of A.
const MOST_K: usize = 16;

/// `mma` of f64: D = A·B + C. The parameters are the registers of A, of B, and of C and D in a lane.
///
/// Each D is C to which the products are added one after the other, in the order of K, by fused
/// multiply-adds that round to the nearest.
///
/// # Panics
/// Where the shape is not one of f64, or has other numbers of registers.
#[must_use]
pub fn mma_f64<const A: usize, const B: usize, const C: usize>(
    mma: DenseMma,
    a: &Lanes<[f64; A]>,
    b: &Lanes<[f64; B]>,
    c: &Lanes<[f64; C]>,
) -> Lanes<[f64; C]> {
    assert_eq!(mma.factor, Factor::F64, "the type of {mma}");
    check::<A, B, C>(mma);
    let (left, right) = matrices(mma, |lane, w, _| a[lane][w], |lane, w, _| b[lane][w]);
    let mut d = *c;
    for (lane, d) in d.iter_mut().enumerate() {
        for (word, d) in d.iter_mut().enumerate() {
            let (row, column) = mma.c(lane, word);
            *d = (0..mma.k).fold(*d, |sum, k| left[row][k].mul_add(right[k][column], sum));
        }
    }
    d
}

/// `mma` of other types: D = A·B + C with sums in f32. `A` and `B` are words in a lane.
///
/// Products are exact; each D is the f64 sum of its products and C, rounded once to f32, as in
/// [`super::mma_sp`].
///
/// # Panics
/// Where the shape is one of f64, or has other numbers of words.
#[must_use]
pub fn mma<const A: usize, const B: usize>(
    mma: DenseMma,
    a: &Lanes<[u32; A]>,
    b: &Lanes<[u32; B]>,
    c: &Lanes<[f32; 4]>,
) -> Lanes<[f32; 4]> {
    check::<A, B, 4>(mma);
    let of = match mma.factor {
        Factor::F16 => Element::F16,
        Factor::Bf16 => Element::Bf16,
        Factor::Tf32 => Element::Tf32,
        Factor::F64 => panic!("{mma} has sums in f64"),
    };
    let (left, right) = matrices(
        mma,
        |lane, w, i| element(of, a[lane][w], i),
        |lane, w, i| element(of, b[lane][w], i),
    );
    let mut d = *c;
    for (lane, d) in d.iter_mut().enumerate() {
        for (word, d) in d.iter_mut().enumerate() {
            let (row, column) = mma.c(lane, word);
            let products = (0..mma.k).map(|k| left[row][k] * right[k][column]);
            *d = (f64::from(*d) + products.sum::<f64>()) as f32;
        }
    }
    d
}

/// Asserts that a shape has so many registers.
fn check<const A: usize, const B: usize, const C: usize>(mma: DenseMma) {
    let registers = (mma.a_registers(), mma.b_registers(), mma.c_registers());
    assert_eq!((A, B, C), registers, "registers of {mma}");
}

/// A and B, from what a lane has in a register.
fn matrices(
    mma: DenseMma,
    a: impl Fn(usize, usize, usize) -> f64,
    b: impl Fn(usize, usize, usize) -> f64,
) -> ([[f64; MOST_K]; M], [[f64; N]; MOST_K]) {
    let (mut left, mut right) = ([[0.0; MOST_K]; M], [[0.0; N]; MOST_K]);
    for lane in 0..LANES {
        for i in 0..mma.factor.per_register() {
            for w in 0..mma.a_registers() {
                let (row, column) = mma.a(lane, w, i);
                left[row][column] = a(lane, w, i);
            }
            for w in 0..mma.b_registers() {
                let (row, column) = mma.b(lane, w, i);
                right[row][column] = b(lane, w, i);
            }
        }
    }
    (left, right)
}
