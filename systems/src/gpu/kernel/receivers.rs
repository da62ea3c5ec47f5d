// SPDX-License-Identifier: MIT OR Apache-2.0
//! What receivers receive. Of single steps threads after those of all points note the values before the step, so that
//! nobody has to wait for it; of chains the threads of a block note what it holds.

use super::{Table, Writer};
use ptx_writer::Relation::{AtLeast, Equal};
use ptx_writer::{B32, Global, Register, Shared, THREAD, U32, U64};

impl Writer<'_> {
    /// A thread with a receiver, in the blocks from this one on.
    pub(super) fn receive(&mut self, index: Register<B32>, first_block: usize) {
        let [records, receivers] = [Table::Records, Table::Receivers].map(|it| self.table(it));
        // The present values of all fields.
        let present = &self.addresses[self.arrays.len() + self.written + Table::COUNT..];
        let (numbers, emitter) = (self.numbers, &mut self.emitter);
        let own = emitter.sub(U32, index, first_block * self.geometry.block());
        let beyond = emitter.setp(AtLeast, U32, own, self.system.receivers.len());
        emitter.ret_if(beyond);
        let entry = emitter.element(receivers, own, 16);
        let distance = emitter.load(U64, entry);
        let field = emitter.load(U32, entry.at(8));
        let mut start = present[0];
        for (number, address) in present.iter().enumerate().skip(1) {
            let is = emitter.setp(Equal, U32, field, number);
            start = emitter.select(Global, *address, start, is);
        }
        let place = emitter.offset(start, distance);
        let value = numbers.load(emitter, place);
        let value = numbers.widen(emitter, value);
        let to = emitter.element(records, own, numbers.bytes());
        emitter.store(to, value);
        emitter.ret();
    }

    /// Where a list of receivers begins for this thread, and ends.
    pub(super) fn receivers_in(&mut self, list: Register<B32>) -> [Register<B32>; 2] {
        let (table, emitter) = (self.table(Table::Blocks), &mut self.emitter);
        let place = emitter.element(table, list, 4);
        let first = emitter.load(U32, place);
        let end = emitter.load(U32, place.at(4));
        let thread = emitter.mov(U32, THREAD);
        [emitter.add(U32, first, thread), end]
    }

    /// Notes what those of a list receive, which lie after `base` in shared memory, by all threads of a block.
    pub(super) fn note(
        &mut self,
        [first, end]: [Register<B32>; 2],
        base: Register<Shared>,
        records: Register<Global>,
        threads: usize,
    ) {
        let (table, numbers, emitter) =
            (self.table(Table::Receivers), self.numbers, &mut self.emitter);
        let (again, none) = (emitter.new_label(), emitter.new_label());
        let next = emitter.mov(U32, first);
        emitter.label(again);
        let done = emitter.setp(AtLeast, U32, next, end);
        emitter.branch_if(done, none);
        let entry = emitter.element(table, next, 8);
        let place = emitter.load(U32, entry);
        let number = emitter.load(U32, entry.at(4));
        let place = emitter.offset(base, place);
        let value = numbers.load_number(emitter, place);
        let to = emitter.element(records, number, numbers.bytes());
        emitter.store(to, value);
        emitter.increase(U32, next, threads);
        emitter.branch(again);
        emitter.label(none);
    }
}
