// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on all cores of this machine: tiles in parallel, vector registers within a tile.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use self::padded::Padded;
use self::sweep::{Storage, Sweep};
use super::{Engine, Job, Session};
use crate::{Boundary, Dtype, Error, Grid, Shape, memory, with_dtype};

mod padded;
mod sweep;

/// The input, and two buffers that take turns as the result.
const BUFFERS: u128 = 3;

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
        if let Some(reason) = super::reject_depths(self.name(), job) {
            return Some(reason);
        }
        let padded = padded::points(job.shape, job.stencil.radii());
        let what = format!("the cpu engine on {} {} values", job.shape, job.dtype);
        memory::require(&what, BUFFERS * padded * job.dtype.bytes() as u128).err()
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        if let Some(reason) = self.reject(job) {
            return Err(reason);
        }
        Ok(with_dtype!(job.dtype, T => Box::new(CpuSession::<T>::new(job))))
    }
}

/// Which buffer holds the current grid.
#[derive(Clone, Copy, PartialEq)]
enum Current {
    Input,
    First,
    Second,
}

struct CpuSession<T: Storage> {
    shape: Shape,
    dtype: Dtype,
    /// What lies around the grid; nothing to be done if that is zeros.
    boundary: Option<Boundary>,
    sweep: Sweep<T>,
    input: Padded<T>,
    first: Padded<T>,
    second: Padded<T>,
    current: Current,
}

impl<T: Storage> CpuSession<T> {
    fn new(job: &Job) -> Self {
        let buffer = || Padded::new(job.shape, job.stencil.radii(), T::TILE_COLUMNS);
        Self {
            shape: job.shape,
            dtype: job.dtype,
            boundary: (!job.boundary.is_zero()).then_some(job.boundary),
            sweep: Sweep::new(&job.stencil, job.dtype),
            input: buffer(),
            first: buffer(),
            second: buffer(),
            current: Current::Input,
        }
    }

    fn step(&mut self) {
        let (from, to, next) = match self.current {
            Current::Input => (&mut self.input, &mut self.first, Current::First),
            Current::First => (&mut self.first, &mut self.second, Current::Second),
            Current::Second => (&mut self.second, &mut self.first, Current::First),
        };
        if let Some(boundary) = &self.boundary {
            from.surround(boundary);
        }
        self.sweep.run(from, to);
        self.current = next;
    }
}

impl<T: Storage> Session for CpuSession<T> {
    fn device(&self) -> String {
        match rayon::current_num_threads() {
            1 => "CPU, 1 thread".into(),
            threads => format!("CPU, {threads} threads"),
        }
    }

    fn arithmetic(&self) -> &'static str {
        match self.dtype {
            Dtype::F16 => "f16 storage, f16 products, f32 sums",
            Dtype::Bf16 => "bf16 storage, bf16 products, f32 sums",
            Dtype::Tf32 => "f32 storage, f32 products of tf32 weights, f32 sums",
            Dtype::F32 => "f32 storage, f32 products, f32 sums",
            Dtype::F64 => "f64 storage, f64 products, f64 sums",
        }
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let values = T::unwrap(&input.values).expect("the input has the job's element type");
        self.input.set(values);
        self.first.fill(T::from_f64(f64::NAN));
        self.second.fill(T::from_f64(f64::NAN));
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.current = Current::Input;
        Ok(())
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        for _ in 0..steps {
            self.step();
        }
        Ok(start.elapsed())
    }

    fn store(&mut self) -> Result<Grid, Error> {
        Grid::check_memory(self.shape, self.dtype)?;
        let current = match self.current {
            Current::Input => &self.input,
            Current::First => &self.first,
            Current::Second => &self.second,
        };
        Ok(Grid { shape: self.shape, values: T::wrap(current.get()) })
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let points = self.shape.points();
        let (first, second) = (&mut self.first.values[..points], &mut self.second.values[..points]);
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
