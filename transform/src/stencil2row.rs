// SPDX-License-Identifier: MIT OR Apache-2.0
//! ConvStencil's layout (§3.2, §3.3): `stencil2row` writes the points of a grid into two matrices A and B, so that a
//! stencil is a product of tiles of 8 rows of them with two weight matrices. No matrix is ever there as a whole:
//! kernels build the parts that they multiply in shared memory.
//!
//! Each grid row is cut into groups of [`Stencil2row::outputs`] columns. The outputs of a group depend on a window of
//! columns, the group and 2r more, of which A holds the first half and B the second; row g of a matrix holds those of
//! group g, grid row after grid row. `docs/explanation/published-schemes.md` draws it.

use crate::matrix::Matrix;
use crate::stencil::Stencil;

/// Rows and columns of a product: the 8 × 8 of `mma.m8n8k4`.
pub const TILE: usize = 8;

/// The largest radius for which a group has as many columns as the paper says, one more than the kernel is wide.
const PUBLISHED_RADIUS: usize = 3;

/// Where the points of a grid lie in the two matrices, for kernels of one radius along x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stencil2row {
    radius: usize,
}

impl Stencil2row {
    /// The layout for kernels of a radius.
    #[must_use]
    pub const fn new(radius: usize) -> Self {
        Self { radius }
    }

    /// Points of the kernel along an axis: the paper's `n_kernel`.
    #[must_use]
    pub const fn width(self) -> usize {
        2 * self.radius + 1
    }

    /// Columns of a group, and outputs of a row of a product: `n_kernel` + 1, of a larger radius than 3 the 8 that a
    /// product has.
    #[must_use]
    pub const fn outputs(self) -> usize {
        if self.radius <= PUBLISHED_RADIUS { self.width() + 1 } else { TILE }
    }

    /// Columns of a window that a matrix holds of a grid row: half of them, `n_kernel` up to radius 3.
    #[must_use]
    pub const fn half(self) -> usize {
        (self.outputs() + 2 * self.radius) / 2
    }

    /// Row and column in matrix A of a grid point (Equation 5), if it is there. `column` counts from the first that the
    /// first output depends on.
    #[must_use]
    pub fn a(self, row: usize, column: usize) -> Option<[usize; 2]> {
        let (group, within) = (column / self.outputs(), column % self.outputs());
        (within < self.half()).then(|| [group, self.half() * row + within])
    }

    /// Row and column in matrix B of a grid point (Equation 6), if it is there. `column` counts from the first that
    /// the first output depends on.
    #[must_use]
    pub fn b(self, row: usize, column: usize) -> Option<[usize; 2]> {
        self.a(row, column.checked_sub(self.half())?)
    }

    /// Weight matrices A and B (§3.3) of a plane of a stencil: one column for each output of a group, the others zero;
    /// a row for each column of a matrix that an output depends on, and zeros up to a multiple of 4.
    ///
    /// # Panics
    /// Where the stencil reaches farther than the radius.
    #[must_use]
    pub fn weights(self, stencil: &Stencil, dz: i32) -> [Matrix; 2] {
        assert!(stencil.radius() <= self.radius, "a stencil of radius up to {}", self.radius);
        let reach = self.radius as i32;
        let kernel_rows = if stencil.dims() == 1 { 1 } else { self.width() };
        let (half, used) = (self.half(), self.half() * kernel_rows);
        let matrix = |first: usize| {
            Matrix::new(used.next_multiple_of(4), TILE, |k, output| {
                if k >= used || output >= self.outputs() {
                    return 0.0;
                }
                let dy = if kernel_rows == 1 { 0 } else { (k / half) as i32 - reach };
                let dx = (first + k % half) as i32 - output as i32 - reach;
                stencil.weight([dz, dy, dx])
            })
        };
        [matrix(0), matrix(half)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stencil::Tap;

    /// A box of one radius with a weight of its own for each neighbour.
    fn stencil(dims: usize, radius: i32) -> Stencil {
        let along = |axis: usize| if axis < dims { -radius..=radius } else { 0..=0 };
        let offsets = along(1).flat_map(|y| along(0).map(move |x| [0, y, x]));
        let tap = |(index, offset)| Tap { offset, weight: index as f64 + 1.0 };
        Stencil::new("box", dims, offsets.enumerate().map(tap).collect()).unwrap()
    }

    #[test]
    fn radius_3_has_the_numbers_of_the_paper() {
        let layout = Stencil2row::new(3);
        assert_eq!((layout.width(), layout.outputs(), layout.half()), (7, 8, 7));
        let [a, b] = layout.weights(&stencil(2, 3), 0);
        // Figure 3: 49 × 7 weights, padded to 52 × 8; the products of a dual tessellation are 2 ⌈49 / 4⌉.
        assert_eq!([a.rows(), b.rows()], [52; 2]);
        for row in 0..52 {
            assert_eq!((a.at(row, 7), b.at(row, 0)), (0.0, 0.0), "the last of A, the first of B");
            for column in 0..8 {
                let [in_a, in_b] = [&a, &b].map(|matrix| matrix.at(row, column) != 0.0);
                let at = row % 7;
                assert_eq!(in_a, row < 49 && at >= column, "triangles of A: ({row}, {column})");
                assert_eq!(in_b, row < 49 && at < column, "triangles of B: ({row}, {column})");
            }
        }
        // Points that Equations 5 and 6 leave out.
        let left_out = |column: usize| (layout.a(2, column), layout.b(2, column));
        assert_eq!(left_out(7), (None, Some([0, 14])));
        assert_eq!(left_out(14), (Some([1, 20]), None));
        assert_eq!(left_out(6), (Some([0, 20]), None));
    }

    #[test]
    fn vitrolite_a_and_b_sum_to_the_stencil() {
        let value = |row: usize, column: usize| ((row * 131 + column * 17) % 101) as f64;
        for (dims, radius) in [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 3)] {
            let (stencil, layout) = (stencil(dims, radius), Stencil2row::new(radius as usize));
            let kernel_rows = if dims == 1 { 1 } else { layout.width() };
            let columns = TILE * layout.outputs() + 2 * radius as usize;
            // Of A and B; their last rows are of groups that are cut off.
            let mut matrices = [(); 2].map(|()| vec![vec![0.0; 64]; TILE + 2]);
            for (row, column) in (0..kernel_rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                let places = [layout.a(row, column), layout.b(row, column)];
                for (matrix, place) in matrices.iter_mut().zip(places) {
                    if let Some([group, at]) = place {
                        matrix[group][at] = value(row, column);
                    }
                }
            }
            let weights = layout.weights(&stencil, 0);
            for output in 0..TILE * layout.outputs() {
                let (group, within) = (output / layout.outputs(), output % layout.outputs());
                let half = |m: usize| -> f64 {
                    let rows = 0..weights[m].rows();
                    rows.map(|k| matrices[m][group][k] * weights[m].at(k, within)).sum()
                };
                let window = (0..kernel_rows)
                    .flat_map(|row| (0..layout.width()).map(move |x| value(row, output + x)));
                let want: f64 =
                    stencil.taps().iter().zip(window).map(|(tap, u)| tap.weight * u).sum();
                assert_eq!(half(0) + half(1), want, "{dims}D, radius {radius}, {output}");
            }
        }
    }
}
