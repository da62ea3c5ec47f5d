// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils that take a family's kernels: what the conformance suite draws its cases from.

use problem::Dtype;
use transform::{Stencil, Tap};

/// A stencil and how many of its steps a launch takes.
#[derive(Clone, Debug)]
pub struct Sample {
    /// With a weight of its own for each neighbour.
    pub stencil: Stencil,
    /// The type of the grid.
    pub dtype: Dtype,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums in a row, on chip.
    pub chain: usize,
}

impl Sample {
    /// A full box of some radii on the axes (z, y, x), of as many axes as the first that is not 0 says.
    #[must_use]
    pub fn of(dtype: Dtype, radii: [usize; 3]) -> Self {
        Self { stencil: stencil(radii, |_| true), dtype, fuse: 1, chain: 1 }
    }

    /// Without the neighbours that are farther away than the largest radius, counted along the axes.
    #[must_use]
    pub fn diamond(self) -> Self {
        let reach = self.stencil.radius() as i32;
        let keeps = |[z, y, x]: [i32; 3]| z.abs() + y.abs() + x.abs() <= reach;
        Self { stencil: stencil(self.stencil.radii(), keeps), ..self }
    }

    /// Without the neighbours off the axes.
    #[must_use]
    pub fn star(self) -> Self {
        let keeps = |offset: [i32; 3]| offset.iter().filter(|at| **at != 0).count() < 2;
        Self { stencil: stencil(self.stencil.radii(), keeps), ..self }
    }

    /// With the weights of one side of some axes on the other, too.
    #[must_use]
    pub fn mirrored(self, axes: &[usize]) -> Self {
        let tap = |tap: &Tap| {
            let mut other = tap.offset;
            for &axis in axes {
                other[axis] = other[axis].abs();
            }
            Tap { offset: tap.offset, weight: self.stencil.weight(other) }
        };
        let taps = self.stencil.taps().iter().map(tap).collect();
        let stencil = Stencil::new("sample", self.stencil.dims(), taps).expect("finite weights");
        Self { stencil, ..self }
    }

    /// So many time steps in one sum.
    #[must_use]
    pub fn fused(self, fuse: usize) -> Self {
        Self { fuse, ..self }
    }

    /// So many sums in a launch.
    #[must_use]
    pub fn chained(self, chain: usize) -> Self {
        Self { chain, ..self }
    }
}

/// The neighbours of a box that are kept; weights differ, and their sizes sum to less than 1, so that values stay
/// as large as they are.
fn stencil(radii: [usize; 3], keeps: impl Fn([i32; 3]) -> bool) -> Stencil {
    let dims = radii.iter().position(|radius| *radius > 0).map_or(1, |first| 3 - first);
    let along = |axis: usize| -(radii[axis] as i32)..=radii[axis] as i32;
    let mut offsets = Vec::new();
    for z in along(0) {
        for y in along(1) {
            offsets.extend(along(2).map(|x| [z, y, x]).filter(|offset| keeps(*offset)));
        }
    }
    let count = offsets.len() as f64;
    // Between a half and all of what is left for each, of either sign, and no two the same.
    let weight = |index: usize| {
        let size = (0.5 + 0.5 * (index as f64 + 1.0) / count) / count;
        if index % 3 == 1 { -size } else { size }
    };
    let tap = |(index, offset)| Tap { offset, weight: weight(index) };
    let taps = offsets.into_iter().enumerate().map(tap).collect();
    Stencil::new("sample", dims, taps).expect("finite weights")
}
