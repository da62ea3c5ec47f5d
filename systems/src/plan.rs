// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of all ways to take the steps of a system is the fastest: one ranking of what the [families](super::families) propose. `host plan`
//! prints it, and `--engine auto` takes what comes first.

use compute::engine::{EngineRequest, cpu};
use compute::families::Refusal;
use compute::plan::{Candidate, Forecast, Planned, Rejected, why};
use problem::Error;
use transform::machine::Machine;

use super::checked::System;
use super::families::{self, FAMILIES, Family, Hardware, PlannedRun, Ranking, StepPlan};
use super::gpu;
use super::session::StepSession;
use super::speeds::{CORE, GPU};
use super::start::StartValues;
use super::sum;

/// The ways to take the steps of a system, in the order in which `auto` takes them.
pub struct StepPlans {
    /// The ways, as everybody is told of them.
    pub planned: Planned,
    ways: Vec<StepPlan>,
}

/// The way that is taken.
#[derive(Clone)]
pub struct ChosenPlan {
    /// The way.
    pub way: StepPlan,
    /// Why this one.
    pub why: String,
    /// What is predicted of it.
    pub forecast: Forecast,
}

/// All ways to take the steps of a system.
#[must_use]
pub fn ways(run: &PlannedRun) -> StepPlans {
    StepPlans::of(&families::of(run.system), run)
}

/// All ways for `host plan`, of a system that may be no stencil.
#[must_use]
pub fn planned(system: &System, hardware: &Hardware) -> Planned {
    let run = PlannedRun { system, hardware, steps: system.steps(), asked: false };
    let StepPlans { mut planned, .. } = ways(&run);
    let reason = "no kernel of that name finishes a sum with equations".to_owned();
    planned.reject("dense", Refusal::System(reason));
    if let Err(why) = sum::job(system) {
        let reason = format!("it is not a stencil, so kernels of stencils do not take it: {why}");
        planned.reject("stencils", Refusal::System(reason));
    }
    planned
}

impl StepPlans {
    fn of(families: &[&'static dyn Family], run: &PlannedRun) -> Self {
        let Ranking { ways, rejected } = Ranking::of(families, run);
        let work = (run.system.shape().points() * run.system.fields().len()) as f64;
        let ranked = ways.iter().map(|way| candidate(way, work)).collect();
        let (machine, figures) = match run.hardware.gpu() {
            Ok(machine) => (machine.name.clone(), GPU.source()),
            Err(_) => (cpu::device(), CORE.source()),
        };
        Self { planned: Planned { ranked, rejected, ..Planned::new(machine, figures) }, ways }
    }

    /// Why the families of an engine have no way.
    fn refusal(&self, engine: &str) -> Option<Refusal> {
        self.planned.refusal(engine).cloned()
    }
}

fn candidate(way: &StepPlan, work: f64) -> Candidate {
    Candidate {
        engine: way.family.engine(),
        kernel: way.kernel.clone(),
        family: Some(way.family.name()),
        fuse: 1,
        chain: way.chain,
        seconds_per_step: way.seconds_per_step,
        gstencils_per_s: work / way.seconds_per_step / 1e9,
        cost: None,
        launches: Vec::new(),
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// The engine.
    pub engine: EngineRequest,
    /// The family by name, if it is not the one that is predicted to be fastest.
    pub family: Option<&'static str>,
    /// Steps that are taken at a time while nobody looks.
    pub steps: usize,
    /// Whether steps must be launches of a kernel that is written for the system.
    pub written: bool,
}

/// The first way of the engine or family that is asked for, or of all.
///
/// # Errors
/// What was asked for cannot take the system's steps, or nothing can.
pub fn choose(system: &System, request: Request) -> Result<ChosenPlan, Error> {
    match request.engine {
        EngineRequest::Emulate => emulated(system, request),
        EngineRequest::Dense => {
            let reason = "systems of fields run on cuda, sparse, cpu, fft and emulate".to_owned();
            Err(Error::Unsupported { engine: request.engine.into(), reason })
        }
        _ => choose_on(&Hardware::here(), system, request),
    }
}

/// The first way of what is asked for, or of all, on such hardware.
pub(super) fn choose_on(
    hardware: &Hardware,
    system: &System,
    request: Request,
) -> Result<ChosenPlan, Error> {
    let Request { engine, family, steps, written } = request;
    let named = family.and_then(families::find);
    let asked = engine != EngineRequest::Auto || named.is_some();
    let steps = system.evenly().map_or(steps, |most| steps.min(most));
    let run = PlannedRun { system, hardware, steps, asked };
    let engine: &'static str = match (engine, named) {
        (EngineRequest::Auto, None) => return of_all(&run),
        (EngineRequest::Auto, Some(family)) => family.engine(),
        (engine, _) => engine.into(),
    };
    let is_asked = |family: &&dyn Family| {
        family.engine() == engine
            && named.is_none_or(|named| named.name() == family.name())
            && (family.writes_kernels() || !written)
            && (named.is_some() || family.concerns(system))
    };
    let families: Vec<_> = FAMILIES.into_iter().filter(is_asked).collect();
    if families.is_empty() {
        return Err(Refusal::Family.error(engine));
    }
    of_engine(&families, &run, engine)
}

/// The first way of an engine.
fn of_engine(
    families: &[&'static dyn Family],
    run: &PlannedRun,
    engine: &'static str,
) -> Result<ChosenPlan, Error> {
    let ways = StepPlans::of(families, run);
    let Some(way) = ways.ways.first() else {
        let refusal = ways.refusal(engine).expect("a family has a way, or says why not");
        if run.hardware.gpu().is_err_and(|none| none == refusal) {
            compute::device::first()?;
        }
        return Err(refusal.error(engine));
    };
    let asked = "asked for".to_owned();
    // Of Fourier transforms the GPU is asked for first.
    let not_on_gpu = match (&way.launch, run.hardware.gpu(), engine) {
        (None, Ok(_), "fft") => ways.planned.rejected.first(),
        _ => None,
    };
    let why = match not_on_gpu {
        Some(Rejected { refusal, .. }) => {
            format!("{asked}; on the CPU, because the GPU cannot: {refusal}")
        }
        None => asked,
    };
    Ok(chosen(&ways, run, why))
}

/// The first of all ways.
fn of_all(run: &PlannedRun) -> Result<ChosenPlan, Error> {
    let ways = ways(run);
    let Some(first) = ways.ways.first() else {
        let refusal = ways.refusal("cpu").expect("no engine has a way");
        return Err(refusal.error("cpu"));
    };
    let why = match first.family.engine() {
        "fft" => faster(&ways, run.steps),
        _ => match ways.refusal("cuda") {
            Some(refusal) => why(&[("cuda", refusal)]),
            None => why(&[]),
        },
    };
    Ok(chosen(&ways, run, why))
}

fn chosen(ways: &StepPlans, run: &PlannedRun, why: String) -> ChosenPlan {
    let way = ways.ways.first().expect("whoever chooses has one").clone();
    // Of cores the costs are those of one machine.
    let forecast = match run.hardware.gpu() {
        Ok(_) => Forecast::of_first(&ways.planned, run.steps).unwrap_or_default(),
        Err(_) => Forecast::default(),
    };
    ChosenPlan { way, why, forecast }
}

/// Why many steps are taken at once.
fn faster(ways: &StepPlans, steps: usize) -> String {
    // Short ones with more digits.
    let seconds = |way: &StepPlan| match way.seconds_per_step * steps as f64 {
        of if of < 0.1 => format!("{of:.4} s"),
        of => format!("{of:.2} s"),
    };
    let jump = &ways.ways[0];
    let first = format!("predicted: {steps} steps at once take {}", seconds(jump));
    match ways.ways.iter().find(|way| way.family.engine() != "fft") {
        Some(other) => format!("{first}, on {} {}", other.family.engine(), seconds(other)),
        None => first,
    }
}

/// The way that an H200 would take on CUDA cores, for the emulator.
///
/// # Errors
/// [`Error::Unsupported`]: there is none, or the system is too large to be emulated.
pub fn emulated(system: &System, request: Request) -> Result<ChosenPlan, Error> {
    gpu::check_emulated(system)?;
    let request = Request { engine: EngineRequest::Cuda, written: true, ..request };
    let chosen = choose_on(&Hardware::described(Machine::h200()), system, request)?;
    // It is no GPU that executes the kernel.
    Ok(ChosenPlan { forecast: Forecast::default(), ..chosen })
}

/// The fastest way on the CUDA cores of a GPU.
///
/// # Errors
/// [`Error::Unsupported`]: there is none. [`Error::GpuMemory`].
pub fn on_cuda_cores(system: &System, machine: Machine) -> Result<ChosenPlan, Error> {
    let (engine, steps) = (EngineRequest::Cuda, system.steps());
    let request = Request { engine, steps, written: true, ..Request::default() };
    choose_on(&Hardware::described(machine), system, request)
}

impl ChosenPlan {
    /// The session of a system by this way, on this machine.
    ///
    /// # Errors
    /// The device refuses.
    pub fn open(
        &self,
        system: System,
        beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        self.way.family.open(&self.way, system, beginning)
    }

    /// The launch of this way, which is one on a GPU.
    pub(super) fn launch(&self) -> &gpu::LaunchWork {
        self.way.launch.as_ref().expect("a way on CUDA cores is by launches")
    }
}

#[cfg(test)]
mod tests;
