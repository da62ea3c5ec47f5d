// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts that reach out of the grid. Where it is periodic, points outside evolve as those that they repeat, because
//! all that they read does, too. Elsewhere they take after each step what the rule of their field says, from a table:
//! a value, or that of a point nearby, which the block holds, and what a slope adds to it.

use super::Own;
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::gpu::kernel::Writer;
use problem::boundary::Side;

impl Writer<'_> {
    /// For each row, and for the column, the point of the grid that is computed there; any where there is none.
    pub(super) fn mapped(&mut self, own: &Own) -> (Vec<String>, String) {
        let ys = (0..own.tile.rows).map(|row| {
            let y = self.emitter.set(Class::B32, "add.s32", format_args!("{}, {row}", own.y));
            self.map(own.part(), 1, &y)
        });
        (ys.collect(), self.map(own.part(), 2, &own.x))
    }

    /// Loads the values of a thread's points, also of those outside of the grid.
    pub(super) fn load_at_border(&mut self, own: &Own) {
        let suffix = self.numbers.suffix();
        for (array, rows) in own.held.states.iter().zip(&own.states) {
            let x = self.lead_of_part(own.part(), *array, 2, &own.x);
            for (row, register) in rows.iter().enumerate() {
                let y = self.emitter.set(Class::B32, "add.s32", format_args!("{}, {row}", own.y));
                let y = self.lead_of_part(own.part(), *array, 1, &y);
                let leads = [x.clone(), y];
                let ends = self.ends(&leads);
                let [at_x, at_y] = leads.each_ref().map(|lead| {
                    let operands = format!("0, {}, {}", lead.to, ends.is_value);
                    self.emitter.set(Class::B32, "selp.s32", format_args!("{operands}"))
                });
                let value = self.load_at(*array, &[own.zero.clone(), at_y, at_x]);
                let value = self.found(&leads, &ends, &value);
                self.emitter.line(format_args!("mov.{suffix} {register}, {value}"));
            }
        }
    }

    /// Gives the points outside of the grid their values of this time, unless they evolve; false if all do.
    pub(super) fn fill(&mut self, own: &Own) -> bool {
        let [_, ny, nx] = self.geometry.extents;
        let halo = own.tile.halo();
        let follows @ [_, down, across] =
            [0, 1, 2].map(|axis: usize| !own.held.periodic[axis] && halo[axis] > 0);
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
                let (extent, reach) = (self.geometry.extents[axis], own.tile.reach[axis]);
                if follows[axis] {
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
                let unread = [0, 1, 2].map(|axis: usize| sides[axis].contains(&Side::Periodic));
                let after = self.emitter.new_label();
                for (unread, outside) in unread[1..].iter().zip([&above, &beside]) {
                    if let (true, Some(outside)) = (unread, outside) {
                        self.emitter.line(format_args!("@{outside} bra {after}"));
                    }
                }
                let follows = [0, 1, 2].map(|axis: usize| follows[axis] && !unread[axis]);
                if follows[1] || follows[2] {
                    self.fill_one(own, number, row, &y, follows);
                }
                self.emitter.label(&after);
            }
            self.emitter.label(&inside);
        }
        true
    }

    fn fill_one(&mut self, own: &Own, number: usize, row: usize, y: &str, follows: [bool; 3]) {
        let array = own.held.states[number];
        let slot = own.slot(array).expect("it is shared");
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        let operands = format!("{}, {row}", own.row);
        let own_row = self.emitter.set(Class::B32, "add.s32", format_args!("{operands}"));
        // Of an axis along which the point itself evolves, its own place.
        let (mut at, mut leads) = ([own_row, own.lane.clone()], Vec::new());
        for (axis, coordinate) in [(2, own.x.as_str()), (1, y)] {
            if follows[axis] {
                let lead = self.lead_of_part(own.part(), array, axis, coordinate);
                let operands = format!("{}, {}", lead.to, own.corner[axis - 1]);
                at[axis - 1] = self.emitter.set(Class::B32, "sub.u32", format_args!("{operands}"));
                leads.push(lead);
            }
        }
        let ends = self.ends(&leads);
        let ([y, x], emitter) = (at, &mut self.emitter);
        let operands = format!("{y}, {}, {x}", own.tile.lanes);
        let cell = emitter.set(Class::B32, "mad.lo.u32", format_args!("{operands}"));
        let operands = format!("{cell}, {bytes}, {}", own.base);
        let cell = emitter.set(Class::B32, "mad.lo.u32", format_args!("{operands}"));
        // Where it is a value, what is loaded, its own place's, is not used.
        let operands = format!("{}, {}", own.at, row * own.tile.lanes * bytes);
        let itself = emitter.set(Class::B32, "add.u32", format_args!("{operands}"));
        let operands = format!("{itself}, {cell}, {}", ends.is_value);
        let cell = emitter.set(Class::B32, "selp.u32", format_args!("{operands}"));
        let distance = own.distance(slot, 0, 0, bytes);
        let opcode = format!("ld.shared.{suffix}");
        let value = emitter.set(class, &opcode, format_args!("[{cell}+{distance}]"));
        let value = self.found(&leads, &ends, &value);
        let register = &own.states[number][row];
        let distance = own.distance(slot, row as i32, 0, bytes);
        let emitter = &mut self.emitter;
        emitter.line(format_args!("mov.{suffix} {register}, {value}"));
        emitter.line(format_args!("st.shared.{suffix} [{}+{distance}], {register}", own.at));
    }
}
