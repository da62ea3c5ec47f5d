// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a block reads: the neighbours, the points of the grid, and what lies around it.

use super::patch::Walk;
use super::{Block, Box3, THREADS, tap_words, unpack_offset};
use crate::boundary::Range;
use crate::element::{Element, Real};
use crate::unroll::unroll;
use cuda_std::shared::{self, Shared};
use cuda_std::{global, thread};

impl<E: Element, const PLANES: usize, const WIDTH: usize> Block<'_, E, PLANES, WIDTH> {
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn load_taps(&self, table: *const u32) {
        let mut tap = thread::thread_idx_x();
        while tap < self.rim.taps {
            let words = table.wrapping_add((tap * tap_words(E::Real::BYTES)) as usize);
            let to = self.taps.offset(tap * Self::TAP_BYTES);
            // SAFETY: the table has so many neighbours and the shared memory room for them.
            unsafe {
                let offset = unpack_offset(global::load_constant(words));
                shared::store(to, self.patch.offset(offset) as u32);
                let weight = E::Real::load_constant(words.wrapping_add(1));
                E::Real::store_shared(to.offset(E::Real::BYTES), weight);
            }
            tap += THREADS;
        }
    }

    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn load_columns(&self, table: *const u32) {
        let mut word = thread::thread_idx_x();
        while 4 * word < self.rim.taps * Self::TAP_BYTES {
            // SAFETY: the table has so many words and the shared memory room for them.
            unsafe {
                let weight = global::load_constant(table.wrapping_add(word as usize));
                shared::store(self.taps.offset(4 * word), weight);
            }
            word += THREADS;
        }
    }

    /// Loads the cells of a box: points of the grid and of its copies along periodic axes.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn load_points(&self, input: *const E::Stored, of: Box3, buffer: Shared) {
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, 1) };
        loop {
            // SAFETY: the cells of the box, each by one thread.
            unsafe {
                // Issues all loads before it uses what the first one brings.
                let mut next = || self.load_point(input, walk.next());
                let points = [next(), next(), next(), next()];
                unroll!(point < 4 => if let Some((offset, bits)) = points[point] {
                    E::Real::store_shared(buffer.offset(offset), E::widen(bits));
                });
                if points[3].is_none() {
                    return;
                }
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn load_point(
        &self,
        input: *const E::Stored,
        at: Option<[i32; 3]>,
    ) -> Option<(u32, E::Stored)> {
        let [z, y, x] = at?;
        let domain = &self.rim.domain;
        let position = domain.position(domain.z.wrap(z), domain.y.wrap(y), domain.x.wrap(x));
        // SAFETY: a point of the grid.
        let bits = unsafe { E::load(input.wrapping_offset(position)) };
        Some((self.patch.at(Shared(0), z, y, x).0, bits))
    }

    /// Fills the cells around the computed ones: before the first step those of a constant value, in
    /// both buffers, because no step writes them; after every step those that follow others.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn fill_halo(
        &self,
        reach: Box3,
        computed: Box3,
        buffers: [Shared; 2],
        follow: bool,
    ) {
        let Box3 { z, y, x } = computed;
        let mut side = 0;
        while side < 6 {
            let beside = |all: Range, inner: Range| {
                if side % 2 == 0 {
                    Range { low: all.low, high: inner.low }
                } else {
                    Range { low: inner.high, high: all.high }
                }
            };
            let of = match side / 2 {
                0 => Box3 { z: beside(reach.z, z), ..reach },
                1 => Box3 { y: beside(reach.y, y), z, x: reach.x },
                _ => Box3 { x: beside(reach.x, x), z, y },
            };
            // SAFETY: as the caller promises.
            unsafe { self.fill_halo_with(of, buffers, follow) };
            side += 1;
        }
    }

    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn fill_halo_with(&self, of: Box3, buffers: [Shared; 2], follow: bool) {
        if of.z.is_empty() || of.y.is_empty() || of.x.is_empty() {
            return;
        }
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, 1) };
        while let Some([z, y, x]) = walk.next() {
            let to = self.patch.at(Shared(0), z, y, x).0;
            // SAFETY: this cell is no other thread's; the one that it follows is a computed cell, because
            // the region reaches as far into the grid as out of it.
            unsafe {
                let domain = &self.rim.domain;
                let risen = |value: E::Real| {
                    if domain.rises() { value + domain.rise(z, y, x) } else { value }
                };
                match domain.mirror(z, y, x) {
                    Ok([z, y, x]) if follow => {
                        let value = E::Real::load_shared(self.patch.at(buffers[0], z, y, x));
                        E::Real::store_shared(buffers[0].offset(to), risen(value));
                    }
                    Err(value) if !follow => {
                        let value = risen(value);
                        E::Real::store_shared(buffers[0].offset(to), value);
                        if self.rim.steps > 1 {
                            E::Real::store_shared(buffers[1].offset(to), value);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
