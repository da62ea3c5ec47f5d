// SPDX-License-Identifier: MIT OR Apache-2.0
//! How sums are computed.

use crate::storage::Storage;
use crate::window::Window;

/// Sums of neighbours.
pub trait Sums<C>: Send + Sync {
    /// See [`Window::rows`].
    fn rows(&self, planes: &[&[C]], pitch: usize, origin: usize, ahead: usize, to: &mut [&mut [C]]);
}

impl<C: Storage> Sums<C> for Window<C> {
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
