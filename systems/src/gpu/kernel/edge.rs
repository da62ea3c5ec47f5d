// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread with a point near a side: tables tell where its neighbours are.

use std::collections::HashMap;

use super::outside::Lead;
use super::{Point, Writer};
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::program::Offset;

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
        let mut point = AtEdge::new([z.as_str(), &y, &x]);
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
pub(super) struct AtEdge<'a> {
    place: [&'a str; 3],
    /// Where coordinates lead, by the number of a boundary, axis and distance.
    leads: HashMap<(usize, usize, i32), Lead>,
    loaded: HashMap<(Array, Offset), String>,
}

impl<'a> AtEdge<'a> {
    /// A point of the grid.
    pub(super) fn new(place: [&'a str; 3]) -> Self {
        Self { place, leads: HashMap::new(), loaded: HashMap::new() }
    }
}

impl Point for AtEdge<'_> {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> String {
        if let Some(known) = self.loaded.get(&(array, offset)) {
            return known.clone();
        }
        let boundary = writer.places.boundary(array);
        let (mut at, mut leads) = (self.place.map(str::to_owned), Vec::new());
        for axis in [2, 1, 0].into_iter().filter(|axis| offset[*axis] != 0) {
            let key = (boundary, axis, offset[axis]);
            let lead = self.leads.entry(key);
            let lead = lead.or_insert_with(|| writer.lead(boundary, axis, self.place[axis], key.2));
            at[axis] = lead.to.clone();
            leads.push(lead.clone());
        }
        let value = match leads.is_empty() {
            true => writer.load_at(array, &at),
            false => {
                // Where they end at a value, what is loaded, the first point, is not used.
                let ends = writer.ends(&leads);
                let at = at.map(|at| {
                    let operands = format!("0, {at}, {}", ends.is_value);
                    writer.emitter.set(Class::B32, "selp.s32", format_args!("{operands}"))
                });
                let value = writer.load_at(array, &at);
                writer.found(&leads, &ends, &value)
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
