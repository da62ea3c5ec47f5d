// SPDX-License-Identifier: MIT OR Apache-2.0
//! Between windows and the arrays of the grid; and what receivers receive.

use super::{Own, Turn};
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::gpu::kernel::Writer;

/// Where a thread's points in a plane lie.
pub enum Column {
    /// One row after the other: the distance of the first from that of an array, in bytes.
    Rows(String),
    /// At the points of the grid that evolve as they do, in this plane.
    Points(String),
}

impl Writer<'_> {
    /// Where a thread's points in a plane lie.
    pub(super) fn column(&mut self, own: &Own, z: &str) -> Column {
        if own.is_border {
            return Column::Points(z.to_owned());
        }
        let zero = self.emitter.set(Class::B64, "mov.u64", format_args!("0"));
        let (ny, (ys, x)) = (self.geometry.extents[1], &own.points);
        Column::Rows(self.address(&zero, [z, &ys[0], x], ny))
    }

    /// The address of one of its rows in an array.
    pub(super) fn row_of(&mut self, own: &Own, column: &Column, start: &str, row: usize) -> String {
        let (ny, (ys, x)) = (self.geometry.extents[1], &own.points);
        match column {
            Column::Points(z) => self.address(start, [z, &ys[row], x], ny),
            Column::Rows(distance) => {
                let operands = format_args!("{start}, {distance}").to_string();
                let start = self.emitter.set(Class::B64, "add.u64", format_args!("{operands}"));
                format!("{start}+{}", row * self.geometry.pitch * self.system.dtype.bytes())
            }
        }
    }

    /// Loads a plane of all levels of all fields, as it is stored, by level and row.
    pub(super) fn load_plane(&mut self, own: &Own, z: &str) -> Vec<Vec<String>> {
        let at = self.plane_of_grid(own, z);
        let column = self.column(own, &at);
        let mut loaded = Vec::new();
        for (field, level) in self.levels_of_fields() {
            let start = self.addresses[self.index(Array::Field { field, level })].clone();
            let rows = (0..own.tile.rows).map(|row| {
                let place = self.row_of(own, &column, &start, row);
                self.numbers.load(&mut self.emitter, &place, 1).remove(0)
            });
            loaded.push(rows.collect());
        }
        self.hand_on(own, z, &column, &loaded);
        loaded
    }

    /// Of few steps some levels that the launch leaves are those that were loaded.
    fn hand_on(&mut self, own: &Own, z: &str, column: &Column, loaded: &[Vec<String>]) {
        let levels = self.levels_of_fields();
        if levels.iter().all(|(_, level)| *level == 0) {
            return;
        }
        let is_right = self.is_right(own, z);
        for (&(field, level), values) in levels.iter().zip(loaded) {
            for later in level + 1..self.system.fields[field].levels {
                let operands = format!("{}, {}, {is_right}", own.steps, later - level);
                let is_left = self.test("setp.eq.and.u32", format_args!("{operands}"));
                let after = self.emitter.new_label();
                self.emitter.line(format_args!("@!{is_left} bra {after}"));
                let values = values.iter().map(String::as_str);
                self.store_column(own, column, (field, later), values);
                self.emitter.label(&after);
            }
        }
    }

    /// Stores the thread's values of a plane, rounded, as a level of a field.
    pub(super) fn store_column<'a>(
        &mut self,
        own: &Own,
        column: &Column,
        (field, level): (usize, usize),
        values: impl Iterator<Item = &'a str>,
    ) {
        let written = self.levels_of_fields().iter().position(|own| *own == (field, level));
        let written = written.expect("all levels are written");
        let start = self.addresses[self.arrays.len() + written].clone();
        let (_, stored) = self.numbers.stored();
        for (row, value) in values.enumerate() {
            let place = self.row_of(own, column, &start, row);
            let writes = &own.writes[row];
            self.emitter.line(format_args!("@{writes} st.global.{stored} [{place}], {value}"));
        }
    }

    /// For each row whether the thread's point is right in the end, and in the grid.
    pub(super) fn writes(&mut self, own: &Own) -> Vec<String> {
        let ([_, ny, nx], [_, middle_y, middle_x]) = (self.geometry.extents, own.tile.middle());
        let [_, halo_y, halo_x] = own.tile.halo();
        let column = self.word("sub.u32", format_args!("{}, {halo_x}", own.lane));
        let mut inside = self.test("setp.lt.u32", format_args!("{column}, {middle_x}"));
        if own.is_border {
            inside = self.test("setp.lt.and.u32", format_args!("{}, {nx}, {inside}", own.x));
        }
        let of_row = |row: usize| {
            // Wraps around below the halo, to more than there are rows.
            let down = row as i64 - halo_y as i64;
            let down = self.word("add.s32", format_args!("{}, {down}", own.row));
            let operands = format!("{down}, {middle_y}, {inside}");
            let writes = self.test("setp.lt.and.u32", format_args!("{operands}"));
            if !own.is_border {
                return writes;
            }
            let y = self.word("add.s32", format_args!("{}, {row}", own.y));
            self.test("setp.lt.and.u32", format_args!("{y}, {ny}, {writes}"))
        };
        (0..own.tile.rows).map(of_row).collect()
    }

    /// Puts what was loaded into windows.
    pub(super) fn share_plane(&mut self, own: &Own, slot: &str, loaded: &[Vec<String>]) {
        let (suffix, bytes) = (self.numbers.suffix(), self.numbers.bytes());
        let plane = self.plane_at(own, slot, &own.at);
        for ((field, level), rows) in self.levels_of_fields().into_iter().zip(loaded) {
            for (row, stored) in rows.iter().enumerate() {
                let value = self.numbers.widen(&mut self.emitter, stored);
                let distance = self.window(own, field, level as isize);
                let distance = distance + row * own.tile.lanes * bytes;
                let place = format!("[{plane}+{distance}]");
                self.emitter.line(format_args!("st.shared.{suffix} {place}, {value}"));
            }
        }
    }

    /// Notes what receivers in the block's part of a plane have before a step; `base` is the plane's first point.
    pub(super) fn note_before(&mut self, own: &Own, turn: &Turn, base: &str, records: &str) {
        if self.system.receivers.is_empty() {
            return;
        }
        let none = self.emitter.new_label();
        let is_right = self.is_right(own, &turn.z);
        self.emitter.line(format_args!("@!{is_right} bra {none}"));
        let block = self.word("mov.u32", format_args!("%ctaid.x"));
        let plane = self.word("sub.u32", format_args!("{}, {}", turn.z, own.ends[0]));
        let planes = own.tile.middle()[0];
        let list = self.word("mad.lo.u32", format_args!("{block}, {planes}, {plane}"));
        let list = self.receivers_in(&list);
        self.note(&list, base, records, own.tile.threads());
        self.emitter.label(&none);
    }
}
