// SPDX-License-Identifier: MIT OR Apache-2.0
//! The oracle of the CUDA-core kernels: the plain stencil in f64, step by step, near any boundary; and
//! random stencils and boundaries.

use host::boundary::{Place, Side};
use host::{Boundary, Dtype, Shape};
use kernels_gpu::plain::rows::CLASSES;
use kernels_gpu::plain::{march, tile};
use rand::RngExt;
use transform::{Stencil, Tap};

/// So many time steps of a grid in C order, with constants as the element type rounds them;
/// no rounding between steps.
#[must_use]
pub fn steps(
    stencil: &Stencil,
    boundary: &Boundary,
    shape: Shape,
    dtype: Dtype,
    values: &[f64],
    steps: usize,
) -> Vec<f64> {
    let boundary = boundary.map_constants(|value| dtype.round(value));
    let [nz, ny, nx] = shape.extents();
    let at = |values: &[f64], z: isize, y: isize, x: isize| {
        let place = |axis, at, extent| boundary.resolve(axis, at, extent);
        match (place(2, x, nx), place(1, y, ny), place(0, z, nz)) {
            (Place::Inside(x), Place::Inside(y), Place::Inside(z)) => values[(z * ny + y) * nx + x],
            (Place::Value(value), ..) => value,
            (_, Place::Value(value), _) | (.., Place::Value(value)) => value,
        }
    };
    let mut values = values.to_vec();
    for _ in 0..steps {
        let point = |index: usize| {
            let (z, y, x) = (index / (ny * nx), index / nx % ny, index % nx);
            let term = |tap: &Tap| {
                let [dz, dy, dx] = tap.offset.map(|offset| offset as isize);
                tap.weight * at(&values, z as isize + dz, y as isize + dy, x as isize + dx)
            };
            stencil.taps().iter().map(term).sum()
        };
        values = (0..values.len()).map(point).collect();
    }
    values
}

/// A stencil of so many axes with holes, no symmetry, radii up to `radius` and gain at most 1.
#[must_use]
pub fn random_stencil(random: &mut impl RngExt, dims: usize, radius: i32) -> Stencil {
    let mut offset = |axis: usize| {
        if axis < 3 - dims { 0 } else { random.random_range(-radius..=radius) }
    };
    let mut offsets: Vec<[i32; 3]> = (0..12).map(|_| [offset(0), offset(1), offset(2)]).collect();
    // So that the radius is what was asked for.
    offsets.push([0, 0, radius]);
    offsets.sort_unstable();
    offsets.dedup();
    let gain = offsets.len() as f64;
    let taps = offsets.into_iter().map(|offset| {
        let weight = random.random_range(0.1..0.99) / gain;
        Tap { offset, weight: if random.random() { weight } else { -weight } }
    });
    Stencil::new("random", dims, taps.collect()).expect("finite weights")
}

/// Any kind on any side.
#[must_use]
pub fn random_boundary(random: &mut impl RngExt, dims: usize) -> Boundary {
    let mut boundary = Boundary::default();
    for axis in 3 - dims..3 {
        let mut side = || match random.random_range(0..3) {
            0 => Side::Zero,
            1 => Side::Constant(random.random_range(-1.0..1.0)),
            _ => Side::Reflect,
        };
        boundary.sides[axis] = [side(), side()];
        if random.random_ratio(1, 4) {
            boundary.sides[axis] = [Side::Periodic; 2];
        }
    }
    boundary
}

/// The names of the entries of these kernels.
#[must_use]
pub fn entries() -> Vec<String> {
    let of_type = |dtype: Dtype| {
        let rows = CLASSES.into_iter().map(move |class| format!("rows_{dtype}_r{class}"));
        let dense = ["_2d_r1", "_2d_r2", "_2d_r3", "_3d_r1"].into_iter();
        let dense = dense.filter(move |_| dtype != Dtype::F64);
        let frames = dense.chain([""]).map(move |shape| format!("frame_{dtype}{shape}"));
        rows.chain(frames).chain([format!("points_{dtype}")])
    };
    let tiles = tile::KERNELS.iter().map(|kernel| kernel.name.into());
    let marches = march::KERNELS.iter().map(|kernel| kernel.name.into());
    let dtypes = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64].into_iter();
    dtypes.flat_map(of_type).chain(tiles).chain(marches).collect()
}
