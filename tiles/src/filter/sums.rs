// SPDX-License-Identifier: MIT OR Apache-2.0
//! How sums are computed.

use crate::storage::Storage;
use crate::window::Window;

/// Sums of neighbours.
pub trait NeighbourSums<C>: Send + Sync {
    /// See [`Window::rows`].
    fn rows(&self, planes: &[&[C]], pitch: usize, origin: usize, ahead: usize, to: &mut [&mut [C]]);

    /// Computes planes of `height` rows, of a block whose planes are those that the sums read.
    fn planes(
        &self,
        planes: &[&[C]],
        pitch: usize,
        origin: usize,
        ahead: usize,
        height: usize,
        to: &mut [&mut [C]],
    ) {
        let above = planes.len() - to.len() / height;
        for (z, to) in to.chunks_mut(height).enumerate() {
            self.rows(&planes[z..=z + above], pitch, origin, ahead, to);
        }
    }

    /// Whether a block should not be computed by a few rows at a time.
    fn is_of_blocks(&self) -> bool {
        false
    }
}

impl<C: Storage> NeighbourSums<C> for Window<C> {
    fn rows(
        &self,
        planes: &[&[C]],
        pitch: usize,
        origin: usize,
        ahead: usize,
        to: &mut [&mut [C]],
    ) {
        Self::rows(self, planes, pitch, origin, ahead, to);
    }
}
