// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of the chained steps of 3D stars, as [`crate::cases3d`] has them of one step.

use crate::draw;
use crate::grid3d::{self, Tolerance, element};
use crate::suite::{self, Difference};
use cuda_mma::fragment::Element;
use cuda_mma::number::bits;
use kernels_gpu::chain3d::{KERNELS, Kernel, WarpGrid};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::Error;
use stencil::device::{Device, Emulator};
use stencil::families::chain3d::{Chain3d, Config};
use transform::Stencil;
use transform::star3d::star3d;

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Extents of the grid.
    pub extents: [u32; 3],
    /// How it is launched.
    pub config: Config,
    /// Seed of the emulator.
    pub seed: u64,
    /// The stencil; its absolute weights sum to at most 1.
    pub stencil: Stencil,
    /// Whether every sum is exact in f32, in any order, so that results have one right value.
    pub exact: bool,
    /// The grid in C order, bits of the stored type; absolute values are at most 1.
    pub values: Vec<u16>,
    /// Launches, back and forth between two buffers.
    pub launches: usize,
}

/// The cases of every kernel: one tile and several, segments of any length, and columns that end within
/// a word, a chunk or a tile.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut cases = Vec::new();
    for kernel in KERNELS {
        for exact in [true, false] {
            for columns in [1, 32, 37, 64, 96, 130, 136].repeat(3) {
                cases.push(case(&mut random, kernel, exact, columns));
            }
        }
    }
    cases
}

fn case(random: &mut ChaCha8Rng, kernel: &'static Kernel, exact: bool, columns: u32) -> Case {
    let tile = WarpGrid {
        across: random.random_range(1..=3),
        down: random.random_range(1..=2),
        units: kernel.units,
    };
    let rows = tile.rows() + random.random_range(0..=tile.rows());
    // From 12 planes on, there are rounds that are inside the grid.
    let planes = if random.random() { 1..=9 } else { 12..=30 };
    let extents = [random.random_range(planes), rows, columns];
    let tiles: u32 = tile.tiles(kernel.steps, rows, columns).iter().product();
    let whole = random.random_range(0..=tiles.min(2));
    let segments = Some([whole, random.random_range(1..=extents[0] + 1)]);
    let config = Config { tile, blocks_per_multiprocessor: 1, segments };
    let seed = random.random();
    let launches = random.random_range(1..=2);
    let points = extents.iter().product::<u32>() as usize;
    let steps = launches * kernel.steps as usize;
    // Fewer bits of weights than this are few weights.
    let exact = exact && draw::dyadic_bits(steps) >= 3;
    // A star, or whatever of it.
    let offsets = if random.random() {
        draw::all_offsets([1; 3], draw::is_on_axis)
    } else {
        let radii = draw::radii(random, 3, 1);
        draw::offsets(random, radii, draw::is_on_axis)
    };
    let (stencil, values): (_, Vec<f64>) = if exact {
        let values = (0..points).map(|_| f64::from(random.random_range(-64..=64)) / 64.0);
        let values = values.collect();
        (draw::dyadic(random, 3, offsets, steps), values)
    } else {
        let values = (0..points).map(|_| random.random_range(-1.0..1.0)).collect();
        (draw::weighted(random, 3, offsets), values)
    };
    let values = values.into_iter().map(|x| bits(element(kernel.element), x) as u16).collect();
    Case { kernel, extents, config, seed, stencil, exact, values, launches }
}

impl Case {
    /// What the stencil gives with zeros around the grid, summed in f64, rounded after each step.
    #[must_use]
    pub fn plain(&self) -> Vec<u16> {
        let (element, extents) = (self.element(), self.extents);
        grid3d::plain(&self.stencil, element, extents, &self.values, self.steps())
    }

    fn element(&self) -> Element {
        element(self.kernel.element)
    }

    fn steps(&self) -> usize {
        self.launches * self.kernel.steps as usize
    }
}

impl suite::TestCase for Case {
    type Points = Vec<u16>;

    fn kernel(&self) -> String {
        self.kernel.name.into()
    }

    fn points(&self) -> usize {
        self.values.len()
    }

    fn runs_on_sm_80(&self) -> bool {
        false
    }

    fn emulator(&self) -> Emulator {
        Emulator::new().with_seed(self.seed)
    }

    fn run(&self, device: &dyn Device) -> Result<Vec<u16>, Error> {
        let &Self { kernel, extents, config, launches, .. } = self;
        let operand = star3d(&self.stencil, self.element()).expect("a star");
        let chain = Chain3d::new(device, kernel, &operand, extents, config)?;
        grid3d::launch(device, &chain, self.element(), extents, &self.values, launches)
    }

    /// Exact results must have the same bits.
    fn compare(&self, got: &Vec<u16>, emulated: &Vec<u16>) -> Difference {
        let (exact, element, steps) = (self.exact, self.element(), self.steps());
        let tolerance = Tolerance { exact, element, products: 2, steps };
        Difference::new(got, emulated, tolerance.compare(got, emulated))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, extents, config, seed, stencil, exact, launches, .. } = self;
        let (name, points, radii) = (kernel.name, stencil.taps().len(), stencil.radii());
        write!(
            f,
            "{name} on {extents:?}, {config:?}, {points} points of radii {radii:?}, {launches} launches, \
             exact: {exact}, seed {seed}"
        )
    }
}
