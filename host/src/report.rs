// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of a run, for programs and for people.

use std::fmt::{self, Write};

use serde::Serialize;

use crate::verify::Verdict;

/// What one run found. Serialised, it is the JSON report; its human form is its `Display`.
///
/// GB are 10^9 bytes. Rates of a run of no steps are 0.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the stencil, or of the weights' file.
    pub stencil: String,
    /// Extents, slowest axis first.
    pub shape: Vec<usize>,
    /// Number of points.
    pub points: usize,
    /// Number of time steps.
    pub steps: usize,
    /// Element type of the grid.
    pub dtype: String,
    /// The engine that ran.
    pub engine: &'static str,
    /// Time steps per sweep.
    pub fuse: usize,
    /// What lies outside the grid.
    pub boundary: String,
    /// Time for all steps.
    pub seconds: f64,
    /// Points times steps over seconds, in 10^9.
    pub gstencils_per_s: f64,
    /// Bytes that the sweeps must read and write at least, over seconds.
    pub effective_gb_per_s: f64,
    /// Bytes read and written over seconds, of a plain copy of the grid in the same run.
    pub copy_gb_per_s: f64,
    /// Effective bandwidth over that of the copy.
    pub fraction_of_copy: f64,
    /// Largest absolute difference from the f64 reference; null without verification.
    pub max_abs_err: Option<f64>,
    /// Relative difference in the 2-norm; null without verification.
    pub rel_l2_err: Option<f64>,
    /// Whether the result of all steps was compared, and rounding explains the difference.
    pub verified: bool,
    /// Version of this program.
    pub version: &'static str,
    /// The device.
    pub device: String,

    /// Why this engine.
    #[serde(skip)]
    pub why: String,
    /// Storage, product and accumulator types.
    #[serde(skip)]
    pub arithmetic: &'static str,
    /// What the comparison found, if there was one.
    #[serde(skip)]
    pub verdict: Option<Verdict>,
}

impl Report {
    /// Whether the comparison found more than rounding.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| !verdict.holds())
    }

    fn check(&self) -> String {
        let Some(verdict) = &self.verdict else {
            return "NOT VERIFIED, as asked".into();
        };
        let Verdict { max_abs_err, rel_l2_err, bound, points, steps } = verdict;
        let errors = format!(
            "max error {max_abs_err:.2e} (rounding allows {bound:.2e}), relative L2 error {rel_l2_err:.2e}"
        );
        let extent = match (points, steps) {
            (points, _) if *points == self.points => "every point".to_owned(),
            (points, _) => format!("{points} points"),
        };
        match (verdict.holds(), *steps == self.steps) {
            (false, _) => format!("FAILED at {extent} after {steps} steps: {errors}"),
            (true, true) => format!("{extent} agree with the f64 reference: {errors}"),
            (true, false) => format!(
                "ONLY THE FIRST {steps} STEPS, {extent}: all {} take the reference too long \
                 (--verify full does them): {errors}",
                self.steps
            ),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "{name:<11}{value}");
        line("stencil", &format_args!("{}, boundary {}", self.stencil, self.boundary))?;
        let (points, steps) = (self.points, self.steps);
        line("grid", &format_args!("{} = {points} points, {steps} steps", axes.join("x")))?;
        line("engine", &format_args!("{} ({})", self.engine, self.why))?;
        line("device", &self.device)?;
        line("arithmetic", &self.arithmetic)?;
        line("verified", &self.check())?;
        let mut speed = String::new();
        if self.failed() {
            speed.write_str("(of a WRONG result) ")?;
        }
        write!(speed, "{:.3} GStencil/s", self.gstencils_per_s)?;
        line("time", &format_args!("{:.6} s", self.seconds))?;
        line("speed", &speed)?;
        line(
            "bandwidth",
            &format_args!(
                "{:.1} GB/s effective, {:.2} of a copy ({:.1} GB/s)",
                self.effective_gb_per_s, self.fraction_of_copy, self.copy_gb_per_s
            ),
        )
    }
}
