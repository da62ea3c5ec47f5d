// SPDX-License-Identifier: MIT OR Apache-2.0
//! A GPU that runs a kernel which was written for a system.

use std::rc::Rc;
use std::time::Duration;

use super::kernel::GeneratedKernel;
use super::sweep::FinishedSweep;
use super::target::LaunchTarget;
use compute::device::generated::{Addresses, MOST_ADDRESSES, call};
use compute::device::{
    Carried, Device, ForeignMemory, Gpu, Launch, Memory, MemoryRows, Packing, PlaneReader,
    StartOrder, code_for, first,
};
use compute::engine::fft::on_gpu::solve;
use compute::engine::fft::solve::Solve;
use compute::engine::on_gpu::Ghosts;
use cuda_driver::{Entry, Extents};
use kernels_gpu::wide2d::finished::{Parameters, spliced};
use problem::observe::PendingCopy;
use problem::{Dtype, Error, Region, Shape};

/// A GPU with the arrays of a system.
pub struct DeviceTarget {
    arrays: Vec<Memory>,
    look: PlaneReader,
    /// Whether kernels of this program run on it.
    carries: bool,
    solves: Vec<solve::DeviceSolve>,
    // Dropped after what was allocated on it.
    gpu: Rc<Gpu>,
}

/// Whether there is a GPU.
///
/// # Errors
/// There is no driver, or no GPU.
pub fn check() -> Result<(), Error> {
    first().map(|_| ())
}

impl DeviceTarget {
    /// The first GPU, with this PTX.
    ///
    /// # Errors
    /// There is no driver or no GPU, or the driver refuses.
    pub fn open(ptx: &str) -> Result<Self, Error> {
        Self::open_nth(0, ptx)
    }

    /// The GPU of this number, with this PTX beside the kernels that this program carries.
    ///
    /// # Errors
    /// As [`DeviceTarget::open_nth`]; no kernels of this program run on it.
    pub fn open_beside_carried(number: usize, ptx: &str) -> Result<Self, Error> {
        Ok(Self::on(Gpu::open_beside_carried(number, ptx)?))
    }

    /// The GPU of this number, with this PTX.
    ///
    /// # Errors
    /// As [`DeviceTarget::open`]; there is no GPU of this number.
    pub fn open_nth(number: usize, ptx: &str) -> Result<Self, Error> {
        Ok(Self::on(Gpu::open_with(number, ptx)?))
    }

    /// The first GPU, with this kernel and a sweep's, into which the system's instructions are put.
    ///
    /// # Errors
    /// As [`DeviceTarget::open`]; this program has no kernels for it.
    pub fn with_sweep(kernel: &GeneratedKernel, sweep: &FinishedSweep) -> Result<Self, Error> {
        let carried = Carried::new(code_for(first()?.compute_capability)?);
        let text = with_sweep(&carried, kernel, sweep);
        Ok(Self::on(Gpu::open_with(0, &text)?))
    }
}

impl DeviceTarget {
    fn on(gpu: Gpu) -> Self {
        let (arrays, look, solves) = (Vec::new(), PlaneReader::default(), Vec::new());
        let carries = code_for(gpu.info().compute_capability).is_ok();
        Self { arrays, look, carries, solves, gpu: Rc::new(gpu) }
    }

    /// The GPU.
    pub fn gpu(&self) -> &Rc<Gpu> {
        &self.gpu
    }
}

/// Arrays of a GPU with the rows of their boxes.
struct Arrays<'a> {
    memories: Vec<&'a Memory>,
    rows: &'a dyn Fn(Region) -> MemoryRows,
}

impl Packing for Arrays<'_> {
    fn rows_of(&self, array: usize, region: Region) -> (&Memory, MemoryRows) {
        (self.memories[array], (self.rows)(region))
    }
}

/// A kernel beside that of a sweep from the PTX that this program carries, with the system's instructions.
pub fn with_sweep(carried: &Carried, kernel: &GeneratedKernel, sweep: &FinishedSweep) -> String {
    let name = sweep.kernel.entry.name();
    let text = carried.kernel(name).expect("a kernel of this program");
    kernel.beside(&spliced(&text, |names| sweep.finish.of(name, names)), &sweep.finish)
}

impl LaunchTarget for DeviceTarget {
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error> {
        self.arrays.push(self.gpu.allocate(what, bytes)?);
        Ok(self.arrays.len() - 1)
    }

    fn address(&self, array: usize) -> u64 {
        self.arrays[array].address()
    }

    fn write(&mut self, array: usize, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
        self.gpu.wait()?;
        self.gpu.write(&self.arrays[array], rows, bytes)
    }

    fn read(&self, array: usize, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
        self.gpu.wait()?;
        self.gpu.read(&self.arrays[array], rows, bytes)
    }

    fn launch(
        &mut self,
        stage: usize,
        extents: Extents,
        addresses: [u64; MOST_ADDRESSES],
    ) -> Result<(), Error> {
        let call = call(stage, Addresses(addresses));
        self.gpu.launch(&Launch { call: &call, extents, order: StartOrder::After })
    }

    fn prepare_solve(&mut self, solve: &Solve, of: (Dtype, MemoryRows)) -> Result<usize, Error> {
        self.solves.push(solve::DeviceSolve::new(&*self.gpu, solve, of)?);
        Ok(self.solves.len() - 1)
    }

    fn solve(&mut self, number: usize, arrays: [usize; 2], rows: MemoryRows) -> Result<(), Error> {
        let arrays = arrays.map(|array| &self.arrays[array]);
        self.solves[number].launch(&*self.gpu, arrays, rows)
    }

    fn sweep(
        &mut self,
        entry: Entry<Parameters>,
        extents: Extents,
        parameters: Parameters,
    ) -> Result<(), Error> {
        let call = entry.with(parameters);
        self.gpu.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })
    }

    fn time_copies(
        &mut self,
        pair: [usize; 2],
        bytes: usize,
        count: usize,
    ) -> Result<Duration, Error> {
        let pair = pair.map(|array| &self.arrays[array]);
        let time = self.gpu.time(&mut || {
            let copy = |turn: usize| self.gpu.copy(pair[turn % 2], pair[1 - turn % 2], bytes);
            (0..count).try_for_each(copy)
        })?;
        Ok(time / count.max(1) as u32)
    }

    fn renew(
        &mut self,
        ghosts: &mut dyn Ghosts,
        arrays: &[usize],
        rows: &dyn Fn(Region) -> MemoryRows,
    ) -> Result<(), Error> {
        let memories = arrays.iter().map(|array| &self.arrays[*array]).collect();
        ghosts.renew(&*self.gpu, &Arrays { memories, rows })
    }

    fn capture(
        &mut self,
        array: usize,
        rows: MemoryRows,
        of: (Shape, Dtype),
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        self.look.capture_rows(&*self.gpu, (&self.arrays[array], rows), of)
    }

    fn room(&self, bytes: usize) -> Result<Option<Memory>, Error> {
        self.gpu.allocate("kept values", bytes).map(Some)
    }

    fn free_room(&self) -> Result<Option<u64>, Error> {
        self.gpu.free_bytes().map(Some)
    }

    fn pack(
        &mut self,
        array: usize,
        rows: MemoryRows,
        (to, start): (&Memory, usize),
    ) -> Result<(), Error> {
        self.gpu.copy_rows((&self.arrays[array], rows), (to, rows.packed(start)))
    }

    fn unpack(
        &mut self,
        array: usize,
        rows: MemoryRows,
        (from, start): (&Memory, usize),
    ) -> Result<(), Error> {
        self.gpu.copy_rows((from, rows.packed(start)), (&self.arrays[array], rows))
    }

    fn read_packed(&self, (from, start): (&Memory, usize), bytes: &mut [u8]) -> Result<(), Error> {
        self.gpu.wait()?;
        self.gpu.read(from, MemoryRows { start, ..MemoryRows::first(bytes.len()) }, bytes)
    }

    fn take(&mut self, from: ForeignMemory, array: usize, rows: MemoryRows) -> Result<bool, Error> {
        self.gpu.wait()?;
        self.gpu.take(from, &self.arrays[array], rows)?;
        Ok(true)
    }

    fn give(&mut self, array: usize, rows: MemoryRows, to: ForeignMemory) -> Result<bool, Error> {
        self.gpu.give(&self.arrays[array], rows, to)?;
        Ok(true)
    }

    fn knows_finite(&mut self, array: usize, dtype: Dtype) -> Result<bool, Error> {
        self.gpu.wait()?;
        if !self.carries {
            return Ok(false);
        }
        self.look.knows_finite_array(&*self.gpu, &self.arrays[array], dtype)
    }

    fn wait(&self) -> Result<(), Error> {
        self.gpu.wait()
    }

    fn describe(&self) -> String {
        let info = self.gpu.info();
        format!("{}, CUDA {}, kernel written for this system", info.name, info.driver_version)
    }
}
