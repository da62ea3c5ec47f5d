// SPDX-License-Identifier: MIT OR Apache-2.0
//! The torus of a group of fields, at lengths that the kernels of a GPU transform.

use transform::spectral::{Axis, End, Lengths};

use crate::fft::torus::Group;
use compute::engine::fft::on_gpu::{LONGEST_COLUMN, Spectra, most_values};
use problem::Dtype;

/// The torus for some steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Torus {
    pub spectra: Spectra,
    /// Along which axes (z, y, x) fields have no constant part.
    pub odd: [bool; 3],
}

/// The most jumps that take as many steps as there are.
const MOST_PIECES: usize = 64;

impl Torus {
    /// For so many steps at once, of a grid with so many axes; none where lines are too long.
    ///
    /// A whole period of images, which does for any number of steps, if its length has no large prime factors; else as many
    /// images as the steps reach.
    pub fn of(group: &Group, dims: usize, steps: usize, shared_bytes: u32) -> Option<Self> {
        // Tables are made for a torus: a step more or less should not need another one.
        let far = steps.next_multiple_of((steps.next_power_of_two() / 16).max(1));
        let reach = reach(group);
        let longest = 2 * (most_values(Dtype::F64, shared_bytes) - 1);
        let of_axis = |axis: usize| {
            let lengths = match axis {
                2 => Lengths::Smooth { multiple: 2, most: longest },
                _ => Lengths::Smooth { multiple: 1, most: LONGEST_COLUMN },
            };
            let Axis { points, ends, .. } = group.axes[axis];
            let whole = Axis::of(points, [1 << 40; 2], ends, lengths);
            let is_odd = whole.is_some() && ends.contains(&End::Odd);
            let far = [reach[axis].saturating_mul(far).min(1 << 40); 2];
            let axis = whole.or_else(|| Axis::of(points, far, ends, lengths))?;
            Some((axis, is_odd))
        };
        let [z, y, x] = [of_axis(0)?, of_axis(1)?, of_axis(2)?];
        let axes = [z.0, y.0, x.0];
        let spectra = Spectra::new(axes, dims, Dtype::F64, shared_bytes);
        Some(Self { spectra, odd: [z.1, y.1, x.1] })
    }

    /// How many of so many steps are taken at once; none where it would be too few of them.
    pub fn steps_at_once(
        group: &Group,
        dims: usize,
        steps: usize,
        shared_bytes: u32,
    ) -> Option<usize> {
        let pieces = std::iter::successors(Some(1), |pieces| Some(2 * pieces));
        let of_piece = pieces.take_while(|pieces| *pieces <= MOST_PIECES.min(steps.max(1)));
        of_piece
            .map(|pieces| steps.div_ceil(pieces).max(1))
            .find(|steps| Self::of(group, dims, *steps, shared_bytes).is_some())
    }

    /// The points of the torus over those of the grid.
    pub fn copies(&self) -> f64 {
        let axes = self.spectra.axes.iter();
        axes.map(|axis| axis.length as f64 / axis.points as f64).product()
    }
}

/// How far a step reads along (z, y, x).
pub fn reach(group: &Group) -> [usize; 3] {
    group.couplings.iter().fold([0; 3], |reach, coupling| {
        let far = coupling.offset.map(|along| along.unsigned_abs() as usize);
        [0, 1, 2].map(|axis: usize| reach[axis].max(far[axis]))
    })
}
