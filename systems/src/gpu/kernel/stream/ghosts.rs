// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies outside of the grid. Along periodic axes points outside evolve as those that they repeat. Elsewhere, when a
//! plane is finished, the points outside of it take what the rule of their field says; and so do planes outside: those
//! before the first one when all that they may repeat is there, those after the last one in their turn.

use super::{Own, Turn};
use crate::expression::Array;
use crate::gpu::kernel::Writer;
use problem::boundary::Side;
use ptx_writer::Relation::{AtLeast, Equal, Less, NotEqual};
use ptx_writer::{B32, Register, S32, Shared, U32};

/// A plane outside: its z, and its place in windows.
#[derive(Clone, Copy)]
struct Ghost {
    z: Register<B32>,
    slot: Register<B32>,
}

impl Writer<'_> {
    /// Fills what lies outside of the planes that all steps have come to; false if there is nothing.
    pub(super) fn ghosts(&mut self, own: &Own, z: Register<B32>, slot: Register<B32>) -> bool {
        let [above, down, across] = own.follows();
        if !(above || own.is_border && (down || across)) {
            return false;
        }
        let [z, slot] = [z, slot].map(|start| self.emitter.mov(U32, start));
        let windows = self.emitter.mov(U32, 0);
        let turn = Turn { z, slot, windows };
        // Those of earlier levels are of the plane that was loaded.
        let all = self.levels_of_fields();
        let present: Vec<_> = all.iter().copied().filter(|(_, level)| *level == 0).collect();
        let earlier: Vec<_> = all.into_iter().filter(|(_, level)| *level > 0).collect();
        if !earlier.is_empty() {
            self.ghosts_of(own, &turn, &earlier);
        }
        let left = self.emitter.mov(U32, own.steps);
        let again = self.emitter.new_label();
        self.emitter.label(again);
        self.ghosts_of(own, &turn, &present);
        self.one_behind(own, &turn);
        self.next_windows(own, &turn);
        self.emitter.decrease(left, 1);
        let more = self.emitter.setp(NotEqual, U32, left, 0);
        self.emitter.branch_if(more, again);
        true
    }

    fn ghosts_of(&mut self, own: &Own, turn: &Turn, levels: &[(usize, usize)]) {
        let ([nz, ..], [reach, ..], z) = (self.geometry.extents, own.tile.reach, turn.z);
        let [above, down, across] = own.follows();
        if own.is_border && (down || across) {
            let after = self.emitter.new_label();
            if above {
                let outside = self.emitter.setp(AtLeast, U32, z, nz);
                self.emitter.branch_if(outside, after);
            }
            self.fill_plane(own, turn, None, levels);
            self.emitter.label(after);
        }
        if !above {
            return;
        }
        let emitter = &mut self.emitter;
        let [again, after] = [(); 2].map(|()| emitter.new_label());
        let next = emitter.mov(U32, z);
        let end = emitter.add(S32, z, 1);
        // A plane after the last one, in its turn.
        let far = emitter.sub(U32, z, nz);
        let is_beyond = emitter.setp(Less, U32, far, reach);
        emitter.branch_if(is_beyond, again);
        // All before the first one.
        let is_there = emitter.setp(Equal, U32, z, reach.min(nz - 1));
        emitter.branch_if(!is_there, after);
        emitter.assign(B32, next, -(reach as i64));
        emitter.assign(U32, end, 0);
        emitter.label(again);
        let slot = self.slot_of(own, turn, next);
        self.fill_plane(own, turn, Some(Ghost { z: next, slot }), levels);
        self.emitter.increase(S32, next, 1);
        let more = self.emitter.setp(Less, S32, next, end);
        self.emitter.branch_if(more, again);
        self.emitter.label(after);
    }

    /// The place in windows of a plane which is not after that of a turn, nor further before it than windows reach.
    fn slot_of(&mut self, own: &Own, turn: &Turn, z: Register<B32>) -> Register<B32> {
        let distance = self.emitter.sub(U32, z, turn.z);
        let slot = self.emitter.add(S32, distance, turn.slot);
        let slot = self.emitter.add(S32, slot, own.windows.planes);
        self.around(own, slot)
    }

    /// Fills the thread's points of a plane that are outside, or all those of a plane outside.
    fn fill_plane(
        &mut self,
        own: &Own,
        turn: &Turn,
        ghost: Option<Ghost>,
        levels: &[(usize, usize)],
    ) {
        let follows = own.follows();
        for row in 0..own.tile.rows {
            let [inside, outside] = [(); 2].map(|()| self.emitter.new_label());
            let emitter = &mut self.emitter;
            let y = emitter.add(S32, own.y, row);
            let mut predicates = [None, None];
            for (axis, at) in [(1, y), (2, own.x)] {
                let (extent, reach) = (self.geometry.extents[axis], own.tile.reach[axis]);
                if !own.is_border || !follows[axis] {
                    continue;
                }
                // Nobody in the grid reads what is further away.
                let far = emitter.add(S32, at, reach);
                let far = emitter.setp(AtLeast, U32, far, extent + 2 * reach);
                emitter.branch_if(far, inside);
                predicates[axis - 1] = Some(emitter.setp(AtLeast, U32, at, extent));
            }
            if ghost.is_none() {
                for predicate in predicates.iter().flatten() {
                    emitter.branch_if(*predicate, outside);
                }
                emitter.branch(inside);
            }
            emitter.label(outside);
            for &(field, level) in levels {
                let sides = self.system.boundary_of(Array::Field { field, level }).sides;
                // Along an axis that others are read along, but not this one, it may be periodic: nobody reads what
                // lies outside there, nor has the block where it comes from.
                let unread = [0, 1, 2].map(|axis: usize| sides[axis].contains(&Side::Periodic));
                let after = self.emitter.new_label();
                for (predicate, unread) in predicates.into_iter().zip(&unread[1..]) {
                    if let (Some(predicate), true) = (predicate, unread) {
                        self.emitter.branch_if(predicate, after);
                    }
                }
                let is_led = |axis: usize| match axis {
                    0 => ghost.is_some(),
                    _ => own.is_border && follows[axis],
                };
                let led = [2, 1, 0].into_iter().filter(|axis| is_led(*axis) && !unread[*axis]);
                let led: Vec<usize> = led.collect();
                if !led.is_empty() && (ghost.is_none() || led.contains(&0)) {
                    self.fill_point(own, turn, ghost, (row, y), (field, level), &led);
                }
                self.emitter.label(after);
            }
            self.emitter.label(inside);
        }
    }

    fn fill_point(
        &mut self,
        own: &Own,
        turn: &Turn,
        ghost: Option<Ghost>,
        (row, y): (usize, Register<B32>),
        (field, level): (usize, usize),
        led: &[usize],
    ) {
        let (numbers, bytes) = (self.numbers, self.numbers.bytes());
        let array = Array::Field { field, level };
        // Of an axis along which the point itself evolves, its own place.
        let own_row = self.emitter.add(S32, own.row, row);
        let (mut at, mut leads) = ([own_row, own.lane], Vec::new());
        let mut slot = turn.slot;
        for &axis in led {
            let coordinate = match (axis, ghost) {
                (0, Some(ghost)) => ghost.z,
                (1, _) => y,
                _ => own.x,
            };
            let lead = self.lead_of_part(own.part(), array, axis, coordinate);
            match axis {
                0 => slot = self.slot_of(own, turn, lead.to),
                _ => at[axis - 1] = self.emitter.sub(U32, lead.to, own.corner[axis - 1]),
            }
            leads.push(lead);
        }
        let ends = self.ends(&leads);
        let cell = self.emitter.mad(U32, at[0], own.tile.lanes, at[1]);
        let cell = self.emitter.shared_element(own.base, cell, bytes);
        let cell = self.plane_at(own, slot, cell);
        // Where it is a value, what is loaded, its own place's, is not used.
        let itself = self.emitter.offset(own.at, row * own.tile.lanes * bytes);
        let to = self.plane_at(own, ghost.map_or(turn.slot, |ghost| ghost.slot), itself);
        let cell = self.emitter.select(Shared, to, cell, ends.is_value);
        let [cell, to] = [cell, to].map(|place| self.emitter.offset(place, turn.windows));
        let window = self.window(own, field, level as isize);
        let value = numbers.load_number(&mut self.emitter, cell.at(window));
        let value = self.found(&leads, &ends, value);
        self.emitter.store(to.at(window), value);
    }
}
