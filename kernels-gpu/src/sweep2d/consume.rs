// SPDX-License-Identifier: MIT OR Apache-2.0
//! The consumers: from the ring through registers to global memory.

use super::{Lane, RowMask, Sweep, row_bytes};
use crate::fault::{Fault, planted};
use crate::layout::STRIP;
use crate::overlap;
use crate::pointwise::Point;
use crate::progress::{self, Turns};
use crate::ring::Ring;
use cuda_std::warp;

/// A lane's state on its way down a strip.
struct Stream<L: Lane, const STEPS: usize> {
    place: L,
    operands: L::Operands<STEPS>,
    /// What the next outputs need of the row pairs so far.
    kept: L::Kept<STEPS>,
    inside: L::Inside,
    /// The lane's first row of the next pair of output rows, counted from the tile's first.
    row: i32,
    /// The lane's first output there.
    at: *mut u8,
    /// First column of the lane's outputs, and first row of the tile.
    x: i32,
    y: i32,
    /// Rows of the tile.
    rows: i32,
    /// Bytes from row to row; a grid of rows of 4 GB does not fit any GPU.
    pitch: u32,
}

impl<L: Lane, const STEPS: usize> Stream<L, STEPS> {
    /// Takes row pair `NEWEST` of a stage and stores the outputs that it completes. A function of its
    /// own, because only so every index is a constant.
    ///
    /// # Safety
    /// The whole warp calls it, for pairs 0, 1, … of a filled stage, where `fragment` bytes lead to the
    /// lane's fragments.
    #[inline(always)]
    unsafe fn round<const NEWEST: usize>(&mut self, ring: &Ring, fragment: u32) {
        if NEWEST >= STEPS {
            return;
        }
        let rows = ring.data().offset(fragment).offset(NEWEST as u32 * 2 * row_bytes(L::BYTES));
        // Each lane for itself: that needs no warp barrier, and racecheck can follow it.
        let leave = |early: bool| {
            let now = NEWEST == STEPS - 1 && early == planted(Fault::EarlyRelease);
            if now && (!planted(Fault::OneLaneReleases) || warp::lane_id() == 0) {
                // SAFETY: the lane has loaded all it needs of this stage.
                unsafe { ring.release() };
            }
        };
        leave(true);
        // SAFETY: the row pair lies in the filled stage.
        let rows = unsafe {
            if L::is_one_by_one(STEPS) && NEWEST > 0 {
                warp::sync();
            }
            self.place.load(rows)
        };
        leave(false);
        // SAFETY: all lanes execute it.
        let sum = unsafe {
            let sum = L::take::<STEPS, NEWEST>(&self.operands, &mut self.kept, rows);
            let stored = Point { y: self.y + self.row, x: self.x };
            self.place.finish::<STEPS, NEWEST>(&self.kept, sum, stored)
        };
        // Negative rows are not wanted, either.
        let is_wanted = |row: i32| (row as u32) < self.rows as u32;
        let wanted = RowMask { upper: is_wanted(self.row), lower: is_wanted(self.row + 1) };
        // SAFETY: all lanes execute it; `at` is a point of this row, whose columns of this tile are
        // this lane's.
        unsafe { self.place.store(sum, self.inside, self.at, self.pitch as usize, wanted) };
        self.row += 2;
        self.at = self.at.wrapping_add(2 * self.pitch as usize);
    }
}

/// Sweeps one strip of tile after tile.
///
/// # Safety
/// The whole warp calls it; the ring is set up and the launch valid.
#[inline(always)]
pub(super) unsafe fn consume<L: Lane, const STEPS: usize, const MANY: bool>(
    sweep: &Sweep,
    mut ring: Ring,
    mut finished: Ring,
    operands: L::Operands<STEPS>,
    warp: u32,
    given: L::Given,
) {
    const { assert!(STEPS <= 4, "a stage is unrolled by hand") };
    let lane = warp::lane_id();
    let place = L::new(lane, given);
    let column = (warp * STRIP + place.column()) as i32;
    let pitch = sweep.pitch as u32 * L::BYTES;

    // SAFETY: the output is what the launch before reads.
    let mut turns = unsafe {
        overlap::wait_before_stores();
        Turns::<MANY>::new(sweep.order)
    };
    while !turns.is_over() {
        let tile = sweep.tile(&turns);
        let (_, output) = sweep.grids(turns.step());
        // Strips past the tile's last one read that one's chunks; their outputs are not inside.
        let strip = if warp < tile.strips { warp } else { tile.strips - 1 };
        let fragment = place.window() + strip * STRIP * L::BYTES;
        let x = tile.x + column;
        // The first STEPS - 1 rounds complete no outputs.
        let row = place.row() as i32 - 2 * (STEPS as i32 - 1);
        let mut stream = Stream {
            place,
            operands,
            kept: L::nothing::<STEPS>(),
            inside: place.inside(x, sweep.nx),
            row,
            at: output.wrapping_offset(sweep.offset(L::BYTES, tile.y + row, x)),
            x,
            y: tile.y,
            rows: tile.rows,
            pitch,
        };
        // As many stages as `Tile::stages` says. Rows differ between lanes, and the products need every
        // lane: so lane 0 says for all whether there is more.
        // SAFETY: the whole warp comes here.
        while (unsafe { warp::shuffle(stream.row as u32, 0) } as i32) < stream.rows {
            // SAFETY: the ring is set up, and the producer fills as many stages.
            unsafe {
                ring.wait_full();
                stream.round::<0>(&ring, fragment);
                stream.round::<1>(&ring, fragment);
                stream.round::<2>(&ring, fragment);
                stream.round::<3>(&ring, fragment);
            }
            ring.advance();
        }
        if turns.is_awaited() {
            // SAFETY: the whole warp has stored its part of the tile.
            unsafe { progress::report(&mut finished) };
        }
        // SAFETY: only in a kernel.
        unsafe { turns.advance() };
    }
}
