// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps against their definition, bit by bit: whatever the instruction set, however a step is split.

use fearless_simd::Simd;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::Tap;

use super::*;
use crate::problem::boundary::{Place, Side};
use crate::problem::region::Region;
use crate::{Boundary, Shape, with_dtype};

/// Every instruction set that this machine has.
fn levels() -> Vec<Level> {
    let best = Level::new();
    #[cfg(target_arch = "x86_64")]
    let lesser = [
        best.as_avx2().map(Simd::level),
        best.as_sse4_2().map(Simd::level),
        best.as_sse2().map(Simd::level),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let lesser: [Option<Level>; 0] = [];
    std::iter::once(best).chain(lesser.into_iter().flatten()).collect()
}

/// A radius of its own for each axis, also 0, and holes; some weights are large.
fn stencil(rng: &mut ChaCha8Rng, dims: usize) -> Stencil {
    let radii: [i32; 3] =
        std::array::from_fn(|axis| if axis < 3 - dims { 0 } else { rng.random_range(0..=4) });
    let count = rng.random_range(1..=20);
    let mut taps: Vec<Tap> = Vec::new();
    for _ in 0..count {
        let offset = radii.map(|radius| rng.random_range(-radius..=radius));
        if taps.iter().all(|tap| tap.offset != offset) {
            let weight = rng.random_range(-1.0..1.0) * [0.1, 1.0, 30.0][rng.random_range(0..3)];
            taps.push(Tap { offset, weight });
        }
    }
    Stencil::new("random", dims, taps).unwrap()
}

fn boundary(rng: &mut ChaCha8Rng) -> Boundary {
    let side = |rng: &mut ChaCha8Rng| match rng.random_range(0..3) {
        0 => Side::Zero,
        1 => Side::Constant(f64::from(rng.random_range(-8i8..8)) / 4.0),
        _ => Side::Reflect,
    };
    Boundary {
        sides: std::array::from_fn(|_| match rng.random_range(0..3) {
            0 => [Side::Periodic; 2],
            _ => [side(rng), side(rng)],
        }),
    }
}

/// The value at a place in the grid or around it.
fn at<T: Storage>(values: &[T], extents: [usize; 3], boundary: &Boundary, place: [isize; 3]) -> T {
    let mut inside = [0; 3];
    for axis in [2, 1, 0] {
        match boundary.resolve(axis, place[axis], extents[axis]) {
            Place::Inside(at) => inside[axis] = at,
            Place::Value(value) => return T::from_f64(value),
        }
    }
    let [z, y, x] = inside;
    values[(z * extents[1] + y) * extents[2] + x]
}

/// A time step as it is defined: products and sums one by one, in the order of the neighbours.
fn step<T: Storage>(
    values: &[T],
    extents: [usize; 3],
    boundary: &Boundary,
    taps: &[Tap],
) -> Vec<T> {
    let [nz, ny, nx] = extents;
    let mut next = Vec::new();
    for index in 0..nz * ny * nx {
        let point = [index / (ny * nx), index / nx % ny, index % nx];
        let mut sum = T::Sum::default();
        for tap in taps {
            let place =
                std::array::from_fn(|axis| point[axis] as isize + tap.offset[axis] as isize);
            let neighbour = T::Sum::from_f64(at(values, extents, boundary, place).to_f64());
            sum = sum + T::Sum::from_f64(tap.weight) * neighbour;
        }
        next.push(T::from_f64(sum.to_f64()));
    }
    next
}

/// Bits, but for those of values that are not numbers.
fn bits<T: Storage>(values: &[T]) -> Vec<u64> {
    let bits =
        |value: &T| if value.to_f64().is_nan() { u64::MAX } else { value.to_f64().to_bits() };
    values.iter().map(bits).collect()
}

fn check<T: Storage>(dtype: Dtype, seed: u64) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let dims = rng.random_range(1..=3);
    let most = [300, 80, 12][dims - 1];
    let extents: Vec<usize> = (0..dims).map(|_| rng.random_range(1..=most)).collect();
    let shape = Shape::new(&extents).unwrap();
    let (stencil, boundary) = (stencil(rng, dims), boundary(rng));
    let boundary = boundary.map_constants(|value| dtype.round(value));
    let (extents, taps) = (shape.extents(), dtype.round_weights(&stencil));
    // Also numbers beyond the largest and below the least of f16.
    let scale = [1.0, 60_000.0, 1e-6][rng.random_range(0..3)];
    let input: Vec<T> =
        (0..shape.points()).map(|_| T::from_f64(rng.random_range(-1.0..1.0) * scale)).collect();
    let first = step(&input, extents, &boundary, taps.taps());
    let second = step(&first, extents, &boundary, taps.taps());

    let layout = Layout::new(shape, stencil.radii(), size_of::<T>());
    let (rows, nx) = (extents[0] * extents[1], extents[2]);
    let splits = [
        Split::Serial,
        Split::Bands(rng.random_range(1..=rows)),
        Split::Pieces(rng.random_range(1..=nx)),
    ];
    for level in levels() {
        for split in splits {
            let halo = (!boundary.is_zero()).then(|| Halo::new(&boundary, layout));
            let mut sweep = Sweep::<T>::new(&stencil, dtype, layout, halo);
            (sweep.level, sweep.split) = (level, split);
            sweep.columns = rng.random_range(1..=nx);
            let mut grids = [(); 3].map(|()| Padded::new(layout));
            grids[0].set(&input);
            sweep.close(&mut grids[0]);
            let [from, to, last] = &mut grids;
            sweep.run(from, to);
            assert_eq!(
                bits(&to.get(Region::whole(shape))),
                bits(&first),
                "{dtype} {seed} {level:?} {split:?}"
            );
            sweep.run(to, last);
            assert_eq!(
                bits(&last.get(Region::whole(shape))),
                bits(&second),
                "{dtype} {seed} {level:?} {split:?}"
            );
        }
    }
}

#[test]
fn every_split_and_instruction_set_gives_the_bits_of_the_definition() {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32, Dtype::F64] {
        (0..60).into_par_iter().for_each(|seed| with_dtype!(dtype, T => check::<T>(dtype, seed)));
    }
}

#[test]
fn small_grids_stay_on_one_thread_and_others_have_parts_for_all() {
    let split = |size: &str, taps, threads| {
        let shape: Shape = size.parse().unwrap();
        Split::new(&Layout::new(shape, [1; 3], 4), taps, threads)
    };
    assert_eq!(split("32x32", 5, 8), Split::Serial);
    assert_eq!(split("4096x4096", 5, 1), Split::Serial);
    assert_eq!(split("4096x4096", 5, 64), Split::Bands(16));
    assert_eq!(split("2x30x4000", 7, 64), Split::Bands(1));
    assert_eq!(split("100000000", 3, 8), Split::Pieces(3_125_000));
    assert_eq!(split("3x10000000", 3, 8), Split::Pieces(909_091));
}
