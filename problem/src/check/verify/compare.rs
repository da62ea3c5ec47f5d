// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparing regions of a computed grid with the reference.

use rayon::prelude::*;
use serde::Serialize;

use super::bound::Bound;
use super::outcome::{ComparisonOutcome, MOST};
use crate::check::reference;
use crate::region::{Region, distinct_points};
use crate::values::Element;
use crate::{Arithmetic, Error, Job, Jumped, Values, with_values};

/// What a comparison of the grid after some steps found, where the reference began with the run's own
/// grid before them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The step after which the reference began; 0 for the input.
    pub from_step: usize,
    /// The step after which the grids were compared.
    pub to_step: usize,
    /// Number of points compared; of a system that of its values, all fields together.
    pub points: usize,
    /// Of these those of which rounding can make anything, such as a division by what can be 0: nothing is said of them.
    pub undecided: usize,
    /// Largest absolute difference; where it is more than rounding explains, that of the worst region.
    pub max_abs_err: f64,
    /// What rounding can cause there.
    pub bound: f64,
    /// `‖y − x‖₂ / ‖x‖₂` over the points compared.
    pub rel_l2_err: f64,
    /// The largest absolute exact value of the points compared, which errors are to be set against.
    pub largest: f64,
    /// What one step of a system did to the digits of its fields, each set against its own values; null of a sum, whose
    /// errors are set against `largest`.
    pub digits: Option<StepDigits>,
    /// The largest absolute computed value of the whole grid, where somebody looked ([`Comparison::beside`]); else 0.
    #[serde(skip)]
    pub of_grid: f64,
    /// Whether these are all points of the grid.
    #[serde(skip)]
    pub whole: bool,
    /// An error that says nothing of digits: the reference's own, and what the stored type cannot tell from 0 at points
    /// that may be far from all others.
    #[serde(skip)]
    pub floor: f64,
}

/// What rounding did to the digits of fields in one step of a system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepDigits {
    /// The largest part of what rounding allows that a value takes; above 1 the value is wrong.
    pub used: f64,
    /// The largest part of a field's values that rounding took in this step.
    pub lost: f64,
    /// The part of a field's values by which rounding kept it from changing, where it took more than half of the change:
    /// that adds up from step to step.
    pub stalled: f64,
    /// Steps of the run.
    #[serde(skip)]
    pub steps: usize,
}

impl Comparison {
    /// Whether rounding explains the difference.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.max_abs_err <= self.bound
    }

    /// The part of the values that rounding took: of the largest one in the maximum norm, and of all in the 2-norm. Of a
    /// sample also what it may have taken elsewhere, where that is all of the values.
    #[must_use]
    pub fn part(&self) -> f64 {
        if let Some(digits) = &self.digits {
            return digits.lost.max(digits.stalled * digits.steps as f64);
        }
        // The grid has an exact value at least this large: a computed one is off by no more than the bound.
        let known = (self.of_grid - self.bound).max(self.largest);
        let of = |error: f64| if error == 0.0 { 0.0 } else { error / known };
        let seen = match self.max_abs_err <= self.floor {
            true => 0.0,
            false if known > self.largest => of(self.max_abs_err),
            false => of(self.max_abs_err).max(self.rel_l2_err),
        };
        let elsewhere = of(self.bound);
        if self.whole || self.bound <= self.floor || elsewhere < 1.0 { seen } else { elsewhere }
    }

    /// Sets the errors of a sample against the largest absolute computed value of the whole grid, instead of the largest
    /// one of the sample: a sample may have points near zero only, whose errors say nothing of the digits elsewhere.
    #[must_use]
    pub fn beside(self, of_grid: f64) -> Self {
        Self { of_grid, ..self }
    }

    /// What it shows.
    #[must_use]
    pub fn outcome(&self) -> ComparisonOutcome {
        match self.holds() {
            false => ComparisonOutcome::Wrong,
            true if self.part() > MOST => ComparisonOutcome::DigitsLost,
            true => ComparisonOutcome::Verified,
        }
    }

    /// The part of the bound that the difference uses.
    #[must_use]
    pub fn used(&self) -> f64 {
        if let Some(digits) = &self.digits {
            return digits.used;
        }
        if self.max_abs_err == 0.0 { 0.0 } else { self.max_abs_err / self.bound }
    }
}

/// A comparison over some steps, region by region.
pub struct RunningComparison<'a> {
    job: &'a Job,
    bound: Bound,
    from_step: usize,
    steps: usize,
    jumped: Jumped,
    regions: Vec<Region>,
    /// Error and bound of the worst region so far.
    worst: (f64, f64),
    error2: f64,
    exact2: f64,
    /// The largest absolute exact value.
    largest: f64,
    /// By how much the exact values may be off.
    off: f64,
}

impl<'a> RunningComparison<'a> {
    /// Of the grid after `to_step` steps, from that after `from_step`.
    #[must_use]
    pub fn new(job: &'a Job, arithmetic: Arithmetic, from_step: usize, to_step: usize) -> Self {
        let bound = Bound::new(job, arithmetic);
        let steps = to_step - from_step;
        let (regions, worst) = (Vec::new(), (0.0, f64::INFINITY));
        let jumped = Jumped::default();
        let (error2, exact2, largest, off) = (0.0, 0.0, 0.0, 0.0);
        Self { job, bound, from_step, steps, jumped, regions, worst, error2, exact2, largest, off }
    }

    /// Sets the jumps that took the steps, if any did.
    #[must_use]
    pub fn by(self, jumped: Option<Jumped>) -> Self {
        Self { jumped: jumped.unwrap_or_default(), ..self }
    }

    /// Compares a region: `before` are the values that it depends on ([`reference::before`]), before the
    /// steps, `after` its own computed ones. `each` is called after each step of the reference.
    ///
    /// # Errors
    /// `each` fails.
    pub fn region(
        &mut self,
        region: Region,
        before: Vec<f64>,
        after: &Values,
        mut each: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut growth = self.bound.over(self.steps).by(self.jumped);
        let exact = reference::advance(self.job, region, self.steps, before, |done, largest| {
            growth.step(done, largest);
            if done > 0 { each() } else { Ok(()) }
        })?;
        self.found(region, &exact, after, growth.get());
        Ok(())
    }

    /// Compares a region with values that somebody else made, which are off by no more than `off`; rounding
    /// [explains](Self::explained) so much.
    pub fn region_of(
        &mut self,
        region: Region,
        (exact, off): (&[f64], f64),
        after: &Values,
        explained: f64,
    ) {
        self.off = self.off.max(off);
        self.found(region, exact, after, explained);
    }

    /// What rounding explains of a difference from values that are off by `off`, where no exact value was larger than
    /// `largest` in any step.
    #[must_use]
    pub fn explained(&self, largest: f64, off: f64) -> f64 {
        let mut growth = self.bound.over(self.steps).by(self.jumped);
        (0..=self.steps).for_each(|done| growth.step(done, largest));
        growth.get() + off
    }

    fn found(&mut self, region: Region, exact: &[f64], after: &Values, explained: f64) {
        let (error, error2, exact2) = with_values!(after, after => difference(exact, after));
        let largest = exact.par_iter().map(|value| value.abs()).reduce(|| 0.0, f64::max);
        self.largest = self.largest.max(largest);
        self.regions.push(region);
        self.error2 += error2;
        self.exact2 += exact2;
        let found = (error, explained);
        if is_worse(found, self.worst) {
            self.worst = found;
        }
    }

    /// What was found in all regions.
    #[must_use]
    pub fn finish(self) -> Comparison {
        let Self { from_step, steps, worst: (max_abs_err, bound), error2, exact2, largest, .. } =
            self;
        let rel_l2_err = if error2 == 0.0 { 0.0 } else { (error2 / exact2).sqrt() };
        let points = distinct_points(&self.regions);
        let (to_step, whole) = (from_step + steps, points == self.job.shape.points());
        let tiny = if whole { 0.0 } else { self.bound.tiny(steps) };
        let floor = self.off.max(tiny);
        Comparison {
            from_step,
            to_step,
            points,
            undecided: 0,
            max_abs_err,
            bound,
            rel_l2_err,
            largest,
            digits: None,
            of_grid: 0.0,
            whole,
            floor,
        }
    }
}

/// Whether a region's error and bound are worse than another's: beyond the bound by a larger factor, or
/// within it by a larger error. An error that is not a number is beyond any bound.
fn is_worse((error, bound): (f64, f64), (known, known_bound): (f64, f64)) -> bool {
    let beyond = |error: f64, bound: f64| error.is_nan() || error > bound;
    match (beyond(error, bound), beyond(known, known_bound)) {
        (true, true) => error * known_bound > known * bound,
        (false, false) => error > known || known_bound.is_infinite(),
        (is, _) => is,
    }
}

/// Points that a thread compares at a time.
const CHUNK: usize = 1 << 14;

/// Largest absolute difference, sum of squared differences, and sum of squared exact values.
fn difference<T: Element>(exact: &[f64], found: &[T]) -> (f64, f64, f64) {
    let chunks = exact.par_chunks(CHUNK).zip(found.par_chunks(CHUNK)).map(|(exact, found)| {
        exact.iter().zip(found).fold((0.0f64, 0.0, 0.0), |(largest, error2, exact2), (&x, y)| {
            let error = (y.to_f64() - x).abs();
            (larger(largest, error), error2 + error * error, exact2 + x * x)
        })
    });
    // In order, so that sums do not depend on the number of threads.
    let chunks: Vec<(f64, f64, f64)> = chunks.collect();
    chunks.into_iter().fold((0.0, 0.0, 0.0), |a, b| (larger(a.0, b.0), a.1 + b.1, a.2 + b.2))
}

/// Unlike `max`, this keeps what is not a number.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

/// Of a comparison that failed.
impl From<Comparison> for Error {
    fn from(wrong: Comparison) -> Self {
        let Comparison { from_step, to_step, max_abs_err: error, bound, .. } = wrong;
        Self::Verification { from_step, to_step, error, bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, Grid, with_dtype};
    use transform::catalogue;

    fn compare(change: impl Fn(&mut [f64])) -> Comparison {
        let stencil = catalogue::find("box2d1r").unwrap();
        let job = Job::new(stencil, "20x30".parse().unwrap(), Dtype::F64, 3);
        let input = Grid::random(job.shape, Dtype::F64, 5).unwrap();
        let arithmetic = Arithmetic::on_cores(Dtype::F64);
        let mut comparing = RunningComparison::new(&job, arithmetic, 0, 3);
        for region in Region::whole(job.shape).cut(1, 7) {
            let from = reference::before(region, 3, &job);
            let read =
                || reference::gather(job.shape, from, |region| Ok(input.read(region))).unwrap();
            let mut values = reference::advance(&job, region, 3, read(), |_, _| Ok(())).unwrap();
            change(&mut values);
            comparing.region(region, read(), &Values::F64(values), || Ok(())).unwrap();
        }
        comparing.finish()
    }

    #[test]
    fn a_right_grid_passes() {
        let right = compare(|_| {});
        assert!(right.holds());
        assert_eq!((right.max_abs_err, right.rel_l2_err, right.points), (0.0, 0.0, 600));
        assert_eq!((right.from_step, right.to_step), (0, 3));
        assert!(right.bound > 0.0 && right.bound < 1e-14, "{right:?}");
    }

    #[test]
    fn a_wrong_point_is_found() {
        for wrong in [1e-12, -1e-12, f64::NAN, f64::INFINITY] {
            let verdict = compare(|values| values[17] += wrong);
            assert!(!verdict.holds(), "{wrong}: {verdict:?}");
        }
    }

    fn outcome(change: impl Fn(&mut Comparison)) -> ComparisonOutcome {
        let mut of = compare(|_| {});
        (of.max_abs_err, of.rel_l2_err, of.bound, of.largest) = (0.009, 0.009, 10.0, 1.0);
        assert!(of.whole && of.floor == 0.0, "{of:?}");
        change(&mut of);
        of.outcome()
    }

    #[test]
    fn digits_are_lost_from_a_hundredth_of_the_values_on_in_either_norm() {
        use ComparisonOutcome::{DigitsLost, Verified, Wrong};
        assert_eq!(outcome(|_| {}), Verified);
        assert_eq!(outcome(|of| of.max_abs_err = 0.011), DigitsLost);
        assert_eq!(outcome(|of| of.rel_l2_err = 0.011), DigitsLost);
        assert_eq!(outcome(|of| of.largest = 0.8), DigitsLost);
        assert_eq!(outcome(|of| of.largest = 0.0), DigitsLost);
        assert_eq!(outcome(|of| of.bound = 0.008), Wrong);
        assert_eq!(outcome(|of| of.max_abs_err = f64::NAN), Wrong);
        // No error is lost of no values.
        let none = |of: &mut Comparison| {
            (of.max_abs_err, of.rel_l2_err, of.largest) = (0.0, 0.0, 0.0);
        };
        assert_eq!(outcome(none), Verified);
        // Of a sample, what may be elsewhere counts, and what no number of the type is does not.
        assert_eq!(outcome(|of| of.whole = false), DigitsLost);
        assert_eq!(outcome(|of| (of.whole, of.bound) = (false, 0.9)), Verified);
        // Unless the grid has larger values than the sample.
        let faint = |of: &mut Comparison| (of.whole, of.largest, of.bound) = (false, 1e-9, 0.5);
        assert_eq!(outcome(faint), DigitsLost);
        let beside = |of: &mut Comparison, largest: f64| {
            faint(of);
            *of = of.clone().beside(largest);
        };
        assert_eq!(outcome(|of| beside(of, 1.6)), Verified);
        assert_eq!(outcome(|of| beside(of, 0.9)), DigitsLost);
        let below = |of: &mut Comparison| (of.largest, of.floor) = (1e-9, 0.009);
        assert_eq!(outcome(below), Verified);
    }

    /// A dot in a corner of a large grid: the points of a sample may be where no value of the type is.
    #[test]
    fn a_sample_has_a_floor_of_its_type_s_smallest_number() {
        let stencil = catalogue::find("box2d1r").unwrap();
        for (dtype, tiny) in [(Dtype::F16, 2f64.powi(-25)), (Dtype::F32, 2f64.powi(-150))] {
            let job = Job::new(stencil.clone(), "20x30".parse().unwrap(), dtype, 4);
            let mut comparing = RunningComparison::new(&job, Arithmetic::on_cores(dtype), 0, 4);
            let region = Region::whole(job.shape).cut(1, 7).next().unwrap();
            let values = vec![tiny / 4.0; region.points()];
            let zero = with_dtype!(dtype, T => T::wrap(vec![T::default(); values.len()]));
            comparing.region_of(region, (&values, 0.0), &zero, 1.0);
            let found = comparing.finish();
            assert!(!found.whole && found.floor >= tiny && found.floor < 10.0 * tiny, "{found:?}");
        }
    }

    #[test]
    fn a_region_beyond_its_bound_is_worse_than_any_within() {
        assert!(is_worse((2.0, 1.0), (9.0, 10.0)));
        assert!(!is_worse((9.0, 10.0), (2.0, 1.0)));
        assert!(is_worse((3.0, 1.0), (2.0, 1.0)) && is_worse((2.0, 5.0), (1.0, 2.0)));
        assert!(is_worse((f64::NAN, 1.0), (0.5, 1.0)));
        assert!(!is_worse((0.5, 1.0), (f64::NAN, 1.0)));
    }
}
