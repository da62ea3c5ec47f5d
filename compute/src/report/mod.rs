// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of a run, for programs and for people (`docs/reference/json.md`).

use std::path::Path;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::plan::Forecast;
use files::record::SnapshotCost;
use problem::check::field_growth::FieldGrowth;
use problem::check::rounded::RoundedCoefficient;
use problem::check::verify::{Comparison, ComparisonOutcome, share};
use problem::check::wave_growth::WaveGrowth;
use problem::{Arithmetic, Dtype, Job, JumpReport, Shape};

mod text;
mod verification;

pub use text::FEW;
pub use verification::{Verification, VerificationMode};

/// Totals with their names, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals(pub Vec<(String, f64)>);

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// What one run found. Serialised, it is the JSON report, which has the same fields for every problem; its human form is
/// its `Display`.
///
/// GB are 10^9 bytes. Rates of a run of no steps are 0.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the stencil, of the weights' file, or the title of a system that is a stencil; null of any other system.
    pub stencil: Option<String>,
    /// Title of a system that is no stencil; null otherwise.
    pub title: Option<String>,
    /// The names of the fields; that of a stencil is `u`.
    pub fields: Vec<String>,
    /// Extents, slowest axis first.
    pub shape: Vec<usize>,
    /// Number of points.
    pub points: usize,
    /// Number of time steps that this run took.
    pub steps: usize,
    /// Those that an earlier run had taken, which this one went on from; null otherwise.
    pub resumed_after: Option<usize>,
    /// Time of a step of a system; null of a stencil.
    pub dt: Option<f64>,
    /// How fields are stored.
    pub dtype: String,
    /// The engine that ran.
    pub engine: &'static str,
    /// Why it is not another one; null of a system that ranks share.
    pub why: Option<String>,
    /// The kernel that took most of the steps; null of a system that ranks share.
    pub kernel: Option<String>,
    /// Time steps taken as one sum.
    pub fuse: usize,
    /// Such sums, or steps of a system, chained on chip.
    pub chain: usize,
    /// How many systems of a sweep were computed side by side, this one among them; 1 otherwise.
    pub side_by_side: usize,
    /// How steps were taken by Fourier transforms; null if they were not.
    pub jump: Option<JumpReport>,
    /// What rounding in those transforms left at any point, at most; null without.
    pub noise: Option<f64>,
    /// What lies outside the grid; of fields that differ in it with their names.
    pub boundary: String,
    /// Seed of the random values that the grid began with; null with an input, and of a system.
    pub seed: Option<u64>,
    /// Files that were read and written.
    pub files: Files,
    /// What files on the way cost; null without.
    pub snapshots: Option<SnapshotCost>,
    /// Steps that were timed: of a system all but those that were compared, unless they were taken again to be measured.
    pub timed_steps: usize,
    /// Their time.
    pub seconds: f64,
    /// How often the steps were taken again to measure their time; 0 if it is the run's own.
    pub repetitions: usize,
    /// What was predicted, and how far behind the second candidate is.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// Points times fields times timed steps over seconds, in 10^9.
    pub gstencils_per_s: f64,
    /// Arrays that a step reads: fields, their earlier levels, coefficients.
    pub arrays_read: usize,
    /// Arrays that it writes.
    pub arrays_written: usize,
    /// Bytes of memory that a sweep must read and write at least, for each point.
    pub bytes_per_point: usize,
    /// The bytes of all sweeps over seconds.
    pub effective_gb_per_s: f64,
    /// Bytes read and written over seconds, of a plain copy of an array in the same run; null if it was
    /// not measured.
    pub copy_gb_per_s: Option<f64>,
    /// Effective bandwidth over that of the copy; null if no copy was measured.
    pub fraction_of_copy: Option<f64>,
    /// Largest absolute difference from f64: after all steps, if that was compared, else
    /// after some; null without verification.
    pub max_abs_err: Option<f64>,
    /// Relative difference in the 2-norm there; null without verification.
    pub rel_l2_err: Option<f64>,
    /// Whether rounding explains every difference that was found, and took no more than 1 % of the values; of a stencil the
    /// result of all steps was compared. `verification` says what was.
    pub verified: bool,
    /// What was compared.
    pub verification: Verification,
    /// Coefficients that the element type cannot hold, with what was given and what is stored.
    pub rounded_coefficients: Vec<RoundedCoefficient>,
    /// The growth of a system that was foreseen; null without.
    pub growth: Option<WaveGrowth>,
    /// The largest values of each field of a system before and after the steps; null where nobody looked after the last one.
    pub values: Option<Vec<FieldGrowth>>,
    /// The totals of a system after the last step, by name; null where nobody asked for them. One that is no number is null.
    pub totals: Option<Totals>,
    /// Version of this program.
    pub version: &'static str,
    /// The device.
    pub device: String,
    /// Storage, product and accumulator types.
    pub arithmetic: String,

    /// What would keep more digits.
    #[serde(skip)]
    pub keeps: Option<MorePrecise>,
}

/// Files of a run; null where there is none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Files {
    /// The stencil's.
    pub weights: Option<String>,
    /// The grid that it began with.
    pub input: Option<String>,
    /// The grid that it ended with.
    pub output: Option<String>,
}

impl Files {
    /// The files at these paths.
    #[must_use]
    pub fn new(weights: Option<&Path>, input: Option<&Path>, output: Option<&Path>) -> Self {
        let text = |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned());
        Self { weights: text(weights), input: text(input), output: text(output) }
    }
}

/// The measured times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Of all steps.
    pub steps: Duration,
    /// How often they, or some of them, were taken again for that; 0 if it is the run's own time.
    pub repetitions: usize,
    /// Of a copy of the grid.
    pub copy: Option<Duration>,
}

impl Timing {
    /// The run's own time alone.
    #[must_use]
    pub fn own(steps: Duration) -> Self {
        Self { steps, repetitions: 0, copy: None }
    }
}

/// What rounding took of the values of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundingLoss {
    /// How much, as a part of them.
    pub part: String,
    /// What would keep more; none where nothing does.
    pub keeps: Option<MorePrecise>,
}

/// What keeps more digits than a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MorePrecise {
    /// An element type.
    Type(Dtype),
    /// An engine that takes one step after the other.
    Steps,
}

impl MorePrecise {
    /// What keeps more digits than this arithmetic.
    #[must_use]
    pub fn more_than(arithmetic: &Arithmetic) -> Option<Self> {
        match arithmetic.dtype {
            // Transforms round relative to the largest value that there ever was.
            Dtype::F32 | Dtype::F64 if arithmetic.sum.is_spectral() => Some(Self::Steps),
            dtype => Self::wider_than(dtype),
        }
    }

    /// The type that keeps more digits than this one.
    #[must_use]
    pub fn wider_than(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F16 | Dtype::Bf16 | Dtype::Tf32 => Some(Self::Type(Dtype::F32)),
            Dtype::F32 => Some(Self::Type(Dtype::F64)),
            Dtype::F64 => None,
        }
    }
}

/// The problem that a report is about.
pub struct ReportProblem {
    /// As [`Report::stencil`].
    pub stencil: Option<String>,
    /// As [`Report::title`].
    pub title: Option<String>,
    /// As [`Report::fields`].
    pub fields: Vec<String>,
    /// Extents of each array.
    pub shape: Shape,
    /// Steps of this run.
    pub steps: usize,
    /// As [`Report::dt`].
    pub dt: Option<f64>,
    /// How fields are stored.
    pub dtype: Dtype,
    /// As [`Report::boundary`].
    pub boundary: String,
    /// As [`Report::arrays_read`].
    pub arrays_read: usize,
    /// As [`Report::arrays_written`].
    pub arrays_written: usize,
    /// Bytes of a value as it lies in memory.
    pub value_bytes: usize,
}

impl ReportProblem {
    /// The problem of a stencil's job, whose only field has this name.
    #[must_use]
    pub fn of(job: &Job, field: &str) -> Self {
        Self {
            stencil: Some(job.stencil.name().to_owned()),
            title: None,
            fields: vec![field.to_owned()],
            shape: job.shape,
            steps: job.steps,
            dt: None,
            dtype: job.dtype,
            boundary: job.boundary.describe(job.shape.dims()),
            arrays_read: 1,
            arrays_written: 1,
            value_bytes: job.dtype.bytes(),
        }
    }
}

/// What an engine's session says of a run.
pub struct Facts {
    /// The engine.
    pub engine: &'static str,
    /// As [`Report::why`].
    pub why: Option<String>,
    /// As [`Report::kernel`].
    pub kernel: Option<String>,
    /// As [`Report::forecast`].
    pub forecast: Forecast,
    /// As [`Report::fuse`].
    pub fuse: usize,
    /// As [`Report::chain`].
    pub chain: usize,
    /// As [`Report::jump`].
    pub jump: Option<JumpReport>,
    /// As [`Report::noise`].
    pub noise: Option<f64>,
    /// How it computes.
    pub arithmetic: String,
    /// As [`Report::device`].
    pub device: String,
    /// As [`Report::keeps`].
    pub keeps: Option<MorePrecise>,
    /// As [`Report::timed_steps`].
    pub timed_steps: usize,
    /// Sweeps through memory that these steps take.
    pub sweeps: usize,
    /// What was measured.
    pub timing: Timing,
}

impl Report {
    /// The report of a run of this problem.
    #[must_use]
    pub fn new(problem: ReportProblem, facts: Facts, verification: Verification) -> Self {
        let Timing { steps: time, repetitions, copy } = facts.timing;
        let ReportProblem { shape, steps, arrays_read, arrays_written, value_bytes, .. } = problem;
        let (points, seconds) = (shape.points(), time.as_secs_f64());
        let bytes_per_point = (arrays_read + arrays_written) * value_bytes;
        let rate = |amount: f64, seconds: f64| {
            let all = amount * points as f64;
            if seconds > 0.0 { all / seconds / 1e9 } else { 0.0 }
        };
        let effective = rate(facts.sweeps as f64 * bytes_per_point as f64, seconds);
        let copy_rate = copy.map(|copy| rate(2.0 * value_bytes as f64, copy.as_secs_f64()));
        let fraction = |copy: f64| if copy > 0.0 { effective / copy } else { 0.0 };
        let verdict = &verification.verdict;
        let of_all = verdict.of_all_steps(steps);
        let main = of_all.or_else(|| verdict.worst());
        let whole = (of_all.is_some() || verdict.is_of_steps()) && verification.complete;
        Self {
            gstencils_per_s: rate((facts.timed_steps * problem.fields.len()) as f64, seconds),
            stencil: problem.stencil,
            title: problem.title,
            fields: problem.fields,
            shape: shape.axes().to_vec(),
            points,
            steps,
            resumed_after: None,
            dt: problem.dt,
            dtype: problem.dtype.to_string(),
            engine: facts.engine,
            why: facts.why,
            kernel: facts.kernel,
            fuse: facts.fuse,
            chain: facts.chain,
            side_by_side: 1,
            jump: facts.jump,
            noise: facts.noise,
            boundary: problem.boundary,
            seed: None,
            files: Files::default(),
            snapshots: None,
            timed_steps: facts.timed_steps,
            seconds,
            repetitions,
            forecast: facts.forecast,
            arrays_read,
            arrays_written,
            bytes_per_point,
            effective_gb_per_s: effective,
            copy_gb_per_s: copy_rate,
            fraction_of_copy: copy_rate.map(fraction),
            max_abs_err: main.map(|found| found.max_abs_err),
            rel_l2_err: main.map(|found| found.rel_l2_err),
            verified: whole && verification.outcome == Some(ComparisonOutcome::Verified),
            verification,
            rounded_coefficients: Vec::new(),
            growth: None,
            values: None,
            totals: None,
            version: env!("CARGO_PKG_VERSION"),
            device: facts.device,
            arithmetic: facts.arithmetic,
            keeps: facts.keeps,
        }
    }

    /// This report with the coefficients that the element type cannot hold, which may be another problem than the one that
    /// was given.
    #[must_use]
    pub fn with_rounded(mut self, rounded: Vec<RoundedCoefficient>) -> Self {
        let another = rounded.iter().any(RoundedCoefficient::is_another);
        if another && self.verification.outcome == Some(ComparisonOutcome::Verified) {
            self.verification.outcome = Some(ComparisonOutcome::DigitsLost);
            self.verified = false;
        }
        Self { rounded_coefficients: rounded, ..self }
    }

    /// Whether a comparison found more than rounding.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.verification.passed == Some(false)
    }

    /// What rounding took of the values, where that is more than 1 %.
    #[must_use]
    pub fn lost(&self) -> Option<RoundingLoss> {
        if self.verification.outcome != Some(ComparisonOutcome::DigitsLost) {
            return None;
        }
        let of_steps = self.verification.verdict.lost().map(Comparison::part);
        let of_coefficients = self.rounded_coefficients.iter().map(|rounded| rounded.part);
        let part = of_steps.into_iter().chain(of_coefficients).fold(0.0, f64::max);
        Some(RoundingLoss { part: share(part), keeps: self.keeps })
    }
}
