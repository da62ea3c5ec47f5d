// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conformance cases of jumps on a GPU (`stencil::engine::fft::on_gpu`): random stencils on random grids at random
//! boundaries, in each element type and each number of dimensions, rim and all.

use crate::computations::{random_boundary, random_shape, random_stencil};
use crate::suite::{self, Difference};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::rc::Rc;
use stencil::check::verify;
use stencil::device::{Device, Emulator};
use stencil::engine::fft::on_gpu::{self, Abilities};
use stencil::plan::{self, RunTarget};
use stencil::problem::Jumped;
use stencil::{Arithmetic, Depth, Dtype, Error, Grid, Job};
use transform::machine::Machine;

/// Cases of each type and number of dimensions.
const CASES: usize = 3;

/// Points of a grid, which the emulator takes some tenths of a second for.
const MOST_POINTS: usize = 1 << 14;

/// Some jumps on a grid.
pub struct Case {
    /// What is computed.
    pub job: Job,
    /// Of the input's values and the emulator's order.
    pub seed: u64,
}

/// A result, and what rounding it did.
pub struct Points {
    grid: Grid,
    arithmetic: Arithmetic,
    jumped: Option<Jumped>,
}

/// What an H200 does besides: rims are stepped as there, wherever the cases run.
#[must_use]
pub fn abilities() -> Rc<Abilities> {
    Rc::new(plan::abilities(RunTarget::described(Machine::h200())))
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { job, seed } = self;
        let Job { stencil, shape, dtype, boundary, steps, jump, .. } = job;
        let (radii, sides) = (stencil.radii(), boundary.describe(shape.dims()));
        write!(
            f,
            "jumps of {jump}, radii {radii:?} on {shape} {dtype}, {sides}, {steps} steps, seed {seed}"
        )
    }
}

impl suite::TestCase for Case {
    type Points = Points;

    /// Several kernels together.
    fn kernel(&self) -> String {
        format!("spectral{}d_{}", self.job.shape.dims(), self.job.dtype)
    }

    fn points(&self) -> usize {
        self.job.shape.points()
    }

    /// The kernels of jumps do; what steps the rim of these cases may not.
    fn runs_on_sm_80(&self) -> bool {
        false
    }

    fn emulator(&self) -> Emulator {
        // A rim has few rows, which would be spread over all.
        Emulator::new().with_multiprocessors(4).with_seed(self.seed)
    }

    fn run(&self, device: &dyn Device) -> Result<Points, Error> {
        let mut session = on_gpu::session(device, &abilities(), &self.job)?;
        session.load(&Grid::random(self.job.shape, self.job.dtype, self.seed)?)?;
        session.advance(self.job.steps)?;
        let (arithmetic, jumped) = (session.arithmetic(), session.jumped());
        Ok(Points { grid: session.store()?, arithmetic, jumped })
    }

    fn compare(&self, got: &Points, emulated: &Points) -> Difference {
        let Self { job, seed } = self;
        let input = Grid::random(job.shape, job.dtype, *seed).expect("it was made before");
        let how = (got.arithmetic, got.jumped);
        let found = verify::whole(job, how, &input, &got.grid).expect("grids fit in memory");
        let bits = crate::families::bits;
        Difference::new(&bits(&got.grid), &bits(&emulated.grid), found.used())
    }
}

/// All of them.
///
/// # Panics
/// Never: jumps of one step are there for most.
#[must_use]
pub fn cases() -> Vec<Case> {
    let abilities = abilities();
    let mut random = ChaCha8Rng::seed_from_u64(13);
    let mut all: Vec<Case> = Vec::new();
    for dims in 1..=3 {
        for &dtype in Dtype::ALL {
            let before = all.len();
            while all.len() < before + CASES {
                let stencil = random_stencil(&mut random);
                let (shape, steps) =
                    (random_shape(&mut random, &stencil), random.random_range(1..=20));
                let boundary =
                    random_boundary(&mut random).map_constants(|value| dtype.round(value));
                let jump = match random.random_range(0..2) {
                    0 => Depth::Steps(random.random_range(1..=8)),
                    _ => Depth::Auto,
                };
                let seed = random.next_u64();
                if shape.dims() != dims || shape.points() > MOST_POINTS {
                    continue;
                }
                let job = Job { boundary, jump, ..Job::new(stencil, shape, dtype, steps) };
                if on_gpu::check(&abilities, &job).is_ok() {
                    all.push(Case { job, seed });
                }
            }
        }
    }
    all
}
