// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread executes on.

use crate::module::{Access, MemoryOrder, Scope, Special};

/// Memory and other threads.
pub trait Machine {
    /// A mistake.
    type Fault;

    /// The next call is made by an instruction in this line (see [`Module::line`]).
    fn at(&mut self, line: u32);

    /// Reads bytes of shared or global memory.
    fn load(&mut self, access: Access, address: u64, to: &mut [u8]) -> Result<(), Self::Fault>;

    /// Writes bytes, which are all values of an instruction together.
    fn store(&mut self, access: Access, address: u64, from: &[u8]) -> Result<(), Self::Fault>;

    /// Changes a value, if the function gives a new one; returns the one before.
    fn update(
        &mut self,
        access: Access,
        address: u64,
        bytes: usize,
        new: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<u64, Self::Fault>;

    /// Orders what comes before and after.
    fn fence(&mut self, order: MemoryOrder, scope: Scope) -> Result<(), Self::Fault>;

    /// The value of a register.
    fn special(&mut self, register: Special) -> u64;

    /// The address of a variable in global memory.
    fn global(&self, variable: u32) -> u64;

    /// The address of a variable in shared memory.
    fn shared(&self, variable: u32) -> u64;

    /// Executes what is no business of one thread; gives so many results.
    fn other(
        &mut self,
        opcode: &str,
        operands: &[Vec<u64>],
        results: usize,
    ) -> Result<Vec<u64>, Self::Fault>;

    /// Issues an asynchronous product (`wgmma.mma_async`), with what the registers of its sums hold, numbers or names, and
    /// its other operands. Gives the names of its new sums: no numbers of 32 bits. `is_ordered` says that no other instruction
    /// has used its registers since the last wait, or that a fence came after it.
    fn product(
        &mut self,
        opcode: &str,
        _sums: &[u64],
        _operands: &[Vec<u64>],
        _is_ordered: bool,
    ) -> Result<Vec<u64>, Self::Fault> {
        Err(self.unknown(opcode))
    }

    /// Replaces names of sums by numbers, where the thread has waited for their products.
    fn settle(&mut self, _sums: &mut [u64]) {}

    /// Whether the thread has waited for the product of a sum.
    fn has_ended(&mut self, _sum: u64) -> bool {
        true
    }

    /// The fault of an instruction that reads a sum of a product under way, or writes what the product reads.
    fn used_too_early(&mut self, _sum: u64, _is_write: bool) -> Self::Fault {
        self.unknown("a register of a product that is under way")
    }

    /// Whether the thread waits for others after such an instruction, and is to be run again.
    fn waits(&mut self) -> bool {
        false
    }

    /// Prints a text.
    fn print(&mut self, text: &str);

    /// So many instructions have been executed.
    fn count(&mut self, instructions: u64) -> Result<(), Self::Fault>;

    /// The fault of an instruction that the machine does not know.
    fn unknown(&mut self, instruction: &str) -> Self::Fault;

    /// The fault of a read of a register that nothing has written.
    fn unwritten_register(&mut self) -> Self::Fault {
        self.unknown("a register that nothing has written")
    }

    /// The fault of a product without signs that has more than its 32 bits, where threads are strict.
    fn overflow(&mut self) -> Self::Fault {
        self.unknown("a product of more than 32 bits")
    }

    /// The fault of `trap`.
    fn trap(&mut self) -> Self::Fault;

    /// The fault of an access past a thread's own memory.
    fn beyond_local(&mut self, at: u64, bytes: usize, size: usize) -> Self::Fault;
}
