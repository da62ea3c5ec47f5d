// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of memory: a thread's own is here, all other is the machine's.

use super::{LOCAL, Thread, space_of};
use crate::machine::Machine;
use crate::module::{Access, Address, MemoryOrder, Op, Scope, Slot, Space};
use crate::scalar::{updated, word};
use crate::types::truncated;

impl Thread<'_> {
    /// Executes a load, a store or an atomic instruction.
    pub(super) fn access<M: Machine>(&mut self, machine: &mut M, op: &Op) -> Result<(), M::Fault> {
        match op {
            Op::Load { access, bytes, signed, to, address } => {
                let at = self.address(machine, access.space, *address);
                let mut all = [0; 64];
                let all = &mut all[..bytes * to.len()];
                self.load(machine, *access, at, all)?;
                if let [Some(to)] = to[..] {
                    self.set(to, word(all, *signed));
                    return Ok(());
                }
                for (to, part) in to.iter().zip(all.chunks(*bytes)) {
                    self.set_if(*to, word(part, *signed));
                }
            }
            Op::Store { access, bytes, from, address } => {
                let at = self.address(machine, access.space, *address);
                let mut all = [0; 64];
                let all = &mut all[..bytes * from.len()];
                for (from, part) in from.iter().zip(all.chunks_mut(*bytes)) {
                    part.copy_from_slice(&self.value(machine, *from).to_le_bytes()[..*bytes]);
                }
                match self.local(machine, access.space, at, all.len())? {
                    Some(start) => self.local[start..start + all.len()].copy_from_slice(all),
                    None => machine.store(*access, at, all)?,
                }
            }
            Op::Atomic { access, update, ty, to, address, from } => {
                let at = self.address(machine, access.space, *address);
                let operands = from.map(|it| self.value(machine, it));
                let new = |before: u64| updated(*update, *ty, before, operands);
                let before = match self.local(machine, access.space, at, ty.bytes())? {
                    Some(start) => {
                        let place = &mut self.local[start..start + ty.bytes()];
                        let before = word(place, false);
                        if let Some(new) = new(before) {
                            place.copy_from_slice(&new.to_le_bytes()[..ty.bytes()]);
                        }
                        before
                    }
                    None => machine.update(*access, at, ty.bytes(), &new)?,
                };
                self.set_if(*to, before);
            }
            _ => unreachable!("no access"),
        }
        Ok(())
    }

    /// An address of a space; that of shared memory is one of 32 bits.
    fn address<M: Machine>(
        &mut self,
        machine: &mut M,
        space: Space,
        Address { base, distance }: Address,
    ) -> u64 {
        let at = self.value(machine, base).wrapping_add_signed(distance);
        match space {
            Space::Shared => truncated(at, 32),
            _ => at,
        }
    }

    fn load<M: Machine>(
        &mut self,
        machine: &mut M,
        access: Access,
        at: u64,
        to: &mut [u8],
    ) -> Result<(), M::Fault> {
        match self.local(machine, access.space, at, to.len())? {
            Some(start) => to.copy_from_slice(&self.local[start..start + to.len()]),
            None => machine.load(access, at, to)?,
        }
        Ok(())
    }

    /// Where in the thread's own memory an address is, if it is there.
    fn local<M: Machine>(
        &mut self,
        machine: &mut M,
        space: Space,
        at: u64,
        bytes: usize,
    ) -> Result<Option<usize>, M::Fault> {
        let at = match space {
            Space::Local => at,
            Space::Generic if space_of(at) == Space::Local => at - LOCAL,
            _ => return Ok(None),
        };
        let ends = self.frames.iter().map(|it| (it.local, it.local + it.function.local_bytes));
        let is_inside = |(start, end): (usize, usize)| {
            at >= start as u64 && at.saturating_add(bytes as u64) <= end as u64
        };
        if ends.rev().any(is_inside) {
            return Ok(Some(at as usize));
        }
        let size = self.local.len();
        Err(machine.beyond_local(at, bytes, size))
    }

    /// `vprintf` of a text, as `cuda_std` calls it.
    pub(super) fn print<M: Machine>(
        &mut self,
        machine: &mut M,
        arguments: &[Slot],
    ) -> Result<(), M::Fault> {
        let from = self.frame().parameters;
        let argument = |at: usize| arguments.get(at).map_or(0, |slot| from + slot.start);
        let list = word(&self.parameters[argument(1)..][..8], false);
        let access = Access {
            space: Space::Generic,
            order: MemoryOrder::Weak,
            scope: Scope::Device,
            is_constant: false,
            lets_others: false,
            element: 1,
        };
        let mut text = [0; 8];
        self.load(machine, access, list, &mut text)?;
        let (mut at, mut all) = (u64::from_le_bytes(text), Vec::new());
        loop {
            let mut byte = [0];
            self.load(machine, access, at, &mut byte)?;
            if byte[0] == 0 {
                break;
            }
            all.push(byte[0]);
            at += 1;
        }
        machine.print(&String::from_utf8_lossy(&all));
        Ok(())
    }
}
