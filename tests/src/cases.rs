// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases: every kernel on grids of every kind. The tests run them in the emulator
//! against the plain stencil, `gpu-suite` on a GPU against the emulator.

use crate::emulated::{self, Sweep2d};
use crate::plain;
use cuda_sim::Fault;
use half::f16;
use kernels_gpu::chain2d::{self, Stages};
use kernels_gpu::emulated::Chain2d;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use transform::Stencil;

/// Most time steps of a case; `dyadic` needs them to be few.
const MOST_STEPS: usize = 4;

/// Grids that have been trouble: several tiles, whole ones, less than one, single points; the ones
/// that show most come first.
const GRIDS: [(u32, u32); 6] = [(70, 530), (52, 512), (33, 65), (1, 600), (7, 5), (1, 1)];

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// `kernels_gpu::sweep2d`.
    Sweep2d {
        /// Radius of the stencil.
        radius: u32,
    },
    /// `kernels_gpu::chain2d`.
    Chain2d {
        /// Radius of the stencil.
        radius: u32,
        /// Time steps of a launch.
        chain: u32,
    },
}

impl Kernel {
    /// Every kernel there is.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let sweeps = (1..=3).map(|radius| Self::Sweep2d { radius });
        let pairs =
            (1..=3).flat_map(|radius| (1..=chain2d::MAX_CHAIN).map(move |chain| (radius, chain)));
        let exists = |&(radius, chain): &(u32, u32)| chain2d::kernel(radius, chain).is_some();
        let chains = pairs.filter(exists).map(|(radius, chain)| Self::Chain2d { radius, chain });
        sweeps.chain(chains).collect()
    }

    /// Radius of the stencil.
    #[must_use]
    pub fn radius(self) -> u32 {
        match self {
            Self::Sweep2d { radius } | Self::Chain2d { radius, .. } => radius,
        }
    }

    /// Time steps of a launch.
    #[must_use]
    pub fn steps(self) -> usize {
        match self {
            Self::Sweep2d { .. } => 1,
            Self::Chain2d { chain, .. } => chain as usize,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sweep2d { radius } => f.pad(&format!("sweep2d_f16_r{radius}")),
            Self::Chain2d { radius, chain } => f.pad(&format!("chain2d_f16_r{radius}_c{chain}")),
        }
    }
}

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kernel.
    pub kernel: Kernel,
    /// The stencil; its absolute weights sum to at most 1.
    pub stencil: Stencil,
    /// Whether every sum is exact in f32, in any order, so that results have one right value.
    pub exact: bool,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// The grid in C order; absolute values are at most 1.
    pub values: Vec<f16>,
    /// Launches, back and forth between two buffers.
    pub launches: usize,
    /// Stages of the rings; a sweep has the first only.
    pub stages: Stages,
    /// Stages of rows in a tile.
    pub tile_stages: u32,
    /// Blocks of the launch in the emulator.
    pub blocks: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

/// The cases of a kernel: for every second one, sums are exact.
#[must_use]
pub fn cases(kernel: Kernel) -> Vec<Case> {
    let mut random =
        ChaCha8Rng::seed_from_u64(u64::from(kernel.radius()) << 8 | kernel.steps() as u64);
    let mut cases = Vec::new();
    for seed in 0..GRIDS.len() + 3 {
        for exact in [true, false] {
            let size = GRIDS.get(seed).copied();
            let any = (random.random_range(1..90), random.random_range(1..700));
            let (ny, nx) = size.unwrap_or(any);
            cases.push(case(&mut random, kernel, exact, ny, nx, seed as u64));
        }
    }
    cases
}

fn case(random: &mut ChaCha8Rng, kernel: Kernel, exact: bool, ny: u32, nx: u32, seed: u64) -> Case {
    let launches = random.random_range(1..=MOST_STEPS / kernel.steps());
    let points = (ny * nx) as usize;
    let radius = kernel.radius() as usize;
    let (stencil, values) = if exact {
        let steps = launches * kernel.steps();
        (dyadic_stencil(random, radius, steps), dyadic_values(random, points))
    } else {
        let stencil = plain::random_stencil(random, radius);
        // Rounding the weights to f16 must not bring the gain above 1.
        let scale = (1.0 - 2f64.powi(-10)) / stencil.gain();
        (stencil.map_weights(|weight| weight * scale), plain::random_values(random, points))
    };
    Case {
        kernel,
        stencil,
        exact,
        ny,
        nx,
        values,
        launches,
        stages: Stages { input: random.random_range(1..5), ring: random.random_range(3..5) },
        tile_stages: random.random_range(1..6),
        blocks: random.random_range(1..4),
        seed,
    }
}

/// Bits after the binary point of [`dyadic_values`].
const VALUE_BITS: i32 = 6;

/// A stencil whose weights are multiples of 2^-b with absolute sum 1.
///
/// From values that are multiples of 2^-6, after `steps` steps all products and sums are multiples of
/// 2^-(6 + b · steps), that is of 2^-22 or more, and at most 1: exact in f32 in any order, also where
/// addends are aligned with the largest and cut off. Only the rounding to f16 between steps remains.
fn dyadic_stencil(random: &mut ChaCha8Rng, radius: usize, steps: usize) -> Stencil {
    let bits = ((22 - VALUE_BITS) / steps as i32).min(6);
    let width = 2 * radius + 1;
    let signs: Vec<i32> =
        (0..width * width).map(|_| if random.random() { 1 } else { -1 }).collect();
    let mut units = vec![0; width * width];
    // A corner, so that the radius is what was asked for.
    units[0] = signs[0];
    for _ in 1..1 << bits {
        let tap = random.random_range(0..units.len());
        units[tap] += signs[tap];
    }
    let weights: Vec<f64> =
        units.iter().map(|&units| f64::from(units) * 2f64.powi(-bits)).collect();
    Stencil::dense("dyadic", &[width, width], &weights).expect("finite weights")
}

fn dyadic_values(random: &mut ChaCha8Rng, points: usize) -> Vec<f16> {
    let most = 1 << VALUE_BITS;
    let unit = 2f32.powi(-VALUE_BITS);
    (0..points).map(|_| f16::from_f32(random.random_range(-most..=most) as f32 * unit)).collect()
}

impl Case {
    /// Rows of a tile of a sweep.
    #[must_use]
    pub fn tile_rows(&self) -> u32 {
        self.tile_stages * 2 * (self.kernel.radius() + 1)
    }

    /// What the kernel gives in the emulator.
    ///
    /// # Errors
    /// The kernel's first mistake.
    pub fn emulate(&self) -> Result<Vec<f16>, Fault> {
        let &Self { ny, nx, blocks, stages, tile_stages, launches, seed, .. } = self;
        match self.kernel {
            Kernel::Sweep2d { .. } => {
                let (tile_rows, stages) = (self.tile_rows(), stages.input);
                let sweep = Sweep2d { ny, nx, blocks, stages, tile_rows, seed };
                sweep.run(&self.stencil, &self.values, launches).map(|(values, _)| values)
            }
            Kernel::Chain2d { radius, chain } => {
                let launch = Chain2d { radius, chain, ny, nx, blocks, stages, tile_stages, seed };
                emulated::chain(launch, &self.stencil, &self.values, launches)
            }
        }
    }

    /// Time steps.
    fn steps(&self) -> usize {
        self.launches * self.kernel.steps()
    }

    /// What the stencil gives with zeros around the grid, summed in f64, rounded to f16 after each
    /// step.
    #[must_use]
    pub fn plain(&self) -> Vec<f16> {
        let mut values = self.values.clone();
        for _ in 0..self.steps() {
            let sums = plain::step(&self.stencil, self.ny as usize, self.nx as usize, &values);
            values = sums.iter().map(|(sum, _)| f16::from_f64(*sum)).collect();
        }
        values
    }

    /// Whether the kernel promises a right value at this index: a chained one only where no step but
    /// the first meets the boundary.
    fn promised(&self, index: usize) -> bool {
        let (ny, nx) = (self.ny as usize, self.nx as usize);
        let (y, x) = (index / nx, index % nx);
        let to_boundary = y.min(ny - 1 - y).min(x).min(nx - 1 - x);
        self.kernel.steps() == 1
            || to_boundary >= self.kernel.radius() as usize * (self.steps() - 1)
    }

    /// How two results of this case differ where the kernel promises one.
    ///
    /// # Panics
    /// Where they have not as many points.
    #[must_use]
    pub fn compare(&self, got: &[f16], want: &[f16]) -> Difference {
        assert_eq!(got.len(), want.len(), "as many points");
        let promised = (0..got.len()).filter(|&index| self.promised(index));
        promised.fold(Difference::default(), |all, index| {
            let (got, want) = (got[index], want[index]);
            if got.to_bits() == want.to_bits() {
                return Difference { points: all.points + 1, ..all };
            }
            let error = (got.to_f64() - want.to_f64()).abs();
            let error = if error.is_nan() { f64::INFINITY } else { error };
            let bound = self.bound(if rank(got).abs() > rank(want).abs() { got } else { want });
            all.and(Difference {
                points: 1,
                differ: 1,
                ulps: rank(got).abs_diff(rank(want)),
                error,
                of_bound: if self.exact { f64::INFINITY } else { error / bound },
            })
        })
    }

    /// How far two results may be apart, of which the larger one is given, unless sums are exact
    /// (`docs/testing.md`): what summing in f32 in an order of its own loses in each of radius + 1
    /// products and the spacing of f16 there; in each step before, its spacing below 1.
    fn bound(&self, larger: f16) -> f64 {
        let sum = f64::from(self.kernel.radius() + 1) * 41.0 * 2f64.powi(-24);
        let before = (self.steps() - 1) as f64;
        before * (sum + 2f64.powi(-11)) + sum + spacing(larger)
    }
}

/// How two results differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Points compared.
    pub points: usize,
    /// Points with other bits.
    pub differ: usize,
    /// Largest difference, counted in f16 numbers.
    pub ulps: u32,
    /// Largest absolute difference; infinite where a result is not a number.
    pub error: f64,
    /// The largest part of what rounding explains; more than 1 where it does not.
    pub of_bound: f64,
}

impl Difference {
    /// Whether rounding explains it.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.of_bound <= 1.0
    }

    /// Of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            points: self.points + other.points,
            differ: self.differ + other.differ,
            ulps: self.ulps.max(other.ulps),
            error: self.error.max(other.error),
            of_bound: self.of_bound.max(other.of_bound),
        }
    }
}

/// The position of a number among all of its type.
fn rank(value: f16) -> i32 {
    let magnitude = i32::from(value.to_bits() & 0x7fff);
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// From a finite number to the next larger one in magnitude.
fn spacing(value: f16) -> f64 {
    let exponent = i32::from(value.to_bits() >> 10 & 31).max(1);
    2f64.powi(exponent - 25)
}
