// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temporal blocking in the emulator: mistakes in how its launches and its threads wait, and in what lies beyond the grid
//! between its steps, are caught. That it computes what it should is tested with the other families; here also in 1D, where
//! warps take several pieces of a line, on grids that pieces just fit.

use kernels_gpu::fault::{self, Fault};
use kernels_gpu::temporal::line::{KERNELS, Kernel};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stencil::check::verify::{self, Verify};
use stencil::device::{Device as _, Emulator, Plane};
use stencil::engine::EngineRequest;
use stencil::families::temporal1d::{STEPS, Temporal};
use stencil::families::{Fields, Pass as _, Unit};
use stencil::problem::region::Region;
use stencil::run::{Request, run};
use stencil::{Depth, Dtype, Error, Grid, Job, Shape};
use tests::computations::random_boundary;
use tests::draw;
use tests::tier::one_in;
use transform::catalogue;

/// A launch: stencil, type, grid and steps.
type Launch = (&'static str, Dtype, &'static [usize], usize);

/// Whether its results are those of the plain stencil, at every point.
fn launch((name, dtype, extents, chain): Launch) -> Result<bool, Error> {
    let shape = Shape::new(extents).unwrap();
    let family = ["temporal1d", "temporal2d", "temporal3d"][extents.len() - 1];
    let stencil = catalogue::find(name).unwrap();
    let job = Job {
        kernel: Some(family),
        fuse: Depth::Steps(1),
        chain: Depth::Steps(chain),
        ..Job::new(stencil, shape, dtype, chain)
    };
    let input = Grid::random(shape, dtype, 1).unwrap();
    let (engine, verify) = (EngineRequest::Emulate, Some(Verify::Full));
    let (_, report) = run(&Request { job, input, engine, verify })?;
    Ok(report.verification.passed == Some(true))
}

/// A launch whose rows the copy engine stores.
const BY_ENGINE: Launch = ("star2d1r", Dtype::F64, &[60, 560], 8);

/// Some of 1D, and one of each form in 2D and in 3D.
const LAUNCHES: [Launch; 8] = [
    ("star1d1r", Dtype::F64, &[700], 32),
    ("star1d3r", Dtype::F16, &[1300], 8),
    ("star2d1r", Dtype::F64, &[70, 240], 4),
    ("box2d1r", Dtype::F32, &[60, 248], 8),
    ("star2d3r", Dtype::F32, &[40, 248], 3),
    ("star3d1r", Dtype::F64, &[12, 32, 64], 4),
    ("star3d1r", Dtype::F32, &[12, 40, 128], 4),
    ("box3d1r", Dtype::F64, &[12, 40, 64], 3),
];

fn with(
    planted: Fault,
    launches: impl IntoIterator<Item = Launch>,
    expected: impl Fn(&Result<bool, Error>) -> bool,
) {
    for one in launches {
        let found = fault::with(planted, || launch(one));
        assert!(expected(&found), "{planted:?} in {one:?}: {found:?}");
    }
}

/// A launch of a 1D kernel by so few blocks that warps take several pieces.
#[derive(Clone, Copy, Debug)]
struct Line {
    kernel: &'static Kernel,
    steps: usize,
    nx: usize,
    blocks: u32,
    seed: u64,
}

impl Line {
    /// Whether its results are those of the plain stencil, at every point.
    fn run(self) -> Result<bool, Error> {
        let Self { kernel, steps, nx, blocks, seed } = self;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let dtype: Dtype = kernel.element.parse().unwrap();
        let stencil = draw::stencil(&mut random, 1, [0, 0, kernel.radius]);
        let stencil = dtype.round_weights(&stencil);
        let (shape, device) = (Shape::new(&[nx]).unwrap(), &Emulator::new().with_seed(seed));
        let pass = Temporal::new(device, kernel, &stencil, steps, nx as u32)?;
        let mut planes = [Plane::new(device, shape, dtype)?, Plane::new(device, shape, dtype)?];
        let input = Grid::random(shape, dtype, seed).unwrap();
        planes[0].upload(device, &input)?;
        planes[1].poison(device)?;
        let fields = Fields { before: &planes[0], after: &planes[1] };
        pass.with_resident(blocks).launch(device, fields, Region::whole(shape))?;
        device.wait()?;
        let output = planes[1].download(device)?;
        let job = Job::new(stencil, shape, dtype, steps);
        let arithmetic = Unit::CudaCores.arithmetic(dtype, 1);
        Ok(verify::whole(&job, (arithmetic, None), &input, &output)?.used() <= 1.0)
    }
}

#[test]
fn warps_take_pieces_of_a_line_one_after_the_other() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for kernel in KERNELS {
        let width = kernel.width() as usize;
        let least = kernel.least_columns() as usize;
        let around = |size: usize, random: &mut ChaCha8Rng| size + random.random_range(0..5) - 2;
        let steps = random.random_range(1..=kernel.most_steps());
        let sizes = [
            (least, steps),
            (around(width, &mut random), kernel.most_steps()),
            (around(2 * width, &mut random), random.random_range(1..=steps)),
            (random.random_range(least..7 * width), random.random_range(1..5)),
        ];
        for (nx, steps) in sizes {
            let (blocks, seed) = (random.random_range(1..3), random.next_u64());
            let line = Line { kernel, steps, nx, blocks, seed };
            assert!(line.run().unwrap(), "{line:?}");
        }
    }
}

#[test]
fn lines_of_any_size_have_any_boundary() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let (mut taken, mut short) = (0, 0);
    for number in (0..40).step_by(one_in(9)) {
        let dtype = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16][number % 4];
        let radius = number / 4 % 5;
        let width = 2560 / dtype.bytes();
        let nx = match number % 7 {
            0 => [1, 2, 13, 61][number % 4],
            1 => [509, 1021, 1289, 2039][number % 4],
            2 => width + random.random_range(0..3) - 1,
            3 => 2 * width + random.random_range(0..3) - 1,
            _ => random.random_range(1..3000),
        };
        let most = 64 / radius.max(1);
        let chain = STEPS[random.random_range(0..STEPS.iter().filter(|one| **one <= most).count())];
        let stencil = draw::stencil(&mut random, 1, [0, 0, radius]);
        let shape = Shape::new(&[nx]).unwrap();
        let boundary = random_boundary(&mut random).map_constants(|value| dtype.round(value));
        let steps = chain * random.random_range(1..3) + random.random_range(0..2);
        let job = Job {
            kernel: Some("temporal1d"),
            fuse: Depth::Steps(1),
            chain: Depth::Steps(chain),
            boundary,
            ..Job::new(stencil, shape, dtype, steps)
        };
        let input = Grid::random(shape, dtype, number as u64).unwrap();
        let (engine, verify) = (EngineRequest::Emulate, Some(Verify::Full));
        let what = format!("radius {radius}, {nx} {dtype}, {chain} of {steps}, {:?}", job.boundary);
        match run(&Request { job, input, engine, verify }) {
            Ok((_, report)) => {
                assert_eq!(report.verification.passed, Some(true), "{what}");
                taken += 1;
            }
            Err(Error::Unsupported { reason, .. })
                if reason.contains("takes grids of at least") =>
            {
                assert!(nx < width, "{what}: {reason}");
                short += 1;
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    let some = one_in(9);
    assert!(taken > 20 / some && short > 3 / some, "{taken} taken, {short} too short");
}

#[test]
fn without_a_mistake_nothing_is_reported() {
    for one in LAUNCHES.into_iter().chain([BY_ENGINE]) {
        assert!(launch(one).unwrap(), "{one:?}");
    }
}

#[test]
fn what_lies_beyond_the_grid_must_not_count() {
    let is_wrong = |found: &Result<bool, Error>| matches!(found, Ok(false));
    with(Fault::ColumnsBeyond, LAUNCHES.into_iter().step_by(one_in(2)), is_wrong);
    let with_rows = LAUNCHES.into_iter().filter(|(.., extents, _)| extents.len() > 1);
    with(Fault::RowsBeyond, with_rows, is_wrong);
}

#[test]
fn rows_that_nobody_has_announced_are_reported() {
    with(Fault::NoAnnouncement, LAUNCHES, |found| matches!(found, Err(Error::Fault(_))));
}

/// In 3D the block's barrier comes between a lane's reading and the next copy anyway, in 1D the store's.
#[test]
fn rows_that_lanes_leave_too_early_are_reported() {
    let in_2d = LAUNCHES.into_iter().filter(|(.., extents, _)| extents.len() == 2);
    with(Fault::EarlyRelease, in_2d, |found| matches!(found, Err(Error::Fault(_))));
}

/// The copy engine stores rows of which lanes have an odd number of 16 bytes.
#[test]
fn stores_that_nobody_waits_for_are_reported() {
    // On a grid as small as this no row comes to where one was stored from.
    with(Fault::NoFenceOfStores, [BY_ENGINE], |found| matches!(found, Err(Error::Fault(_))));
    for planted in [Fault::NoFenceOfStores, Fault::NoWaitStoresRead] {
        for kernel in KERNELS.iter().filter(|kernel| kernel.radius == 1) {
            let nx = 8 * kernel.width() as usize;
            let line = Line { kernel, steps: 2, nx, blocks: 1, seed: 3 };
            let found = fault::with(planted, || line.run());
            assert!(matches!(found, Err(Error::Fault(_))), "{planted:?} in {line:?}: {found:?}");
        }
    }
}
