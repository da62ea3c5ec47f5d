// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids as they lie in the emulated GPU's memory.

use crate::grid::Element;
use kernels_gpu::layout::Layout;

/// A grid in C order, laid out as the kernels take it ([`kernels_gpu::layout`]), in its frame of zeros.
#[must_use]
pub fn to_plane<T: Element>(ny: u32, nx: u32, values: &[T]) -> Vec<T> {
    let layout = Layout::plane_2d(ny, nx);
    let mut plane = vec![T::default(); layout.elements()];
    for (y, row) in values.chunks(nx as usize).enumerate() {
        plane[layout.position(0, y as u32, 0)..][..row.len()].copy_from_slice(row);
    }
    plane
}

/// The grid in a plane, in C order.
#[must_use]
pub fn from_plane<T: Element>(ny: u32, nx: u32, plane: &[T]) -> Vec<T> {
    let layout = Layout::plane_2d(ny, nx);
    let row = |y| &plane[layout.position(0, y, 0)..][..nx as usize];
    (0..ny).flat_map(row).copied().collect()
}
