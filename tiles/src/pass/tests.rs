// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes against their definition, bit by bit: whatever the instruction set, the tiles and the steps at once.

use fearless_simd::Simd;
use half::f16;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::Tap;

use super::*;
use problem::boundary::{Image, NeighbourPlace, Side};
use problem::region::Region;
use problem::values::Element;
use problem::{Boundary, Shape, with_dtype};

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
    let side = |rng: &mut ChaCha8Rng| match rng.random_range(0..9) {
        0 => Side::Zero,
        1 => Side::Constant(f64::from(rng.random_range(-8i8..8)) / 4.0),
        2 => Side::Edge,
        3 => Side::Flux(f64::from(rng.random_range(-8i8..8)) / 4.0),
        4 => Side::Symmetric,
        5 => Side::Odd,
        6 => Side::OddReflect,
        7 => Side::Robin([1.0, 0.5, 0.25].map(|most| most * rng.random_range(0.0..1.0))),
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
fn at<T: Passes>(values: &[T], extents: [usize; 3], boundary: &Boundary, place: [isize; 3]) -> T {
    // What becomes of it along each axis, x first, until a value is found.
    let (mut inside, mut images, mut known) = ([0; 3], [Image::SAME; 3], None);
    for axis in [2, 1, 0] {
        match boundary.resolve(axis, place[axis], extents[axis]) {
            NeighbourPlace::Inside(at, image) => (inside[axis], images[axis]) = (at, image),
            NeighbourPlace::Value(value) => {
                known = Some(T::from_f64(value));
                break;
            }
        }
    }
    let [z, y, x] = inside;
    let value = known.unwrap_or_else(|| values[(z * extents[1] + y) * extents[2] + x]);
    // Each of them is stored: that along z, then y, then x.
    images
        .into_iter()
        .filter(|image| !image.is_same())
        .fold(value, |value, image| T::from_f64(image.of(value.to_f64())))
}

/// Whether products are rounded before they are added.
fn rounds_products(level: Level) -> bool {
    // Of the instruction sets of x86 that are told apart.
    #[cfg(target_arch = "x86_64")]
    return level.as_avx2().is_none();
    #[cfg(not(target_arch = "x86_64"))]
    return format!("{level:?}").starts_with("Fallback");
}

/// `a · b + c`, as an instruction set adds.
trait MulAdd: Sized {
    fn add(a: Self, b: Self, c: Self, rounds_product: bool) -> Self;
}

macro_rules! mul_add {
    ($type:ty) => {
        impl MulAdd for $type {
            fn add(a: Self, b: Self, c: Self, rounds_product: bool) -> Self {
                if rounds_product { a * b + c } else { a.mul_add(b, c) }
            }
        }
    };
}
mul_add!(f32);
mul_add!(f64);

/// A time step as it is defined: products are added one by one, by plane, column, and row of the neighbours.
fn step<T: Passes<Sum: MulAdd>>(
    values: &[T],
    extents: [usize; 3],
    boundary: &Boundary,
    taps: &[Tap],
    rounds_products: bool,
) -> Vec<T> {
    let mut taps = taps.to_vec();
    taps.sort_by_key(|tap| [0, 2, 1].map(|axis: usize| tap.offset[axis]));
    let [nz, ny, nx] = extents;
    let mut next = Vec::new();
    for index in 0..nz * ny * nx {
        let point = [index / (ny * nx), index / nx % ny, index % nx];
        let mut sum = T::Sum::default();
        for tap in &taps {
            let place =
                std::array::from_fn(|axis| point[axis] as isize + tap.offset[axis] as isize);
            let neighbour = T::Sum::from_f64(at(values, extents, boundary, place).to_f64());
            let weight = T::Sum::from_f64(tap.weight);
            sum = T::Sum::add(neighbour, weight, sum, rounds_products);
        }
        next.push(T::from_f64(sum.to_f64()));
    }
    next
}

/// Bits, but for those of values that are not numbers.
fn bits<T: Passes>(values: &[T]) -> Vec<u64> {
    let bits =
        |value: &T| if value.to_f64().is_nan() { u64::MAX } else { value.to_f64().to_bits() };
    values.iter().map(bits).collect()
}

/// Tiles of any size, and steps at once.
fn tiling(rng: &mut ChaCha8Rng, extents: [usize; 3]) -> Tiling {
    let depth = [1, 2, 3, 4, 7][rng.random_range(0..5)];
    let tile = extents.map(|extent| match rng.random_range(0..3) {
        0 => extent,
        1 => rng.random_range(1..=extent),
        _ => rng.random_range(1..=extent.min(9)),
    });
    Tiling { depth, tile }
}

fn check<T: Passes<Sum: MulAdd>>(dtype: Dtype, seed: u64) {
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

    for level in levels() {
        let mut expected = vec![input.clone()];
        for _ in 0..8 {
            let last = expected.last().unwrap();
            let next = step(last, extents, &boundary, taps.taps(), rounds_products(level));
            expected.push(next);
        }
        for _ in 0..3 {
            let tiling = tiling(rng, extents);
            let mut sweep = TiledSweep::<T>::new(&stencil, &boundary, dtype, shape, tiling);
            sweep.sums.set_level(level);
            let mut swept = vec![T::from_f64(f64::NAN); input.len()];
            let finite = sweep.run(&input, &mut swept, &mut || Ok(())).unwrap();
            let wanted = &expected[1];
            assert_eq!(bits(&swept), bits(wanted), "{dtype} {seed} {level:?} {:?}", tiling.tile);
            assert_eq!(finite, wanted.iter().all(|value| Element::is_finite(*value)));
            let layout = PaddedLayout::new(
                shape,
                tiling.margins(&boundary, stencil.radii()),
                size_of::<T>(),
            );
            let mut pass = Tiled::<T>::new(&stencil, &boundary, dtype, layout, tiling);
            pass.window.set_level(level);
            let mut grids = [(); 2].map(|()| Padded::new(layout));
            grids[0].set(&input);
            pass.close(&mut grids[0]);
            let mut done = 0;
            while done + tiling.depth < expected.len() {
                let steps = rng.random_range(1..=tiling.depth);
                let [from, to] = &mut grids;
                to.fill(T::from_f64(f64::NAN));
                pass.run(from, to, steps);
                done += steps;
                assert_eq!(
                    bits(&to.get(Region::whole(shape))),
                    bits(&expected[done]),
                    "{dtype} {seed} {level:?} {tiling:?}, {steps} steps to {done}"
                );
                grids.swap(0, 1);
            }
        }
    }
}

#[test]
fn all_tiles_and_instruction_sets_give_the_bits_of_the_definition() {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::Tf32, Dtype::F32, Dtype::F64] {
        (0..80).into_par_iter().for_each(|seed| with_dtype!(dtype, T => check::<T>(dtype, seed)));
    }
}

/// Long runs of neighbours are cut into those that there are loops for.
#[test]
fn stencils_of_every_reach_give_the_bits_of_the_definition() {
    let shape: Shape = "37x150".parse().unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let input: Vec<f64> = (0..shape.points()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let boundary = Boundary::parse("x:periodic,y-:flux=0.5,y+:constant=2", 2).unwrap();
    for reach in 0..=9 {
        let taps = (-reach..=reach).flat_map(|y| {
            [-reach, 0, 2].map(|x| Tap { offset: [0, y, x], weight: 1.0 / f64::from(y + 30) })
        });
        let mut taps: Vec<Tap> = taps.collect();
        taps.sort_by_key(|tap| tap.offset);
        taps.dedup_by_key(|tap| tap.offset);
        let stencil = Stencil::new("tall", 2, taps).unwrap();
        let tiling = Tiling { depth: 2, tile: [1, 10, 64] };
        let layout = PaddedLayout::new(shape, tiling.margins(&boundary, stencil.radii()), 8);
        let pass = Tiled::<f64>::new(&stencil, &boundary, Dtype::F64, layout, tiling);
        let mut grids = [(); 2].map(|()| Padded::new(layout));
        grids[0].set(&input);
        pass.close(&mut grids[0]);
        let [from, to] = &mut grids;
        pass.run(from, to, 2);
        let rounds = rounds_products(pass.window.level());
        let step =
            |values: &[f64]| step(values, shape.extents(), &boundary, stencil.taps(), rounds);
        let expected = step(&step(&input));
        assert_eq!(bits(&to.get(Region::whole(shape))), bits(&expected), "{reach}");
    }
}

#[test]
fn buffers_of_the_steps_are_no_larger_than_what_is_checked() {
    for (extents, reach, depth) in
        [([1, 40, 70], [0, 2, 1], 3), ([9, 8, 7], [1, 2, 3], 4), ([5, 6, 7], [0; 3], 2)]
    {
        let tiling = Tiling { depth, tile: extents.map(|extent: usize| extent.div_ceil(2)) };
        for boundary in ["z-:constant=1,z+:constant=2", "z-:flux=1,z+:constant=2"] {
            let boundary = Boundary::parse(boundary, 3).unwrap();
            let room = TileBuffers::new(&boundary, extents, reach, &tiling, size_of::<f16>());
            let mut steps = Steps::<f16>::new(room);
            steps.place(&boundary, [0; 3], tiling.tile);
            assert!(steps.values() <= room.values(), "{extents:?}");
        }
    }
}
