// SPDX-License-Identifier: MIT OR Apache-2.0
//! Between a thread's registers, shared memory and the arrays of the grid.

use super::Own;
use crate::expression::Array;
use crate::gpu::emitter::Class;
use crate::gpu::kernel::Writer;

impl Writer<'_> {
    /// Loads the values of a thread's points.
    pub(super) fn load_part(&mut self, own: &Own) {
        if own.mapped.is_some() {
            return self.load_at_border(own);
        }
        let bytes = self.system.dtype.bytes();
        let distance = self.first_point(own);
        for (number, rows) in own.states.iter().enumerate() {
            let start = self.addresses[number].clone();
            let start =
                self.emitter.set(Class::B64, "add.u64", format_args!("{start}, {distance}"));
            for (row, register) in rows.iter().enumerate() {
                let place = format!("{start}+{}", row * self.geometry.pitch * bytes);
                let value = self.numbers.load(&mut self.emitter, &place, 1).remove(0);
                self.set_state(register, &value);
            }
        }
    }

    /// A stored value into a register that goes round.
    pub(super) fn set_state(&mut self, register: &str, stored: &str) {
        let value = self.numbers.widen(&mut self.emitter, stored);
        let suffix = self.numbers.suffix();
        self.emitter.line(format_args!("mov.{suffix} {register}, {value}"));
    }

    /// The distance of the thread's first point, inside of the grid, from the first one of an array, in bytes.
    fn first_point(&mut self, own: &Own) -> String {
        let bytes = self.system.dtype.bytes();
        let (pitch, emitter) = (self.geometry.pitch * bytes, &mut self.emitter);
        let row = emitter.set(Class::B64, "mul.wide.u32", format_args!("{}, {pitch}", own.y));
        let column = emitter.set(Class::B64, "mul.wide.u32", format_args!("{}, {bytes}", own.x));
        emitter.set(Class::B64, "add.u64", format_args!("{row}, {column}"))
    }

    /// Shows others the values of some arrays.
    pub(super) fn share(&mut self, own: &Own, chosen: impl Fn(Array) -> bool) {
        let (suffix, bytes) = (self.numbers.suffix(), self.numbers.bytes());
        for (array, rows) in own.held.states.iter().zip(&own.states) {
            let Some(slot) = own.slot(*array).filter(|_| chosen(*array)) else { continue };
            for (row, value) in rows.iter().enumerate() {
                let distance = own.distance(slot, row as i32, 0, bytes);
                let place = format_args!("[{}+{distance}]", own.at).to_string();
                self.emitter.line(format_args!("st.shared.{suffix} {place}, {value}"));
            }
        }
    }

    /// Stores the middle of the part.
    pub(super) fn store_part(&mut self, own: &Own) {
        let [_, ny, nx] = self.geometry.extents;
        let (halo, middle) = (own.tile.halo(), own.tile.middle());
        let bytes = self.system.dtype.bytes();
        let emitter = &mut self.emitter;
        let operands = format!("{}, {}", own.lane, halo[2]);
        let column = emitter.set(Class::B32, "sub.u32", format_args!("{operands}"));
        let operands = format!("{column}, {}", middle[2]);
        let mut inside = emitter.set(Class::Predicate, "setp.lt.u32", format_args!("{operands}"));
        if own.mapped.is_some() {
            let operands = format!("{}, {nx}, {inside}", own.x);
            inside = emitter.set(Class::Predicate, "setp.lt.and.u32", format_args!("{operands}"));
        }
        let distance = own.mapped.is_none().then(|| self.first_point(own));
        let (_, stored) = self.numbers.stored();
        for row in 0..own.tile.rows {
            let emitter = &mut self.emitter;
            // Wraps around below the halo, to more than there are rows.
            let operands = format!("{}, {}", own.row, row as i64 - halo[1] as i64);
            let down = emitter.set(Class::B32, "add.s32", format_args!("{operands}"));
            let operands = format!("{down}, {}, {inside}", middle[1]);
            let mut writes =
                emitter.set(Class::Predicate, "setp.lt.and.u32", format_args!("{operands}"));
            if own.mapped.is_some() {
                let y = emitter.set(Class::B32, "add.s32", format_args!("{}, {row}", own.y));
                let operands = format!("{y}, {ny}, {writes}");
                writes =
                    emitter.set(Class::Predicate, "setp.lt.and.u32", format_args!("{operands}"));
            }
            let fields = own.held.states.iter().enumerate();
            let fields = fields.filter(|(_, array)| matches!(array, Array::Field { .. }));
            for (written, (number, _)) in fields.enumerate() {
                let value = self.numbers.round(&mut self.emitter, &own.states[number][row]);
                let start = self.addresses[self.arrays.len() + written].clone();
                let place = match (&own.mapped, &distance) {
                    (Some((ys, x)), _) => self.address(&start, [&own.zero, &ys[row], x], ny),
                    (None, Some(distance)) => {
                        let operands = format_args!("{start}, {distance}").to_string();
                        let start =
                            self.emitter.set(Class::B64, "add.u64", format_args!("{operands}"));
                        format!("{start}+{}", row * self.geometry.pitch * bytes)
                    }
                    (None, None) => unreachable!("the first point of a part inside is known"),
                };
                self.emitter.line(format_args!("@{writes} st.global.{stored} [{place}], {value}"));
            }
        }
    }
}
