// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases: every kernel on grids of every kind. The tests run them in the emulator
//! against the plain stencil, `gpu-suite` on a GPU against the emulator.

use crate::draw;
use crate::emulated::Together;
use crate::number::{roundoff, spacing};
use crate::plain;
use crate::suite::{self, Difference, launch};
use cuda_mma::fragment::{self, SparseMma};
use kernels_gpu::chain2d::{self, Stages};
use kernels_gpu::layout::CHUNK;
use kernels_gpu::product::Form;
use kernels_gpu::sweep2d;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::device::{Device, Emulator};
use stencil::families::Pass;
use stencil::families::chain2d::{self as chain, Chain2d};
use stencil::families::sweep2d::{Config, Sweep2d, Wavefronts};
use stencil::values::Element;
use stencil::{Dtype, Error, Grid, Shape, with_dtype};
use transform::Stencil;
use transform::factors::Factors;
use transform::split;
use transform::window::window;

/// Most time steps of a case; [`draw::dyadic`] needs them to be few.
const MOST_STEPS: usize = 4;

/// Grids that have been trouble: several tiles, whole ones, less than one, single points; the ones
/// that show most come first.
const GRIDS: [(u32, u32); 6] = [(70, 530), (52, 512), (33, 65), (1, 600), (7, 5), (1, 1)];

/// A kernel of sweeps or of chains in 2D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepKernel {
    /// `kernels_gpu::sweep2d`.
    Sweep2d {
        /// Of which products.
        form: Form,
        /// Element type.
        dtype: Dtype,
        /// Radius of the stencil.
        radius: u32,
    },
    /// `kernels_gpu::chain2d`.
    Chain2d {
        /// Element type.
        dtype: Dtype,
        /// Radius of the stencil.
        radius: u32,
        /// Time steps of a launch.
        chain: u32,
    },
}

impl SweepKernel {
    /// Every kernel there is, but for chains of dense products: those are [`crate::families`]' alone.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32] {
            let exists = |radius, chain| {
                let element = dtype.factors().and_then(Factors::element);
                element
                    .and_then(|element| chain2d::kernel(Form::Sparse, element, radius, chain))
                    .is_some()
            };
            for form in [Form::Sparse, Form::Dense] {
                let exists = |radius: &u32| {
                    let factors = dtype.factors();
                    factors.and_then(|of| sweep2d::kernels(form, of, *radius)).is_some()
                };
                let sweep = |radius| Self::Sweep2d { form, dtype, radius };
                all.extend((1..=3).filter(exists).map(sweep));
            }
            for radius in 1..=3 {
                let chains = (1..=chain2d::MAX_CHAIN).filter(|&chain| exists(radius, chain));
                all.extend(chains.map(|chain| Self::Chain2d { dtype, radius, chain }));
            }
        }
        all
    }

    /// Element type.
    #[must_use]
    pub fn dtype(self) -> Dtype {
        match self {
            Self::Sweep2d { dtype, .. } | Self::Chain2d { dtype, .. } => dtype,
        }
    }

    /// Radius of the stencil.
    #[must_use]
    pub fn radius(self) -> u32 {
        match self {
            Self::Sweep2d { radius, .. } | Self::Chain2d { radius, .. } => radius,
        }
    }

    /// Whether it is also built for chips before sm_90.
    #[must_use]
    pub fn runs_on_sm_80(self) -> bool {
        matches!(self, Self::Sweep2d { .. })
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

impl fmt::Display for SweepKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sweep2d { form, dtype, radius } => {
                let form = if *form == Form::Dense { "dense_" } else { "" };
                f.pad(&format!("{form}sweep2d_{dtype}_r{radius}"))
            }
            Self::Chain2d { dtype, radius, chain } => {
                f.pad(&format!("chain2d_{dtype}_r{radius}_c{chain}"))
            }
        }
    }
}

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kernel.
    pub kernel: SweepKernel,
    /// The stencil; its absolute weights sum to at most 1.
    pub stencil: Stencil,
    /// Whether every sum is exact in f32, in any order, so that results have one right value.
    pub exact: bool,
    /// Rows of the grid.
    pub ny: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// The grid in C order, exact in the kernel's type; absolute values are at most 1.
    pub values: Vec<f64>,
    /// Launches, back and forth between two buffers.
    pub launches: usize,
    /// Launches of a sweep that are made one, of as many time steps.
    pub together: usize,
    /// Steps of those in a wavefront.
    pub depth: u32,
    /// Stages of the rings; a sweep has the first only.
    pub stages: Stages,
    /// Stages of rows in a tile of a sweep.
    pub tile_stages: u32,
    /// Multiprocessors of the emulator.
    pub multiprocessors: u32,
    /// Blocks on each multiprocessor.
    pub blocks: u32,
    /// Seed of the emulator.
    pub seed: u64,
}

/// The cases of every kernel.
#[must_use]
pub fn all() -> Vec<Case> {
    SweepKernel::all().into_iter().flat_map(cases).collect()
}

/// The cases of a kernel: for every second one, sums are exact.
#[must_use]
pub fn cases(kernel: SweepKernel) -> Vec<Case> {
    let dtype = kernel.dtype() as u64;
    let seed = dtype << 16 | u64::from(kernel.radius()) << 8 | kernel.steps() as u64;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
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

fn case(
    random: &mut ChaCha8Rng,
    kernel: SweepKernel,
    exact: bool,
    ny: u32,
    nx: u32,
    seed: u64,
) -> Case {
    let launches = random.random_range(1..=MOST_STEPS / kernel.steps());
    let points = (ny * nx) as usize;
    let radius = kernel.radius() as usize;
    // First all that the kernel takes, then any radii and sides.
    let offsets = if seed == 0 {
        draw::all_offsets([0, radius, radius], |_| true)
    } else {
        let radii = draw::radii(random, 2, radius);
        draw::offsets(random, radii, |_| true)
    };
    let (stencil, values) = if exact {
        let steps = launches * kernel.steps();
        (draw::dyadic(random, 2, offsets, steps), dyadic_values(random, points))
    } else {
        let value = |_| kernel.dtype().round(random.random_range(-1.0..1.0));
        let values = (0..points).map(value).collect();
        (draw::weighted(random, 2, offsets), values)
    };
    Case {
        kernel,
        stencil,
        exact,
        ny,
        nx,
        values,
        launches,
        together: 1 + seed as usize % launches,
        depth: 1 + seed as u32 / 2 % 3,
        stages: Stages { input: random.random_range(1..5), ring: ring(random, kernel) },
        tile_stages: random.random_range(1..6),
        multiprocessors: random.random_range(1..4),
        // Not drawn, so that the other numbers stay what they were.
        blocks: 1 + seed as u32 % 2,
        seed,
    }
}

/// Stages of a ring between steps; of 32-bit types no more than 3 fit.
fn ring(random: &mut ChaCha8Rng, kernel: SweepKernel) -> u32 {
    let ring = random.random_range(3..5);
    if kernel.dtype().bytes() > 2 { 3 } else { ring }
}

/// Multiples of 2^-6 of at most 1, as [`draw::dyadic`] wants them.
fn dyadic_values(random: &mut ChaCha8Rng, points: usize) -> Vec<f64> {
    (0..points).map(|_| f64::from(random.random_range(-64..=64)) / 64.0).collect()
}

impl Case {
    /// Rows of a tile of a sweep.
    #[must_use]
    pub fn tile_rows(&self) -> u32 {
        self.tile_stages * 2 * (self.kernel.radius() + 1)
    }

    /// The input.
    ///
    /// # Panics
    /// Never: grids have points.
    #[must_use]
    pub fn grid(&self) -> Grid {
        let shape = Shape::new(&[self.ny as usize, self.nx as usize]).expect("points");
        let values = with_dtype!(self.kernel.dtype(), T => T::wrap(self.values_as::<T>()));
        Grid { shape, values }
    }

    fn values_as<T: Element>(&self) -> Vec<T> {
        self.values.iter().map(|&value| T::from_f64(value)).collect()
    }

    /// Time steps.
    fn steps(&self) -> usize {
        self.launches * self.kernel.steps()
    }

    /// What the stencil gives with zeros around the grid, summed in f64, rounded after each step.
    #[must_use]
    pub fn plain(&self) -> Vec<f64> {
        let (dtype, ny, nx) = (self.kernel.dtype(), self.ny as usize, self.nx as usize);
        let mut values = self.values.clone();
        for _ in 0..self.steps() {
            let sums = plain::step_in(dtype, &self.stencil, ny, nx, &values);
            values = sums.iter().map(|(sum, _)| dtype.round(*sum)).collect();
        }
        values
    }

    /// Whether the kernel promises a right value at this index: a chained one only in whole chunks, and
    /// where no step but the first meets the boundary. A chunk that is not whole it leaves to the rim:
    /// here, as poison, of which each step of a later launch can carry zero times NaN a chunk further.
    fn promised(&self, index: usize) -> bool {
        let (ny, nx) = (self.ny as usize, self.nx as usize);
        let (y, x) = (index / nx, index % nx);
        if !matches!(self.kernel, SweepKernel::Chain2d { .. }) {
            return true;
        }
        let chunk = CHUNK as usize;
        let poisoned = match nx % chunk {
            0 => 0,
            rest => rest + chunk * self.kernel.steps() * (self.launches - 1),
        };
        let distance = self.kernel.radius() as usize * (self.steps() - 1);
        x + poisoned < nx && y.min(ny - 1 - y).min(x).min(nx - poisoned - 1 - x) >= distance
    }

    /// How far two results may be apart, of which the larger one is given, unless sums are exact
    /// (`docs/developers/testing.md`): what summing in f32 in an order of its own loses in each product, and the
    /// spacing of stored numbers there; in each step before, the spacing of factors below 1.
    ///
    /// # Panics
    /// Where the kernel's type is not one of tensor cores.
    fn bound(&self, larger: f64) -> f64 {
        let dtype = self.kernel.dtype();
        let factors = dtype.factors().expect("a type of tensor cores");
        let mma = SparseMma::deepest(factors.element().unwrap_or(fragment::Element::Bf16));
        let products = f64::from(2 * (self.kernel.radius() + 1) / mma.per_word() as u32);
        let mut sum = products * (2 * (mma.kept() + 4) + 1) as f64 * 2f64.powi(-24);
        if factors == Factors::Split {
            // Five products of less than 2^-6; sums of CUDA cores; and products that are left out.
            sum *= 1.0 + 5.0 * 2f64.powi(-6);
            sum += 2.0 * (products + 1.0) * 2f64.powi(-24) + split::LEFT_OUT;
        }
        let before = (self.steps() - 1) as f64;
        before * (sum + roundoff(dtype)) + sum + spacing(dtype, larger)
    }
}

impl suite::TestCase for Case {
    type Points = Vec<f64>;

    fn kernel(&self) -> String {
        self.kernel.to_string()
    }

    fn points(&self) -> usize {
        self.values.len()
    }

    fn runs_on_sm_80(&self) -> bool {
        self.kernel.runs_on_sm_80()
    }

    fn emulator(&self) -> Emulator {
        Emulator::new().with_multiprocessors(self.multiprocessors).with_seed(self.seed)
    }

    fn run(&self, device: &dyn Device) -> Result<Vec<f64>, Error> {
        let &Self { kernel, ny, nx, stages, launches, together, blocks, .. } = self;
        let window = window(&self.stencil).expect("a stencil of radius 1 to 3");
        let factors = kernel.dtype().factors().expect("a type of tensor cores");
        let blocks_per_multiprocessor = blocks;
        let pass: Box<dyn Pass> = match kernel {
            SweepKernel::Sweep2d { form, .. } => {
                let (stages, tile_rows) = (stages.input, self.tile_rows());
                let config = Config { stages, blocks_per_multiprocessor, tile_rows };
                // As close behind each other as steps can be.
                let lag = Some(0);
                let wavefronts =
                    Wavefronts { config, depth: self.depth, lag, separate: together == 1 };
                let extents = [ny, nx];
                Box::new(Sweep2d::of(form, device, &window, factors, extents, config, wavefronts)?)
            }
            SweepKernel::Chain2d { chain, .. } => {
                let element = factors.element().expect("as a kernel takes");
                let chain = chain as usize;
                let config = chain::Config { stages, blocks_per_multiprocessor };
                Box::new(Chain2d::new(device, element, &window, chain, [ny, nx], config)?)
            }
        };
        let input = self.grid();
        let pass = Together { pass: &*pass, turns: together };
        let output = launch(device, &pass, kernel.dtype(), &input, launches)?;
        Ok((0..input.shape.points()).map(|index| output.get(index)).collect())
    }

    /// Only where the kernel promises a value; exact results must have the same bits.
    fn compare(&self, got: &Vec<f64>, emulated: &Vec<f64>) -> Difference {
        assert_eq!(got.len(), emulated.len(), "as many points");
        let promised = (0..got.len()).filter(|&index| self.promised(index));
        promised.fold(Difference::default(), |all, index| {
            let (got, want) = (got[index], emulated[index]);
            let differ = usize::from(got.to_bits() != want.to_bits());
            let larger = if got.abs() > want.abs() { got } else { want };
            let of_bound = match differ {
                0 => 0.0,
                _ if self.exact || !got.is_finite() || !want.is_finite() => f64::INFINITY,
                _ => (got - want).abs() / self.bound(larger),
            };
            all.and(Difference { points: 1, differ, of_bound })
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, stencil, exact, ny, nx, launches, seed, .. } = self;
        let (points, radii) = (stencil.taps().len(), stencil.radii());
        write!(
            f,
            "{kernel}, {points} points of radii {radii:?} on {ny}x{nx}, {launches} launches, exact: \
             {exact}, seed {seed}"
        )
    }
}
