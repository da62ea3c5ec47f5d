// SPDX-License-Identifier: MIT OR Apache-2.0
//! One stage of a step of one plane.

use std::collections::HashMap;

use super::transfer::Column;
use super::{StepPlane, ThreadPoints};
use crate::expression::Array;
use crate::gpu::kernel::edge::EdgePoint;
use crate::gpu::kernel::{Point, Writer};
use crate::program::Offset;
use ptx_writer::Relation::{Equal, Less, NotEqual};
use ptx_writer::{B32, Global, Number, Predicate, Register, Shared, StoredValue, U32};

impl Writer<'_> {
    /// Takes the stage: its values go to windows if somebody reads them there, and to memory if they are levels that
    /// the launch leaves. The first stage of a step notes what receivers have before it.
    pub(super) fn level(
        &mut self,
        own: &ThreadPoints,
        turn: &StepPlane,
        left: Register<B32>,
        records: Option<Register<Global>>,
    ) {
        let z = self.plane_of_grid(own, turn.z);
        if let Some(records) = records {
            let base = self.emitter.offset(own.base, turn.windows);
            let base = self.plane_at(own, turn.slot, base);
            self.note_before(own, turn, base, records);
        }
        let column = self.column(own, z);
        let windows = self.emitter.offset(own.at, turn.windows);
        let (mut planes, mut loaded) = (HashMap::new(), HashMap::new());
        let (ys, x) = (&own.points.0, own.points.1);
        let inside = (!own.is_border).then(|| self.sources_in(own.tile.rows, 1, [z, ys[0], x]));
        let mut rows = Vec::new();
        for (row, y) in ys.iter().enumerate() {
            let mut point = PlanePoint {
                own,
                turn,
                windows,
                row,
                column,
                planes: &mut planes,
                loaded: &mut loaded,
                in_grid: EdgePoint::new([z, *y, x]),
            };
            let values = self.evaluate(&mut point);
            let mut values: Vec<Vec<Number>> = values.into_iter().map(|it| vec![it]).collect();
            match &inside {
                Some(found) => self.add_sources(found, row, &mut values),
                None => {
                    let found = self.sources_in(1, 1, [z, *y, x]);
                    self.add_sources(&found, 0, &mut values);
                }
            }
            let rounded =
                values.iter().map(|value| self.numbers.round(&mut self.emitter, value[0]));
            rows.push(rounded.collect::<Vec<StoredValue>>());
        }
        self.put(own, turn, windows, left, &rows);
        self.leave(own, turn, column, left, &rows);
    }

    /// Values of a stage into windows: new ones that no later stage reads unless the step is the last one.
    fn put(
        &mut self,
        own: &ThreadPoints,
        turn: &StepPlane,
        windows: Register<Shared>,
        left: Register<B32>,
        rows: &[Vec<StoredValue>],
    ) {
        let more = self.emitter.setp(NotEqual, U32, left, 1);
        let plane = self.plane_at(own, turn.slot, windows);
        let stage = self.program;
        for (row, values) in rows.iter().enumerate() {
            for (array, value) in stage.writes.iter().zip(values) {
                let Some(window) = self.window(own, *array) else { continue };
                let value = self.numbers.widen(&mut self.emitter, *value);
                let place = plane.at(window + row * own.tile.lanes * self.numbers.bytes());
                match own.windows.lasts(*array) {
                    true => self.emitter.store(place, value),
                    false => self.emitter.guarded(more).store(place, value),
                }
            }
        }
    }

    /// Values of one of the last steps into memory.
    fn leave(
        &mut self,
        own: &ThreadPoints,
        turn: &StepPlane,
        column: Column,
        left: Register<B32>,
        rows: &[Vec<StoredValue>],
    ) {
        let is_right = self.is_right(own, turn.z);
        let most = self.system.fields.iter().map(|field| field.levels).max().unwrap_or_default();
        for level in 0..most {
            let is_left = self.emitter.setp_and(Equal, U32, left, level + 1, is_right);
            let after = self.emitter.new_label();
            self.emitter.branch_if(!is_left, after);
            for field in 0..self.system.fields.len() {
                let Some(computed) = self.program.place_of(field) else { continue };
                if level < self.system.fields[field].levels {
                    let values = rows.iter().map(|values| values[computed]);
                    self.store_column(own, column, (field, level), values);
                }
            }
            self.emitter.label(after);
        }
    }
}

/// A point of a plane.
struct PlanePoint<'a> {
    own: &'a ThreadPoints<'a>,
    turn: &'a StepPlane,
    /// The thread's first point in the first plane of the windows of the time before.
    windows: Register<Shared>,
    row: usize,
    column: Column,
    /// That point in other planes, by their distance.
    planes: &'a mut HashMap<i32, Register<Shared>>,
    /// What was read, by array, and plane, row and column from the thread's first point on.
    loaded: &'a mut HashMap<(Array, Offset), Number>,
    /// The point that evolves as this one, where neighbours of coefficients are found.
    in_grid: EdgePoint,
}

impl Point for PlanePoint<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> Number {
        let [above, down, across] = offset;
        let (own, row) = (self.own, self.row as i32 + down);
        let Some(window) = writer.window(own, array) else {
            if offset != [0; 3] {
                return self.in_grid.read(writer, array, offset);
            }
            let load = || writer.load_of_column(own, self.column, array, self.row);
            return *self.loaded.entry((array, [0, row, 0])).or_insert_with(load);
        };
        let plane = *self.planes.entry(above).or_insert_with(|| {
            let slot = writer.slot(own, self.turn.slot, above);
            writer.plane_at(own, slot, self.windows)
        });
        let load = || {
            let cells = i64::from(row) * own.tile.lanes as i64 + i64::from(across);
            let distance = cells * writer.numbers.bytes() as i64;
            let distance = window as i64 + distance;
            writer.numbers.load_number(&mut writer.emitter, plane.at(distance))
        };
        *self.loaded.entry((array, [above, row, across])).or_insert_with(load)
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        self.in_grid.place(writer, axis, offset)
    }
}

impl Writer<'_> {
    /// A coefficient at the thread's point of a row.
    fn load_of_column(
        &mut self,
        own: &ThreadPoints,
        column: Column,
        array: Array,
        row: usize,
    ) -> Number {
        let place = self.row_of(own, column, self.start(array), row);
        let stored = self.numbers.load(&mut self.emitter, place);
        self.numbers.widen(&mut self.emitter, stored)
    }

    /// Whether a plane is one of those that are right in the end.
    pub(super) fn is_right(&mut self, own: &ThreadPoints, z: Register<B32>) -> Register<Predicate> {
        let [first, end] = own.ends;
        let count = self.emitter.sub(U32, end, first);
        let after = self.emitter.sub(U32, z, first);
        self.emitter.setp(Less, U32, after, count)
    }
}
