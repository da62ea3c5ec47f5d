// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which engine runs a job, and why.

use super::this_machine::takes_jumps;
use super::{Candidate, Forecast, Planned, RunTarget, by_units, cores, on_gpu};
use crate::device::DeviceInfo;
use crate::engine::cpu::{self, Cpu};
use crate::engine::emulate::{self, Emulate};
use crate::engine::fft::on_gpu::{Abilities, FftOnGpu, Stepping};
use crate::engine::fft::{self, Fft};
use crate::engine::gpu::GpuEngine;
use crate::engine::{Engine, EngineRequest};
use crate::families::Unit;
use crate::families::refusal::Refusal;
use problem::{Depth, Error, Job};
use std::rc::Rc;
use transform::machine::Machine;

/// An engine that can run the job, ready to prepare what was planned.
pub struct Choice {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Why this one.
    pub why: String,
    /// What is predicted of it.
    pub forecast: Forecast,
    /// Why measured speeds of the GPU were not planned with, where there are some.
    pub stale_speeds: Option<String>,
}

impl Choice {
    /// Of an engine with nothing to choose.
    pub(super) fn only(engine: impl Engine + 'static, why: String) -> Self {
        let (engine, forecast) = (Box::new(engine), Forecast::default());
        Self { engine, why, forecast, stale_speeds: None }
    }
}

/// Plans a job once, and takes the first candidate of those that were asked for.
///
/// # Errors
/// The engine that was asked for cannot run the job, or with `auto` none can.
pub fn choose(request: EngineRequest, job: &Job) -> Result<Choice, Error> {
    match request {
        EngineRequest::Auto => auto(job),
        EngineRequest::Sparse => by(Unit::SparseTensorCores, job),
        EngineRequest::Dense => by(Unit::DenseTensorCores, job),
        EngineRequest::Cuda => by(Unit::CudaCores, job),
        EngineRequest::Cpu => by_cpu(job),
        EngineRequest::Fft => by_fft(job),
        EngineRequest::Emulate => emulated(job),
    }
}

/// Chooses an engine for a run of which only the end is wanted: `auto` takes jumps of many steps where they are
/// predicted to be much faster.
///
/// # Errors
/// The engine that was asked for cannot run the job, or with `auto` none can.
pub fn choose_whole(request: EngineRequest, job: &Job) -> Result<Choice, Error> {
    let choice = choose(request, job);
    let by_steps = match &choice {
        Ok(choice) => choice.engine.name() == Cpu.name(),
        Err(_) => false,
    };
    if request != EngineRequest::Auto || fft::check(job).is_err() {
        return choice;
    }
    match choice {
        Ok(choice) if !by_steps => Ok(match jumps_on_gpu(job, choice.forecast.predicted_seconds) {
            Some(faster) => faster,
            None => choice,
        }),
        Ok(choice) => Ok(match takes_jumps(job, cores::here) {
            Some(times) => {
                let why =
                    format!("cpu is predicted to take {times:.0} times as long; {}", choice.why);
                Choice::only(Fft, why)
            }
            None => choice,
        }),
        Err(Error::NoEngine { reasons }) if job.jump != Depth::Auto => {
            let choice = by_fft(job)?;
            Ok(Choice { why: format!("jumps are asked for; {reasons}"), ..choice })
        }
        other => other,
    }
}

/// Jumps are taken where steps are predicted to take more times as long.
pub const WORTH_A_JUMP: f64 = 2.0;

/// Jumps on the GPU, where they are worth it.
fn jumps_on_gpu(job: &Job, steps: Option<f64>) -> Option<Choice> {
    let (steps, abilities) = (steps?, abilities(RunTarget::here().ok()?));
    fft::on_gpu::check(&abilities, job).ok()?;
    let forecast = of_jumps(&abilities, job);
    let times = steps / forecast.predicted_seconds?;
    (times > WORTH_A_JUMP).then(|| {
        let why = format!("steps are predicted to take {times:.0} times as long");
        Choice { forecast, ..Choice::only(FftOnGpu(Rc::new(abilities)), why) }
    })
}

/// What is predicted of jumps on a GPU.
fn of_jumps(abilities: &Abilities, job: &Job) -> Forecast {
    let predicted_seconds = fft::on_gpu::seconds(abilities, job);
    let figures = "the speed of a copy, and what jumps took on an H200".to_owned();
    Forecast { predicted_seconds, figures: Some(figures), ..Forecast::default() }
}

/// The first candidate of all engines on the GPU, or the CPU.
fn auto(job: &Job) -> Result<Choice, Error> {
    let refusals = match RunTarget::here() {
        Err(error) => {
            let refusal = Refusal::of(error);
            Unit::ALL.map(|unit| (unit.engine(), refusal.clone())).to_vec()
        }
        Ok(target) => {
            let planned = on_gpu(&target, job);
            let refusal =
                |unit: Unit| Some((unit.engine(), planned.refusal(unit.engine())?.clone()));
            let refusals: Vec<_> = Unit::ALL.into_iter().filter_map(refusal).collect();
            if let Some(choice) = first(&planned, &target, job, why(&refusals)) {
                return Ok(choice);
            }
            refusals
        }
    };
    match cpu::check(job) {
        Ok(()) => Ok(Choice::only(Cpu, why(&refusals))),
        Err(refusal) => {
            let all: Vec<_> = refusals.into_iter().chain([("cpu", refusal)]).collect();
            Err(Error::NoEngine { reasons: reasons(&all, ": ") })
        }
    }
}

/// The first candidate of one engine on the GPU.
fn by(unit: Unit, job: &Job) -> Result<Choice, Error> {
    let (target, engine) = (RunTarget::here()?, unit.engine());
    let planned = by_units(&[unit], &target, job);
    first(&planned, &target, job, "asked for".into())
        .ok_or_else(|| planned.refusal(engine).expect("it was refused").error(engine))
}

/// The CPU, with nothing to choose.
fn by_cpu(job: &Job) -> Result<Choice, Error> {
    cpu::check(job).map_err(|refusal| refusal.error(Cpu.name()))?;
    Ok(Choice::only(Cpu, "asked for".into()))
}

/// Fourier transforms on the GPU, if there is one that can, else on the CPU.
fn by_fft(job: &Job) -> Result<Choice, Error> {
    fft::check(job).map_err(|refusal| refusal.error(Fft.name()))?;
    let asked = "asked for".to_owned();
    let Ok(target) = RunTarget::here() else {
        return Ok(Choice::only(Fft, asked));
    };
    let abilities = abilities(target);
    Ok(match fft::on_gpu::check(&abilities, job) {
        Ok(()) => {
            let forecast = of_jumps(&abilities, job);
            Choice { forecast, ..Choice::only(FftOnGpu(Rc::new(abilities)), asked) }
        }
        Err(refusal) => {
            Choice::only(Fft, format!("{asked}; on the CPU, because the GPU cannot: {refusal}"))
        }
    })
}

/// What jumps need to know of a GPU of this machine, or, without one, of the H200 that the emulator imitates.
///
/// # Errors
/// None of the kernels runs on it.
pub fn abilities_of(gpu: Option<&DeviceInfo>) -> Result<Abilities, Error> {
    let emulated = || Ok(RunTarget::described(Machine::h200()));
    gpu.map_or_else(emulated, RunTarget::of).map(abilities)
}

/// What jumps on a GPU need to know of it.
#[must_use]
pub fn abilities(target: RunTarget) -> Abilities {
    let RunTarget { limits, machine, .. } = &target;
    let (limits, memory_bytes) = (*limits, machine.memory_bytes);
    let copy_bytes_per_s = machine.copy_bytes_per_s;
    let step = move |job: &Job| {
        // A rim is f64, for which there are these.
        let units = [Unit::DenseTensorCores, Unit::CudaCores];
        let first = by_units(&units, &target, job).ranked.into_iter().next()?;
        let Candidate { launches, seconds_per_step, .. } = first;
        Some(Stepping { launches, seconds_per_step })
    };
    Abilities { limits, memory_bytes, copy_bytes_per_s, step: Box::new(step) }
}

/// What `auto` would take on an H200, in the emulator.
fn emulated(job: &Job) -> Result<Choice, Error> {
    Emulate::check(job)?;
    let planned = on_gpu(&RunTarget::described(Machine::h200()), job);
    if let Some(Candidate { launches, .. }) = planned.ranked.first() {
        return Ok(Choice::only(Emulate::new(launches.clone()), "asked for".into()));
    }
    let refusal = |unit: Unit| planned.refusal(unit.engine()).expect("it was refused").clone();
    let mut refusals: Vec<_> = Unit::ALL.map(|unit| (unit.engine(), refusal(unit))).into();
    // Units that are out because of what was asked for, or was not, or are for other dimensions, say less than others.
    let less: [fn(&Refusal) -> bool; 3] = [
        |refusal| *refusal == Refusal::Family,
        |refusal| *refusal == Refusal::OneStep,
        |refusal| matches!(refusal, Refusal::Dims(_) | Refusal::OnlyIfAsked(_)),
    ];
    for says_less in less {
        if refusals.iter().any(|(_, refusal)| !says_less(refusal)) {
            refusals.retain(|(_, refusal)| !says_less(refusal));
        }
    }
    let (_, first) = &refusals[0];
    if refusals.iter().all(|(_, other)| other == first) {
        return Err(first.error(emulate::NAME));
    }
    Err(Error::Unsupported { engine: emulate::NAME, reason: reasons(&refusals, ": ") })
}

/// The engine of the first candidate.
fn first(planned: &Planned, target: &RunTarget, job: &Job, why: String) -> Option<Choice> {
    let forecast = Forecast::of_first(planned, job.steps)?;
    let Candidate { launches, .. } = planned.ranked.first()?;
    let engine = Box::new(GpuEngine::new(launches.clone()));
    Some(Choice { engine, why, forecast, stale_speeds: target.stale_speeds.clone() })
}

/// Why an engine is taken, where others cannot.
#[must_use]
pub fn why(refusals: &[(&'static str, Refusal)]) -> String {
    match refusals {
        [] => "the fastest that can run this".to_owned(),
        refusals => reasons(refusals, " cannot: "),
    }
}

/// Why each engine cannot; engines with the same reason share it.
pub(super) fn reasons(refusals: &[(&'static str, Refusal)], between: &str) -> String {
    let mut shared: Vec<(Vec<&str>, String)> = Vec::new();
    for (engine, refusal) in refusals {
        let reason = refusal.to_string();
        match shared.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.push(engine),
            None => shared.push((vec![engine], reason)),
        }
    }
    let parts = shared.iter().map(|(names, reason)| in_words(names) + between + reason);
    parts.collect::<Vec<_>>().join("; ")
}

/// Names as in `a, b and c`.
fn in_words(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => first.join(", ") + " and " + last,
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Proposal;
    use problem::Dtype;
    use transform::catalogue;

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
                vec![no_driver("sparse"), no_driver("dense"), no_driver("cuda")],
                format!("sparse, dense and cuda cannot: {driver}"),
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

    /// What an H200 would take.
    fn of_h200(dtype: Dtype) -> (Planned, Choice) {
        let target = RunTarget::described(Machine::h200());
        let stencil = catalogue::find("box2d1r").unwrap();
        let job = Job::new(stencil, "10240x10240".parse().unwrap(), dtype, 1001);
        let planned = on_gpu(&target, &job);
        let choice = first(&planned, &target, &job, "fastest".into()).unwrap();
        (planned, choice)
    }

    #[test]
    fn the_first_candidate_is_taken_with_its_margin() {
        let (planned, choice) = of_h200(Dtype::F16);
        let [first, second, ..] = planned.ranked.as_slice() else { panic!("{planned:?}") };
        assert_eq!(choice.engine.name(), "sparse");
        let Forecast { predicted_seconds, margin, .. } = choice.forecast;
        assert_eq!(predicted_seconds, Some(1001.0 * first.seconds_per_step));
        assert_eq!(margin, Some(second.seconds_per_step / first.seconds_per_step));
        assert!(margin > Some(1.0));
        assert_eq!(choice.forecast.second.as_ref(), Some(second));
        // The steps that 12 at a time leave over are part of the plan.
        let steps: Vec<usize> = first.launches.iter().map(Proposal::steps).collect();
        assert_eq!(steps, [12, 3, 1]);
    }

    #[test]
    fn nothing_is_predicted_of_what_was_not_measured() {
        let target = RunTarget::described(Machine::h200());
        let stencil = catalogue::find("box2d1r").unwrap();
        let job = Job::new(stencil, "1024x1024".parse().unwrap(), Dtype::F16, 8);
        let of = |kernel| {
            let job = Job { kernel, ..job.clone() };
            first(&on_gpu(&target, &job), &target, &job, String::new()).unwrap().forecast
        };
        assert_eq!(of(Some("naive2d")).predicted_seconds, None);
        assert!(of(Some("sweep2d")).predicted_seconds > Some(0.0));
        assert!(of(None).second.is_some_and(|second| second.family != Some("naive2d")));
    }

    #[test]
    fn a_choice_of_one_has_no_margin() {
        let target = RunTarget::described(Machine::h200());
        let stencil = catalogue::find("box2d1r").unwrap();
        let job = Job::new(stencil, "1024x1024".parse().unwrap(), Dtype::F64, 16);
        let job = Job { kernel: Some("direct"), ..job };
        let planned = on_gpu(&target, &job);
        let choice = first(&planned, &target, &job, String::new()).unwrap();
        assert_eq!((planned.ranked.len(), choice.engine.name()), (1, "cuda"));
        assert!(choice.forecast.predicted_seconds > Some(0.0));
        assert_eq!((choice.forecast.margin, choice.forecast.second), (None, None));
    }
}
