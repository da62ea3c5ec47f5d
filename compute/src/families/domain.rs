// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid with its boundary and a stencil with its weights, in the words of the CUDA-core kernels.

use crate::device::plane::layout;
use kernels_gpu::boundary::{Axis, CONSTANT, Domain, EDGE, PERIODIC, REFLECT, SLOPE};
use kernels_gpu::rim::pack_offset;
use problem::boundary::Side;
use problem::{Boundary, Dtype, Shape};
use transform::{Stencil, Tap};

/// The grid and what a stencil reads around it, constants and slopes rounded to the element type.
#[must_use]
pub fn domain(stencil: &Stencil, boundary: &Boundary, shape: Shape, dtype: Dtype) -> Domain<f64> {
    let boundary = boundary.map_constants(|value| dtype.round(value));
    let (extents, radii) = (shape.extents(), stencil.radii());
    let axis = |axis: usize| {
        let sides = match boundary.sides[axis] {
            // Between two mirrors at the only point there is nothing else to be seen.
            [Side::Reflect, Side::Reflect] if extents[axis] == 1 => [Side::Edge; 2],
            sides => sides,
        };
        let [(low, low_value), (high, high_value)] = sides.map(kind);
        let (extent, radius) = (extents[axis] as i32, radii[axis] as i32);
        let half = sides.map(|side| i32::from(side == Side::Symmetric));
        let (low_mirror, high_mirror) = (-half[0], 2 * (extent - 1) + half[1]);
        Axis { extent, radius, low, high, low_value, high_value, low_mirror, high_mirror }
    };
    let layout = layout(shape);
    let pitch = i64::from(layout.pitch());
    let plane = pitch * i64::from(layout.plane_rows());
    Domain { z: axis(0), y: axis(1), x: axis(2), pitch, plane }
}

fn kind(side: Side) -> (u32, f64) {
    match side {
        Side::Zero | Side::Open => (CONSTANT, 0.0),
        Side::Constant(value) => (CONSTANT, value),
        Side::Periodic => (PERIODIC, 0.0),
        Side::Reflect | Side::Symmetric => (REFLECT, 0.0),
        Side::Edge => (EDGE, 0.0),
        Side::Flux(slope) => (SLOPE, slope),
        Side::Odd | Side::OddReflect | Side::Robin(_) | Side::Varying(_) | Side::VaryingFlux(_) => {
            unreachable!("Refusal::check_sides refuses a side with {side}")
        }
    }
}

/// The neighbours of a stencil whose weights the element type can hold, each its offset and its
/// weight.
#[must_use]
pub fn taps(stencil: &Stencil, dtype: Dtype) -> Vec<u32> {
    let words = |tap: &transform::Tap| {
        let mut words = vec![pack_offset(tap.offset)];
        push_real(&mut words, dtype, tap.weight);
        words
    };
    stencil.taps().iter().flat_map(words).collect()
}

/// Bytes of a sum of elements.
#[must_use]
pub fn real_bytes(dtype: Dtype) -> u32 {
    if dtype == Dtype::F64 { 8 } else { 4 }
}

/// Adds a number in the type of sums to a table.
pub fn push_real(words: &mut Vec<u32>, dtype: Dtype, value: f64) {
    if dtype == Dtype::F64 {
        let bits = value.to_bits();
        words.extend([bits as u32, (bits >> 32) as u32]);
    } else {
        words.push((value as f32).to_bits());
    }
}

/// Whether a stencil has no neighbours off the axes.
#[must_use]
pub fn is_star(stencil: &Stencil) -> bool {
    let on_axis = |tap: &Tap| tap.offset.iter().filter(|offset| **offset != 0).count() < 2;
    stencil.taps().iter().all(on_axis)
}

/// The weights of a stencil up to a radius, in C order.
#[must_use]
pub fn dense(stencil: &Stencil, radius: usize) -> Vec<f64> {
    let reach = radius as i32;
    let along = |axis| if axis < stencil.dims() { -reach..=reach } else { 0..=0 };
    let mut weights = Vec::new();
    for dz in along(2) {
        for dy in along(1) {
            weights.extend(along(0).map(|dx| stencil.weight([dz, dy, dx])));
        }
    }
    weights
}
