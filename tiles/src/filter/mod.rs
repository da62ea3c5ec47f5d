// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filters of arrays of any types, each a chain of weighted sums, one after the other while a block of the array is in the caches.
//!
//! A block is loaded with all that its sums read: it is converted to the type of the sums, and what lies outside the array
//! is looked up. So the array itself is neither padded nor converted.

mod axis;
mod block;
mod check;
mod described;
mod fourier;
mod mean;
mod number;
mod ordered;
mod precision;
mod stage;
mod sums;
#[cfg(test)]
mod tests;
mod tile;
mod values;
mod weights;

use problem::boundary::Side;
use rayon::prelude::*;

pub use axis::Axis;
pub use described::{Described, Summed, Terms};
pub use ordered::OrderedProduct;
pub use values::Value;

use self::block::{FactorRows, PartRows, Scratch, Shaped, StageChain};
use self::fourier::{Blocks, Transformed};
use self::number::{Float, SumType};
use self::precision::{Precision, SumOrder};
use self::stage::CentredStage;
use self::sums::NeighbourSums;
use self::values::{reinterpret, reinterpret_mut};

/// A neighbour, by its offset along z, y and x, and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Offset from the point that is computed.
    pub offset: [i32; 3],
    /// Its weight.
    pub weight: f64,
}

/// A weighted sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Of these neighbours, each once. Neighbours of weight 0 say, too, how far the sum reaches.
    pub terms: Vec<Term>,
    /// Whether the neighbours lie on one line, one after the other.
    pub is_line: bool,
    /// What the sum is divided by.
    pub divisor: f64,
}

impl Stage {
    /// Whether it is a mean of neighbours along x or y.
    fn is_mean(&self) -> bool {
        let is_next = |pair: &[Term]| {
            let delta: [i32; 3] = std::array::from_fn(|it| pair[1].offset[it] - pair[0].offset[it]);
            delta == self.delta()
        };
        let is_along = self.is_line && [[0, 1, 0], [0, 0, 1]].contains(&self.delta());
        is_along
            && self.terms.windows(2).all(is_next)
            && self.terms.iter().all(|term| term.weight == 1.0)
    }

    /// From the first neighbour to the next one.
    fn delta(&self) -> [i32; 3] {
        match &self.terms[..] {
            [first, second, ..] => std::array::from_fn(|it| second.offset[it] - first.offset[it]),
            _ => [0, 1, 0],
        }
    }
}

/// Sums one after the other, each of what the one before gave.
#[derive(Clone, Debug, PartialEq)]
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

/// Makes the sums of a stage, which has this number.
type MakeSums<'a, C> = dyn Fn(&CentredStage, usize) -> Box<dyn NeighbourSums<C>> + 'a;

/// What is generic here is compiled for each type of results. That of the array is known behind [`FactorRows`] alone: else all of
/// this would be compiled for each pair of types.
impl Filter {
    /// Filters an array.
    ///
    /// # Panics
    /// If the arrays have not as many values as the extents say, or there is no stage.
    pub fn run<I: Value, O: Value>(&self, input: &[I], output: &mut [O]) {
        let points: usize = self.extents.iter().product();
        assert_eq!([input.len(), output.len()], [points; 2], "arrays of these extents");
        assert!(!self.stages.is_empty(), "a sum at least");
        if points == 0 {
            return;
        }
        match Precision::of::<I, O>(self) {
            Precision::Short => {
                let (input, output) =
                    (reinterpret::<I, u8>(input), reinterpret_mut::<O, u8>(output));
                let (input, output) = input.zip(output).expect("both are bytes");
                self.run_in::<u16, u8>(&input, output, &|stage, _| Box::new(stage.mean()));
            }
            Precision::Single(order) => self.run_floats::<f32, O>(&input, output, &order),
            Precision::Double(order) => self.run_floats::<f64, O>(&input, output, &order),
        }
    }

    /// Filters an array with sums in `C`, by transforms where these are faster.
    fn run_floats<C: Float, O: Value>(
        &self,
        input: &dyn FactorRows<C>,
        output: &mut [O],
        order: &SumOrder,
    ) {
        let Some(blocks) = self.transformed::<C>(order, O::LARGEST.is_some()) else {
            return self.run_in(input, output, &|stage, at| stage.sums(order, at));
        };
        let chain = self.chain::<C>(&|stage, _| Box::new(Transformed::new(stage, blocks)), false);
        Self::run_chain(input, output, &chain, blocks.results);
    }

    /// The blocks by whose transforms the filter is faster.
    fn transformed<C: Float>(&self, order: &SumOrder, is_whole: bool) -> Option<Blocks> {
        let [stage] = &self.stages[..] else { return None };
        if *order != SumOrder::Any || is_whole || stage.is_mean() {
            return None;
        }
        let stage = CentredStage::new(stage, self.step, false);
        let [arrays, extents @ ..] = self.extents;
        fourier::blocks::<C>(&stage, extents, arrays)
    }

    /// Filters an array with sums in `C`, which are made of each stage and its number.
    fn run_in<C: SumType, O: Value>(
        &self,
        input: &dyn FactorRows<C>,
        output: &mut [O],
        sums: &MakeSums<C>,
    ) {
        let chain = self.chain(sums, O::LARGEST.is_some());
        let tile = tile::tile(chain.extents, chain.reach, size_of::<C>(), self.taps());
        Self::run_chain(input, output, &chain, tile);
    }

    /// Filters an array block by block.
    fn run_chain<C: SumType, O: Value>(
        input: &dyn FactorRows<C>,
        output: &mut [O],
        chain: &StageChain<C>,
        tile: [usize; 3],
    ) {
        let size: usize = chain.extents.iter().product();
        if size == 0 {
            return;
        }
        output.par_chunks_mut(size).enumerate().for_each(|(number, output)| {
            let rows = &PartRows { all: input, first: number * size, size };
            let parts = tile::parts(output, chain.extents, tile);
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

    fn chain<C: SumType>(&self, sums: &MakeSums<C>, is_whole: bool) -> StageChain<C> {
        let [_, extents @ ..] = self.extents;
        let shaped = |(number, stage): (usize, &Stage)| {
            let stage = CentredStage::new(stage, self.step, is_whole);
            let divisor = (stage.divisor != 1.0).then(|| C::divisor(stage.divisor));
            Shaped { sum: sums(&stage, number), reach: stage.reach, shift: stage.shift, divisor }
        };
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
        StageChain { extents, axes, reach: reach.map(|it| it as usize), shift, stages }
    }
}
