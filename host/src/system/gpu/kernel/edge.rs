// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread with a point near a side: tables tell where its neighbours are.

use std::collections::HashMap;

use super::{Point, Table, Writer};
use crate::system::expression::Array;
use crate::system::gpu::emitter::Class;
use crate::system::program::Offset;

impl Writer<'_> {
    /// A thread with a point near a side.
    pub(super) fn edge(&mut self, index: &str) {
        let geometry = self.geometry;
        let emitter = &mut self.emitter;
        let rest = emitter.set(Class::B32, "mov.u32", format_args!("{index}"));
        let [z, y, x] = [(); 3].map(|()| emitter.register(Class::B32));
        for (number, part) in geometry.edges.iter().enumerate() {
            let points = part.points();
            let beyond =
                emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{rest}, {points}"));
            emitter.line(format_args!("@{beyond} bra AFTER{number}"));
            let [_, rows, columns] = part.extents();
            let row = emitter.set(Class::B32, "div.u32", format_args!("{rest}, {columns}"));
            let column = emitter.set(Class::B32, "rem.u32", format_args!("{rest}, {columns}"));
            let plane = emitter.set(Class::B32, "div.u32", format_args!("{row}, {rows}"));
            let row = emitter.set(Class::B32, "rem.u32", format_args!("{row}, {rows}"));
            emitter.line(format_args!("add.u32 {z}, {plane}, {}", part.low[0]));
            emitter.line(format_args!("add.u32 {y}, {row}, {}", part.low[1]));
            emitter.line(format_args!("add.u32 {x}, {column}, {}", part.low[2]));
            emitter.line(format_args!("bra POINT"));
            emitter.label(&format!("AFTER{number}"));
            emitter.line(format_args!("sub.u32 {rest}, {rest}, {points}"));
        }
        emitter.line(format_args!("ret"));
        emitter.label("POINT");
        let mut point =
            AtEdge { place: [&z, &y, &x], found: HashMap::new(), loaded: HashMap::new() };
        let values = self.evaluate(&mut point);
        let [_, ny, _] = geometry.extents;
        let (_, stored) = self.numbers.stored();
        let mut results: Vec<Vec<String>> = values.into_iter().map(|value| vec![value]).collect();
        let sources = self.sources_in(1, 1, [&z, &y, &x]);
        self.add_sources(&sources, 0, &mut results);
        for (field, values) in results.iter().enumerate() {
            let value = self.numbers.round(&mut self.emitter, &values[0]);
            let start = self.addresses[self.arrays.len() + field].clone();
            let address = self.address(&start, [&z, &y, &x], ny);
            self.emitter.line(format_args!("st.global.{stored} [{address}], {value}"));
        }
        self.emitter.line(format_args!("ret"));
    }
}

/// Near a side: tables tell where neighbours are.
struct AtEdge<'a> {
    place: [&'a str; 3],
    /// Coordinates by the number of a boundary, axis and distance.
    found: HashMap<(usize, usize, i32), String>,
    loaded: HashMap<(Array, Offset), String>,
}

impl AtEdge<'_> {
    /// Where a coordinate leads: a point, or below 0 the number of a value.
    fn find(&mut self, writer: &mut Writer, boundary: usize, axis: usize, offset: i32) -> String {
        if offset == 0 {
            return self.place[axis].to_owned();
        }
        let place = self.place[axis];
        self.found
            .entry((boundary, axis, offset))
            .or_insert_with(|| {
                let start = writer.places.start(boundary, axis) as i64 + i64::from(offset);
                let table = writer.table(Table::Entries);
                let emitter = &mut writer.emitter;
                let bytes = emitter.set(Class::B64, "mul.wide.u32", format_args!("{place}, 4"));
                let entry = emitter.set(Class::B64, "add.u64", format_args!("{table}, {bytes}"));
                let place = format!("[{entry}+{}]", 4 * start);
                emitter.set(Class::B32, "ld.global.nc.s32", format_args!("{place}"))
            })
            .clone()
    }
}

impl AtEdge<'_> {
    /// What slopes add at a distance, if anything: along x, y, z, until one of them leads to a value.
    fn rise(
        &mut self,
        writer: &mut Writer,
        boundary: usize,
        offset: Offset,
        found: &[String; 3],
    ) -> Option<String> {
        let (class, suffix, bytes) =
            (writer.numbers.class(), writer.numbers.suffix(), writer.numbers.bytes());
        let (mut sum, mut before): (Option<String>, Option<String>) = (None, None);
        for axis in [2, 1, 0].into_iter().filter(|axis| offset[*axis] != 0) {
            if let Some(start) = writer.places.rise(boundary, axis) {
                let start = start as i64 + i64::from(offset[axis]);
                let (values, zero) = (writer.table(Table::Values), writer.numbers.immediate(0.0));
                let emitter = &mut writer.emitter;
                let operands = format!("{}, {bytes}", self.place[axis]);
                let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{operands}"));
                let place = emitter.set(Class::B64, "add.u64", format_args!("{values}, {place}"));
                let place = format!("[{place}+{}]", bytes as i64 * start);
                let opcode = format!("ld.global.nc.{suffix}");
                let mut rise = emitter.set(class, &opcode, format_args!("{place}"));
                if let Some(least) = &before {
                    let is =
                        emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{least}, 0"));
                    let operands = format!("{zero}, {rise}, {is}");
                    rise =
                        emitter.set(class, &format!("selp.{suffix}"), format_args!("{operands}"));
                }
                sum = Some(match sum {
                    Some(sum) => {
                        let operands = format!("{sum}, {rise}");
                        emitter.set(class, &format!("add.rn.{suffix}"), format_args!("{operands}"))
                    }
                    None => rise,
                });
            }
            // Below 0 where one of the axes so far leads to a value.
            let own = &found[axis];
            before = Some(match before {
                Some(least) => {
                    let operands = format!("{least}, {own}");
                    writer.emitter.set(Class::B32, "min.s32", format_args!("{operands}"))
                }
                None => own.clone(),
            });
        }
        sum
    }
}

impl Point for AtEdge<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> String {
        if let Some(known) = self.loaded.get(&(array, offset)) {
            return known.clone();
        }
        let boundary = writer.places.boundary(array);
        let found: [String; 3] =
            std::array::from_fn(|axis| self.find(writer, boundary, axis, offset[axis]));
        let (class, suffix, bytes) =
            (writer.numbers.class(), writer.numbers.suffix(), writer.numbers.bytes());
        let (stored_class, stored) = writer.numbers.stored();
        let start = writer.addresses[writer.index(array)].clone();
        let [_, ny, _] = writer.geometry.extents;
        let outside: Vec<usize> = [2, 1, 0].into_iter().filter(|axis| offset[*axis] != 0).collect();
        let value = if outside.is_empty() {
            let address = writer.address(&start, self.place, ny);
            let loaded = format!("[{address}]");
            let opcode = format!("ld.global.nc.{stored}");
            let value = writer.emitter.set(stored_class, &opcode, format_args!("{loaded}"));
            writer.numbers.widen(&mut writer.emitter, &value)
        } else {
            // The first of x, y, z that leads to a value, or any that does not.
            let mut first = found[outside[outside.len() - 1]].clone();
            for axis in outside.iter().rev().skip(1) {
                let emitter = &mut writer.emitter;
                let own = &found[*axis];
                let is = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{own}, 0"));
                first = emitter.set(Class::B32, "selp.s32", format_args!("{own}, {first}, {is}"));
            }
            // Where it is a value, the address is that of the first point, and what is loaded is not used.
            let emitter = &mut writer.emitter;
            let is_value = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{first}, 0"));
            let inside = [0, 1, 2].map(|axis: usize| {
                emitter.set(Class::B32, "selp.s32", format_args!("0, {}, {is_value}", found[axis]))
            });
            let inside: [&str; 3] = std::array::from_fn(|axis| inside[axis].as_str());
            let address = writer.address(&start, inside, ny);
            let opcode = format!("ld.global.nc.{stored}");
            let loaded = format!("[{address}]");
            let value = writer.emitter.set(stored_class, &opcode, format_args!("{loaded}"));
            let value = writer.numbers.widen(&mut writer.emitter, &value);
            let table = writer.table(Table::Values);
            let emitter = &mut writer.emitter;
            let number = emitter.set(Class::B32, "not.b32", format_args!("{first}"));
            let number =
                emitter.set(Class::B32, "selp.s32", format_args!("{number}, 0, {is_value}"));
            let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{number}, {bytes}"));
            let place = emitter.set(Class::B64, "add.u64", format_args!("{table}, {place}"));
            let opcode = format!("ld.global.nc.{suffix}");
            let place = format!("[{place}]");
            let constant = emitter.set(class, &opcode, format_args!("{place}"));
            let chosen = format!("{constant}, {value}, {is_value}");
            let value = emitter.set(class, &format!("selp.{suffix}"), format_args!("{chosen}"));
            match self.rise(writer, boundary, offset, &found) {
                Some(rise) => {
                    let operands = format!("{value}, {rise}");
                    writer.emitter.set(
                        class,
                        &format!("add.rn.{suffix}"),
                        format_args!("{operands}"),
                    )
                }
                None => value,
            }
        };
        self.loaded.insert((array, offset), value.clone());
        value
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> String {
        let operands = format!("{}, {offset}", self.place[axis]);
        writer.emitter.set(Class::B32, "add.s32", format_args!("{operands}"))
    }
}
