// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids of more than 2³² elements, or of rows of more than 2³¹ bytes: the blocks of every kernel family
//! that compute the last points run in the emulator, on a grid that is zero but near its last corner. Its
//! memory is sparse.

use cuda_mma::fragment;
use cuda_sim::{Buffer, Fault, Memory, only_blocks};
use half::f16;
use host::device::frame::{Plan as FramePlan, Room};
use host::device::gather::Config;
use host::device::plain::Plan;
use host::device::plane::layout;
use host::grid::Element;
use host::{Boundary, Dtype, Shape, with_dtype};
use kernels_gpu::chain2d::{Inner, Stages};
use kernels_gpu::emulated::rows::{Line1d, Wide2d};
use kernels_gpu::emulated::{Chain2d, Steps, Sweep2d};
use kernels_gpu::layout::Layout;
use kernels_gpu::{chain3d, frame, line1d, plain, row_window, sweep2d, sweep3d, wide2d};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tests::number::factor;
use tests::{cases_frame, cases_plain, draw};
use transform::Stencil;
use transform::factors::Factors;
use transform::gather::{Tile, gather_tiles};
use transform::row_operand::row_operand;
use transform::star3d::star3d;
use transform::window::window;
use transform::window3d::window3d;

/// 4.9 · 10⁹ points, many rows and columns.
const PLANE: [usize; 3] = [1, 70_001, 70_003];

/// Rows of 1.2 to 2.4 GB: the longest of which a GPU of 141 GB holds a grid in its frame.
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

    /// Positions of the first points of the window's rows.
    fn rows(&self, layout: Layout) -> Vec<usize> {
        let extents = self.shape.extents();
        let along = |axis: usize| extents[axis] - self.window[axis]..extents[axis];
        let rows = along(0).flat_map(|z| along(1).map(move |y| (z as u32, y as u32)));
        let x = along(2).start as u32;
        rows.map(|(z, y)| layout.position(z, y, x)).collect()
    }

    /// What the steps give in the window: exact sums, rounded after each step or after the last one.
    fn right(&self, rounds: bool) -> Vec<f64> {
        let [nz, ny, nx] = self.window.map(|extent| extent as i64);
        let mut values = self.values.clone();
        for step in 1..=self.steps {
            if rounds {
                values = values.iter().map(|&value| factor(self.dtype, value)).collect();
            }
            let at = |[z, y, x]: [i64; 3]| {
                let inside = (0..nz).contains(&z) && (0..ny).contains(&y) && (0..nx).contains(&x);
                if inside { values[((z * ny + y) * nx + x) as usize] } else { 0.0 }
            };
            let point = |index: i64| {
                let here = [index / (ny * nx), index / nx % ny, index % nx];
                let term = |offset: [i32; 3]| {
                    at(std::array::from_fn(|axis| here[axis] + i64::from(offset[axis])))
                };
                let terms = self.stencil.taps().iter().map(|tap| tap.weight * term(tap.offset));
                let sum = terms.fold(0.0, |sum: f64, term| sum + term);
                if rounds || step == self.steps { self.dtype.round(sum) } else { sum }
            };
            values = (0..nz * ny * nx).map(point).collect();
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

    /// Launches and compares those points of the window that were computed, which must be `least` and, at
    /// a distance from the sides that they leave to others, the last one.
    fn check<T: Element>(
        &self,
        name: &str,
        rounds: bool,
        [least, distance]: [usize; 2],
        launch: impl FnOnce(&mut Memory, [Buffer<T>; 2], Layout) -> Result<(), Fault>,
    ) {
        const UNTOUCHED: u8 = 0x7f;
        let layout = layout(self.shape);
        let mut memory = Memory::new();
        let mut sparse = |name, fill| memory.sparse::<T>(name, layout.elements(), fill);
        let (input, output) = if self.upwards {
            let output = sparse("output", UNTOUCHED);
            (sparse("input", 0), output)
        } else {
            (sparse("input", 0), sparse("output", UNTOUCHED))
        };
        let nx = self.window[2];
        let stored: Vec<T> = self.values.iter().map(|&value| T::from_f64(value)).collect();
        for (row, values) in self.rows(layout).into_iter().zip(stored.chunks(nx)) {
            memory.write_at(input, row, values);
        }
        launch(&mut memory, [input, output], layout)
            .unwrap_or_else(|fault| panic!("{name} on {}: {fault}", self.shape));
        let got: Vec<T> =
            self.rows(layout).into_iter().flat_map(|row| memory.read_at(output, row, nx)).collect();
        let computed = |value: &T| bytemuck::bytes_of(value).iter().any(|&byte| byte != UNTOUCHED);
        let [_, ny, _] = self.window;
        let count = got.iter().filter(|value| computed(value)).count();
        assert!(count >= least, "{name} on {}: only {count} points", self.shape);
        let last = got.len() - 1 - distance - if ny > 1 { distance * nx } else { 0 };
        assert!(computed(&got[last]), "{name} on {}: not the last point", self.shape);
        for (index, (value, right)) in got.iter().zip(self.right(rounds)).enumerate() {
            let at = [index / (ny * nx), index / nx % ny, index % nx];
            if computed(value) && self.is_known(at) {
                let value = value.to_f64();
                assert_eq!(value, right, "{name} on {}: {at:?} of the window", self.shape);
            }
        }
    }
}

/// Runs the blocks of a launch from so many before its end on.
fn last_blocks<R>(blocks: u32, count: u32, launch: impl FnOnce() -> R) -> R {
    only_blocks(blocks.saturating_sub(count)..blocks, launch)
}

#[test]
fn sweeps_of_planes() {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32] {
        let factors = dtype.factors().unwrap();
        for (extents, tile_rows) in [(PLANE, 12), (WIDE, 6)] {
            let corner = Corner::full(1, extents, dtype, [0, 2, 2]);
            let window = window(&corner.stencil).unwrap();
            let [_, ny, nx] = corner.extents();
            let blocks = ny.div_ceil(tile_rows) * nx.div_ceil(sweep2d::TILE_COLUMNS);
            let (radius, stages, seed) = (2, 2, 1);
            let launch = Sweep2d { factors, radius, ny, nx, blocks, stages, tile_rows, seed };
            with_dtype!(dtype, T => {
                let run = |memory: &mut Memory, [from, to]: [Buffer<T>; 2], _| {
                    let fragments = memory.input("fragments", &window.operand(factors));
                    let one = Steps::one(memory);
                    let run = || launch.launch(memory, from, to, fragments, one).map(drop);
                    last_blocks(blocks, 2, run)
                };
                corner.check::<T>("sweep2d", true, [500, 0], run);
            });
        }
    }
}

/// The other way, from the last row of tiles on: so are sweeps from the second grid to the first.
#[test]
fn sweeps_of_planes_upwards() {
    let factors = Factors::One(fragment::Element::F16);
    let corner = Corner::full(1, PLANE, Dtype::F16, [0, 1, 1]);
    let window = window(&corner.stencil).unwrap();
    let [_, ny, nx] = corner.extents();
    let (radius, stages, tile_rows, seed) = (1, 2, 8, 1);
    let columns = nx.div_ceil(sweep2d::TILE_COLUMNS);
    let blocks = ny.div_ceil(tile_rows) * columns;
    let launch = Sweep2d { factors, radius, ny, nx, blocks, stages, tile_rows, seed };
    let corner = Corner { upwards: true, ..corner };
    corner.check::<f16>("sweep2d upwards", true, [500, 0], |memory, [from, to], _| {
        let fragments = memory.input("fragments", &window.operand(factors));
        let one = Steps::one(memory);
        let run = || launch.launch(memory, from, to, fragments, one).map(drop);
        only_blocks(columns - 2..columns, run)
    });
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
            let (radius, chain, stages) = (1, 2, Stages { input: 2, ring: 3 });
            let (inner, seed) = (Inner::all(ny, nx), 1);
            let launch = Chain2d { element, radius, chain, ny, nx, blocks, stages, inner, seed };
            let whole = (nx % 8) as usize;
            with_dtype!(dtype, T => {
                let run = |memory: &mut Memory, [from, to]: [Buffer<T>; 2], _| {
                    let words = window.encode_chained(element).words;
                    let fragments = memory.input("fragments", &words);
                    let run = || launch.launch(memory, from, to, fragments).map(drop);
                    last_blocks(blocks, 2, run)
                };
                let distance = 1 + whole;
                corner.check_inside::<T>("chain2d", distance, run);
            });
        }
    }
}

impl Corner {
    /// As [`Corner::check`], of a kernel that is right only so far from the grid's sides.
    fn check_inside<T: Element>(
        &self,
        name: &str,
        distance: usize,
        launch: impl FnOnce(&mut Memory, [Buffer<T>; 2], Layout) -> Result<(), Fault>,
    ) {
        let [_, ny, nx] = self.window;
        let inside = |memory: &mut Memory, [from, to]: [Buffer<T>; 2], layout: Layout| {
            launch(memory, [from, to], layout)?;
            // What is not promised counts as not computed.
            let untouched =
                vec![bytemuck::pod_read_unaligned::<T>(&[0x7f; 8][..size_of::<T>()]); nx];
            let is_whole = ny == self.shape.extents()[1];
            for (y, row) in self.rows(layout).into_iter().enumerate() {
                let is_inside = y + distance < ny && (!is_whole || y >= distance);
                let wrong = if is_inside { distance } else { nx };
                memory.write_at(to, row + nx - wrong, &untouched[..wrong]);
            }
            Ok(())
        };
        self.check(name, true, [500, distance], inside);
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
            let blocks = ny.div_ceil(tile_rows) * nx.div_ceil(wide2d::TILE_COLUMNS);
            let (radius, stages, seed) = (4, 3, 1);
            let launch = Wide2d { element, radius, ny, nx, blocks, stages, tile_rows, seed };
            with_dtype!(dtype, T => {
                let run = |memory: &mut Memory, [from, to]: [Buffer<T>; 2], _| {
                    let words = memory.input("operand", &operand.words);
                    last_blocks(blocks, 2, || launch.launch(memory, from, to, words).map(drop))
                };
                corner.check::<T>("wide2d", true, [500, 0], run);
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
    let blocks = nx.div_ceil(row_window::UNIT * line1d::UNITS * threads / 32);
    let launch = Line1d { element, nx, blocks, threads, seed: 1 };
    corner.check::<f16>("line1d", true, [2000, 0], |memory, [from, to], _| {
        let words = memory.input("operand", &operand.words);
        last_blocks(blocks, 2, || launch.launch(memory, from, to, words).map(drop))
    });
}

#[test]
fn sweeps_of_volumes() {
    for kernel in sweep3d::KERNELS {
        let element = tests::grid3d::element(kernel.element);
        let dtype = tests::stored::dtype(element);
        let mut near = vec![[0, 0, 0], [1, 0, 0], [-1, 0, 1], [0, 1, -1], [0, -1, 0]];
        near.push([0, 0, kernel.radius as i32]);
        let corner = Corner::new(5, VOLUME, dtype, 1, near);
        let window = window3d(&corner.stencil).unwrap();
        let words = window.encode(element).words;
        let extents = corner.extents();
        let tile = sweep3d::Tile { across: 2, down: 2 };
        let (march_planes, stages, producers, seed) = (5, 3, 2, 1);
        for upwards in [false, true] {
            let launch = kernels_gpu::sweep3d::emulated::Sweep3d {
                kernel: *kernel,
                extents,
                tile,
                producers,
                march_planes,
                stages,
                upwards,
                seed,
            };
            let blocks: u32 = tile.marches(extents, march_planes).iter().product();
            let range = if upwards { 0..2 } else { blocks - 2..blocks };
            with_dtype!(dtype, T => {
                corner.check::<T>(kernel.name, true, [200, 0], |memory, [from, to], _| {
                    let words = memory.input("fragments", &words);
                    only_blocks(range, || launch.launch(memory, from, to, words).map(drop))
                });
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
        let tile = chain3d::Tile { across: 2, down: 2, units: kernel.units };
        let (extents, whole, march_planes) = (corner.extents(), 0, 7);
        let launch = kernels_gpu::chain3d::emulated::Chain3d {
            kernel: *kernel,
            extents,
            tile,
            whole,
            march_planes,
            seed: 1,
        };
        let blocks = tile.blocks(kernel.steps, extents, whole, march_planes);
        with_dtype!(dtype, T => {
            corner.check::<T>(kernel.name, true, [200, 0], |memory, [from, to], _| {
                let words = memory.input("fragments", &operand.words);
                last_blocks(blocks, 2, || launch.launch(memory, from, to, words).map(drop))
            });
        });
    }
}

#[test]
fn gathers() {
    for element in tests::gather::TYPES {
        let dtype = tests::stored::dtype(element);
        for tile in Tile::ALL {
            for (extents, radii) in [(PLANE, [0, 3, 2]), (WIDE, [0, 2, 3]), (VOLUME, [1, 1, 1])] {
                let corner = Corner::full(7, extents, dtype, radii);
                let gather = gather_tiles(&corner.stencil, element, tile).unwrap();
                let stages = gather.footprint.extent[0] as u32 + 1;
                let config =
                    Config { tile: [2, 2], stages, warps: 4, blocks_per_multiprocessor: 1 };
                let bytes = element.bytes() as u32;
                let rows_and_columns = [tile.rows(), tile.columns()].map(|n| n as u32);
                let march = 3.min(corner.extents()[0]);
                let launch = config.launch(&gather.footprint, gather.steps.len(), corner.shape);
                let launch = kernels_gpu::gather::Gather { march, ..launch };
                let launch = launch.derive(rows_and_columns, bytes);
                let blocks: u32 = launch.derived.marches.iter().product();
                let table = gather.table(config.pitch(&gather.footprint, corner.shape));
                with_dtype!(dtype, T => {
                    let run = |memory: &mut Memory, [from, to]: [Buffer<T>; 2], layout| {
                        let launch = kernels_gpu::gather::emulated::Launch {
                            element,
                            tile,
                            gather: launch,
                            layout,
                            warps: 4,
                            blocks,
                            seed: 1,
                        };
                        let table = memory.input("table", &table);
                        last_blocks(blocks, 2, || launch.launch(memory, from, to, table).map(drop))
                    };
                    corner.check::<T>("gather", true, [100, 0], run);
                });
            }
        }
    }
}

#[test]
fn steps_on_cuda_cores() {
    for dtype in cases_plain::DTYPES {
        for (extents, radii) in [
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
        ] {
            let corner = Corner::full(8, extents, dtype, radii);
            let Corner { stencil, shape, .. } = &corner;
            let boundary = Boundary::default();
            let mut plan = Plan::new(stencil, &boundary, *shape, dtype);
            if let Plan::March { lines, .. } = &mut plan {
                // Shorter marches than on a GPU.
                lines.segment = 20;
            }
            let blocks = plan.blocks(dtype) as u32;
            let (stencil, shape) = (stencil.clone(), *shape);
            let case = cases_plain::Case {
                stencil,
                boundary,
                shape,
                dtype,
                values: vec![],
                plan,
                seed: 1,
            };
            let kernel = case.plan.kernel(dtype);
            let end = last_block(&case.plan, shape, dtype).map_or(blocks, |last| last + 1);
            with_dtype!(dtype, T => {
                corner.check::<T>(&kernel, false, [16, 0], |memory, planes, layout| {
                    last_blocks(end, 3, || case.launch(memory, planes, layout).map(drop))
                });
            });
        }
    }
}

/// The block of the last point, of a kernel whose last blocks may lie below the grid.
fn last_block(plan: &Plan, shape: Shape, dtype: Dtype) -> Option<u32> {
    let Plan::Tile { kernel, tiles, .. } = plan else { return None };
    let [nz, ny, nx] = shape.extents().map(|extent| extent as u32);
    let [down, deep, band] = [tiles.down, tiles.deep, tiles.band].map(|n| n as u32);
    let across = plain::WARPS / (down * deep);
    let across = nx.div_ceil(across * plain::warp_columns(dtype.bytes() as u32));
    let row = (ny - 1) / (kernel.rows * down);
    let planes = nz.div_ceil(kernel.planes * deep);
    // Along x, down in a band, along z, and then the next band.
    Some((((row / band * planes + planes - 1) * band) + row % band) * across + across - 1)
}

#[test]
fn frames() {
    for dtype in cases_frame::DTYPES {
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
            let room = Room::after(host::device::Limits::H200.shared_bytes);
            let mut plan = FramePlan::new(stencil, &boundary, *shape, dtype, *steps, room)
                .unwrap()
                .expect("points near the boundary");
            // Of all boxes, those that end with the last point.
            let ends = shape.extents().map(|extent| extent as u32);
            let last = |of: &&[u32]| of[3..] == ends;
            let boxes = plan.boxes.chunks(frame::BOX_WORDS);
            plan.boxes = boxes.filter(last).flatten().copied().collect();
            assert!(!plan.boxes.is_empty(), "a box at the last corner");
            let (stencil, shape, steps) = (stencil.clone(), *shape, *steps);
            let case = cases_frame::Case {
                stencil,
                boundary,
                shape,
                dtype,
                steps,
                values: vec![],
                plan,
                seed: 1,
            };
            let kernel = case.plan.kernel(dtype);
            with_dtype!(dtype, T => {
                corner.check::<T>(&kernel, false, [1, 0], |memory, planes, layout| {
                    case.launch(memory, planes, layout).map(drop)
                });
            });
        }
    }
}
