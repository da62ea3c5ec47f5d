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
    /// The kernel that took most of the steps, on tensor cores.
    pub kernel: Option<String>,
    /// Time steps taken as one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
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
            (points, _) => count(*points, "point"),
        };
        match (verdict.holds(), *steps == self.steps) {
            (false, _) => format!("FAILED at {extent} after {}: {errors}", count(*steps, "step")),
            (true, true) => format!("{extent} against the f64 reference: {errors}"),
            (true, false) => format!(
                "ONLY THE FIRST {steps} STEPS, {extent}: all {} take the reference too long \
                 (--verify full does them): {errors}",
                self.steps
            ),
        }
    }
}

/// Points below which a comparison with a copy says nothing: it measures the start of threads or
/// kernels, not memory.
const FEW: usize = 1 << 14;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "{name:<11}{value}");
        line("stencil", &format_args!("{}, boundary {}", self.stencil, self.boundary))?;
        let (points, steps) = (count(self.points, "point"), count(self.steps, "step"));
        let depth = match (self.fuse, self.chain) {
            (1, 1) => String::new(),
            (fuse, 1) => format!(", {fuse} fused in one sweep"),
            (1, chain) => format!(", {chain} chained in one sweep"),
            (fuse, chain) => format!(", {fuse} fused x {chain} chained in one sweep"),
        };
        line("grid", &format_args!("{} = {points}, {steps}{depth}", axes.join("x")))?;
        line("engine", &format_args!("{} ({})", self.engine, self.why))?;
        if let Some(kernel) = &self.kernel {
            line("kernel", kernel)?;
        }
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
        let bandwidth = self.effective_gb_per_s;
        if self.points < FEW {
            return line("bandwidth", &format_args!("{bandwidth:.1} GB/s effective"));
        }
        line(
            "bandwidth",
            &format_args!(
                "{bandwidth:.1} GB/s effective, {:.2} of a copy ({:.1} GB/s)",
                self.fraction_of_copy, self.copy_gb_per_s
            ),
        )
    }
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(max_abs_err: f64) -> Report {
        let verdict = Verdict { max_abs_err, rel_l2_err: 0.5, bound: 1.0, points: 16384, steps: 3 };
        Report {
            stencil: "star2d1r".into(),
            shape: vec![128, 128],
            points: 16384,
            steps: 3,
            dtype: "f16".into(),
            engine: "cpu",
            kernel: None,
            fuse: 1,
            chain: 1,
            boundary: "zero".into(),
            seconds: 0.5,
            gstencils_per_s: 2.0,
            effective_gb_per_s: 8.0,
            copy_gb_per_s: 10.0,
            fraction_of_copy: 0.8,
            max_abs_err: Some(max_abs_err),
            rel_l2_err: Some(0.5),
            verified: max_abs_err <= 1.0,
            version: "1.2.3",
            device: "CPU, 1 thread".into(),
            why: "asked for".into(),
            arithmetic: "f16 storage, f16 products, f32 sums",
            verdict: Some(verdict),
        }
    }

    #[test]
    fn the_human_form() {
        let text = "\
stencil    star2d1r, boundary zero
grid       128x128 = 16384 points, 3 steps
engine     cpu (asked for)
device     CPU, 1 thread
arithmetic f16 storage, f16 products, f32 sums
verified   every point against the f64 reference: max error 2.50e-1 (rounding allows 1.00e0), \
relative L2 error 5.00e-1
time       0.500000 s
speed      2.000 GStencil/s
bandwidth  8.0 GB/s effective, 0.80 of a copy (10.0 GB/s)
";
        assert_eq!(report(0.25).to_string(), text);
    }

    #[test]
    fn the_depth_is_told() {
        let mut report = report(0.25);
        (report.fuse, report.chain) = (3, 4);
        let text = report.to_string();
        assert!(text.contains("points, 3 steps, 3 fused x 4 chained in one sweep\n"), "{text}");
    }

    #[test]
    fn a_few_points_are_not_compared_with_a_copy() {
        let mut report = report(0.25);
        report.points = FEW - 1;
        assert!(report.to_string().ends_with("bandwidth  8.0 GB/s effective\n"));
    }

    #[test]
    fn a_wrong_result_gives_no_speed_without_saying_so() {
        let report = report(1.5);
        assert!(report.failed());
        let text = report.to_string();
        assert!(text.contains("verified   FAILED at every point after 3 steps: "), "{text}");
        assert!(text.contains("speed      (of a WRONG result) 2.000 GStencil/s"), "{text}");
    }

    #[test]
    fn a_check_of_the_first_steps_only_says_so() {
        let mut report = report(0.25);
        report.steps = 2000;
        let text = report.to_string();
        assert!(text.contains("verified   ONLY THE FIRST 3 STEPS, every point: all 2000 take "));
    }
}
