// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums in f64 whose terms are added in the order of `scipy.ndimage`, each product rounded by itself: what is cut to a whole
//! number has to have the bits that scipy cuts.

use fearless_simd::{Level, Simd, SimdBase, SimdFrom};

use super::Term;
use super::number::SumType;
use super::sums::NeighbourSums;
use crate::at_level;

/// Columns whose sums are computed together.
pub const COLUMNS: usize = 32;
/// Vectors whose sums are in registers, of the most values that a vector of f64 has.
const VECTORS: usize = COLUMNS / MOST_LANES;
const MOST_LANES: usize = 8;

/// A product of a sum.
#[derive(Clone, Debug)]
pub struct OrderedProduct {
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
    products: Vec<OrderedProduct>,
}

impl Ordered {
    /// Of neighbours that lie at most `reach` planes away.
    pub fn new(terms: &[Term], is_line: bool, reach: usize) -> Self {
        Self { level: Level::new(), reach, products: products(terms, is_line) }
    }
}

/// The products of a sum in their order.
pub fn products(terms: &[Term], is_line: bool) -> Vec<OrderedProduct> {
    if is_line { of_line(terms) } else { terms.iter().map(single).collect() }
}

fn single(term: &Term) -> OrderedProduct {
    OrderedProduct { weight: term.weight, at: term.offset, other: None }
}

/// Terms of one line. If their weights are symmetric or change their sign about the middle, two neighbours share a product.
fn of_line(terms: &[Term]) -> Vec<OrderedProduct> {
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
    let pair = |at: usize| OrderedProduct {
        weight: terms[at].weight,
        at: terms[at].offset,
        other: Some((terms[count - 1 - at].offset, sign)),
    };
    std::iter::once(single(&terms[middle])).chain((0..middle).map(pair)).collect()
}

impl<C: SumType> NeighbourSums<C> for Ordered {
    fn rows(&self, planes: &[&[C]], pitch: usize, origin: usize, _: usize, to: &mut [&mut [C]]) {
        let place = PointPlace { planes, pitch, origin };
        at_level!(self.level, simd => self.compute(simd, place, to));
    }
}

/// Where the point that is computed lies.
#[derive(Clone, Copy)]
pub struct PointPlace<'a, C> {
    pub planes: &'a [&'a [C]],
    pub pitch: usize,
    pub origin: usize,
}

impl<'a, C> PointPlace<'a, C> {
    /// The values of a plane from a distance on.
    #[inline(always)]
    fn values(self, plane: usize, distance: isize) -> &'a [C] {
        &self.planes[plane][self.origin.strict_add_signed(distance)..]
    }

    /// So many rows further down, and columns to the right.
    #[inline(always)]
    pub fn moved(self, rows: usize, columns: usize) -> Self {
        Self { origin: self.origin + rows * self.pitch + columns, ..self }
    }
}

/// A product of rows that are so far apart.
pub struct PlacedProduct {
    weight: f64,
    /// In which plane its value lies, and how far from the point that is computed.
    plane: usize,
    distance: isize,
    /// And the one that is added to it, times 1 or -1.
    other: Option<(usize, isize, f64)>,
}

impl Ordered {
    /// The products of rows that are so far apart.
    pub fn placed(&self, pitch: usize) -> Vec<PlacedProduct> {
        let at = |offset: [i32; 3]| {
            let [z, y, x] = offset.map(|it| it as isize);
            (self.reach.strict_add_signed(z), y * pitch as isize + x)
        };
        let placed = |product: &OrderedProduct| {
            let (plane, distance) = at(product.at);
            let other = product.other.map(|(offset, sign)| (at(offset).0, at(offset).1, sign));
            PlacedProduct { weight: product.weight, plane, distance, other }
        };
        self.products.iter().map(placed).collect()
    }

    /// The sum where all values are this one.
    pub fn sum_of_flat(&self, value: f64) -> f64 {
        self.products.iter().fold(0.0, |sum, product| {
            let other = product.other.map_or(0.0, |(_, sign)| sign * value);
            sum + (value + other) * product.weight
        })
    }

    #[inline(always)]
    fn compute<S: Simd, C: SumType>(&self, simd: S, place: PointPlace<C>, rows: &mut [&mut [C]]) {
        let products = self.placed(place.pitch);
        for (number, row) in rows.iter_mut().enumerate() {
            let (width, mut done) = (row.len(), 0);
            while done < width {
                let start = if width < COLUMNS { 0 } else { done.min(width - COLUMNS) };
                let to = &mut row[start..];
                let count = to.len().min(COLUMNS);
                let sums = sums(simd, &products, place.moved(number, start), count);
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to = C::cut(sum));
                done = start + COLUMNS;
            }
        }
    }
}

/// The sums of a point and those to its right: of [`COLUMNS`], or of as many as there are.
#[inline(always)]
pub fn sums<S: Simd, C: SumType>(
    simd: S,
    products: &[PlacedProduct],
    place: PointPlace<C>,
    count: usize,
) -> [f64; COLUMNS] {
    let mut sums = [0.0; COLUMNS];
    if count < COLUMNS {
        for (column, sum) in sums[..count].iter_mut().enumerate() {
            let value = |plane, distance| place.moved(0, column).values(plane, distance)[0].widen();
            *sum = products.iter().fold(0.0, |sum, it| {
                let other = it.other.map_or(0.0, |(plane, at, sign)| sign * value(plane, at));
                sum + (value(it.plane, it.distance) + other) * it.weight
            });
        }
        return sums;
    }
    let width = VECTORS * S::f64s::LEN;
    for (number, to) in sums.chunks_exact_mut(width).enumerate() {
        vectors(simd, products, place.moved(0, number * width), to);
    }
    sums
}

/// The sums of so many columns, in registers.
#[inline(always)]
fn vectors<S: Simd, C: SumType>(
    simd: S,
    products: &[PlacedProduct],
    place: PointPlace<C>,
    to: &mut [f64],
) {
    let width = VECTORS * S::f64s::LEN;
    let mut sums = [S::f64s::simd_from(simd, 0.0); VECTORS];
    for product in products {
        let weight = S::f64s::simd_from(simd, product.weight);
        let from = &place.values(product.plane, product.distance)[..width];
        match product.other {
            None => {
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum += widened(simd, from, at) * weight;
                }
            }
            Some((plane, distance, sign)) => {
                let other = &place.values(plane, distance)[..width];
                let sign = S::f64s::simd_from(simd, sign);
                for (at, sum) in sums.iter_mut().enumerate() {
                    // A product with 1 or -1 is exact.
                    let pair = widened(simd, from, at) + sign * widened(simd, other, at);
                    *sum += pair * weight;
                }
            }
        }
    }
    for (to, sum) in to.chunks_exact_mut(S::f64s::LEN).zip(sums) {
        sum.store_slice(to);
    }
}

/// The vector of this number of a row.
#[inline(always)]
fn widened<S: Simd, C: SumType>(simd: S, row: &[C], number: usize) -> S::f64s {
    let lanes = S::f64s::LEN;
    let mut wide = [0.0; MOST_LANES];
    let wide = &mut wide[..lanes];
    wide.iter_mut().zip(&row[number * lanes..][..lanes]).for_each(|(to, from)| *to = from.widen());
    S::f64s::from_slice(simd, wide)
}
