// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on all cores of this machine: tiles in parallel, vector registers within a tile.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use self::buffers::Buffers;
use self::padded::TILE_ROWS;
use self::sweep::{Storage, Sweep};
use super::{Arithmetic, Engine, Input, Job, Session, State};
use crate::region::Region;
use crate::seams::Seams;
use crate::{Boundary, Dtype, Error, Grid, Shape, Values, with_dtype};

mod buffers;
mod padded;
mod sweep;

/// All cores of this machine.
pub struct Cpu;

impl Engine for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn takes_single_steps(&self) -> bool {
        true
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        super::reject_depths(self.name(), job)
    }

    fn host_bytes(&self, job: &Job, input: Input) -> u128 {
        let padded = padded::points(job.shape, job.stencil.radii());
        buffers::most(input) * padded * job.dtype.bytes() as u128
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        if let Some(reason) = self.reject(job) {
            return Err(reason);
        }
        Ok(with_dtype!(job.dtype, T => Box::new(CpuSession::<T>::new(job))))
    }
}

struct CpuSession<T: Storage> {
    shape: Shape,
    dtype: Dtype,
    /// What lies around the grid; nothing to be done if that is zeros.
    boundary: Option<Boundary>,
    sweep: Sweep<T>,
    buffers: Buffers<T>,
}

impl<T: Storage> CpuSession<T> {
    fn new(job: &Job) -> Self {
        Self {
            shape: job.shape,
            dtype: job.dtype,
            boundary: (!job.boundary.is_zero()).then_some(job.boundary),
            sweep: Sweep::new(&job.stencil, job.dtype),
            buffers: Buffers::new(job.shape, job.stencil.radii(), T::TILE_COLUMNS),
        }
    }

    fn step(&mut self) {
        let (from, to) = self.buffers.turn();
        if let Some(boundary) = &self.boundary {
            from.surround(boundary);
        }
        self.sweep.run(from, to);
    }
}

impl<T: Storage> Session for CpuSession<T> {
    fn device(&self) -> String {
        match rayon::current_num_threads() {
            1 => "CPU, 1 thread".into(),
            threads => format!("CPU, {threads} threads"),
        }
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::on_cores(self.dtype)
    }

    fn seams(&self) -> Seams {
        let [nz, ny, nx] = self.shape.extents();
        let planes = Seams::none().every(0, 1, nz);
        planes.every(1, TILE_ROWS, ny).every(2, T::TILE_COLUMNS, nx)
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let values = T::unwrap(&input.values).expect("the input has the job's element type");
        self.buffers.load(values);
        Ok(())
    }

    fn drop_input(&mut self) {
        self.buffers.drop_input();
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.buffers.restart();
        Ok(())
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        self.buffers.reserve(steps);
        let start = Instant::now();
        for _ in 0..steps {
            self.step();
        }
        Ok(start.elapsed())
    }

    fn read(&mut self, state: State, region: Region) -> Result<Values, Error> {
        Ok(T::wrap(self.buffers.get(state).get(region)))
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let points = self.shape.points();
        let [first, second] = self.buffers.pair().map(|buffer| &mut buffer.values[..points]);
        let start = Instant::now();
        for turn in 0..count {
            if turn % 2 == 0 {
                copy_parallel(first, second);
            } else {
                copy_parallel(second, first);
            }
        }
        Ok(start.elapsed() / count as u32)
    }
}

/// One contiguous piece for each thread, which is what the system's copy is fastest at.
fn copy_parallel<T: Storage>(from: &[T], to: &mut [T]) {
    let piece = from.len().div_ceil(rayon::current_num_threads());
    let pieces = from.par_chunks(piece).zip(to.par_chunks_mut(piece));
    pieces.for_each(|(from, to)| to.copy_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    #[test]
    fn tiles_meet_at_their_rows_and_columns() {
        let stencil = catalogue::find("star3d1r").unwrap();
        for (dtype, columns) in [(Dtype::F16, 1024), (Dtype::F64, 4096)] {
            let job = Job::new(stencil.clone(), "3x40x9000".parse().unwrap(), dtype, 1);
            let seams = Cpu.prepare(&job).unwrap().seams();
            assert_eq!((seams.along(0), seams.along(1)), (&[1, 2][..], &[16, 32][..]));
            let last = 8999 / columns * columns;
            assert_eq!((seams.along(2)[0], seams.along(2).last()), (columns, Some(&last)));
        }
    }
}
