// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums in f64 whose terms are added in the order of `scipy.ndimage`, each product rounded by itself: what is cut to a whole
//! number has to have the bits that scipy cuts.

use fearless_simd::Level;

use super::{Sums, Term};
use crate::at_level;

/// Columns whose sums are in registers.
const COLUMNS: usize = 32;

/// A product of a sum.
#[derive(Clone, Debug)]
pub struct Product {
    /// Its weight.
    pub weight: f64,
    /// Offset of the neighbour, along z, y and x.
    pub at: [i32; 3],
    /// A neighbour that is added to the first before the product, or subtracted from it.
    pub other: Option<([i32; 3], f64)>,
}

/// Terms in their order.
pub struct Ordered {
    level: Level,
    reach: usize,
    products: Vec<Product>,
}

impl Ordered {
    /// Of neighbours that lie at most `reach` planes away.
    pub fn new(terms: &[Term], is_line: bool, reach: usize) -> Self {
        Self { level: Level::new(), reach, products: products(terms, is_line) }
    }
}

/// The products of a sum in their order.
pub fn products(terms: &[Term], is_line: bool) -> Vec<Product> {
    if is_line { of_line(terms) } else { terms.iter().map(single).collect() }
}

fn single(term: &Term) -> Product {
    Product { weight: term.weight, at: term.offset, other: None }
}

/// Terms of one line. If their weights are symmetric or change their sign about the middle, two neighbours share a product.
fn of_line(terms: &[Term]) -> Vec<Product> {
    let (middle, count) = (terms.len() / 2, terms.len());
    let mirrored = |sign: f64| {
        let is_near = |at: usize| {
            let (low, high) = (terms[middle - at].weight, terms[middle + at].weight);
            (high - sign * low).abs() <= f64::EPSILON
        };
        count % 2 == 1 && (1..=middle).all(is_near)
    };
    let Some(sign) = [1.0, -1.0].into_iter().find(|sign| mirrored(*sign)) else {
        let (last, others) = terms.split_last().expect("a term at least");
        return std::iter::once(last).chain(others).map(single).collect();
    };
    let pair = |at: usize| Product {
        weight: terms[at].weight,
        at: terms[at].offset,
        other: Some((terms[count - 1 - at].offset, sign)),
    };
    std::iter::once(single(&terms[middle])).chain((0..middle).map(pair)).collect()
}

impl Sums<f64> for Ordered {
    fn rows(
        &self,
        planes: &[&[f64]],
        pitch: usize,
        origin: usize,
        _: usize,
        to: &mut [&mut [f64]],
    ) {
        for (number, row) in to.iter_mut().enumerate() {
            let origin = origin + number * pitch;
            let from = |offset: [i32; 3]| {
                let [z, y, x] = offset.map(|it| it as isize);
                let start = origin.strict_add_signed(y * pitch as isize + x);
                &planes[self.reach.strict_add_signed(z)][start..]
            };
            let factors: Vec<_> = self
                .products
                .iter()
                .map(|it| (it.weight, from(it.at), it.other.map(|(at, sign)| (from(at), sign))))
                .collect();
            at_level!(self.level, _simd => compute(&factors, row));
        }
    }
}

type Factors<'a> = (f64, &'a [f64], Option<(&'a [f64], f64)>);

#[inline(always)]
fn compute(factors: &[Factors], row: &mut [f64]) {
    let width = row.len();
    let mut done = 0;
    while done < width {
        let start = if width < COLUMNS { 0 } else { done.min(width - COLUMNS) };
        match row[start..].first_chunk_mut::<COLUMNS>() {
            Some(to) => *to = block(factors, start),
            None => row.iter_mut().enumerate().for_each(|(at, to)| *to = point(factors, at)),
        }
        done = start + COLUMNS;
    }
}

#[inline(always)]
fn block(factors: &[Factors], start: usize) -> [f64; COLUMNS] {
    let mut sums = [0.0; COLUMNS];
    for (weight, from, other) in factors {
        let from: &[f64; COLUMNS] = from[start..].first_chunk().expect("as many as a row has");
        match other {
            None => {
                for at in 0..COLUMNS {
                    sums[at] += from[at] * weight;
                }
            }
            Some((other, sign)) => {
                let other: &[f64; COLUMNS] =
                    other[start..].first_chunk().expect("as many as a row has");
                for at in 0..COLUMNS {
                    // A product with 1 or -1 is exact.
                    sums[at] += (from[at] + sign * other[at]) * weight;
                }
            }
        }
    }
    sums
}

#[inline(always)]
fn point(factors: &[Factors], at: usize) -> f64 {
    factors.iter().fold(0.0, |sum, (weight, from, other)| {
        let other = other.map_or(0.0, |(other, sign)| sign * other[at]);
        sum + (from[at] + other) * weight
    })
}
