// SPDX-License-Identifier: MIT OR Apache-2.0
//! Is the result right? It is compared with the plain stencil in f64, and the difference with what
//! rounding can cause.
//!
//! A run of many steps is compared in two ways: after all its steps with the reference from the input
//! on, as far as that can be afforded; and a few steps at a time, early, late and in between, with the
//! reference from the run's own grid on. The first covers the run as a whole, but what rounding can
//! cause grows with the steps; the second is strict. What rounding explains may still be worthless: [`ComparisonOutcome`].

use serde::Serialize;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

mod bound;
mod compare;
mod outcome;

pub use compare::{Comparison, RunningComparison, StepDigits};
pub use outcome::{ComparisonOutcome, MOST, share};

use crate::check::reference;
use crate::names::{self, UnknownName};
use crate::region::Region;
use crate::{Arithmetic, Error, Grid, Job, Jumped};

/// How much of the result is compared.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(
    serialize_all = "lowercase",
    parse_err_ty = UnknownName,
    parse_err_fn = names::unknown::<Verify>
)]
pub enum Verify {
    /// Every point after all steps
    Full,
    /// Patches at corners, edges, seams between tiles and random places; of a long run a few steps at a
    /// time
    Sample,
    /// No comparison
    Off,
}

/// What the comparisons of a run found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// In the order in which they were made.
    pub comparisons: Vec<Comparison>,
    /// Whether the reference for all steps was made by jumps in f64, not by steps.
    #[serde(skip)]
    pub by_jumps: bool,
}

impl Verdict {
    /// Whether rounding explains every difference.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failure().is_none()
    }

    /// The first comparison whose difference rounding does not explain.
    #[must_use]
    pub fn failure(&self) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| !comparison.holds())
    }

    /// What they show together: the worst of what each does; none without any.
    #[must_use]
    pub fn outcome(&self) -> Option<ComparisonOutcome> {
        self.comparisons.iter().map(Comparison::outcome).max()
    }

    /// Of the comparisons after which digits are lost that in which most of the values is.
    #[must_use]
    pub fn lost(&self) -> Option<&Comparison> {
        let lost =
            self.comparisons.iter().filter(|one| one.outcome() == ComparisonOutcome::DigitsLost);
        lost.max_by(|a, b| a.part().total_cmp(&b.part()))
    }

    /// Whether single steps of a system were compared, each from the values before it.
    #[must_use]
    pub fn is_of_steps(&self) -> bool {
        self.comparisons.iter().any(|comparison| comparison.digits.is_some())
    }

    /// The comparison that uses most of its bound.
    #[must_use]
    pub fn worst(&self) -> Option<&Comparison> {
        self.comparisons.iter().max_by(|a, b| a.used().total_cmp(&b.used()))
    }

    /// The comparison from the input to the result after so many steps, if there is one.
    #[must_use]
    pub fn of_all_steps(&self, steps: usize) -> Option<&Comparison> {
        self.comparisons.iter().find(|found| (found.from_step, found.to_step) == (0, steps))
    }

    /// The comparisons of some of the steps.
    pub fn of_some_steps(&self, steps: usize) -> impl Iterator<Item = &Comparison> {
        let all = (0, steps);
        self.comparisons.iter().filter(move |found| (found.from_step, found.to_step) != all)
    }
}

/// Compares every point of a grid after all steps of a job with the reference from `input` on; `jumped` is of
/// `compute::engine::Session::jumped`.
///
/// # Errors
/// None but those of memory that is not there.
pub fn whole(
    job: &Job,
    (arithmetic, jumped): (Arithmetic, Option<Jumped>),
    input: &Grid,
    output: &Grid,
) -> Result<Comparison, Error> {
    let whole = Region::whole(job.shape);
    let mut comparing = RunningComparison::new(job, arithmetic, 0, job.steps).by(jumped);
    let before = reference::gather(job.shape, whole, |region| Ok(input.read(region)))?;
    comparing.region(whole, before, &output.values, || Ok(()))?;
    Ok(comparing.finish())
}
