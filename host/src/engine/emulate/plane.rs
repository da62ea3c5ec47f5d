// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids as they lie in the emulated GPU's memory.

use half::f16;
use kernels_gpu::layout::Layout;

/// A grid in C order, laid out as the kernels take it ([`kernels_gpu::layout`]), in its frame of zeros.
#[must_use]
pub fn to_plane(ny: u32, nx: u32, values: &[f16]) -> Vec<u16> {
    let layout = Layout::plane_2d(ny, nx);
    let mut plane = vec![0u16; layout.elements()];
    for (y, row) in values.chunks(nx as usize).enumerate() {
        let start = layout.position(0, y as u32, 0);
        for (to, from) in plane[start..].iter_mut().zip(row) {
            *to = from.to_bits();
        }
    }
    plane
}

/// The grid in a plane, in C order.
#[must_use]
pub fn from_plane(ny: u32, nx: u32, plane: &[u16]) -> Vec<f16> {
    let layout = Layout::plane_2d(ny, nx);
    let row = |y| &plane[layout.position(0, y, 0)..][..nx as usize];
    (0..ny).flat_map(row).map(|&bits| f16::from_bits(bits)).collect()
}
