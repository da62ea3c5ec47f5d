// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of a run, for programs and for people (`docs/run.md`).

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::plan::Forecast;
use files::record::Waited;
use problem::check::verify::{Outcome, share};
use problem::{Arithmetic, Dtype, Job, Jump};

mod text;
mod verification;

pub use text::FEW;
pub use verification::{Mode, Verification};

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
    /// Number of time steps that this run took.
    pub steps: usize,
    /// Those that an earlier run had taken, which this one went on from; null otherwise.
    pub resumed_after: Option<usize>,
    /// Element type of the grid.
    pub dtype: String,
    /// The engine that ran.
    pub engine: &'static str,
    /// The kernel that took most of the steps.
    pub kernel: Option<String>,
    /// Time steps taken as one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
    /// How steps were taken by Fourier transforms; null if they were not.
    pub jump: Option<Jump>,
    /// What rounding in those transforms left at any point, at most; null without.
    pub noise: Option<f64>,
    /// What lies outside the grid.
    pub boundary: String,
    /// Seed of the random values that the grid began with; null with an input.
    pub seed: Option<u64>,
    /// Files that were read and written.
    pub files: Files,
    /// What files on the way cost; null without.
    pub snapshots: Option<Waited>,
    /// Time for all steps.
    pub seconds: f64,
    /// How often the steps were taken again to measure their time; 0 if it is the run's own.
    pub repetitions: usize,
    /// What was predicted, and how far behind the second candidate is.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// Points times steps over seconds, in 10^9.
    pub gstencils_per_s: f64,
    /// Bytes that the sweeps must read and write at least, over seconds.
    pub effective_gb_per_s: f64,
    /// Bytes read and written over seconds, of a plain copy of the grid in the same run; null if it was
    /// not measured.
    pub copy_gb_per_s: Option<f64>,
    /// Effective bandwidth over that of the copy; null likewise.
    pub fraction_of_copy: Option<f64>,
    /// Largest absolute difference from the f64 reference: after all steps, if that was compared, else
    /// after some; null without verification.
    pub max_abs_err: Option<f64>,
    /// Relative difference in the 2-norm there; null without verification.
    pub rel_l2_err: Option<f64>,
    /// Whether the result of all steps was compared, rounding explains every difference that was found, and took no
    /// more than 1 % of the values. `verification` says what was compared.
    pub verified: bool,
    /// What was compared.
    pub verification: Verification,
    /// Version of this program.
    pub version: &'static str,
    /// The device.
    pub device: String,

    /// Why this engine.
    #[serde(skip)]
    pub why: String,
    /// Storage, product and accumulator types.
    #[serde(skip)]
    pub arithmetic: Arithmetic,
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
    /// Those of these paths.
    #[must_use]
    pub fn new(weights: Option<&Path>, input: Option<&Path>, output: Option<&Path>) -> Self {
        let text = |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned());
        Self { weights: text(weights), input: text(input), output: text(output) }
    }
}

/// What was measured.
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
pub struct Lost {
    /// How much, as a part of them.
    pub part: String,
    /// What would keep more; none where nothing does.
    pub keeps: Option<Keeps>,
}

/// What keeps more digits than a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// An element type.
    Type(Dtype),
    /// An engine that takes one step after the other.
    Steps,
}

/// What an engine's session says of a run.
pub struct Facts {
    /// The engine.
    pub engine: &'static str,
    /// Why this one.
    pub why: String,
    /// As [`Report::kernel`].
    pub kernel: Option<String>,
    /// As [`Report::forecast`].
    pub forecast: Forecast,
    /// As [`Report::chain`].
    pub chain: usize,
    /// As [`Report::jump`].
    pub jump: Option<Jump>,
    /// As [`Report::noise`].
    pub noise: Option<f64>,
    /// How it computes.
    pub arithmetic: Arithmetic,
    /// As [`Report::device`].
    pub device: String,
    /// Sweeps through memory that the steps take.
    pub sweeps: usize,
    /// What was measured.
    pub timing: Timing,
}

impl Report {
    /// That of a job.
    #[must_use]
    pub fn new(job: &Job, facts: Facts, verification: Verification) -> Self {
        let Timing { steps: time, repetitions, copy } = facts.timing;
        let (points, seconds) = (job.shape.points(), time.as_secs_f64());
        let bytes = 2.0 * job.dtype.bytes() as f64 * points as f64;
        let rate =
            |amount: f64, seconds: f64| if seconds > 0.0 { amount / seconds / 1e9 } else { 0.0 };
        let effective = rate(facts.sweeps as f64 * bytes, seconds);
        let copy_rate = copy.map(|copy| rate(bytes, copy.as_secs_f64()));
        let fraction = |copy: f64| if copy > 0.0 { effective / copy } else { 0.0 };
        let verdict = &verification.verdict;
        let of_all = verdict.of_all_steps(job.steps);
        let main = of_all.or_else(|| verdict.worst());
        let whole = of_all.is_some() && verification.complete;
        Self {
            stencil: job.stencil.name().to_owned(),
            shape: job.shape.axes().to_vec(),
            points,
            steps: job.steps,
            resumed_after: None,
            snapshots: None,
            dtype: job.dtype.to_string(),
            engine: facts.engine,
            kernel: facts.kernel,
            fuse: facts.arithmetic.fuse,
            chain: facts.chain,
            jump: facts.jump,
            noise: facts.noise,
            boundary: job.boundary.describe(job.shape.dims()),
            seed: None,
            files: Files::default(),
            seconds,
            repetitions,
            forecast: facts.forecast,
            gstencils_per_s: rate(job.steps as f64 * points as f64, seconds),
            effective_gb_per_s: effective,
            copy_gb_per_s: copy_rate,
            fraction_of_copy: copy_rate.map(fraction),
            max_abs_err: main.map(|found| found.max_abs_err),
            rel_l2_err: main.map(|found| found.rel_l2_err),
            verified: whole && verification.outcome == Some(Outcome::Verified),
            version: env!("CARGO_PKG_VERSION"),
            device: facts.device,
            why: facts.why,
            arithmetic: facts.arithmetic,
            verification,
        }
    }

    /// Whether a comparison found more than rounding.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.verification.passed == Some(false)
    }

    /// What rounding took of the values, where that is more than 1 %.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        if self.verification.outcome != Some(Outcome::DigitsLost) {
            return None;
        }
        let part = share(self.verification.verdict.lost()?.part());
        let Arithmetic { dtype, sum, .. } = self.arithmetic;
        let keeps = match dtype {
            Dtype::F16 | Dtype::Bf16 | Dtype::Tf32 => Some(Keeps::Type(Dtype::F32)),
            // Transforms round relative to the largest value that there ever was.
            Dtype::F32 | Dtype::F64 if sum.is_spectral() => Some(Keeps::Steps),
            Dtype::F32 => Some(Keeps::Type(Dtype::F64)),
            Dtype::F64 => None,
        };
        Some(Lost { part, keeps })
    }
}
