// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a stage is computed.

use super::check::Checked;
use super::mean::Mean;
use super::number::Float;
use super::ordered::Ordered;
use super::precision::SumOrder;
use super::sums::NeighbourSums;
use super::weights::rounded;
use super::{Stage, Term};
use crate::window::Window;

/// Values of a mean that are added by themselves: of more, what neighbouring sums share is added once.
const FEW: usize = 8;

/// A stage whose offsets are moved so that they reach equally far to both sides.
pub struct CentredStage {
    pub terms: Vec<Term>,
    pub is_line: bool,
    pub reach: [usize; 3],
    pub shift: [isize; 3],
    pub divisor: f64,
    delta: [i32; 3],
    /// Whether it is a mean of many values.
    is_long: bool,
}

impl CentredStage {
    /// Of offsets along x in units of `step`. Where results are no whole numbers, weights are divided, not sums; but those of long means.
    pub fn new(stage: &Stage, step: usize, is_whole: bool) -> Self {
        let mut terms = stage.terms.clone();
        let is_long = stage.is_mean() && terms.len() > FEW;
        let divisor = if is_whole || is_long { stage.divisor } else { 1.0 };
        for term in &mut terms {
            term.weight *= divisor / stage.divisor;
            term.offset[2] *= step as i32;
        }
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
        let (reach, shift) = (reach.map(|it| it as usize), shift.map(|it| it as isize));
        let [z, y, x] = stage.delta();
        let delta = [z, y, x * step as i32];
        Self { terms, is_line: stage.is_line, reach, shift, divisor, delta, is_long }
    }

    /// Sums of this order; the stage has this number.
    pub fn sums<C: Float>(&self, order: &SumOrder, number: usize) -> Box<dyn NeighbourSums<C>> {
        let ordered = || Ordered::new(&self.terms, self.is_line, self.reach[0]);
        let window = || Window::new(&rounded::<C>(&self.terms), self.reach[0]);
        match order {
            SumOrder::Any if self.is_long => Box::new(self.mean()),
            SumOrder::Any => Box::new(window()),
            SumOrder::Checked(bounds) => {
                Box::new(Checked::new(window(), ordered(), self.reach, bounds[number]))
            }
            SumOrder::Scipy => Box::new(ordered()),
        }
    }

    /// The sums of a mean.
    pub fn mean(&self) -> Mean {
        Mean::new(self.terms[0].offset, self.delta, self.terms.len(), self.reach[0])
    }
}
