// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on all cores of this machine: tiles in parallel, several time steps of each while it is in the
//! caches, vector registers within a tile.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use tiles::padded::{Padded, PaddedLayout};
use tiles::tiling::{self, Tiling};
use tiles::{Pass, TileBuffers};

use self::buffers::Buffers;
use super::{Engine, Input, Session, State, SumSession, Sweeps};
use crate::families::refusal::Refusal;
use problem::check::seams::Seams;
use problem::job::Depth;
use problem::region::Region;
use problem::values::Element;
use problem::{Arithmetic, Dtype, Error, Grid, Job, Shape, Values, with_dtype};

mod buffers;

pub use tiles::{Counted, Passes, caches, counted, halo, levels, padded};

/// All cores of this machine.
pub struct Cpu;

impl Engine for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn fuses(&self) -> bool {
        false
    }

    fn host_bytes(&self, job: &Job, input: Input) -> u128 {
        let tiling = Tiling::of_job(job);
        let (reach, bytes) = (job.stencil.radii(), job.dtype.bytes());
        let padded = padded::points(job.shape, tiling.margins(&job.boundary, reach));
        let room = TileBuffers::new(&job.boundary, job.shape.extents(), reach, &tiling, bytes);
        let between = room.values() * rayon::current_num_threads();
        (buffers::most(input) * padded + between as u128) * bytes as u128
    }

    fn sweeps(&self, job: &Job) -> Option<Sweeps> {
        check(job).ok()?;
        Sweeps::of(job)
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn SumSession>, Error> {
        check(job).map_err(|refusal| refusal.error(self.name()))?;
        Ok(with_dtype!(job.dtype, T => Box::new(CpuSession::<T>::new(job))))
    }
}

/// Checks that it does what a job asks for.
///
/// # Errors
/// [`Refusal::Family`], [`Refusal::Jump`], [`Refusal::Fuse`] or [`Refusal::Chain`].
pub fn check(job: &Job) -> Result<(), Refusal> {
    match (job.fuse, job.chain) {
        _ if job.kernel.is_some() => Err(Refusal::Family),
        _ if job.jump != Depth::Auto => Err(Refusal::Jump),
        (Depth::Steps(fuse), _) if fuse > 1 => {
            Err(Refusal::Fuse(format!("it takes one time step in a sum, not {fuse}")))
        }
        (_, Depth::Steps(chain)) if chain > tiling::MOST_STEPS => Err(Refusal::Chain(format!(
            "it takes up to {} steps of a tile at once, not {chain}",
            tiling::MOST_STEPS
        ))),
        (_, Depth::Steps(chain)) if chain > job.steps.max(1) => Err(Refusal::Chain(format!(
            "{chain} sweeps are asked for at once; this run has {} in total",
            job.steps
        ))),
        _ => Ok(()),
    }
}

struct CpuSession<T: Passes> {
    shape: Shape,
    dtype: Dtype,
    depth: usize,
    pass: Box<dyn Pass<T>>,
    buffers: Buffers<T>,
}

impl<T: Passes> CpuSession<T> {
    fn new(job: &Job) -> Self {
        let tiling = Tiling::of_job(job);
        let margins = tiling.margins(&job.boundary, job.stencil.radii());
        let layout = PaddedLayout::new(job.shape, margins, size_of::<T>());
        Self {
            shape: job.shape,
            dtype: job.dtype,
            depth: tiling.depth,
            pass: T::pass(&job.stencil, &job.boundary, job.dtype, layout, tiling),
            buffers: Buffers::new(layout),
        }
    }

    /// Takes so many steps, as many in each pass as it can.
    fn take(&mut self, steps: usize) {
        let mut left = steps;
        while left > 0 {
            let count = left.min(self.depth);
            let (from, to) = self.buffers.turn();
            self.pass.run(from, to, count);
            left -= count;
        }
    }
}

impl<T: Passes> Session for CpuSession<T> {
    fn device(&self) -> String {
        device()
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn launch(&self) -> usize {
        self.depth
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let values = T::unwrap(&input.values).expect("the input has the job's element type");
        let grid = self.buffers.load(values);
        self.pass.close(grid);
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
        self.buffers.reserve(self.sweeps(steps));
        let start = Instant::now();
        if self.pass.is_serial() {
            self.take(steps);
        } else {
            // On a thread of the pool, which hands out work faster than any other thread can.
            rayon::scope(|_| self.take(steps));
        }
        Ok(start.elapsed())
    }

    fn read(&mut self, _: usize, state: State, region: Region) -> Result<Values, Error> {
        Ok(T::wrap(self.buffers.get(state).get(region)))
    }

    fn write(&mut self, _: usize, region: Region, values: &Values) -> Result<(), Error> {
        let values = T::unwrap(values).expect("values of the job's element type");
        let grid = self.buffers.now();
        grid.put(region, values);
        self.pass.close(grid);
        Ok(())
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        Ok(time_copies(self.buffers.pair().map(Padded::any_values), count))
    }
}

impl<T: Passes> SumSession for CpuSession<T> {
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::on_cores(self.dtype)
    }

    fn seams(&self) -> Seams {
        self.pass.seams()
    }

    fn kernel(&self) -> Option<String> {
        Some(kernel())
    }

    fn chain(&self) -> usize {
        self.depth
    }

    fn sweeps(&self, steps: usize) -> usize {
        steps.div_ceil(self.depth)
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
        "Sse2" | "Sse4_2" => "SSE2".into(),
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

/// The mean time of so many copies, back and forth between two buffers of one length.
pub fn time_copies<T: Element>([first, second]: [&mut [T]; 2], count: usize) -> Duration {
    let start = Instant::now();
    for turn in 0..count {
        match turn % 2 {
            0 => copy_parallel(first, second),
            _ => copy_parallel(second, first),
        }
    }
    start.elapsed() / count.max(1) as u32
}

/// One contiguous piece for each thread, which is what the system's copy is fastest at.
pub(crate) fn copy_parallel<T: Element>(from: &[T], to: &mut [T]) {
    let piece = from.len().div_ceil(rayon::current_num_threads());
    let pieces = from.par_chunks(piece).zip(to.par_chunks_mut(piece));
    pieces.for_each(|(from, to)| to.copy_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    /// The memory of so many overflowed.
    #[test]
    fn more_steps_at_once_than_tiles_take_are_refused() {
        let stencil = catalogue::find("star3d1r").unwrap();
        let job = Job::new(stencil, "64x64x64".parse().unwrap(), Dtype::F64, 100_000_000);
        let job = Job { chain: Depth::Steps(100_000_000), ..job };
        let refused = check(&job).unwrap_err().to_string();
        assert_eq!(refused, "it takes up to 1024 steps of a tile at once, not 100000000");
        assert!(Cpu.host_bytes(&job, Input::Kept) > 0);
    }

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
