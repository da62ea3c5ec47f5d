// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which engine runs a job, and why.

use clap::ValueEnum;

use super::cpu::Cpu;
use super::cuda::Cuda;
use super::emulate::Emulate;
use super::sparse::Sparse;
use super::{Engine, Job};
use crate::Error;
use crate::device::probe;
use crate::plan::{self, Target};

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

/// Every engine, the fastest first. `auto` never takes the last one, which emulates what it takes on an H200.
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
    let ahead = probe().and_then(|gpu| Target::of(&gpu)).map(|target| plan::on_gpu(&target, job));
    if ahead.is_ok_and(|planned| planned.ranked.first().is_some_and(|first| first.engine == "cuda"))
    {
        engines.swap(0, 1);
    }
    engines
}

fn first_that_can(candidates: Vec<Box<dyn Engine>>, job: &Job) -> Result<Choice, Error> {
    let mut rejected: Vec<(&'static str, Error)> = Vec::new();
    for engine in candidates {
        let Some(reason) = engine.reject(job) else {
            let why = match rejected.as_slice() {
                [] => "the fastest that can run this".to_owned(),
                rejected => reasons(rejected, " cannot: "),
            };
            return Ok(Choice { engine, why });
        };
        rejected.push((engine.name(), reason));
    }
    let reasons = reasons(&rejected, ": ");
    match rejected.pop().expect("auto has candidates").1 {
        Error::Unsupported { .. } => Err(Error::NoEngine { reasons }),
        // The least demanding one is short of memory.
        last => Err(last),
    }
}

/// Why each engine cannot, in the order of [`all`]; engines with the same reason share it.
fn reasons(rejected: &[(&'static str, Error)], between: &str) -> String {
    let mut shared: Vec<(Vec<&str>, String)> = Vec::new();
    for engine in all() {
        let Some((name, error)) = rejected.iter().find(|(name, _)| *name == engine.name()) else {
            continue;
        };
        // That of an engine's own names it already.
        let reason = match error {
            Error::Unsupported { reason, .. } => reason.clone(),
            other => other.to_string(),
        };
        match shared.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.push(name),
            None => shared.push((vec![name], reason)),
        }
    }
    let parts = shared.iter().map(|(names, reason)| names.join(" and ") + between + reason);
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsupported(engine: &'static str, reason: &str) -> (&'static str, Error) {
        (engine, Error::Unsupported { engine, reason: reason.into() })
    }

    fn no_driver(engine: &'static str) -> (&'static str, Error) {
        (engine, Error::NoDriver { reason: "not found".into() })
    }

    #[test]
    fn engines_are_named_once_with_their_reason() {
        let driver = "no NVIDIA driver was found on this machine";
        for (rejected, text) in [
            (vec![unsupported("sparse", "it has no f64")], "sparse cannot: it has no f64".into()),
            (
                vec![no_driver("cuda"), no_driver("sparse")],
                format!("sparse and cuda cannot: {driver}"),
            ),
            (
                vec![no_driver("cuda"), unsupported("sparse", "it has no f64")],
                format!("sparse cannot: it has no f64; cuda cannot: {driver}"),
            ),
        ] {
            assert_eq!(reasons(&rejected, " cannot: "), text);
        }
        let all = [no_driver("sparse"), no_driver("cuda"), unsupported("cpu", "one step a time")];
        let text = format!("sparse and cuda: {driver}; cpu: one step a time");
        assert_eq!(reasons(&all, ": "), text);
    }
}
