// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of the kernels on row windows, `line1d` and `wide2d`, and the plain stencil to
//! check them by.

use crate::draw;
use crate::stored;
use crate::suite::{self, Difference, launch};
use cuda_mma::fragment::Element;
use cuda_mma::number::{bits, value};
use kernels_gpu::wide2d::MOST_RADIUS;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::ops::RangeInclusive;
use stencil::device::{Device, Emulator};
use stencil::families::Pass;
use stencil::families::{line1d, wide2d};
use stencil::{Error, Shape};
use transform::row_operand::{MAX_REACH, RowOperand, row_operand};
use transform::{Stencil, Tap};

/// The types that there are kernels for.
pub const TYPES: [Element; 2] = [Element::F16, Element::Bf16];

/// Radii of the kernels `wide2d`.
pub fn wide_radii() -> RangeInclusive<u32> {
    1..=MOST_RADIUS
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub enum RowLaunch {
    /// `kernels_gpu::line1d`.
    Line {
        /// Blocks of the launch for each multiprocessor, of which the emulator has one.
        blocks: u32,
        /// Threads of a block.
        threads: u32,
    },
    /// `kernels_gpu::wide2d`.
    Wide {
        /// Radius of the kernel.
        radius: u32,
        /// Blocks of the launch in the emulator.
        blocks: u32,
        /// Stages of the ring.
        stages: u32,
        /// Rows of a tile.
        tile_rows: u32,
    },
}

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// Type of the grid.
    pub element: Element,
    /// The stencil.
    pub stencil: Stencil,
    /// Extents of the grid.
    pub shape: Shape,
    /// The grid in C order, as bits of the type.
    pub values: Vec<u16>,
    /// How the kernel is launched.
    pub launch: RowLaunch,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Case {
    /// Random values on a line, in a launch of random shape.
    ///
    /// # Panics
    /// Without points.
    #[must_use]
    pub fn line(random: &mut impl RngExt, element: Element, stencil: &Stencil, nx: usize) -> Self {
        let (blocks, threads) = (random.random_range(1..4), 32 * random.random_range(1..4));
        Self::new(random, element, stencil, &[nx], RowLaunch::Line { blocks, threads })
    }

    /// Random values on a plane, in a launch of random shape of the kernel for a radius.
    ///
    /// # Panics
    /// Without points.
    #[must_use]
    pub fn wide(
        random: &mut impl RngExt,
        element: Element,
        stencil: &Stencil,
        radius: u32,
        extents: [usize; 2],
    ) -> Self {
        let launch = RowLaunch::Wide {
            radius,
            blocks: random.random_range(1..4),
            stages: random.random_range(1..5),
            tile_rows: random.random_range(1..40),
        };
        Self::new(random, element, stencil, &extents, launch)
    }

    fn new(
        random: &mut impl RngExt,
        element: Element,
        stencil: &Stencil,
        extents: &[usize],
        launch: RowLaunch,
    ) -> Self {
        let shape = Shape::new(extents).expect("extents of at least 1");
        let any = |_| bits(element, random.random_range(-1.0..1.0)) as u16;
        let values = (0..shape.points()).map(any).collect();
        let (stencil, seed) = (stencil.clone(), random.random());
        Self { element, stencil, shape, values, launch, seed }
    }

    fn operand(&self) -> RowOperand {
        let rows = match self.launch {
            RowLaunch::Line { .. } => 0,
            RowLaunch::Wide { radius, .. } => radius as usize,
        };
        row_operand(&self.stencil, rows, self.element).expect("rows and columns that fit")
    }

    /// Products of a sum.
    fn products(&self) -> u32 {
        self.operand().steps as u32
    }

    /// The largest part of what rounding explains by which a step is off, and its point: each sum in f64,
    /// with zeros around the grid, may be rounded once to the type and 17 times to f32 for each product.
    #[must_use]
    pub fn of_bound(&self, got: &[u16]) -> (f64, [usize; 2]) {
        let element = self.element;
        let [_, ny, nx] = self.shape.extents();
        let at = |y: i64, x: i64| {
            let inside = (0..ny as i64).contains(&y) && (0..nx as i64).contains(&x);
            if inside {
                value(element, self.values[y as usize * nx + x as usize].into())
            } else {
                0.0
            }
        };
        // Half the spacing of the type's numbers: relative, and of the smallest.
        let (relative, absolute) = match element {
            Element::F16 => (2f64.powi(-11), 2f64.powi(-25)),
            _ => (2f64.powi(-8), 2f64.powi(-134)),
        };
        let products = self.products();
        let mut worst = (0.0, [0; 2]);
        for (index, &got) in got.iter().enumerate() {
            let (y, x) = ((index / nx) as i64, (index % nx) as i64);
            let term = |tap: &Tap| {
                let [_, dy, dx] = tap.offset.map(i64::from);
                value(element, bits(element, tap.weight)) * at(y + dy, x + dx)
            };
            let terms = self.stencil.taps().iter().map(term);
            let (sum, size) = terms.fold((0.0, 0.0), |(s, a), term| (s + term, a + term.abs()));
            let summing = f64::from(17 * products) * 2f64.powi(-24) * size;
            let part = (value(element, got.into()) - sum).abs()
                / (sum.abs() * relative + absolute + summing);
            if part > worst.0 || part.is_nan() {
                worst =
                    (if part.is_nan() { f64::INFINITY } else { part }, [index / nx, index % nx]);
            }
        }
        worst
    }

    /// Runs the kernel in the emulator and checks it.
    ///
    /// # Panics
    /// Where it is wrong.
    pub fn check(&self) {
        let got = suite::TestCase::emulate(self).unwrap_or_else(|fault| panic!("{self}: {fault}"));
        let (part, point) = self.of_bound(&got);
        assert!(part <= 1.0, "{self}: point {point:?} is off by {part} of the bound");
    }
}

impl suite::TestCase for Case {
    type Points = Vec<u16>;

    fn kernel(&self) -> String {
        match self.launch {
            RowLaunch::Line { .. } => format!("line1d_{}", self.element),
            RowLaunch::Wide { radius, .. } => format!("wide2d_{}_r{radius}", self.element),
        }
    }

    fn points(&self) -> usize {
        self.values.len()
    }

    fn emulator(&self) -> Emulator {
        let multiprocessors = match self.launch {
            RowLaunch::Line { .. } => 1,
            RowLaunch::Wide { blocks, .. } => blocks,
        };
        Emulator::new().with_multiprocessors(multiprocessors).with_seed(self.seed)
    }

    /// Lines in as many blocks for each multiprocessor as the case has, planes in one each.
    fn run(&self, device: &dyn Device) -> Result<Vec<u16>, Error> {
        let [_, ny, nx] = self.shape.extents().map(|extent| extent as u32);
        let operand = self.operand();
        let pass: Box<dyn Pass> = match self.launch {
            RowLaunch::Line { blocks, threads } => {
                let config =
                    line1d::Config { threads, blocks_per_multiprocessor: blocks, overlap: true };
                Box::new(line1d::Line1d::new(device, &operand, nx, config)?)
            }
            RowLaunch::Wide { stages, tile_rows, .. } => {
                let tile_rows = Some(tile_rows);
                let config = wide2d::Config { stages, blocks_per_multiprocessor: 1, tile_rows };
                Box::new(wide2d::Wide::new(device, &operand, ny, nx, config)?)
            }
        };
        let values = self.values.iter().map(|&bits| bits.into());
        let input = stored::grid(self.element, self.shape, values);
        let got = launch(device, &*pass, stored::dtype(self.element), &input, 1)?;
        Ok(stored::bits(got).into_iter().map(|bits| bits as u16).collect())
    }

    fn compare(&self, got: &Vec<u16>, emulated: &Vec<u16>) -> Difference {
        Difference::new(got, emulated, self.of_bound(got).0)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, stencil, shape, launch, seed, .. } = self;
        let (points, radii) = (stencil.taps().len(), stencil.radii());
        write!(
            f,
            "{element}, {points} points of radii {radii:?} on {shape}, {launch:?}, seed {seed}"
        )
    }
}

/// Cases of every kernel: single points, less than a tile, whole tiles, several and parts of them;
/// primes.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(21);
    let mut cases = Vec::new();
    for element in TYPES {
        for (turn, nx) in [4096 + 131, 513, 1, 127, 1021, 6].into_iter().enumerate() {
            let stencil = if turn == 0 {
                let all = draw::all_offsets([0, 0, MAX_REACH], |_| true);
                draw::weighted(&mut random, 1, all)
            } else {
                let radius = random.random_range(0..=MAX_REACH);
                draw::stencil(&mut random, 1, [0, 0, radius])
            };
            cases.push(Case::line(&mut random, element, &stencil, nx));
        }
        for radius in wide_radii() {
            let grids = [[37, 1031], [7, 5], [24, 1024], [1, 600], [53, 1]];
            for (turn, extents) in grids.into_iter().enumerate() {
                let stencil = if turn == 0 {
                    let all = draw::all_offsets([0, radius as usize, MAX_REACH], |_| true);
                    draw::weighted(&mut random, 2, all)
                } else {
                    let rows = random.random_range(0..=radius as usize);
                    let radii = [0, rows, random.random_range(0..=MAX_REACH)];
                    draw::stencil(&mut random, 2, radii)
                };
                cases.push(Case::wide(&mut random, element, &stencil, radius, extents));
            }
        }
    }
    cases
}
