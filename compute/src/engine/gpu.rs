// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engines on a GPU: the launches that were planned for a job, of families of one unit of the chip.

use super::on_gpu::{Advance, OnGpu, check_grid};
use super::{Engine, SumSession};
use crate::device::{Device, Gpu};
use crate::families::{Proposal, Unit};
use problem::{Error, Job};

/// A unit of an NVIDIA GPU, with the launches that were planned for a job.
pub struct GpuEngine {
    /// The one that most steps take, and those for what remains, the last of one step.
    launches: Vec<Proposal>,
}

impl GpuEngine {
    /// To compute by these launches, as the planner made them.
    pub(crate) fn new(launches: Vec<Proposal>) -> Self {
        Self { launches }
    }

    /// What multiplies.
    fn unit(&self) -> Unit {
        self.launches[0].family.unit()
    }
}

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        self.unit().engine()
    }

    fn fuses(&self) -> bool {
        self.unit().fuses()
    }

    fn chains(&self) -> bool {
        self.unit().chains()
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn SumSession>, Error> {
        let gpu = Gpu::open()?;
        check_grid(self.name(), gpu.info(), job)?;
        session(Box::new(gpu), &self.launches, job)
    }
}

/// What was planned for a job, ready on a device.
///
/// # Errors
/// The device refuses.
pub(crate) fn advances(
    device: &dyn Device,
    launches: &[Proposal],
    job: &Job,
) -> Result<Vec<Advance>, Error> {
    let advance = |launch: &Proposal| {
        let parts = launch.parts(device, job)?;
        Ok(Advance { steps: launch.steps(), parts, spread: launch.spread(job) })
    };
    let mut advances: Vec<Advance> = launches.iter().map(advance).collect::<Result<_, Error>>()?;
    advances.sort_by_key(|advance| std::cmp::Reverse(advance.steps));
    Ok(advances)
}

/// A job on a device, by the launches that were planned for one of its kind.
///
/// # Errors
/// The device refuses.
pub(crate) fn session(
    device: Box<dyn Device>,
    launches: &[Proposal],
    job: &Job,
) -> Result<Box<dyn SumSession>, Error> {
    let (first, advances) = (&launches[0], advances(&*device, launches, job)?);
    let session = OnGpu::new(device, job, first.arithmetic(job), advances)?;
    Ok(Box::new(session.by(first.kernel.name.clone(), first.chain)))
}
