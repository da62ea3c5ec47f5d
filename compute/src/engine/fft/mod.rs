// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine that takes any number of steps at once by Fourier transforms, on all cores of this machine
//! (`transform::spectral`). Where a torus imitates the boundary, a run is one jump; elsewhere jumps are limited, and
//! the points that the boundary reaches in one, the rim, are stepped.
//!
//! It computes in f64 with the weights as they were given, whatever the grid's element type: a jump rounds the grid
//! to it once, where stepping would after every step.

use std::time::{Duration, Instant};

use num_complex::Complex64;

use ::transform::spectral::power;

use self::jump::Jump;
use super::{Engine, Input, Session, State, SumSession, cpu};
use crate::families::refusal::Refusal;
use problem::region::Region;
use problem::values::Element;
use problem::{Arithmetic, Depth, Dtype, Error, Grid, Job, Jumped, Shape, Values, with_dtype};

mod blocks;
mod jump;
pub mod length;
pub mod on_gpu;
mod rim;
pub mod solve;
mod source;
pub mod torus;
pub mod transform;
pub mod value_bounds;

/// All cores of this machine.
pub struct Fft;

impl Engine for Fft {
    fn name(&self) -> &'static str {
        "fft"
    }

    fn fuses(&self) -> bool {
        false
    }

    fn chains(&self) -> bool {
        false
    }

    fn host_bytes(&self, job: &Job, input: Input) -> u128 {
        bytes(job, length::of(job), input)
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn SumSession>, Error> {
        check(job).map_err(|refusal| refusal.error(self.name()))?;
        Ok(with_dtype!(job.dtype, T => Box::new(FftSession::<T>::new(job))))
    }
}

/// Checks that it does what a job asks for.
///
/// # Errors
/// [`Refusal::Family`], [`Refusal::Fuse`], [`Refusal::Chain`], [`Refusal::Grid`] or [`Refusal::Boundary`].
pub fn check(job: &Job) -> Result<(), Refusal> {
    let longest = job.shape.extents().into_iter().max().unwrap_or(1);
    if job.kernel.is_some() {
        Err(Refusal::Family)
    } else if job.fuse != Depth::Auto {
        Err(Refusal::Fuse("it takes steps by Fourier transforms, not as a sum".into()))
    } else if job.chain != Depth::Auto {
        Err(Refusal::Chain("it takes steps by Fourier transforms, not in a chain".into()))
    } else if longest > LONGEST {
        Err(Refusal::Grid(format!("an axis of {} is longer than {LONGEST}", job.shape)))
    } else {
        Refusal::check_sides(job)
    }
}

/// Whether all of a job's boundary is imitated exactly, so that a jump can take any number of steps.
#[must_use]
pub fn is_exact(job: &Job) -> bool {
    torus::is_exact(job)
}

/// How far jumps of so many steps read on each axis (z, y, x), but for what fades: as deep the ghosts of parts are.
#[must_use]
pub fn reach(job: &Job, steps: usize) -> [usize; 3] {
    torus::reach(job, steps)
}

/// About how many seconds all steps of a job take on one core.
#[must_use]
pub fn seconds(job: &Job) -> f64 {
    let steps = length::of(job);
    length::seconds(job, steps) * job.steps.div_ceil(steps) as f64
}

/// The names of its passes by the type of the transforms: f64, which the CPU takes for all grids, and f32.
pub const KERNELS: [&str; 2] = ["torus_f64", "torus_f32"];

/// The longest axis.
const LONGEST: usize = 1 << 31;

/// Memory for jumps of so many steps: the grid, the input, rows and columns of each thread, the spectra, tables of waves
/// and images, what a source adds, and the rim before and after.
fn bytes(job: &Job, steps: usize, input: Input) -> u128 {
    let grid = job.shape.points() as u128 * job.dtype.bytes() as u128;
    let points = 8 * job.shape.points() as u128;
    let axes = torus::axes(job, steps);
    let spectra = transform::blocks(&axes, job.shape.dims()).bytes();
    // Of each thread a row, its spectrum and what its transform needs; and so many columns, twice.
    let threads = rayon::current_num_threads() as u128;
    let [z, y, x] = axes.each_ref().map(|axis| axis.length as u128);
    let rows = threads.min((axes[0].points * axes[1].points) as u128);
    let scratch = rows * 96 * x + threads * 32 * blocks::WIDTH as u128 * z.max(y);
    let rim = match torus::rim(job, &axes, torus::left_out(job, steps, f64::EPSILON / 2.0)) {
        torus::Rim::Whole => return 3 * grid + 5 * points,
        torus::Rim::Slabs(slabs) => {
            slabs.iter().map(|slab| 8 * 5 * slab.from.points() as u128).sum::<u128>()
        }
    };
    let source = if jump::has_source(job) { 3 * points } else { 0 };
    // A copy is measured with a grid of its own.
    let grids = if input == Input::Kept { 3 } else { 2 };
    let tables = power::bytes(&job.stencil, axes.each_ref().map(|axis| axis.length));
    let images: u128 = axes.iter().map(|axis| 8 * (axis.length - axis.points) as u128).sum();
    grids * grid + spectra + scratch + tables + images + source + rim
}

struct FftSession<T> {
    job: Job,
    /// Steps of a jump.
    length: usize,
    growth: f64,
    grid: Vec<T>,
    input: Option<Vec<T>>,
    spectra: Vec<Complex64>,
    jump: Option<Jump>,
    jumped: Jumped,
}

impl<T: Element> FftSession<T> {
    fn new(job: &Job) -> Self {
        let (job, length, growth) = (job.clone(), length::of(job), jump::growth(job));
        let (grid, spectra, jumped) = (Vec::new(), Vec::new(), Jumped::default());
        Self { job, length, growth, grid, input: None, spectra, jump: None, jumped }
    }

    /// Takes so many steps at once.
    fn jump(&mut self, steps: usize) -> Result<(), Error> {
        let Self { job, growth, grid, spectra, jump, jumped, .. } = self;
        if jump.as_ref().is_none_or(|jump| jump.steps() != steps) {
            // What the last one held is not needed any more.
            *jump = None;
            *jump = Some(Jump::new(job, steps, *growth, spectra));
        }
        let error = jump.as_ref().expect("made above").make(grid, spectra)?;
        jumped.count += 1;
        let carried = growth.powf(steps as f64).max(1.0) * jumped.error;
        // Without an error before there is nothing that grows.
        jumped.error = if jumped.error == 0.0 { error } else { carried + error };
        Ok(())
    }
}

impl<T: Element> Session for FftSession<T> {
    fn device(&self) -> String {
        cpu::device()
    }

    fn shape(&self) -> Shape {
        self.job.shape
    }

    fn dtype(&self) -> Dtype {
        self.job.dtype
    }

    fn launch(&self) -> usize {
        self.length
    }

    fn jumped(&self) -> Option<Jumped> {
        Some(self.jumped)
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let values = T::unwrap(&input.values).expect("the input has the job's element type");
        self.grid = values.to_vec();
        self.input = Some(values.to_vec());
        self.jumped = Jumped::default();
        Ok(())
    }

    fn drop_input(&mut self) {
        self.input = None;
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.grid.copy_from_slice(self.input.as_ref().expect("the input was kept"));
        self.jumped = Jumped::default();
        Ok(())
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        let mut left = steps;
        while left > 0 {
            let count = left.min(self.length);
            FftSession::jump(self, count)?;
            left -= count;
        }
        Ok(start.elapsed())
    }

    fn read(&mut self, _: usize, state: State, region: Region) -> Result<Values, Error> {
        let grid = match state {
            State::Now => &self.grid,
            State::Loaded => self.input.as_ref().expect("the input was kept"),
        };
        Ok(T::wrap(region.of(grid, self.job.shape)))
    }

    fn write(&mut self, _: usize, region: Region, values: &Values) -> Result<(), Error> {
        let values = T::unwrap(values).expect("values of the job's element type");
        let columns = region.extents()[2];
        for (row, values) in values.chunks(columns).enumerate() {
            self.grid[region.row_in(row, self.job.shape)..][..columns].copy_from_slice(values);
        }
        Ok(())
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let mut other = self.grid.clone();
        Ok(cpu::time_copies([&mut self.grid, &mut other], count))
    }
}

impl<T: Element> SumSession for FftSession<T> {
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::spectral(self.job.dtype)
    }

    fn kernel(&self) -> Option<String> {
        Some(KERNELS[0].into())
    }

    fn jump(&self) -> Option<problem::JumpReport> {
        Some(describe(&self.job, self.length))
    }

    fn sweeps(&self, steps: usize) -> usize {
        steps.div_ceil(self.length)
    }
}

/// Jumps of so many steps in numbers.
fn describe(job: &Job, steps: usize) -> problem::JumpReport {
    let axes = torus::axes(job, steps);
    let lengths: Vec<usize> = axes.iter().map(|axis| axis.length).collect();
    let rim = match torus::rim(job, &axes, torus::left_out(job, steps, f64::EPSILON / 2.0)) {
        torus::Rim::Whole => job.shape.points(),
        torus::Rim::Slabs(slabs) => {
            let regions: Vec<Region> = slabs.iter().map(|slab| slab.points).collect();
            problem::region::distinct_points(&regions)
        }
    };
    let toruses = vec![lengths[3 - job.shape.dims()..].to_vec()];
    problem::JumpReport { steps, toruses, rim, growth: None }
}
