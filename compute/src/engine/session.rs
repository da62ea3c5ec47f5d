// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arrays of a problem on an engine's device.

use std::time::Duration;

use super::State;
use crate::device::{DeviceArray, DeviceGrid};
use files::io::StartSource;
use problem::check::seams::Seams;
use problem::observe::{PartFile, PendingCopy};
use problem::region::Region;
use problem::{Arithmetic, Clock, Dtype, Error, Grid, JumpReport, Jumped, Shape, Values, View};

/// The arrays of a problem on an engine's device, ready to be advanced in time.
///
/// An array has a number: the present values of the fields come first, in the order of the fields, then what the fields
/// were one step before, of those of which the equations need it, then two steps before. A stencil has array 0 only.
pub trait Session {
    /// The device, such as `NVIDIA H200, driver 580.159` or `CPU, 2 threads`.
    fn device(&self) -> String;

    /// The extents of each array.
    fn shape(&self) -> Shape;

    /// The type of the values that are read and written.
    fn dtype(&self) -> Dtype;

    /// Time steps of the launch that most steps are taken with.
    fn launch(&self) -> usize {
        1
    }

    /// Takes the input of array 0, of the problem's shape and element type, and poisons every other buffer with
    /// NaN, so that a point that a sweep forgets cannot pass for a result.
    ///
    /// # Errors
    /// The device refuses; always, of sessions that begin with their own values.
    fn load(&mut self, _input: &Grid) -> Result<(), Error> {
        let reason = "it begins with its own values".into();
        Err(Error::Unsupported { engine: "of a system", reason })
    }

    /// From now on the input is not needed: [`Session::restart`] and [`State::Loaded`] are not asked for
    /// until the next [`Session::load`].
    fn drop_input(&mut self) {}

    /// Back to the loaded input, cheaply and untimed. Buffers need no new poison.
    ///
    /// # Errors
    /// The device refuses; always, of sessions that keep no input.
    fn restart(&mut self) -> Result<(), Error> {
        let reason = "it keeps no input".into();
        Err(Error::Unsupported { engine: "of a system", reason })
    }

    /// Takes that many time steps, waits for them, and returns their time by the device's own clock.
    ///
    /// # Errors
    /// The device refuses.
    fn advance(&mut self, steps: usize) -> Result<Duration, Error>;

    /// What its jumps by Fourier transforms since the input did to the values; none if it makes none, or tells it
    /// otherwise.
    fn jumped(&self) -> Option<Jumped> {
        None
    }

    /// The values of a box of points of an array, in C order.
    ///
    /// # Errors
    /// The device refuses.
    fn read(&mut self, array: usize, state: State, region: Region) -> Result<Values, Error>;

    /// Takes the values of a box of points, in C order, into an array as it is now.
    ///
    /// # Errors
    /// The device refuses; always, of sessions that take whole grids only.
    fn write(&mut self, _array: usize, _region: Region, _values: &Values) -> Result<(), Error> {
        let reason = "it takes whole grids only".into();
        Err(Error::Unsupported { engine: "of one rank", reason })
    }

    /// The points of each rank, of arrays that ranks share.
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

    /// A copy of what a view shows of an array as it is now, which comes while the session goes on; none of sessions
    /// whose arrays are [read](Session::read) instead.
    ///
    /// # Errors
    /// The device refuses.
    fn capture(
        &mut self,
        _array: usize,
        _view: &View,
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        Ok(None)
    }

    /// Whether all values are known to be finite after a look that takes less time than to read them.
    ///
    /// # Errors
    /// The device refuses.
    fn knows_finite(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    /// What each reduction of the problem's totals is over a box of points as they are now: a sum in two parts, of which the
    /// second is what rounding the first has lost, or the smallest or largest value. None of sessions whose values are reduced
    /// elsewhere. Those that are made of others have a meaning where what these are is told; what is not known is no number.
    ///
    /// # Errors
    /// The device refuses.
    fn reduce(&mut self, _region: Region, _known: &[f64]) -> Result<Option<Vec<[f64; 2]>>, Error> {
        Ok(None)
    }

    /// Takes what the reductions of the problem's totals are of all points, for the equations of the next step, which may
    /// hold some.
    fn take_totals(&mut self, _reduced: &[f64]) {}

    /// Takes the last step back, which was one by itself.
    ///
    /// # Errors
    /// A rank failed.
    fn take_back(&mut self) -> Result<(), Error> {
        unreachable!("no step of this session is taken back")
    }

    /// Takes so many steps for done, also fewer than are, so that the next one is that of this number; false where the session cannot, and
    /// goes on as it was.
    fn take_step(&mut self, _done: usize) -> bool {
        false
    }

    /// Takes when the next steps are, and how long.
    fn take_clock(&mut self, _clock: Clock) {}

    /// Copies a whole array that many times, back and forth between two buffers, and returns the
    /// mean time of one copy: the yardstick for a sweep, which reads and writes as many bytes. The
    /// values are lost until [`Session::restart`].
    ///
    /// # Errors
    /// The device refuses.
    fn copy(&mut self, count: usize) -> Result<Duration, Error>;
}

/// A session of one field, each step of which is a weighted sum with constant weights.
pub trait SumSession: Session {
    /// What rounding it does, and how many time steps it takes as one sum of the fused stencil.
    fn arithmetic(&self) -> Arithmetic;

    /// Where its kernels' tiles meet; none if that is unknown.
    fn seams(&self) -> Seams {
        Seams::none()
    }

    /// Sweeps that it chains on chip.
    fn chain(&self) -> usize {
        1
    }

    /// How it takes many steps at once by Fourier transforms, if it does.
    fn jump(&self) -> Option<JumpReport> {
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

    /// Takes the input from an array that lies in the memory of the session's device. False of sessions that take grids
    /// of this machine's memory only.
    ///
    /// # Errors
    /// The device refuses.
    fn load_array(&mut self, _input: &DeviceArray) -> Result<bool, Error> {
        Ok(false)
    }

    /// Takes as input what whoever computes can make or read by itself, each rank its part. False of sessions that take
    /// whole grids only.
    ///
    /// # Errors
    /// As [`Session::load`]; a value is not finite, or a file cannot be read.
    fn start(&mut self, _initial: &StartSource) -> Result<bool, Error> {
        Ok(false)
    }

    /// The grid as it is now.
    ///
    /// # Errors
    /// The device refuses, or the grid does not fit in memory.
    fn store(&mut self) -> Result<Grid, Error> {
        let shape = self.shape();
        Grid::check_memory(shape, self.dtype())?;
        let values = self.read(0, State::Now, Region::whole(shape))?;
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
}
