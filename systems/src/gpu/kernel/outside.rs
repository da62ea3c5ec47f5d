// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies outside of the grid, from tables: where coordinates lead, which values are there instead, and what becomes
//! of a value on the way.

use super::{Table, Writer};
use crate::expression::Array;
use crate::gpu::held::TileState;
use crate::gpu::tile::BlockTile;
use problem::boundary::Side;
use ptx_writer::{B32, Global, Number, Predicate, Register, Relation, S32};

/// Where a coordinate along an axis leads.
#[derive(Clone, Copy, Debug)]
pub struct MappedCoordinate {
    /// A point of the grid, or below 0 the number of a value.
    pub to: Register<B32>,
    /// What is added to what is found there, if some side of the axis adds something.
    rise: Option<Number>,
    /// What that is multiplied by before, if some side of the axis has another factor than 1.
    factor: Option<Number>,
}

/// Whether leads along several axes together end at a value, and at which.
pub struct Ends {
    number: Register<B32>,
    /// Whether they do.
    pub is_value: Register<Predicate>,
}

impl Writer<'_> {
    /// Where a coordinate leads for arrays with a boundary, at some distance along an axis.
    pub(super) fn lead(
        &mut self,
        boundary: usize,
        axis: usize,
        coordinate: Register<B32>,
        offset: i32,
    ) -> MappedCoordinate {
        let start = self.places.start(boundary, axis) as i64 + i64::from(offset);
        let entry = self.entry(self.table(Table::Entries), coordinate, start, 4);
        let to = self.emitter.load(S32, entry);
        let places = [self.places.rise(boundary, axis), self.places.factor(boundary, axis)];
        let [rise, factor] = places.map(|start| {
            start.map(|start| self.value_of(coordinate, start as i64 + i64::from(offset)))
        });
        MappedCoordinate { to, rise, factor }
    }

    /// Where a coordinate leads in a block that holds points outside, by up to its halo.
    pub(super) fn lead_of_part(
        &mut self,
        (tile, held): (&BlockTile, &TileState),
        array: Array,
        axis: usize,
        coordinate: Register<B32>,
    ) -> MappedCoordinate {
        // What evolves beyond a periodic side takes all arrays from where it comes again.
        let is_periodic =
            |array: &Array| self.system.boundary_of(*array).sides[axis].contains(&Side::Periodic);
        let array = match held.periodic[axis] {
            true => held.all().find(is_periodic).expect("one is periodic"),
            false => array,
        };
        let (halo, extent) = (tile.halo()[axis] as i64, self.geometry.extents[axis] as i64);
        let coordinate = self.clamp(coordinate, -halo, extent + halo - 1);
        self.lead(self.places.boundary(array), axis, coordinate, 0)
    }

    /// The point of the grid along an axis that evolves as one that a block holds does; any where there is none.
    pub(super) fn map(
        &mut self,
        part @ (_, held): (&BlockTile, &TileState),
        axis: usize,
        coordinate: Register<B32>,
    ) -> Register<B32> {
        if held.periodic[axis] {
            return self.lead_of_part(part, held.states[0], axis, coordinate).to;
        }
        self.clamp(coordinate, 0, self.geometry.extents[axis] as i64 - 1)
    }

    fn clamp(&mut self, coordinate: Register<B32>, low: i64, high: i64) -> Register<B32> {
        let above = self.emitter.max(S32, coordinate, low);
        self.emitter.min(S32, above, high)
    }

    /// The address of an entry of a table, by a coordinate and the place of coordinate 0.
    fn entry(
        &mut self,
        table: Register<Global>,
        coordinate: Register<B32>,
        start: i64,
        bytes: usize,
    ) -> Register<Global> {
        let place = self.emitter.add(S32, coordinate, start);
        self.emitter.element(table, place, bytes)
    }

    /// One of the values, by a coordinate and the place of coordinate 0.
    fn value_of(&mut self, coordinate: Register<B32>, start: i64) -> Number {
        let bytes = self.numbers.bytes();
        let entry = self.entry(self.table(Table::Values), coordinate, start, bytes);
        self.numbers.load_number(&mut self.emitter, entry)
    }

    /// Where leads along x, y, z, or some of them, end: at the first value, if there is one.
    pub(super) fn ends(&mut self, leads: &[MappedCoordinate]) -> Ends {
        let emitter = &mut self.emitter;
        let (last, others) = leads.split_last().expect("it leads along an axis");
        let mut first = last.to;
        for MappedCoordinate { to, .. } in others.iter().rev() {
            let is = emitter.setp(Relation::Less, S32, *to, 0);
            first = emitter.select(S32, *to, first, is);
        }
        let is_value = emitter.setp(Relation::Less, S32, first, 0);
        let number = emitter.not(B32, first);
        let number = emitter.select(S32, number, 0, is_value);
        Ends { number, is_value }
    }

    /// What is found at the end of leads along x, y, z, given what the point there has, or anything where it is none.
    pub(super) fn found(
        &mut self,
        leads: &[MappedCoordinate],
        ends: &Ends,
        value: Number,
    ) -> Number {
        let constant = self.value_of(ends.number, 0);
        let found = self.emitter.choose(constant, value, ends.is_value);
        // What is exact has one order of operations.
        if self.numbers.exact || leads.iter().any(|lead| lead.factor.is_some()) {
            return self.image(leads, found);
        }
        match self.rise(leads) {
            Some(rise) => self.emitter.compute("add.rn", &[found, rise]),
            None => found,
        }
    }

    /// What becomes of what is found along z, then y, then x, but for axes behind one that leads to a value.
    fn image(&mut self, leads: &[MappedCoordinate], found: Number) -> Number {
        let (numbers, emitter) = (self.numbers, &mut self.emitter);
        let mut value = found;
        for (place, MappedCoordinate { rise, factor, .. }) in leads.iter().enumerate().rev() {
            let before = leads[..place].iter().map(|lead| lead.to);
            let before = before.reduce(|a, b| emitter.min(S32, a, b));
            let is_behind = before.map(|least| emitter.setp(Relation::Less, S32, least, 0));
            for (operation, operand, without) in [("mul.rn", factor, 1.0), ("add.rn", rise, 0.0)] {
                let Some(operand) = *operand else { continue };
                let operand = match is_behind {
                    Some(is) => emitter.choose(numbers.immediate(without), operand, is),
                    None => operand,
                };
                value = emitter.compute(operation, &[value, operand]);
            }
        }
        value
    }

    /// What slopes add, if anything: along x, y, z, until one of them leads to a value.
    fn rise(&mut self, leads: &[MappedCoordinate]) -> Option<Number> {
        let (numbers, emitter) = (self.numbers, &mut self.emitter);
        let zero = numbers.immediate(0.0);
        let (mut sum, mut before) = (None, None);
        for MappedCoordinate { to, rise, .. } in leads {
            if let Some(mut rise) = *rise {
                if let Some(least) = before {
                    let is = emitter.setp(Relation::Less, S32, least, 0);
                    rise = emitter.choose(zero, rise, is);
                }
                sum = Some(match sum {
                    Some(sum) => emitter.compute("add.rn", &[sum, rise]),
                    None => rise,
                });
            }
            // Below 0 where one of the axes so far leads to a value.
            before = Some(match before {
                Some(least) => emitter.min(S32, least, *to),
                None => *to,
            });
        }
        sum
    }
}
