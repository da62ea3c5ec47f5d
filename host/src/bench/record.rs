// SPDX-License-Identifier: MIT OR Apache-2.0
//! A row as files have it: flat, every field by name, null where there is none.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{BenchCase, DepthMode, Measurement, Origin, Outcome, Results, Row, Workload};
use compute::engine::EngineRequest;
use problem::names::UnknownName;
use problem::{Dtype, Shape};

/// [`Results`] as JSON has them.
#[derive(Debug, Serialize, Deserialize)]
pub struct File {
    version: String,
    #[serde(flatten)]
    origin: Origin,
    engine: String,
    complete: bool,
    rows: Vec<Record>,
}

/// [`Row`] as files have it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    pub stencil: String,
    pub paper: String,
    pub shape: Vec<usize>,
    pub dtype: String,
    pub mode: String,
    pub steps: usize,
    pub outcome: OutcomeKind,
    pub engine: Option<String>,
    pub device: Option<String>,
    pub fuse: Option<usize>,
    pub chain: Option<usize>,
    pub gstencils_per_s: Option<f64>,
    pub effective_gb_per_s: Option<f64>,
    pub fraction_of_copy: Option<f64>,
    pub rel_l2_err: Option<f64>,
    pub verified: bool,
    pub same_as: Option<String>,
    pub reason: Option<String>,
    pub asked: Option<String>,
    pub kernel: Option<String>,
    pub predicted_gstencils_per_s: Option<f64>,
}

/// Which [`Outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeKind {
    Measured,
    Failed,
    Unsupported,
}

impl From<&Results> for File {
    fn from(results: &Results) -> Self {
        let Results { version, origin, engine, complete, rows } = results;
        let rows = rows.iter().map(Record::from).collect();
        let (version, origin, engine) = (version.clone(), origin.clone(), engine.to_string());
        Self { version, origin, engine, complete: *complete, rows }
    }
}

impl From<&Row> for Record {
    fn from(row: &Row) -> Self {
        let BenchCase { workload, shape, dtype, mode, steps, engine } = &row.case;
        let measured = row.measurement();
        Self {
            stencil: workload.stencil.into(),
            paper: workload.paper.into(),
            shape: shape.axes().to_vec(),
            dtype: dtype.to_string(),
            mode: mode.to_string(),
            steps: *steps,
            outcome: match row.outcome {
                Outcome::Measured(_) => OutcomeKind::Measured,
                Outcome::Failed { .. } => OutcomeKind::Failed,
                Outcome::Unsupported { .. } => OutcomeKind::Unsupported,
            },
            engine: measured.map(|measured| measured.engine.clone()),
            device: measured.map(|measured| measured.device.clone()),
            fuse: measured.map(|measured| measured.fuse),
            chain: measured.map(|measured| measured.chain),
            gstencils_per_s: measured.map(|measured| measured.gstencils_per_s),
            effective_gb_per_s: measured.map(|measured| measured.effective_gb_per_s),
            fraction_of_copy: measured.map(|measured| measured.fraction_of_copy),
            rel_l2_err: measured.map(|measured| measured.rel_l2_err),
            verified: measured.is_some_and(|measured| measured.verified),
            same_as: measured.and_then(|measured| measured.same_as).map(|mode| mode.to_string()),
            reason: row.reason().map(str::to_owned),
            asked: engine.map(|engine| engine.to_string()),
            kernel: measured.and_then(|measured| measured.kernel.clone()),
            predicted_gstencils_per_s: measured
                .and_then(|measured| measured.predicted_gstencils_per_s),
        }
    }
}

impl TryFrom<File> for Results {
    type Error = String;

    /// Refuses what this program would not have written, with the row and the field.
    fn try_from(file: File) -> Result<Self, String> {
        let File { version, origin, engine, complete, rows: records } = file;
        let engine: EngineRequest = one_of("engine", &engine)?;
        let mut rows: Vec<Row> = Vec::with_capacity(records.len());
        for (index, record) in records.into_iter().enumerate() {
            let number = index + 1;
            let row = Row::try_from(record).map_err(|reason| format!("row {number}: {reason}"))?;
            if let Some(same) = rows.iter().position(|known| known.case == row.case) {
                let same = same + 1;
                return Err(format!("rows {same} and {number} are both {}", row.case));
            }
            rows.push(row);
        }
        Ok(Self { version, origin, engine, complete, rows })
    }
}

impl TryFrom<Record> for Row {
    type Error = String;

    fn try_from(record: Record) -> Result<Self, String> {
        let case = record.case()?;
        let outcome = match record.outcome {
            OutcomeKind::Measured => Outcome::Measured(record.measurement()?),
            kind => {
                let reason = record.reason.ok_or("it has neither a speed nor a reason")?;
                if kind == OutcomeKind::Failed {
                    Outcome::Failed { reason }
                } else {
                    Outcome::Unsupported { reason }
                }
            }
        };
        Ok(Self { case, outcome })
    }
}

impl Record {
    fn case(&self) -> Result<BenchCase, String> {
        let workload = Workload::all().iter().find(|workload| workload.stencil == self.stencil);
        let workload =
            workload.ok_or_else(|| format!("no workload is named '{}'", self.stencil))?;
        let shape = Shape::new(&self.shape).map_err(|error| error.to_string())?;
        if shape.dims() != workload.dims() {
            return Err(format!("{} does not go with a grid of {shape}", self.stencil));
        }
        if self.steps == 0 {
            return Err("steps is 0; there is no speed without a step".into());
        }
        let (dtype, mode) = (one_of::<Dtype>("dtype", &self.dtype)?, one_of("mode", &self.mode)?);
        let mode: DepthMode = mode;
        let engine = self.asked.as_deref().map(|asked| one_of("asked", asked)).transpose()?;
        Ok(BenchCase { workload, shape, dtype, mode, steps: self.steps, engine })
    }

    fn measurement(self) -> Result<Measurement, String> {
        Ok(Measurement {
            engine: self.engine.ok_or("it is measured, but has no engine")?,
            kernel: self.kernel,
            device: self.device.ok_or("it is measured, but has no device")?,
            fuse: self.fuse.ok_or("it is measured, but has no fuse")?,
            chain: self.chain.ok_or("it is measured, but has no chain")?,
            gstencils_per_s: rate("gstencils_per_s", self.gstencils_per_s)?,
            predicted_gstencils_per_s: self
                .predicted_gstencils_per_s
                .map(|predicted| rate("predicted_gstencils_per_s", Some(predicted)))
                .transpose()?,
            effective_gb_per_s: rate("effective_gb_per_s", self.effective_gb_per_s)?,
            fraction_of_copy: rate("fraction_of_copy", self.fraction_of_copy)?,
            rel_l2_err: match self.rel_l2_err {
                Some(error) if error >= 0.0 => error,
                _ => return Err("rel_l2_err is no number from 0 on".into()),
            },
            verified: self.verified,
            same_as: self.same_as.map(|mode| one_of("same_as", &mode)).transpose()?,
            note: self.reason,
        })
    }
}

/// A number that ratios can be made of.
fn rate(name: &str, value: Option<f64>) -> Result<f64, String> {
    let within = |value: &f64| (1e-12..=1e12).contains(value);
    value.filter(within).ok_or_else(|| format!("{name} is no number from 1e-12 to 1e12"))
}

fn one_of<T: FromStr<Err = UnknownName>>(field: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|UnknownName { name, known }| {
        format!("{field} is '{name}', none of {}", known.join(", "))
    })
}
