// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the values of a run can outgrow its element type, foreseen before the first step.

use std::fmt;

use rayon::prelude::*;
use transform::symbol::{self, Wave};

use crate::values::Element;
use crate::{Dtype, Error, Grid, Job, Values, with_dtype, with_values};

/// Growth beyond the largest number of the element type, and the step at which it may come.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Name of the stencil.
    stencil: String,
    /// Sum of its weights.
    sum: f64,
    /// The wave that grows fastest.
    wave: Wave,
    dtype: Dtype,
    /// The largest number of the type.
    limit: f64,
    /// The first step after which values may be larger, from 1.
    step: usize,
    /// Steps that were asked for.
    steps: usize,
}

impl Growth {
    /// The growth that a run from this input may meet, or from random values in [0, 1) without one; none
    /// where the type holds all that can come.
    ///
    /// After n steps no wave is more than growthⁿ times as large as it was: the estimate takes the
    /// whole input for the wave that grows fastest. Waves that the input holds little of pass the
    /// limit a few steps later; one that neither the input nor the boundary holds at all starts from
    /// rounding errors.
    #[must_use]
    pub fn predict(job: &Job, input: Option<&Grid>) -> Option<Self> {
        Self::predict_from(job, || Ok(input.map_or(1.0, largest))).ok().flatten()
    }

    /// The growth that a run may meet from an input whose largest absolute value is looked for only where it matters.
    ///
    /// # Errors
    /// `largest` fails.
    pub fn predict_from(
        job: &Job,
        largest: impl FnOnce() -> Result<f64, Error>,
    ) -> Result<Option<Self>, Error> {
        // No wave grows: nothing to be searched for.
        if job.steps == 0 || job.stencil.gain() <= 1.0 {
            return Ok(None);
        }
        let limit = with_dtype!(job.dtype, T => T::MAX.to_f64());
        let around = [job.boundary.largest(), job.boundary.rise(job.stencil.radii())];
        let largest = largest()?.max(around[0]) + around[1];
        let wave = symbol::fastest(&job.stencil);
        let before = (limit.ln() - largest.ln()) / wave.growth.ln();
        // Not where nothing grows, and not where the input is 0.
        if !(wave.growth > 1.0 && before < job.steps as f64) {
            return Ok(None);
        }
        Ok(Some(Self {
            stencil: job.stencil.name().to_owned(),
            sum: job.stencil.taps().iter().map(|tap| tap.weight).sum(),
            wave,
            dtype: job.dtype,
            limit,
            step: before.max(0.0) as usize + 1,
            steps: job.steps,
        }))
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { stencil, sum, wave, dtype, limit, step, steps } = self;
        let axes = ["z", "y", "x"].into_iter().zip(wave.lengths());
        let lengths: Vec<String> = axes
            .filter_map(|(axis, length)| Some(format!("{:.1} points along {axis}", length?)))
            .collect();
        let growth = wave.growth;
        match lengths.as_slice() {
            [] => write!(f, "the weights of {stencil} sum to {sum:.4}")?,
            lengths => {
                let waves = lengths.join(" and ");
                write!(f, "{stencil} is unstable: a step grows waves of {waves} by {growth:.4}")?;
            }
        }
        // f32 and f64 end at numbers of 38 and 308 digits.
        let limit = if *limit < 1e6 { format!("{limit}") } else { format!("{limit:.1e}") };
        let when = if *steps == 1 {
            "in this step".to_owned()
        } else {
            format!("from about step {step} of {steps} on")
        };
        write!(f, "; values may pass {limit}, the most that {dtype} holds, {when}")
    }
}

/// The largest absolute value.
#[must_use]
pub fn largest(grid: &Grid) -> f64 {
    largest_of(&grid.values)
}

/// The largest of some absolute values.
#[must_use]
pub fn largest_of(values: &Values) -> f64 {
    with_values!(values, values => {
        values.par_iter().map(|value| Element::to_f64(*value).abs()).reduce(|| 0.0, f64::max)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use transform::Stencil;

    fn predict(weights: &[f64], dtype: Dtype, steps: usize, value: f64) -> Option<Growth> {
        let stencil = Stencil::dense("own", &[weights.len()], weights).unwrap();
        let shape = Shape::new(&[2]).unwrap();
        let values = with_dtype!(dtype, T => T::wrap(vec![T::from_f64(value); 2]));
        predict_from(Job::new(stencil, shape, dtype, steps), values)
    }

    fn predict_from(job: Job, values: Values) -> Option<Growth> {
        let shape = job.shape;
        Growth::predict(&job, Some(&Grid { shape, values }))
    }

    #[test]
    fn the_step_is_where_the_largest_value_passes_the_type() {
        let threes = [1.0, 1.0, 1.0];
        // 3^10 = 59049, 3^11 = 177147; f16 ends at 65504, f32 at 3.4e38, which is 3^80.7.
        assert_eq!(predict(&threes, Dtype::F16, 10, 1.0), None);
        assert_eq!(predict(&threes, Dtype::F16, 11, 1.0).unwrap().step, 11);
        assert_eq!(predict(&threes, Dtype::F16, 500, 1.0).unwrap().step, 11);
        assert_eq!(predict(&threes, Dtype::F16, 500, 9.0).unwrap().step, 9);
        for dtype in [Dtype::Bf16, Dtype::Tf32, Dtype::F32] {
            assert_eq!(predict(&threes, dtype, 80, 1.0), None);
            assert_eq!(predict(&threes, dtype, 81, 1.0).unwrap().step, 81);
        }
        assert_eq!(predict(&threes, Dtype::F64, 20, 1.0), None);
        assert_eq!(predict(&threes, Dtype::F64, 646, 1.0), None);
        assert_eq!(predict(&threes, Dtype::F64, 647, 1.0).unwrap().step, 647);
    }

    #[test]
    fn what_cannot_grow_is_not_feared() {
        // |weights| sum to more than 1, but no wave grows: Lax-Wendroff with Courant number 1/2.
        assert_eq!(predict(&[0.375, 0.75, -0.125], Dtype::F16, usize::MAX, 1.0), None);
        assert_eq!(predict(&[1.0, 1.0, 1.0], Dtype::F16, 1000, 0.0), None);
        assert_eq!(predict(&[1.0, 1.0, 1.0], Dtype::F16, 0, 60_000.0), None);
    }

    #[test]
    fn an_unstable_step_is_told_by_its_wave() {
        // A heat step with r = 0.6 instead of at most 0.5: the sum is 1, the shortest wave grows.
        let growth = predict(&[0.6, -0.2, 0.6], Dtype::F16, 100, 1.0).unwrap();
        assert_eq!(
            growth.to_string(),
            "own is unstable: a step grows waves of 2.0 points along x by 1.4000; values may pass \
             65504, the most that f16 holds, from about step 33 of 100 on"
        );
        let growth = predict(&[1.0, 1.0, -5.0], Dtype::F32, 60, 1e10).unwrap();
        assert!(growth.to_string().contains(" may pass 3.4e38, the most that f32 holds, "));
        let growth = predict(&[1.0, 1.0, 1.0], Dtype::F16, 1, 60_000.0).unwrap();
        assert_eq!(
            growth.to_string(),
            "the weights of own sum to 3.0000; values may pass 65504, the most that f16 holds, in \
             this step"
        );
    }

    #[test]
    fn constants_around_the_grid_grow_too() {
        let stencil = Stencil::dense("own", &[3], &[1.0; 3]).unwrap();
        let shape = Shape::new(&[2]).unwrap();
        let mut job = Job::new(stencil, shape, Dtype::F16, 11);
        let zeros = || Values::F16(vec![half::f16::ZERO; 2]);
        assert_eq!(predict_from(job.clone(), zeros()), None);
        job.boundary = crate::Boundary::parse("constant=1", 1).unwrap();
        assert_eq!(predict_from(job, zeros()).unwrap().step, 11);
    }
}
