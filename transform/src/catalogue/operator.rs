// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algebra of stencils, so that the catalogue reads like the formulas: sums, multiples, and
//! products (one operator applied after the other).

use crate::{
    finite_difference::{AxisWeights, central},
    stencil::{Stencil, Tap},
};
use std::{
    collections::BTreeMap,
    ops::{Add, Mul, Neg, Sub},
};

pub(super) const Z: usize = 0;
pub(super) const Y: usize = 1;
pub(super) const X: usize = 2;

/// Weights by offset (z, y, x).
#[derive(Clone, Debug, Default)]
pub(super) struct Operator(BTreeMap<[i32; 3], f64>);

/// The operator that changes nothing.
pub(super) fn identity() -> Operator {
    Operator(BTreeMap::from([([0; 3], 1.0)]))
}

/// A row of weights along one axis.
pub(super) fn along(axis: usize, row: impl IntoIterator<Item = (i32, f64)>) -> Operator {
    let at = |k| std::array::from_fn(|other| if other == axis { k } else { 0 });
    Operator(row.into_iter().map(|(k, weight)| (at(k), weight)).collect())
}

/// A row with its centre in the middle, as `(offset, weight)` pairs.
pub(super) fn centred<const N: usize>(weights: [f64; N]) -> AxisWeights {
    let middle = (N / 2) as i32;
    (-middle..).zip(weights).collect()
}

/// Weights from a function of the offset (z, y, x) within a radius; zeros are left out.
pub(super) fn from_fn(dims: usize, radius: i32, weight: impl Fn([i32; 3]) -> f64) -> Operator {
    let span = |axis: usize| if axis >= 3 - dims { -radius..=radius } else { 0..=0 };
    let plane = |z| span(Y).flat_map(move |y| span(X).map(move |x| [z, y, x]));
    let all = span(Z).flat_map(plane).map(|offset| (offset, weight(offset)));
    Operator(all.filter(|(_, weight)| *weight != 0.0).collect())
}

/// The axes of `dims` dimensions: the last ones.
pub(super) fn axes(dims: usize) -> std::ops::Range<usize> {
    3 - dims..3
}

/// `Σ term(axis)` over the axes.
pub(super) fn sum_over(dims: usize, term: impl Fn(usize) -> Operator) -> Operator {
    axes(dims).map(term).fold(Operator::default(), |sum, term| sum + term)
}

/// `Π factor(axis)` over the axes: the outer product, where each factor is a row.
pub(super) fn product_over(dims: usize, factor: impl Fn(usize) -> Operator) -> Operator {
    axes(dims).map(factor).fold(identity(), |product, factor| product * factor)
}

/// Central difference: that derivative along one axis, of that accuracy.
pub(super) fn derivative(axis: usize, derivative: usize, accuracy: usize) -> Operator {
    along(axis, central(derivative, accuracy))
}

/// `δ²`: the second difference along one axis.
pub(super) fn second_difference(axis: usize) -> Operator {
    derivative(axis, 2, 2)
}

/// `∇²` as a star: second derivatives of that accuracy along every axis.
pub(super) fn laplacian(dims: usize, accuracy: usize) -> Operator {
    sum_over(dims, |axis| derivative(axis, 2, accuracy))
}

/// `∇²` on 3 points per axis: `Σ δ² + pair · Σ δ²δ² + triple · δ²δ²δ²`. All choices are of second
/// order. `pair` 1/6 makes the leading error ∇⁴/12, the same in every direction, so that the
/// right-hand side can take it up (Mehrstellen); with `triple` 1/30 the next error has a factor ∇²
/// as well. (1/3, 1/12) belongs to multilinear finite elements.
pub(super) fn compact_laplacian(dims: usize, pair: f64, triple: f64) -> Operator {
    let all: Vec<Operator> = axes(dims).map(second_difference).collect();
    let pairs = all
        .iter()
        .enumerate()
        .flat_map(|(i, a)| all[i + 1..].iter().map(move |b| pair * (a.clone() * b.clone())));
    let mut sum = sum_over(dims, second_difference);
    sum = pairs.fold(sum, |sum, pair| sum + pair);
    if dims == 3 { sum + triple * product_over(3, second_difference) } else { sum }
}

/// The explicit step of `u_t = operator(u)` at half the stability limit, Δt = 1 / Σ |weight|. For
/// a symmetric operator with no growing wave all amplification factors are then in [0, 1].
pub(super) fn explicit(operator: Operator) -> Operator {
    let gain = operator.gain();
    identity() + (1.0 / gain) * operator
}

impl Operator {
    /// `self` applied `n` times.
    pub(super) fn pow(&self, n: usize) -> Self {
        (0..n).fold(identity(), |power, _| power * self.clone())
    }

    /// `Σ coefficients[k] · selfᵏ`.
    pub(super) fn polynomial(&self, coefficients: &[f64]) -> Self {
        let zero = Self::default();
        coefficients.iter().rev().fold(zero, |sum, &c| sum * self.clone() + c * identity())
    }

    /// The weight at an offset (z, y, x); 0 where there is none.
    pub(super) fn weight(&self, offset: [i32; 3]) -> f64 {
        self.0.get(&offset).copied().unwrap_or(0.0)
    }

    /// `Σ weight`.
    pub(super) fn sum(&self) -> f64 {
        self.0.values().sum()
    }

    /// `Σ |weight|`: at least the largest factor by which it amplifies any wave.
    pub(super) fn gain(&self) -> f64 {
        self.0.values().map(|weight| weight.abs()).sum()
    }

    /// Divided by the sum of its weights.
    pub(super) fn normalised(self) -> Self {
        let sum = self.sum();
        (1.0 / sum) * self
    }

    /// The stencil of that name. Weights that only rounding keeps from 0 are left out; the
    /// dimensions are those that the offsets use.
    pub(super) fn stencil(&self, name: &str) -> Stencil {
        let largest = self.0.values().fold(0.0f64, |largest, weight| largest.max(weight.abs()));
        let kept = self.0.iter().filter(|(_, weight)| weight.abs() > 1e-13 * largest);
        let taps: Vec<Tap> = kept.map(|(&offset, &weight)| Tap { offset, weight }).collect();
        let first = (Z..X).find(|&axis| taps.iter().any(|tap| tap.offset[axis] != 0));
        Stencil::new(name, 3 - first.unwrap_or(X), taps).expect("catalogue entries are valid")
    }
}

impl Add for Operator {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        for (offset, weight) in other.0 {
            *self.0.entry(offset).or_insert(0.0) += weight;
        }
        self
    }
}

impl Sub for Operator {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Neg for Operator {
    type Output = Self;

    fn neg(self) -> Self {
        -1.0 * self
    }
}

/// One operator after the other: the convolution of their weights.
impl Mul for Operator {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let mut product = Self::default();
        for (a, left) in &self.0 {
            for (b, right) in &other.0 {
                let offset = std::array::from_fn(|axis| a[axis] + b[axis]);
                *product.0.entry(offset).or_insert(0.0) += left * right;
            }
        }
        product
    }
}

impl Mul<Operator> for f64 {
    type Output = Operator;

    fn mul(self, mut operator: Operator) -> Operator {
        operator.0.values_mut().for_each(|weight| *weight *= self);
        operator
    }
}

impl From<&Stencil> for Operator {
    fn from(stencil: &Stencil) -> Self {
        Self(stencil.taps().iter().map(|tap| (tap.offset, tap.weight)).collect())
    }
}
