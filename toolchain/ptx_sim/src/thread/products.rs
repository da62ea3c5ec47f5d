// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that asynchronous products use while the thread goes on. The machine knows when products end, and
//! which rules they have; here it is known which registers are theirs.

use super::Thread;
use crate::compute::ArithmeticOp;
use crate::machine::Machine;
use crate::module::{AsyncProduct, Op, OperandSource};
use std::collections::BTreeSet;

/// Registers of a thread that has issued products, by their places among the registers of all functions.
#[derive(Default)]
pub(super) struct Products {
    /// Registers of sums that the thread has not waited for. They hold the names that the machine gave.
    sums: BTreeSet<usize>,
    /// Registers that products under way read, and the name of one sum of the product.
    factors: Vec<(usize, u64)>,
    /// Registers that other instructions have used after a wait, with no fence since.
    touched: BTreeSet<usize>,
    /// Whether no fence came after the last wait.
    is_open: bool,
}

impl Products {
    /// Forgets the registers of a function that has returned.
    pub fn truncate(&mut self, end: usize) {
        self.sums.split_off(&end);
        self.touched.split_off(&end);
        self.factors.retain(|(place, _)| *place < end);
    }

    /// The name of a sum of the product under way that reads a register.
    fn reader(&self, place: usize) -> Option<u64> {
        self.factors.iter().find(|(factor, _)| *factor == place).map(|(_, sum)| *sum)
    }
}

impl Thread<'_> {
    /// Checks an instruction's registers before it is executed; whether nothing is left to do, since it copies a
    /// sum that is under way.
    pub(super) fn watch<M: Machine>(
        &mut self,
        machine: &mut M,
        op: &Op,
        line: u32,
    ) -> Result<bool, M::Fault> {
        let Some(products) = &mut self.products else { return Ok(false) };
        let (first, registers) = (self.first, &mut self.registers);
        let place = |register: u32| first + register as usize;
        if let Op::Compute { what: ArithmeticOp::Move, to, from, .. } = op
            && let OperandSource::Register(from) = from[0]
            && products.sums.contains(&place(from))
            && products.reader(place(*to)).is_none()
        {
            // Compilers have values in several registers, of which the assembler makes one again.
            registers[place(*to)] = registers[place(from)];
            products.sums.insert(place(*to));
            return Ok(true);
        }
        let (mut too_early, mut used) = (None, Vec::new());
        op.each_read(|register| {
            let at = place(register);
            used.push(at);
            if products.sums.contains(&at) {
                too_early = too_early.or(Some((registers[at], false)));
            }
        });
        op.each_written(|register| {
            let at = place(register);
            used.push(at);
            products.sums.remove(&at);
            too_early = too_early.or(products.reader(at).map(|sum| (sum, true)));
        });
        if products.is_open && !matches!(op, Op::Product(_)) {
            products.touched.extend(used);
        }
        match too_early {
            None => Ok(false),
            Some((sum, is_write)) => {
                machine.at(line);
                Err(machine.used_too_early(sum, is_write))
            }
        }
    }

    /// Issues a product.
    pub(super) fn issue<M: Machine>(
        &mut self,
        machine: &mut M,
        AsyncProduct { opcode, sums, a, metadata, .. }: &AsyncProduct,
        operands: &[Vec<u64>],
    ) -> Result<(), M::Fault> {
        let place = |register: &u32| self.first + *register as usize;
        let (mut products, is_first) = match self.products.take() {
            Some(products) => (products, false),
            None => (Box::default(), true),
        };
        let values: Vec<u64> = sums
            .iter()
            .map(place)
            .map(|at| match products.sums.contains(&at) {
                true => self.registers[at],
                // What a register of 32 bits has.
                false => u64::from(self.registers[at] as u32),
            })
            .collect();
        if let Some(sum) = sums.iter().find_map(|register| products.reader(place(register))) {
            return Err(machine.used_too_early(sum, true));
        }
        // A fence is for sums and for A.
        let is_touched = |register: &u32| products.touched.contains(&place(register));
        let is_ordered = !is_first && !sums.iter().chain(a).any(is_touched);
        let names = machine.product(opcode, &values, operands, is_ordered)?;
        let factors = a.iter().chain(metadata).map(place);
        products.factors.extend(factors.map(|at| (at, names[0])));
        for (at, name) in sums.iter().map(place).zip(names) {
            self.registers[at] = name;
            products.sums.insert(at);
        }
        self.products = Some(products);
        Ok(())
    }

    /// After a fence or a wait: what may be used again.
    pub(super) fn order_products<M: Machine>(&mut self, machine: &mut M, opcode: &str) {
        let Some(products) = &mut self.products else { return };
        if opcode.starts_with("wgmma.fence") {
            products.is_open = false;
            products.touched.clear();
        }
        if !opcode.starts_with("wgmma.wait_group") {
            return;
        }
        products.is_open = true;
        let places: Vec<usize> = products.sums.iter().copied().collect();
        let before: Vec<u64> = places.iter().map(|at| self.registers[*at]).collect();
        let mut after = before.clone();
        machine.settle(&mut after);
        for ((at, before), after) in places.iter().zip(before).zip(after) {
            if before != after {
                self.registers[*at] = after;
                products.sums.remove(at);
            }
        }
        products.factors.retain(|(_, sum)| !machine.has_ended(*sum));
    }
}
