// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input planes from global memory into a ring of stages. One thread asks for a plane of the tile as a
//! box of a tensor map; what lies outside the grid arrives as zeros, and is not read.
//!
//! There are [`STAGES`] stages, twice the rounds that are unrolled, so that which stage a plane is in is a
//! constant but for which half of them comes first.

use super::{Segment, Sweep};
use crate::layout::CHUNK;
use cuda_std::barrier;
use cuda_std::copy;
use cuda_std::shared::Shared;

/// Stages of the ring.
pub(super) const STAGES: u32 = 8;

/// Rounds that are unrolled.
pub(super) const ROUNDS: usize = 4;

/// How many planes before the one that a round begins with are asked for. Its stage was last read three
/// rounds before.
pub(super) const AHEAD: usize = 6;

/// The ring, seen from the first of the rounds that are unrolled. Planes are counted from the first one
/// that this round keeps.
#[derive(Clone, Copy)]
pub(super) struct Stages {
    /// The stages of the next planes and of those behind, and their barriers.
    data: [Shared; 2],
    full: [Shared; 2],
    bytes: u32,
    /// Which half of the stages comes first, and the phase of its barriers.
    second: u32,
    parity: u32,
}

impl Stages {
    #[inline(always)]
    pub(super) fn new(data: Shared, full: Shared, bytes: u32) -> Self {
        let half = STAGES / 2;
        Self {
            data: [data, data.offset(half * bytes)],
            full: [full, full.offset(half * barrier::BYTES)],
            bytes,
            second: 0,
            parity: 0,
        }
    }

    /// Sets up the barriers.
    ///
    /// # Safety
    /// By one thread, before a block barrier and a fence that everyone else waits for.
    #[inline(always)]
    pub(super) unsafe fn init(&self) {
        let mut plane = 0;
        while plane < STAGES as usize {
            // SAFETY: the place is reserved for barriers, and nobody uses them yet.
            unsafe { barrier::init(self.full(plane), 1) };
            plane += 1;
        }
    }

    #[inline(always)]
    pub(super) fn data(&self, plane: usize) -> Shared {
        self.data[plane / ROUNDS % 2].offset((plane % ROUNDS) as u32 * self.bytes)
    }

    #[inline(always)]
    fn full(&self, plane: usize) -> Shared {
        self.full[plane / ROUNDS % 2].offset((plane % ROUNDS) as u32 * barrier::BYTES)
    }

    /// Waits for a plane.
    ///
    /// # Safety
    /// The barriers are set up.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) unsafe fn wait(&self, plane: usize) {
        let turned = if plane < ROUNDS { 0 } else { self.second };
        // SAFETY: the barrier is set up, and nobody is more than a phase behind.
        unsafe { barrier::wait(self.full(plane), self.parity ^ turned) };
    }

    /// Goes on by the rounds that are unrolled.
    #[inline(always)]
    pub(super) fn turn(&mut self) {
        self.data.swap(0, 1);
        self.full.swap(0, 1);
        self.parity ^= self.second;
        self.second ^= 1;
    }
}

/// What a thread asks for.
pub(super) struct Input {
    map: *const u8,
    /// First word and row of the tile's box in plane 0.
    x: i32,
    row: i32,
    /// Rows from plane to plane.
    plane_rows: i32,
    bytes: u32,
}

impl Input {
    #[inline(always)]
    pub(super) fn new(sweep: &Sweep, segment: &Segment) -> Self {
        Self {
            map: sweep.input,
            x: (segment.x.start - CHUNK as i32) / 2,
            row: segment.y.start - 1,
            plane_rows: sweep.plane_rows,
            bytes: sweep.tile.box_bytes(),
        }
    }

    /// Copies plane `z` of the grid to a stage.
    ///
    /// # Safety
    /// One thread calls it; all warps are done with the stage.
    #[inline(always)]
    pub(super) unsafe fn copy(&self, z: i32, stages: &Stages, plane: usize) {
        let (full, row) = (stages.full(plane), z * self.plane_rows + self.row);
        // SAFETY: the announcement comes before the copy. Tiles start at whole chunks, and stages are
        // aligned to 128 bytes.
        unsafe {
            barrier::arrive_expect(full, self.bytes);
            copy::tensor_2d(stages.data(plane), self.map, self.x, row, full);
        }
    }
}
