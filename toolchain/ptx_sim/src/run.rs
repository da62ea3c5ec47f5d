// SPDX-License-Identifier: MIT OR Apache-2.0
//! The execution of a [`Program`]: threads run one after the other from barrier to barrier.

use crate::Fault;
use crate::machine::Machine;
use crate::memory::{CONSTANTS, Memory};
use crate::module::{Access, MemoryOrder, Scope, Space, Special};
use crate::program::Program;
use crate::shared::Copy;
use crate::thread::Thread;

impl Program {
    /// Runs the threads of a block to their end, from barrier to barrier one after the other, with these parameters of
    /// 64 bits each.
    ///
    /// # Errors
    /// The first mistake of a thread.
    pub fn run_block(
        &self,
        memory: &mut Memory,
        parameters: &[u64],
        [block, threads]: [u32; 2],
    ) -> Result<(), Fault> {
        let parameters: Vec<u8> = parameters.iter().flat_map(|it| it.to_le_bytes()).collect();
        let mut spare = std::mem::take(&mut memory.spare);
        let start = |own| {
            let thread = spare.pop().unwrap_or_default();
            (own, Thread::strict(thread, &self.module, &parameters), Vec::new())
        };
        let mut threads: Vec<(u32, Thread<'_>, Vec<Copy>)> = (0..threads).map(start).collect();
        loop {
            memory.shared.barrier();
            let mut ended = Vec::new();
            for (own, thread, copies) in &mut threads {
                let mut lane = Lane { memory, copies, block, own: *own, waits: false };
                let end = thread.run(&mut lane).map_err(|what| {
                    let (thread, instruction) = (*own, thread.instruction().to_owned());
                    Fault { block, thread, instruction, what }
                })?;
                if end {
                    ended.push(*own);
                }
            }
            if ended.len() == threads.len() {
                memory.spare = threads.into_iter().map(|(_, it, _)| it.into_memory()).collect();
                return Ok(());
            }
            if let Some(&thread) = ended.first() {
                let what = "it has ended, and others of its block wait for it".to_owned();
                let instruction = "ret".to_owned();
                return Err(Fault { block, thread, instruction, what });
            }
        }
    }
}

/// What a thread sees of its block.
struct Lane<'a> {
    memory: &'a mut Memory,
    /// What it has copied to shared memory and not yet waited for.
    copies: &'a mut Vec<Copy>,
    block: u32,
    own: u32,
    waits: bool,
}

fn unknown() -> String {
    "it is none that is known here".to_owned()
}

impl Machine for Lane<'_> {
    type Fault = String;

    fn at(&mut self, _: u32) {}

    fn load(&mut self, access: Access, address: u64, to: &mut [u8]) -> Result<(), String> {
        if access.order != MemoryOrder::Weak {
            return Err(unknown());
        }
        match access.space {
            Space::Shared => {
                if to.len() == access.element {
                    let bits = self.memory.shared.load(address, to.len(), self.own)?;
                    to.copy_from_slice(&bits.to_le_bytes()[..to.len()]);
                    return Ok(());
                }
                self.memory.shared.place(address, to.len())?;
                for (at, part) in
                    (address..).step_by(access.element).zip(to.chunks_mut(access.element))
                {
                    let bits = self.memory.shared.load(at, part.len(), self.own)?;
                    part.copy_from_slice(&bits.to_le_bytes()[..part.len()]);
                }
            }
            Space::Global | Space::Constant => {
                to.copy_from_slice(self.memory.load(address, to.len())?);
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn store(&mut self, access: Access, address: u64, from: &[u8]) -> Result<(), String> {
        match access.space {
            _ if access.order != MemoryOrder::Weak => Err(unknown()),
            Space::Shared if from.len() <= 8 => {
                let mut bits = [0; 8];
                bits[..from.len()].copy_from_slice(from);
                let bits = u64::from_le_bytes(bits);
                self.memory.shared.store(address, from.len(), bits, self.own)
            }
            Space::Global => self.memory.store(address, from),
            _ => Err(unknown()),
        }
    }

    fn update(
        &mut self,
        _: Access,
        _: u64,
        _: usize,
        _: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<u64, String> {
        Err(unknown())
    }

    fn fence(&mut self, _: MemoryOrder, _: Scope) -> Result<(), String> {
        Err(unknown())
    }

    fn special(&mut self, register: Special) -> u64 {
        match register {
            Special::Block(0) => u64::from(self.block),
            Special::Thread(0) => u64::from(self.own),
            other => panic!("{other:?} is not known here"),
        }
    }

    fn global(&self, variable: u32) -> u64 {
        assert_eq!(variable, 0, "one table of constants");
        CONSTANTS
    }

    fn shared(&self, _: u32) -> u64 {
        0
    }

    fn other(&mut self, opcode: &str, operands: &[Vec<u64>], _: usize) -> Result<Vec<u64>, String> {
        match (opcode, operands) {
            ("bar.sync", [first]) if **first == [0] => self.waits = true,
            (
                "cp.async.ca.shared.global" | "cp.async.cg.shared.global",
                [to, from, bytes, there @ ..],
            ) => {
                let may = if opcode.contains(".cg.") { &[16][..] } else { &[4, 8, 16] };
                let bytes = bytes[0];
                if !may.contains(&bytes) {
                    return Err(format!("{bytes} bytes are not copied together"));
                }
                let there = there.first().map_or(bytes, |there| there[0] & 0xffff_ffff);
                let address = |it: &[u64]| it[0].wrapping_add(it[1]);
                let (to, bytes) = (address(to), [bytes, there].map(|it| it as usize));
                let copy = self.memory.begin_copy(to, address(from), bytes, self.own)?;
                self.copies.push(copy);
            }
            ("cp.async.commit_group", []) => {}
            ("cp.async.wait_group", [newest]) if **newest == [0] => {
                for copy in self.copies.drain(..) {
                    self.memory.shared.end_copy(copy, self.own)?;
                }
            }
            _ => return Err(unknown()),
        }
        Ok(Vec::new())
    }

    fn waits(&mut self) -> bool {
        self.waits
    }

    fn print(&mut self, _: &str) {}

    fn count(&mut self, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn overflow(&mut self) -> String {
        "the product has more than 32 bits".to_owned()
    }

    fn unknown(&mut self, _: &str) -> String {
        unknown()
    }

    fn unwritten_register(&mut self) -> String {
        "it reads a register that nothing has written".to_owned()
    }

    fn trap(&mut self) -> String {
        unknown()
    }

    fn beyond_local(&mut self, at: u64, _: usize, _: usize) -> String {
        format!("byte {at} is beyond the thread's own memory")
    }
}
