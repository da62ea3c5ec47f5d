// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sources add. Each of few sources is compared with the place of every thread. Many are in a list by rows
//! (`../listed.rs`): a thread whose rows have none, as almost all, looks at two numbers.

use super::{Table, Writer};
use crate::expression::Array;
use crate::gpu::listed;
use ptx_writer::Relation::{AtLeast, Equal, Less};
use ptx_writer::{B32, Global, Number, Predicate, Register, U32};

/// How a thread finds the sources of its points.
pub enum SourceSearch {
    /// For each source of a field that is written, which it is, and which of the thread's points it is at: a number that no
    /// point has, if at none.
    Few(Vec<(usize, Register<B32>)>),
    /// A list.
    Listed(SourceRows),
}

/// The list of a thread's rows.
#[derive(Clone, Copy)]
pub struct SourceRows {
    /// Where that of its first row stands.
    row: Register<Global>,
    /// Its x.
    x: Register<B32>,
    /// Whether its rows have no source.
    none: Register<Predicate>,
}

impl Writer<'_> {
    /// Finds the sources of so many rows and columns from a point on.
    pub fn sources_in(
        &mut self,
        rows: usize,
        columns: usize,
        [z, y, x]: [Register<B32>; 3],
    ) -> SourceSearch {
        let sources = &self.system.sources;
        let none = sources.iter().all(|source| self.program.place_of(source.field).is_none());
        if none || !listed::is_needed(self.system) {
            return SourceSearch::Few(self.few(rows, columns, [z, y, x]));
        }
        let (table, emitter) = (self.table(Table::Rows), &mut self.emitter);
        let row = emitter.mad(U32, z, self.geometry.extents[1], y);
        let row = emitter.element(table, row, 4);
        let first = emitter.load(U32, row);
        let end = emitter.load(U32, row.at(4 * rows));
        let none = emitter.setp(Equal, U32, first, end);
        SourceSearch::Listed(SourceRows { row, x, none })
    }

    /// Adds what they give to a row of values, by field and column.
    pub fn add_sources(&mut self, found: &SourceSearch, row: usize, values: &mut [Vec<Number>]) {
        match found {
            SourceSearch::Few(places) => self.add_few(places, row, values),
            SourceSearch::Listed(list) => self.add_listed(*list, row, values),
        }
    }

    fn few(
        &mut self,
        rows: usize,
        columns: usize,
        [z, y, x]: [Register<B32>; 3],
    ) -> Vec<(usize, Register<B32>)> {
        let (emitter, program) = (&mut self.emitter, self.program);
        let sources = self.system.sources.iter().enumerate();
        let sources = sources.filter(|(_, source)| program.place_of(source.field).is_some());
        let places = sources.map(|(number, source)| {
            let [at_z, at_y, at_x] = source.at;
            let down = emitter.sub(U32, at_y, y);
            let across = emitter.sub(U32, at_x, x);
            let mut here = emitter.setp(Equal, U32, z, at_z);
            for (distance, count) in [(down, rows), (across, columns)] {
                here = emitter.setp_and(Less, U32, distance, count, here);
            }
            let place = emitter.mad(U32, down, columns, across);
            let nowhere = rows * columns;
            (number, emitter.select(U32, place, nowhere, here))
        });
        places.collect()
    }

    fn add_few(
        &mut self,
        places: &[(usize, Register<B32>)],
        row: usize,
        values: &mut [Vec<Number>],
    ) {
        let emitter = &mut self.emitter;
        for &(index, place) in places {
            let (field, added) = (self.system.sources[index].field, self.added[index]);
            let own = self.program.place_of(field).expect("its field is written");
            let values = &mut values[own];
            let columns = values.len();
            for (column, value) in values.iter_mut().enumerate() {
                let here = emitter.setp(Equal, U32, place, row * columns + column);
                let sum = emitter.compute("add", &[*value, added]);
                *value = emitter.choose(sum, *value, here);
            }
        }
    }

    /// Goes through the list of a row.
    fn add_listed(&mut self, list: SourceRows, row: usize, values: &mut [Vec<Number>]) {
        let (numbers, bytes) = (self.numbers, self.numbers.bytes());
        let [entries, added] = [Table::Sources, Table::Numbers].map(|table| self.table(table));
        let before = self.program.scalars.len() * bytes;
        let emitter = &mut self.emitter;
        // What is added to is in registers of its own.
        for value in values.iter_mut().flatten() {
            *value = emitter.compute("mov", &[*value]);
        }
        let (again, end) = (emitter.new_label(), emitter.new_label());
        emitter.branch_if(list.none, end);
        let [next, last] = [row, row + 1].map(|row| emitter.load(U32, list.row.at(4 * row)));
        emitter.label(again);
        let done = emitter.setp(AtLeast, U32, next, last);
        emitter.branch_if(done, end);
        let entry = emitter.element(entries, next, 16);
        let [at, field, index, _] = emitter.load_four(U32, entry);
        let place = emitter.element(added, index, bytes);
        let added = numbers.load_number(emitter, place.at(before));
        let across = emitter.sub(U32, at, list.x);
        for (array, values) in self.program.writes.iter().zip(values) {
            let Array::New(number) = *array else { continue };
            let own = emitter.setp(Equal, U32, field, number);
            for (column, value) in values.iter().enumerate() {
                let here = emitter.setp_and(Equal, U32, across, column, own);
                emitter.guarded(here).add_to(*value, added);
            }
        }
        emitter.increase(U32, next, 1);
        emitter.branch(again);
        emitter.label(end);
    }
}
