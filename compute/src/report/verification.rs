// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report says of the comparisons.

use serde::Serialize;

use problem::check::verify::{ComparisonOutcome, Verdict};

/// With what runs are compared that are not too long for it.
const STEPS: &str = "the plain stencil in f64, step by step";

/// How much was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VerificationMode {
    /// Nothing, as was asked.
    Off,
    /// Every point after all steps.
    Full,
    /// Some points, or some of the steps.
    Sample,
}

/// What was compared, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// How much.
    pub mode: VerificationMode,
    /// With what; null if nothing was compared.
    pub reference: Option<&'static str>,
    /// Whether rounding explains all differences; null if nothing was compared.
    pub passed: Option<bool>,
    /// What that shows, digits that rounding took included; null if nothing was compared.
    pub outcome: Option<ComparisonOutcome>,
    /// Whether all was compared that was to be; false after a signal.
    pub complete: bool,
    /// Why less was compared than was asked for, or than would be with more memory.
    pub reduced: Option<String>,
    /// What the comparisons found: a list of them, with their steps, points, errors and bounds.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Verification {
    /// None, as was asked.
    #[must_use]
    pub fn off() -> Self {
        Self {
            mode: VerificationMode::Off,
            reference: None,
            passed: None,
            outcome: None,
            complete: true,
            reduced: None,
            verdict: Verdict::default(),
        }
    }

    /// The verification of a run. `full`: every point was to be compared. `complete`: all points that were to be
    /// compared were.
    #[must_use]
    pub fn new(verdict: Verdict, full: bool, complete: bool, reduced: Option<String>) -> Self {
        let any = !verdict.comparisons.is_empty();
        let reference = match (verdict.by_jumps, verdict.comparisons.len()) {
            _ if verdict.is_of_steps() => "the same step in f64",
            (false, _) => STEPS,
            (true, 1) => "for all steps jumps in f64 by Fourier transforms",
            (true, _) => {
                "for all steps jumps in f64 by Fourier transforms; for some the plain stencil in f64, step by step"
            }
        };
        Self {
            mode: if full { VerificationMode::Full } else { VerificationMode::Sample },
            reference: any.then_some(reference),
            passed: any.then_some(verdict.holds()),
            outcome: verdict.outcome(),
            complete,
            reduced,
            verdict,
        }
    }
}
