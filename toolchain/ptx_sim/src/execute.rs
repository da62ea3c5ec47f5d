// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instructions do, as the PTX ISA says.

use half::{bf16, f16};

use crate::Fault;
use crate::memory::{CONSTANTS, Copy, Memory};
use crate::read::{Instruction, Operand, Program};

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
        let registers = || vec![None; self.registers];
        let thread = |own| {
            let (registers, copies) = (registers(), Vec::new());
            Thread { registers, copies, parameters, block, own, next: 0 }
        };
        let mut threads: Vec<Thread> = (0..threads).map(thread).collect();
        loop {
            memory.barrier();
            let waiting = threads.iter_mut().map(|thread| thread.run(&self.instructions, memory));
            let waiting: Vec<bool> = waiting.collect::<Result<_, _>>()?;
            if waiting.iter().all(|waits| !waits) {
                return Ok(());
            }
            if let Some(ended) = waiting.iter().position(|waits| !waits) {
                let what = "it has ended, and others of its block wait for it".to_owned();
                let (thread, instruction) = (ended as u32, "ret".to_owned());
                return Err(Fault { block, thread, instruction, what });
            }
        }
    }
}

struct Thread<'a> {
    /// Bits; nothing before they are written.
    registers: Vec<Option<u64>>,
    /// What it has copied to shared memory and not yet waited for.
    copies: Vec<Copy>,
    parameters: &'a [u64],
    block: u32,
    own: u32,
    /// The instruction that comes next.
    next: usize,
}

impl Thread<'_> {
    /// Runs to the next barrier, then it is true, or to the end.
    fn run(&mut self, instructions: &[Instruction], memory: &mut Memory) -> Result<bool, Fault> {
        loop {
            let instruction = &instructions[self.next];
            match self.execute(instruction, memory) {
                Ok(Next::GoesOn) => self.next += 1,
                Ok(Next::Jumps(target)) => self.next = target,
                Ok(Next::Waits) => {
                    self.next += 1;
                    return Ok(true);
                }
                Ok(Next::Ends) => return Ok(false),
                Err(what) => {
                    let (block, thread, instruction) = (self.block, self.own, instruction.text());
                    return Err(Fault { block, thread, instruction, what });
                }
            }
        }
    }

    fn execute(&mut self, instruction: &Instruction, memory: &mut Memory) -> Result<Next, String> {
        let Instruction { guard, opcode, operands, .. } = instruction;
        if let Some((guard, wanted)) = guard
            && (self.register(*guard)? != 0) != *wanted
        {
            return Ok(Next::GoesOn);
        }
        match (opcode.as_str(), operands.as_slice()) {
            ("ret", []) => return Ok(Next::Ends),
            ("bar.sync", [Operand::Bits(0)]) => return Ok(Next::Waits),
            ("bra", [Operand::Target(target)]) => return Ok(Next::Jumps(*target)),
            _ if opcode.starts_with("ld.global.nc.") || opcode.starts_with("ld.const.") => {
                self.load(memory, opcode, operands)?;
            }
            _ if opcode.starts_with("ld.shared.") => {
                let (registers, address) = self.access(&operands[0], &operands[1])?;
                let size = bytes(opcode)?;
                memory.check_shared(address, size * registers.len())?;
                for (place, register) in (address..).step_by(size).zip(registers) {
                    let bits = memory.load_shared(place, size, self.own)?;
                    self.registers[*register] = Some(bits);
                }
            }
            ("cp.async.ca.shared.global" | "cp.async.cg.shared.global", operands) => {
                let [
                    Operand::Memory(to, near),
                    Operand::Memory(from, far),
                    Operand::Bits(bytes),
                    there @ ..,
                ] = operands
                else {
                    return Err("a copy has two places and a number of bytes".to_owned());
                };
                let may = if opcode.contains(".cg.") { &[16][..] } else { &[4, 8, 16] };
                if !may.contains(bytes) {
                    return Err(format!("{bytes} bytes are not copied together"));
                }
                let there = there.first().map_or(Ok(*bytes), |there| self.value(there))?;
                let to = self.register(*to)?.wrapping_add_signed(*near);
                let from = self.register(*from)?.wrapping_add_signed(*far);
                let bytes = [*bytes, there].map(|bytes| bytes as usize);
                self.copies.push(memory.begin_copy(to, from, bytes, self.own)?);
            }
            ("cp.async.commit_group", []) => {}
            ("cp.async.wait_group", [Operand::Bits(0)]) => {
                for copy in self.copies.drain(..) {
                    memory.end_copy(copy, self.own)?;
                }
            }
            _ if opcode.starts_with("st.shared.") => {
                let (registers, address) = self.access(&operands[1], &operands[0])?;
                let bits = self.register(registers[0])?;
                memory.store_shared(address, bytes(opcode)?, bits, self.own)?;
            }
            _ if opcode.starts_with("st.global.") => self.store(memory, opcode, operands)?,
            ("mov.b32", [Operand::Vector(halves), Operand::Register(pair)]) => {
                let pair = self.register(*pair)?;
                self.registers[halves[0]] = Some(pair & 0xffff);
                self.registers[halves[1]] = Some(pair >> 16);
            }
            ("mov.b32", [Operand::Register(pair), Operand::Vector(halves)]) => {
                let [low, high] = [self.register(halves[0])?, self.register(halves[1])?];
                self.registers[*pair] = Some(low | high << 16);
            }
            (_, [Operand::Register(to), from @ ..]) => {
                let mut values = [0; MOST_OPERANDS];
                let values = values.get_mut(..from.len()).ok_or("it has too many operands")?;
                for (value, operand) in values.iter_mut().zip(from) {
                    *value = self.value(operand)?;
                }
                self.registers[*to] = Some(compute(opcode, values)?);
            }
            _ => return Err("it is none that is known here".to_owned()),
        }
        Ok(Next::GoesOn)
    }
}

/// The most values that an instruction takes.
const MOST_OPERANDS: usize = 4;

/// Where a thread goes on.
enum Next {
    GoesOn,
    Jumps(usize),
    /// At a barrier.
    Waits,
    Ends,
}

/// Bytes of one value, by the type at the end of an opcode.
fn bytes(opcode: &str) -> Result<usize, String> {
    match opcode.rsplit('.').next() {
        Some("b16") => Ok(2),
        Some("b32" | "f32" | "s32" | "u32") => Ok(4),
        Some("f64" | "u64") => Ok(8),
        _ => Err("its type is none that is known here".to_owned()),
    }
}

impl Thread<'_> {
    fn register(&self, register: usize) -> Result<u64, String> {
        self.registers[register]
            .ok_or_else(|| "it reads a register that nothing has written".to_owned())
    }

    fn value(&self, operand: &Operand) -> Result<u64, String> {
        Ok(match operand {
            Operand::Register(register) => self.register(*register)?,
            Operand::Bits(bits) => *bits,
            Operand::Parameter(place) => {
                *self.parameters.get(place / 8).ok_or("there is no such parameter")?
            }
            Operand::Block => u64::from(self.block),
            Operand::Thread => u64::from(self.own),
            Operand::Constants => CONSTANTS,
            other => return Err(format!("{other:?} has no value")),
        })
    }

    /// The registers of one value or several, and the address.
    fn access<'a>(
        &self,
        value: &'a Operand,
        place: &Operand,
    ) -> Result<(&'a [usize], u64), String> {
        let registers = match value {
            Operand::Register(register) => std::slice::from_ref(register),
            Operand::Vector(registers) => registers,
            other => return Err(format!("{other:?} is no register")),
        };
        let Operand::Memory(base, distance) = place else {
            return Err(format!("{place:?} is no place in memory"));
        };
        Ok((registers, self.register(*base)?.wrapping_add_signed(*distance)))
    }

    fn load(&mut self, memory: &Memory, opcode: &str, operands: &[Operand]) -> Result<(), String> {
        let [to, place] = operands else { return Err("a load has two operands".to_owned()) };
        let (registers, address) = self.access(to, place)?;
        let size = bytes(opcode)?;
        let loaded = memory.load(address, size * registers.len())?;
        for (register, value) in registers.iter().zip(loaded.chunks(size)) {
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(value);
            self.registers[*register] = Some(u64::from_le_bytes(bits));
        }
        Ok(())
    }

    fn store(
        &mut self,
        memory: &mut Memory,
        opcode: &str,
        operands: &[Operand],
    ) -> Result<(), String> {
        let [place, from] = operands else { return Err("a store has two operands".to_owned()) };
        let (registers, address) = self.access(from, place)?;
        let size = bytes(opcode)?;
        let mut stored = Vec::new();
        for register in registers {
            stored.extend_from_slice(&self.register(*register)?.to_le_bytes()[..size]);
        }
        memory.store(address, &stored)
    }
}

/// The bits of a result.
fn compute(opcode: &str, from: &[u64]) -> Result<u64, String> {
    let word = |index: usize| from[index] as u32;
    let single = |index: usize| f32::from_bits(word(index));
    let double = |index: usize| f64::from_bits(from[index]);
    let truth = u64::from;
    Ok(match opcode {
        "ld.param.u64" | "ld.param.f32" | "ld.param.f64" | "cvta.to.global.u64" | "cvt.u64.u32"
        | "cvt.u32.u16" => from[0],
        "mov.u32" | "mov.u64" | "mov.b32" | "mov.b64" | "mov.f32" | "mov.f64" => from[0],
        "cvt.u32.u64" => u64::from(word(0)),
        "add.u32" | "add.s32" => u64::from(word(0).wrapping_add(word(1))),
        "sub.u32" => u64::from(word(0).wrapping_sub(word(1))),
        "mul.lo.u32" => {
            u64::from(word(0).checked_mul(word(1)).ok_or("the product has more than 32 bits")?)
        }
        "mad.lo.u32" => u64::from(word(0).wrapping_mul(word(1)).wrapping_add(word(2))),
        "shr.u32" => u64::from(word(0).checked_shr(word(1)).unwrap_or(0)),
        "div.u32" => u64::from(word(0) / word(1)),
        "rem.u32" => u64::from(word(0) % word(1)),
        "min.u32" => u64::from(word(0).min(word(1))),
        "max.s32" => u64::from((word(0) as i32).max(word(1) as i32) as u32),
        "min.s32" => u64::from((word(0) as i32).min(word(1) as i32) as u32),
        "mul.wide.u32" => u64::from(word(0)) * u64::from(word(1)),
        "add.u64" | "add.s64" => from[0].wrapping_add(from[1]),
        "sub.s64" => from[0].wrapping_sub(from[1]),
        "mul.lo.u64" => from[0].wrapping_mul(from[1]),
        "mul.hi.u64" => ((u128::from(from[0]) * u128::from(from[1])) >> 64) as u64,
        "and.b32" | "and.b64" => from[0] & from[1],
        "or.b64" => from[0] | from[1],
        "xor.b32" => from[0] ^ from[1],
        // Shifts by more than there are bits leave none.
        "shl.b32" => u64::from(word(0).checked_shl(word(1)).unwrap_or(0)),
        "shr.s32" => u64::from(((word(0) as i32) >> word(1).min(31)) as u32),
        "shl.b64" => from[0].checked_shl(word(1)).unwrap_or(0),
        "shr.u64" => from[0].checked_shr(word(1)).unwrap_or(0),
        "shr.s64" => ((from[0] as i64) >> word(1).min(63)) as u64,
        "not.b32" => u64::from(!word(0)),
        "setp.lt.u32" => truth(word(0) < word(1)),
        "setp.lt.u64" => truth(from[0] < from[1]),
        "setp.ge.u32" => truth(word(0) >= word(1)),
        "setp.eq.u32" => truth(word(0) == word(1)),
        "setp.ne.u32" => truth(word(0) != word(1)),
        "setp.ge.s32" => truth(word(0) as i32 >= word(1) as i32),
        "setp.lt.s32" => truth((word(0) as i32) < word(1) as i32),
        "setp.lt.and.u32" => truth(word(0) < word(1)) & from[2],
        "setp.ge.and.u32" => truth(word(0) >= word(1)) & from[2],
        "setp.eq.and.u32" => truth(word(0) == word(1)) & from[2],
        "setp.lt.and.f32" => truth(single(0) < single(1)) & from[2],
        "setp.lt.and.f64" => truth(double(0) < double(1)) & from[2],
        "selp.u32" | "selp.s32" | "selp.u64" | "selp.f32" | "selp.f64" => {
            if from[2] != 0 {
                from[0]
            } else {
                from[1]
            }
        }
        "cvt.f32.f16" => u64::from(f16::from_bits(from[0] as u16).to_f32().to_bits()),
        "cvt.rn.f16.f32" => u64::from(f16::from_f32(single(0)).to_bits()),
        "cvt.rn.bf16.f32" => u64::from(bf16::from_f32(single(0)).to_bits()),
        "cvt.rn.f64.s32" => f64::from(word(0) as i32).to_bits(),
        "cvt.rn.f32.s32" => u64::from((word(0) as i32 as f32).to_bits()),
        "cvt.rn.f64.s64" => (from[0] as i64 as f64).to_bits(),
        "cvt.rn.f64.u64" => (from[0] as f64).to_bits(),
        // What is beyond the type becomes its first or its last number, and what is no number 0.
        "cvt.rzi.u32.f32" => u64::from(single(0) as u32),
        "cvt.rzi.u32.f64" => u64::from(double(0) as u32),
        "cvt.f64.f32" => f64::from(single(0)).to_bits(),
        "cvt.rn.f32.f64" => u64::from((double(0) as f32).to_bits()),
        _ => match opcode.strip_suffix(".f32") {
            Some(opcode) => {
                let values: Vec<f64> = (0..from.len()).map(|at| f64::from(single(at))).collect();
                match opcode {
                    "fma.rn" => u64::from(single(0).mul_add(single(1), single(2)).to_bits()),
                    _ if opcode.starts_with("setp.") => relation(opcode, &values)?,
                    // One operation in f64, rounded again to f32, is the operation in f32.
                    _ => u64::from((arithmetic(opcode, &values)? as f32).to_bits()),
                }
            }
            None => {
                let opcode = opcode.strip_suffix(".f64").ok_or("it is none that is known here")?;
                let values: Vec<f64> = (0..from.len()).map(double).collect();
                match opcode {
                    "fma.rn" => double(0).mul_add(double(1), double(2)).to_bits(),
                    _ if opcode.starts_with("setp.") => relation(opcode, &values)?,
                    _ => arithmetic(opcode, &values)?.to_bits(),
                }
            }
        },
    })
}

fn relation(opcode: &str, values: &[f64]) -> Result<u64, String> {
    let [a, b] = values else { return Err("a comparison has two operands".to_owned()) };
    Ok(u64::from(match opcode {
        "setp.lt" => a < b,
        "setp.le" => a <= b,
        "setp.gt" => a > b,
        "setp.eq" => a == b,
        // Also where one is not a number.
        "setp.neu" => a != b,
        _ => return Err("it is none that is known here".to_owned()),
    }))
}

fn arithmetic(opcode: &str, values: &[f64]) -> Result<f64, String> {
    Ok(match (opcode, values) {
        ("neg", [a]) => -a,
        ("abs", [a]) => a.abs(),
        ("sqrt.rn", [a]) => a.sqrt(),
        ("cvt.rmi.f32" | "cvt.rmi.f64", [a]) => a.floor(),
        ("add" | "add.rn", [a, b]) => a + b,
        ("sub" | "sub.rn", [a, b]) => a - b,
        ("mul" | "mul.rn", [a, b]) => a * b,
        ("div.rn", [a, b]) => a / b,
        ("min", [a, b]) => a.min(*b),
        ("max", [a, b]) => a.max(*b),
        ("copysign", [sign, a]) => a.copysign(*sign),
        _ => return Err("it is none that is known here".to_owned()),
    })
}
