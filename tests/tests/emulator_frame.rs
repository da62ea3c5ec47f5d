// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points near the boundary in the emulator, against the plain stencil step by step.

use cuda_sim::Memory;
use half::{bf16, f16};
use host::device::Limits;
use host::device::frame::{Plan, Room};
use host::device::plane::layout;
use host::{Boundary, Dtype, Shape};
use kernels_gpu::emulated::frame::{Kernel, Launch, kernel_bf16, kernel_f16, kernel_f32};
use kernels_gpu::frame;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tests::stepped::{self, random_boundary, random_stencil};
use transform::Stencil;

/// What a kernel gets.
#[derive(Clone, Debug)]
struct Case {
    stencil: Stencil,
    boundary: Boundary,
    shape: Shape,
    steps: usize,
    seed: u64,
}

/// Runs a case; returns the number of points that it computed.
fn check<S, V>(
    case: &Case,
    dtype: Dtype,
    kernel: impl Fn(Option<(usize, usize)>) -> (&'static str, Kernel<S, V>),
    sum: impl Fn(f64) -> V,
    (store, load): (impl Fn(f64) -> S, impl Fn(S) -> f64),
) -> usize
where
    S: bytemuck::Pod + PartialEq + std::fmt::Debug,
    V: Copy,
{
    let Case { stencil, boundary, shape, steps, seed } = case;
    let stencil = &dtype.round_weights(stencil);
    let most_bytes = Limits::H200.shared_bytes;
    let plan =
        Plan::new(stencil, boundary, *shape, dtype, *steps, Room::after(most_bytes)).unwrap();
    let Some(Plan { frame, boxes, taps, dense, shared_bytes, .. }) = plan else { return 0 };
    let kernel = kernel(dense);
    let mut random = ChaCha8Rng::seed_from_u64(*seed);
    let values: Vec<f64> =
        (0..shape.points()).map(|_| dtype.round(random.random_range(-1.0..1.0))).collect();
    let layout = layout(*shape);
    let [nz, ny, nx] = shape.extents();
    let positions: Vec<usize> = (0..shape.points())
        .map(|at| (at / (ny * nx), at / nx % ny, at % nx))
        .map(|(z, y, x)| layout.position(z as u32, y as u32, x as u32))
        .collect();
    assert_eq!(positions.len(), nz * ny * nx);

    let mut input = vec![store(0.0); layout.elements()];
    let mut output = input.clone();
    for (position, value) in positions.iter().zip(&values) {
        input[*position] = store(*value);
        output[*position] = store(7.0);
    }
    let mut memory = Memory::new();
    let planes = [memory.input("input", &input), memory.in_out("output", &output)];
    let (boxes, taps) = (memory.input("boxes", &boxes), memory.input("taps", &taps));
    let frame = frame::Frame {
        domain: frame.domain.map(sum),
        steps: frame.steps,
        taps: frame.taps,
        again: frame.again,
    };
    let launch = Launch { kernel, frame, layout, shared_bytes, seed: *seed };
    launch
        .launch(&mut memory, planes, boxes, taps)
        .unwrap_or_else(|fault| panic!("{case:?} {dtype}: {fault}"));

    let want = stepped::steps(stencil, boundary, *shape, dtype, &values, *steps);
    let mut got = memory.read(planes[1]);
    let terms = (*steps * (stencil.taps().len() + 1)) as f64;
    let epsilon = if dtype == Dtype::F64 { 2f64.powi(-52) } else { 2f64.powi(-23) };
    let last = match dtype {
        Dtype::F16 => 2f64.powi(-11),
        Dtype::Bf16 => 2f64.powi(-8),
        _ => epsilon,
    };
    let mut computed = 0;
    for (index, position) in positions.iter().enumerate() {
        let value = load(std::mem::replace(&mut got[*position], store(0.0)));
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        if !near(case, at) {
            assert_eq!(value, 7.0, "{case:?} {dtype}: {at:?} is not the frame's");
            continue;
        }
        computed += 1;
        let error = (value - want[index]).abs();
        let bound = terms * epsilon + last * want[index].abs() + 2f64.powi(-25);
        assert!(error <= bound, "{case:?} {dtype}: {at:?} is {value}, not {}", want[index]);
    }
    assert!(got.iter().all(|element| *element == store(0.0)), "{case:?}: the frame stays zero");
    computed
}

/// Whether a kernel that takes all steps at once, with zeros around the grid before the first, may get
/// a point wrong.
fn near(case: &Case, at: [usize; 3]) -> bool {
    use host::boundary::Side;
    (0..3).any(|axis| {
        let radius = case.stencil.radii()[axis];
        let depth = |side| radius * if side == Side::Zero { case.steps - 1 } else { case.steps };
        let [low, high] = case.boundary.sides[axis].map(depth);
        at[axis] < low || case.shape.extents()[axis] - 1 - at[axis] < high
    })
}

fn check_type(case: &Case, dtype: Dtype) -> usize {
    let single = |value| value as f32;
    match dtype {
        Dtype::F16 => {
            let convert = (|v| f16::from_f64(v).to_bits(), |b| f16::from_bits(b).to_f64());
            check(case, dtype, kernel_f16, single, convert)
        }
        Dtype::Bf16 => {
            let convert = (|v| bf16::from_f64(v).to_bits(), |b| bf16::from_bits(b).to_f64());
            check(case, dtype, kernel_bf16, single, convert)
        }
        Dtype::Tf32 | Dtype::F32 => {
            let convert = (|v| (v as f32).to_bits(), |b| f64::from(f32::from_bits(b)));
            check(case, dtype, kernel_f32, single, convert)
        }
        Dtype::F64 => {
            let convert = (f64::to_bits, f64::from_bits);
            let kernel = |_| ("frame_f64", frame::frame_f64 as Kernel<u64, f64>);
            check(case, dtype, kernel, |value| value, convert)
        }
    }
}

const DTYPES: [Dtype; 5] = [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32, Dtype::F64];

/// Random stencils, boundaries and steps on grids of random extents up to `most`, which together have
/// so many points near the boundary.
fn random_cases(dims: usize, most: usize, count: usize, least: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(dims as u64);
    let mut computed = 0;
    for seed in 0..count as u64 {
        // Every third grid is tiny, often smaller than the radius.
        let most = if seed % 3 == 0 { 4 } else { most };
        let extents: Vec<usize> = (0..dims).map(|_| random.random_range(1..=most)).collect();
        let radius = random.random_range(1..=3);
        let case = Case {
            stencil: random_stencil(&mut random, dims, radius),
            boundary: random_boundary(&mut random, dims),
            shape: Shape::new(&extents).unwrap(),
            steps: random.random_range(1..=5),
            seed,
        };
        computed += check_type(&case, DTYPES[seed as usize % DTYPES.len()]);
    }
    assert!(computed >= least, "only {computed} points");
}

#[test]
fn random_1d() {
    random_cases(1, 200, 60, 400);
}

#[test]
fn random_2d() {
    random_cases(2, 60, 60, 10_000);
}

#[test]
fn random_3d() {
    random_cases(3, 14, 40, 10_000);
}

/// Dense stencils, which have kernels of their own.
#[test]
fn random_dense() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for seed in 0..30 {
        let (dims, radius): (usize, usize) = [(2, 1), (2, 2), (2, 3), (3, 1)][seed as usize % 4];
        let most = if seed % 5 == 0 { 5 } else { [50, 12][dims - 2] };
        let extents: Vec<usize> = (0..dims).map(|_| random.random_range(1..=most)).collect();
        let width = 2 * radius + 1;
        let count = width.pow(dims as u32);
        let weights: Vec<f64> =
            (0..count).map(|_| random.random_range(-1.0..1.0) / count as f64).collect();
        let case = Case {
            stencil: Stencil::dense("dense", &vec![width; dims], &weights).unwrap(),
            boundary: random_boundary(&mut random, dims),
            shape: Shape::new(&extents).unwrap(),
            steps: random.random_range(1..=5),
            seed,
        };
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32] {
            check_type(&case, dtype);
        }
    }
}

/// The frame of the fastest 2D launches, in a grid that has an inside.
#[test]
fn twelve_steps_of_radius_one() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for (seed, boundary) in ["zero", "x:periodic,y:reflect"].into_iter().enumerate() {
        let case = Case {
            stencil: random_stencil(&mut random, 2, 1),
            boundary: Boundary::parse(boundary, 2).unwrap(),
            shape: "90x150".parse().unwrap(),
            steps: 12,
            seed: seed as u64,
        };
        assert!(check_type(&case, Dtype::F16) > 4_500);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let weights = vec![1.0 / 4913.0; 17 * 17 * 17];
    let stencil = Stencil::dense("wide", &[17; 3], &weights).unwrap();
    let boundary = Boundary::parse("periodic", 3).unwrap();
    let shape: Shape = "99x99x99".parse().unwrap();
    let plan =
        |steps, most| Plan::new(&stencil, &boundary, shape, Dtype::F64, steps, Room::after(most));
    let check =
        |steps, most| Plan::check(&stencil, &boundary, shape, Dtype::F64, steps, Room::after(most));
    let most = Limits::H200.shared_bytes;
    assert!(check(1, most).is_ok());
    let reason = "what 5 steps of radius 8 depend on does not fit shared memory";
    assert_eq!(plan(5, most).unwrap_err(), reason);
    assert_eq!(check(5, most).unwrap_err(), reason);
    // Boxes are cut to what the GPU has, and there is a plan as long as one point fits.
    let needed = plan(1, most).unwrap().unwrap().shared_bytes;
    for most in (0..=most).step_by(8 << 10).chain([needed - 1, needed]) {
        let plan = plan(1, most);
        assert_eq!(plan.is_ok(), check(1, most).is_ok(), "{most}");
        let Ok(Some(plan)) = plan else { continue };
        assert!(plan.shared_bytes <= most, "{most}");
    }
    assert!(check(1, needed).is_ok() && check(1, 16 << 10).is_err());
}
