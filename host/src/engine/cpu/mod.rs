// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on all cores of this machine: tiles in parallel, vector registers within a tile.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use self::buffers::Buffers;
use self::halo::Halo;
use self::padded::{Layout, Padded};
use self::storage::Storage;
use self::sweep::Sweep;
use super::{Engine, Input, Session, State};
use crate::check::seams::Seams;
use crate::families::refusal::check_depths;
use crate::problem::region::Region;
use crate::{Arithmetic, Job};
use crate::{Dtype, Error, Grid, Shape, Values, with_dtype};

mod buffers;
mod halo;
mod padded;
pub mod speed;
mod storage;
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

    fn host_bytes(&self, job: &Job, input: Input) -> u128 {
        let padded = padded::points(job.shape, job.stencil.radii());
        buffers::most(input) * padded * job.dtype.bytes() as u128
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        check_depths(job).map_err(|refusal| refusal.error(self.name()))?;
        Ok(with_dtype!(job.dtype, T => Box::new(CpuSession::<T>::new(job))))
    }
}

struct CpuSession<T: Storage> {
    shape: Shape,
    dtype: Dtype,
    sweep: Sweep<T>,
    buffers: Buffers<T>,
}

impl<T: Storage> CpuSession<T> {
    fn new(job: &Job) -> Self {
        let layout = Layout::new(job.shape, job.stencil.radii(), size_of::<T>());
        let halo = (!job.boundary.is_zero()).then(|| Halo::new(&job.boundary, layout));
        Self {
            shape: job.shape,
            dtype: job.dtype,
            sweep: Sweep::new(&job.stencil, job.dtype, layout, halo),
            buffers: Buffers::new(layout),
        }
    }

    fn step(&mut self) {
        let (from, to) = self.buffers.turn();
        self.sweep.run(from, to);
    }
}

impl<T: Storage> Session for CpuSession<T> {
    fn device(&self) -> String {
        device()
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::on_cores(self.dtype)
    }

    fn seams(&self) -> Seams {
        self.sweep.seams()
    }

    fn kernel(&self) -> Option<String> {
        Some(kernel())
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let values = T::unwrap(&input.values).expect("the input has the job's element type");
        let grid = self.buffers.load(values);
        self.sweep.close(grid);
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
        if self.sweep.is_serial() {
            (0..steps).for_each(|_| self.step());
        } else {
            // On a thread of the pool, which hands out work faster than any other thread can.
            rayon::scope(|_| (0..steps).for_each(|_| self.step()));
        }
        Ok(start.elapsed())
    }

    fn read(&mut self, state: State, region: Region) -> Result<Values, Error> {
        Ok(T::wrap(self.buffers.get(state).get(region)))
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let [first, second] = self.buffers.pair().map(Padded::any_values);
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

/// The cores in words, such as `CPU, 2 threads`.
#[must_use]
pub fn device() -> String {
    match rayon::current_num_threads() {
        1 => "CPU, 1 thread".into(),
        threads => format!("CPU, {threads} threads"),
    }
}

/// The widest vector instructions that it finds, by the name that processors have for them.
#[must_use]
pub fn vectors() -> String {
    let level = format!("{:?}", fearless_simd::Level::new());
    match level.split(['(', ' ']).next().unwrap_or_default() {
        "Fallback" => "no".into(),
        "Sse4_2" => "SSE4.2".into(),
        "Avx2" => "AVX2".into(),
        "Avx512" => "AVX-512".into(),
        other => other.to_owned(),
    }
}

/// The name of its loops, such as `direct_avx2`: a sum over the neighbours of each point.
#[must_use]
pub fn kernel() -> String {
    let vectors = vectors().to_lowercase().replace(['-', '.'], "");
    format!("direct_{}", if vectors == "no" { "scalar" } else { &vectors })
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
    fn seams_lie_inside_the_grid() {
        let stencil = catalogue::find("star3d1r").unwrap();
        for dtype in [Dtype::F16, Dtype::F64] {
            let job = Job::new(stencil.clone(), "3x40x90000".parse().unwrap(), dtype, 1);
            let seams = Cpu.prepare(&job).unwrap().seams();
            // Rows of this length do not stay in the cache together.
            assert!(!seams.along(2).is_empty() && seams.along(2).iter().all(|&x| x < 90_000));
            assert!(seams.along(1).iter().all(|&y| (1..40).contains(&y)));
        }
    }
}
