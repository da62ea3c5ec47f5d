// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies outside of the grid. Along periodic axes points outside evolve as those that they repeat. Elsewhere, when a
//! plane is finished, the points outside of it take what the rule of their array says; and so do planes outside: those
//! before the first one when all that they may repeat is there, those after the last one in their turn.

use super::{StepPlane, ThreadPoints};
use crate::expression::Array;
use crate::gpu::kernel::Writer;
use problem::boundary::Side;
use ptx_writer::Relation::{AtLeast, Equal, Less, NotEqual};
use ptx_writer::{B32, Register, S32, Shared, U32};

/// A plane outside: its z, and its place in windows.
#[derive(Clone, Copy)]
struct GhostPlane {
    z: Register<B32>,
    slot: Register<B32>,
}

impl Writer<'_> {
    /// Fills what lies outside of the planes that all steps have come to; false if there is nothing.
    pub(super) fn ghosts(
        &mut self,
        own: &ThreadPoints,
        z: Register<B32>,
        slot: Register<B32>,
    ) -> bool {
        let [above, down, across] = own.follows();
        if !(above || own.is_border && (down || across)) {
            return false;
        }
        let [z, slot] = [z, slot].map(|start| self.emitter.mov(U32, start));
        let windows = self.emitter.mov(U32, 0);
        let turn = StepPlane { z, slot, windows };
        let fields = self.levels_of_fields().into_iter();
        let loaded: Vec<_> = fields.map(|(field, level)| Array::Field { field, level }).collect();
        self.ghosts_of(own, &turn, &loaded);
        let stages = &self.system.stages;
        let writes = stages.iter().flat_map(|stage| &stage.writes);
        // Else the values of the last step lie in no window.
        let lasts = writes.clone().any(|array| own.windows.lasts(*array));
        let left = match lasts {
            true => self.emitter.mov(U32, own.steps),
            false => self.emitter.sub(U32, own.steps, 1),
        };
        let [again, end] = [(); 2].map(|()| self.emitter.new_label());
        if !lasts {
            let none = self.emitter.setp(Equal, U32, left, 0);
            self.emitter.branch_if(none, end);
        }
        self.emitter.label(again);
        for stage in stages {
            self.one_behind(own, &turn);
            let held = stage.writes.iter().copied().filter(|it| own.windows.of(*it).is_some());
            let (kept, others): (Vec<_>, Vec<_>) = held.partition(|it| own.windows.lasts(*it));
            self.ghosts_of(own, &turn, &kept);
            let after = self.emitter.new_label();
            if lasts && !others.is_empty() {
                let is_last = self.emitter.setp(Equal, U32, left, 1);
                self.emitter.branch_if(is_last, after);
            }
            self.ghosts_of(own, &turn, &others);
            self.emitter.label(after);
        }
        self.next_windows(own, &turn);
        self.emitter.decrease(left, 1);
        let more = self.emitter.setp(NotEqual, U32, left, 0);
        self.emitter.branch_if(more, again);
        self.emitter.label(end);
        true
    }

    fn ghosts_of(&mut self, own: &ThreadPoints, turn: &StepPlane, arrays: &[Array]) {
        let ([nz, ..], [reach, ..], z) = (self.geometry.extents, own.tile.reads, turn.z);
        if arrays.is_empty() {
            return;
        }
        let [above, down, across] = own.follows();
        if own.is_border && (down || across) {
            let after = self.emitter.new_label();
            if above {
                let outside = self.emitter.setp(AtLeast, U32, z, nz);
                self.emitter.branch_if(outside, after);
            }
            self.fill_plane(own, turn, None, arrays);
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
        self.fill_plane(own, turn, Some(GhostPlane { z: next, slot }), arrays);
        self.emitter.increase(S32, next, 1);
        let more = self.emitter.setp(Less, S32, next, end);
        self.emitter.branch_if(more, again);
        self.emitter.label(after);
    }

    /// The place in windows of a plane which is not after that of a turn, nor further before it than windows reach.
    fn slot_of(&mut self, own: &ThreadPoints, turn: &StepPlane, z: Register<B32>) -> Register<B32> {
        let distance = self.emitter.sub(U32, z, turn.z);
        let slot = self.emitter.add(S32, distance, turn.slot);
        let slot = self.emitter.add(S32, slot, own.windows.planes);
        self.around(own, slot)
    }

    /// Fills the thread's points of a plane that are outside, or all those of a plane outside.
    fn fill_plane(
        &mut self,
        own: &ThreadPoints,
        turn: &StepPlane,
        ghost: Option<GhostPlane>,
        arrays: &[Array],
    ) {
        let follows = own.follows();
        for row in 0..own.tile.rows {
            let [inside, outside] = [(); 2].map(|()| self.emitter.new_label());
            let emitter = &mut self.emitter;
            let y = emitter.add(S32, own.y, row);
            let mut predicates = [None, None];
            for (axis, at) in [(1, y), (2, own.x)] {
                let (extent, reach) = (self.geometry.extents[axis], own.tile.reads[axis]);
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
            for &array in arrays {
                let sides = self.system.boundary_of(array).sides;
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
                    self.fill_point(own, turn, ghost, (row, y), array, &led);
                }
                self.emitter.label(after);
            }
            self.emitter.label(inside);
        }
    }

    fn fill_point(
        &mut self,
        own: &ThreadPoints,
        turn: &StepPlane,
        ghost: Option<GhostPlane>,
        (row, y): (usize, Register<B32>),
        array: Array,
        led: &[usize],
    ) {
        let (numbers, bytes) = (self.numbers, self.numbers.bytes());
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
        let window = self.window(own, array).expect("it is there");
        let value = numbers.load_number(&mut self.emitter, cell.at(window));
        let value = self.found(&leads, &ends, value);
        self.emitter.store(to.at(window), value);
    }
}
