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
use super::{HELD, Point, Table, Writer};
use crate::expression::Array;
use crate::gpu::tile::{Tile, TileState};
use crate::program::Offset;
use ptx_writer::{B32, Global, Label, Number, Register, Relation, S32, Shared, THREAD, U32};

mod border;
mod transfer;

/// A thread's points, and where they are.
struct Own<'a> {
    tile: &'a Tile,
    held: &'a TileState,
    /// Zero, in a register: z.
    zero: Register<B32>,
    /// Coordinates of the thread's first point in the grid; below 0 outside of it, as numbers with a sign.
    y: Register<B32>,
    x: Register<B32>,
    /// Its row and column in the part.
    row: Register<B32>,
    lane: Register<B32>,
    /// Coordinates of the part's first point.
    corner: [Register<B32>; 2],
    /// The first byte of shared memory, and that of the first point in the first array.
    base: Register<Shared>,
    at: Register<Shared>,
    /// By array and row.
    states: Vec<Vec<Number>>,
    /// Where the part may reach out of the grid: for each row, and for the column, the point of the grid that evolves
    /// as the thread's own does, if there is one.
    mapped: Option<(Vec<Register<B32>>, Register<B32>)>,
}

/// Parts that may reach out of the grid.
pub(super) const BORDER: Label = Label::named("BORDER");

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
        let block = self.block();
        let emitter = &mut self.emitter;
        let thread = emitter.mov(U32, THREAD);
        let down = emitter.div(U32, block, across);
        let right = emitter.rem(U32, block, across);
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
        let zero = emitter.mov(U32, 0);
        let base = emitter.mov(Shared, HELD);
        let at = emitter.mad(U32, row, tile.lanes, lane);
        let at = emitter.shared_element(base, at, self.numbers.bytes());
        let states = Vec::new();
        let mut own =
            Own { tile, held, zero, y, x, row, lane, corner, base, at, states, mapped: None };
        let [_, rows, columns] = tile.extents();
        if ny >= rows && nx >= columns {
            let emitter = &mut self.emitter;
            let inside = emitter.setp(Relation::Less, U32, own.corner[0], ny - rows + 1);
            let inside =
                emitter.setp_and(Relation::Less, U32, own.corner[1], nx - columns + 1, inside);
            emitter.branch_if(!inside, BORDER);
            self.part(&mut own);
            self.emitter.label(BORDER);
        }
        own.mapped = Some(self.mapped(&own));
        self.part(&mut own);
    }

    /// All steps of a part.
    fn part(&mut self, own: &mut Own) {
        let (bytes, rows) = (self.numbers.bytes(), own.tile.rows);
        let mut registers = || self.numbers.register(&mut self.emitter);
        let states = 0..own.held.states.len();
        own.states = states.map(|_| (0..rows).map(|_| registers()).collect()).collect();
        self.load_part(own);
        self.share(own, |_| true);
        self.emitter.barrier();

        let left = self.steps();
        let [numbers, records] = self.numbers_and_records();
        let receivers = (!self.system.receivers.is_empty()).then(|| {
            let block = self.block();
            self.receivers_in(block)
        });
        let inside = own.mapped.is_none();
        let inside = inside.then(|| self.sources_in(rows, 1, [own.zero, own.y, own.x]));
        let again = self.emitter.new_label();
        self.emitter.label(again);
        self.load_numbers();
        let results = self.next_values(own, inside.as_ref());
        self.emitter.barrier();
        self.shift(own, &results);
        self.share(own, |array| matches!(array, Array::Field { .. }));
        self.emitter.barrier();
        if own.mapped.is_some() && self.fill(own) {
            self.emitter.barrier();
        }
        if let Some(receivers) = receivers {
            self.note(receivers, own.base, records, own.tile.threads());
            self.emitter.advance(records, self.system.receivers.len() * bytes);
        }
        let emitter = &mut self.emitter;
        let count = self.program.scalars.len() + self.system.sources.len();
        emitter.advance(numbers, count * bytes);
        emitter.decrease(left, 1);
        let more = emitter.setp(Relation::NotEqual, U32, left, 0);
        emitter.branch_if(more, again);
        self.store_part(own);
        self.emitter.ret();
    }

    /// The steps of the launch.
    pub(super) fn steps(&mut self) -> Register<B32> {
        let place = self.arrays.len() + self.written + Table::Steps as usize;
        let steps = self.parameter(place);
        self.emitter.low(steps)
    }

    /// Where the numbers of the first step are, and where to note what receivers receive, in registers to be moved on;
    /// numbers are loaded from there from now on.
    pub(super) fn numbers_and_records(&mut self) -> [Register<Global>; 2] {
        self.numbers_now = None;
        let moving = [Table::Numbers, Table::Records]
            .map(|table| self.emitter.mov(Global, self.table(table)));
        self.numbers_now = Some(moving[0]);
        moving
    }

    /// The next values, rounded as they are stored, by row and field.
    fn next_values(&mut self, own: &Own, inside: Option<&Found>) -> Vec<Vec<Number>> {
        let mut loaded = HashMap::new();
        let mut rows = Vec::new();
        for row in 0..own.tile.rows {
            let mut point = InPart { own, row, loaded: &mut loaded };
            let values = self.evaluate(&mut point);
            let mut values: Vec<Vec<Number>> = values.into_iter().map(|it| vec![it]).collect();
            match (inside, &own.mapped) {
                (Some(found), _) => self.add_sources(found, row, &mut values),
                (None, Some((ys, x))) => {
                    let found = self.sources_in(1, 1, [own.zero, ys[row], *x]);
                    self.add_sources(&found, 0, &mut values);
                }
                (None, None) => unreachable!("a part is inside, or its points are mapped"),
            }
            let rounded = values.into_iter().map(|value| {
                let stored = self.numbers.round(&mut self.emitter, value[0]);
                let value = self.numbers.widen(&mut self.emitter, stored);
                // It may be a register that goes round.
                self.emitter.compute("mov", &[value])
            });
            rows.push(rounded.collect());
        }
        rows
    }

    /// What is now becomes what was a step ago, and what comes next is now.
    fn shift(&mut self, own: &Own, results: &[Vec<Number>]) {
        for (number, array) in own.held.states.iter().enumerate().rev() {
            let Array::Field { field, level } = *array else { continue };
            for (row, results) in results.iter().enumerate() {
                let from = match level {
                    0 => results[field],
                    // Levels of a field follow each other.
                    _ => own.states[number - 1][row],
                };
                self.emitter.set(own.states[number][row], from);
            }
        }
    }
}

/// A point of a part.
struct InPart<'a> {
    own: &'a Own<'a>,
    row: usize,
    /// What is read of shared memory, by array, row and column from the thread's first point on.
    loaded: &'a mut HashMap<(Array, i32, i32), Number>,
}

impl Point for InPart<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, [_, down, across]: Offset) -> Number {
        let (own, row) = (self.own, self.row as i32 + down);
        if across == 0 && (0..own.tile.rows as i32).contains(&row) {
            return own.states[writer.index(array)][row as usize];
        }
        let load = || {
            let slot = own.slot(array).expect("arrays with neighbours are shared");
            let distance = own.distance(slot, row, across, writer.numbers.bytes());
            writer.numbers.load_number(&mut writer.emitter, own.at.at(distance))
        };
        *self.loaded.entry((array, row, across)).or_insert_with(load)
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        let (place, distance) = match (axis, &self.own.mapped) {
            (0, _) => (self.own.zero, offset),
            (1, None) => (self.own.y, self.row as i32 + offset),
            (1, Some((ys, _))) => (ys[self.row], offset),
            (_, None) => (self.own.x, offset),
            (_, Some((_, x))) => (*x, offset),
        };
        writer.emitter.add(S32, place, distance)
    }
}
