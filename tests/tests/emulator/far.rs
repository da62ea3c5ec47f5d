// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids of more than 2³² elements, or of rows of more than 2³¹ bytes: the blocks of every kernel family
//! that compute the last points run in the emulator, on a grid that is zero but near its last corner. Its
//! memory is sparse.

use cuda_mma::fragment;
use cuda_sim::only_blocks;
use kernels_gpu::chain2d::Stages;
use kernels_gpu::line1d::UNITS;
use kernels_gpu::wide2d::TILE_COLUMNS;
use kernels_gpu::{chain3d, direct, rim, row_window, sweep2d, sweep3d};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;
use stencil::device::{Emulator, Plane};
use stencil::families::Pass;
use stencil::families::chain2d::{self, Chain2d};
use stencil::families::chain3d::{self as chain3d_pass, Chain3d};
use stencil::families::direct::{Direct, Variant};
use stencil::families::gather::{self, Gathered};
use stencil::families::line1d::{self, Line1d};
use stencil::families::rim::{GridSurroundings, Rim, RimPlan, SharedBudget};
use stencil::families::sweep2d::{self as sweep2d_pass, Sweep2d, Wavefronts};
use stencil::families::sweep3d::{Config as Config3d, Sweep3d};
use stencil::families::wide2d::{self, Wide};
use stencil::problem::region::Region;
use stencil::values::Element;
use stencil::{Boundary, Dtype, Error, Shape, with_dtype, with_values};
use tests::number::factor;
use tests::tier::one_in;
use tests::{cases_direct, draw, stepped};
use transform::Stencil;
use transform::factors::Factors;
use transform::gather::{OutputTile, gather_tiles};
use transform::row_operand::row_operand;
use transform::star3d::star3d;
use transform::window::window;
use transform::window3d::window3d;

/// 4.9 · 10⁹ points, many rows and columns.
const PLANE: [usize; 3] = [1, 70_001, 70_003];

/// Rows of 1.2 to 2.4 GB: the longest of which a GPU of 141 GB holds a grid in its halo.
const WIDE: [usize; 3] = [1, 11, 604_000_003];

/// 5.0 · 10⁹ points.
const VOLUME: [usize; 3] = [41, 11_003, 11_005];

/// 2³⁰ points, the most along an axis.
const LINE: [usize; 3] = [1, 1, 1 << 30];

/// A stencil, and a grid that is zero but in a window at its last corner.
struct Corner {
    shape: Shape,
    dtype: Dtype,
    stencil: Stencil,
    steps: usize,
    window: [usize; 3],
    values: Vec<f64>,
    /// Whether the output lies before the input in memory.
    upwards: bool,
}

impl Corner {
    /// Exact sums: see [`draw::dyadic`].
    fn new(
        seed: u64,
        extents: [usize; 3],
        dtype: Dtype,
        steps: usize,
        offsets: Vec<[i32; 3]>,
    ) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let dims = extents.iter().skip_while(|&&extent| extent == 1).count();
        let shape = Shape::new(&extents[3 - dims..]).unwrap();
        let stencil = draw::dyadic(&mut random, dims, offsets, steps);
        let most = if dims == 1 { [1, 1, 9000] } else { [7, 40, 700] };
        let window = [0, 1, 2].map(|axis| extents[axis].min(most[axis]));
        let points: usize = window.iter().product();
        let values = (0..points).map(|_| f64::from(random.random_range(-64..=64)) / 64.0);
        Self { shape, dtype, stencil, steps, window, values: values.collect(), upwards: false }
    }

    /// A full box of these radii, or as many of its neighbours as get a weight.
    fn full(seed: u64, extents: [usize; 3], dtype: Dtype, radii: [usize; 3]) -> Self {
        Self::new(seed, extents, dtype, 1, draw::all_offsets(radii, |_| true))
    }

    fn extents(&self) -> [u32; 3] {
        self.shape.extents().map(|extent| extent as u32)
    }

    /// The window in the grid.
    fn region(&self) -> Region {
        let extents = self.shape.extents();
        let low = [0, 1, 2].map(|axis| (extents[axis] - self.window[axis]) as isize);
        Region { low, ..Region::whole(self.shape) }
    }

    /// What the steps give in the window: exact sums, rounded after each step or after the last one.
    fn right(&self, rounds: bool) -> Vec<f64> {
        let window = Shape::new(&self.window).expect("points");
        let mut values = self.values.clone();
        for step in 1..=self.steps {
            if rounds {
                values = values.iter().map(|&value| factor(self.dtype, value)).collect();
            }
            values = stepped::step(&self.stencil, window, &values);
            if rounds || step == self.steps {
                values = values.iter().map(|&sum| self.dtype.round(sum)).collect();
            }
        }
        values
    }

    /// Whether a point of the window depends on none that is outside of it and no longer zero.
    fn is_known(&self, at: [usize; 3]) -> bool {
        let (extents, radii) = (self.shape.extents(), self.stencil.radii());
        let known = |axis: usize| {
            let is_whole = self.window[axis] == extents[axis];
            is_whole || at[axis] >= radii[axis] * (self.steps - 1)
        };
        (0..3).all(known)
    }

    /// Launches some blocks of a pass and compares those points of the window that were computed, which must be
    /// `least` and, at a distance from the sides where the pass promises nothing, the last one.
    fn check<P: Pass>(
        &self,
        [least, distance]: [usize; 2],
        rounds: bool,
        Few { name, multiprocessors, blocks }: Few,
        pass: impl FnOnce(&Emulator) -> Result<P, Error>,
    ) {
        const UNTOUCHED: u8 = 0x7f;
        let device = Emulator::new().with_multiprocessors(multiprocessors).with_seed(1);
        let pass = pass(&device).unwrap_or_else(|error| panic!("{name}: {error}"));
        let grid = |fill| {
            device.allocate_sparse(fill);
            Plane::new(&device, self.shape, self.dtype).expect("sparse memory")
        };
        // In the order in which they lie in memory.
        let first = grid(if self.upwards { UNTOUCHED } else { 0 });
        let second = grid(if self.upwards { 0 } else { UNTOUCHED });
        let (mut input, output) = if self.upwards { (second, first) } else { (first, second) };
        let values = self.values.iter();
        let values =
            with_dtype!(self.dtype, T => T::wrap(values.map(|&x| T::from_f64(x)).collect()));
        input.write(&device, self.region(), &values).expect("rows of the window");
        // A launch that reads the same may still run: rims read before they wait.
        let third = grid(UNTOUCHED);
        let zero = Boundary::default();
        let before = Variant::new(&self.stencil, &zero, self.shape, self.dtype);
        let before = Direct::new(&device, before, self.shape, self.dtype).expect("a step");
        only_blocks(0..1, || before.repeat(&device, [&input, &third], 1)).expect("no mistake");
        only_blocks(blocks, || pass.repeat(&device, [&input, &output], 1))
            .unwrap_or_else(|error| panic!("{name} on {}: {error}", self.shape));
        let got = output.read(&device, self.region()).expect("rows of the window");
        let [_, ny, nx] = self.window;
        let is_whole = ny == self.shape.extents()[1];
        let computed = |index: usize| {
            let (y, x) = (index / nx % ny, index % nx);
            let [above, below] = [y >= distance || !is_whole, y + distance < ny || ny == 1];
            let touched = with_values!(&got, values => {
                bytemuck::bytes_of(&values[index]).iter().any(|&byte| byte != UNTOUCHED)
            });
            touched && (distance == 0 || (x + distance < nx && above && below))
        };
        let points = self.values.len();
        let count = (0..points).filter(|&index| computed(index)).count();
        assert!(count >= least, "{name} on {}: only {count} points", self.shape);
        let last = points - 1 - distance - if ny > 1 { distance * nx } else { 0 };
        assert!(computed(last), "{name} on {}: not the last point", self.shape);
        for (index, right) in self.right(rounds).into_iter().enumerate() {
            let at = [index / (ny * nx), index / nx % ny, index % nx];
            if computed(index) && self.is_known(at) {
                let value = with_values!(&got, values => values[index].to_f64());
                assert_eq!(value, right, "{name} on {}: {at:?} of the window", self.shape);
            }
        }
    }
}

/// The blocks that are launched.
struct Few<'a> {
    /// Of what.
    name: &'a str,
    /// Of the emulator: with as many as there are tiles, each block has one.
    multiprocessors: u32,
    /// Which of the launch.
    blocks: Range<u32>,
}

/// The last blocks of so many, of a launch that has as many if there are as many multiprocessors.
fn last(name: &str, blocks: u32, count: u32) -> Few<'_> {
    Few { name, multiprocessors: blocks, blocks: blocks.saturating_sub(count)..blocks }
}

/// Every second of some grids, by turns, or all of them in a thorough run.
fn some<T, const N: usize>(all: [T; N], turn: usize) -> impl Iterator<Item = T> {
    let step = one_in(2);
    all.into_iter().skip(turn % step).step_by(step)
}

#[test]
fn sweeps_of_planes() {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32] {
        let factors = dtype.factors().unwrap();
        let grids = [(PLANE, 12), (WIDE, 6)];
        for (extents, tile_rows) in some(grids, dtype as usize) {
            let corner = Corner::full(1, extents, dtype, [0, 2, 2]);
            let [_, ny, nx] = corner.extents();
            let blocks = ny.div_ceil(tile_rows) * nx.div_ceil(sweep2d::TILE_COLUMNS);
            corner.check([500, 0], true, last("sweep2d", blocks, 2), |device| {
                sweep(device, &corner, factors, tile_rows)
            });
        }
    }
}

/// The other way, from the last row of tiles on: so are sweeps from the second grid to the first.
#[test]
fn sweeps_of_planes_upwards() {
    let factors = Factors::One(fragment::Element::F16);
    let corner = Corner::full(1, PLANE, Dtype::F16, [0, 1, 1]);
    let corner = Corner { upwards: true, ..corner };
    let [_, ny, nx] = corner.extents();
    let columns = nx.div_ceil(sweep2d::TILE_COLUMNS);
    let few = Few {
        name: "sweep2d upwards",
        multiprocessors: ny.div_ceil(8) * columns,
        blocks: columns - 2..columns,
    };
    corner.check([500, 0], true, few, |device| sweep(device, &corner, factors, 8));
}

fn sweep(
    device: &Emulator,
    corner: &Corner,
    factors: Factors,
    tile_rows: u32,
) -> Result<Sweep2d, Error> {
    let [_, ny, nx] = corner.extents();
    let window = window(&corner.stencil).unwrap();
    let config = sweep2d_pass::Config { stages: 2, blocks_per_multiprocessor: 1, tile_rows };
    let wavefronts = Wavefronts { config, depth: 1, lag: None, separate: true };
    Sweep2d::new(device, &window, factors, [ny, nx], config, wavefronts)
}

#[test]
fn chained_sweeps_of_planes() {
    for dtype in [Dtype::F16, Dtype::Tf32] {
        let element = dtype.factors().and_then(Factors::element).unwrap();
        for extents in [PLANE, WIDE] {
            let offsets = vec![[0, -1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 1, 1]];
            let corner = Corner::new(2, extents, dtype, 2, offsets);
            let window = window(&corner.stencil).unwrap();
            let [_, ny, nx] = corner.extents();
            // Each block has about so many rows of a column of tiles.
            let blocks = nx.div_ceil(480) * ny.div_ceil(60);
            let distance = 1 + (nx % 8) as usize;
            corner.check([500, distance], true, last("chain2d", blocks, 2), |device| {
                let stages = Stages { input: 2, ring: 3 };
                let config = chain2d::Config { stages, blocks_per_multiprocessor: 1 };
                Chain2d::new(device, element, &window, 2, [ny, nx], config)
            });
        }
    }
}

#[test]
fn sweeps_of_many_rows() {
    for element in [fragment::Element::F16, fragment::Element::Bf16] {
        let dtype = tests::stored::dtype(element);
        for (extents, tile_rows) in [(PLANE, 20), (WIDE, 11)] {
            let corner = Corner::full(3, extents, dtype, [0, 4, 7]);
            let operand = row_operand(&corner.stencil, 4, element).unwrap();
            let [_, ny, nx] = corner.extents();
            let blocks = ny.div_ceil(tile_rows) * nx.div_ceil(TILE_COLUMNS);
            corner.check([500, 0], true, last("wide2d", blocks, 2), |device| {
                let tile_rows = Some(tile_rows);
                let config = wide2d::Config { stages: 3, blocks_per_multiprocessor: 1, tile_rows };
                Wide::new(device, &operand, ny, nx, config)
            });
        }
    }
}

#[test]
fn sweeps_of_lines() {
    let element = fragment::Element::F16;
    let corner = Corner::full(4, LINE, Dtype::F16, [0, 0, 7]);
    let operand = row_operand(&corner.stencil, 0, element).unwrap();
    let nx = corner.extents()[2];
    let threads = 128;
    let blocks = nx.div_ceil(row_window::UNIT * UNITS * threads / 32);
    corner.check([2000, 0], true, last("line1d", blocks, 2), |device| {
        let config = line1d::Config { threads, blocks_per_multiprocessor: 1, overlap: true };
        Line1d::new(device, &operand, nx, config)
    });
}

#[test]
fn sweeps_of_volumes() {
    for kernel in sweep3d::KERNELS {
        let element = tests::grid3d::element(kernel.element);
        let dtype = tests::stored::dtype(element);
        let mut near = vec![[0, 0, 0], [1, 0, 0], [-1, 0, 1], [0, 1, -1], [0, -1, 0]];
        near.push([0, 0, kernel.radius as i32]);
        for upwards in [false, true] {
            let corner = Corner::new(5, VOLUME, dtype, 1, near.clone());
            let corner = Corner { upwards, ..corner };
            let window = window3d(&corner.stencil).unwrap();
            let extents = corner.extents();
            let tile = sweep3d::WarpGrid { across: 2, down: 2 };
            let blocks: u32 = tile.segments(extents, 5).iter().product();
            let few = last(kernel.name, blocks, 2);
            let few = if upwards { Few { blocks: 0..2, ..few } } else { few };
            corner.check([200, 0], true, few, |device| {
                let config = Config3d {
                    tile,
                    stages: 3,
                    producers: 2,
                    blocks_per_multiprocessor: 1,
                    segment_planes: Some(5),
                };
                Sweep3d::by(device, kernel, &window, element, extents, config)
            });
        }
    }
}

#[test]
fn chained_sweeps_of_volumes() {
    for kernel in chain3d::KERNELS {
        let element = tests::grid3d::element(kernel.element);
        let dtype = tests::stored::dtype(element);
        let star = vec![[-1, 0, 0], [0, -1, 0], [0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 1, 0]];
        let corner = Corner::new(6, VOLUME, dtype, kernel.steps as usize, star);
        let operand = star3d(&corner.stencil, element).unwrap();
        let tile = chain3d::WarpGrid { across: 2, down: 2, units: kernel.units };
        let extents = corner.extents();
        let blocks = tile.blocks(kernel.steps, extents, 0, 7);
        corner.check([200, 0], true, last(kernel.name, blocks, 2), |device| {
            let segments = Some([0, 7]);
            let config = chain3d_pass::Config { tile, blocks_per_multiprocessor: 1, segments };
            Chain3d::new(device, kernel, &operand, extents, config)
        });
    }
}

#[test]
fn gathers() {
    // Addresses are those of the other 16-bit type, too.
    let types =
        tests::gather::TYPES.into_iter().filter(|element| *element != fragment::Element::Bf16);
    for element in types {
        let dtype = tests::stored::dtype(element);
        for (number, tile) in OutputTile::ALL.into_iter().enumerate() {
            let grids = [(PLANE, [0, 3, 2]), (WIDE, [0, 2, 3]), (VOLUME, [1, 1, 1])];
            for (extents, radii) in some(grids, number) {
                let corner = Corner::full(7, extents, dtype, radii);
                let gather = gather_tiles(&corner.stencil, element, tile).unwrap();
                let config = gather::Config {
                    tile: [2, 2],
                    stages: gather.footprint.extent[0] as u32 + 1,
                    warps: 4,
                    blocks_per_multiprocessor: 1,
                    segment: Some(3),
                };
                let pass = |device: &Emulator| Gathered::new(device, &gather, corner.shape, config);
                // With more multiprocessors than there can be tiles, each block has one.
                let most = Emulator::new().with_multiprocessors(1 << 26);
                let (_, blocks) = pass(&most).unwrap().shape();
                corner.check([100, 0], true, last("gather", blocks, 2), pass);
            }
        }
    }
}

#[test]
fn steps_on_cuda_cores() {
    // Addresses are those of the other 16-bit type, too.
    for dtype in cases_direct::DTYPES.into_iter().filter(|dtype| *dtype != Dtype::Bf16) {
        let grids = [
            (LINE, [0, 0, 2]),
            (PLANE, [0, 1, 1]),
            (PLANE, [0, 2, 3]),
            (PLANE, [0, 5, 4]),
            (PLANE, [0, 1, 9]),
            (WIDE, [0, 3, 2]),
            (VOLUME, [1, 0, 0]),
            (VOLUME, [1, 1, 1]),
            (VOLUME, [2, 1, 1]),
            (VOLUME, [1, 1, 9]),
        ];
        // Of each type every second one, or in a quick run every sixth.
        let step = one_in(6);
        for (extents, radii) in grids.into_iter().skip(dtype as usize % step).step_by(step) {
            let corner = Corner::full(8, extents, dtype, radii);
            let Corner { stencil, shape, .. } = &corner;
            let mut variant = Variant::new(stencil, &Boundary::default(), *shape, dtype);
            if let Variant::Stream { lines, .. } = &mut variant {
                // Shorter segments than on a GPU.
                lines.segment = 20;
            }
            let blocks = variant.blocks(dtype) as u32;
            let end = last_block(&variant, *shape, dtype).map_or(blocks, |last| last + 1);
            corner.check([16, 0], false, last(variant.kernel(), end, 3), |device| {
                Direct::new(device, variant.clone(), *shape, dtype)
            });
        }
    }
}

/// The block of the last point, of a kernel whose last blocks may lie below the grid.
fn last_block(variant: &Variant, shape: Shape, dtype: Dtype) -> Option<u32> {
    let Variant::Tile { kernel, tiles, .. } = variant else { return None };
    let [nz, ny, nx] = shape.extents().map(|extent| extent as u32);
    let [down, deep, band] = [tiles.down, tiles.deep, tiles.band].map(|n| n as u32);
    let across = direct::WARPS / (down * deep);
    let across = nx.div_ceil(across * direct::warp_columns(dtype.bytes() as u32));
    let row = (ny - 1) / (kernel.rows * down);
    let planes = nz.div_ceil(kernel.planes * deep);
    // Along x, down in a band, along z, and then the next band.
    Some((((row / band * planes + planes - 1) * band) + row % band) * across + across - 1)
}

#[test]
fn rims() {
    for &dtype in Dtype::ALL {
        // What lies periodically beyond the last corner is zero before the first step only.
        for (extents, radii, boundary, steps) in [
            (PLANE, [0, 1, 1], "periodic", 1),
            (PLANE, [0, 2, 5], "zero", 2),
            (WIDE, [0, 2, 2], "x:periodic", 1),
            (VOLUME, [1, 1, 1], "periodic", 1),
            (VOLUME, [1, 3, 2], "zero", 2),
        ] {
            let near = Corner::full(9, extents, dtype, radii);
            let offsets = near.stencil.taps().iter().map(|tap| tap.offset).collect();
            let corner = Corner::new(9, extents, dtype, steps, offsets);
            let dims = corner.shape.dims();
            let boundary = Boundary::parse(boundary, dims).unwrap();
            let Corner { stencil, shape, steps, .. } = &corner;
            let budget = SharedBudget::after(stencil::device::Limits::H200.shared_bytes);
            let mut plan = RimPlan::new(
                stencil,
                GridSurroundings::whole(&boundary),
                *shape,
                dtype,
                *steps,
                budget,
            )
            .unwrap()
            .expect("points near the boundary");
            // Of all boxes, those that end with the last point.
            let ends = shape.extents().map(|extent| extent as u32);
            let last = |of: &&[u32]| of[3..] == ends;
            let boxes = plan.boxes.chunks(rim::BOX_WORDS);
            plan.boxes = boxes.filter(last).flatten().copied().collect();
            assert!(!plan.boxes.is_empty(), "a box at the last corner");
            let few = Few { name: plan.kernel(), multiprocessors: 1, blocks: 0..u32::MAX };
            corner
                .check([1, 0], false, few, |device| Rim::new(device, plan.clone(), *shape, dtype));
        }
    }
}
