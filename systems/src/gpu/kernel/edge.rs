// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread with a point near a side: tables tell where its neighbours are.

use std::collections::HashMap;

use super::outside::MappedCoordinate;
use super::{Point, Writer};
use crate::expression::Array;
use crate::program::Offset;
use ptx_writer::{B32, Label, Number, Register, Relation, S32, U32};

/// A point whose place is known.
const POINT: Label = Label::named("POINT");

impl Writer<'_> {
    /// A thread with a point near a side.
    pub(super) fn edge(&mut self, index: Register<B32>) {
        let emitter = &mut self.emitter;
        let rest = emitter.mov(U32, index);
        let place = [(); 3].map(|()| emitter.register());
        for (number, part) in self.geometry.edges.iter().enumerate() {
            let (points, after) = (part.points(), Label::numbered("AFTER", number));
            let beyond = emitter.setp(Relation::AtLeast, U32, rest, points);
            emitter.branch_if(beyond, after);
            let [_, rows, columns] = part.extents();
            let row = emitter.div(U32, rest, columns);
            let column = emitter.rem(U32, rest, columns);
            let plane = emitter.div(U32, row, rows);
            let row = emitter.rem(U32, row, rows);
            for (axis, distance) in [plane, row, column].into_iter().enumerate() {
                emitter.assign_sum(U32, place[axis], distance, part.low[axis]);
            }
            emitter.branch(POINT);
            emitter.label(after);
            emitter.decrease(rest, points);
        }
        emitter.ret();
        emitter.label(POINT);
        let values = self.evaluate(&mut EdgePoint::new(place));
        let mut results: Vec<Vec<Number>> = values.into_iter().map(|value| vec![value]).collect();
        let sources = self.sources_in(1, 1, place);
        self.add_sources(&sources, 0, &mut results);
        for (field, values) in results.iter().enumerate() {
            let value = self.numbers.round(&mut self.emitter, values[0]);
            let address = self.address(self.addresses[self.arrays.len() + field], place);
            self.numbers.store(&mut self.emitter, address, &[value]);
        }
        self.emitter.ret();
    }
}

/// Near a side: tables tell where neighbours are.
pub(super) struct EdgePoint {
    place: [Register<B32>; 3],
    /// Where coordinates lead, by the number of a boundary, axis and distance.
    leads: HashMap<(usize, usize, i32), MappedCoordinate>,
    loaded: HashMap<(Array, Offset), Number>,
}

impl EdgePoint {
    /// A point of the grid.
    pub(super) fn new(place: [Register<B32>; 3]) -> Self {
        Self { place, leads: HashMap::new(), loaded: HashMap::new() }
    }
}

impl Point for EdgePoint {
    fn read(&mut self, writer: &mut Writer, array: Array, offset: Offset) -> Number {
        if let Some(known) = self.loaded.get(&(array, offset)) {
            return *known;
        }
        let boundary = writer.places.boundary(array);
        let (mut at, mut leads) = (self.place, Vec::new());
        for axis in [2, 1, 0].into_iter().filter(|axis| offset[*axis] != 0) {
            let key = (boundary, axis, offset[axis]);
            let lead = self.leads.entry(key);
            let lead = lead.or_insert_with(|| writer.lead(boundary, axis, self.place[axis], key.2));
            at[axis] = lead.to;
            leads.push(*lead);
        }
        let value = match leads.is_empty() {
            true => writer.load_at(array, at),
            false => {
                // Where they end at a value, what is loaded, the first point, is not used.
                let ends = writer.ends(&leads);
                let at = at.map(|at| writer.emitter.select(S32, 0, at, ends.is_value));
                let value = writer.load_at(array, at);
                writer.found(&leads, &ends, value)
            }
        };
        self.loaded.insert((array, offset), value);
        value
    }

    fn place(&mut self, writer: &mut Writer, axis: usize, offset: i32) -> Register<B32> {
        writer.emitter.add(S32, self.place[axis], offset)
    }
}
