// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps in a launch on a grid of three axes: a block holds a part of y and x with a halo, and goes along z plane
//! by plane. Each stage of each step is some planes behind the one before it ([`Windows`]).
//!
//! ```text
//! again: load a plane of all fields
//!        for each step, for each stage: what it computes of its plane, from windows; into windows, or of the last ones to memory
//!        put what was loaded into windows, barrier
//!        near a side: fill what lies outside of the grid, barrier
//!        one plane on
//! ```
//!
//! The code is there twice: for parts inside of the grid along y and x, and for parts that reach out of it.

use super::chain::BORDER;
use super::{HELD, Writer};
use crate::expression::Array;
use crate::gpu::held::TileState;
use crate::gpu::tile::BlockTile;
use crate::gpu::windows::Windows;
use ptx_writer::Relation::{AtLeast, Less, NotEqual};
use ptx_writer::{B32, Predicate, Register, S32, Shared, THREAD, U32};

mod ghosts;
mod level;
mod transfer;

/// A thread's points, and where they are.
struct ThreadPoints<'a> {
    tile: &'a BlockTile,
    held: &'a TileState,
    windows: Windows,
    /// Coordinates of the thread's first point in the grid; below 0 outside of it, as numbers with a sign.
    y: Register<B32>,
    x: Register<B32>,
    /// Its row and column in the part.
    row: Register<B32>,
    lane: Register<B32>,
    /// Coordinates of the part's first point.
    corner: [Register<B32>; 2],
    /// z of the first plane that is right in the end, and the one after the last.
    ends: [Register<B32>; 2],
    /// Steps of the launch.
    steps: Register<B32>,
    /// Of the first plane of the first window the first point, and the thread's own.
    base: Register<Shared>,
    at: Register<Shared>,
    /// Whether the part may reach out of the grid.
    is_border: bool,
    /// The points of the grid, by row and of the column, that evolve as the thread's own do; any where there are none.
    points: (Vec<Register<B32>>, Register<B32>),
    /// Of each row whether the thread writes it in the end.
    writes: Vec<Register<Predicate>>,
}

impl ThreadPoints<'_> {
    fn part(&self) -> (&BlockTile, &TileState) {
        (self.tile, self.held)
    }

    /// Along which axes points outside follow a rule, and do not evolve.
    fn follows(&self) -> [bool; 3] {
        [0, 1, 2].map(|axis: usize| !self.held.periodic[axis] && self.tile.reach[axis] > 0)
    }
}

/// A step of the launch, and the plane that a stage of it has come to.
struct StepPlane {
    /// Its z, as a number with a sign.
    z: Register<B32>,
    /// Its place in windows.
    slot: Register<B32>,
    /// How far the windows of this time lie behind those of the start, in bytes.
    windows: Register<B32>,
}

impl Writer<'_> {
    /// The kernel after its addresses.
    pub(super) fn stream(&mut self, tile: &BlockTile, held: &TileState) {
        let extents @ [nz, ny, nx] = self.geometry.extents;
        let [_, blocks_down, blocks_across] = tile.blocks(extents);
        let ([_, halo_y, halo_x], [planes, middle_y, middle_x]) = (tile.halo(), tile.middle());
        let block = self.block();
        let (bytes, emitter) = (self.numbers.bytes(), &mut self.emitter);
        let thread = emitter.mov(U32, THREAD);
        let rest = emitter.div(U32, block, blocks_across);
        let right = emitter.rem(U32, block, blocks_across);
        let down = emitter.rem(U32, rest, blocks_down);
        let chunk = emitter.div(U32, rest, blocks_down);
        let lane = emitter.rem(U32, thread, tile.lanes);
        let row = emitter.div(U32, thread, tile.lanes);
        let row = emitter.mul(U32, row, tile.rows);
        let corner = [(down, middle_y, halo_y), (right, middle_x, halo_x)];
        let corner = corner.map(|(number, middle, halo)| {
            let first = emitter.mul(U32, number, middle);
            emitter.sub(U32, first, halo)
        });
        let y = emitter.add(U32, corner[0], row);
        let x = emitter.add(U32, corner[1], lane);
        let first = emitter.mul(U32, chunk, planes);
        let end = emitter.add(S32, first, planes);
        let end = emitter.min(S32, end, nz);
        let steps = self.steps();
        let emitter = &mut self.emitter;
        let base = emitter.mov(Shared, HELD);
        let base = emitter.offset(base, tile.pad() * bytes);
        let cell = emitter.mad(U32, row, tile.lanes, lane);
        let at = emitter.shared_element(base, cell, bytes);
        let ys = (0..tile.rows).map(|row| emitter.add(S32, y, row));
        let points = (ys.collect(), x);
        let windows = Windows::new(self.system, tile);
        let (ends, is_border, writes) = ([first, end], false, Vec::new());
        let mut own = ThreadPoints {
            tile,
            held,
            windows,
            y,
            x,
            row,
            lane,
            corner,
            ends,
            steps,
            base,
            at,
            is_border,
            points,
            writes,
        };
        let [_, rows, columns] = tile.extents();
        if ny >= rows && nx >= columns {
            let emitter = &mut self.emitter;
            let inside = emitter.setp(Less, U32, own.corner[0], ny - rows + 1);
            let inside = emitter.setp_and(Less, U32, own.corner[1], nx - columns + 1, inside);
            emitter.branch_if(!inside, BORDER);
            self.planes(&mut own);
            self.emitter.label(BORDER);
        }
        own.is_border = true;
        let (ys, x) = own.points.clone();
        let ys = ys.into_iter().map(|y| self.map(own.part(), 1, y)).collect();
        own.points = (ys, self.map(own.part(), 2, x));
        self.planes(&mut own);
    }

    /// All planes of a part.
    fn planes(&mut self, own: &mut ThreadPoints) {
        let ([nz, ..], [reach, ..]) = (self.geometry.extents, own.tile.reach);
        let is_periodic = own.held.periodic[0];
        self.numbers_now = None;
        own.writes = self.writes(own);
        let ([first, end], emitter) = (own.ends, &mut self.emitter);
        // What the first step needs.
        let halo = emitter.mul(U32, own.steps, reach);
        let low = emitter.sub(U32, first, halo);
        let high = emitter.add(S32, end, halo);
        let z = match is_periodic {
            true => emitter.mov(U32, low),
            false => emitter.max(S32, low, 0),
        };
        let last = match is_periodic {
            true => high,
            false => emitter.min(S32, high, nz),
        };
        let slot = emitter.mov(U32, 0);
        let step = self.system.stages.len() * own.tile.delay();
        let stop = emitter.mad(U32, own.steps, step, end);
        let again = emitter.new_label();
        emitter.label(again);
        let beyond = emitter.setp(AtLeast, S32, z, last);
        let [no_load, no_share] = [(); 2].map(|()| emitter.new_label());
        emitter.branch_if(beyond, no_load);
        let loaded = self.load_plane(own, z);
        self.emitter.label(no_load);
        self.levels(own, [z, slot], [low, high]);
        self.emitter.branch_if(beyond, no_share);
        self.share_plane(own, slot, &loaded);
        self.emitter.label(no_share);
        if !own.is_border {
            self.ghosts(own, z, slot);
        }
        self.emitter.barrier();
        if own.is_border && self.ghosts(own, z, slot) {
            self.emitter.barrier();
        }
        self.emitter.increase(S32, z, 1);
        let next = self.slot(own, slot, 1);
        self.emitter.assign(U32, slot, next);
        let more = self.emitter.setp(Less, S32, z, stop);
        self.emitter.branch_if(more, again);
        self.emitter.ret();
    }

    /// All stages of all steps, each of the plane that it has come to.
    fn levels(
        &mut self,
        own: &ThreadPoints,
        [z, slot]: [Register<B32>; 2],
        ends: [Register<B32>; 2],
    ) {
        let ([nz, ..], bytes) = (self.geometry.extents, self.numbers.bytes());
        let [low, high] = ends;
        let [z, slot, low, high, left] =
            [z, slot, low, high, own.steps].map(|start| self.emitter.mov(U32, start));
        let windows = self.emitter.mov(U32, 0);
        let [numbers, records] = self.numbers_and_records();
        let turn = StepPlane { z, slot, windows };
        let level = self.emitter.new_label();
        self.emitter.label(level);
        let stages = &self.system.stages;
        for (number, (stage, [reach, ..])) in stages.iter().zip(self.system.reaches()).enumerate() {
            self.program = stage;
            let next = self.emitter.new_label();
            self.one_behind(own, &turn);
            let emitter = &mut self.emitter;
            let (first, last) = (emitter.add(S32, low, reach), emitter.sub(U32, high, reach));
            let [first, last] = match own.held.periodic[0] {
                true => [first, last],
                false => [emitter.max(S32, first, 0), emitter.min(S32, last, nz)],
            };
            let before = emitter.setp(Less, S32, z, first);
            emitter.branch_if(before, next);
            let after = emitter.setp(AtLeast, S32, z, last);
            emitter.branch_if(after, next);
            self.load_numbers();
            let noted = (number == 0).then_some(records);
            self.level(own, &turn, left, noted);
            self.emitter.label(next);
        }
        self.next_windows(own, &turn);
        let ([reach, ..], emitter) = (own.tile.reach, &mut self.emitter);
        emitter.increase(S32, low, reach);
        emitter.decrease(high, reach);
        let count = self.program.scalars.len() + self.system.sources.len();
        emitter.advance(numbers, count * bytes);
        emitter.advance(records, self.system.receivers.len() * bytes);
        emitter.decrease(left, 1);
        let more = emitter.setp(NotEqual, U32, left, 0);
        emitter.branch_if(more, level);
        self.numbers_now = None;
    }

    /// To the plane of the next stage.
    fn one_behind(&mut self, own: &ThreadPoints, turn: &StepPlane) {
        let delay = own.tile.delay();
        self.emitter.decrease(turn.z, delay);
        let behind = self.slot(own, turn.slot, -(delay as i32));
        self.emitter.assign(U32, turn.slot, behind);
    }

    /// To the windows of the next time.
    fn next_windows(&mut self, own: &ThreadPoints, turn: &StepPlane) {
        let bytes = own.windows.planes * own.windows.plane * self.numbers.bytes();
        self.emitter.increase(U32, turn.windows, bytes);
    }

    /// The place in windows of a plane that is so far away.
    fn slot(&mut self, own: &ThreadPoints, slot: Register<B32>, distance: i32) -> Register<B32> {
        let distance = distance.rem_euclid(own.windows.planes as i32);
        if distance == 0 {
            return slot;
        }
        let far = self.emitter.add(U32, slot, distance);
        self.around(own, far)
    }

    /// A place in windows, or one that is as much more as windows have planes.
    fn around(&mut self, own: &ThreadPoints, slot: Register<B32>) -> Register<B32> {
        // Wraps to a large number unless it is more.
        let less = self.emitter.sub(U32, slot, own.windows.planes);
        self.emitter.min(U32, slot, less)
    }

    /// The address of a plane in a window, after a point of the first plane.
    fn plane_at(
        &mut self,
        own: &ThreadPoints,
        slot: Register<B32>,
        point: Register<Shared>,
    ) -> Register<Shared> {
        self.emitter.shared_element(point, slot, own.windows.plane * self.numbers.bytes())
    }

    /// The distance of an array's window from those of its time, in bytes, if it has one.
    fn window(&self, own: &ThreadPoints, array: Array) -> Option<usize> {
        own.windows.of(array).map(|values| values * self.numbers.bytes())
    }

    /// The point of the grid along z that evolves as a plane does.
    fn plane_of_grid(&mut self, own: &ThreadPoints, z: Register<B32>) -> Register<B32> {
        match own.held.periodic[0] {
            true => self.map(own.part(), 0, z),
            false => z,
        }
    }

    /// All levels of all fields.
    fn levels_of_fields(&self) -> Vec<(usize, usize)> {
        let of_array = |array: &Array| match *array {
            Array::Field { field, level } => Some((field, level)),
            _ => None,
        };
        self.arrays.iter().filter_map(of_array).collect()
    }
}
