// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gather kernels in the emulator, and the plain stencil to check them by.

use crate::draw;
use crate::stored;
use crate::suite::{self, Difference, launch};
use cuda_mma::fragment::Element;
use cuda_mma::number::{bits, value};
use kernels_gpu::gather::{MORE_STEPS, kernel};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::device::{Device, Emulator, Limits};
use stencil::families::gather::{Config, Gathered};
use stencil::{Error, Shape};
use transform::gather::{OutputTile, gather_tiles};
use transform::{Stencil, Tap};

/// The types that there are kernels for.
pub const TYPES: [Element; 3] = [Element::F16, Element::Bf16, Element::Tf32];

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// Type of the grid.
    pub element: Element,
    /// The outputs of a product's column.
    pub tile: OutputTile,
    /// The stencil.
    pub stencil: Stencil,
    /// Extents of the grid.
    pub shape: Shape,
    /// The grid in C order, as bits of the type.
    pub values: Vec<u32>,
    /// How it is launched.
    pub config: Config,
    /// Blocks of the launch in the emulator.
    pub blocks: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Case {
    /// Random values on a grid, in a launch of random shape.
    ///
    /// # Panics
    /// With a stencil beyond the kernels' reach.
    #[must_use]
    pub fn random(
        random: &mut impl RngExt,
        element: Element,
        tile: OutputTile,
        stencil: &Stencil,
        extents: &[usize],
    ) -> Self {
        let shape = Shape::new(extents).expect("extents of at least 1");
        let any = |_| bits(element, random.random_range(-1.0..1.0));
        let values = (0..shape.points()).map(any).collect();
        let footprint =
            gather_tiles(stencil, element, tile).expect("a radius of up to 8").footprint;
        let any = Config {
            tile: [random.random_range(1..4), random.random_range(1..3)],
            stages: footprint.extent[0] as u32 + random.random_range(0..3),
            warps: random.random_range(1..5),
            blocks_per_multiprocessor: 1,
            segment: None,
        };
        let fits = any.launch(&footprint, 1, shape).shared_bytes() <= Limits::H200.shared_bytes;
        let config = if fits { any } else { Config::least(&footprint) };
        let segment = Some(random.random_range(1..9));
        let (config, blocks) = (Config { segment, ..config }, random.random_range(1..4));
        let (stencil, seed) = (stencil.clone(), random.random());
        Self { element, tile, stencil, shape, values, config, blocks, seed }
    }

    /// How far a step is off, as a part of what rounding explains: each sum in f64, with zeros around the
    /// grid, may be rounded once to the type and 17 times to f32 for each product. With the point that is
    /// farthest off.
    #[must_use]
    pub fn of_bound(&self, got: &[u32]) -> (f64, [i64; 3]) {
        let element = self.element;
        let [nz, ny, nx] = self.shape.extents().map(|extent| extent as i64);
        let at = |[z, y, x]: [i64; 3]| {
            let inside = (0..nz).contains(&z) && (0..ny).contains(&y) && (0..nx).contains(&x);
            if !inside {
                return 0.0;
            }
            let stored = self.values[((z * ny + y) * nx + x) as usize];
            value(element, bits(element, value_of(element, stored)))
        };
        let steps = gather_tiles(&self.stencil, element, self.tile).expect("a layout").steps.len();
        // Half the spacing of the stored numbers: relative, and of the smallest.
        let (relative, absolute) = match element {
            Element::F16 => (2f64.powi(-11), 2f64.powi(-25)),
            Element::Bf16 => (2f64.powi(-8), 2f64.powi(-134)),
            Element::Tf32 => (2f64.powi(-24), 2f64.powi(-150)),
        };
        let mut worst = (0.0, [0; 3]);
        for (index, &got) in got.iter().enumerate() {
            let index = index as i64;
            let here = [index / (ny * nx), index / nx % ny, index % nx];
            let term = |tap: &Tap| {
                let there = std::array::from_fn(|axis| here[axis] + i64::from(tap.offset[axis]));
                value(element, bits(element, tap.weight)) * at(there)
            };
            let terms = self.stencil.taps().iter().map(term);
            let (sum, size) = terms.fold((0.0, 0.0), |(s, a), term| (s + term, a + term.abs()));
            let summing = (17 * steps) as f64 * 2f64.powi(-24) * size;
            let bound = sum.abs() * relative + absolute + summing;
            let part = (value_of(element, got) - sum).abs() / bound;
            if part > worst.0 || part.is_nan() {
                worst = (if part.is_nan() { f64::INFINITY } else { part }, here);
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
    type Points = Vec<u32>;

    fn kernel(&self) -> String {
        let gather = gather_tiles(&self.stencil, self.element, self.tile).expect("a layout");
        kernel(self.element, self.tile, gather.steps.len() as u32).name().into()
    }

    fn points(&self) -> usize {
        self.values.len()
    }

    fn emulator(&self) -> Emulator {
        Emulator::new().with_multiprocessors(self.blocks).with_seed(self.seed)
    }

    fn run(&self, device: &dyn Device) -> Result<Vec<u32>, Error> {
        let gather = gather_tiles(&self.stencil, self.element, self.tile).expect("a layout");
        let pass = Gathered::new(device, &gather, self.shape, self.config)?;
        let input = stored::grid(self.element, self.shape, self.values.iter().copied());
        let got = launch(device, &pass, stored::dtype(self.element), &input, 1)?;
        Ok(stored::bits(got))
    }

    fn compare(&self, got: &Vec<u32>, emulated: &Vec<u32>) -> Difference {
        Difference::new(got, emulated, self.of_bound(got).0)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, tile, stencil, shape, config, blocks, seed, .. } = self;
        let radii = stencil.radii();
        write!(
            f,
            "{element} {tile}, {} points of radii {radii:?} on {shape}, {config:?}, {blocks} blocks, \
             seed {seed}",
            stencil.taps().len()
        )
    }
}

/// Cases of every kernel for a GPU: lines, planes and volumes of several tiles and segments, whole ones and
/// less than one, and stencils of few products and of more.
///
/// # Panics
/// Never: all stencils are within the kernels' reach.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let mut cases = Vec::new();
    for element in TYPES {
        for tile in OutputTile::ALL {
            for extents in
                [&[5000][..], &[3], &[70, 530], &[33, 65], &[1, 1], &[9, 17, 130], &[13, 5, 64]]
            {
                if extents.len() == 1 && tile != OutputTile::Row {
                    continue;
                }
                // Of each kernel for the type and tile: that for so many steps, which no line takes, and that
                // for others.
                for more in [false, true].into_iter().take(if extents.len() == 1 { 1 } else { 2 }) {
                    let stencil = loop {
                        let stencil = random_stencil(&mut random, extents.len(), 8);
                        let steps = gather_tiles(&stencil, element, tile).expect("a layout").steps;
                        if MORE_STEPS.contains(&(steps.len() as u32)) == more {
                            break stencil;
                        }
                    };
                    cases.push(Case::random(&mut random, element, tile, &stencil, extents));
                }
            }
        }
    }
    cases
}

/// The stored number: tf32 is stored as f32.
fn value_of(element: Element, stored: u32) -> f64 {
    match element {
        Element::Tf32 => f64::from(f32::from_bits(stored)),
        _ => value(element, stored),
    }
}

/// A stencil of so many axes, of a radius of its own on each up to `most`; in space of as many neighbours
/// as a box of radius 3 has at most.
#[must_use]
pub fn random_stencil(random: &mut impl RngExt, dims: usize, most: usize) -> Stencil {
    const MOST_POINTS: usize = 343;
    let radius = random.random_range(0..=most);
    let radii = draw::radii(random, dims, radius);
    let mut offsets = draw::offsets(random, radii, |_| true);
    if offsets.len() > MOST_POINTS {
        let farthest = |axis: usize| *offsets.iter().max_by_key(|o| o[axis].abs()).expect("some");
        let ends = [0, 1, 2].map(farthest);
        let step = offsets.len().div_ceil(MOST_POINTS);
        offsets = offsets.into_iter().step_by(step).chain(ends).collect();
        offsets.sort_unstable();
        offsets.dedup();
    }
    draw::weighted(random, dims, offsets)
}
