// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts that reach out of the grid. Where it is periodic, points outside evolve as those that they repeat, because
//! all that they read does, too. Elsewhere they take after each stage what the rule of their array says, from a table:
//! a value, or that of a point nearby, which the block holds, and what a slope adds to it.

use super::ThreadPoints;
use crate::expression::Array;
use crate::gpu::kernel::Writer;
use problem::boundary::Side;
use ptx_writer::Relation::AtLeast;
use ptx_writer::{B32, Register, S32, Shared, U32};

impl Writer<'_> {
    /// For each row, and for the column, the point of the grid that is computed there; any where there is none.
    pub(super) fn mapped(&mut self, own: &ThreadPoints) -> (Vec<Register<B32>>, Register<B32>) {
        let ys = (0..own.tile.rows).map(|row| {
            let y = self.emitter.add(S32, own.y, row);
            self.map(own.part(), 1, y)
        });
        (ys.collect(), self.map(own.part(), 2, own.x))
    }

    /// Loads the values of a thread's points, also of those outside of the grid.
    pub(super) fn load_at_border(&mut self, own: &ThreadPoints) {
        for array in &own.held.states {
            let x = self.lead_of_part(own.part(), *array, 2, own.x);
            for (row, register) in own.values(*array).iter().enumerate() {
                let y = self.emitter.add(S32, own.y, row);
                let y = self.lead_of_part(own.part(), *array, 1, y);
                let leads = [x, y];
                let ends = self.ends(&leads);
                let [at_x, at_y] =
                    leads.map(|lead| self.emitter.select(S32, 0, lead.to, ends.is_value));
                let value = self.load_at(*array, [own.zero, at_y, at_x]);
                let value = self.found(&leads, &ends, value);
                self.emitter.set(*register, value);
            }
        }
    }

    /// Gives the points outside of the grid what arrays that were computed have there, unless they evolve; false if all do.
    pub(super) fn fill(&mut self, own: &ThreadPoints, computed: &[Array]) -> bool {
        let [_, ny, nx] = self.geometry.extents;
        let halo = own.tile.halo();
        let follows @ [_, down, across] =
            [0, 1, 2].map(|axis: usize| !own.held.periodic[axis] && halo[axis] > 0);
        let shared = |array: &Array| own.held.slot(*array).is_some();
        let computed: Vec<Array> = computed.iter().copied().filter(shared).collect();
        if !across && !down || computed.is_empty() {
            return false;
        }
        let beside = across.then(|| self.emitter.setp(AtLeast, U32, own.x, nx));
        for row in 0..own.tile.rows {
            let emitter = &mut self.emitter;
            let (outside, inside) = (emitter.new_label(), emitter.new_label());
            let y = emitter.add(S32, own.y, row);
            let above = down.then(|| emitter.setp(AtLeast, U32, y, ny));
            for predicate in above.iter().chain(&beside) {
                emitter.branch_if(*predicate, outside);
            }
            emitter.branch(inside);
            emitter.label(outside);
            // Nobody in the grid reads what is further away.
            for (axis, at) in [(1, y), (2, own.x)] {
                let (extent, reach) = (self.geometry.extents[axis], own.tile.reads[axis]);
                if follows[axis] {
                    let at = emitter.add(S32, at, reach);
                    let far = emitter.setp(AtLeast, U32, at, extent + 2 * reach);
                    emitter.branch_if(far, inside);
                }
            }
            for array in &computed {
                // Along an axis that others are read along, but not this one, it may be periodic: nobody reads what
                // lies outside there, nor has the block where it comes from.
                let sides = self.system.boundary_of(*array).sides;
                let unread = [0, 1, 2].map(|axis: usize| sides[axis].contains(&Side::Periodic));
                let after = self.emitter.new_label();
                for (unread, outside) in unread[1..].iter().zip([above, beside]) {
                    if let (true, Some(outside)) = (unread, outside) {
                        self.emitter.branch_if(outside, after);
                    }
                }
                let follows = [0, 1, 2].map(|axis: usize| follows[axis] && !unread[axis]);
                if follows[1] || follows[2] {
                    self.fill_one(own, *array, row, y, follows);
                }
                self.emitter.label(after);
            }
            self.emitter.label(inside);
        }
        true
    }

    fn fill_one(
        &mut self,
        own: &ThreadPoints,
        array: Array,
        row: usize,
        y: Register<B32>,
        follows: [bool; 3],
    ) {
        let slot = own.held.slot(array).expect("it is shared");
        let (numbers, bytes) = (self.numbers, self.numbers.bytes());
        let own_row = self.emitter.add(S32, own.row, row);
        // Of an axis along which the point itself evolves, its own place.
        let (mut at, mut leads) = ([own_row, own.lane], Vec::new());
        for (axis, coordinate) in [(2, own.x), (1, y)] {
            if follows[axis] {
                let lead = self.lead_of_part(own.part(), array, axis, coordinate);
                at[axis - 1] = self.emitter.sub(U32, lead.to, own.corner[axis - 1]);
                leads.push(lead);
            }
        }
        let ends = self.ends(&leads);
        let ([y, x], emitter) = (at, &mut self.emitter);
        let cell = emitter.mad(U32, y, own.tile.lanes, x);
        let cell = emitter.shared_element(own.base, cell, bytes);
        // Where it is a value, what is loaded, its own place's, is not used.
        let itself = emitter.offset(own.at, row * own.tile.lanes * bytes);
        let cell = emitter.select(Shared, itself, cell, ends.is_value);
        let value = numbers.load_number(emitter, cell.at(own.distance(slot, 0, 0, bytes)));
        let value = self.found(&leads, &ends, value);
        let (register, emitter) = (own.values(array)[row], &mut self.emitter);
        emitter.set(register, value);
        let place = own.at.at(own.distance(slot, row as i32, 0, bytes));
        emitter.store(place, register);
    }
}
