// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts that reach out of the grid. Where it is periodic, points outside evolve as those that they repeat, because
//! all that they read does, too. Elsewhere they take after each step what the rule of their field says, from a table:
//! a value, or that of a point nearby, which the block holds.

use super::Own;
use crate::problem::boundary::Side;
use crate::system::expression::Array;
use crate::system::gpu::emitter::Class;
use crate::system::gpu::kernel::{Table, Writer};

impl Writer<'_> {
    /// For each row, and for the column, the point of the grid that is computed there; any where there is none.
    pub(super) fn mapped(&mut self, own: &Own) -> (Vec<String>, String) {
        let ys = (0..own.tile.rows).map(|row| {
            let y = self.emitter.set(Class::B32, "add.s32", format_args!("{}, {row}", own.y));
            self.map(own, 1, &y)
        });
        (ys.collect(), self.map(own, 2, &own.x))
    }

    fn map(&mut self, own: &Own, axis: usize, coordinate: &str) -> String {
        let extent = self.geometry.extents[axis];
        if own.held.periodic[axis] {
            return self.entry(own, own.held.states[0], axis, coordinate);
        }
        self.clamp(coordinate, 0, extent as i64 - 1)
    }

    fn clamp(&mut self, coordinate: &str, low: i64, high: i64) -> String {
        let emitter = &mut self.emitter;
        let above = emitter.set(Class::B32, "max.s32", format_args!("{coordinate}, {low}"));
        emitter.set(Class::B32, "min.s32", format_args!("{above}, {high}"))
    }

    /// Where a coordinate leads: a point, or below 0 the number of a value.
    fn entry(&mut self, own: &Own, array: Array, axis: usize, coordinate: &str) -> String {
        // What evolves beyond a periodic side takes all arrays from where it comes again.
        let is_periodic =
            |array: &&Array| self.system.boundary_of(**array).sides[axis].contains(&Side::Periodic);
        let array = match own.held.periodic[axis] {
            true => *own.held.states.iter().find(is_periodic).expect("one is periodic"),
            false => array,
        };
        let (halo, extent) = (own.tile.halo()[axis - 1] as i64, self.geometry.extents[axis] as i64);
        let coordinate = self.clamp(coordinate, -halo, extent + halo - 1);
        let start = self.places.start(self.places.boundary(array), axis) as i64;
        let table = self.table(Table::Entries);
        let emitter = &mut self.emitter;
        let place = emitter.set(Class::B32, "add.s32", format_args!("{coordinate}, {start}"));
        let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{place}, 4"));
        let place = emitter.set(Class::B64, "add.u64", format_args!("{table}, {place}"));
        emitter.set(Class::B32, "ld.global.nc.s32", format_args!("[{place}]"))
    }

    /// Whether a row and a column together lead to a value: the number of it, and a predicate.
    fn leads_to(&mut self, y: &str, x: &str) -> [String; 2] {
        let emitter = &mut self.emitter;
        let is = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{x}, 0"));
        let first = emitter.set(Class::B32, "selp.s32", format_args!("{x}, {y}, {is}"));
        let is = emitter.set(Class::Predicate, "setp.lt.s32", format_args!("{first}, 0"));
        let number = emitter.set(Class::B32, "not.b32", format_args!("{first}"));
        let number = emitter.set(Class::B32, "selp.s32", format_args!("{number}, 0, {is}"));
        [number, is]
    }

    /// A value of boundaries.
    fn constant(&mut self, number: &str) -> String {
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        let table = self.table(Table::Values);
        let emitter = &mut self.emitter;
        let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{number}, {bytes}"));
        let place = emitter.set(Class::B64, "add.u64", format_args!("{table}, {place}"));
        emitter.set(class, &format!("ld.global.nc.{suffix}"), format_args!("[{place}]"))
    }

    /// Loads the values of a thread's points, also of those outside of the grid.
    pub(super) fn load_at_border(&mut self, own: &Own) {
        let suffix = self.numbers.suffix();
        let [_, ny, _] = self.geometry.extents;
        let (stored_class, stored) = self.numbers.stored();
        for (number, (array, rows)) in own.held.states.iter().zip(&own.states).enumerate() {
            let start = self.addresses[number].clone();
            let x = self.entry(own, *array, 2, &own.x);
            for (row, register) in rows.iter().enumerate() {
                let y = self.emitter.set(Class::B32, "add.s32", format_args!("{}, {row}", own.y));
                let y = self.entry(own, *array, 1, &y);
                let [constant, is] = self.leads_to(&y, &x);
                let [at_y, at_x] = [&y, &x].map(|at| {
                    self.emitter.set(Class::B32, "selp.s32", format_args!("0, {at}, {is}"))
                });
                let place = self.address(&start, [&own.zero, &at_y, &at_x], ny);
                let opcode = format!("ld.global.nc.{stored}");
                let value = self.emitter.set(stored_class, &opcode, format_args!("[{place}]"));
                let value = self.numbers.widen(&mut self.emitter, &value);
                let constant = self.constant(&constant);
                let operands = format!("{register}, {constant}, {value}, {is}");
                self.emitter.line(format_args!("selp.{suffix} {operands}"));
            }
        }
    }

    /// Gives the points outside of the grid their values of this time, unless they evolve; false if all do.
    pub(super) fn fill(&mut self, own: &Own) -> bool {
        let [_, ny, nx] = self.geometry.extents;
        let halo = own.tile.halo();
        let follows @ [down, across] =
            [1, 2].map(|axis: usize| !own.held.periodic[axis] && halo[axis - 1] > 0);
        if !across && !down {
            return false;
        }
        let emitter = &mut self.emitter;
        let beside = across
            .then(|| emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{}, {nx}", own.x)));
        for row in 0..own.tile.rows {
            let emitter = &mut self.emitter;
            let (outside, inside) = (emitter.new_label(), emitter.new_label());
            let y = emitter.set(Class::B32, "add.s32", format_args!("{}, {row}", own.y));
            let above = down
                .then(|| emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{y}, {ny}")));
            for predicate in above.iter().chain(&beside) {
                emitter.line(format_args!("@{predicate} bra {outside}"));
            }
            emitter.line(format_args!("bra {inside}"));
            emitter.label(&outside);
            // Nobody in the grid reads what is further away.
            for (axis, at) in [(1, &y), (2, &own.x)] {
                let (extent, reach) = (self.geometry.extents[axis], own.tile.reach[axis - 1]);
                if follows[axis - 1] {
                    let at = emitter.set(Class::B32, "add.s32", format_args!("{at}, {reach}"));
                    let operands = format!("{at}, {}", extent + 2 * reach);
                    let far =
                        emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{operands}"));
                    emitter.line(format_args!("@{far} bra {inside}"));
                }
            }
            for (number, array) in own.held.states.iter().enumerate() {
                if !matches!(array, Array::Field { level: 0, .. }) || own.slot(*array).is_none() {
                    continue;
                }
                // Along an axis that others are read along, but not this one, it may be periodic: nobody reads what
                // lies outside there, nor has the block where it comes from.
                let sides = self.system.boundary_of(*array).sides;
                let unread = [1, 2].map(|axis: usize| sides[axis].contains(&Side::Periodic));
                let after = self.emitter.new_label();
                for (unread, outside) in unread.iter().zip([&above, &beside]) {
                    if let (true, Some(outside)) = (unread, outside) {
                        self.emitter.line(format_args!("@{outside} bra {after}"));
                    }
                }
                let follows = [0, 1].map(|axis: usize| follows[axis] && !unread[axis]);
                self.fill_one(own, number, row, &y, follows);
                self.emitter.label(&after);
            }
            self.emitter.label(&inside);
        }
        true
    }

    fn fill_one(&mut self, own: &Own, number: usize, row: usize, y: &str, follows: [bool; 2]) {
        let array = own.held.states[number];
        let slot = own.slot(array).expect("it is shared");
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        // Of an axis along which the point itself evolves, its own place.
        let mut place = |axis: usize, coordinate: &str, own_place: String| {
            if !follows[axis - 1] {
                return [own.zero.clone(), own_place];
            }
            let entry = self.entry(own, array, axis, coordinate);
            let corner = &own.corner[axis - 1];
            let local = self.emitter.set(Class::B32, "sub.u32", format_args!("{entry}, {corner}"));
            [entry, local]
        };
        let [x_leads, x] = place(2, &own.x, own.lane.clone());
        let own_row = format!("{}, {row}", own.row);
        let [y_leads, y] = place(1, y, String::new());
        let y = match y.is_empty() {
            true => self.emitter.set(Class::B32, "add.s32", format_args!("{own_row}")),
            false => y,
        };
        let [constant, is] = self.leads_to(&y_leads, &x_leads);
        let emitter = &mut self.emitter;
        let operands = format!("{y}, {}, {x}", own.tile.lanes);
        let cell = emitter.set(Class::B32, "mad.lo.u32", format_args!("{operands}"));
        let operands = format!("{cell}, {bytes}, {}", own.base);
        let cell = emitter.set(Class::B32, "mad.lo.u32", format_args!("{operands}"));
        // Where it is a value, what is loaded, its own place's, is not used.
        let operands = format!("{}, {}", own.at, row * own.tile.lanes * bytes);
        let itself = emitter.set(Class::B32, "add.u32", format_args!("{operands}"));
        let cell = emitter.set(Class::B32, "selp.u32", format_args!("{itself}, {cell}, {is}"));
        let distance = own.distance(slot, 0, 0, bytes);
        let opcode = format!("ld.shared.{suffix}");
        let value = emitter.set(class, &opcode, format_args!("[{cell}+{distance}]"));
        let constant = self.constant(&constant);
        let register = &own.states[number][row];
        let distance = own.distance(slot, row as i32, 0, bytes);
        let emitter = &mut self.emitter;
        emitter.line(format_args!("selp.{suffix} {register}, {constant}, {value}, {is}"));
        emitter.line(format_args!("st.shared.{suffix} [{}+{distance}], {register}", own.at));
    }
}
