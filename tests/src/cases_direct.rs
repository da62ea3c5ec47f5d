// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of one time step on CUDA cores.

use crate::draw;
use crate::stepped::{self, random_boundary};
use crate::suite::{self, Difference, launch};
use kernels_gpu::direct::rows::CLASSES;
use kernels_gpu::direct::{WARPS, stream, tile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::device::{Device, Emulator};
use stencil::families::direct::{Direct, Variant};
use stencil::values::Element;
use stencil::{Boundary, Dtype, Error, Grid, Shape, with_dtype};
use transform::{Stencil, Tap};

/// Types of the kernels.
pub const DTYPES: [Dtype; 4] = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64];

/// A stencil on a grid, and how it is launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// The stencil, with weights that the element type can hold.
    pub stencil: Stencil,
    /// What lies around the grid; kernels other than `points` see zeros.
    pub boundary: Boundary,
    /// Extents of the grid.
    pub shape: Shape,
    /// Element type.
    pub dtype: Dtype,
    /// The grid in C order, which the type can hold; absolute values are at most 1.
    pub values: Vec<f64>,
    /// The launch.
    pub variant: Variant,
    /// Seed of the emulator.
    pub seed: u64,
}

impl Case {
    /// Random values on a grid of zeros around, in a launch that `variant` makes for the stencil with rounded
    /// weights.
    #[must_use]
    pub fn new(
        random: &mut impl RngExt,
        stencil: &Stencil,
        shape: Shape,
        dtype: Dtype,
        variant: impl Fn(&Stencil) -> Variant,
    ) -> Self {
        let stencil = dtype.round_weights(stencil);
        let variant = variant(&stencil);
        let any = |_| dtype.round(random.random_range(-1.0..1.0));
        let values = (0..shape.points()).map(any).collect();
        let (boundary, seed) = (Boundary::default(), random.random());
        Self { stencil, boundary, shape, dtype, values, variant, seed }
    }

    /// The largest part of what rounding explains by which a step is off, and its point.
    #[must_use]
    pub fn of_bound(&self, got: &[f64]) -> (f64, [usize; 3]) {
        let boundary = if self.variant.needs_rim() { Boundary::default() } else { self.boundary };
        let Self { stencil, shape, dtype, values, .. } = self;
        stepped::worst((stencil, &boundary, *shape, *dtype), values, 1, got, |_| true)
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
    type Points = Vec<f64>;

    fn kernel(&self) -> String {
        self.variant.kernel().into()
    }

    fn points(&self) -> usize {
        self.values.len()
    }

    fn emulator(&self) -> Emulator {
        Emulator::new().with_seed(self.seed)
    }

    fn run(&self, device: &dyn Device) -> Result<Vec<f64>, Error> {
        let pass = Direct::new(device, self.variant.clone(), self.shape, self.dtype)?;
        let values = with_dtype!(self.dtype, T => {
            T::wrap(self.values.iter().map(|&value| T::from_f64(value)).collect())
        });
        let input = Grid { shape: self.shape, values };
        let got = launch(device, &pass, self.dtype, &input, 1)?;
        Ok((0..self.values.len()).map(|index| got.get(index)).collect())
    }

    /// Multiply-adds of CUDA cores are rounded in one way only.
    fn compare(&self, got: &Vec<f64>, emulated: &Vec<f64>) -> Difference {
        Difference::new(got, emulated, self.of_bound(got).0).exact()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stencil, boundary, shape, dtype, variant, seed, .. } = self;
        let (kernel, points, radii) = (variant.kernel(), stencil.taps().len(), stencil.radii());
        let boundary = boundary.describe(stencil.dims());
        write!(
            f,
            "{kernel} in {dtype}, {points} points of radii {radii:?} on {shape}, boundary {boundary}, \
             seed {seed}"
        )
    }
}

/// A grid of any size, in a fifth of all cases of a few points.
fn shape(random: &mut impl RngExt, dims: usize) -> Shape {
    let most: &[usize] = match dims {
        1 => &[5000],
        2 => &[40, 600],
        _ => &[12, 14, 300],
    };
    let extents = if random.random_ratio(1, 5) {
        draw::extents(random, &vec![4; dims])
    } else {
        draw::extents(random, most)
    };
    Shape::new(&extents).expect("extents of at least 1")
}

/// A stencil of so many axes for a kernel: all that it takes, or of a radius of its own on each axis.
fn stencil(random: &mut impl RngExt, dims: usize, radius: usize, star: bool, all: bool) -> Stencil {
    let may_have = |offset| !star || draw::is_on_axis(offset);
    let mut radii = [0; 3];
    for on_axis in &mut radii[3 - dims..] {
        *on_axis = if all { radius } else { random.random_range(0..=radius) };
    }
    let offsets = if all {
        draw::all_offsets(radii, may_have)
    } else {
        draw::offsets(random, radii, may_have)
    };
    draw::weighted(random, dims, offsets)
}

/// The type whose stored elements a kernel names.
fn dtype_of(element: &str) -> Dtype {
    let named = |dtype: &Dtype| dtype.to_string() == element;
    DTYPES.into_iter().find(named).expect("a type of the kernels")
}

/// Cases of `kernels_gpu::direct::tile`: the tuned order of blocks, and any other.
#[must_use]
pub fn tiles() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut cases = Vec::new();
    for kernel in tile::KERNELS {
        let dtype = dtype_of(kernel.element);
        for turn in 0..4 {
            let stencil = stencil(&mut random, kernel.dims, kernel.radius, kernel.star, turn == 0);
            let shape = shape(&mut random, kernel.dims);
            let tile = |stencil: &Stencil| Variant::tile(kernel, stencil, shape, dtype);
            let mut case = Case::new(&mut random, &stencil, shape, dtype, tile);
            if let Variant::Tile { tiles, .. } = &mut case.variant
                && turn > 0
            {
                let [down, deep] =
                    [[1, 1], [2, 1], [8, 1], [2, 2], [1, 8]][random.random_range(0..5)];
                assert!(down * deep <= WARPS as i32);
                (tiles.down, tiles.deep) = (down, deep);
                tiles.band = random.random_range(1..5);
            }
            cases.push(case);
        }
    }
    cases
}

/// Cases of `kernels_gpu::direct::stream`: segments of the tuned length, and of any other.
#[must_use]
pub fn streams() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut cases = Vec::new();
    for kernel in stream::KERNELS {
        let dtype = dtype_of(kernel.element);
        for turn in 0..4 {
            let stencil = stencil(&mut random, kernel.dims, kernel.radius, false, turn == 0);
            let shape = shape(&mut random, kernel.dims);
            let stream = |stencil: &Stencil| Variant::stream(kernel, stencil, shape, dtype);
            let mut case = Case::new(&mut random, &stencil, shape, dtype, stream);
            if let Variant::Stream { lines, .. } = &mut case.variant
                && turn > 0
            {
                lines.segment = random.random_range(1..20);
            }
            cases.push(case);
        }
    }
    cases
}

/// Cases of `kernels_gpu::direct::rows`.
#[must_use]
pub fn rows() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut cases = Vec::new();
    for dtype in DTYPES {
        for class in CLASSES {
            for dims in 1..=3 {
                let most = if dims == 3 { class.min(4) } else { class };
                let mut radii = draw::radii(&mut random, dims, most);
                // The class is by the radius along x, down to one more than the next class.
                radii[2] = random.random_range(class / 2 + 1..=class);
                let mut stencil = draw::stencil(&mut random, dims, radii);
                if random.random_ratio(1, 4) {
                    stencil = narrow(&stencil);
                }
                let shape = shape(&mut random, dims);
                let rows = |stencil: &Stencil| Variant::rows(stencil, shape, dtype);
                cases.push(Case::new(&mut random, &stencil, shape, dtype, rows));
            }
        }
    }
    cases
}

/// Leaves of a stencil one neighbour in each row but the first: the kernel takes such rows by themselves.
fn narrow(stencil: &Stencil) -> Stencil {
    let first = stencil.taps()[0].offset;
    let keep = |tap: &&Tap| tap.offset[2] == 0 || tap.offset[..2] == first[..2];
    let taps = stencil.taps().iter().filter(keep).copied().collect();
    Stencil::new("narrow", stencil.dims(), taps).expect("the first row stays")
}

/// Cases of `kernels_gpu::direct::points`, of a radius beyond the halo or not, with any boundary.
#[must_use]
pub fn points() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut cases = Vec::new();
    for dtype in DTYPES {
        for turn in 0..8 {
            let dims = 1 + turn % 3;
            let radius = random.random_range(9..=16);
            let radii = draw::radii(&mut random, dims, radius);
            let offsets = draw::offsets(&mut random, radii, |_| true);
            // Of a box of that size, some points that are as far.
            let step = offsets.len().div_ceil(16);
            let mut few: Vec<[i32; 3]> = offsets.iter().copied().step_by(step).collect();
            for axis in 0..3 {
                few.extend(offsets.iter().max_by_key(|offset| offset[axis].abs()));
            }
            few.sort_unstable();
            few.dedup();
            let stencil = draw::weighted(&mut random, dims, few);
            let boundary = random_boundary(&mut random, dims);
            let most = [700, 30, 8][dims - 1];
            let extents = draw::extents(&mut random, &vec![most; dims]);
            let shape = Shape::new(&extents).expect("extents of at least 1");
            let variant = |stencil: &Stencil| Variant::new(stencil, &boundary, shape, dtype);
            let case = Case::new(&mut random, &stencil, shape, dtype, variant);
            assert!(!case.variant.needs_rim(), "{case}");
            cases.push(Case { boundary, ..case });
        }
    }
    cases
}

/// Cases of every kernel.
#[must_use]
pub fn cases() -> Vec<Case> {
    [tiles(), streams(), rows(), points()].concat()
}
