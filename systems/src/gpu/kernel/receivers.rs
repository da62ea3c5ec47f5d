// SPDX-License-Identifier: MIT OR Apache-2.0
//! What receivers receive. Of single steps threads after those of all points note the values before the step, so that
//! nobody has to wait for it; of chains the threads of a block note what it holds.

use super::{Table, Writer};
use crate::gpu::emitter::Class;
use crate::gpu::geometry::THREADS;

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

    /// Where a list of receivers begins for this thread, and ends.
    pub(super) fn receivers_in(&mut self, list: &str) -> [String; 2] {
        let table = self.table(Table::Blocks);
        let emitter = &mut self.emitter;
        let place = emitter.set(Class::B64, "mul.wide.u32", format_args!("{list}, 4"));
        let place = emitter.set(Class::B64, "add.u64", format_args!("{table}, {place}"));
        let [first, end] = ["", "+4"].map(|after| {
            emitter.set(Class::B32, "ld.global.nc.u32", format_args!("[{place}{after}]"))
        });
        let thread = emitter.set(Class::B32, "mov.u32", format_args!("%tid.x"));
        let first = emitter.set(Class::B32, "add.u32", format_args!("{first}, {thread}"));
        [first, end]
    }

    /// Notes what those of a list receive, which lie after `base` in shared memory, by all threads of a block.
    pub(super) fn note(
        &mut self,
        [first, end]: &[String; 2],
        base: &str,
        records: &str,
        threads: usize,
    ) {
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
        let place = emitter.set(Class::B32, "add.u32", format_args!("{base}, {place}"));
        let value = emitter.set(class, &format!("ld.shared.{suffix}"), format_args!("[{place}]"));
        let to = emitter.set(Class::B64, "mul.wide.u32", format_args!("{number}, {bytes}"));
        let to = emitter.set(Class::B64, "add.u64", format_args!("{records}, {to}"));
        emitter.line(format_args!("st.global.{suffix} [{to}], {value}"));
        emitter.line(format_args!("add.u32 {next}, {next}, {threads}"));
        emitter.line(format_args!("bra {again}"));
        emitter.label(&none);
    }
}
