// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids as bits of an element type of tensor cores.

use cuda_mma::fragment::Element;
use half::{bf16, f16};
use stencil::{Dtype, Grid, Shape, Values};

/// The type of a grid whose elements tensor cores take as they are.
#[must_use]
pub fn dtype(element: Element) -> Dtype {
    match element {
        Element::F16 => Dtype::F16,
        Element::Bf16 => Dtype::Bf16,
        Element::Tf32 => Dtype::Tf32,
    }
}

/// A grid from its bits in C order.
#[must_use]
pub fn grid(element: Element, shape: Shape, bits: impl Iterator<Item = u32>) -> Grid {
    let values = match element {
        Element::F16 => Values::F16(bits.map(|x| f16::from_bits(x as u16)).collect()),
        Element::Bf16 => Values::Bf16(bits.map(|x| bf16::from_bits(x as u16)).collect()),
        Element::Tf32 => Values::F32(bits.map(f32::from_bits).collect()),
    };
    Grid { shape, values }
}

/// The bits of a grid in C order.
///
/// # Panics
/// Of f64.
#[must_use]
pub fn bits(grid: Grid) -> Vec<u32> {
    match grid.values {
        Values::F16(values) => values.into_iter().map(|x| x.to_bits().into()).collect(),
        Values::Bf16(values) => values.into_iter().map(|x| x.to_bits().into()).collect(),
        Values::F32(values) => values.into_iter().map(f32::to_bits).collect(),
        Values::F64(_) => panic!("no type of tensor cores"),
    }
}
