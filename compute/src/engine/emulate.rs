// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine that runs on the CPU what an H200 would be given: the same plan, the same launches, in the
//! emulator ([`Emulator`]), where a kernel's mistakes end the run.

use super::{Engine, Input, SumSession, gpu};
use crate::device::Emulator;
use crate::families::{Proposal, Unit};
use kernels_gpu::sweep2d::TILE_COLUMNS;
use problem::{Error, Job};

/// 2048², in tiles: a step of so many takes some seconds.
const MOST_POINTS: usize = 1 << 22;

/// The name to ask for.
pub const NAME: &str = "emulate";

/// The kernels in the emulator, as they were planned for a job on an H200.
pub struct Emulate {
    /// As of [`gpu::GpuEngine`].
    launches: Vec<Proposal>,
}

impl Emulate {
    /// To compute by these launches.
    pub(crate) fn new(launches: Vec<Proposal>) -> Self {
        Self { launches }
    }

    /// Checks that it would not take too long.
    ///
    /// # Errors
    /// The grid has too many points.
    pub fn check(job: &Job) -> Result<(), Error> {
        let points = points(job);
        if points <= MOST_POINTS as u128 {
            return Ok(());
        }
        let reason = format!(
            "a grid of {} takes tiles of {points} points; it emulates at most {MOST_POINTS}, which takes \
             some seconds a step",
            job.shape
        );
        Err(Error::Unsupported { engine: NAME, reason })
    }
}

/// Points of a grid in whole tiles.
fn points(job: &Job) -> u128 {
    let [nz, ny, nx] = job.shape.extents();
    let columns = nx.next_multiple_of(TILE_COLUMNS as usize);
    nz as u128 * ny as u128 * columns as u128
}

impl Engine for Emulate {
    fn name(&self) -> &'static str {
        NAME
    }

    /// At most: in three planes, and who has accessed them in two. On tensor cores a row is copied once; on CUDA
    /// cores every neighbour reads each two bytes of it.
    fn host_bytes(&self, job: &Job, _: Input) -> u128 {
        let (bytes, readers) = (job.dtype.bytes() as u128, job.stencil.taps().len() as u128);
        let on_cores = self.launches[0].family.unit() == Unit::CudaCores;
        let point = if on_cores { bytes / 2 * (60 + 12 * readers) } else { 40 + 20 * bytes };
        point * points(job)
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn SumSession>, Error> {
        gpu::session(Box::new(Emulator::new()), &self.launches, job)
    }
}
