// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps in a launch: a block loads its part of all arrays with a halo, takes the steps on chip, and writes
//! the part's middle. Threads keep their own points in registers; what neighbours read of them is in shared memory,
//! too.
//!
//! ```text
//! load, share, barrier
//! again: each stage: its values of own points from registers and shared memory
//!                    share, barrier; near a side: fill what lies outside of the grid, barrier
//!        after the last one a barrier before they are shared, then what is now is what was a step ago
//!        note what receivers receive
//! store
//! ```
//!
//! What a stage shares lies where nobody reads since the barrier before it ([`TileState`]); after the last one that is where
//! others may still read fields, so that all wait before.
//!
//! The code is there twice: for parts inside of the grid, and for parts that reach out of it ([`border`]).

use std::collections::HashMap;

use super::sources::SourceSearch;
use super::{HELD, Point, Table, Writer};
use crate::expression::Array;
use crate::gpu::held::TileState;
use crate::gpu::tile::BlockTile;
use crate::program::Offset;
use ptx_writer::{B32, Global, Label, Number, Register, Relation, S32, Shared, THREAD, U32};

mod border;
mod transfer;

/// A thread's points, and where they are.
struct ThreadPoints<'a> {
    tile: &'a BlockTile,
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
    /// By array and row: those of the system, then what stages compute.
    arrays: Vec<Vec<Number>>,
    /// Where the part may reach out of the grid: for each row, and for the column, the point of the grid that evolves
    /// as the thread's own does, if there is one.
    mapped: Option<(Vec<Register<B32>>, Register<B32>)>,
}

/// Parts that may reach out of the grid.
pub(super) const BORDER: Label = Label::named("BORDER");

impl ThreadPoints<'_> {
    /// What it is a part of.
    fn part(&self) -> (&BlockTile, &TileState) {
        (self.tile, self.held)
    }

    /// What an array has at the thread's points, by row.
    fn values(&self, array: Array) -> &[Number] {
        &self.arrays[self.held.index(array)]
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
    pub(super) fn chain(&mut self, tile: &BlockTile, held: &TileState) {
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
        let arrays = Vec::new();
        let mut own = ThreadPoints {
            tile,
            held,
            zero,
            y,
            x,
            row,
            lane,
            corner,
            base,
            at,
            arrays,
            mapped: None,
        };
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
    fn part(&mut self, own: &mut ThreadPoints) {
        let (bytes, rows) = (self.numbers.bytes(), own.tile.rows);
        let mut registers = || self.numbers.register(&mut self.emitter);
        let arrays = own.held.all();
        own.arrays = arrays.map(|_| (0..rows).map(|_| registers()).collect()).collect();
        self.load_part(own);
        self.share(own, |array| own.held.states.contains(&array));
        self.emitter.barrier();

        let left = self.steps();
        let [numbers, records] = self.numbers_and_records();
        let receivers = (!self.system.receivers.is_empty()).then(|| {
            let block = self.block();
            self.receivers_in(block)
        });
        let stages = &self.system.stages;
        let is_inside = own.mapped.is_none();
        let mut found = |stage| {
            self.program = stage;
            is_inside.then(|| self.sources_in(rows, 1, [own.zero, own.y, own.x]))
        };
        let sources: Vec<Option<SourceSearch>> = stages.iter().map(&mut found).collect();
        let again = self.emitter.new_label();
        self.emitter.label(again);
        for (number, (stage, inside)) in stages.iter().zip(&sources).enumerate() {
            self.program = stage;
            self.load_numbers();
            let results = self.next_values(own, inside.as_ref());
            let is_last = number + 1 == stages.len();
            let computed =
                if is_last { self.shift(own, &results) } else { self.keep(own, &results) };
            self.emitter.barrier();
            if own.mapped.is_some() && self.fill(own, &computed) {
                self.emitter.barrier();
            }
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

    /// What a stage computes, rounded as it is stored, by row and array.
    fn next_values(
        &mut self,
        own: &ThreadPoints,
        inside: Option<&SourceSearch>,
    ) -> Vec<Vec<Number>> {
        let mut loaded = HashMap::new();
        let mut rows = Vec::new();
        for row in 0..own.tile.rows {
            let mut point = PartPoint { own, row, loaded: &mut loaded };
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

    /// Keeps and shares what a stage has computed for others.
    fn keep(&mut self, own: &ThreadPoints, results: &[Vec<Number>]) -> Vec<Array> {
        let stage = self.program;
        for (place, array) in stage.writes.iter().enumerate() {
            // What nobody reads is not there.
            if own.held.computed.contains(array) {
                for (to, results) in own.values(*array).iter().zip(results) {
                    self.emitter.set(*to, results[place]);
                }
            }
        }
        self.share(own, |array| stage.writes.contains(&array));
        stage.writes.iter().copied().filter(|it| own.held.computed.contains(it)).collect()
    }

    /// After the last stage what is now becomes what was a step ago, and what comes next is now; returns what that is of.
    fn shift(&mut self, own: &ThreadPoints, results: &[Vec<Number>]) -> Vec<Array> {
        self.emitter.barrier();
        for array in own.held.states.iter().rev() {
            let Array::Field { field, level } = *array else { continue };
            for (row, results) in results.iter().enumerate() {
                let from = match level.checked_sub(1) {
                    Some(level) => own.values(Array::Field { field, level })[row],
                    None => match self.program.place_of(field) {
                        Some(place) => results[place],
                        None => own.values(Array::New(field))[row],
                    },
                };
                self.emitter.set(own.values(*array)[row], from);
            }
        }
        self.share(own, |array| matches!(array, Array::Field { .. }));
        let fields = own.held.states.iter().copied();
        fields.filter(|array| matches!(array, Array::Field { level: 0, .. })).collect()
    }
}

/// A point of a part.
struct PartPoint<'a> {
    own: &'a ThreadPoints<'a>,
    row: usize,
    /// What is read of shared memory, by array, row and column from the thread's first point on.
    loaded: &'a mut HashMap<(Array, i32, i32), Number>,
}

impl Point for PartPoint<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, [_, down, across]: Offset) -> Number {
        let (own, row) = (self.own, self.row as i32 + down);
        if across == 0 && (0..own.tile.rows as i32).contains(&row) {
            return own.values(array)[row as usize];
        }
        let load = || {
            let slot = own.held.slot(array).expect("arrays with neighbours are shared");
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
