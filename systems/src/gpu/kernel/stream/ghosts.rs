// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies outside of the grid. Along periodic axes points outside evolve as those that they repeat. Elsewhere, when a
//! plane is finished, the points outside of it take what the rule of their field says; and so do planes outside: those
//! before the first one when all that they may repeat is there, those after the last one in their turn.

use super::{Own, Turn};
use crate::expression::Array;
use crate::gpu::kernel::Writer;
use problem::boundary::Side;

/// A plane outside: its z, and its place in windows.
struct Ghost {
    z: String,
    slot: String,
}

impl Writer<'_> {
    /// Fills what lies outside of the planes that all steps have come to; false if there is nothing.
    pub(super) fn ghosts(&mut self, own: &Own, z: &str, slot: &str) -> bool {
        let [above, down, across] = own.follows();
        if !(above || own.is_border && (down || across)) {
            return false;
        }
        let [z, slot] = [z, slot].map(|start| self.word("mov.u32", format_args!("{start}")));
        let windows = self.word("mov.u32", format_args!("0"));
        let turn = Turn { z, slot, windows };
        // Those of earlier levels are of the plane that was loaded.
        let all = self.levels_of_fields();
        let present: Vec<_> = all.iter().copied().filter(|(_, level)| *level == 0).collect();
        let earlier: Vec<_> = all.into_iter().filter(|(_, level)| *level > 0).collect();
        if !earlier.is_empty() {
            self.ghosts_of(own, &turn, &earlier);
        }
        let left = self.word("mov.u32", format_args!("{}", own.steps));
        let again = self.emitter.new_label();
        self.emitter.label(&again);
        self.ghosts_of(own, &turn, &present);
        self.one_behind(own, &turn);
        self.next_windows(own, &turn);
        self.emitter.line(format_args!("sub.u32 {left}, {left}, 1"));
        let more = self.test("setp.ne.u32", format_args!("{left}, 0"));
        self.emitter.line(format_args!("@{more} bra {again}"));
        true
    }

    fn ghosts_of(&mut self, own: &Own, turn: &Turn, levels: &[(usize, usize)]) {
        let ([nz, ..], [reach, ..], z) = (self.geometry.extents, own.tile.reach, &turn.z);
        let [above, down, across] = own.follows();
        if own.is_border && (down || across) {
            let after = self.emitter.new_label();
            if above {
                let outside = self.test("setp.ge.u32", format_args!("{z}, {nz}"));
                self.emitter.line(format_args!("@{outside} bra {after}"));
            }
            self.fill_plane(own, turn, None, levels);
            self.emitter.label(&after);
        }
        if !above {
            return;
        }
        let [again, after] = [(); 2].map(|()| self.emitter.new_label());
        let next = self.word("mov.u32", format_args!("{z}"));
        let end = self.word("add.s32", format_args!("{z}, 1"));
        // A plane after the last one, in its turn.
        let far = self.word("sub.u32", format_args!("{z}, {nz}"));
        let is_beyond = self.test("setp.lt.u32", format_args!("{far}, {reach}"));
        self.emitter.line(format_args!("@{is_beyond} bra {again}"));
        // All before the first one.
        let operands = format!("{z}, {}", reach.min(nz - 1));
        let is_there = self.test("setp.eq.u32", format_args!("{operands}"));
        self.emitter.line(format_args!("@!{is_there} bra {after}"));
        self.emitter.line(format_args!("mov.b32 {next}, {}", -(reach as i64)));
        self.emitter.line(format_args!("mov.u32 {end}, 0"));
        self.emitter.label(&again);
        let slot = self.slot_of(own, turn, &next);
        self.fill_plane(own, turn, Some(&Ghost { z: next.clone(), slot }), levels);
        self.emitter.line(format_args!("add.s32 {next}, {next}, 1"));
        let more = self.test("setp.lt.s32", format_args!("{next}, {end}"));
        self.emitter.line(format_args!("@{more} bra {again}"));
        self.emitter.label(&after);
    }

    /// The place in windows of a plane which is not after that of a turn, nor further before it than windows reach.
    fn slot_of(&mut self, own: &Own, turn: &Turn, z: &str) -> String {
        let distance = self.word("sub.u32", format_args!("{z}, {}", turn.z));
        let slot = self.word("add.s32", format_args!("{distance}, {}", turn.slot));
        let slot = self.word("add.s32", format_args!("{slot}, {}", own.windows.planes));
        self.around(own, &slot)
    }

    /// Fills the thread's points of a plane that are outside, or all those of a plane outside.
    fn fill_plane(
        &mut self,
        own: &Own,
        turn: &Turn,
        ghost: Option<&Ghost>,
        levels: &[(usize, usize)],
    ) {
        let follows = own.follows();
        for row in 0..own.tile.rows {
            let [inside, outside] = [(); 2].map(|()| self.emitter.new_label());
            let y = self.word("add.s32", format_args!("{}, {row}", own.y));
            let mut predicates = [None, None];
            for (axis, at) in [(1, &y), (2, &own.x)] {
                let (extent, reach) = (self.geometry.extents[axis], own.tile.reach[axis]);
                if !own.is_border || !follows[axis] {
                    continue;
                }
                // Nobody in the grid reads what is further away.
                let far = self.word("add.s32", format_args!("{at}, {reach}"));
                let far = self.test("setp.ge.u32", format_args!("{far}, {}", extent + 2 * reach));
                self.emitter.line(format_args!("@{far} bra {inside}"));
                let is_outside = self.test("setp.ge.u32", format_args!("{at}, {extent}"));
                predicates[axis - 1] = Some(is_outside);
            }
            if ghost.is_none() {
                for predicate in predicates.iter().flatten() {
                    self.emitter.line(format_args!("@{predicate} bra {outside}"));
                }
                self.emitter.line(format_args!("bra {inside}"));
            }
            self.emitter.label(&outside);
            for &(field, level) in levels {
                let sides = self.system.boundary_of(Array::Field { field, level }).sides;
                // Along an axis that others are read along, but not this one, it may be periodic: nobody reads what
                // lies outside there, nor has the block where it comes from.
                let unread = [0, 1, 2].map(|axis: usize| sides[axis].contains(&Side::Periodic));
                let after = self.emitter.new_label();
                for (predicate, unread) in predicates.iter().zip(&unread[1..]) {
                    if let (Some(predicate), true) = (predicate, unread) {
                        self.emitter.line(format_args!("@{predicate} bra {after}"));
                    }
                }
                let is_led = |axis: usize| match axis {
                    0 => ghost.is_some(),
                    _ => own.is_border && follows[axis],
                };
                let led = [2, 1, 0].into_iter().filter(|axis| is_led(*axis) && !unread[*axis]);
                let led: Vec<usize> = led.collect();
                if !led.is_empty() && (ghost.is_none() || led.contains(&0)) {
                    self.fill_point(own, turn, ghost, (row, &y), (field, level), &led);
                }
                self.emitter.label(&after);
            }
            self.emitter.label(&inside);
        }
    }

    fn fill_point(
        &mut self,
        own: &Own,
        turn: &Turn,
        ghost: Option<&Ghost>,
        (row, y): (usize, &str),
        (field, level): (usize, usize),
        led: &[usize],
    ) {
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        let array = Array::Field { field, level };
        // Of an axis along which the point itself evolves, its own place.
        let own_row = self.word("add.s32", format_args!("{}, {row}", own.row));
        let (mut at, mut leads) = ([own_row, own.lane.clone()], Vec::new());
        let mut slot = turn.slot.clone();
        for &axis in led {
            let coordinate = match (axis, ghost) {
                (0, Some(ghost)) => &ghost.z,
                (1, _) => y,
                _ => &own.x,
            };
            let lead = self.lead_of_part(own.part(), array, axis, coordinate);
            match axis {
                0 => slot = self.slot_of(own, turn, &lead.to),
                _ => {
                    let operands = format!("{}, {}", lead.to, own.corner[axis - 1]);
                    at[axis - 1] = self.word("sub.u32", format_args!("{operands}"));
                }
            }
            leads.push(lead);
        }
        let ends = self.ends(&leads);
        let [row_at, lane] = at;
        let operands = format!("{row_at}, {}, {lane}", own.tile.lanes);
        let cell = self.word("mad.lo.u32", format_args!("{operands}"));
        let cell = self.word("mad.lo.u32", format_args!("{cell}, {bytes}, {}", own.base));
        let cell = self.plane_at(own, &slot, &cell);
        // Where it is a value, what is loaded, its own place's, is not used.
        let operands = format!("{}, {}", own.at, row * own.tile.lanes * bytes);
        let itself = self.word("add.u32", format_args!("{operands}"));
        let to = ghost.map_or(&turn.slot, |ghost| &ghost.slot);
        let to = self.plane_at(own, to, &itself);
        let cell = self.word("selp.u32", format_args!("{to}, {cell}, {}", ends.is_value));
        let [cell, to] =
            [cell, to].map(|place| self.word("add.u32", format_args!("{place}, {}", turn.windows)));
        let window = self.window(own, field, level as isize);
        let opcode = format!("ld.shared.{suffix}");
        let value = self.emitter.set(class, &opcode, format_args!("[{cell}+{window}]"));
        let value = self.found(&leads, &ends, &value);
        self.emitter.line(format_args!("st.shared.{suffix} [{to}+{window}], {value}"));
    }
}
