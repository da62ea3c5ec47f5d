// SPDX-License-Identifier: MIT OR Apache-2.0
//! Between windows and the arrays of the grid; and what receivers receive.

use super::{StepPlane, ThreadPoints};
use crate::expression::Array;
use crate::gpu::kernel::Writer;
use ptx_writer::Relation::{Equal, Less};
use ptx_writer::{
    B32, B64, Global, OffsetAddress, Predicate, Register, S32, Shared, StoredValue, U32, U64,
};

/// Where a thread's points in a plane lie.
#[derive(Clone, Copy)]
pub enum Column {
    /// One row after the other: the distance of the first from that of an array, in bytes.
    Rows(Register<B64>),
    /// At the points of the grid that evolve as they do, in this plane.
    Points(Register<B32>),
}

impl Writer<'_> {
    /// Where a thread's points in a plane lie.
    pub(super) fn column(&mut self, own: &ThreadPoints, z: Register<B32>) -> Column {
        if own.is_border {
            return Column::Points(z);
        }
        let zero = self.emitter.mov(U64, 0);
        let distance = self.distance([z, own.points.0[0], own.points.1]);
        Column::Rows(self.emitter.add(U64, zero, distance))
    }

    /// One of its rows in an array.
    pub(super) fn row_of(
        &mut self,
        own: &ThreadPoints,
        column: Column,
        start: Register<Global>,
        row: usize,
    ) -> OffsetAddress<Global> {
        let (ys, x) = &own.points;
        match column {
            Column::Points(z) => self.address(start, [z, ys[row], *x]).into(),
            Column::Rows(distance) => {
                let row_bytes = self.geometry.pitch * self.system.dtype.bytes();
                self.emitter.offset(start, distance).at(row * row_bytes)
            }
        }
    }

    /// Loads a plane of all levels of all fields, as it is stored, by level and row.
    pub(super) fn load_plane(
        &mut self,
        own: &ThreadPoints,
        z: Register<B32>,
    ) -> Vec<Vec<StoredValue>> {
        let at = self.plane_of_grid(own, z);
        let column = self.column(own, at);
        let mut loaded = Vec::new();
        for (field, level) in self.levels_of_fields() {
            let start = self.start(Array::Field { field, level });
            let rows = (0..own.tile.rows).map(|row| {
                let place = self.row_of(own, column, start, row);
                self.numbers.load(&mut self.emitter, place)
            });
            loaded.push(rows.collect());
        }
        self.hand_on(own, z, column, &loaded);
        loaded
    }

    /// Of few steps some levels that the launch leaves are those that were loaded.
    fn hand_on(
        &mut self,
        own: &ThreadPoints,
        z: Register<B32>,
        column: Column,
        loaded: &[Vec<StoredValue>],
    ) {
        let levels = self.levels_of_fields();
        if levels.iter().all(|(_, level)| *level == 0) {
            return;
        }
        let is_right = self.is_right(own, z);
        for (&(field, level), values) in levels.iter().zip(loaded) {
            for later in level + 1..self.system.fields[field].levels {
                let is_left = self.emitter.setp_and(Equal, U32, own.steps, later - level, is_right);
                let after = self.emitter.new_label();
                self.emitter.branch_if(!is_left, after);
                self.store_column(own, column, (field, later), values.iter().copied());
                self.emitter.label(after);
            }
        }
    }

    /// Stores the thread's values of a plane, rounded, as a level of a field.
    pub(super) fn store_column(
        &mut self,
        own: &ThreadPoints,
        column: Column,
        (field, level): (usize, usize),
        values: impl Iterator<Item = StoredValue>,
    ) {
        let written = self.levels_of_fields().iter().position(|own| *own == (field, level));
        let written = written.expect("all levels are written");
        let start = self.addresses[self.arrays.len() + written];
        for (row, value) in values.enumerate() {
            let place = self.row_of(own, column, start, row);
            self.numbers.store(self.emitter.guarded(own.writes[row]), place, &[value]);
        }
    }

    /// For each row whether the thread's point is right in the end, and in the grid.
    pub(super) fn writes(&mut self, own: &ThreadPoints) -> Vec<Register<Predicate>> {
        let ([_, ny, nx], [_, middle_y, middle_x]) = (self.geometry.extents, own.tile.middle());
        let ([_, halo_y, halo_x], emitter) = (own.tile.halo(), &mut self.emitter);
        let column = emitter.sub(U32, own.lane, halo_x);
        let mut inside = emitter.setp(Less, U32, column, middle_x);
        if own.is_border {
            inside = emitter.setp_and(Less, U32, own.x, nx, inside);
        }
        let of_row = |row: usize| {
            // Wraps around below the halo, to more than there are rows.
            let down = emitter.add(S32, own.row, row as i64 - halo_y as i64);
            let writes = emitter.setp_and(Less, U32, down, middle_y, inside);
            if !own.is_border {
                return writes;
            }
            let y = emitter.add(S32, own.y, row);
            emitter.setp_and(Less, U32, y, ny, writes)
        };
        (0..own.tile.rows).map(of_row).collect()
    }

    /// Puts what was loaded into windows.
    pub(super) fn share_plane(
        &mut self,
        own: &ThreadPoints,
        slot: Register<B32>,
        loaded: &[Vec<StoredValue>],
    ) {
        let plane = self.plane_at(own, slot, own.at);
        for ((field, level), rows) in self.levels_of_fields().into_iter().zip(loaded) {
            for (row, stored) in rows.iter().enumerate() {
                let value = self.numbers.widen(&mut self.emitter, *stored);
                let window = self.window(own, Array::Field { field, level });
                let distance = window.expect("fields have windows");
                let place = plane.at(distance + row * own.tile.lanes * self.numbers.bytes());
                self.emitter.store(place, value);
            }
        }
    }

    /// Notes what receivers in the block's part of a plane have before a step; `base` is the plane's first point.
    pub(super) fn note_before(
        &mut self,
        own: &ThreadPoints,
        turn: &StepPlane,
        base: Register<Shared>,
        records: Register<Global>,
    ) {
        if self.system.receivers.is_empty() {
            return;
        }
        let none = self.emitter.new_label();
        let is_right = self.is_right(own, turn.z);
        self.emitter.branch_if(!is_right, none);
        let block = self.block();
        let plane = self.emitter.sub(U32, turn.z, own.ends[0]);
        let list = self.emitter.mad(U32, block, own.tile.middle()[0], plane);
        let list = self.receivers_in(list);
        self.note(list, base, records, own.tile.threads());
        self.emitter.label(none);
    }
}
