// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conformance cases of the points near the boundary.

use crate::draw;
use crate::stepped::{self, random_boundary};
use crate::suite::{self, Difference, assert_holds};
use kernels_gpu::rim::Box3;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::device::{Device, Emulator, Limits, Plane};
use stencil::families::Pass;
use stencil::families::direct::{self, Direct};
use stencil::families::rim::{GridSurroundings, Rim, RimPlan, SharedBudget};
use stencil::problem::boundary::Side;
use stencil::values::Element;
use stencil::{Boundary, Dtype, Error, Grid, Shape, with_dtype};
use transform::Stencil;

/// What points hold that are not the rim's.
const ELSEWHERE: f64 = 7.0;

/// A stencil on a grid, near the boundary of which some time steps are computed.
#[derive(Clone, Debug)]
pub struct Case {
    /// The stencil, with weights that the element type can hold.
    pub stencil: Stencil,
    /// What lies around the grid.
    pub boundary: Boundary,
    /// Extents of the grid.
    pub shape: Shape,
    /// Element type.
    pub dtype: Dtype,
    /// Time steps.
    pub steps: usize,
    /// The grid in C order, which the type can hold; absolute values are at most 1.
    pub values: Vec<f64>,
    /// The launch.
    pub plan: RimPlan,
    /// Seed of the emulator.
    pub seed: u64,
}

/// How the rims of a GPU are launched: after all else, or beside a launch that takes most shared memory.
#[must_use]
pub fn budgets() -> [SharedBudget; 2] {
    let most_bytes = Limits::H200.shared_bytes;
    [SharedBudget::after(most_bytes), SharedBudget::beside(most_bytes, 1, 160 << 10)]
}

impl Case {
    /// Random values; none where no point is near the boundary.
    ///
    /// # Panics
    /// Where what a point depends on does not fit shared memory.
    #[must_use]
    pub fn new(
        random: &mut impl RngExt,
        (stencil, boundary, shape, dtype): (&Stencil, Boundary, Shape, Dtype),
        steps: usize,
        budget: SharedBudget,
    ) -> Option<Self> {
        let stencil = dtype.round_weights(stencil);
        let plan =
            RimPlan::new(&stencil, GridSurroundings::whole(&boundary), shape, dtype, steps, budget);
        let plan = plan.unwrap_or_else(|reason| panic!("{stencil:?} on {shape}: {reason}"))?;
        let any = |_| dtype.round(random.random_range(-1.0..1.0));
        let values = (0..shape.points()).map(any).collect();
        let seed = random.random();
        Some(Self { stencil, boundary, shape, dtype, steps, values, plan, seed })
    }

    /// Whether a point is the rim's.
    #[must_use]
    pub fn is_near(&self, at: [usize; 3]) -> bool {
        let [Box3 { z, y, x }] = self.plan.inner[..] else { panic!("one box of a whole grid") };
        let inner = [z, y, x];
        (0..3).any(|axis| !(inner[axis].low..inner[axis].high).contains(&(at[axis] as i32)))
    }

    /// Whether a kernel that takes all steps at once, with zeros around the grid before the first, may get
    /// a point wrong.
    fn must_be_near(&self, at: [usize; 3]) -> bool {
        let steps = self.steps;
        (0..3).any(|axis| {
            let radius = self.stencil.radii()[axis];
            let depth = |side| radius * if side == Side::Zero { steps - 1 } else { steps };
            let [low, high] = self.boundary.sides[axis].map(depth);
            at[axis] < low || self.shape.extents()[axis] - 1 - at[axis] < high
        })
    }

    fn positions(&self) -> impl Iterator<Item = [usize; 3]> {
        let [nz, ny, nx] = self.shape.extents();
        let rows = (0..nz).flat_map(move |z| (0..ny).map(move |y| (z, y)));
        rows.flat_map(move |(z, y)| (0..nx).map(move |x| [z, y, x]))
    }

    /// Points that the rim computes.
    #[must_use]
    pub fn computed(&self) -> usize {
        self.positions().filter(|&at| self.is_near(at)).count()
    }

    /// The largest part of what rounding explains by which the rim's points are off, and where; infinite
    /// where a point is missing, or another one is not as it was.
    #[must_use]
    pub fn of_bound(&self, got: &[f64]) -> (f64, [usize; 3]) {
        let wrong = self.positions().zip(got).find(|&(at, &got)| {
            if self.is_near(at) { false } else { self.must_be_near(at) || got != ELSEWHERE }
        });
        if let Some((at, _)) = wrong {
            return (f64::INFINITY, at);
        }
        let Self { stencil, boundary, shape, dtype, values, steps, .. } = self;
        let of = (stencil, boundary, *shape, *dtype);
        stepped::worst(of, values, *steps, got, |at| self.is_near(at))
    }

    /// What the rim gives in a grid that holds something else, launched by `launch` while a step that reads the
    /// same grid, and writes a third one, may still run.
    ///
    /// # Errors
    /// The device refuses; of the emulator, also the kernel's first mistake.
    ///
    /// # Panics
    /// Where the kernel changes its input or what lies around the grid.
    pub fn run_by(
        &self,
        device: &dyn Device,
        launch: impl FnOnce(&dyn Fn() -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Vec<f64>, Error> {
        let &Self { ref stencil, boundary, shape, dtype, .. } = self;
        let grid = |of: &mut dyn Iterator<Item = f64>| {
            let values = with_dtype!(dtype, T => T::wrap(of.map(T::from_f64).collect()));
            Grid { shape, values }
        };
        let plane = || Plane::new(device, shape, dtype);
        let mut planes = [plane()?, plane()?, plane()?];
        let input = grid(&mut self.values.iter().copied());
        planes[0].upload(device, &input)?;
        planes[1].upload(device, &grid(&mut self.values.iter().map(|_| ELSEWHERE)))?;
        let before = direct::Variant::new(stencil, &boundary, shape, dtype);
        let before = Direct::new(device, before, shape, dtype)?;
        let rim = Rim::new(device, self.plan.clone(), shape, dtype)?;
        before.repeat(device, [&planes[0], &planes[2]], 1)?;
        if self.plan.rim.again {
            // It overwrites what the launch before writes, once that has ended: here, the same.
            rim.repeat(device, [&planes[0], &planes[1]], 1)?;
        }
        launch(&|| rim.repeat(device, [&planes[0], &planes[1]], 1))?;
        device.wait()?;
        let got = planes[1].download(device)?;
        assert_holds(device, &planes[0], &input)?;
        assert_holds(device, &planes[1], &got)?;
        Ok((0..self.values.len()).map(|index| got.get(index)).collect())
    }

    /// Runs the kernel in the emulator and checks it; returns the number of points that it computed.
    ///
    /// # Panics
    /// Where it is wrong.
    pub fn check(&self) -> usize {
        let got = suite::TestCase::emulate(self).unwrap_or_else(|fault| panic!("{self}: {fault}"));
        let (part, point) = self.of_bound(&got);
        assert!(part <= 1.0, "{self}: point {point:?} is off by {part} of the bound");
        self.computed()
    }
}

impl suite::TestCase for Case {
    type Points = Vec<f64>;

    fn kernel(&self) -> String {
        self.plan.kernel().into()
    }

    fn points(&self) -> usize {
        self.values.len()
    }

    fn emulator(&self) -> Emulator {
        Emulator::new().with_seed(self.seed)
    }

    fn run(&self, device: &dyn Device) -> Result<Vec<f64>, Error> {
        self.run_by(device, |launch| launch())
    }

    /// Multiply-adds of CUDA cores are rounded in one way only.
    fn compare(&self, got: &Vec<f64>, emulated: &Vec<f64>) -> Difference {
        Difference::new(got, emulated, self.of_bound(got).0).exact()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stencil, boundary, shape, dtype, steps, plan, seed, .. } = self;
        let (kernel, points, radii) = (plan.kernel(), stencil.taps().len(), stencil.radii());
        let boundary = boundary.describe(stencil.dims());
        let beside = if plan.rim.again { "" } else { "beside, " };
        write!(
            f,
            "{kernel} in {dtype}, {beside}{points} points of radii {radii:?} on {shape}, boundary \
             {boundary}, {steps} steps, seed {seed}"
        )
    }
}

/// A case with a random stencil of so many axes and radii up to `radius`, on a grid of extents up to
/// `most`, in every sixth case of a few points.
fn random_case(
    random: &mut impl RngExt,
    dims: usize,
    radius: usize,
    most: usize,
    dtype: Dtype,
) -> Option<Case> {
    let most = if random.random_ratio(1, 6) { 4 } else { most };
    let shape = Shape::new(&draw::extents(random, &vec![most; dims])).expect("points");
    let radius = random.random_range(0..=radius);
    let stencil = draw::stencil_of_radius(random, dims, radius);
    let boundary = random_boundary(random, dims);
    let (steps, budget) = (random.random_range(1..=5), budgets()[random.random_range(0..2)]);
    Case::new(random, (&stencil, boundary, shape, dtype), steps, budget)
}

/// Cases of any stencil, so many of each type on grids of so many axes.
#[must_use]
pub fn random_cases(dims: usize, count: usize) -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(dims as u64);
    let most = [400, 60, 16][dims - 1];
    let mut of_type = |dtype: Dtype| -> Vec<Case> {
        (0..count).filter_map(|_| random_case(&mut random, dims, 3, most, dtype)).collect()
    };
    Dtype::ALL.iter().copied().flat_map(&mut of_type).collect()
}

/// Cases of stencils that are dense, or nearly, or reach less far along some axis, so that they almost have
/// a kernel of their own.
#[must_use]
pub fn dense_cases() -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut cases = Vec::new();
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32] {
        for (dims, radius) in [(2, 1), (2, 2), (2, 3), (3, 1)] {
            for turn in 0..6 {
                let mut radii = [0; 3];
                radii[3 - dims..].fill(radius);
                if turn == 0 {
                    radii[random.random_range(3 - dims..3)] = random.random_range(0..radius);
                }
                let mut offsets = draw::all_offsets(radii, |_| true);
                if turn == 1 {
                    let corner = offsets[0];
                    offsets.retain(|&offset| offset == corner || random.random_ratio(3, 4));
                }
                let stencil = draw::weighted(&mut random, dims, offsets);
                let most = if turn == 2 { 5 } else { [50, 12][dims - 2] };
                let shape = Shape::new(&draw::extents(&mut random, &vec![most; dims]));
                let boundary = random_boundary(&mut random, dims);
                let (steps, budget) = (random.random_range(1..=5), budgets()[turn % 2]);
                let of = (&stencil, boundary, shape.expect("points"), dtype);
                cases.extend(Case::new(&mut random, of, steps, budget));
            }
        }
    }
    cases
}

/// Cases of every kernel.
#[must_use]
pub fn cases() -> Vec<Case> {
    [random_cases(1, 6), random_cases(2, 6), random_cases(3, 4), dense_cases()].concat()
}
