// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that is read and executed instruction by instruction instead of launched.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use cuda_driver::{Entry, Extents};
use kernels_gpu::wide2d::finished::Parameters;
use ptx_sim::{Memory, Program};

use super::kernel::GeneratedKernel;
use super::target::LaunchTarget;
use crate::checked::System;
use compute::device::generated::{MOST_ADDRESSES, TOTALS};
use compute::device::{Memory as DeviceMemory, MemoryRows};
use compute::engine::fft::solve::{Solve, Solver};
use problem::values::Element;
use problem::{Dtype, Error, memory, with_dtype};

/// The most points: of the built-in systems a step of so many takes some ten seconds.
const MOST_POINTS: usize = 1 << 18;

/// A kernel, with those of the stages that follow, and its arrays.
pub struct Emulated {
    stages: Vec<Stage>,
    totals: Option<Stage>,
    solvers: Vec<(Solver, Dtype)>,
    memory: Memory,
}

/// The kernel of a stage.
struct Stage {
    program: Program,
    /// How many addresses are of arrays that are read, and how many of those that are written.
    read: usize,
    written: usize,
    /// Parameters of a system.
    parameters: usize,
}

/// Makes sure that a system is not too large to be emulated.
///
/// # Errors
/// [`Error::Unsupported`] with the largest size.
pub fn check(system: &System) -> Result<(), Error> {
    if system.shape.points() <= MOST_POINTS {
        return Ok(());
    }
    let reason = format!(
        "a grid of {} has {} points; of a system it emulates at most {MOST_POINTS}, which takes some seconds a step",
        system.shape,
        system.shape.points()
    );
    Err(Error::Unsupported { engine: ENGINE, reason })
}

/// The engine's name.
pub const ENGINE: &str = "emulate";

impl Emulated {
    /// A kernel without arrays.
    pub fn new(kernel: &GeneratedKernel) -> Self {
        let stage = |kernel: &GeneratedKernel| Stage {
            program: Program::read(&kernel.text),
            read: kernel.arrays.len(),
            written: kernel.written.len(),
            parameters: kernel.parameters,
        };
        let stages: Vec<Stage> = [kernel].into_iter().chain(&kernel.after).map(stage).collect();
        let totals = kernel.totals.as_ref().map(|it| stage(&it.kernel));
        let all = stages.iter().chain(&totals).map(|it| &it.program);
        // Constants are those of all kernels that have some.
        let longest = all.max_by_key(|it| it.constants()).expect("a kernel");
        let memory = Memory::new(longest, Vec::new());
        Self { stages, totals, solvers: Vec::new(), memory }
    }

    /// Runs all blocks of a launch, which is given these addresses; or that of a table, with the addresses of each system
    /// after those of the one before.
    fn run(
        &mut self,
        stage: usize,
        extents: Extents,
        table: Option<u64>,
        addresses: &[u64],
    ) -> Result<(), Error> {
        let of_stage = if stage == TOTALS { self.totals.as_ref() } else { self.stages.get(stage) };
        let Stage { program, read, written, parameters } =
            of_stage.expect("a kernel that was written");
        // After them come the records of receivers.
        let addresses = if table.is_some() { addresses } else { &addresses[..*parameters] };
        let given = table.as_ref().map_or(addresses, std::slice::from_ref);
        let rows = addresses.chunks_exact(*parameters);
        let written = rows.flat_map(|row| &row[*read..read + written + 1]);
        self.memory.begin(written.map(|address| Memory::split(*address).0));
        for block in 0..extents.blocks {
            self.memory.begin_block(extents.shared_bytes);
            let place = [block, extents.threads];
            program.run_block(&mut self.memory, given, place)?;
        }
        self.memory.end();
        Ok(())
    }

    /// The bytes of all arrays.
    #[cfg(test)]
    pub fn arrays(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.memory.arrays()).map(|array| self.memory.bytes(array))
    }
}

/// The bytes of what [`Emulated`] gave as room.
fn room(memory: &DeviceMemory) -> &RefCell<Vec<u8>> {
    memory.owner().expect("it was given by an emulator")
}

impl LaunchTarget for Emulated {
    fn allocate(&mut self, _: &'static str, bytes: usize) -> Result<usize, Error> {
        Ok(self.memory.allocate(bytes))
    }

    fn address(&self, array: usize) -> u64 {
        Memory::address(array)
    }

    fn write(&mut self, array: usize, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
        let to = self.memory.bytes_mut(array);
        for (start, row) in rows.starts().zip(bytes.chunks(rows.width.max(1))) {
            to[start..start + row.len()].copy_from_slice(row);
        }
        Ok(())
    }

    fn read(&self, array: usize, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
        let from = self.memory.bytes(array);
        for (start, row) in rows.starts().zip(bytes.chunks_mut(rows.width.max(1))) {
            row.copy_from_slice(&from[start..start + row.len()]);
        }
        Ok(())
    }

    fn launch(
        &mut self,
        stage: usize,
        extents: Extents,
        addresses: [u64; MOST_ADDRESSES],
    ) -> Result<(), Error> {
        self.run(stage, extents, None, &addresses)
    }

    fn launch_beside(
        &mut self,
        stage: usize,
        extents: Extents,
        table: u64,
        rows: &[u64],
    ) -> Result<(), Error> {
        self.run(stage, extents, Some(table), rows)
    }

    /// By the transforms of the CPU: those of a GPU are emulated by themselves (`compute::engine::fft::on_gpu::solve`).
    fn prepare_solve(
        &mut self,
        solve: &Solve,
        (dtype, _): (Dtype, MemoryRows),
    ) -> Result<usize, Error> {
        let unsupported = |reason| Error::Unsupported { engine: ENGINE, reason };
        self.solvers.push((Solver::new(solve).map_err(unsupported)?, dtype));
        Ok(self.solvers.len() - 1)
    }

    fn transforms(&self, _: Dtype) -> Dtype {
        Dtype::F64
    }

    fn solve(
        &mut self,
        number: usize,
        [right, solution]: [usize; 2],
        rows: MemoryRows,
    ) -> Result<(), Error> {
        let (solver, dtype) = &self.solvers[number];
        let count = rows.planes * rows.rows;
        with_dtype!(*dtype, E => {
            let nx = rows.width / size_of::<E>();
            let mut values = vec![E::default(); count * nx];
            self.read(right, rows, bytemuck::cast_slice_mut(&mut values))?;
            let values: Vec<f64> = values.iter().map(|value| Element::to_f64(*value)).collect();
            let solved = solver.solution(&values);
            let solved: Vec<E> = solved.into_iter().map(E::from_f64).collect();
            self.write(solution, rows, bytemuck::cast_slice(&solved))
        })
    }

    fn sweep(&mut self, _: Entry<Parameters>, _: Extents, _: Parameters) -> Result<(), Error> {
        unreachable!("only kernels without sweeps are emulated")
    }

    fn time_copies(
        &mut self,
        pair: [usize; 2],
        bytes: usize,
        count: usize,
    ) -> Result<Duration, Error> {
        let start = Instant::now();
        for turn in 0..count {
            let copy = self.memory.bytes(pair[turn % 2])[..bytes].to_vec();
            self.memory.bytes_mut(pair[1 - turn % 2])[..bytes].copy_from_slice(&copy);
        }
        Ok(start.elapsed() / count.max(1) as u32)
    }

    /// Bytes of this machine, as a device has them of its own.
    fn room(&self, bytes: usize) -> Result<Option<DeviceMemory>, Error> {
        Ok(Some(DeviceMemory::new(0, bytes, RefCell::new(vec![0u8; bytes]))))
    }

    fn free_room(&self) -> Result<Option<u64>, Error> {
        Ok(Some(memory::free().0))
    }

    fn pack(
        &mut self,
        array: usize,
        rows: MemoryRows,
        (to, start): (&DeviceMemory, usize),
    ) -> Result<(), Error> {
        let end = start + rows.planes * rows.plane_bytes();
        self.read(array, rows, &mut room(to).borrow_mut()[start..end])
    }

    fn unpack(
        &mut self,
        array: usize,
        rows: MemoryRows,
        (from, start): (&DeviceMemory, usize),
    ) -> Result<(), Error> {
        let end = start + rows.planes * rows.plane_bytes();
        self.write(array, rows, &room(from).borrow()[start..end])
    }

    fn read_packed(
        &self,
        (from, start): (&DeviceMemory, usize),
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        bytes.copy_from_slice(&room(from).borrow()[start..][..bytes.len()]);
        Ok(())
    }

    fn wait(&self) -> Result<(), Error> {
        Ok(())
    }

    fn describe(&self) -> String {
        "PTX as an H200 would get it, executed on the CPU, every access checked".into()
    }

    fn engine(&self) -> Option<&'static str> {
        Some(ENGINE)
    }
}
