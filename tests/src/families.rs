// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conformance cases of every family in `stencil::families::FAMILIES`: its samples on random grids, at random
//! boundaries, by the launches that the planner would take, rim and all. A family that is added there is tested
//! here, and by `gpu-suite` on a GPU, without further ado.

use crate::computations::{random_boundary, random_shape};
use crate::suite::{self, Difference};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::check::{growth, verify};
use stencil::device::{Chip, Device, Emulator, Limits, Plane};
use stencil::families::{
    AdvanceLaunch, FAMILIES, Family, Fields, LaunchRequest, Proposal, Sample, refusal::Refusal,
};
use stencil::problem::Jumped;
use stencil::values::Element;
use stencil::{Boundary, Error, Grid, Job, with_values};

/// Cases of each sample: the first beside zeros, on a grid of several tiles if it has that many points.
pub const CASES: usize = 4;

/// Products of a case, of several launches or of a drawn grid: the emulator takes about half a second for them.
const MOST_PRODUCTS: usize = 300_000;

/// Points of a drawn grid, each row as long as a tile: a narrow grid takes the emulator as long as a wide one.
const MOST_POINTS: usize = 1 << 15;

/// Some launches of a family's kernel on a grid.
pub struct Case {
    /// What is computed; as many steps as the launches take.
    pub job: Job,
    /// By what.
    pub proposal: Proposal,
    /// Which of the cases of its sample it is.
    pub number: usize,
    /// Of the input's values and the emulator's order.
    pub seed: u64,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { job, proposal, seed, .. } = self;
        let Job { stencil, shape, dtype, boundary, steps, .. } = job;
        let Proposal { fuse, chain, kernel, .. } = proposal;
        let (radii, sides) = (stencil.radii(), boundary.describe(shape.dims()));
        write!(
            f,
            "{} ({fuse} fused, {chain} chained), radii {radii:?} on {shape} {dtype}, {sides}, {steps} steps, seed \
             {seed}",
            kernel.name
        )
    }
}

impl suite::TestCase for Case {
    type Points = Grid;

    fn kernel(&self) -> String {
        self.proposal.kernel.name.clone()
    }

    fn points(&self) -> usize {
        self.job.shape.points()
    }

    fn runs_on_sm_80(&self) -> bool {
        self.proposal.kernel.chip == Chip::Sm80
    }

    fn emulator(&self) -> Emulator {
        Emulator::new().with_seed(self.seed)
    }

    fn run(&self, device: &dyn Device) -> Result<Grid, Error> {
        let Self { job, proposal, seed, .. } = self;
        let parts = proposal.parts(device, job)?;
        let plane = || Plane::new(device, job.shape, job.dtype);
        let mut planes = [plane()?, plane()?];
        planes[1].poison(device)?;
        planes[0].upload(device, &Grid::random(job.shape, job.dtype, *seed)?)?;
        let launches = job.steps / proposal.steps();
        for turn in 0..launches {
            let fields = Fields::of_turn([&planes[0], &planes[1]], turn);
            for AdvanceLaunch { pass, region } in &parts {
                pass.launch(device, fields, *region)?;
            }
        }
        device.wait()?;
        let last = &planes[launches % 2];
        let output = last.download(device)?;
        suite::assert_holds(device, last, &output)?;
        Ok(output)
    }

    /// With the plain stencil in f64, and with the bits of the emulator.
    fn compare(&self, got: &Grid, emulated: &Grid) -> Difference {
        let Self { job, proposal, seed, .. } = self;
        let input = Grid::random(job.shape, job.dtype, *seed).expect("it was made before");
        let launches = job.steps / proposal.steps();
        let before = (Jumped::default(), growth::largest(&input));
        let rise = job.boundary.rise(job.stencil.radii()) * proposal.steps() as f64;
        let around = [job.boundary.largest(), rise];
        let jumped = proposal.spread(job).map(|spread| spread.after(before, around, launches).0);
        let found = verify::whole(job, (proposal.arithmetic(job), jumped), &input, got)
            .expect("grids fit in memory");
        Difference::new(&bits(got), &bits(emulated), found.used())
    }
}

/// Values as f64, of which not-a-numbers are all alike.
#[must_use]
pub fn bits(grid: &Grid) -> Vec<u64> {
    let of = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    with_values!(&grid.values, values => values.iter().map(|value| of(value.to_f64())).collect())
}

/// Cases of all families.
#[must_use]
pub fn cases() -> Vec<Case> {
    FAMILIES.iter().flat_map(|family| cases_of(*family)).collect()
}

/// Cases of one family.
///
/// # Panics
/// A sample is none: the family does not take it.
#[must_use]
pub fn cases_of(family: &'static dyn Family) -> Vec<Case> {
    let samples = family.samples().into_iter().zip(0..);
    samples.flat_map(|(sample, seed)| cases_of_sample(family, &sample, seed)).collect()
}

fn cases_of_sample(family: &'static dyn Family, sample: &Sample, seed: u64) -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut cases = Vec::new();
    let mut refused = 0;
    while cases.len() < CASES {
        let number = cases.len();
        let boundary = match number {
            0 => Boundary::default(),
            _ => random_boundary(&mut random),
        };
        let dtype = sample.dtype;
        let several_tiles = ["6000", "60x560", "9x30x130"];
        let shape = match number {
            0 => several_tiles[sample.stencil.dims() - 1].parse().expect("a size"),
            _ => random_shape(&mut random, &sample.stencil),
        };
        let products = shape.points() * sample.stencil.taps().len();
        let [nz, ny, nx] = shape.extents();
        let points = nz * ny * nx.next_multiple_of(512);
        if number > 0 && (products > MOST_PRODUCTS || points > MOST_POINTS) {
            continue;
        }
        let launches = random.random_range(1..=3).min(MOST_PRODUCTS / products).max(1);
        let steps = sample.fuse * sample.chain * launches;
        let boundary = boundary.map_constants(|value| dtype.round(value));
        let job = Job { boundary, ..Job::new(sample.stencil.clone(), shape, dtype, steps) };
        let fused =
            transform::fuse::fuse(&job.stencil, sample.fuse).expect("a sample that can be fused");
        let fused = dtype.round_weights(&fused);
        let Sample { fuse, chain, .. } = *sample;
        let asked = LaunchRequest { job: &job, fused: &fused, fuse, chain, limits: Limits::H200 };
        match Proposal::new(family, &asked) {
            Ok(proposal) => {
                let seed = random.next_u64();
                cases.push(Case { job, proposal, number, seed });
            }
            // Another grid, or boundary, may do.
            Err(Refusal::Grid(_) | Refusal::Boundary(_)) if refused < 100 => refused += 1,
            Err(refusal) => panic!("{family} does not take its sample {sample:?}: {refusal}"),
        }
    }
    cases
}
