// SPDX-License-Identifier: MIT OR Apache-2.0
//! Engines: ways to advance a grid in time.

use problem::{Error, Job};

pub mod cpu;
pub mod emulate;
pub mod fft;
pub(crate) mod gpu;
pub mod on_gpu;
mod request;
mod session;
mod sweeps;

pub use request::EngineRequest;
pub use session::{Session, SumSession};
pub use sweeps::Sweeps;

/// How many launches so many steps take, each of as many of the steps that are left as it can: `depths`
/// are the steps of the launches there are, the largest first.
fn launches(depths: impl Iterator<Item = usize>, steps: usize) -> usize {
    let (count, _) =
        depths.fold((0, steps), |(count, left), depth| (count + left / depth, left % depth));
    count
}

/// One way to compute a job.
pub trait Engine {
    /// The name to ask for.
    fn name(&self) -> &'static str;

    /// Whether it can take several time steps as one sum, so that asking for it makes a difference.
    fn fuses(&self) -> bool {
        true
    }

    /// Whether it can take several sweeps before it goes back to memory.
    fn chains(&self) -> bool {
        true
    }

    /// Bytes of this machine's memory that its session takes at most, with the input for
    /// [`Session::restart`] or without.
    fn host_bytes(&self, _job: &Job, _input: Input) -> u128 {
        0
    }

    /// The job's steps of arrays in this machine's memory that need no session, where that is as fast: of a few
    /// steps, a session's grids and their halos take longer than the steps.
    fn sweeps(&self, _job: &Job) -> Option<Sweeps> {
        None
    }

    /// Compiles and allocates whatever the job needs.
    ///
    /// # Errors
    /// The engine cannot run the job, or the device refuses.
    fn prepare(&self, job: &Job) -> Result<Box<dyn SumSession>, Error>;
}

/// Whether a session keeps the input that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// For [`Session::restart`] and [`State::Loaded`].
    Kept,
    /// Its memory is used for other grids.
    Dropped,
}

/// Which of its grids a session is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The input, as long as it is kept.
    Loaded,
    /// What was computed so far.
    Now,
}
