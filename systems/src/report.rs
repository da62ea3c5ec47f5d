// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of a system, for programs and for people.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::check::StepCheck;
use super::checked::System;
use super::growth::SystemGrowth;
use super::growth::watched::FieldGrowth;
use super::rounded::RoundedCoefficient;
use super::session::{Jumps, StepSession};
use compute::report::{FEW, Keeps, Lost, Timing};
use files::record::Waited;
use problem::Dtype;
use problem::check::verify::{MOST, Outcome, share};

/// What came of a system. Serialised, it is the JSON report; its human form is its `Display`. GB are 10^9 bytes.
#[derive(Clone, Debug, Serialize)]
pub struct SystemReport {
    /// What it is.
    pub title: String,
    /// The names of its fields.
    pub fields: Vec<String>,
    /// Extents, slowest axis first.
    pub shape: Vec<usize>,
    /// Number of points.
    pub points: usize,
    /// Time steps that this run took.
    pub steps: usize,
    /// Those that an earlier run had taken, which this one went on from; null otherwise.
    pub resumed_after: Option<usize>,
    /// The value of `--input`; null without.
    pub input: Option<String>,
    /// What files on the way cost; null without.
    pub snapshots: Option<Waited>,
    /// Time of a step.
    pub dt: f64,
    /// How fields are stored.
    pub dtype: String,
    /// What computed.
    pub engine: &'static str,
    /// Why it is not another one; null if that one was asked for.
    pub why: Option<String>,
    /// The device.
    pub device: String,
    /// How it computes.
    pub arithmetic: String,
    /// How it took many steps at once; null if it did not.
    pub jumps: Option<Jumps>,
    /// Steps that were timed: all but those that were compared; all where they were taken again to be measured.
    pub timed_steps: usize,
    /// Their time.
    pub seconds: f64,
    /// How many times they were taken again to be measured, of which the median is the time; 0 if the time is the run's own.
    pub repetitions: usize,
    /// Points times fields times steps over seconds, in 10^9.
    pub gstencils_per_s: f64,
    /// Arrays that a step reads: fields, their earlier levels, coefficients.
    pub arrays_read: usize,
    /// Arrays that it writes.
    pub arrays_written: usize,
    /// Bytes of memory that a step must read and write at least, for each point.
    pub bytes_per_point: usize,
    /// These bytes over seconds.
    pub effective_gb_per_s: f64,
    /// What a copy of an array moves, read and written; null if none was measured.
    pub copy_gb_per_s: Option<f64>,
    /// `effective_gb_per_s` over that; null if no copy was measured.
    pub fraction_of_copy: Option<f64>,
    /// The steps that were compared with f64.
    pub checks: Vec<StepCheck>,
    /// Coefficients that the element type cannot hold, with what was given and what is stored.
    pub rounded_coefficients: Vec<RoundedCoefficient>,
    /// What the comparisons show, digits that rounding took included; null without any.
    pub outcome: Option<Outcome>,
    /// Whether some were compared, rounding explains every difference, and took no more than 1 % of the values.
    pub verified: bool,
    /// The growth that was foreseen; null without.
    pub growth: Option<SystemGrowth>,
    /// The largest values of each field before and after the steps; null where nobody looked after the last one.
    pub values: Option<Vec<FieldGrowth>>,
    /// Version of this program.
    pub version: &'static str,

    /// Bytes of a value as it lies in memory.
    #[serde(skip)]
    pub value_bytes: usize,
}

impl SystemReport {
    pub(super) fn new(
        system: &System,
        session: &dyn StepSession,
        steps: usize,
        timed_steps: usize,
        time: Duration,
        checks: &[StepCheck],
    ) -> Self {
        let (points, seconds) = (system.shape.points(), time.as_secs_f64());
        let (arrays_read, arrays_written) = (system.program.arrays().len(), system.fields.len());
        let bytes_per_point = (arrays_read + arrays_written) * session.value_bytes();
        let rate = |amount: usize| {
            let all = amount as f64 * points as f64 * timed_steps as f64;
            if seconds > 0.0 { all / seconds / 1e9 } else { 0.0 }
        };
        Self {
            title: system.title.clone(),
            fields: system.fields().map(str::to_owned).collect(),
            shape: system.shape.axes().to_vec(),
            points,
            steps,
            resumed_after: None,
            input: None,
            snapshots: None,
            dt: system.dt,
            dtype: system.dtype.to_string(),
            engine: session.engine(),
            why: None,
            device: session.device(),
            arithmetic: session.arithmetic(),
            jumps: session.jumps(),
            timed_steps,
            seconds,
            repetitions: 0,
            gstencils_per_s: rate(system.fields.len()),
            arrays_read,
            arrays_written,
            bytes_per_point,
            effective_gb_per_s: rate(bytes_per_point),
            copy_gb_per_s: None,
            fraction_of_copy: None,
            value_bytes: session.value_bytes(),
            rounded_coefficients: Vec::new(),
            outcome: None,
            verified: false,
            checks: checks.to_vec(),
            growth: None,
            values: None,
            version: env!("CARGO_PKG_VERSION"),
        }
        .judged()
    }

    /// This report with the coefficients that the element type cannot hold.
    pub(super) fn with_rounded(self, rounded_coefficients: Vec<RoundedCoefficient>) -> Self {
        Self { rounded_coefficients, ..self }.judged()
    }

    /// This report with what was measured after the steps, if anything was, and the jumps before that.
    pub(super) fn measured(self, measured: Option<(Timing, Option<Jumps>)>) -> Self {
        let Some((Timing { steps, repetitions, copy }, jumps)) = measured else { return self };
        let points = self.points as f64;
        let rate =
            |amount: f64, seconds: f64| if seconds > 0.0 { amount / seconds / 1e9 } else { 0.0 };
        let moved = 2.0 * points * self.value_bytes as f64;
        let copy_gb_per_s = copy.map(|copy| rate(moved, copy.as_secs_f64()));
        let (seconds, timed_steps) = match repetitions {
            0 => (self.seconds, self.timed_steps),
            _ => (steps.as_secs_f64(), self.steps),
        };
        let all = points * timed_steps as f64;
        let effective_gb_per_s = rate(all * self.bytes_per_point as f64, seconds);
        let fraction = |copy: f64| if copy > 0.0 { effective_gb_per_s / copy } else { 0.0 };
        Self {
            jumps,
            timed_steps,
            seconds,
            repetitions,
            gstencils_per_s: rate(all * self.fields.len() as f64, seconds),
            effective_gb_per_s,
            copy_gb_per_s,
            fraction_of_copy: copy_gb_per_s.map(fraction),
            ..self
        }
    }

    /// This report with the outcome of its comparisons.
    fn judged(self) -> Self {
        let wrong = self.checks.iter().any(|check| check.used > 1.0);
        let outcome = match (wrong, self.part() > MOST) {
            (true, _) => Outcome::Wrong,
            (false, true) => Outcome::DigitsLost,
            (false, false) => Outcome::Verified,
        };
        let outcome = (!self.checks.is_empty()).then_some(outcome);
        Self { outcome, verified: outcome == Some(Outcome::Verified), ..self }
    }

    /// The part of the values that rounding took: in a step that was compared; in all steps, if they are kept from
    /// changing as much as those; or of a coefficient.
    fn part(&self) -> f64 {
        let of_step = |check: &StepCheck| check.lost.max(check.stalled * self.steps as f64);
        let of_steps = self.checks.iter().map(of_step);
        let of_coefficients = self.rounded_coefficients.iter().map(|it| it.part);
        of_steps.chain(of_coefficients).fold(0.0, f64::max)
    }

    /// What rounding took of the values, where that is more than 1 %.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        let keeps = match self.dtype.as_str() {
            "f64" => None,
            "f32" => Some(Keeps::Type(Dtype::F64)),
            _ => Some(Keeps::Type(Dtype::F32)),
        };
        let is_lost = self.outcome == Some(Outcome::DigitsLost);
        is_lost.then(|| Lost { part: share(self.part()), keeps })
    }

    /// What was compared, in a line.
    fn compared(&self) -> String {
        let Some(worst) = self.checks.iter().max_by(|a, b| a.used.total_cmp(&b.used)) else {
            return "NOT VERIFIED, as asked".into();
        };
        let step = if self.checks.len() == 1 { "step" } else { "steps" };
        let values = self.checks.iter().map(|check| check.values).max().unwrap_or_default();
        let undecided: usize = self.checks.iter().map(|check| check.undecided).sum();
        let besides = match undecided {
            0 => String::new(),
            count => format!("; {count} values of which rounding can make anything are left out"),
        };
        format!(
            "{step} {}, {values} values each, against the same step in f64: max error {:.2e} (rounding allows \
             {:.2e}){besides}",
            spans(self.checks.iter().map(|check| check.step)),
            worst.max_abs_err,
            worst.bound
        )
    }
}

/// Increasing numbers, of which three or more that follow each other are told by the first and the last.
fn spans(numbers: impl Iterator<Item = usize>) -> String {
    let mut spans: Vec<[usize; 2]> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some([_, last]) if *last + 1 == number => *last = number,
            _ => spans.push([number; 2]),
        }
    }
    let text = |[first, last]: [usize; 2]| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    spans.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for SystemReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "{name:<11}{value}");
        let fields = self.fields.join(", ");
        let title = if self.title.is_empty() { "(no title)" } else { &self.title };
        line("system", &format_args!("{title}: {fields}"))?;
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let steps = if self.steps == 1 { "step" } else { "steps" };
        let Self { points, dt, .. } = self;
        let grid = axes.join("x");
        let after = self.resumed_after.map(|done| format!(" after {done} of an earlier run"));
        let after = after.unwrap_or_default();
        line(
            "grid",
            &format_args!("{grid} = {points} points, {} {steps}{after} of {dt}", self.steps),
        )?;
        match &self.why {
            None => line("engine", &self.engine)?,
            Some(why) => line("engine", &format_args!("{} ({why})", self.engine))?,
        }
        line("device", &self.device)?;
        line("arithmetic", &self.arithmetic)?;
        if let Some(Jumps { steps, toruses, growth, noise }) = &self.jumps {
            let torus = |torus: &Vec<usize>| {
                torus.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
            };
            let toruses: Vec<String> = toruses.iter().map(torus).collect();
            let toruses = toruses.join(", ");
            let text = format_args!(
                "up to {steps} steps at once on a torus of {toruses}; waves grow {growth:.3} times at most"
            );
            line("jump", &text)?;
            line("noise", &format_args!("rounding in transforms: up to {noise:.1e} at any point"))?;
        }
        match self.lost() {
            None => line("verified", &self.compared())?,
            Some(Lost { part, .. }) => {
                let told = format!("TOOK THE DIGITS, up to {part}; what was compared:");
                line("rounding", &told)?;
                line("", &self.compared())?;
            }
        }
        if let Some(values) = &self.values {
            let values: Vec<String> = values.iter().map(FieldGrowth::to_string).collect();
            line("values", &values.join("; "))?;
        }
        let measured = match self.repetitions {
            0 => String::new(),
            1 => " (of 1 repetition)".to_owned(),
            count => format!(" (median of {count} repetitions)"),
        };
        let time = format_args!("{:.6} s for {} {steps}{measured}", self.seconds, self.timed_steps);
        line("time", &time)?;
        line("speed", &format_args!("{:.3} GStencil/s of {fields}", self.gstencils_per_s))?;
        let Self { bytes_per_point: bytes, arrays_read, arrays_written, .. } = self;
        let counted = format_args!(
            "{bytes} bytes a point and step, of arrays {arrays_read} read, {arrays_written} written"
        );
        let copy = match (self.fraction_of_copy, self.copy_gb_per_s) {
            (Some(fraction), Some(copy)) if self.points >= FEW => {
                format!(", {fraction:.2} of a copy ({copy:.1} GB/s)")
            }
            _ => String::new(),
        };
        let bandwidth = self.effective_gb_per_s;
        line("bandwidth", &format_args!("{bandwidth:.1} GB/s effective{copy} ({counted})"))
    }
}

#[cfg(test)]
mod tests {
    use super::spans;

    #[test]
    fn long_runs_of_steps_are_told_by_their_ends() {
        for (steps, text) in [
            (&[1][..], "1"),
            (&[1, 2], "1, 2"),
            (&[1, 2, 3], "1 to 3"),
            (&[1, 16, 30], "1, 16, 30"),
            (&[1, 2, 3, 4, 9, 10, 12], "1 to 4, 9, 10, 12"),
        ] {
            assert_eq!(spans(steps.iter().copied()), text);
        }
    }
}
