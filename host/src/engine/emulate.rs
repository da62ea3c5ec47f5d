// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine that runs on the CPU what an H200 would be given: the same plan, the same launches, in the
//! emulator ([`Emulator`]), where a kernel's mistakes end the run.

use super::sparse::schedule::schedules_for;
use super::{Engine, Input, Job, Session, cuda, reject_depths, sparse};
use crate::Error;
use crate::device::Emulator;
use crate::plan::{self, Candidate, Target};
use kernels_gpu::sweep2d::TILE_COLUMNS;
use transform::machine::Machine;

/// 2048², in tiles: a step of so many takes some seconds.
const MOST_POINTS: usize = 1 << 22;

/// What a point takes of this machine's memory, at most: in three planes, and who has accessed it in two of them.
/// On tensor cores a row is copied once; on CUDA cores every neighbour reads each two bytes of it.
fn point_bytes(planned: &Candidate, job: &Job) -> u128 {
    let (bytes, readers) = (job.dtype.bytes() as u128, job.stencil.taps().len() as u128);
    if planned.engine == "cuda" { bytes / 2 * (60 + 12 * readers) } else { 40 + 20 * bytes }
}

/// The kernels in the emulator.
pub struct Emulate;

/// What the emulator imitates.
fn target() -> Target {
    Target::described(Machine::h200())
}

/// What `auto` takes on an H200, of a grid that is small enough.
fn plan(engine: &'static str, job: &Job) -> Result<Candidate, Error> {
    let [nz, ny, nx] = job.shape.extents();
    let columns = nx.next_multiple_of(TILE_COLUMNS as usize);
    let points = nz.saturating_mul(ny).saturating_mul(columns);
    if points > MOST_POINTS {
        let reason = format!(
            "a grid of {} takes tiles of {points} points; it emulates at most {MOST_POINTS}, \
             which takes some seconds a step",
            job.shape
        );
        return Err(Error::Unsupported { engine, reason });
    }
    let target = target();
    let planned = plan::on_gpu(&target, job);
    planned.ranked.into_iter().next().ok_or_else(|| refusal(engine, &target, job))
}

/// Why nothing takes a job: on CUDA cores only where they are not ruled out by what was asked for.
fn refusal(engine: &'static str, Target { machine, limits }: &Target, job: &Job) -> Error {
    let sparse = schedules_for(*limits, machine, engine, job).err();
    let cuda = cuda::check(engine, *limits, job).err();
    let cuda = cuda.filter(|_| reject_depths(engine, job).is_none());
    match (sparse, cuda) {
        (
            Some(Error::Unsupported { reason: sparse, .. }),
            Some(Error::Unsupported { reason: cuda, .. }),
        ) if sparse != cuda => {
            Error::Unsupported { engine, reason: format!("{sparse}; on CUDA cores, {cuda}") }
        }
        (Some(error), _) | (None, Some(error)) => error,
        (None, None) => Error::Unsupported { engine, reason: "an H200 cannot".into() },
    }
}

impl Engine for Emulate {
    fn name(&self) -> &'static str {
        "emulate"
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        plan(self.name(), job).err()
    }

    fn host_bytes(&self, job: &Job, _: Input) -> u128 {
        let Ok(planned) = plan(self.name(), job) else { return 0 };
        let [nz, ny, nx] = job.shape.extents();
        let columns = nx.next_multiple_of(TILE_COLUMNS as usize);
        point_bytes(&planned, job) * nz as u128 * ny as u128 * columns as u128
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let planned = plan(self.name(), job)?;
        let device = Box::new(Emulator::new());
        match planned.engine {
            "cuda" => cuda::session(self.name(), device, job),
            _ => sparse::session(self.name(), device, &target(), job),
        }
    }
}
