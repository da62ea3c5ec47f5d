// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step of one plane.

use std::collections::HashMap;

use super::transfer::Column;
use super::{Own, Turn};
use crate::expression::Array;
use crate::gpu::kernel::edge::AtEdge;
use crate::gpu::kernel::{Point, Writer};
use crate::program::Offset;

impl Writer<'_> {
    /// Takes the step: its values go to windows if steps are left after it, and to memory if they are levels that
    /// the launch leaves.
    pub(super) fn level(&mut self, own: &Own, turn: &Turn, left: &str, records: &str) {
        let z = self.plane_of_grid(own, &turn.z);
        let base = self.word("add.u32", format_args!("{}, {}", own.base, turn.windows));
        let base = self.plane_at(own, &turn.slot, &base);
        self.note_before(own, turn, &base, records);
        let column = self.column(own, &z);
        let windows = self.word("add.u32", format_args!("{}, {}", own.at, turn.windows));
        let (mut planes, mut loaded) = (HashMap::new(), HashMap::new());
        let (ys, x) = &own.points;
        let inside = (!own.is_border)
            .then(|| self.sources_in(own.tile.rows, 1, [z.as_str(), &ys[0], x.as_str()]));
        let mut rows = Vec::new();
        for (row, y) in ys.iter().enumerate() {
            let mut point = InPlane {
                own,
                turn,
                windows: &windows,
                row,
                column: &column,
                planes: &mut planes,
                loaded: &mut loaded,
                in_grid: AtEdge::new([z.as_str(), y, x]),
            };
            let values = self.evaluate(&mut point);
            let mut values: Vec<Vec<String>> = values.into_iter().map(|it| vec![it]).collect();
            match &inside {
                Some(found) => self.add_sources(found, row, &mut values),
                None => {
                    let found = self.sources_in(1, 1, [&z, y, x]);
                    self.add_sources(&found, 0, &mut values);
                }
            }
            let rounded =
                values.iter().map(|value| self.numbers.round(&mut self.emitter, &value[0]));
            rows.push(rounded.collect::<Vec<String>>());
        }
        self.put(own, turn, &windows, left, &rows);
        self.leave(own, turn, &column, left, &rows);
    }

    /// Values of a step into windows, unless it is the last one.
    fn put(&mut self, own: &Own, turn: &Turn, windows: &str, left: &str, rows: &[Vec<String>]) {
        let (suffix, bytes) = (self.numbers.suffix(), self.numbers.bytes());
        let more = self.test("setp.ne.u32", format_args!("{left}, 1"));
        let plane = self.plane_at(own, &turn.slot, windows);
        for (row, values) in rows.iter().enumerate() {
            for (field, value) in values.iter().enumerate() {
                let value = self.numbers.widen(&mut self.emitter, value);
                let distance = self.window(own, field, -1) + row * own.tile.lanes * bytes;
                let place = format!("[{plane}+{distance}]");
                self.emitter.line(format_args!("@{more} st.shared.{suffix} {place}, {value}"));
            }
        }
    }

    /// Values of one of the last steps into memory.
    fn leave(&mut self, own: &Own, turn: &Turn, column: &Column, left: &str, rows: &[Vec<String>]) {
        let is_right = self.is_right(own, &turn.z);
        let most = self.system.fields.iter().map(|field| field.levels).max().unwrap_or_default();
        for level in 0..most {
            let operands = format!("{left}, {}, {is_right}", level + 1);
            let is_left = self.test("setp.eq.and.u32", format_args!("{operands}"));
            let after = self.emitter.new_label();
            self.emitter.line(format_args!("@!{is_left} bra {after}"));
            for field in 0..self.system.fields.len() {
                if level < self.system.fields[field].levels {
                    let values = rows.iter().map(|values| values[field].as_str());
                    self.store_column(own, column, (field, level), values);
                }
            }
            self.emitter.label(&after);
        }
    }
}

/// A point of a plane.
struct InPlane<'a> {
    own: &'a Own<'a>,
    turn: &'a Turn,
    /// The thread's first point in the first plane of the windows of the time before.
    windows: &'a str,
    row: usize,
    column: &'a Column,
    /// The same in other planes, by their distance.
    planes: &'a mut HashMap<i32, String>,
    /// What was read, by array, and plane, row and column from the thread's first point on.
    loaded: &'a mut HashMap<(Array, Offset), String>,
    /// The point that evolves as this one, where neighbours of coefficients are found.
    in_grid: AtEdge<'a>,
}

impl Point for InPlane<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> String {
        let [above, down, across] = offset;
        let (own, row) = (self.own, self.row as i32 + down);
        let (field, level) = match array {
            Array::Field { field, level } => (field, level as isize),
            Array::Coefficient(_) if offset != [0; 3] => {
                return self.in_grid.read(writer, array, offset);
            }
            Array::Coefficient(_) => {
                let load = || writer.load_of_column(own, self.column, array, self.row);
                return self.loaded.entry((array, [0, row, 0])).or_insert_with(load).clone();
            }
        };
        let plane = self.planes.entry(above).or_insert_with(|| {
            let slot = writer.slot(own, &self.turn.slot, above);
            writer.plane_at(own, &slot, self.windows)
        });
        let load = || {
            let (class, suffix) = (writer.numbers.class(), writer.numbers.suffix());
            let cells = i64::from(row) * own.tile.lanes as i64 + i64::from(across);
            let distance = writer.window(own, field, level) as i64;
            let distance = distance + cells * writer.numbers.bytes() as i64;
            let opcode = format!("ld.shared.{suffix}");
            writer.emitter.set(class, &opcode, format_args!("[{plane}+{distance}]"))
        };
        self.loaded.entry((array, [above, row, across])).or_insert_with(load).clone()
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String {
        self.in_grid.place(writer, axis, offset)
    }
}

impl Writer<'_> {
    /// A coefficient at the thread's point of a row.
    fn load_of_column(&mut self, own: &Own, column: &Column, array: Array, row: usize) -> String {
        let start = self.addresses[self.index(array)].clone();
        let place = self.row_of(own, column, &start, row);
        let stored = self.numbers.load(&mut self.emitter, &place, 1).remove(0);
        self.numbers.widen(&mut self.emitter, &stored)
    }

    /// Whether a plane is one of those that are right in the end.
    pub(super) fn is_right(&mut self, own: &Own, z: &str) -> String {
        let [first, end] = &own.ends;
        let count = self.word("sub.u32", format_args!("{end}, {first}"));
        let after = self.word("sub.u32", format_args!("{z}, {first}"));
        self.test("setp.lt.u32", format_args!("{after}, {count}"))
    }
}
