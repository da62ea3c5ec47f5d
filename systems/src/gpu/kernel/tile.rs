// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread with a tile of points whose neighbours are all in the grid.

use std::collections::HashMap;

use super::{Point, Writer};
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::gpu::geometry::{Geometry, THREADS};
use crate::program::Offset;

impl Writer<'_> {
    /// A thread with a tile of points whose neighbours are all in the grid.
    pub(super) fn tile(&mut self, index: &str, edges: usize) {
        let geometry = self.geometry;
        let [planes, down, across] = geometry.threads();
        if planes * down * across == 0 {
            self.emitter.line(format_args!("ret"));
            return;
        }
        let emitter = &mut self.emitter;
        let first = edges * THREADS as usize;
        let tile = emitter.set(Class::B32, "sub.u32", format_args!("{index}, {first}"));
        let beyond = emitter.set(
            Class::Predicate,
            "setp.ge.u32",
            format_args!("{tile}, {}", planes * down * across),
        );
        emitter.line(format_args!("@{beyond} ret"));
        let row = emitter.set(Class::B32, "div.u32", format_args!("{tile}, {across}"));
        let column = emitter.set(Class::B32, "rem.u32", format_args!("{tile}, {across}"));
        let [.., tiles] = geometry.tiles();
        if tiles < across {
            let none =
                emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{column}, {tiles}"));
            emitter.line(format_args!("@{none} ret"));
        }
        let plane = emitter.set(Class::B32, "div.u32", format_args!("{row}, {down}"));
        let row = emitter.set(Class::B32, "rem.u32", format_args!("{row}, {down}"));
        let Geometry { inside, columns, rows, extents: [_, ny, _], pitch, .. } = *geometry;
        let x = emitter.set(
            Class::B32,
            "mad.lo.u32",
            format_args!("{column}, {columns}, {}", inside.low[2]),
        );
        let y =
            emitter.set(Class::B32, "mad.lo.u32", format_args!("{row}, {rows}, {}", inside.low[1]));
        let z = emitter.set(Class::B32, "add.u32", format_args!("{plane}, {}", inside.low[0]));
        let first_row = emitter.set(Class::B32, "mad.lo.u32", format_args!("{z}, {ny}, {y}"));
        let x_bytes = emitter.set(
            Class::B32,
            "mul.lo.u32",
            format_args!("{x}, {}", self.system.dtype.bytes()),
        );
        let x_bytes = emitter.set(Class::B64, "cvt.u64.u32", format_args!("{x_bytes}"));
        let row_bytes = pitch * self.system.dtype.bytes();
        let offset =
            emitter.set(Class::B64, "mul.wide.u32", format_args!("{first_row}, {row_bytes}"));
        let offset = emitter.set(Class::B64, "add.u64", format_args!("{offset}, {x_bytes}"));
        let starts: Vec<String> = (0..self.arrays.len() + self.system.fields.len())
            .map(|array| {
                let operands = format!("{}, {offset}", self.addresses[array]);
                self.emitter.set(Class::B64, "add.u64", format_args!("{operands}"))
            })
            .collect();
        let sources = self.sources_in(rows, columns, [&z, &y, &x]);
        let mut loaded = HashMap::new();
        for down in 0..rows {
            let mut results = vec![Vec::new(); self.system.fields.len()];
            for across in 0..columns {
                let mut point = InTile {
                    at: [0, down, across],
                    place: [&z, &y, &x],
                    starts: &starts,
                    loaded: &mut loaded,
                };
                let values = self.evaluate(&mut point);
                for (field, value) in values.into_iter().enumerate() {
                    results[field].push(value);
                }
            }
            self.add_sources(&sources, down, &mut results);
            for (field, values) in results.iter().enumerate() {
                let values: Vec<String> =
                    values.iter().map(|it| self.numbers.round(&mut self.emitter, it)).collect();
                let start = &starts[self.arrays.len() + field];
                let place = format!("{start}+{}", down * row_bytes);
                self.numbers.store(&mut self.emitter, &place, &values);
            }
        }
        self.emitter.line(format_args!("ret"));
    }
}

/// Of a tile: neighbours lie at constant distances, and what was loaded for one point is there for the next.
struct InTile<'a> {
    at: [usize; 3],
    place: [&'a str; 3],
    starts: &'a [String],
    /// By array, plane, row and group of columns.
    loaded: &'a mut HashMap<(Array, [isize; 3]), Vec<String>>,
}

impl Point for InTile<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> String {
        let columns = writer.geometry.columns as isize;
        let [z, y, x] = [0, 1, 2].map(|axis: usize| self.at[axis] as isize + offset[axis] as isize);
        let group = x.div_euclid(columns);
        let values = self.loaded.entry((array, [z, y, group])).or_insert_with(|| {
            let Geometry { extents: [_, ny, _], pitch, .. } = *writer.geometry;
            let distance = ((z * ny as isize + y) * pitch as isize + group * columns)
                * writer.system.dtype.bytes() as isize;
            let start = &self.starts[writer.index(array)];
            let emitter = &mut writer.emitter;
            // Immediate distances have 32 bits.
            let address = match i32::try_from(distance) {
                Ok(distance) => format!("{start}+{distance}"),
                Err(_) => emitter.set(Class::B64, "add.s64", format_args!("{start}, {distance}")),
            };
            let stored = writer.numbers.load(emitter, &address, columns as usize);
            stored.iter().map(|stored| writer.numbers.widen(emitter, stored)).collect()
        });
        values[x.rem_euclid(columns) as usize].clone()
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String {
        let distance = self.at[axis] as i32 + offset;
        let operands = format!("{}, {distance}", self.place[axis]);
        writer.emitter.set(Class::B32, "add.s32", format_args!("{operands}"))
    }
}
