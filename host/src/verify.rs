// SPDX-License-Identifier: MIT OR Apache-2.0
//! Is the result right? It is compared with the f64 reference, and the difference with what
//! rounding can cause.
//!
//! # The bound
//! Let `x_k` be the exact grid after `k` steps, `y_k` the computed one, `e_k ≥ max|y_k − x_k|`,
//! `M_k = max|x_k|`, `W = Σ|w|`, `dW = Σ|w − ŵ|` for the rounded weights `ŵ`, and `g = nu/(1 − nu)`
//! for `n` neighbours and unit roundoff `u` of the sums. The sum before it is stored, `z`, obeys
//! ```text
//! |z − x_{k+1}| ≤ W e_k + (dW + g (W + dW)) (M_k + e_k) + n tiny_sum  =: d
//! ```
//! (neighbours are off by `e_k`, weights by `dW`, and recursive summation in any order by `g`), and
//! storing it adds one rounding: `e_{k+1} = d + v (M_{k+1} + d) + tiny`, with `v` the unit roundoff
//! of the stored type and `tiny` half of its smallest number. Where products round values too (tf32),
//! `g` grows by their unit roundoff; where they are split (f32 on tensor cores), by what they leave out,
//! and each factor is off by up to 2⁻¹³³ besides (`transform::split`). Where `T` steps are fused into one sum, `W`, `dW` and `n` are
//! those of the fused stencil, and `x_k`, `x_{k+T}` its ends; the larger of this and of stepping
//! counts, because points near the boundary are stepped. `e_0 = 0`: both start from the same
//! stored values. The reference itself is off by the same recursion in f64, which is added.

use clap::ValueEnum;
use rayon::prelude::*;

use crate::engine::Job;
use crate::progress::Progress;
use crate::reference::{self, Exact, Region};
use crate::sample::Plan;
use crate::{Dtype, Error, Grid, memory};
use transform::{Stencil, split};

/// How much of the result is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verify {
    /// Every point
    Full,
    /// Patches at corners, edges, seams between tiles and random places
    Sample,
    /// Nothing
    Off,
}

/// What the comparison found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Largest absolute difference.
    pub max_abs_err: f64,
    /// `‖y − x‖₂ / ‖x‖₂` over the points compared.
    pub rel_l2_err: f64,
    /// What rounding can cause.
    pub bound: f64,
    /// Number of points compared.
    pub points: usize,
    /// After how many steps; fewer than the run's where the reference would take too long.
    pub steps: usize,
}

impl Verdict {
    /// Whether rounding explains the difference.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.max_abs_err <= self.bound
    }
}

/// How sums were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Time steps in one sum.
    pub fuse: usize,
    /// Whether their products were split.
    pub split: bool,
}

/// Compares the result after `plan.steps` steps with the reference. Its values must be finite.
///
/// # Errors
/// The reference does not fit in memory, or Ctrl-C.
pub fn compare(
    job: &Job,
    input: &Grid,
    output: &Grid,
    plan: &Plan,
    sums: Sums,
    quiet: bool,
) -> Result<Verdict, Error> {
    let largest = plan.regions.iter().map(|region| dependence(job, region, plan.steps)).max();
    memory::require("the f64 reference", 2 * 8 * largest.unwrap_or(0) as u128)?;
    let mut maxima = vec![0.0; plan.steps + 1];
    let (mut max_abs_err, mut error2, mut exact2): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for region in &plan.regions {
        let mut progress = Progress::new("verifying", plan.steps, quiet);
        let exact = reference::advance(job, input, *region, plan.steps, &mut progress)?;
        let (largest, sum, norm) = difference(&exact, output, *region);
        max_abs_err = max_abs_err.max(largest);
        error2 += sum;
        exact2 += norm;
        maxima
            .iter_mut()
            .zip(exact.maxima)
            .for_each(|(all, own): (&mut f64, _)| *all = all.max(own));
    }
    let rel_l2_err = if error2 == 0.0 { 0.0 } else { (error2 / exact2).sqrt() };
    let points = plan.regions.iter().map(Region::points).sum();
    let bound = bound(job, sums, &maxima);
    Ok(Verdict { max_abs_err, rel_l2_err, bound, points, steps: plan.steps })
}

fn dependence(job: &Job, region: &Region, steps: usize) -> usize {
    region.before(steps, job).points()
}

/// Largest absolute difference, sum of squared differences, and sum of squared exact values.
fn difference(exact: &Exact, output: &Grid, region: Region) -> (f64, f64, f64) {
    let columns = region.extents()[2];
    let rows = exact.values.par_chunks(columns).enumerate().map(|(row, exact)| {
        let start = region.row_in(row, output.shape);
        exact.iter().enumerate().fold(
            (0.0f64, 0.0, 0.0),
            |(largest, error2, exact2), (x, &exact)| {
                let error = (output.get(start + x) - exact).abs();
                (largest.max(error), error2 + error * error, exact2 + exact * exact)
            },
        )
    });
    rows.reduce(|| (0.0, 0.0, 0.0), |a, b| (a.0.max(b.0), a.1 + b.1, a.2 + b.2))
}

/// How values are rounded on their way from one step to the next.
struct Rounding {
    /// Unit roundoff of a stored value.
    stored: f64,
    /// Half of the smallest stored number.
    tiny: f64,
    /// Unit roundoff of a value in a product.
    factor: f64,
    /// Unit roundoff of the sums.
    sum: f64,
    /// Half of the smallest number that the sums distinguish from 0.
    tiny_sum: f64,
    /// By how much each factor is off besides.
    tiny_factor: f64,
}

impl Rounding {
    fn of(dtype: Dtype, split: bool) -> Self {
        let two = |exponent| 2f64.powi(exponent);
        // Tensor cores cut sums off where others round: twice the unit roundoff of f32.
        let on_tensor_cores = Self {
            stored: two(-24),
            tiny: two(-150),
            factor: 0.0,
            sum: two(-23),
            tiny_sum: two(-150),
            tiny_factor: 0.0,
        };
        match dtype {
            Dtype::F16 => Self { stored: two(-11), tiny: two(-25), ..on_tensor_cores },
            Dtype::Bf16 => Self { stored: two(-8), tiny: two(-134), ..on_tensor_cores },
            Dtype::Tf32 => Self { factor: two(-11), ..on_tensor_cores },
            Dtype::F32 if split => {
                Self { factor: split::LEFT_OUT, tiny_factor: two(-133), ..on_tensor_cores }
            }
            Dtype::F32 => Self { sum: two(-24), ..on_tensor_cores },
            // 2^-1075 itself is no f64.
            Dtype::F64 => {
                let tiny = two(-1074);
                Self { stored: two(-53), tiny, sum: two(-53), tiny_sum: tiny, ..on_tensor_cores }
            }
        }
    }
}

/// What the bound needs to know of a stencil.
struct Weights {
    /// Sum of the absolute weights.
    gain: f64,
    /// Sum of what rounding the weights loses.
    lost: f64,
    neighbours: f64,
}

impl Weights {
    fn of(stencil: &Stencil, dtype: Dtype) -> Self {
        let rounded = dtype.round_weights(stencil);
        let pairs = stencil.taps().iter().zip(rounded.taps());
        Self {
            gain: stencil.gain(),
            lost: pairs.map(|(exact, rounded)| (exact.weight - rounded.weight).abs()).sum(),
            neighbours: stencil.taps().len() as f64,
        }
    }
}

fn bound(job: &Job, Sums { fuse, split }: Sums, maxima: &[f64]) -> f64 {
    let single = Weights::of(&job.stencil, job.dtype);
    let rounding = Rounding::of(job.dtype, split);
    let stepped = |error, maxima: &[f64]| {
        maxima.windows(2).fold(error, |error, pair| grow(&single, &rounding, error, pair))
    };
    let whole = (maxima.len() - 1) / fuse * fuse;
    let fused =
        transform::fuse::fuse(&job.stencil, fuse).map(|fused| Weights::of(&fused, job.dtype));
    let mut error = 0.0;
    for start in (0..whole).step_by(fuse) {
        // Points near the boundary are stepped, the others take all steps in one sum.
        let at_boundary = stepped(error, &maxima[start..=start + fuse]);
        let inside = fused.as_ref().map_or(0.0, |fused| {
            grow(fused, &rounding, error, &[maxima[start], maxima[start + fuse]])
        });
        error = at_boundary.max(inside);
    }
    let computed = stepped(error, &maxima[whole..]);
    let exact = Weights { lost: 0.0, ..single };
    let rounding = Rounding::of(Dtype::F64, false);
    let reference = maxima.windows(2).fold(0.0, |e, pair| grow(&exact, &rounding, e, pair));
    // The maxima are the reference's, so exact ones may be larger by its own error.
    computed * (1.0 + 1e-9) + 2.0 * reference
}

/// The error after an application, from the one before and the maxima of the exact values.
fn grow(weights: &Weights, rounding: &Rounding, error: f64, maxima: &[f64]) -> f64 {
    let Rounding { stored, tiny, factor, sum, tiny_sum, tiny_factor } = *rounding;
    let Weights { gain, lost, neighbours } = *weights;
    let g = neighbours * sum / (1.0 - neighbours * sum);
    let g = g + factor * (1.0 + g);
    let off = (lost + g * (gain + lost)) * (maxima[0] + error);
    let tiny_off = tiny_factor * (gain + neighbours * (maxima[0] + error));
    let summed = gain * error + off + tiny_off + neighbours * tiny_sum;
    summed + stored * (maxima[1] + summed) + tiny
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, Values};
    use transform::{Stencil, catalogue};

    fn job(stencil: Stencil, dtype: Dtype, steps: usize) -> Job {
        let shape: Shape = "20x30".parse().unwrap();
        Job::new(stencil, shape, dtype, steps)
    }

    const PLAIN: Sums = Sums { fuse: 1, split: false };

    fn whole(job: &Job) -> Plan {
        Plan { regions: vec![Region::whole(job.shape)], steps: job.steps }
    }

    #[test]
    fn a_wrong_point_is_found_and_a_right_grid_passes() {
        let job = job(catalogue::find("box2d1r").unwrap(), Dtype::F64, 3);
        let input = Grid::random(job.shape, Dtype::F64, 5).unwrap();
        let mut progress = Progress::new("test", 3, true);
        let exact =
            reference::advance(&job, &input, Region::whole(job.shape), 3, &mut progress).unwrap();
        let mut values = exact.values;
        let right = Grid { shape: job.shape, values: Values::F64(values.clone()) };
        let verdict = compare(&job, &input, &right, &whole(&job), PLAIN, true).unwrap();
        assert!(verdict.holds());
        assert_eq!((verdict.max_abs_err, verdict.rel_l2_err, verdict.points), (0.0, 0.0, 600));
        values[599] += 1e-12;
        let wrong = Grid { shape: job.shape, values: Values::F64(values) };
        let verdict = compare(&job, &input, &wrong, &whole(&job), PLAIN, true).unwrap();
        assert!(!verdict.holds(), "{verdict:?}");
    }

    #[test]
    fn the_bound_of_one_step_is_the_formula_s() {
        // Weights 1/3: in f16 off by 1/3 * 2^-12 * (relative part); W = 1, one neighbour each.
        let stencil = Stencil::dense("s", &[1, 3], &[0.25, 0.5, 0.25]).unwrap();
        let job = job(stencil, Dtype::F16, 1);
        let bound = bound(&job, PLAIN, &[2.0, 1.0]);
        // Exact weights: 3 roundings of f32 sums of at most 2, one of f16 at most 1, and 2^-25.
        let expected = 2f64.powi(-11) + 3.0 * 2f64.powi(-23) * 2.0 + 2f64.powi(-25);
        assert!((bound / expected - 1.0).abs() < 1e-5, "{bound:e} against {expected:e}");
    }

    #[test]
    fn split_products_widen_the_bound_by_what_they_leave_out() {
        let stencil = Stencil::dense("s", &[1, 3], &[0.25, 0.5, 0.25]).unwrap();
        let job = job(stencil, Dtype::F32, 1);
        let [split, plain] =
            [true, false].map(|split| bound(&job, Sums { fuse: 1, split }, &[2.0; 2]));
        // 3 sums cut off instead of rounded, and 1.01 · 2^-24 left out, of 2.
        let expected = (3.0 + 1.01) * 2f64.powi(-24) * 2.0;
        assert!(((split - plain) / expected - 1.0).abs() < 1e-5, "{split:e} against {plain:e}");
    }

    #[test]
    fn weights_that_the_type_cannot_hold_widen_the_bound() {
        let with = |weight: f64| {
            let stencil = Stencil::dense("s", &[1, 1], &[weight]).unwrap();
            bound(&job(stencil, Dtype::F16, 1), PLAIN, &[1.0, 1.0])
        };
        let third = transform::round::F16.round(1.0 / 3.0);
        assert!(with(1.0 / 3.0) - with(third) > 0.9 * (1.0 / 3.0 - third).abs());
    }
}
