// SPDX-License-Identifier: MIT OR Apache-2.0
//! A report for people.

use std::fmt::{self, Write};

use super::{Report, RoundingLoss, Totals, Verification, VerificationMode};
use crate::plan::depth;
use problem::JumpReport;
use problem::check::field_growth::FieldGrowth;
use problem::check::verify::{Comparison, Verdict};

impl Report {
    /// What was compared, a line for each way.
    fn checks(&self, full: Option<&str>) -> Vec<String> {
        let Verification { mode, verdict, complete, reduced, .. } = &self.verification;
        if *mode == VerificationMode::Off {
            return vec!["NOT VERIFIED, as asked".into()];
        }
        let mut lines = Vec::new();
        if verdict.is_of_steps() {
            lines.extend(of_steps(verdict));
        } else if let Some(failure) = verdict.failure() {
            let (extent, errors) = (self.extent(failure), errors(failure));
            let &Comparison { from_step, to_step, .. } = failure;
            lines.push(match from_step {
                0 => format!("FAILED at {extent} after {}: {errors}", count(to_step, "step")),
                _ => format!("FAILED at {extent} from step {from_step} to {to_step}: {errors}"),
            });
        } else {
            if let Some(whole) = verdict.of_all_steps(self.steps) {
                let (extent, errors) = (self.extent(whole), errors(whole));
                let by = if verdict.by_jumps { "jumps in f64" } else { "the f64 reference" };
                lines.push(format!("{extent} against {by}: {errors}"));
            }
            lines.extend(self.spans(verdict, full));
        }
        if let Some(RoundingLoss { part, .. }) = self.lost() {
            lines.insert(0, format!("TOOK THE DIGITS, up to {part}; what was compared:"));
        }
        if !complete {
            let rest = if lines.is_empty() { "" } else { " AFTER ALL STEPS" };
            lines.insert(0, format!("NOT VERIFIED{rest}: interrupted"));
        }
        lines.extend(reduced.clone());
        lines
    }

    /// What was compared a few steps at a time.
    fn spans(&self, verdict: &Verdict, full: Option<&str>) -> Option<String> {
        let spans: Vec<&Comparison> = verdict.of_some_steps(self.steps).collect();
        let worst = spans.iter().copied().max_by(|a, b| a.used().total_cmp(&b.used()))?;
        let steps = spans.iter().map(|span| span.to_step - span.from_step).max()?;
        let places: Vec<String> = spans.iter().map(|span| span.from_step.to_string()).collect();
        let from = match places.as_slice() {
            few if few.len() <= 5 => few.join(", "),
            many => format!("{}, ..., {}", many[..2].join(", "), many[many.len() - 1]),
        };
        let (extent, errors) = (self.extent(worst), errors(worst));
        let (of, times) = (count(self.steps, "step"), count(spans.len(), "time"));
        let as_wished = self.verification.reduced.is_none();
        let rest = match (verdict.of_all_steps(self.steps), full) {
            (None, Some(full)) if as_wished => {
                format!(" ({full} compares all of them from the input on)")
            }
            _ => String::new(),
        };
        Some(format!(
            "up to {steps} steps at a time, {times} in {of} (from step {from}), {extent} against the \
             f64 reference from the run's own grid on{rest}: {errors}"
        ))
    }

    fn extent(&self, comparison: &Comparison) -> String {
        match comparison.points {
            points if points == self.points => "every point".to_owned(),
            points => count(points, "point"),
        }
    }
}

/// What was compared of single steps.
fn of_steps(verdict: &Verdict) -> Option<String> {
    let worst = verdict.worst()?;
    let all = &verdict.comparisons;
    let step = if all.len() == 1 { "step" } else { "steps" };
    let values = all.iter().map(|check| check.points).max()?;
    let besides = match all.iter().map(|check| check.undecided).sum::<usize>() {
        0 => String::new(),
        count => format!("; {count} values of which rounding can make anything are left out"),
    };
    Some(format!(
        "{step} {}, {values} values each, against the same step in f64: max error {:.2e} (rounding allows \
         {:.2e}){besides}",
        spans(all.iter().map(|check| check.to_step)),
        worst.max_abs_err,
        worst.bound
    ))
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

fn errors(comparison: &Comparison) -> String {
    let Comparison { max_abs_err, bound, rel_l2_err, .. } = comparison;
    format!(
        "max error {max_abs_err:.2e} (rounding allows {bound:.2e}), relative L2 error {rel_l2_err:.2e}"
    )
}

/// Points below which a comparison with a copy says nothing: it measures the start of threads or
/// kernels, not memory.
pub const FEW: usize = 1 << 14;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.write(f, None)
    }
}

impl Report {
    /// The report for readers who know how all steps can be compared, such as by an option.
    #[must_use]
    pub fn advising<'a>(&'a self, full: &'a str) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| self.write(f, Some(full)))
    }

    fn write(&self, f: &mut fmt::Formatter, full: Option<&str>) -> fmt::Result {
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "{name:<11}{value}");
        let fields = self.fields.join(", ");
        match (&self.stencil, self.title.as_deref().unwrap_or_default()) {
            (Some(name), _) => {
                line("stencil", &format_args!("{name}, boundary {}", self.boundary))?
            }
            (None, "") => line("system", &format_args!("(no title): {fields}"))?,
            (None, title) => line("system", &format_args!("{title}: {fields}"))?,
        }
        let (points, steps) = (count(self.points, "point"), count(self.steps, "step"));
        let depth = match (self.dt, depth(self.fuse, self.chain)) {
            // How a system computes says it.
            (Some(dt), _) => format!(" of {dt}"),
            (None, depth) if depth.is_empty() => depth,
            (None, depth) => format!(", {depth} in one sweep"),
        };
        let after = self.resumed_after.map(|done| format!(" after {done} of an earlier run"));
        let after = after.unwrap_or_default();
        line("grid", &format_args!("{} = {points}, {steps}{after}{depth}", axes.join("x")))?;
        match &self.why {
            None => line("engine", &self.engine)?,
            Some(why) => line("engine", &format_args!("{} ({why})", self.engine))?,
        }
        match (&self.kernel, self.side_by_side) {
            (None, _) => (),
            (Some(kernel), 0 | 1) => line("kernel", kernel)?,
            (Some(kernel), many) => {
                line("kernel", &format_args!("{kernel}, {many} systems side by side"))?;
            }
        }
        if let Some(JumpReport { steps, toruses, rim, growth }) = &self.jump {
            let torus = |torus: &Vec<usize>| {
                torus.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
            };
            let toruses = toruses.iter().map(torus).collect::<Vec<_>>().join(", ");
            let rest = match (growth, rim) {
                (Some(growth), _) => format!("; waves grow {growth:.3} times at most"),
                (None, 0) => ", exact at every side".to_owned(),
                (None, rim) if *rim == self.points => ", all of it stepped".to_owned(),
                (None, rim) => format!(", a rim of {} stepped", count(*rim, "point")),
            };
            let steps = count(*steps, "step");
            let text = format_args!("{steps} at once, spectral, on a torus of {toruses}{rest}");
            line("jump", &text)?;
        }
        if let Some(noise) = self.noise {
            line("noise", &format_args!("rounding in transforms: up to {noise:.1e} at any point"))?;
        }
        if let Some((margin, second)) = self.forecast.margin.zip(self.forecast.second.as_ref()) {
            let times = format_args!("{margin:.2} times the speed of the second: {second}");
            line("margin", &times)?;
        }
        line("device", &self.device)?;
        line("arithmetic", &self.arithmetic)?;
        let mut name = if self.lost().is_some() { "rounding" } else { "verified" };
        for check in self.checks(full) {
            line(name, &check)?;
            name = "";
        }
        if let Some(values) = &self.values {
            let values: Vec<String> = values.iter().map(FieldGrowth::to_string).collect();
            line("values", &values.join("; "))?;
        }
        if let Some(Totals(totals)) = &self.totals {
            let told = totals.iter().map(|(name, value)| format!("{name} {value:?}"));
            line("totals", &told.collect::<Vec<_>>().join("; "))?;
        }
        let mut speed = String::new();
        if self.failed() {
            speed.write_str("(of a WRONG result) ")?;
        }
        write!(speed, "{:.3} GStencil/s", self.gstencils_per_s)?;
        if self.stencil.is_none() {
            write!(speed, " of {fields}")?;
        }
        let measured = match self.repetitions {
            0 => String::new(),
            1 => " (of 1 repetition)".to_owned(),
            count => format!(" (median of {count} repetitions)"),
        };
        let of_steps = match self.stencil {
            Some(_) => String::new(),
            None => format!(" for {}", count(self.timed_steps, "step")),
        };
        line("time", &format_args!("{:.6} s{of_steps}{measured}", self.seconds))?;
        if let Some(seconds) = self.forecast.predicted_seconds {
            let of = self.forecast.figures.as_deref().unwrap_or_default();
            line("predicted", &format_args!("{seconds:.6} s ({of})"))?;
        }
        line("speed", &speed)?;
        let copy = match (self.fraction_of_copy, self.copy_gb_per_s) {
            (Some(fraction), Some(copy)) if self.points >= FEW => {
                format!(", {fraction:.2} of a copy ({copy:.1} GB/s)")
            }
            _ => String::new(),
        };
        let Self { bytes_per_point: bytes, arrays_read, arrays_written, .. } = self;
        let counted = match self.stencil {
            Some(_) => String::new(),
            None => format!(
                " ({bytes} bytes a point and step, of arrays {arrays_read} read, {arrays_written} written)"
            ),
        };
        let bandwidth = self.effective_gb_per_s;
        line("bandwidth", &format_args!("{bandwidth:.1} GB/s effective{copy}{counted}"))
    }
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::super::{Facts, ReportProblem};
    use super::*;
    use crate::plan::{Forecast, RunTarget, on_gpu};
    use crate::report::{MorePrecise, Timing};
    use problem::{Arithmetic, Dtype, Job};
    use std::time::Duration;
    use transform::catalogue;
    use transform::machine::Machine;

    fn comparison(from_step: usize, to_step: usize, max_abs_err: f64) -> Comparison {
        let (points, bound, rel_l2_err, largest, floor) = (16384, 1.0, 5e-3, 1e3, 0.0);
        Comparison {
            of_grid: 0.0,
            from_step,
            to_step,
            points,
            max_abs_err,
            bound,
            rel_l2_err,
            largest,
            whole: true,
            floor,
            undecided: 0,
            digits: None,
        }
    }

    /// 128², in steps of 1/6 s; a copy takes 0.5 s a thousand times.
    fn report_of(steps: usize, comparisons: Vec<Comparison>, copy: Option<Duration>) -> Report {
        let stencil = catalogue::find("star2d1r").unwrap();
        let job = Job::new(stencil, "128x128".parse().unwrap(), Dtype::F16, steps);
        let facts = Facts {
            engine: "cpu",
            why: Some("asked for".into()),
            kernel: None,
            forecast: Forecast::default(),
            fuse: 1,
            chain: 1,
            jump: None,
            noise: None,
            arithmetic: Arithmetic::on_cores(Dtype::F16).to_string(),
            keeps: MorePrecise::more_than(&Arithmetic::on_cores(Dtype::F16)),
            device: "CPU, 1 thread".into(),
            timed_steps: steps,
            sweeps: steps,
            timing: Timing { steps: Duration::from_micros(49_152), repetitions: 9, copy },
        };
        let verdict = Verdict { comparisons, by_jumps: false };
        let verification = Verification::new(verdict, true, true, None);
        Report::new(ReportProblem::of(&job, "u"), facts, verification)
    }

    fn report(max_abs_err: f64) -> Report {
        let copy = Some(Duration::from_nanos(8_192_000));
        report_of(3, vec![comparison(0, 3, max_abs_err)], copy)
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
relative L2 error 5.00e-3
time       0.049152 s (median of 9 repetitions)
speed      0.001 GStencil/s
bandwidth  0.0 GB/s effective, 0.50 of a copy (0.0 GB/s)
";
        assert_eq!(report(0.25).to_string(), text);
    }

    #[test]
    fn the_margin_and_what_was_predicted_are_told() {
        let target = RunTarget::described(Machine::h200());
        let stencil = catalogue::find("star2d1r").unwrap();
        let job = Job::new(stencil, "4096x4096".parse().unwrap(), Dtype::F16, 1);
        let mut forecast = Forecast::of_first(&on_gpu(&target, &job), 1).unwrap();
        (forecast.margin, forecast.predicted_seconds) = (Some(1.25), Some(0.25));
        let second = forecast.second.clone().unwrap();
        let text = Report { forecast, ..report(0.25) }.to_string();
        let margin = format!("\nmargin     1.25 times the speed of the second: {second}\n");
        let predicted = format!("\npredicted  0.250000 s ({})\n", Machine::h200().source);
        assert!(text.contains(&margin) && text.contains(&predicted), "{text}");
    }

    #[test]
    fn the_depth_is_told() {
        let mut report = report(0.25);
        (report.fuse, report.chain) = (3, 4);
        let text = report.to_string();
        assert!(text.contains("points, 3 steps, 3 fused x 4 chained in one sweep\n"), "{text}");
    }

    #[test]
    fn a_jump_is_told() {
        let mut report = report(0.25);
        for (rim, text) in [
            (0, "exact at every side"),
            (16384, "all of it stepped"),
            (992, "a rim of 992 points stepped"),
        ] {
            let toruses = vec![vec![128, 135]];
            report.jump = Some(JumpReport { steps: 3, toruses, rim, growth: None });
            let line =
                format!("\njump       3 steps at once, spectral, on a torus of 128x135, {text}\n");
            assert!(report.to_string().contains(&line), "{report}");
        }
        assert!(!report.to_string().contains("\nnoise "), "{report}");
        report.noise = Some(2.13e-10);
        let line = "\nnoise      rounding in transforms: up to 2.1e-10 at any point\n";
        assert!(report.to_string().contains(line), "{report}");
    }

    #[test]
    fn what_was_not_measured_is_not_told() {
        let mut few = report(0.25);
        few.points = FEW - 1;
        assert!(few.to_string().ends_with("bandwidth  0.0 GB/s effective\n"));
        let without = report_of(3, vec![], None);
        assert!(without.to_string().ends_with("bandwidth  0.0 GB/s effective\n"));
        let json = serde_json::to_value(&without).unwrap();
        assert!(json["copy_gb_per_s"].is_null() && json["fraction_of_copy"].is_null());
    }

    #[test]
    fn a_wrong_result_gives_no_speed_without_saying_so() {
        let report = report(1.5);
        assert!(report.failed() && !report.verified);
        let text = report.to_string();
        assert!(text.contains("verified   FAILED at every point after 3 steps: "), "{text}");
        assert!(text.contains("speed      (of a WRONG result) 0.001 GStencil/s"), "{text}");
        let late = report_of(900, vec![comparison(0, 8, 0.5), comparison(800, 808, 1.5)], None);
        let text = late.to_string();
        assert!(
            text.contains("FAILED at every point from step 800 to 808: max error 1.5"),
            "{text}"
        );
    }

    #[test]
    fn a_check_of_some_steps_says_which() {
        let spans =
            vec![comparison(0, 8, 0.25), comparison(800, 808, 0.75), comparison(892, 900, 0.5)];
        let some = report_of(900, spans.clone(), None);
        assert!(!some.failed() && !some.verified);
        assert_eq!((some.max_abs_err, some.verification.passed), (Some(0.75), Some(true)));
        assert!(some.to_string().contains("from the run's own grid on: max error"), "{some}");
        let text = some.advising("--verify full").to_string();
        let line = "verified   up to 8 steps at a time, 3 times in 900 steps (from step 0, 800, 892), \
                    every point against the f64 reference from the run's own grid on (--verify full \
                    compares all of them from the input on): max error 7.50e-1 (rounding allows 1.00e0), relative L2 error 5.00e-3\ntime ";
        assert!(text.contains(line), "{text}");

        let both = report_of(900, [spans, vec![comparison(0, 900, 0.125)]].concat(), None);
        assert!(both.verified);
        assert_eq!(both.max_abs_err, Some(0.125));
        let text = both.to_string();
        assert!(
            text.contains("verified   every point against the f64 reference: max error 1.25e-1")
        );
        assert!(text.contains("\n           up to 8 steps at a time, 3 times in 900 "), "{text}");
    }

    #[test]
    fn json_says_what_was_compared() {
        let spans = vec![comparison(0, 8, 0.25), comparison(892, 900, 0.5)];
        let report = report_of(900, spans, None);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["verified"], false);
        let verification = &json["verification"];
        assert_eq!(
            (&verification["mode"], &verification["passed"]),
            (&"full".into(), &true.into())
        );
        assert_eq!(verification["reference"], "the plain stencil in f64, step by step");
        let second = serde_json::json!({
            "from_step": 892, "to_step": 900, "points": 16384, "undecided": 0,
            "max_abs_err": 0.5, "bound": 1.0, "rel_l2_err": 5e-3, "largest": 1e3, "digits": null,
        });
        assert_eq!(verification["comparisons"][1], second);
    }

    /// A strict comparison of a few steps does not rescue one of all steps of which no digit is right.
    #[test]
    fn what_rounding_took_is_never_called_verified() {
        let lost = Comparison { largest: 2.0, ..comparison(0, 900, 0.5) };
        let report = report_of(900, vec![comparison(0, 8, 0.25), lost.clone()], None);
        let text = report.to_string();
        let told = "\nrounding   TOOK THE DIGITS, up to 25.0 % of the values; what was compared:\n           \
                    every point against the f64 reference: max error 5.00e-1";
        assert!(text.contains(told), "{text}");
        assert!(!text.contains("verified") && !report.verified && !report.failed(), "{text}");
        assert_eq!(report.lost().unwrap().keeps, Some(MorePrecise::Type(Dtype::F32)));
        let right = comparison(0, 900, 0.5);
        let wrong = Comparison { max_abs_err: 1.5, ..lost.clone() };
        for (of, outcome, passed) in [
            (vec![right.clone()], "verified", true),
            (vec![right.clone(), lost.clone()], "digits lost", true),
            (vec![lost, wrong, right], "wrong", false),
        ] {
            let report = report_of(900, of, None);
            let json = serde_json::to_value(&report).unwrap();
            let verification = &json["verification"];
            assert_eq!(
                (&verification["outcome"], &verification["passed"], &json["verified"]),
                (&outcome.into(), &passed.into(), &(outcome == "verified").into())
            );
        }
        assert!(
            serde_json::to_value(report_of(900, vec![], None)).unwrap()["verification"]["outcome"]
                .is_null()
        );
    }

    /// What would keep the digits, by type and by whether it jumped.
    #[test]
    fn what_would_keep_the_digits_is_known() {
        let (cores, tensor) = (Arithmetic::on_cores, |dtype| Arithmetic::on_tensor_cores(dtype, 1));
        let spectral = Arithmetic::spectral_on_gpu;
        for (arithmetic, keeps) in [
            (cores(Dtype::F16), Some(MorePrecise::Type(Dtype::F32))),
            (cores(Dtype::Bf16), Some(MorePrecise::Type(Dtype::F32))),
            (tensor(Dtype::Tf32), Some(MorePrecise::Type(Dtype::F32))),
            (spectral(Dtype::F16), Some(MorePrecise::Type(Dtype::F32))),
            (cores(Dtype::F32), Some(MorePrecise::Type(Dtype::F64))),
            (spectral(Dtype::F32), Some(MorePrecise::Steps)),
            (spectral(Dtype::F64), Some(MorePrecise::Steps)),
            (cores(Dtype::F64), None),
        ] {
            let lost = Comparison { largest: 2.0, ..comparison(0, 900, 0.5) };
            let keeps_more = MorePrecise::more_than(&arithmetic);
            let report = Report { keeps: keeps_more, ..report_of(900, vec![lost], None) };
            assert_eq!(report.lost().unwrap().keeps, keeps, "{arithmetic}");
        }
        assert_eq!(report_of(900, vec![comparison(0, 900, 0.5)], None).lost(), None);
    }

    #[test]
    fn a_reference_by_jumps_is_named() {
        let mut report =
            report_of(900, vec![comparison(0, 8, 0.25), comparison(0, 900, 0.5)], None);
        report.verification.verdict.by_jumps = true;
        assert!(report.to_string().contains("every point against jumps in f64: max error 5.00e-1"));
        let verdict = report.verification.verdict.clone();
        let reference = Verification::new(verdict, false, true, None).reference.unwrap();
        assert!(reference.starts_with("for all steps jumps in f64 by Fourier"), "{reference}");
    }

    #[test]
    fn what_was_not_verified_says_why() {
        let mut report = report_of(900, vec![], None);
        report.verification.complete = false;
        assert!(report.to_string().contains("verified   NOT VERIFIED: interrupted\n"));
        let mut report = report_of(900, vec![comparison(0, 8, 0.25)], None);
        report.verification.complete = false;
        report.verification.reduced = Some("comparing every point needs more".into());
        let text = report.to_string();
        assert!(
            text.contains(
                "verified   NOT VERIFIED AFTER ALL STEPS: interrupted\n           up to 8"
            )
        );
        assert!(text.contains("\n           comparing every point needs more\ntime "), "{text}");
    }

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
