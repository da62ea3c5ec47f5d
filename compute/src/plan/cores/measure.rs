// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures how fast the cores of this machine are, in less than a second: a short run of the engine for each element
//! type and for few and many neighbours, a copy, and a jump. The fastest of several samples counts, since other
//! programs can only slow them down.

use std::time::{Duration, Instant};

use transform::catalogue;

use super::Cores;
use crate::engine::cpu::{self, Cpu};
use crate::engine::fft::Fft;
use crate::engine::{Engine, SumSession};
use problem::values::Element;
use problem::{Boundary, Dtype, Error, Grid, Job, Shape, memory, with_dtype};

/// Samples of each measurement, at least, and the time in which more are taken.
const SAMPLES: usize = 3;
const TIME: Duration = Duration::from_millis(8);
/// Columns of the grid of a measurement, and rows for each thread: it stays in the caches.
const COLUMNS: usize = 512;
const ROWS: usize = 512;
/// Steps of a sample.
const STEPS: usize = 4;
/// Bytes of the array that is copied, for which no cache is large enough to hold it and its copy.
const COPIED: usize = 1 << 26;
/// Points on each axis of the grid of a jump, and its steps.
const JUMPED: usize = 512;
const JUMP: usize = 1000;

/// Measures all speeds.
///
/// # Errors
/// There is not enough memory.
pub fn measure() -> Result<Cores, Error> {
    let rows = ROWS * rayon::current_num_threads();
    let mut cores = Cores { source: String::new(), ..Cores::built_in() };
    for &dtype in Dtype::ALL {
        let of = |name| -> Result<f64, Error> {
            let job = job(name, [rows, COLUMNS], dtype, STEPS)?;
            let seconds = fastest(Cpu.prepare(&job)?.as_mut(), &job)? / STEPS as f64;
            Ok(seconds / cpu::counted(&job).cycles)
        };
        cores.cycle_s.insert(dtype.to_string(), [of("star2d1r")?, of("box2d3r")?]);
    }
    let smallest = job("star2d1r", [8, 8], Dtype::F32, 1)?;
    cores.pass_s = fastest(Cpu.prepare(&smallest)?.as_mut(), &smallest)?.max(1e-8);
    cores.copy_bytes_per_s = copy()?;
    let jump = job("star2d1r", [JUMPED; 2], Dtype::F64, JUMP)?;
    cores.jump = 1.0;
    cores.jump = fastest_jump(&jump)? / cores.jumped(&jump);
    Ok(cores)
}

/// A periodic job in 2D.
fn job(name: &str, extents: [usize; 2], dtype: Dtype, steps: usize) -> Result<Job, Error> {
    let stencil = catalogue::find(name).expect("it is built in");
    let boundary = Boundary::parse("periodic", 2)?;
    Ok(Job { boundary, ..Job::new(stencil, Shape::new(&extents)?, dtype, steps) })
}

/// A grid of a constant.
fn load(session: &mut dyn SumSession, job: &Job) -> Result<(), Error> {
    Grid::check_memory(job.shape, job.dtype)?;
    let points = job.shape.points();
    let values = with_dtype!(job.dtype, T => T::wrap(vec![T::from_f64(0.5); points]));
    session.load(&Grid { shape: job.shape, values })
}

/// Seconds of all steps of a job, after some that warm up.
fn fastest(session: &mut dyn SumSession, job: &Job) -> Result<f64, Error> {
    load(session, job)?;
    session.advance(job.steps)?;
    least(|| Ok(session.advance(job.steps)?.as_secs_f64()))
}

/// Seconds of all steps of a job by jumps, with the tables that they need.
fn fastest_jump(job: &Job) -> Result<f64, Error> {
    least(|| {
        let mut session = Fft.prepare(job)?;
        load(session.as_mut(), job)?;
        Ok(session.advance(job.steps)?.as_secs_f64())
    })
}

/// Bytes that a copy reads and writes in a second.
fn copy() -> Result<f64, Error> {
    memory::require("to measure a copy", 4 * COPIED as u128)?;
    let from = vec![1f64; COPIED / 8];
    let mut to = vec![2f64; COPIED / 8];
    let seconds = least(|| {
        let start = Instant::now();
        cpu::copy_parallel(&from, &mut to);
        Ok(start.elapsed().as_secs_f64())
    })?;
    Ok(2.0 * COPIED as f64 / seconds.max(1e-9))
}

/// The least of several samples.
fn least(mut sample: impl FnMut() -> Result<f64, Error>) -> Result<f64, Error> {
    let (start, mut least) = (Instant::now(), f64::INFINITY);
    let mut samples = 0;
    while samples < SAMPLES || start.elapsed() < TIME {
        least = least.min(sample()?);
        samples += 1;
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of this build, optimised or not.
    #[test]
    fn what_is_measured_is_whole() {
        let cores = measure().unwrap();
        assert!(cores.is_whole(), "{cores:?}");
    }
}
