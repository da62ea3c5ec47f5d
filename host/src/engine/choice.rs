// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which engine runs a job, and why.

use clap::ValueEnum;

use super::cpu::Cpu;
use super::cuda::Cuda;
use super::emulate::Emulate;
use super::refusal::{Refusal, check_depths};
use super::sparse::Sparse;
use super::{Engine, Job};
use crate::Error;
use crate::plan::{self, Candidate, Forecast, GPU_ENGINES, Planned, Target};

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineRequest {
    /// What `host plan` ranks first; the cpu where no engine of the GPU can run the job
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

/// An engine that can run the job, ready to prepare what was planned.
pub struct Choice {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Why this one.
    pub why: String,
    /// The kernel that takes most of the steps, if it was planned.
    pub kernel: Option<String>,
    /// What is predicted of it.
    pub forecast: Forecast,
    /// Why measured speeds of the GPU were not planned with, where there are some.
    pub warning: Option<String>,
}

impl Choice {
    /// Of an engine with nothing to choose.
    fn only(engine: impl Engine + 'static, why: String) -> Self {
        let (engine, forecast) = (Box::new(engine), Forecast::default());
        Self { engine, why, kernel: None, forecast, warning: None }
    }
}

/// Plans a job once, and takes the first candidate of those that were asked for.
///
/// # Errors
/// The engine that was asked for cannot run the job, or with `auto` none can.
pub fn choose(request: EngineRequest, job: &Job) -> Result<Choice, Error> {
    match request {
        EngineRequest::Auto => auto(job),
        EngineRequest::Sparse => on_gpu("sparse", job),
        EngineRequest::Cuda => on_gpu("cuda", job),
        EngineRequest::Cpu => unplanned(Cpu, job),
        EngineRequest::Emulate => unplanned(Emulate, job),
    }
}

/// The first candidate of all engines on the GPU, or the CPU.
fn auto(job: &Job) -> Result<Choice, Error> {
    let refusals = match Target::here() {
        Err(error) => {
            let refusal = Refusal::of(error);
            GPU_ENGINES.map(|engine| (engine, refusal.clone())).to_vec()
        }
        Ok(target) => {
            let planned = plan::on_gpu(&target, job);
            let refusal = |engine| Some((engine, planned.refusal(engine)?.clone()));
            let refusals: Vec<_> = GPU_ENGINES.into_iter().filter_map(refusal).collect();
            if let Some(choice) = first(&planned, &target, job, why(&refusals)) {
                return Ok(choice);
            }
            refusals
        }
    };
    match check_depths(job) {
        Ok(()) => Ok(Choice::only(Cpu, why(&refusals))),
        Err(refusal) => {
            let all: Vec<_> = refusals.into_iter().chain([("cpu", refusal)]).collect();
            Err(Error::NoEngine { reasons: reasons(&all, ": ") })
        }
    }
}

/// The first candidate of one engine on the GPU.
fn on_gpu(engine: &'static str, job: &Job) -> Result<Choice, Error> {
    let target = Target::here()?;
    let planned = plan::by_engines(&[engine], &target, job);
    first(&planned, &target, job, "asked for".into())
        .ok_or_else(|| planned.refusal(engine).expect("it was refused").error(engine))
}

/// An engine with nothing to choose.
fn unplanned(engine: impl Engine + 'static, job: &Job) -> Result<Choice, Error> {
    match engine.reject(job) {
        None => Ok(Choice::only(engine, "asked for".into())),
        Some(reason) => Err(reason),
    }
}

/// The engine of the first candidate.
fn first(planned: &Planned, target: &Target, job: &Job, why: String) -> Option<Choice> {
    let forecast = Forecast::of_first(planned, job.steps)?;
    let Candidate { engine, kernel, launches, .. } = planned.ranked.first()?;
    let engine: Box<dyn Engine> = match *engine {
        "sparse" => Box::new(Sparse::new(launches.clone())),
        _ => Box::new(Cuda),
    };
    let (kernel, warning) = (Some(kernel.clone()), target.warning.clone());
    Some(Choice { engine, why, kernel, forecast, warning })
}

fn why(refusals: &[(&'static str, Refusal)]) -> String {
    match refusals {
        [] => "the fastest that can run this".to_owned(),
        refusals => reasons(refusals, " cannot: "),
    }
}

/// Why each engine cannot; engines with the same reason share it.
fn reasons(refusals: &[(&'static str, Refusal)], between: &str) -> String {
    let mut shared: Vec<(Vec<&str>, String)> = Vec::new();
    for (engine, refusal) in refusals {
        let reason = refusal.to_string();
        match shared.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.push(engine),
            None => shared.push((vec![engine], reason)),
        }
    }
    let parts = shared.iter().map(|(names, reason)| names.join(" and ") + between + reason);
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_named_once_with_their_reason() {
        let driver = "no NVIDIA driver was found on this machine";
        let no_driver = |engine| (engine, Refusal::NoDriver(driver.into()));
        let no_f64 = ("sparse", Refusal::Type("it has no f64".into()));
        for (refusals, text) in [
            (vec![no_f64.clone()], "sparse cannot: it has no f64".into()),
            (
                vec![no_driver("sparse"), no_driver("cuda")],
                format!("sparse and cuda cannot: {driver}"),
            ),
            (
                vec![no_f64, no_driver("cuda")],
                format!("sparse cannot: it has no f64; cuda cannot: {driver}"),
            ),
        ] {
            assert_eq!(reasons(&refusals, " cannot: "), text);
        }
        let all = [no_driver("sparse"), no_driver("cuda"), ("cpu", Refusal::OneStep)];
        let one = Refusal::OneStep;
        assert_eq!(reasons(&all, ": "), format!("sparse and cuda: {driver}; cpu: {one}"));
    }
}
