// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps in a launch: a block loads its part of all arrays with a halo, takes the steps on chip, and writes
//! the part's middle. Threads keep their own points in registers; what neighbours read of them is in shared memory,
//! too.
//!
//! ```text
//! load, share, barrier
//! again: next values of own points from registers and shared memory
//!        barrier, share, barrier; near a side: fill what lies outside of the grid, barrier
//!        note what receivers receive
//! store
//! ```
//!
//! The code is there twice: for parts inside of the grid, and for parts that reach out of it ([`border`]).

use std::collections::HashMap;

use super::sources::Found;
use super::{Point, Table, Writer};
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::gpu::tile::{Tile, TileState};
use crate::program::Offset;

mod border;
mod transfer;

/// A thread's points, and where they are.
struct Own<'a> {
    tile: &'a Tile,
    held: &'a TileState,
    /// Zero, in a register: z.
    zero: String,
    /// Coordinates of the thread's first point in the grid; below 0 outside of it, as numbers with a sign.
    y: String,
    x: String,
    /// Its row and column in the part.
    row: String,
    lane: String,
    /// Coordinates of the part's first point.
    corner: [String; 2],
    /// The first byte of shared memory, and that of the first point in the first array.
    base: String,
    at: String,
    /// By array and row.
    states: Vec<Vec<String>>,
    /// Where the part may reach out of the grid: for each row, and for the column, the point of the grid that evolves
    /// as the thread's own does, if there is one.
    mapped: Option<(Vec<String>, String)>,
}

impl Own<'_> {
    /// What it is a part of.
    fn part(&self) -> (&Tile, &TileState) {
        (self.tile, self.held)
    }

    /// The place of an array in shared memory.
    fn slot(&self, array: Array) -> Option<usize> {
        self.held.shared.iter().position(|shared| *shared == array)
    }

    /// The distance of a point from the thread's first one in an array of shared memory, in bytes.
    fn distance(&self, slot: usize, row: i32, column: i32, bytes: usize) -> i64 {
        let values = (slot * self.tile.values() + self.tile.pad()) as i64;
        let lanes = self.tile.lanes as i64;
        (values + i64::from(row) * lanes + i64::from(column)) * bytes as i64
    }
}

impl Writer<'_> {
    /// The kernel after its addresses.
    pub(super) fn chain(&mut self, tile: &Tile, held: &TileState) {
        let extents @ [_, ny, nx] = self.geometry.extents;
        let [_, _, across] = tile.blocks(extents);
        let ([_, halo_y, halo_x], [_, middle_y, middle_x]) = (tile.halo(), tile.middle());
        let bytes = self.numbers.bytes();
        let emitter = &mut self.emitter;
        let block = emitter.set(Class::B32, "mov.u32", format_args!("%ctaid.x"));
        let thread = emitter.set(Class::B32, "mov.u32", format_args!("%tid.x"));
        let mut word = |opcode: &str, a: &str, b: usize| {
            emitter.set(Class::B32, opcode, format_args!("{a}, {b}"))
        };
        let down = word("div.u32", &block, across);
        let right = word("rem.u32", &block, across);
        let lane = word("rem.u32", &thread, tile.lanes);
        let row = word("div.u32", &thread, tile.lanes);
        let row = word("mul.lo.u32", &row, tile.rows);
        let corner_y = word("mul.lo.u32", &down, middle_y);
        let corner_y = word("sub.u32", &corner_y, halo_y);
        let corner_x = word("mul.lo.u32", &right, middle_x);
        let corner_x = word("sub.u32", &corner_x, halo_x);
        let y = emitter.set(Class::B32, "add.u32", format_args!("{corner_y}, {row}"));
        let x = emitter.set(Class::B32, "add.u32", format_args!("{corner_x}, {lane}"));
        let zero = emitter.set(Class::B32, "mov.u32", format_args!("0"));
        let base = emitter.set(Class::B32, "mov.u32", format_args!("held_values"));
        let operands = format!("{row}, {}, {lane}", tile.lanes);
        let at = emitter.set(Class::B32, "mad.lo.u32", format_args!("{operands}"));
        let operands = format!("{at}, {bytes}, {base}");
        let at = emitter.set(Class::B32, "mad.lo.u32", format_args!("{operands}"));
        let corner = [corner_y, corner_x];
        let states = Vec::new();
        let mut own =
            Own { tile, held, zero, y, x, row, lane, corner, base, at, states, mapped: None };
        let [_, rows, columns] = tile.extents();
        if ny >= rows && nx >= columns {
            let emitter = &mut self.emitter;
            let operands = format!("{}, {}", own.corner[0], ny - rows + 1);
            let inside = emitter.set(Class::Predicate, "setp.lt.u32", format_args!("{operands}"));
            let operands = format!("{}, {}, {inside}", own.corner[1], nx - columns + 1);
            let inside =
                emitter.set(Class::Predicate, "setp.lt.and.u32", format_args!("{operands}"));
            emitter.line(format_args!("@!{inside} bra BORDER"));
            self.part(&mut own);
            self.emitter.label("BORDER");
        }
        own.mapped = Some(self.mapped(&own));
        self.part(&mut own);
    }

    /// All steps of a part.
    fn part(&mut self, own: &mut Own) {
        let (class, bytes) = (self.numbers.class(), self.numbers.bytes());
        let rows = own.tile.rows;
        let states = own.held.states.len();
        let mut registers = || self.emitter.register(class);
        own.states = (0..states).map(|_| (0..rows).map(|_| registers()).collect()).collect();
        self.load_part(own);
        self.share(own, |_| true);
        self.emitter.line(format_args!("bar.sync 0"));

        let place = 8 * (self.arrays.len() + self.written + Table::Steps as usize);
        let left =
            self.emitter.set(Class::B64, "ld.param.u64", format_args!("[parameters+{place}]"));
        let left = self.emitter.set(Class::B32, "cvt.u32.u64", format_args!("{left}"));
        self.numbers_now = None;
        let [numbers, records] = [Table::Numbers, Table::Records].map(|table| {
            let start = self.table(table);
            self.emitter.set(Class::B64, "mov.u64", format_args!("{start}"))
        });
        self.numbers_now = Some(numbers.clone());
        let receivers = (!self.system.receivers.is_empty()).then(|| {
            let block = self.emitter.set(Class::B32, "mov.u32", format_args!("%ctaid.x"));
            self.receivers_in(&block)
        });
        let inside = own.mapped.is_none().then(|| {
            let place = [&own.zero, &own.y, &own.x].map(String::as_str);
            self.sources_in(rows, 1, place)
        });
        let again = self.emitter.new_label();
        self.emitter.label(&again);
        self.load_numbers();
        let results = self.next_values(own, inside.as_ref());
        self.emitter.line(format_args!("bar.sync 0"));
        self.shift(own, &results);
        self.share(own, |array| matches!(array, Array::Field { .. }));
        self.emitter.line(format_args!("bar.sync 0"));
        if own.mapped.is_some() && self.fill(own) {
            self.emitter.line(format_args!("bar.sync 0"));
        }
        if let Some(receivers) = &receivers {
            self.note(receivers, &own.base, &records, own.tile.threads());
            let distance = self.system.receivers.len() * bytes;
            self.emitter.line(format_args!("add.u64 {records}, {records}, {distance}"));
        }
        let distance = (self.program.scalars.len() + self.system.sources.len()) * bytes;
        let emitter = &mut self.emitter;
        emitter.line(format_args!("add.u64 {numbers}, {numbers}, {distance}"));
        emitter.line(format_args!("sub.u32 {left}, {left}, 1"));
        let more = emitter.set(Class::Predicate, "setp.ne.u32", format_args!("{left}, 0"));
        emitter.line(format_args!("@{more} bra {again}"));
        self.store_part(own);
        self.emitter.line(format_args!("ret"));
    }

    /// The next values, rounded as they are stored, by row and field.
    fn next_values(&mut self, own: &Own, inside: Option<&Found>) -> Vec<Vec<String>> {
        let mut loaded = HashMap::new();
        let mut rows = Vec::new();
        for row in 0..own.tile.rows {
            let mut point = InPart { own, row, loaded: &mut loaded };
            let values = self.evaluate(&mut point);
            let mut values: Vec<Vec<String>> = values.into_iter().map(|it| vec![it]).collect();
            match (inside, &own.mapped) {
                (Some(found), _) => self.add_sources(found, row, &mut values),
                (None, Some((ys, x))) => {
                    let found = self.sources_in(1, 1, [&own.zero, &ys[row], x]);
                    self.add_sources(&found, 0, &mut values);
                }
                (None, None) => unreachable!("a part is inside, or its points are mapped"),
            }
            let rounded = values.into_iter().map(|value| {
                let stored = self.numbers.round(&mut self.emitter, &value[0]);
                let value = self.numbers.widen(&mut self.emitter, &stored);
                // It may be a register that goes round.
                let opcode = format!("mov.{}", self.numbers.suffix());
                self.emitter.set(self.numbers.class(), &opcode, format_args!("{value}"))
            });
            rows.push(rounded.collect());
        }
        rows
    }

    /// What is now becomes what was a step ago, and what comes next is now.
    fn shift(&mut self, own: &Own, results: &[Vec<String>]) {
        let suffix = self.numbers.suffix();
        for (number, array) in own.held.states.iter().enumerate().rev() {
            let Array::Field { field, level } = *array else { continue };
            for (row, results) in results.iter().enumerate() {
                let from = match level {
                    0 => &results[field],
                    // Levels of a field follow each other.
                    _ => &own.states[number - 1][row],
                };
                let to = &own.states[number][row];
                self.emitter.line(format_args!("mov.{suffix} {to}, {from}"));
            }
        }
    }
}

/// A point of a part.
struct InPart<'a> {
    own: &'a Own<'a>,
    row: usize,
    /// What is read of shared memory, by array, row and column from the thread's first point on.
    loaded: &'a mut HashMap<(Array, i32, i32), String>,
}

impl Point for InPart<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, [_, down, across]: Offset) -> String {
        let (own, row) = (self.own, self.row as i32 + down);
        if across == 0 && (0..own.tile.rows as i32).contains(&row) {
            let number = writer.index(array);
            return own.states[number][row as usize].clone();
        }
        let load = || {
            let slot = own.slot(array).expect("arrays with neighbours are shared");
            let distance = own.distance(slot, row, across, writer.numbers.bytes());
            let opcode = format!("ld.shared.{}", writer.numbers.suffix());
            let class = writer.numbers.class();
            writer.emitter.set(class, &opcode, format_args!("[{}+{distance}]", own.at))
        };
        self.loaded.entry((array, row, across)).or_insert_with(load).clone()
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String {
        let (place, distance) = match (axis, &self.own.mapped) {
            (0, _) => (&self.own.zero, offset),
            (1, None) => (&self.own.y, self.row as i32 + offset),
            (1, Some((ys, _))) => (&ys[self.row], offset),
            (_, None) => (&self.own.x, offset),
            (_, Some((_, x))) => (x, offset),
        };
        writer.emitter.set(Class::B32, "add.s32", format_args!("{place}, {distance}"))
    }
}
