// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on all cores of this machine: tiles in parallel, vector registers within a tile.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use self::halo::Halo;
use self::padded::{Layout, Padded};
use self::storage::Storage;
use self::sweep::Sweep;
use super::{Engine, Job, Session};
use crate::{Dtype, Error, Grid, Shape, memory, with_dtype};

mod halo;
mod padded;
mod row;
mod storage;
mod sweep;

/// The input, and two buffers that take turns as the result.
const BUFFERS: u128 = 3;

/// All cores of this machine.
pub struct Cpu;

impl Engine for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
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
    sweep: Sweep<T>,
    input: Padded<T>,
    first: Padded<T>,
    second: Padded<T>,
    current: Current,
}

impl<T: Storage> CpuSession<T> {
    fn new(job: &Job) -> Self {
        let layout = Layout::new(job.shape, job.stencil.radii(), size_of::<T>());
        let halo = (!job.boundary.is_zero()).then(|| Halo::new(&job.boundary, layout));
        Self {
            shape: job.shape,
            dtype: job.dtype,
            sweep: Sweep::new(&job.stencil, job.dtype, layout, halo),
            input: Padded::new(layout),
            first: Padded::new(layout),
            second: Padded::new(layout),
            current: Current::Input,
        }
    }

    fn step(&mut self) {
        let (from, to, next) = match self.current {
            Current::Input => (&self.input, &mut self.first, Current::First),
            Current::First => (&self.first, &mut self.second, Current::Second),
            Current::Second => (&self.second, &mut self.first, Current::First),
        };
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
        self.sweep.close(&mut self.input);
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
        if self.sweep.is_serial() {
            (0..steps).for_each(|_| self.step());
        } else {
            // On a thread of the pool, which hands out work faster than any other thread can.
            rayon::scope(|_| (0..steps).for_each(|_| self.step()));
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
        let (first, second) = (self.first.any_values(), self.second.any_values());
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
