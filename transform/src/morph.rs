// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adaptive Layout Morphing (SparStencil §3.1): from a weighted sum to a matrix product.
//!
//! *Flatten*: the weights become a row vector `a`, each neighbourhood a column of B. *Duplicates
//! crush*: the neighbourhoods of a tile of `rz × ry × rx` outputs overlap, so their columns are
//! merged into one that holds each distinct input once; `a` becomes the matrix A' with a row for
//! each output of the tile, in which the weights stand shifted: a staircase at every level.

use crate::matrix::Matrix;
use crate::stencil::Stencil;

/// A stencil as the matrix A' of a product A'·B'.
#[derive(Clone, Debug, PartialEq)]
pub struct Morphed {
    /// Outputs of a tile along z, y and x.
    pub factors: [usize; 3],
    /// Row of A' → output, relative to the tile's first; (z, y, x), x fastest.
    pub outputs: Vec<[i32; 3]>,
    /// Column of A' → input, relative to the tile's first output; (z, y, x), x fastest.
    pub inputs: Vec<[i32; 3]>,
    /// A': `outputs` × `inputs`.
    pub matrix: Matrix,
}

/// The points of a box that starts at `first`, x fastest.
fn points(first: [i32; 3], extents: [usize; 3]) -> Vec<[i32; 3]> {
    let [nz, ny, nx] = extents;
    let index = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [z, y, x])));
    index.map(|at| std::array::from_fn(|axis| first[axis] + at[axis] as i32)).collect()
}

/// Flattens and crushes: k' = Π (L + r − 1) columns for a stencil of extents L (all radii taken
/// alike to both sides), with the columns that no weight reaches kept as zeros.
///
/// # Panics
/// Where a factor is 0.
#[must_use]
pub fn morph(stencil: &Stencil, factors: [usize; 3]) -> Morphed {
    assert!(factors.iter().all(|&factor| factor > 0), "a tile has at least one output");
    let radii = stencil.radii();
    let outputs = points([0; 3], factors);
    let first = radii.map(|radius| -(radius as i32));
    let inputs = points(first, std::array::from_fn(|axis| 2 * radii[axis] + factors[axis]));
    let extents: [usize; 3] = std::array::from_fn(|axis| 2 * radii[axis] + factors[axis]);
    let column = |output: [i32; 3], offset: [i32; 3]| {
        let at = |axis: usize| (output[axis] + offset[axis] - first[axis]) as usize;
        (at(0) * extents[1] + at(1)) * extents[2] + at(2)
    };
    let mut matrix = Matrix::zeros(outputs.len(), inputs.len());
    for (row, &output) in outputs.iter().enumerate() {
        for tap in stencil.taps() {
            matrix.row_mut(row)[column(output, tap.offset)] = tap.weight;
        }
    }
    Morphed { factors, outputs, inputs, matrix }
}

impl Morphed {
    /// Without the columns that hold only zeros (stars and irregular shapes have them).
    #[must_use]
    pub fn without_zero_columns(&self) -> Self {
        let used =
            |column: &usize| (0..self.matrix.rows()).any(|row| self.matrix.at(row, *column) != 0.0);
        let kept: Vec<usize> = (0..self.matrix.columns()).filter(used).collect();
        let inputs = kept.iter().map(|&column| self.inputs[column]).collect();
        let matrix = Matrix::new(self.matrix.rows(), kept.len(), |row, column| {
            self.matrix.at(row, kept[column])
        });
        Self { factors: self.factors, outputs: self.outputs.clone(), inputs, matrix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn sizes_are_those_of_the_paper() {
        let stencil = catalogue::find("box2d3r").unwrap();
        let morphed = morph(&stencil, [1, 2, 8]);
        assert_eq!(morphed.matrix.rows(), 16);
        assert_eq!(morphed.matrix.columns(), (7 + 2 - 1) * (7 + 8 - 1));
        assert_eq!(morphed.matrix.density(), 49.0 / (8.0 * 14.0));
    }

    #[test]
    fn each_row_holds_every_weight_once() {
        let stencil = catalogue::find("star2d2r").unwrap();
        let morphed = morph(&stencil, [1, 3, 4]);
        for row in 0..12 {
            let sum: f64 = morphed.matrix.row(row).iter().sum();
            assert_eq!(sum, 1.0);
            assert_eq!(morphed.matrix.row(row).iter().filter(|w| **w != 0.0).count(), 9);
        }
    }

    #[test]
    fn a_star_loses_its_corner_columns() {
        let stencil = catalogue::find("star2d1r").unwrap();
        let morphed = morph(&stencil, [1, 1, 1]).without_zero_columns();
        assert_eq!(morphed.matrix.columns(), 5);
        assert_eq!(morphed.inputs, stencil.taps().iter().map(|t| t.offset).collect::<Vec<_>>());
    }
}
