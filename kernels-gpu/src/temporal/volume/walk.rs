// SPDX-License-Identifier: MIT OR Apache-2.0
//! A block's way through the planes of a tile: a warp has some rows of it, and shows its outermost ones to the warps
//! above and below.

use super::{Tiles, VolumeLaunch};
use crate::boundary::Range;
use crate::element::{Element, Real};
use crate::fault::{Fault, planted};
use crate::fetch::{Fetch, Slots};
use crate::temporal::slab::{NeighbourRows, Slab, ThreadRows};
use crate::temporal::step::{Ends, STAR};
use crate::temporal::{load, store};
use crate::unroll::unroll;
use cuda_std::shared::Shared;
use cuda_std::{thread, warp};

/// Rows of a warp that others see: those at its top, and those at its bottom, in radii.
pub(super) const EDGES: u32 = 2;

/// The ring of one of so many warps, for so many rows of so many bytes: as many slots as fit the shared memory of the
/// least chip beside the rows that warps show each other.
pub(super) const fn slots(warps: u32, rows: u32, bytes: u32) -> Slots {
    let count = if warps > 8 { 4 } else { 6 };
    Slots { count, rows, bytes }
}

/// A block's way through a tile.
pub(super) struct Walk<
    'a,
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const ROWS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
> {
    pub(super) launch: &'a VolumeLaunch<E::Real, N>,
    pub(super) fetch: Fetch,
    /// Rows that warps show each other: of two rounds, of all steps, of all warps.
    pub(super) edges: Shared,
    /// Of those of a step.
    pub(super) edge_bytes: u32,
    pub(super) warp: u32,
    pub(super) last: u32,
    pub(super) ends: Ends,
    pub(super) lane: u32,
    /// The tile's first column, and the warp's first row.
    pub(super) left: i32,
    pub(super) y: i32,
    pub(super) input: *const E::Stored,
    /// Where the thread's next outputs go.
    pub(super) to: *mut E::Stored,
    /// The warp's rows that are outputs.
    pub(super) rows: Range,
    /// Columns of outputs from the thread's first on, 0 for threads that store nothing.
    pub(super) stored: i32,
    /// The next plane that is asked for, and the next that is read.
    pub(super) asked: i32,
    pub(super) at: i32,
    /// The first plane that completes outputs, and one past the last.
    pub(super) first: i32,
    pub(super) end: i32,
    pub(super) steps: [Slab<E::Real, RADIUS, RING, ROWS, VECTOR>; STEPS],
    /// In which round's place the rows lie that other warps have shown.
    pub(super) parity: u32,
}

impl<
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const ROWS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
> Walk<'_, E, FORM, RADIUS, RING, STEPS, ROWS, VECTOR, WORDS, N>
{
    /// Asks for the warp's rows of the next plane: the nearest ones that there are, beyond those that outputs depend
    /// on.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn ask(&mut self) {
        let Tiles { extents, pitch, plane, .. } = self.launch.tiles;
        if self.asked >= self.end {
            return;
        }
        let z = nearest(self.asked, extents[0], RADIUS as i32);
        let (left, y, input) = (self.left, self.y, self.input);
        let from = |row: u32| {
            let y = nearest(y + row as i32, extents[1], RADIUS as i32);
            let at = i64::from(z) * plane + i64::from(y) * pitch + i64::from(left);
            input.wrapping_offset(at as isize).cast()
        };
        // SAFETY: as the caller promises: rows of the grid or its halo.
        unsafe { self.fetch.ask(from, self.lane) };
        self.asked += 1;
    }

    /// Sets planes beyond the grid to zero.
    #[inline(always)]
    fn end(&self, plane: &mut ThreadRows<E::Real, ROWS, VECTOR>, z: i32) {
        let is_beyond = z < 0 || z >= self.launch.tiles.extents[0];
        if is_beyond && !planted(Fault::RowsBeyond) {
            *plane = [[E::Real::ZERO; VECTOR]; ROWS];
        }
    }

    /// Takes what waits through all steps, and a plane to the first. `newest` is its number modulo `RING`; `ENDS` says
    /// that planes beyond the grid may be among them.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn round<const ENDS: bool>(&mut self, newest: usize) {
        // SAFETY: as the caller promises; the lane's part of a plane that has arrived.
        unsafe {
            if !planted(Fault::NoBlockSync) {
                thread::sync_threads();
            }
            let at = self.fetch.data().offset(self.lane * 4 * WORDS as u32);
            let mut plane = [[E::Real::ZERO; VECTOR]; ROWS];
            unroll!(row < ROWS => plane[row] = Self::take(row, at));
            if FORM == STAR {
                unroll!(step < STEPS => {
                    let beside = self.beside(step);
                    plane = self.steps[step].add_star(plane, &beside, &self.launch.weights);
                    if ENDS && step + 1 < STEPS {
                        self.end(&mut plane, self.at - (step + 1) as i32);
                    }
                });
                self.store(plane);
            } else {
                // The last step first, since each gives the one after it what is to wait next.
                unroll!(later < STEPS => self.advance::<ENDS>(STEPS - 1 - later, newest));
                self.steps[0].waiting = plane;
            }
            self.ask();
            self.parity ^= 1;
            self.show_all();
        }
        self.at += 1;
    }

    /// One step of what waits.
    #[inline(always)]
    #[track_caller]
    unsafe fn advance<const ENDS: bool>(&mut self, step: usize, newest: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            let beside = self.beside(step);
            let mut rows = self.steps[step].add::<FORM, N>(&beside, newest, &self.launch.weights);
            if step + 1 < STEPS {
                if ENDS {
                    self.end(&mut rows, self.at - ((step + 1) * (RADIUS + 1)) as i32);
                }
                self.steps[step + 1].waiting = rows;
            } else {
                self.store(rows);
            }
        }
    }

    /// The rows beside those of this warp, of what waits for a step.
    ///
    /// # Safety
    /// They have been shown, and a barrier has come since.
    #[inline(always)]
    #[track_caller]
    unsafe fn beside(&self, step: usize) -> NeighbourRows<E::Real, RADIUS, VECTOR> {
        let rows = [[E::Real::ZERO; VECTOR]; RADIUS];
        let mut beside = NeighbourRows { above: rows, below: rows, ends: self.ends };
        for row in 0..RADIUS {
            let (mut above, mut below) = (self.zeros(row), self.zeros(row));
            if self.warp > 0 {
                above = self.edge(step, self.warp - 1, RADIUS + row);
            }
            if self.warp < self.last {
                below = self.edge(step, self.warp + 1, row);
            }
            // SAFETY: as the caller promises.
            unsafe {
                beside.above[row] = Self::seen(above);
                beside.below[row] = Self::seen(below);
            }
        }
        beside
    }

    /// Where rows of zeros lie.
    #[inline(always)]
    fn zeros(&self, row: usize) -> Shared {
        let thread = row as u32 * warp::SIZE + self.lane;
        let at = 2 * STEPS as u32 * self.edge_bytes + thread * VECTOR as u32 * E::Real::BYTES;
        self.edges.offset(at)
    }

    /// Where warps show a row of a step in this round: first those at the top of a warp, then those at its bottom.
    #[inline(always)]
    fn edge(&self, step: usize, warp: u32, row: usize) -> Shared {
        let round = (self.parity * STEPS as u32 + step as u32) * self.edge_bytes;
        let thread = (warp * EDGES * RADIUS as u32 + row as u32) * warp::SIZE + self.lane;
        self.edges.offset(round + thread * VECTOR as u32 * E::Real::BYTES)
    }

    /// # Safety
    /// The row has been shown, and a barrier has come since.
    #[inline(always)]
    #[track_caller]
    unsafe fn seen(at: Shared) -> [E::Real; VECTOR] {
        let mut values = [E::Real::ZERO; VECTOR];
        // SAFETY: as the caller promises.
        unsafe {
            let each = 16 / E::Real::BYTES as usize;
            for part in 0..VECTOR / each {
                let loaded = E::Real::load_sixteen_bytes(at.offset(16 * part as u32));
                for column in 0..each {
                    values[each * part + column] = loaded[column];
                }
            }
        }
        values
    }

    /// Shows other warps the rows that wait at the top and the bottom of this one, of all steps.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn show_all(&mut self) {
        // SAFETY: as the caller promises.
        unroll!(step < STEPS => unsafe { self.show(step) });
    }

    /// Puts zeros where the outermost warps see the rows beyond.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn show_zeros(&self) {
        for row in 0..RADIUS {
            // SAFETY: as the caller promises.
            unsafe {
                if self.warp == 0 {
                    E::Real::store_row(self.zeros(row), &[E::Real::ZERO; VECTOR]);
                }
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn show(&mut self, step: usize) {
        for row in 0..RADIUS {
            // SAFETY: what was there was seen before the last barrier.
            unsafe {
                let waiting = &self.steps[step].waiting;
                E::Real::store_row(self.edge(step, self.warp, row), &waiting[row]);
                let bottom = &waiting[ROWS - RADIUS + row];
                E::Real::store_row(self.edge(step, self.warp, RADIUS + row), bottom);
            }
        }
    }

    /// A row of the plane that has arrived.
    #[inline(always)]
    #[track_caller]
    unsafe fn take(row: usize, at: Shared) -> [E::Real; VECTOR] {
        let offset = (row * WORDS * 4) as u32 * warp::SIZE;
        let mut values = [E::Real::ZERO; VECTOR];
        // SAFETY: as the caller promises.
        unsafe {
            let words = load::<WORDS>(at.offset(offset));
            for column in 0..VECTOR {
                values[column] = E::element(&words, column);
            }
        }
        values
    }

    /// Stores a plane of outputs.
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&mut self, mut rows: ThreadRows<E::Real, ROWS, VECTOR>) {
        // SAFETY: as the caller promises: outputs that no other thread has.
        unsafe {
            for value in rows.as_flattened_mut() {
                *value = value.pin();
            }
            if self.at >= self.first {
                let mut to = self.to;
                for row in 0..ROWS {
                    if row as i32 >= self.rows.low && (row as i32) < self.rows.high {
                        store::<E, VECTOR, WORDS>(to, &rows[row], self.stored);
                    }
                    to = to.wrapping_offset(self.launch.tiles.pitch as isize);
                }
                self.to = self.to.wrapping_offset(self.launch.tiles.plane as isize);
            }
        }
    }
}

/// The coordinate, or the nearest one that is at most `radius` outside of the grid.
#[inline(always)]
const fn nearest(at: i32, extent: i32, radius: i32) -> i32 {
    let at = if at < -radius { -radius } else { at };
    if at < extent + radius { at } else { extent + radius - 1 }
}
