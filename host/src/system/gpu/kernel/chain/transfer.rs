// SPDX-License-Identifier: MIT OR Apache-2.0
//! Between a thread's registers, shared memory and the arrays of the grid; and what receivers receive.

use super::Own;
use crate::system::expression::Array;
use crate::system::gpu::emitter::Class;
use crate::system::gpu::kernel::{Table, Writer};

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
        let operands = format!("{}, {}", own.lane, halo[1]);
        let column = emitter.set(Class::B32, "sub.u32", format_args!("{operands}"));
        let operands = format!("{column}, {}", middle[1]);
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
            let operands = format!("{}, {}", own.row, row as i64 - halo[0] as i64);
            let down = emitter.set(Class::B32, "add.s32", format_args!("{operands}"));
            let operands = format!("{down}, {}, {inside}", middle[0]);
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

    /// Where the list of the block's receivers begins for this thread, and ends; if there are any.
    pub(super) fn receivers_of_block(&mut self) -> Option<[String; 2]> {
        if self.system.receivers.is_empty() {
            return None;
        }
        let table = self.table(Table::Blocks);
        let emitter = &mut self.emitter;
        let block = emitter.set(Class::B32, "mov.u32", format_args!("%ctaid.x"));
        let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{block}, 4"));
        let place = emitter.set(Class::B64, "add.u64", format_args!("{table}, {place}"));
        let [first, end] = ["", "+4"].map(|after| {
            emitter.set(Class::B32, "ld.global.nc.u32", format_args!("[{place}{after}]"))
        });
        let thread = emitter.set(Class::B32, "mov.u32", format_args!("%tid.x"));
        let first = emitter.set(Class::B32, "add.u32", format_args!("{first}, {thread}"));
        Some([first, end])
    }

    /// Notes what the block's receivers receive.
    pub(super) fn note(&mut self, own: &Own, [first, end]: &[String; 2], records: &str) {
        let (class, suffix, bytes) =
            (self.numbers.class(), self.numbers.suffix(), self.numbers.bytes());
        let table = self.table(Table::Receivers);
        let emitter = &mut self.emitter;
        let (again, none) = (emitter.new_label(), emitter.new_label());
        let next = emitter.set(Class::B32, "mov.u32", format_args!("{first}"));
        emitter.label(&again);
        let done = emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{next}, {end}"));
        emitter.line(format_args!("@{done} bra {none}"));
        let entry = emitter.set(Class::B64, "mul.wide.u32", format_args!("{next}, 8"));
        let entry = emitter.set(Class::B64, "add.u64", format_args!("{table}, {entry}"));
        let place = emitter.set(Class::B32, "ld.global.nc.u32", format_args!("[{entry}]"));
        let number = emitter.set(Class::B32, "ld.global.nc.u32", format_args!("[{entry}+4]"));
        let place = emitter.set(Class::B32, "add.u32", format_args!("{}, {place}", own.base));
        let value = emitter.set(class, &format!("ld.shared.{suffix}"), format_args!("[{place}]"));
        let to = emitter.set(Class::B64, "mul.wide.u32", format_args!("{number}, {bytes}"));
        let to = emitter.set(Class::B64, "add.u64", format_args!("{records}, {to}"));
        emitter.line(format_args!("st.global.{suffix} [{to}], {value}"));
        emitter.line(format_args!("add.u32 {next}, {next}, {}", own.tile.threads()));
        emitter.line(format_args!("bra {again}"));
        emitter.label(&none);
    }
}
