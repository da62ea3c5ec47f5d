// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems that fall apart into parts, of which one or more are stencils ([`crate::split`]): each part by the way that is the
//! fastest for it.

use super::{FAMILIES, Family, Hardware, PlannedRun, Ranking, RejectedPlan, StepPlan, system};
use crate::checked::System;
use crate::session::StepSession;
use crate::split::{self, SplitSession as Session, SumSteps, SystemPart};
use crate::start::StartValues;
use crate::sum;
use crate::{budget, cpu};
use compute::engine::EngineRequest;
use compute::families::{Refusal, Unit};
use compute::plan::{self as stencils, Candidate, RunTarget};
use problem::memory::Bytes;
use problem::{Depth, Error, Job};

/// The family on one engine.
pub enum SplitFamily {
    /// On CUDA cores.
    Cuda,
    /// On the cores of this machine.
    Cores,
}

impl Family for SplitFamily {
    fn name(&self) -> &'static str {
        match self {
            Self::Cuda => "apart",
            Self::Cores => "apart-on-cores",
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Self::Cuda => {
                "Systems whose fields never meet, some of them stencils: each by itself, on CUDA cores"
            }
            Self::Cores => {
                "Systems whose fields never meet, some of them stencils: each by itself, on the cores of this machine"
            }
        }
    }

    fn engine(&self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Cores => "cpu",
        }
    }

    fn concerns(&self, system: &System) -> bool {
        split::parts(system).iter().any(|part| part.fields.len() < system.fields.len())
    }

    fn writes_kernels(&self) -> bool {
        false
    }

    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
        match self {
            Self::Cores if !run.hardware.cores => Vec::new(),
            _ => vec![self.one(run).map_err(RejectedPlan::from)],
        }
    }

    fn require(&self, system: &System) -> Result<(), Error> {
        match self {
            // The GPU has what the session takes.
            Self::Cuda => budget::require(system, "parts of a system", 0),
            Self::Cores => cpu::require(system),
        }
    }

    fn open(
        &self,
        _: &StepPlan,
        system: System,
        beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        let parts = split::parts(&system);
        let open = |part: &SystemPart, beginning: StartValues| self.part(part, beginning);
        Ok(Box::new(Session::new(system, parts, self.engine(), beginning, open)?))
    }
}

impl SplitFamily {
    fn request(&self) -> EngineRequest {
        match self {
            Self::Cuda => EngineRequest::Cuda,
            Self::Cores => EngineRequest::Cpu,
        }
    }

    /// Each part by its fastest way.
    fn one(&self, run: &PlannedRun) -> Result<StepPlan, Refusal> {
        let parts = split::parts(run.system);
        if parts.len() == 1 {
            return Err(system("its fields depend on each other, or it has one field"));
        }
        let jobs: Vec<Option<Job>> = parts.iter().map(|part| job(&part.system)).collect();
        if jobs.iter().all(Option::is_none) {
            return Err(system("none of its parts is a stencil"));
        }
        let (mut seconds, mut chain, mut kernels) = (0.0, 1, Vec::new());
        for (part, job) in parts.iter().zip(&jobs) {
            let (kernel, steps, seconds_per_step) = match job {
                Some(job) => {
                    let first = self.of_stencil(run, job)?;
                    (first.kernel, first.chain, first.seconds_per_step)
                }
                None => {
                    let way = self.of_equations(&PlannedRun { system: &part.system, ..*run })?;
                    (way.kernel, way.chain, way.seconds_per_step)
                }
            };
            seconds += seconds_per_step;
            chain = chain.max(steps);
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        if let (Self::Cuda, Ok(machine)) = (self, run.hardware.gpu()) {
            check_memory(run.system, machine.memory_bytes)?;
        }
        let kernel = kernels.join(" + ");
        Ok(StepPlan {
            family: match self {
                Self::Cuda => &Self::Cuda,
                Self::Cores => &Self::Cores,
            },
            kernel,
            chain,
            seconds_per_step: seconds,
            set_up: 0.0,
            launch: None,
        })
    }

    /// The fastest way of a stencil.
    fn of_stencil(&self, run: &PlannedRun, job: &Job) -> Result<Candidate, Refusal> {
        let job = &Job { steps: run.steps.max(1), ..job.clone() };
        if matches!(self, Self::Cores) {
            return stencils::on_cores(job);
        }
        let target = RunTarget::described(run.hardware.carries()?.clone());
        let planned = stencils::by_units(&[Unit::CudaCores], &target, job);
        let refusal = || planned.refusal(self.engine()).cloned();
        let none = || system("no kernel takes it");
        planned.ranked.first().cloned().ok_or_else(|| refusal().unwrap_or_else(none))
    }

    /// The fastest way of a part that is no stencil.
    fn of_equations(&self, run: &PlannedRun) -> Result<StepPlan, Refusal> {
        let is_own =
            |family: &&dyn Family| family.engine() == self.engine() && family.writes_kernels();
        let families: Vec<_> = FAMILIES.into_iter().filter(is_own).collect();
        let ranking = Ranking::of(&families, run);
        let refusal = || ranking.refusal(self.engine()).expect("a way, or why there is none");
        ranking.ways.first().cloned().ok_or_else(refusal)
    }

    /// The session of a part.
    fn part(
        &self,
        part: &SystemPart,
        mut beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        match job(&part.system) {
            Some(job) => {
                let grid = beginning.fields.swap_remove(0).swap_remove(0);
                let engine = stencils::choose(self.request(), &job)?.engine;
                Ok(Box::new(SumSteps::new(&job, &*engine, &grid)?))
            }
            None => {
                let (system, hardware) = (&part.system, &Hardware::here());
                let run = PlannedRun { system, hardware, steps: system.steps(), asked: true };
                let refused = |refusal: Refusal| refusal.error(self.engine());
                let way = self.of_equations(&run).map_err(refused)?;
                way.family.open(&way, system.clone(), beginning)
            }
        }
    }
}

/// Checks that a GPU has room for all parts at once: of each array a second one for the next values, and coefficients.
///
/// # Errors
/// [`Refusal::Memory`].
fn check_memory(system: &System, bytes: u64) -> Result<(), Refusal> {
    let arrays = 2 * system.arrays() + system.coefficients.len();
    let need = arrays as u128 * system.shape.points() as u128 * system.dtype.bytes() as u128;
    if need <= u128::from(bytes) {
        return Ok(());
    }
    let (what, total) = ("the parts of a system".to_owned(), Bytes(bytes));
    Err(Refusal::Memory { what, need: Bytes::saturating(need), total })
}

/// The job that a part is, if it is one whose single steps are compared as those of equations: each is rounded by itself. Of
/// 16-bit types kernels near sides, and those that keep values in registers, hold f32 between the steps of a launch.
fn job(part: &System) -> Option<Job> {
    let job = sum::job(part).ok()?;
    (job.dtype.bytes() > 2).then_some(Job { fuse: Depth::Steps(1), ..job })
}
