// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step on CUDA cores in the emulator, against the plain stencil.

use cuda_sim::{Fault, Memory, Stats};
use half::{bf16, f16};
use host::device::plain::Plan;
use host::device::plane::layout;
use host::{Boundary, Dtype, Shape};
use kernels_gpu::emulated::plain::Launch;
use kernels_gpu::plain::points::{self, Points};
use kernels_gpu::plain::{WARPS, march, rows, tile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Debug;
use tests::stepped::{self, random_boundary, random_stencil};
use transform::{Stencil, Tap};

struct Case {
    /// Its weights are rounded to the element type.
    stencil: Stencil,
    boundary: Boundary,
    shape: Shape,
    dtype: Dtype,
    plan: Plan,
    seed: u64,
}

/// Runs a case and compares every point.
fn check<S: bytemuck::Pod + PartialEq + Debug>(
    case: &Case,
    (store, load): (impl Fn(f64) -> S, impl Fn(S) -> f64),
    run: impl Fn(&Launch<S>, &mut Memory) -> Result<Stats, Fault>,
) {
    let Case { stencil, boundary, shape, dtype, plan, seed } = case;
    let name = plan.kernel(*dtype);
    let mut random = ChaCha8Rng::seed_from_u64(*seed);
    let values: Vec<f64> =
        (0..shape.points()).map(|_| dtype.round(random.random_range(-1.0..1.0))).collect();
    let layout = layout(*shape);
    let [_, ny, nx] = shape.extents();
    let positions: Vec<usize> = (0..shape.points())
        .map(|at| (at / (ny * nx), at / nx % ny, at % nx))
        .map(|(z, y, x)| layout.position(z as u32, y as u32, x as u32))
        .collect();
    let mut input = vec![store(0.0); layout.elements()];
    let mut output = input.clone();
    for (position, value) in positions.iter().zip(&values) {
        input[*position] = store(*value);
        output[*position] = store(f64::NAN);
    }
    let mut memory = Memory::new();
    let planes = [memory.input("input", &input), memory.in_out("output", &output)];
    run(&Launch { planes, layout, seed: *seed }, &mut memory)
        .unwrap_or_else(|fault| panic!("{name} on {shape}, {stencil:?}: {fault}"));

    let boundary = if plan.needs_frame() { Boundary::default() } else { *boundary };
    let want = stepped::steps(stencil, &boundary, *shape, *dtype, &values, 1);
    let mut got = memory.read(planes[1]);
    let epsilon = if *dtype == Dtype::F64 { 2f64.powi(-52) } else { 2f64.powi(-23) };
    let last = match dtype {
        Dtype::F16 => 2f64.powi(-11),
        Dtype::Bf16 => 2f64.powi(-8),
        _ => epsilon,
    };
    let terms = stencil.taps().len() as f64 + 1.0;
    for (index, position) in positions.iter().enumerate() {
        let value = load(std::mem::replace(&mut got[*position], store(0.0)));
        let error = (value - want[index]).abs();
        let bound = terms * epsilon + last * want[index].abs() + 2f64.powi(-25);
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        assert!(error <= bound, "{name} on {shape}: {at:?} is {value}, not {}", want[index]);
    }
    assert!(got.iter().all(|element| *element == store(0.0)), "{name}: the frame stays zero");
}

/// Runs a case with whichever of a type's kernels its plan names.
macro_rules! kernels {
    ($case:expr, $sum:expr, $convert:expr; $r1:ident $r2:ident $r4:ident $r8:ident, $points:ident) => {
        check($case, $convert, |launch, memory| match &$case.plan {
            Plan::Tile { kernel, tiles, weights } => launch.tile(memory, kernel, *tiles, weights),
            Plan::March { kernel, lines, weights } => launch.march(memory, kernel, *lines, weights),
            Plan::Rows { class, rows: of, table } => {
                let table = memory.input("table", table);
                let kernel = match class {
                    1 => (stringify!($r1), rows::$r1 as unsafe fn(_, _, _, _)),
                    2 => (stringify!($r2), rows::$r2 as _),
                    4 => (stringify!($r4), rows::$r4 as _),
                    _ => (stringify!($r8), rows::$r8 as _),
                };
                launch.rows(memory, kernel, *of, table)
            }
            Plan::Points { points: of, taps } => {
                let table = memory.input("taps", taps);
                let of = Points { domain: of.domain.map($sum), taps: of.taps };
                launch.points(memory, (stringify!($points), points::$points), of, table)
            }
        })
    };
}

fn check_case(case: &Case) {
    let single = |value| value as f32;
    match case.dtype {
        Dtype::F16 => kernels!(
            case, single, (|v| f16::from_f64(v).to_bits(), |b| f16::from_bits(b).to_f64());
            rows_f16_r1 rows_f16_r2 rows_f16_r4 rows_f16_r8, points_f16
        ),
        Dtype::Bf16 => kernels!(
            case, single, (|v| bf16::from_f64(v).to_bits(), |b| bf16::from_bits(b).to_f64());
            rows_bf16_r1 rows_bf16_r2 rows_bf16_r4 rows_bf16_r8, points_bf16
        ),
        Dtype::Tf32 | Dtype::F32 => kernels!(
            case, single, (|v| (v as f32).to_bits(), |b| f64::from(f32::from_bits(b)));
            rows_f32_r1 rows_f32_r2 rows_f32_r4 rows_f32_r8, points_f32
        ),
        Dtype::F64 => kernels!(
            case, |value| value, (f64::to_bits, f64::from_bits);
            rows_f64_r1 rows_f64_r2 rows_f64_r4 rows_f64_r8, points_f64
        ),
    }
}

const DTYPES: [Dtype; 5] = [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32, Dtype::F64];

fn shape(random: &mut ChaCha8Rng, dims: usize) -> Shape {
    let most: &[usize] = match dims {
        1 => &[5000],
        2 => &[40, 600],
        _ => &[12, 14, 300],
    };
    let tiny = random.random_ratio(1, 5);
    let extents: Vec<usize> =
        most.iter().map(|most| random.random_range(1..=if tiny { 4 } else { *most })).collect();
    Shape::new(&extents).unwrap()
}

/// A stencil of this radius with random weights, of a box or of a star.
fn dense(random: &mut ChaCha8Rng, dims: usize, radius: usize, star: bool) -> Stencil {
    let width = 2 * radius + 1;
    let count = width.pow(dims as u32);
    let is_off = |at: &usize| {
        let axes = (0..dims as u32).map(|axis| at / width.pow(axis) % width);
        star && axes.filter(|at| *at != radius).count() > 1
    };
    let weight = |at| if is_off(&at) { 0.0 } else { random.random_range(-1.0..1.0) / count as f64 };
    let weights: Vec<f64> = (0..count).map(weight).collect();
    Stencil::dense("dense", &vec![width; dims], &weights).unwrap()
}

fn dtype_of(element: &str) -> Dtype {
    let stored = |dtype: &Dtype| dtype.to_string() == element;
    DTYPES.into_iter().find(stored).unwrap()
}

#[test]
fn tiles_give_the_stencil() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for kernel in tile::KERNELS {
        for seed in 0..4 {
            let dtype = dtype_of(kernel.element);
            let radius = random.random_range(1..=kernel.radius);
            let star = kernel.star || random.random_ratio(1, 4);
            let stencil = dtype.round_weights(&dense(&mut random, kernel.dims, radius, star));
            let shape = shape(&mut random, kernel.dims);
            let mut plan = Plan::tile(kernel, &stencil, shape, dtype);
            if seed > 0
                && let Plan::Tile { tiles, .. } = &mut plan
            {
                let [down, deep] =
                    [[1, 1], [2, 1], [8, 1], [2, 2], [1, 8]][random.random_range(0..5)];
                assert!(down * deep <= WARPS as i32);
                (tiles.down, tiles.deep) = (down, deep);
                tiles.band = random.random_range(1..5);
            }
            let boundary = Boundary::default();
            check_case(&Case { stencil, boundary, shape, dtype, plan, seed });
        }
    }
}

#[test]
fn marching_kernels_give_the_stencil() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for kernel in march::KERNELS {
        for seed in 0..4 {
            let dtype = dtype_of(kernel.element);
            let radius = random.random_range(1..=kernel.radius);
            let stencil = dtype.round_weights(&dense(&mut random, kernel.dims, radius, false));
            let shape = shape(&mut random, kernel.dims);
            let mut plan = Plan::march(kernel, &stencil, shape, dtype);
            if seed > 0
                && let Plan::March { lines, .. } = &mut plan
            {
                lines.segment = random.random_range(1..20);
            }
            let boundary = Boundary::default();
            check_case(&Case { stencil, boundary, shape, dtype, plan, seed });
        }
    }
}

#[test]
fn rows_give_the_stencil() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for seed in 0..12 {
        for (dims, radius) in [(1, 1), (1, 8), (2, 2), (2, 4), (2, 7), (3, 1), (3, 4)] {
            let dtype = DTYPES[random.random_range(0..DTYPES.len())];
            let mut stencil = random_stencil(&mut random, dims, radius);
            if random.random_ratio(1, 4) {
                // Nothing but narrow rows.
                let axis = |tap: &Tap| Tap { offset: [tap.offset[0], tap.offset[1], 0], ..*tap };
                let mut taps: Vec<Tap> = stencil.taps().iter().map(axis).collect();
                taps.dedup_by_key(|tap| tap.offset);
                stencil = Stencil::new("narrow", dims, taps).unwrap();
            }
            let stencil = dtype.round_weights(&stencil);
            let shape = shape(&mut random, dims);
            let plan = Plan::rows(&stencil, shape, dtype);
            let boundary = Boundary::default();
            check_case(&Case { stencil, boundary, shape, dtype, plan, seed });
        }
    }
}

#[test]
fn points_know_every_boundary() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for seed in 0..30 {
        let dims = random.random_range(1..=3);
        let dtype = DTYPES[random.random_range(0..DTYPES.len())];
        let radius = random.random_range(9..=16);
        let stencil = dtype.round_weights(&random_stencil(&mut random, dims, radius));
        let boundary = random_boundary(&mut random, dims);
        let most = [700, 30, 8][dims - 1];
        let extents: Vec<usize> = (0..dims).map(|_| random.random_range(1..=most)).collect();
        let shape = Shape::new(&extents).unwrap();
        let plan = Plan::new(&stencil, &boundary, shape, dtype);
        assert!(!plan.needs_frame());
        check_case(&Case { stencil, boundary, shape, dtype, plan, seed });
    }
}

#[test]
fn every_stencil_has_a_kernel() {
    let shape = |dims| Shape::new(&vec![70; dims]).unwrap();
    let kernel = |name: &str, dtype| {
        let stencil = transform::catalogue::find(name).unwrap();
        Plan::new(&stencil, &Boundary::default(), shape(stencil.dims()), dtype).kernel(dtype)
    };
    assert_eq!(kernel("star1d1r", Dtype::F16), "tile1d_f16_r2");
    assert_eq!(kernel("star2d1r", Dtype::Bf16), "tile2d_bf16_r1");
    assert_eq!(kernel("box2d3r", Dtype::Tf32), "march2d_f32_r3");
    assert_eq!(kernel("star2d3r", Dtype::F64), "tile2d_f64_r3_star");
    assert_eq!(kernel("star2d4r", Dtype::F64), "rows_f64_r4");
    assert_eq!(kernel("star3d1r", Dtype::F32), "tile3d_f32_r1_star");
}
