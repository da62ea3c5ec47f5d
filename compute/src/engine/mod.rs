// SPDX-License-Identifier: MIT OR Apache-2.0
//! Engines: ways to advance a grid in time.

use std::time::Duration;

use crate::device::{DeviceArray, DeviceGrid};
use files::io::Initial;
use problem::check::seams::Seams;
use problem::observe::{Coming, PartFile};
use problem::region::Region;
use problem::{Arithmetic, Error, Grid, Job, Jump, Jumped, Shape, Values, View};

pub mod cpu;
pub mod emulate;
pub mod fft;
pub(crate) mod gpu;
pub mod on_gpu;
mod request;

pub use request::EngineRequest;

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

    /// Compiles and allocates whatever the job needs.
    ///
    /// # Errors
    /// The engine cannot run the job, or the device refuses.
    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error>;
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

/// A grid on an engine's device, ready to be advanced in time.
pub trait Session {
    /// The device, such as `NVIDIA H200, driver 580.159` or `CPU, 2 threads`.
    fn device(&self) -> String;

    /// The extents of the grid.
    fn shape(&self) -> Shape;

    /// What rounding it does, and how many time steps it takes as one sum of the fused stencil.
    fn arithmetic(&self) -> Arithmetic;

    /// Where its kernels' tiles meet; none if nobody knows.
    fn seams(&self) -> Seams {
        Seams::none()
    }

    /// Sweeps that it chains on chip.
    fn chain(&self) -> usize {
        1
    }

    /// Time steps of the launch that most steps are taken with.
    fn launch(&self) -> usize {
        self.arithmetic().fuse * self.chain()
    }

    /// How it takes many steps at once by Fourier transforms, if it does.
    fn jump(&self) -> Option<Jump> {
        None
    }

    /// What its jumps since [`Session::load`] or [`Session::restart`] did to the grid; none if it makes none.
    fn jumped(&self) -> Option<Jumped> {
        None
    }

    /// The kernel that takes most of the steps, if it has a name.
    fn kernel(&self) -> Option<String> {
        None
    }

    /// Sweeps over the grid in memory that so many time steps take.
    fn sweeps(&self, steps: usize) -> usize {
        steps
    }

    /// Takes the input, of the job's shape and element type, and poisons every other buffer with
    /// NaN, so that a point that a sweep forgets cannot pass for a result.
    ///
    /// # Errors
    /// The device refuses.
    fn load(&mut self, input: &Grid) -> Result<(), Error>;

    /// The same of an array that lies in the memory of the session's device. False of sessions that take grids of this
    /// machine's memory only.
    ///
    /// # Errors
    /// The device refuses.
    fn load_array(&mut self, _input: &DeviceArray) -> Result<bool, Error> {
        Ok(false)
    }

    /// The same of what whoever computes can make or read by itself, each rank its part. False of sessions that take
    /// whole grids only.
    ///
    /// # Errors
    /// As [`Session::load`]; a value is not finite, or a file cannot be read.
    fn start(&mut self, _initial: &Initial) -> Result<bool, Error> {
        Ok(false)
    }

    /// From now on the input is not needed: [`Session::restart`] and [`State::Loaded`] are not asked for
    /// until the next [`Session::load`].
    fn drop_input(&mut self) {}

    /// Back to the loaded input, cheaply and untimed. Buffers need no new poison.
    ///
    /// # Errors
    /// The device refuses.
    fn restart(&mut self) -> Result<(), Error>;

    /// Does that many time steps, waits for them, and returns their time by the device's own clock.
    ///
    /// # Errors
    /// The device refuses.
    fn advance(&mut self, steps: usize) -> Result<Duration, Error>;

    /// The values of a box of grid points, in C order.
    ///
    /// # Errors
    /// The device refuses.
    fn read(&mut self, state: State, region: Region) -> Result<Values, Error>;

    /// Takes the values of a box of grid points, in C order, into the grid as it is now.
    ///
    /// # Errors
    /// The device refuses; always, of sessions that take whole grids only.
    fn write(&mut self, _region: Region, _values: &Values) -> Result<(), Error> {
        let reason = "it takes whole grids only".into();
        Err(Error::Unsupported { engine: "of one rank", reason })
    }

    /// The points of each rank, of a grid that ranks share.
    fn parts(&self) -> Option<Vec<Region>> {
        None
    }

    /// Has each rank write a file of its own points as they are now, the first that of rank 0; returns what
    /// `io::part_file::write` did. A rank that cannot write can go on.
    ///
    /// # Errors
    /// Whatever a rank failed with; always, of sessions that are not shared.
    fn write_parts(&mut self, _files: &[PartFile]) -> Result<Vec<String>, Error> {
        Err(Error::Unsupported { engine: "of one rank", reason: "it has no parts".into() })
    }

    /// A copy of what a view shows of the grid as it is now, which comes while the session goes on; none of sessions
    /// whose grid is [read](Session::read) instead.
    ///
    /// # Errors
    /// The device refuses.
    fn capture(&mut self, _view: &View) -> Result<Option<Box<dyn Coming>>, Error> {
        Ok(None)
    }

    /// Whether all values are known to be finite after a look that takes less time than to read them.
    ///
    /// # Errors
    /// The device refuses.
    fn knows_finite(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    /// The grid as it is now.
    ///
    /// # Errors
    /// The device refuses, or the grid does not fit in memory.
    fn store(&mut self) -> Result<Grid, Error> {
        let shape = self.shape();
        Grid::check_memory(shape, self.arithmetic().dtype)?;
        let values = self.read(State::Now, Region::whole(shape))?;
        Ok(Grid { shape, values })
    }

    /// The grid as it is now, in the memory of the session's device. None of sessions that give grids in this machine's
    /// memory only.
    ///
    /// # Errors
    /// The device refuses, or has no room for it.
    fn store_on_device(&mut self) -> Result<Option<DeviceGrid>, Error> {
        Ok(None)
    }

    /// Copies the whole grid that many times, back and forth between two buffers, and returns the
    /// mean time of one copy: the yardstick for a sweep, which reads and writes as many bytes. The
    /// grid is lost until [`Session::restart`].
    ///
    /// # Errors
    /// The device refuses.
    fn copy(&mut self, count: usize) -> Result<Duration, Error>;
}
