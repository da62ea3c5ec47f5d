// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that were measured on some H200s of one node, and what the model says of them.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use stencil::plan::RunTarget;
use stencil::plan::scale::{Cluster, Prediction, Scale, ScalingMode};
use stencil::{Dtype, Shape};
use transform::machine::Machine;
use transform::network::Network;

use super::job;

/// How many times as long as predicted a step may take, or as short.
pub const TOLERANCE: f64 = 1.25;

/// A line as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    stencil: String,
    size: String,
    dtype: String,
    gpus: usize,
    mode: String,
    seconds_per_step: f64,
    commit: String,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The stencil's name.
    pub stencil: String,
    /// Of strong scaling the whole grid, of weak scaling that of one GPU.
    pub size: Shape,
    /// Element type.
    pub dtype: Dtype,
    /// GPUs of one node.
    pub gpus: usize,
    /// What grew with them.
    pub mode: ScalingMode,
    /// Seconds of a step, the mean of many.
    pub seconds_per_step: f64,
    /// Of the program.
    pub commit: String,
}

/// The measurements of a CSV file; there may be none.
///
/// # Errors
/// A line is none; the text says which, and why.
pub fn parse(text: &str) -> Result<Vec<Measured>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers()?.clone();
    let measured = reader.records().map(|record| {
        let record = record?;
        let number = record.position().map_or(0, csv::Position::line);
        measured(record.deserialize(Some(&headers))?).with_context(|| format!("line {number}"))
    });
    measured.collect()
}

fn measured(line: Line) -> Result<Measured> {
    let Line { stencil, size, dtype, gpus, mode, seconds_per_step, commit } = line;
    let (size, dtype) = (size.parse()?, dtype.parse()?);
    let mode = mode.parse().with_context(|| format!("'{mode}' is neither strong nor weak"))?;
    ensure!(gpus > 0, "{gpus} GPUs measure nothing");
    ensure!(
        seconds_per_step.is_finite() && seconds_per_step > 0.0,
        "a step took {seconds_per_step} s, which no step takes"
    );
    ensure!(commit.len() >= 7, "'{commit}' is no commit");
    Ok(Measured { stencil, size, dtype, gpus, mode, seconds_per_step, commit })
}

/// Each measurement with what the model predicts of it.
///
/// # Errors
/// The model refuses one.
pub fn compare<'a>(measured: &'a [Measured]) -> Result<Vec<(&'a Measured, Prediction)>> {
    let (target, network) = (RunTarget::described(Machine::h200()), Network::h200_ndr());
    let predict = |one: &'a Measured| {
        let Measured { stencil, size, dtype, gpus, mode, .. } = one;
        let job = job(stencil, &size.to_string(), *dtype)?;
        let cluster = Cluster::of_nodes(*gpus, 1)?;
        Ok((one, Scale::new(&job, *mode, &target, &network)?.on(cluster)?))
    };
    measured.iter().map(predict).collect()
}
