// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was measured.

use super::{BenchCase, DepthMode, Origin};
use compute::engine::EngineRequest;
use compute::report::{Report, RoundingLoss};

/// The measurements of one run of the benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Version of the program.
    pub version: String,
    /// Which program measured, when, with which driver.
    pub origin: Origin,
    /// The engine that was asked for, unless a case asks for its own.
    pub engine: EngineRequest,
    /// Whether every case has its row: not while it runs, nor after Ctrl-C.
    pub complete: bool,
    /// One for each case, in their order; no case twice.
    pub rows: Vec<Row>,
}

/// One case and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was to be measured.
    pub case: BenchCase,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A speed, of a result that is right.
    Measured(Measurement),
    /// A wrong result, or the engine gave up: there is no speed.
    Failed {
        /// Where, and why.
        reason: String,
    },
    /// No engine can do it, or it does not fit.
    Unsupported {
        /// Why not.
        reason: String,
    },
}

/// A speed and the error beside it. GB are 10^9 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The engine that ran.
    pub engine: String,
    /// The kernel that took most of the steps, if it has a name.
    pub kernel: Option<String>,
    /// On which device.
    pub device: String,
    /// Time steps that were taken as one sum.
    pub fuse: usize,
    /// Sweeps that were chained on chip.
    pub chain: usize,
    /// Points times steps over seconds, in 10^9.
    pub gstencils_per_s: f64,
    /// What the planner predicted of that, where it did.
    pub predicted_gstencils_per_s: Option<f64>,
    /// Bytes that the sweeps must read and write at least, over seconds.
    pub effective_gb_per_s: f64,
    /// That over a plain copy of the grid in the same run.
    pub fraction_of_copy: f64,
    /// Relative difference from the f64 reference in the 2-norm.
    pub rel_l2_err: f64,
    /// Whether the result of all steps was compared.
    pub verified: bool,
    /// The mode whose measurement this is: of those that an engine makes no difference between, one
    /// is measured.
    pub same_as: Option<DepthMode>,
    /// What was compared, if not that.
    pub note: Option<String>,
}

impl Row {
    /// Whether it repeats the measurement of another mode.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        self.measurement().is_some_and(|measured| measured.same_as.is_some())
    }

    /// The speed, where there is one.
    #[must_use]
    pub fn speed(&self) -> Option<f64> {
        self.measurement().map(|measured| measured.gstencils_per_s)
    }

    /// The measurement, where there is one.
    #[must_use]
    pub fn measurement(&self) -> Option<&Measurement> {
        if let Outcome::Measured(measured) = &self.outcome { Some(measured) } else { None }
    }

    /// Whether it should have worked, and did not.
    #[must_use]
    pub fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }

    /// Why there is no speed, or what is to be known about it.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Measured(measured) => measured.note.as_deref(),
            Outcome::Failed { reason } | Outcome::Unsupported { reason } => Some(reason),
        }
    }
}

impl Results {
    /// The engine that was asked for of a case.
    #[must_use]
    pub fn engine_of(&self, case: &BenchCase) -> EngineRequest {
        case.engine.unwrap_or(self.engine)
    }

    /// Whether engines were measured side by side.
    #[must_use]
    pub fn is_by_engine(&self) -> bool {
        self.rows.iter().any(|row| row.case.engine.is_some())
    }

    /// The greatest speed of all engines in a case.
    #[must_use]
    pub fn best_speed(&self, case: &BenchCase) -> Option<f64> {
        let beside = self.rows.iter().filter(|row| row.case.is_beside(case));
        beside.filter_map(Row::speed).max_by(f64::total_cmp)
    }

    /// Whether a row repeats the measurement of another one of these.
    #[must_use]
    pub fn repeats(&self, row: &Row) -> bool {
        let of = row.measurement().and_then(|measured| measured.same_as);
        self.rows.iter().any(|other| Some(other.case.mode) == of && other.case.is_like(&row.case))
    }

    /// Number of rows that should have worked, and did not.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.failed()).count()
    }

    /// What it was measured on, each device once.
    #[must_use]
    pub fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for measured in self.rows.iter().filter_map(Row::measurement) {
            if !devices.contains(&measured.device.as_str()) {
                devices.push(&measured.device);
            }
        }
        devices
    }
}

/// How the note of a result begins of which rounding took the digits.
const LOST: &str = "rounding took the digits";

impl Measurement {
    /// Whether all steps were verified, some of them, or digits are lost.
    #[must_use]
    pub fn mark(&self) -> &'static str {
        match &self.note {
            Some(note) if note.starts_with(LOST) => "no",
            _ if self.verified => "yes",
            _ => "partly",
        }
    }

    /// What a run found, if its verdict holds.
    #[must_use]
    pub fn of(report: &Report) -> Option<Self> {
        let rel_l2_err = report.rel_l2_err.filter(|_| !report.failed())?;
        let amount = (report.points * report.fields.len()) as f64 * report.steps as f64;
        let predicted = report.forecast.predicted_seconds.filter(|seconds| *seconds > 0.0);
        let note = match report.lost() {
            Some(RoundingLoss { part, .. }) => Some(format!("{LOST}, up to {part}")),
            None if report.verified => None,
            None => Some("compared a few steps at a time only".to_owned()),
        };
        Some(Self {
            engine: report.engine.to_owned(),
            kernel: report.kernel.clone(),
            device: report.device.clone(),
            fuse: report.fuse,
            chain: report.chain,
            gstencils_per_s: report.gstencils_per_s,
            predicted_gstencils_per_s: predicted.map(|seconds| amount / seconds / 1e9),
            effective_gb_per_s: report.effective_gb_per_s,
            fraction_of_copy: report.fraction_of_copy?,
            rel_l2_err,
            verified: report.verified,
            same_as: None,
            note,
        })
    }
}
