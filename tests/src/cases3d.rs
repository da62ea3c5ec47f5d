// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of the 3D sweeps, as [`crate::cases`] has them in 2D.

use crate::grid3d::{self, Tolerance};
use cuda_sim::{Buffer, Fault, Memory};
use host::Error;
use host::device::sweep3d::Config;
use host::device::{self, Gpu};
use kernels_gpu::sweep3d::emulated::Sweep3d;
use kernels_gpu::sweep3d::{KERNELS, Kernel, Reach, Tile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::encode::bits;
use transform::fragment::Element;
use transform::window3d::window3d;
use transform::{Stencil, Tap};

/// Grids that have been trouble: several tiles and marches, whole ones, less than one, single planes,
/// rows and points.
const GRIDS: [[u32; 3]; 7] =
    [[9, 17, 130], [1, 1, 1], [13, 5, 64], [3, 16, 256], [7, 31, 65], [1, 30, 200], [11, 1, 3]];

/// Most time steps of a case.
const MOST_STEPS: usize = 2;

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// The launch: kernel, grid and tiles.
    pub launch: Sweep3d,
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
    for &kernel in KERNELS {
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
    kernel: Kernel,
    exact: bool,
    extents: [u32; 3],
    seed: u64,
) -> Case {
    let launches = random.random_range(1..=MOST_STEPS);
    let element = element(kernel);
    let points = extents.iter().product::<u32>() as usize;
    let (stencil, values): (_, Vec<f64>) = if exact {
        let values = (0..points).map(|_| f64::from(random.random_range(-64..=64)) / 64.0);
        let values = values.collect();
        (dyadic_stencil(random, kernel, launches), values)
    } else {
        let values = (0..points).map(|_| random.random_range(-1.0..1.0)).collect();
        (random_stencil(random, kernel), values)
    };
    let values = values.into_iter().map(|x| bits(element, x) as u16).collect();
    let launch = Sweep3d {
        kernel,
        extents,
        tile: Tile { across: random.random_range(1..4), down: random.random_range(1..3) },
        march_planes: random.random_range(1..=extents[0] + 1),
        stages: random.random_range(1..5),
        // Not drawn, so that the other numbers stay what they were.
        producers: 1 + seed as u32 % 3,
        upwards: false,
        seed,
    };
    Case { launch, stencil, exact, values, launches }
}

/// Weights that are multiples of 2^-b with absolute sum 1; see `crate::cases` for why sums of their
/// products with values that are multiples of 2^-6 are exact.
fn dyadic_stencil(random: &mut ChaCha8Rng, kernel: Kernel, steps: usize) -> Stencil {
    let bits = ((22 - 6) / steps as i32).min(6);
    let taps = taps(kernel);
    let mut units = vec![0i32; taps.len()];
    let signs: Vec<i32> = units.iter().map(|_| if random.random() { 1 } else { -1 }).collect();
    // The farthest, so that the radius is what was asked for.
    units[0] = signs[0];
    for _ in 1..1 << bits {
        let tap = random.random_range(0..taps.len());
        units[tap] += signs[tap];
    }
    let weights = units.iter().map(|&n| f64::from(n) * 2f64.powi(-bits));
    weighted("dyadic", taps, weights)
}

/// Random weights with holes, whose absolute sum stays below 1 also when they are rounded.
fn random_stencil(random: &mut ChaCha8Rng, kernel: Kernel) -> Stencil {
    let taps = taps(kernel);
    let mut weights: Vec<f64> = (0..taps.len())
        .map(|_| if random.random_ratio(1, 4) { 0.0 } else { random.random_range(-1.0..1.0) })
        .collect();
    weights[0] = 0.5;
    let stencil = weighted("random", taps, weights);
    let scale = (1.0 - 2f64.powi(-7)) / stencil.gain();
    stencil.map_weights(|weight| weight * scale)
}

/// The neighbours of a kernel's stencils; the first is as far as any.
fn taps(kernel: Kernel) -> Vec<[i32; 3]> {
    let radius = kernel.radius as i32;
    let along = || -radius..=radius;
    let all = along().flat_map(|z| along().flat_map(move |y| along().map(move |x| [z, y, x])));
    let reached = |&[z, y, _]: &[i32; 3]| match kernel.reach {
        Reach::Box => true,
        Reach::Diamond => z.abs() + y.abs() <= radius,
    };
    all.filter(reached).collect()
}

fn weighted(name: &str, taps: Vec<[i32; 3]>, weights: impl IntoIterator<Item = f64>) -> Stencil {
    let taps = taps.into_iter().zip(weights).map(|(offset, weight)| Tap { offset, weight });
    Stencil::new(name, 3, taps.collect()).expect("finite weights")
}

/// The stored type of a kernel.
fn element(kernel: Kernel) -> Element {
    grid3d::element(kernel.element)
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
        let window = window3d(&self.stencil).expect("a 3D stencil of radius 1 or 2");
        let words = window.encode(element(self.launch.kernel)).words;
        let launch = |memory: &mut Memory, [from, to]: [Buffer<u16>; 2], fragments| {
            // Back and forth, as on a GPU.
            let upwards = from.as_ptr() > to.as_ptr();
            let launch = Sweep3d { upwards, ..self.launch };
            launch.launch(memory, from, to, fragments)
        };
        grid3d::emulate(self.launch.layout(), &self.values, &words, self.launches, launch)
    }

    /// What it gives on a GPU.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Panics
    /// Never: the case is as the kernels want it.
    pub fn on_gpu(&self, gpu: &Gpu) -> Result<Vec<u16>, Error> {
        let Sweep3d { kernel, extents, tile, producers, march_planes, stages, .. } = self.launch;
        let march_planes = Some(march_planes);
        let config = Config { tile, stages, producers, blocks_per_multiprocessor: 1, march_planes };
        let window = window3d(&self.stencil).expect("a 3D stencil of radius 1 or 2");
        let element = element(kernel);
        let sweep = device::sweep3d::Sweep3d::new(gpu, &window, element, extents, config)?;
        grid3d::on_gpu(gpu, &sweep, element, extents, &self.values, self.launches)
    }

    /// What the stencil gives with zeros around the grid, summed in f64, rounded after each step.
    #[must_use]
    pub fn plain(&self) -> Vec<u16> {
        let Sweep3d { kernel, extents, .. } = self.launch;
        grid3d::plain(&self.stencil, element(kernel), extents, &self.values, self.launches)
    }

    /// The largest part of what rounding explains by which two results of this case differ; more
    /// than 1 where it does not. Exact results must have the same bits.
    ///
    /// # Panics
    /// Where they have not as many points.
    #[must_use]
    pub fn compare(&self, got: &[u16], want: &[u16]) -> f64 {
        let Kernel { radius, .. } = self.launch.kernel;
        let tolerance = Tolerance {
            exact: self.exact,
            element: element(self.launch.kernel),
            products: (radius + 1) * (2 * radius + 1),
            steps: self.launches,
        };
        tolerance.compare(got, want)
    }
}
