// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of the chained steps of 3D stars, as [`crate::cases3d`] has them of one step.

use crate::grid3d::{self, Tolerance, element};
use cuda_sim::{Fault, Memory};
use host::Error;
use host::device::chain3d::Config;
use host::device::{self, Gpu};
use kernels_gpu::chain3d::emulated::Chain3d;
use kernels_gpu::chain3d::{KERNELS, Kernel, Tile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::encode::bits;
use transform::fragment::Element;
use transform::star3d::star3d;
use transform::{Stencil, Tap};

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// The launch: kernel, grid and tiles.
    pub launch: Chain3d,
    /// The stencil; its absolute weights sum to at most 1.
    pub stencil: Stencil,
    /// Whether every sum is exact in f32, in any order, so that results have one right value.
    pub exact: bool,
    /// The grid in C order, bits of the stored type; absolute values are at most 1.
    pub values: Vec<u16>,
    /// Launches, back and forth between two buffers.
    pub launches: usize,
}

/// Neighbours of a star, and the point itself.
const STAR: [[i32; 3]; 7] =
    [[-1, 0, 0], [0, -1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]];

/// The cases of every kernel: one tile and several, marches of any length, and columns that end within
/// a word, a chunk or a tile.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut cases = Vec::new();
    for &kernel in KERNELS {
        for exact in [true, false] {
            for columns in [1, 32, 37, 64, 96, 130, 136].repeat(3) {
                cases.push(case(&mut random, kernel, exact, columns));
            }
        }
    }
    cases
}

fn case(random: &mut ChaCha8Rng, kernel: Kernel, exact: bool, columns: u32) -> Case {
    let tile = Tile {
        across: random.random_range(1..=3),
        down: random.random_range(1..=2),
        units: kernel.units,
    };
    let rows = tile.rows() + random.random_range(0..=tile.rows());
    // From 12 planes on, there are rounds that are inside the grid.
    let planes = if random.random() { 1..=9 } else { 12..=30 };
    let extents = [random.random_range(planes), rows, columns];
    let tiles: u32 = tile.tiles(kernel.steps, rows, columns).iter().product();
    let launch = Chain3d {
        kernel,
        extents,
        tile,
        whole: random.random_range(0..=tiles.min(2)),
        march_planes: random.random_range(1..=extents[0] + 1),
        seed: random.random(),
    };
    let launches = random.random_range(1..=2);
    let points = extents.iter().product::<u32>() as usize;
    let steps = launches * kernel.steps as usize;
    // As in `crate::cases`: so many bits of weights leave sums exact.
    let precision = (16 / steps as i32).clamp(3, 6);
    let exact = exact && steps as i32 * precision <= 16;
    let (weights, values): (Vec<f64>, Vec<f64>) = if exact {
        let mut units = [0i32; STAR.len()];
        for _ in 0..1 << precision {
            units[random.random_range(0..STAR.len())] += 1;
        }
        let sign = |random: &mut ChaCha8Rng| if random.random() { 1.0 } else { -1.0 };
        let weights = units.map(|n| f64::from(n) * 2f64.powi(-precision) * sign(random));
        let values = (0..points).map(|_| f64::from(random.random_range(-64..=64)) / 64.0);
        (weights.to_vec(), values.collect())
    } else {
        let weights = STAR.map(|_| random.random_range(-0.14..0.14));
        (weights.to_vec(), (0..points).map(|_| random.random_range(-1.0..1.0)).collect())
    };
    let taps = STAR.into_iter().zip(weights).map(|(offset, weight)| Tap { offset, weight });
    let stencil = Stencil::new("star", 3, taps.collect()).expect("finite weights");
    let values = values.into_iter().map(|x| bits(element(kernel.element), x) as u16).collect();
    Case { launch, stencil, exact, values, launches }
}

impl Case {
    /// What the kernel gives in the emulator.
    ///
    /// # Errors
    /// The kernel's first mistake.
    ///
    /// # Panics
    /// Where the frame beside the grid does not stay zero.
    pub fn emulate(&self) -> Result<Vec<u16>, Fault> {
        let operand = star3d(&self.stencil, self.element()).expect("a star");
        let launch = |memory: &mut Memory, [from, to]: [_; 2], fragments| {
            self.launch.launch(memory, from, to, fragments)
        };
        grid3d::emulate(self.launch.layout(), &self.values, &operand.words, self.launches, launch)
    }

    /// What it gives on a GPU.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Never: the case is of a kernel.
    pub fn on_gpu(&self, gpu: &Gpu) -> Result<Vec<u16>, Error> {
        let Chain3d { kernel, extents, tile, whole, march_planes, .. } = self.launch;
        let marches = Some([whole, march_planes]);
        let config = Config { tile, blocks_per_multiprocessor: 1, marches };
        let operand = star3d(&self.stencil, self.element()).expect("a star");
        let kernel = KERNELS.iter().find(|of| of.name == kernel.name).expect("a kernel");
        let chain = device::chain3d::Chain3d::new(gpu, kernel, &operand, extents, config)?;
        grid3d::on_gpu(gpu, &chain, self.element(), extents, &self.values, self.launches)
    }

    /// What the stencil gives with zeros around the grid, summed in f64, rounded after each step.
    #[must_use]
    pub fn plain(&self) -> Vec<u16> {
        let (element, extents) = (self.element(), self.launch.extents);
        grid3d::plain(&self.stencil, element, extents, &self.values, self.steps())
    }

    fn element(&self) -> Element {
        element(self.launch.kernel.element)
    }

    fn steps(&self) -> usize {
        self.launches * self.launch.kernel.steps as usize
    }

    /// The largest part of what rounding explains by which two results of this case differ; more
    /// than 1 where it does not. Exact results must have the same bits.
    ///
    /// # Panics
    /// Where they have not as many points.
    #[must_use]
    pub fn compare(&self, got: &[u16], want: &[u16]) -> f64 {
        let (element, steps) = (self.element(), self.steps());
        Tolerance { exact: self.exact, element, products: 2, steps }.compare(got, want)
    }
}
