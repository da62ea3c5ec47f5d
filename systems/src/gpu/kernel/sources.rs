// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sources add. Each of few sources is compared with the place of every thread. Many are in a list by rows
//! (`../listed.rs`): a thread whose rows have none, as almost all, looks at two numbers.

use super::{Table, Writer};
use crate::gpu::emitter::Class;
use crate::gpu::listed;

/// How a thread finds the sources of its points.
pub enum Found {
    /// For each source which of its points it is at: a number that no point has, if at none.
    Few(Vec<String>),
    /// Where the list of its first row stands, its x, and whether its rows have no source.
    Listed { row: String, x: String, none: String },
}

impl Writer<'_> {
    /// Those of so many rows and columns from a point on.
    pub fn sources_in(&mut self, rows: usize, columns: usize, [z, y, x]: [&str; 3]) -> Found {
        if !listed::is_needed(self.system) {
            return Found::Few(self.few(rows, columns, [z, y, x]));
        }
        let [_, ny, _] = self.geometry.extents;
        let table = self.table(Table::Rows);
        let emitter = &mut self.emitter;
        let row = emitter.set(Class::B32, "mad.lo.u32", format_args!("{z}, {ny}, {y}"));
        let distance = emitter.set(Class::B64, "mul.wide.u32", format_args!("{row}, 4"));
        let row = emitter.set(Class::B64, "add.u64", format_args!("{table}, {distance}"));
        let first = emitter.set(Class::B32, "ld.global.nc.u32", format_args!("[{row}]"));
        let end = format_args!("[{row}+{}]", 4 * rows).to_string();
        let end = emitter.set(Class::B32, "ld.global.nc.u32", format_args!("{end}"));
        let none = emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{first}, {end}"));
        Found::Listed { row, x: x.to_owned(), none }
    }

    /// Adds what they give to a row of values, by field and column.
    pub fn add_sources(&mut self, found: &Found, row: usize, values: &mut [Vec<String>]) {
        match found {
            Found::Few(places) => self.add_few(places, row, values),
            Found::Listed { row: start, x, none } => {
                self.add_listed([start, x, none], row, values);
            }
        }
    }

    fn few(&mut self, rows: usize, columns: usize, [z, y, x]: [&str; 3]) -> Vec<String> {
        let emitter = &mut self.emitter;
        let places = self.system.sources.iter().map(|source| {
            let [at_z, at_y, at_x] = source.at;
            let mut less = |at: usize, own: &str| {
                emitter.set(Class::B32, "sub.u32", format_args!("{at}, {own}"))
            };
            let [down, across] = [less(at_y, y), less(at_x, x)];
            let mut here =
                emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{z}, {at_z}"));
            for (distance, count) in [(&down, rows), (&across, columns)] {
                let operands = format!("{distance}, {count}, {here}");
                here = emitter.set(Class::Predicate, "setp.lt.and.u32", format_args!("{operands}"));
            }
            let operands = format!("{down}, {columns}, {across}");
            let place = emitter.set(Class::B32, "mad.lo.u32", format_args!("{operands}"));
            let nowhere = rows * columns;
            emitter.set(Class::B32, "selp.u32", format_args!("{place}, {nowhere}, {here}"))
        });
        places.collect()
    }

    fn add_few(&mut self, places: &[String], row: usize, values: &mut [Vec<String>]) {
        let (class, suffix) = (self.numbers.class(), self.numbers.suffix());
        for (index, source) in self.system.sources.iter().enumerate() {
            let (emitter, place, added) = (&mut self.emitter, &places[index], &self.added[index]);
            let values = &mut values[source.field];
            let columns = values.len();
            for (column, value) in values.iter_mut().enumerate() {
                let number = row * columns + column;
                let here =
                    emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{place}, {number}"));
                let sum =
                    emitter.set(class, &format!("add.{suffix}"), format_args!("{value}, {added}"));
                let chosen = format!("{sum}, {value}, {here}");
                *value = emitter.set(class, &format!("selp.{suffix}"), format_args!("{chosen}"));
            }
        }
    }

    /// Goes through the list of a row.
    fn add_listed(&mut self, [start, x, none]: [&str; 3], row: usize, values: &mut [Vec<String>]) {
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        let (entries, numbers) = (self.table(Table::Sources), self.table(Table::Numbers));
        let before = self.program.scalars.len() * bytes;
        let emitter = &mut self.emitter;
        // What is added to is in registers of its own.
        for value in values.iter_mut().flatten() {
            *value = emitter.set(class, &format!("mov.{suffix}"), format_args!("{value}"));
        }
        let (again, end) = (emitter.new_label(), emitter.new_label());
        emitter.line(format_args!("@{none} bra {end}"));
        let [next, last] = [row, row + 1].map(|row| {
            let place = format!("[{start}+{}]", 4 * row);
            emitter.set(Class::B32, "ld.global.nc.u32", format_args!("{place}"))
        });
        emitter.label(&again);
        let done = emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{next}, {last}"));
        emitter.line(format_args!("@{done} bra {end}"));
        let entry = emitter.set(Class::B64, "mul.wide.u32", format_args!("{next}, 16"));
        let entry = emitter.set(Class::B64, "add.u64", format_args!("{entries}, {entry}"));
        let [at, field, index, unused] = [(); 4].map(|()| emitter.register(Class::B32));
        let list = format!("{{{at}, {field}, {index}, {unused}}}");
        emitter.line(format_args!("ld.global.nc.v4.u32 {list}, [{entry}]"));
        let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{index}, {bytes}"));
        let place = emitter.set(Class::B64, "add.u64", format_args!("{numbers}, {place}"));
        let place = format!("[{place}+{before}]");
        let added = emitter.set(class, &format!("ld.global.nc.{suffix}"), format_args!("{place}"));
        let across = emitter.set(Class::B32, "sub.u32", format_args!("{at}, {x}"));
        for (number, values) in values.iter().enumerate() {
            let own =
                emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{field}, {number}"));
            for (column, value) in values.iter().enumerate() {
                let operands = format!("{across}, {column}, {own}");
                let here =
                    emitter.set(Class::Predicate, "setp.eq.and.u32", format_args!("{operands}"));
                emitter.line(format_args!("@{here} add.{suffix} {value}, {value}, {added}"));
            }
        }
        emitter.line(format_args!("add.u32 {next}, {next}, 1"));
        emitter.line(format_args!("bra {again}"));
        emitter.label(&end);
    }
}
