// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that steps cannot leave: a step with weights that are not negative makes each value of a mean of its
//! neighbours, times Σw. Transforms know nothing of that, and leave their rounding where a value is exactly 0.

use rayon::prelude::*;
use transform::spectral::power::exact_sum;

use problem::boundary::Side;
use problem::observe::{CompletedCopy, PendingCopy};
use problem::values::Element;
use problem::{Boundary, Error, Grid, Job, Values, with_values};

/// Bounds of all values after some steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueBounds {
    low: f64,
    high: f64,
}

impl ValueBounds {
    /// What holds where nothing is known.
    pub const ANYTHING: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// What so many steps of a job can make of values that lie between these.
    pub fn after(job: &Job, steps: usize, values: [f64; 2]) -> Self {
        let weights: Vec<f64> = job.stencil.taps().iter().map(|tap| tap.weight).collect();
        Self::of_sum(&weights, &job.boundary, job.shape.dims(), steps, values)
    }

    /// What so many steps, each a sum with these weights, can make of values that lie between these.
    pub fn of_sum(
        weights: &[f64],
        boundary: &Boundary,
        dims: usize,
        steps: usize,
        [low, high]: [f64; 2],
    ) -> Self {
        if weights.iter().any(|weight| *weight < 0.0) {
            return Self::ANYTHING;
        }
        // What lies around the grid is a neighbour, too.
        let (mut low, mut high) = (low, high);
        for side in boundary.sides[3 - dims..].iter().flatten() {
            let value = match side {
                Side::Zero => 0.0,
                Side::Constant(value) => *value,
                Side::Flux(slope) if *slope != 0.0 => return Self::ANYTHING,
                Side::Odd
                | Side::OddReflect
                | Side::Robin(_)
                | Side::Varying(_)
                | Side::VaryingFlux(_) => return Self::ANYTHING,
                // Values of the grid, or of the larger one that it is a part of.
                Side::Periodic | Side::Reflect | Side::Symmetric | Side::Edge => continue,
                Side::Flux(_) | Side::Open => continue,
            };
            (low, high) = (low.min(value), high.max(value));
        }
        let excess = exact_sum(weights.iter().copied().chain([-1.0]).collect());
        // A value that is 0 or grows only moves away from 0 where Σw is above 1, and towards it where it is below.
        let [shrunk, grown] = match excess {
            0.0 => [1.0; 2],
            excess => {
                let all = (steps as f64 * excess.ln_1p()).exp();
                // Of the exponential, too, nothing is certain but its digits.
                [all.min(1.0) * (1.0 - 1e-9), all.max(1.0) * (1.0 + 1e-9)]
            }
        };
        Self {
            low: low * if low >= 0.0 { shrunk } else { grown },
            high: high * if high > 0.0 { grown } else { shrunk },
        }
    }

    /// The value, if it lies within, else the end that is next to it. What is not a number stays so.
    pub fn keep(self, value: f64) -> f64 {
        let Self { low, high } = self;
        if value < low {
            low
        } else if value > high {
            high
        } else {
            value
        }
    }

    /// Keeps all values of a copy within.
    pub fn keep_all(self, values: &mut Values) {
        if self != Self::ANYTHING {
            with_values!(values, values => self.keep_each(values));
        }
    }

    fn keep_each<T: Element>(self, values: &mut [T]) {
        values.par_iter_mut().for_each(|value| {
            let (is, kept) = (value.to_f64(), self.keep(value.to_f64()));
            if is != kept && !is.is_nan() {
                *value = T::from_f64(kept);
            }
        });
    }
}

/// The least and the largest value.
pub fn extremes<T: Element>(values: &[T]) -> [f64; 2] {
    let widen = |[low, high]: [f64; 2], value: &T| {
        let value = value.to_f64();
        [low.min(value), high.max(value)]
    };
    let none = || [f64::INFINITY, f64::NEG_INFINITY];
    let both = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
    values.par_iter().fold(none, widen).reduce(none, both)
}

/// A copy that is on its way, and that is kept within when it has come.
pub struct BoundedCopy {
    /// The copy.
    pub coming: Box<dyn PendingCopy>,
    /// Within what.
    pub within: ValueBounds,
}

impl PendingCopy for BoundedCopy {
    fn arrive(self: Box<Self>) -> Result<CompletedCopy, Error> {
        let Self { coming, within } = *self;
        let arrived = coming.arrive()?;
        Ok(Box::new(move || {
            let Grid { shape, mut values } = arrived();
            within.keep_all(&mut values);
            Grid { shape, values }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::engine::fft::Fft;
    use problem::{Boundary, Dtype, Grid};
    use transform::{Stencil, Tap, catalogue};

    /// A job with this boundary, and as many points as make transforms round.
    fn job(stencil: Stencil, boundary: &str, dtype: Dtype) -> Job {
        let dims = stencil.dims();
        let (size, steps) = [("601", 300), ("71x90", 30), ("30x33x36", 12)][dims - 1];
        let job = Job::new(stencil, size.parse().unwrap(), dtype, steps);
        Job { boundary: Boundary::parse(boundary, dims).unwrap(), ..job }
    }

    /// The grid after all steps, from the values that a function gives.
    fn run(job: &Job, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let values: Vec<f64> = (0..job.shape.points()).map(value).collect();
        let grid = Grid::new(job.shape.axes(), values).unwrap().cast(job.dtype).unwrap();
        let mut session = Fft.prepare(job).unwrap();
        session.load(&grid).unwrap();
        session.advance(job.steps).unwrap();
        let after = session.store().unwrap();
        (0..job.shape.points()).map(|index| after.get(index)).collect()
    }

    /// Formerly half of the values far from a unit dot were negative.
    #[test]
    fn no_jump_leaves_the_values_that_there_were() {
        for name in ["star1d1r", "star1d3r", "star2d1r", "star3d1r"] {
            let stencil = catalogue::find(name).unwrap();
            for boundary in ["periodic", "reflect", "edge", "zero", "constant=0.25"] {
                for dtype in [Dtype::F64, Dtype::F32] {
                    let job = job(stencil.clone(), boundary, dtype);
                    let dot = job.shape.points() / 2;
                    for [low, high] in [[0.0, 1.0], [0.25, 0.5], [-1.0, 0.0]] {
                        let from = if low < 0.0 { high } else { low };
                        let to = if low < 0.0 { low } else { high };
                        let after = run(&job, |index| if index == dot { to } else { from });
                        let around = match boundary {
                            "zero" => [0.0; 2],
                            "constant=0.25" => [0.25; 2],
                            _ => [low, high],
                        };
                        let within = low.min(around[0])..=high.max(around[1]);
                        let bad: Vec<&f64> =
                            after.iter().filter(|value| !within.contains(value)).collect();
                        let count = bad.len();
                        assert!(bad.is_empty(), "{name} {boundary} {dtype}: {count}, {bad:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn weights_and_boundaries_decide_what_is_known() {
        let of = |weights: &[f64], boundary: &str, values| {
            let tap = |(at, &weight): (usize, &f64)| Tap { offset: [0, 0, at as i32 - 1], weight };
            let taps = weights.iter().enumerate().map(tap).collect();
            let stencil = Stencil::new("three", 1, taps).unwrap();
            let ValueBounds { low, high } =
                ValueBounds::after(&job(stencil, boundary, Dtype::F64), 2, values);
            [low, high]
        };
        let mean = [0.25, 0.5, 0.25];
        assert_eq!(of(&mean, "periodic", [2.0, 3.0]), [2.0, 3.0]);
        assert_eq!(of(&mean, "zero", [2.0, 3.0]), [0.0, 3.0]);
        assert_eq!(of(&mean, "constant=7", [2.0, 3.0]), [2.0, 7.0]);
        assert_eq!(of(&mean, "flux=0.5", [2.0, 3.0]), [f64::NEG_INFINITY, f64::INFINITY]);
        let waves = [-0.1, 1.2, -0.1];
        assert_eq!(of(&waves, "periodic", [2.0, 3.0]), [f64::NEG_INFINITY, f64::INFINITY]);
        let near = |found: [f64; 2], right: [f64; 2]| {
            found.iter().zip(right).all(|(found, right)| (found - right).abs() < 1e-7)
        };
        // Half, and twice, in each step.
        let [half, twice] = [[0.125, 0.25, 0.125], [0.5, 1.0, 0.5]];
        assert!(near(of(&half, "periodic", [2.0, 4.0]), [0.5, 4.0]));
        assert!(near(of(&twice, "periodic", [2.0, 4.0]), [2.0, 16.0]));
        assert!(near(of(&half, "periodic", [-4.0, -2.0]), [-4.0, -0.5]));
        assert!(near(of(&twice, "periodic", [-4.0, -2.0]), [-16.0, -2.0]));
        assert_eq!(of(&twice, "periodic", [0.0, 1.0])[0], 0.0);
    }

    #[test]
    fn what_is_not_a_number_is_not_hidden() {
        let within = ValueBounds { low: 0.0, high: 1.0 };
        assert!(within.keep(f64::NAN).is_nan() && ValueBounds::ANYTHING.keep(f64::NAN).is_nan());
        assert_eq!([-1e-18, 0.5, 1.0 + 1e-15].map(|value| within.keep(value)), [0.0, 0.5, 1.0]);
    }
}
