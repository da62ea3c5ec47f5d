// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways to take the steps of a system. A family of ways is a file here and a row of [`FAMILIES`]; it proposes ways with
//! their predicted time, or says why it has none ([`crate::plan`] ranks them), and makes the session of the way that is taken.

use compute::device;
use compute::families::Refusal;
use compute::plan::RunTarget;
use problem::Error;
use transform::machine::Machine;

use crate::budget;
use crate::checked::System;
use crate::gpu::{self, LaunchWork};
use crate::session::StepSession;
use crate::start::StartValues;

mod chain;
mod jump;
mod march;
mod ranking;
mod rows;
mod split;
mod step;
mod sweep;

pub use ranking::Ranking;

/// All families.
pub const FAMILIES: [&dyn Family; 9] = [
    &split::SplitFamily::Cuda,
    &split::SplitFamily::Cores,
    &step::StepFamily,
    &march::MarchFamily,
    &chain::ChainFamily,
    &sweep::SweepFamily,
    &jump::JumpFamily::OnGpu,
    &jump::JumpFamily::OnCores,
    &rows::RowsFamily,
];

/// The families that have something to say of a system.
#[must_use]
pub fn of(system: &System) -> Vec<&'static dyn Family> {
    FAMILIES.into_iter().filter(|family| family.concerns(system)).collect()
}

/// The family of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Family> {
    FAMILIES.into_iter().find(|family| family.name() == name)
}

/// Ways to take steps that have the engine, the costs and the session in common.
pub trait Family: Sync {
    /// The name.
    fn name(&self) -> &'static str;

    /// What it is, in a few words.
    fn about(&self) -> &'static str;

    /// The engine that it belongs to.
    fn engine(&self) -> &'static str;

    /// How many times as fast as a simpler way it must be predicted to be where `auto` takes it.
    fn gain(&self, _system: &System) -> f64 {
        1.0
    }

    /// Whether it has something to say of a system that nobody asks it about: a way, or why there is none.
    fn concerns(&self, _system: &System) -> bool {
        true
    }

    /// Whether its ways on a GPU are launches of kernels that are written for a system, which ranks and the emulator take, too.
    fn writes_kernels(&self) -> bool {
        true
    }

    /// Its ways, and why others are none.
    fn propose(&self, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>>;

    /// Checks that this machine's memory holds what a session takes, with the values that it starts with.
    ///
    /// # Errors
    /// [`Error::Memory`].
    fn require(&self, system: &System) -> Result<(), Error> {
        let (fields, shape) = (system.fields.len(), system.shape);
        budget::require(system, &format!("the start of {fields} fields on {shape} points"), 0)
    }

    /// The session of one of its ways.
    ///
    /// # Errors
    /// The device refuses.
    fn open(
        &self,
        way: &StepPlan,
        system: System,
        beginning: StartValues,
    ) -> Result<Box<dyn StepSession>, Error> {
        let launch = way.launch.as_ref().expect("a way by launches of a kernel");
        gpu::session(system, launch, beginning)
    }
}

/// A run that is planned.
#[derive(Clone, Copy)]
pub struct PlannedRun<'a> {
    /// What is computed.
    pub system: &'a System,
    /// What may compute it.
    pub hardware: &'a Hardware,
    /// Steps that are taken at a time while nobody looks.
    pub steps: usize,
    /// Whether its engine was asked for, so that a family need not be worth it.
    pub asked: bool,
}

/// The hardware that may compute.
pub struct Hardware {
    pub(super) gpu: Result<Machine, Refusal>,
    /// Why the kernels that this program carries do not run on the GPU; those that are written for a system do.
    pub(super) carried: Result<(), Refusal>,
    /// Whether the cores of this machine may.
    pub(super) cores: bool,
}

impl Hardware {
    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        match RunTarget::here() {
            Ok(RunTarget { machine, .. }) => {
                Self { gpu: Ok(machine), carried: Ok(()), cores: true }
            }
            Err(why) => {
                let gpu = device::first().map(|info| info.machine()).map_err(Refusal::of);
                Self { gpu, carried: Err(Refusal::of(why)), cores: true }
            }
        }
    }

    /// A GPU that is only described.
    #[must_use]
    pub fn described(machine: Machine) -> Self {
        Self { gpu: Ok(machine), carried: Ok(()), cores: false }
    }

    /// The GPU.
    ///
    /// # Errors
    /// Why there is none.
    pub fn gpu(&self) -> Result<&Machine, Refusal> {
        self.gpu.as_ref().map_err(Clone::clone)
    }

    /// The GPU, for kernels that this program carries.
    ///
    /// # Errors
    /// Why there is none, or why they do not run on it.
    fn carries(&self) -> Result<&Machine, Refusal> {
        self.carried.clone()?;
        self.gpu()
    }
}

/// A plan for taking steps, and what is predicted of it.
#[derive(Clone)]
pub struct StepPlan {
    /// Its family.
    pub family: &'static dyn Family,
    /// The name of what computes.
    pub kernel: String,
    /// Steps of a launch.
    pub chain: usize,
    /// Predicted seconds of a step.
    pub seconds_per_step: f64,
    /// Predicted seconds before the first step, beside those that any way takes.
    pub set_up: f64,
    /// What a launch on a GPU does, where a kernel is written for the system.
    pub launch: Option<LaunchWork>,
}

/// A plan that does not fit a system, and why.
pub struct RejectedPlan {
    /// Steps of a launch; none for any number.
    pub chain: Option<usize>,
    /// Why.
    pub refusal: Refusal,
}

impl From<Refusal> for RejectedPlan {
    fn from(refusal: Refusal) -> Self {
        Self { chain: None, refusal }
    }
}

/// A way by launches on a GPU.
fn on_a_gpu(
    family: &'static dyn Family,
    launch: LaunchWork,
    system: &System,
    seconds: f64,
) -> StepPlan {
    StepPlan {
        family,
        kernel: launch.name(system),
        chain: launch.steps(),
        seconds_per_step: seconds,
        set_up: 0.0,
        launch: Some(launch),
    }
}

/// The refusal of what a system is, or has.
fn system(reason: impl Into<String>) -> Refusal {
    Refusal::System(reason.into())
}
