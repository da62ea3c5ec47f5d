// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filters of arrays of any types, each a chain of weighted sums, one after the other while a block of the array is in the caches.
//!
//! A block is loaded with all that its sums read: it is converted to the type of the sums, and what lies outside the array
//! is looked up. So the array itself is neither padded nor converted.

mod axis;
mod block;
mod check;
mod ordered;
mod precision;
#[cfg(test)]
mod tests;
mod tile;
mod values;
mod weights;

use problem::boundary::Side;
use rayon::prelude::*;

pub use values::Value;

use self::axis::Axis;
use self::block::{Chain, Part, Rows, Scratch, Shaped};
use self::check::Check;
use self::ordered::Ordered;
use self::precision::{Order, Precision};
use self::weights::rounded;
use crate::storage::Storage;
use crate::window::Window;

/// A neighbour, by its offset along z, y and x, and its weight.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// Offset from the point that is computed.
    pub offset: [i32; 3],
    /// Its weight.
    pub weight: f64,
}

/// A weighted sum.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Of these neighbours, each once. Those of weight 0 say, too, how far the sum reaches.
    pub terms: Vec<Term>,
    /// Whether the neighbours lie on one line, one after the other.
    pub is_line: bool,
    /// What the sum is divided by.
    pub divisor: f64,
}

/// Sums one after the other, each of what the one before gave.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Extents of the array: of axes that no sum reaches along, and z, y, x.
    pub extents: [usize; 4],
    /// Points of x that belong together: offsets along x are in units of so many.
    pub step: usize,
    /// What lies outside, along z, y and x.
    pub sides: [Side; 3],
    /// The sums.
    pub stages: Vec<Stage>,
}

/// How rows are computed.
pub(crate) trait Sums<C>: Send + Sync {
    /// See [`Window::rows`].
    fn rows(&self, planes: &[&[C]], pitch: usize, origin: usize, ahead: usize, to: &mut [&mut [C]]);
}

impl<C: Storage> Sums<C> for Window<C> {
    fn rows(
        &self,
        planes: &[&[C]],
        pitch: usize,
        origin: usize,
        ahead: usize,
        to: &mut [&mut [C]],
    ) {
        Self::rows(self, planes, pitch, origin, ahead, to);
    }
}

/// A type that sums are computed in.
pub(crate) trait Number: Value + Storage<Sum = Self> + PartialOrd {
    /// What a result is rounded by at most, as a part of it.
    const UNIT: f64;

    fn of<V: Value>(value: V) -> Self;
    fn cut_to<V: Value>(self) -> V;
    fn divide(self, by: f64) -> Self;
    /// The nearest whole number, and how far it is away: of magnitudes below [`Value::cut_single`]'s, or 2^51.
    fn nearest(self) -> (Self, Self);
}

macro_rules! number {
    ($type:ident, $unit:expr, $widen:ident, $cut:ident, $shift:expr) => {
        impl Number for $type {
            const UNIT: f64 = $unit;

            #[inline(always)]
            fn of<V: Value>(value: V) -> Self {
                value.$widen()
            }

            #[inline(always)]
            fn cut_to<V: Value>(self) -> V {
                V::$cut(self)
            }

            #[inline(always)]
            fn divide(self, by: f64) -> Self {
                self / by as Self
            }

            #[inline(always)]
            fn nearest(self) -> (Self, Self) {
                let whole = (self + $shift) - $shift;
                (whole, (self - whole).abs())
            }
        }
    };
}
number!(f32, 1.0 / 16_777_216.0, widen_single, cut_single, values::BITS_SINGLE);
number!(f64, f64::EPSILON / 2.0, widen, cut, values::BITS);

impl Filter {
    /// Filters an array.
    ///
    /// # Panics
    /// If the arrays have not as many values as the extents say, or there is no stage.
    pub fn run<I: Value, O: Value>(&self, input: &[I], output: &mut [O]) {
        let points: usize = self.extents.iter().product();
        assert_eq!([input.len(), output.len()], [points; 2], "arrays of these extents");
        assert!(!self.stages.is_empty(), "a sum at least");
        match Precision::of::<I, O>(self) {
            Precision::Single(order) => self.run_in::<f32, I, O>(input, output, order),
            Precision::Double(order) => self.run_in::<f64, I, O>(input, output, order),
        }
    }

    fn run_in<C: Number, I: Value, O: Value>(&self, input: &[I], output: &mut [O], order: Order) {
        let chain = self.chain::<C>(&order, O::LARGEST.is_some());
        let size: usize = chain.extents.iter().product();
        if size == 0 {
            return;
        }
        let tile = tile::tile(chain.extents, chain.reach, size_of::<C>(), self.taps());
        let both = input.par_chunks(size).zip(output.par_chunks_mut(size));
        both.for_each(|(input, output)| {
            let rows: &dyn Rows<C> = &input;
            let parts = parts(output, chain.extents, tile);
            if parts.len() == 1 {
                let mut scratch = Scratch::default();
                parts.into_iter().for_each(|part| chain.part(rows, part, &mut scratch));
            } else {
                parts.into_par_iter().for_each_init(Scratch::default, |scratch, part| {
                    chain.part(rows, part, scratch);
                });
            }
        });
    }

    fn taps(&self) -> usize {
        self.stages.iter().map(|stage| stage.terms.len()).sum()
    }

    fn chain<C: Number>(&self, order: &Order, is_whole: bool) -> Chain<C> {
        let [_, extents @ ..] = self.extents;
        let shaped = |(number, stage)| self.shaped(stage, order, number, is_whole);
        let stages: Vec<_> = self.stages.iter().enumerate().map(shaped).collect();
        let sum = |of: fn(&Shaped<C>, usize) -> isize| -> [isize; 3] {
            std::array::from_fn(|axis| stages.iter().map(|stage| of(stage, axis)).sum())
        };
        let reach = sum(|stage, axis| stage.reach[axis] as isize);
        let shift = sum(|stage, axis| stage.shift[axis]);
        let axes = std::array::from_fn(|axis| {
            // Between stages the region lies up to all shifts of one sign away.
            let shifts: usize = stages.iter().map(|stage| stage.shift[axis].unsigned_abs()).sum();
            let around = reach[axis] as usize + shifts;
            let step = if axis == 2 { self.step } else { 1 };
            Axis::new(extents[axis], step, self.sides[axis], [around; 2])
        });
        Chain { extents, axes, reach: reach.map(|it| it as usize), shift, stages }
    }

    /// A stage whose offsets are moved so that they reach equally far to both sides. Where results are no whole numbers, weights
    /// are divided, not sums.
    fn shaped<C: Number>(
        &self,
        stage: &Stage,
        order: &Order,
        number: usize,
        is_whole: bool,
    ) -> Shaped<C> {
        let mut terms = stage.terms.clone();
        let divisor = if is_whole { stage.divisor } else { 1.0 };
        terms.iter_mut().for_each(|term| term.weight *= divisor / stage.divisor);
        terms.iter_mut().for_each(|term| term.offset[2] *= self.step as i32);
        let ends = |axis: usize| {
            let offsets = terms.iter().map(move |term| term.offset[axis]);
            (offsets.clone().min().unwrap_or(0), offsets.max().unwrap_or(0))
        };
        let spans: [_; 3] = std::array::from_fn(ends);
        let reach = spans.map(|(low, high)| (high - low + 1) / 2);
        let shift: [i32; 3] = std::array::from_fn(|axis| spans[axis].0 + reach[axis]);
        for term in &mut terms {
            (0..3).for_each(|axis| term.offset[axis] -= shift[axis]);
        }
        let reach = reach.map(|it| it as usize);
        let window = || Window::<C>::new(&rounded::<C>(&terms), reach[0]);
        let (sum, check): (Box<dyn Sums<C>>, _) = match order {
            Order::Any => (Box::new(window()), None),
            Order::Checked(bounds) => {
                let check = Check::new(&terms, stage.is_line, reach, bounds[number]);
                (Box::new(window()), Some(check))
            }
            Order::Scipy => (Box::new(Ordered::new(&terms, stage.is_line, reach[0])), None),
        };
        let shift = shift.map(|it| it as isize);
        Shaped { sum, check, reach, shift, divisor }
    }
}

/// The blocks of an array.
fn parts<O>(output: &mut [O], extents: [usize; 3], tile: [usize; 3]) -> Vec<Part<'_, O>> {
    let [_, ny, nx] = extents;
    let counts: [usize; 3] = std::array::from_fn(|axis| extents[axis].div_ceil(tile[axis]));
    let mut parts: Vec<Part<O>> = (0..counts.iter().product())
        .map(|number: usize| {
            let place = [
                number / (counts[1] * counts[2]),
                number / counts[2] % counts[1],
                number % counts[2],
            ];
            let low: [usize; 3] = std::array::from_fn(|axis| place[axis] * tile[axis]);
            let high: [usize; 3] =
                std::array::from_fn(|axis| (low[axis] + tile[axis]).min(extents[axis]));
            let rows = Vec::with_capacity((high[0] - low[0]) * (high[1] - low[1]));
            Part { low, high, rows }
        })
        .collect();
    for (number, row) in output.chunks_mut(nx).enumerate() {
        let (z, y) = (number / ny, number % ny);
        let first = ((z / tile[0]) * counts[1] + y / tile[1]) * counts[2];
        for (piece, part) in row.chunks_mut(tile[2]).zip(&mut parts[first..]) {
            part.rows.push(piece);
        }
    }
    parts
}
