// SPDX-License-Identifier: MIT OR Apache-2.0
//! What launches kernels.

use cuda_driver::{Entry, Extents};
use kernels_gpu::wide2d::finished::Parameters;

use std::time::Duration;

use compute::device::generated::MOST_ADDRESSES;
use compute::device::{ForeignMemory, Memory, MemoryRows};
use compute::engine::fft::solve::Solve;
use compute::engine::on_gpu::Ghosts;
use problem::observe::PendingCopy;
use problem::{Dtype, Error, Region, Shape};

/// What launches a kernel: a GPU, or what executes its PTX.
pub trait LaunchTarget {
    /// An array of zeros; its number.
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error>;
    /// The address of an array.
    fn address(&self, array: usize) -> u64;
    /// Waits for all launches, and copies bytes to rows of an array.
    fn write(&mut self, array: usize, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error>;
    /// Waits for all launches, and copies rows of an array.
    fn read(&self, array: usize, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error>;
    /// Queues a launch of the kernel of a stage, or of that of totals by its number.
    fn launch(
        &mut self,
        stage: usize,
        extents: Extents,
        addresses: [u64; MOST_ADDRESSES],
    ) -> Result<(), Error>;
    /// Queues a launch of such a kernel that computes several systems side by side: the address of the table of what each of
    /// them is given, and the rows of it.
    fn launch_beside(
        &mut self,
        stage: usize,
        extents: Extents,
        table: u64,
        _rows: &[u64],
    ) -> Result<(), Error> {
        let mut addresses = [0; MOST_ADDRESSES];
        addresses[0] = table;
        self.launch(stage, extents, addresses)
    }
    /// Waits until all systems that are computed side by side come to the start of steps.
    fn begin(&self) -> Result<(), Error> {
        Ok(())
    }
    /// Gets ready for a solve between arrays whose points lie in such rows; its number.
    fn prepare_solve(&mut self, _solve: &Solve, _of: (Dtype, MemoryRows)) -> Result<usize, Error> {
        unreachable!("systems with solves are not launched on it")
    }
    /// Queues a solve, by its number: of what lies in rows of one array, into rows of another.
    fn solve(
        &mut self,
        _number: usize,
        _arrays: [usize; 2],
        _rows: MemoryRows,
    ) -> Result<(), Error> {
        unreachable!("systems with solves are not launched on it")
    }
    /// The type in which solves of values of a type are transformed.
    fn transforms(&self, dtype: Dtype) -> Dtype {
        if dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 }
    }
    /// Queues a launch of a sweep.
    fn sweep(
        &mut self,
        entry: Entry<Parameters>,
        extents: Extents,
        parameters: Parameters,
    ) -> Result<(), Error>;
    /// Copies so many bytes from the start of one array to that of another, so many times back and forth; the mean time of
    /// a copy.
    fn time_copies(
        &mut self,
        pair: [usize; 2],
        bytes: usize,
        count: usize,
    ) -> Result<Duration, Error>;
    /// Queues that the ghosts of arrays, whose boxes lie in these rows, are got anew from other ranks' GPUs.
    fn renew(
        &mut self,
        _ghosts: &mut dyn Ghosts,
        _arrays: &[usize],
        _rows: &dyn Fn(Region) -> MemoryRows,
    ) -> Result<(), Error> {
        unreachable!("what is no GPU has no ghosts of its own")
    }
    /// A copy of rows of an array on its way, as a grid of this shape and type; none where arrays are read instead.
    fn capture(
        &mut self,
        _array: usize,
        _rows: MemoryRows,
        _of: (Shape, Dtype),
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        Ok(None)
    }
    /// So many bytes of its memory, for values that are kept; none of a target that others use, too.
    fn room(&self, _bytes: usize) -> Result<Option<Memory>, Error> {
        Ok(None)
    }
    /// How many bytes of its memory are free, if it gives some.
    fn free_room(&self) -> Result<Option<u64>, Error> {
        Ok(None)
    }
    /// Queues a copy of rows of an array to a memory that it gave, from a byte on, without gaps.
    fn pack(
        &mut self,
        _array: usize,
        _rows: MemoryRows,
        _to: (&Memory, usize),
    ) -> Result<(), Error> {
        unreachable!("it gives no room")
    }
    /// Queues that rows of an array take what was packed there.
    fn unpack(
        &mut self,
        _array: usize,
        _rows: MemoryRows,
        _from: (&Memory, usize),
    ) -> Result<(), Error> {
        unreachable!("it gives no room")
    }
    /// Waits for all launches, and copies bytes that were packed there.
    fn read_packed(&self, _from: (&Memory, usize), _bytes: &mut [u8]) -> Result<(), Error> {
        unreachable!("it gives no room")
    }

    /// Waits for all launches, and copies rows of an array from elsewhere in the memory of what launches. False where that is no GPU's.
    fn take(
        &mut self,
        _from: ForeignMemory,
        _array: usize,
        _rows: MemoryRows,
    ) -> Result<bool, Error> {
        Ok(false)
    }
    /// Waits for all launches, and copies rows of an array to elsewhere in the memory of what launches. False where that is no GPU's.
    fn give(
        &mut self,
        _array: usize,
        _rows: MemoryRows,
        _to: ForeignMemory,
    ) -> Result<bool, Error> {
        Ok(false)
    }
    /// Whether all values of an array of this type are known to be finite after a look at them on the device.
    fn knows_finite(&mut self, _array: usize, _dtype: Dtype) -> Result<bool, Error> {
        Ok(false)
    }
    /// Waits for all launches.
    fn wait(&self) -> Result<(), Error>;
    /// What it is.
    fn describe(&self) -> String;
    /// The engine's name, if it is not that of the cores which the kernel is for.
    fn engine(&self) -> Option<&'static str> {
        None
    }
}
