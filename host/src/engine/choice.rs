// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which engine runs a job, and why.

use clap::ValueEnum;

use super::cpu::Cpu;
use super::cuda::{self, Cuda};
use super::emulate::Emulate;
use super::sparse::Sparse;
use super::{Engine, Job};
use crate::Error;

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineRequest {
    /// The first of sparse, cuda, cpu that can run the job; cuda first where it is faster
    #[default]
    Auto,
    /// Sparse tensor cores of an NVIDIA GPU
    Sparse,
    /// CUDA cores of an NVIDIA GPU
    Cuda,
    /// All cores of this machine
    Cpu,
    /// The GPU kernels in an emulator that checks them, for small grids
    Emulate,
}

/// An engine that can run the job.
pub struct Choice {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Why this one.
    pub why: String,
}

/// Every engine, the fastest first. `auto` never takes the last one, which emulates the first.
#[must_use]
pub fn all() -> Vec<Box<dyn Engine>> {
    vec![Box::new(Sparse), Box::new(Cuda), Box::new(Cpu), Box::new(Emulate)]
}

/// Finds the engine for a job.
///
/// # Errors
/// The engine that was asked for cannot run the job, or with `auto` none can.
pub fn choose(request: EngineRequest, job: &Job) -> Result<Choice, Error> {
    let engine: Box<dyn Engine> = match request {
        EngineRequest::Auto => return first_that_can(fastest_first(job), job),
        EngineRequest::Sparse => Box::new(Sparse),
        EngineRequest::Cuda => Box::new(Cuda),
        EngineRequest::Cpu => Box::new(Cpu),
        EngineRequest::Emulate => Box::new(Emulate),
    };
    match engine.reject(job) {
        None => Ok(Choice { engine, why: "asked for".into() }),
        Some(reason) => Err(reason),
    }
}

fn fastest_first(job: &Job) -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Sparse), Box::new(Cuda), Box::new(Cpu)];
    if cuda::is_faster(job) {
        engines.swap(0, 1);
    }
    engines
}

fn first_that_can(candidates: Vec<Box<dyn Engine>>, job: &Job) -> Result<Choice, Error> {
    let mut rejected: Vec<(&'static str, Error)> = Vec::new();
    for engine in candidates {
        let Some(reason) = engine.reject(job) else {
            let why = match rejected.last() {
                None => "the fastest that can run this".into(),
                Some((name, reason)) => format!("{name} cannot: {reason}"),
            };
            return Ok(Choice { engine, why });
        };
        rejected.push((engine.name(), reason));
    }
    let reason = |(name, reason): &(&str, Error)| match reason {
        Error::Unsupported { reason, .. } => format!("{name}: {reason}"),
        other => format!("{name}: {other}"),
    };
    let reasons: Vec<String> = rejected.iter().map(reason).collect();
    match rejected.pop().expect("auto has candidates").1 {
        Error::Unsupported { .. } => Err(Error::NoEngine { reasons: reasons.join("; ") }),
        // The least demanding one is short of memory.
        last => Err(last),
    }
}
