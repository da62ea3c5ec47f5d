// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids as they lie in the emulated GPU's memory.

use crate::grid::Element;
use kernels_gpu::layout::Layout;

/// A grid in C order, laid out as the kernels take it ([`kernels_gpu::layout`]), in its frame of zeros.
#[must_use]
pub fn to_plane<T: Element>(layout: Layout, values: &[T]) -> Vec<T> {
    let mut plane = vec![T::default(); layout.elements()];
    let nx = layout.extents[2] as usize;
    for (start, row) in rows(layout).zip(values.chunks(nx)) {
        plane[start..start + nx].copy_from_slice(row);
    }
    plane
}

/// The grid in a plane, in C order.
#[must_use]
pub fn from_plane<T: Element>(layout: Layout, plane: &[T]) -> Vec<T> {
    let nx = layout.extents[2] as usize;
    rows(layout).flat_map(|start| &plane[start..start + nx]).copied().collect()
}

/// Positions of the first points of all rows.
fn rows(layout: Layout) -> impl Iterator<Item = usize> {
    let [nz, ny, _] = layout.extents;
    (0..nz).flat_map(move |z| (0..ny).map(move |y| layout.position(z, y, 0)))
}
