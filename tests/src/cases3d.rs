// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of the 3D sweeps, as [`crate::cases`] has them in 2D.

use crate::draw;
use crate::grid3d::{self, Tolerance};
use crate::suite::{self, Difference};
use cuda_mma::fragment::Element;
use cuda_mma::number::bits;
use kernels_gpu::sweep3d::{KERNELS, Kernel, Reach, WarpGrid};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::Error;
use stencil::device::{Device, Emulator};
use stencil::families::sweep3d::{Config, Sweep3d};
use transform::Stencil;
use transform::window3d::window3d;

/// Grids that have been trouble: several tiles and segments, whole ones, less than one, single planes,
/// rows and points.
const GRIDS: [[u32; 3]; 7] =
    [[9, 17, 130], [1, 1, 1], [13, 5, 64], [3, 16, 256], [7, 31, 65], [1, 30, 200], [11, 1, 3]];

/// Most time steps of a case.
const MOST_STEPS: usize = 2;

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

/// The cases of every kernel: for every second one, sums are exact.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut cases = Vec::new();
    for kernel in KERNELS {
        for seed in 0..GRIDS.len() + 1 {
            for exact in [true, false] {
                let any = [12, 40, 200].map(|most| random.random_range(1..=most));
                let extents = GRIDS.get(seed).copied().unwrap_or(any);
                cases.push(case(&mut random, kernel, exact, extents, seed as u64));
            }
        }
    }
    cases
}

fn case(
    random: &mut ChaCha8Rng,
    kernel: &'static Kernel,
    exact: bool,
    extents: [u32; 3],
    seed: u64,
) -> Case {
    let launches = random.random_range(1..=MOST_STEPS);
    let element = element(kernel);
    let points = extents.iter().product::<u32>() as usize;
    // First all that the kernel takes, then any radii and sides.
    let radius = kernel.radius as usize;
    let offsets = if seed == 0 {
        draw::all_offsets([radius; 3], |offset| reaches(kernel, offset))
    } else {
        let radii = draw::radii(random, 3, radius);
        draw::offsets(random, radii, |offset| reaches(kernel, offset))
    };
    let (stencil, values): (_, Vec<f64>) = if exact {
        let values = (0..points).map(|_| f64::from(random.random_range(-64..=64)) / 64.0);
        let values = values.collect();
        (draw::dyadic(random, 3, offsets, launches), values)
    } else {
        let values = (0..points).map(|_| random.random_range(-1.0..1.0)).collect();
        (draw::weighted(random, 3, offsets), values)
    };
    let values = values.into_iter().map(|x| bits(element, x) as u16).collect();
    let config = Config {
        tile: WarpGrid { across: random.random_range(1..4), down: random.random_range(1..3) },
        segment_planes: Some(random.random_range(1..=extents[0] + 1)),
        stages: random.random_range(1..5),
        // Not drawn, so that the other numbers stay what they were.
        producers: 1 + seed as u32 % 3,
        blocks_per_multiprocessor: 1,
    };
    Case { kernel, extents, config, seed, stencil, exact, values, launches }
}

/// Whether a kernel takes a neighbour within its radius.
fn reaches(kernel: &Kernel, [z, y, _]: [i32; 3]) -> bool {
    match kernel.reach {
        Reach::Box => true,
        Reach::Diamond => z.abs() + y.abs() <= kernel.radius as i32,
    }
}

/// The stored type of a kernel.
fn element(kernel: &Kernel) -> Element {
    grid3d::element(kernel.element)
}

impl Case {
    /// What the stencil gives with zeros around the grid, summed in f64, rounded after each step.
    #[must_use]
    pub fn plain(&self) -> Vec<u16> {
        let element = element(self.kernel);
        grid3d::plain(&self.stencil, element, self.extents, &self.values, self.launches)
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
        let &Self { kernel, extents, config, .. } = self;
        let window = window3d(&self.stencil).expect("a 3D stencil of radius 1 or 2");
        let element = element(kernel);
        let sweep = Sweep3d::by(device, kernel, &window, element, extents, config)?;
        grid3d::launch(device, &sweep, element, extents, &self.values, self.launches)
    }

    /// Exact results must have the same bits.
    fn compare(&self, got: &Vec<u16>, emulated: &Vec<u16>) -> Difference {
        let radius = self.kernel.radius;
        let tolerance = Tolerance {
            exact: self.exact,
            element: element(self.kernel),
            products: (radius + 1) * (2 * radius + 1),
            steps: self.launches,
        };
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
