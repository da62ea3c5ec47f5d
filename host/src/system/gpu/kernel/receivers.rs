// SPDX-License-Identifier: MIT OR Apache-2.0
//! What receivers receive: threads after those of all points note the values before the step, so that nobody has to
//! wait for it.

use super::{Table, Writer};
use crate::system::gpu::emitter::Class;
use crate::system::gpu::geometry::THREADS;

impl Writer<'_> {
    /// A thread with a receiver, in the blocks from this one on.
    pub(super) fn receive(&mut self, index: &str, first_block: usize) {
        let [records, receivers] = [Table::Records, Table::Receivers].map(|it| self.table(it));
        let present: Vec<String> =
            (0..self.system.fields.len()).map(|field| self.present(field)).collect();
        let (class, stored) = self.numbers.stored();
        let (suffix, bytes) = (self.numbers.suffix(), self.numbers.bytes());
        let (first, count) = (first_block * THREADS as usize, self.system.receivers.len());
        let emitter = &mut self.emitter;
        let own = emitter.set(Class::B32, "sub.u32", format_args!("{index}, {first}"));
        let beyond = emitter.set(Class::Predicate, "setp.ge.u32", format_args!("{own}, {count}"));
        emitter.line(format_args!("@{beyond} ret"));
        let entry = emitter.set(Class::B64, "mul.wide.u32", format_args!("{own}, 16"));
        let entry = emitter.set(Class::B64, "add.u64", format_args!("{receivers}, {entry}"));
        let place = emitter.set(Class::B64, "ld.global.nc.u64", format_args!("[{entry}]"));
        let field = emitter.set(Class::B32, "ld.global.nc.u32", format_args!("[{entry}+8]"));
        let mut start = present[0].clone();
        for (number, address) in present.iter().enumerate().skip(1) {
            let is =
                emitter.set(Class::Predicate, "setp.eq.u32", format_args!("{field}, {number}"));
            let operands = format!("{address}, {start}, {is}");
            start = emitter.set(Class::B64, "selp.u64", format_args!("{operands}"));
        }
        let place = emitter.set(Class::B64, "add.u64", format_args!("{start}, {place}"));
        let opcode = format!("ld.global.nc.{stored}");
        let value = emitter.set(class, &opcode, format_args!("[{place}]"));
        let value = self.numbers.widen(emitter, &value);
        let to = emitter.set(Class::B64, "mul.wide.u32", format_args!("{own}, {bytes}"));
        let to = emitter.set(Class::B64, "add.u64", format_args!("{records}, {to}"));
        emitter.line(format_args!("st.global.{suffix} [{to}], {value}"));
        emitter.line(format_args!("ret"));
    }

    /// The address of a field's present values.
    fn present(&self, field: usize) -> String {
        let before = self.arrays.len() + self.written + Table::COUNT;
        self.addresses[before + field].clone()
    }
}
