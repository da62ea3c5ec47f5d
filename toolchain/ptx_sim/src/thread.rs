// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that executes a kernel, on a machine that has the memory and the other threads.

use crate::compute::{What, compute};
use crate::convert::convert;
use crate::module::{
    Access, Address, Function, Module, Op, Order, Relation, Slot, Source, Space, Special, Update,
};
use crate::types::{Ty, extended, truncated};
use std::cmp::Ordering;

/// Where shared memory is among generic addresses.
pub const SHARED: u64 = 1 << 58;

/// Where a thread's local memory is among generic addresses.
pub const LOCAL: u64 = 1 << 59;

/// Instructions between two questions whether a thread may go on.
const STRIDE: u64 = 256;

/// The most functions that wait for others to return.
const MOST_CALLS: usize = 1 << 10;

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
    fn fence(&mut self, order: Order) -> Result<(), Self::Fault>;

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

    /// Prints a text.
    fn print(&mut self, text: &str);

    /// So many instructions have been executed.
    fn count(&mut self, instructions: u64) -> Result<(), Self::Fault>;

    /// The fault of an instruction that nobody knows.
    fn unknown(&mut self, instruction: &str) -> Self::Fault;

    /// The fault of `trap`.
    fn trap(&mut self) -> Self::Fault;

    /// The fault of an access past a thread's own memory.
    fn beyond_local(&mut self, at: u64, bytes: usize, size: usize) -> Self::Fault;
}

/// A function on its way.
struct Frame<'a> {
    function: &'a Function,
    next: usize,
    /// Where its registers, parameters and local memory begin.
    registers: usize,
    parameters: usize,
    local: usize,
    /// Where what it returns goes.
    result: Option<Slot>,
}

/// The execution of a kernel by one thread.
pub struct Thread<'a, M> {
    module: &'a Module,
    machine: &'a mut M,
    frames: Vec<Frame<'a>>,
    registers: Vec<u64>,
    parameters: Vec<u8>,
    local: Vec<u8>,
    carry: bool,
}

impl<'a, M: Machine> Thread<'a, M> {
    /// One at the start of a kernel with these parameters, as [`Module::parameters`] has them.
    pub fn new(module: &'a Module, kernel: usize, parameters: &[u8], machine: &'a mut M) -> Self {
        let function = &module.functions[kernel];
        let mut all = parameters.to_vec();
        all.resize(function.parameter_bytes.max(all.len()), 0);
        let frame = Frame { function, next: 0, registers: 0, parameters: 0, local: 0, result: None };
        Self {
            module,
            machine,
            frames: vec![frame],
            registers: vec![0; function.registers],
            parameters: all,
            local: vec![0; function.local_bytes],
            carry: false,
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The first mistake, as the machine tells it.
    pub fn run(&mut self) -> Result<(), M::Fault> {
        let mut left = STRIDE;
        loop {
            let frame = self.frames.last_mut().expect("one until the end");
            let Some(instruction) = frame.function.code.get(frame.next) else {
                if self.leave() {
                    return Ok(());
                }
                continue;
            };
            frame.next += 1;
            left -= 1;
            if left == 0 {
                left = STRIDE;
                self.machine.at(instruction.line);
                self.machine.count(STRIDE)?;
            }
            if let Some((register, wanted)) = instruction.guard
                && (self.register(register) & 1 != 0) != wanted
            {
                continue;
            }
            match &instruction.op {
                Op::Compute { what, ty, mode, to, from } => {
                    let value = compute(*what, *ty, *mode, from.map(|it| self.value(it)));
                    self.set(*to, value);
                }
                Op::Jump(target) => self.frames.last_mut().expect("this one").next = *target,
                Op::Return => {
                    if self.leave() {
                        return Ok(());
                    }
                }
                Op::Exit => return Ok(()),
                op => self.step(op, instruction.line)?,
            }
        }
    }

    fn frame(&self) -> &Frame<'a> {
        self.frames.last().expect("one until the end")
    }

    fn register(&self, register: u32) -> u64 {
        self.registers[self.frame().registers + register as usize]
    }

    fn set(&mut self, register: u32, value: u64) {
        let at = self.frame().registers + register as usize;
        self.registers[at] = value;
    }

    fn set_if(&mut self, register: Option<u32>, value: u64) {
        if let Some(register) = register {
            self.set(register, value);
        }
    }

    fn value(&mut self, source: Source) -> u64 {
        match source {
            Source::Register(register) => self.register(register),
            Source::Not(register) => !self.register(register) & 1,
            Source::Bits(bits) => bits,
            Source::Special(register) => self.machine.special(register),
            Source::Local(at) => self.frame().local as u64 + u64::from(at),
            Source::Global(number, distance) => {
                self.machine.global(number).wrapping_add_signed(distance)
            }
            Source::Shared(number, distance) => {
                self.machine.shared(number).wrapping_add_signed(distance)
            }
        }
    }

    /// Returns from a function; whether it is the kernel.
    fn leave(&mut self) -> bool {
        let frame = self.frames.pop().expect("one until the end");
        let Some(caller) = self.frames.last() else { return true };
        if let (Some(to), Some(from)) = (frame.result, frame.function.results.first()) {
            let from = frame.parameters + from.start;
            let count = to.bytes.min(frame.function.results[0].bytes);
            self.parameters.copy_within(from..from + count, caller.parameters + to.start);
        }
        self.registers.truncate(frame.registers);
        self.parameters.truncate(frame.parameters);
        self.local.truncate(frame.local);
        false
    }

    fn call(&mut self, function: usize, arguments: &[Slot], result: Option<Slot>) {
        let function = &self.module.functions[function];
        let caller = self.frame().parameters;
        let frame = Frame {
            function,
            next: 0,
            registers: self.registers.len(),
            parameters: self.parameters.len().next_multiple_of(16),
            // Apart from the caller's, so that what leaves one is in none.
            local: (self.local.len() + 64).next_multiple_of(64),
            result,
        };
        self.registers.resize(frame.registers + function.registers, 0);
        self.parameters.resize(frame.parameters + function.parameter_bytes, 0);
        self.local.resize(frame.local + function.local_bytes, 0);
        for (from, to) in arguments.iter().zip(&function.parameters) {
            let (start, count) = (caller + from.start, from.bytes.min(to.bytes));
            self.parameters.copy_within(start..start + count, frame.parameters + to.start);
        }
        self.frames.push(frame);
    }

    fn step(&mut self, op: &Op, line: u32) -> Result<(), M::Fault> {
        match op {
            Op::Compare { relation, ty, joined, to, opposite, from, is_true, flushes } => {
                let [a, b] = from.map(|it| self.value(it));
                let holds = holds(*relation, *ty, *flushes, a, b);
                let (mut holds, mut not) = (holds, !holds);
                if let Some((what, with)) = joined {
                    let with = self.value(*with) & 1 != 0;
                    let join = |one: bool| match what {
                        What::And => one & with,
                        What::Or => one | with,
                        _ => one ^ with,
                    };
                    (holds, not) = (join(holds), join(not));
                }
                self.set_if(*to, if holds { *is_true } else { 0 });
                self.set_if(*opposite, u64::from(not));
            }
            Op::Convert { how, to, from } => {
                let value = convert(*how, self.value(*from));
                self.set(*to, value);
            }
            Op::ConvertPair { how, to, from } => {
                let [high, low] = from.map(|it| {
                    let value = self.value(it);
                    pair_half(how, value)
                });
                self.set(*to, high << 16 | low);
            }
            Op::Pack { to, from, bits } => {
                let mut word = 0;
                for (at, from) in from.iter().enumerate() {
                    word |= truncated(self.value(*from), *bits) << (at as u32 * bits);
                }
                self.set(*to, word);
            }
            Op::Unpack { to, from, bits } => {
                let word = self.value(*from);
                for (at, to) in to.iter().enumerate() {
                    self.set_if(*to, truncated(word >> (at as u32 * bits), *bits));
                }
            }
            Op::Carry { what, ty, takes, gives, to, from } => {
                let operands = from.map(|it| self.value(it));
                let carry = *takes && self.carry;
                let (value, carry) = carried(*what, *ty, operands, carry);
                self.carry = if *gives { carry } else { self.carry };
                self.set(*to, value);
            }
            Op::LoadParameter { bytes, signed, to, at } => {
                let at = self.frame().parameters + at;
                for (number, to) in to.iter().enumerate() {
                    let start = at + number * bytes;
                    let value = word(&self.parameters[start..start + bytes], *signed);
                    self.set_if(*to, value);
                }
            }
            Op::StoreParameter { bytes, from, at } => {
                let at = self.frame().parameters + at;
                for (number, from) in from.iter().enumerate() {
                    let value = self.value(*from).to_le_bytes();
                    let start = at + number * bytes;
                    self.parameters[start..start + bytes].copy_from_slice(&value[..*bytes]);
                }
            }
            Op::Load { access, bytes, signed, to, address } => {
                let at = self.address(access.space, *address);
                let mut all = [0; 64];
                let all = &mut all[..bytes * to.len()];
                self.machine.at(line);
                self.load(*access, at, all)?;
                for (to, part) in to.iter().zip(all.chunks(*bytes)) {
                    self.set_if(*to, word(part, *signed));
                }
            }
            Op::Store { access, bytes, from, address } => {
                let at = self.address(access.space, *address);
                let mut all = [0; 64];
                let all = &mut all[..bytes * from.len()];
                for (from, part) in from.iter().zip(all.chunks_mut(*bytes)) {
                    part.copy_from_slice(&self.value(*from).to_le_bytes()[..*bytes]);
                }
                self.machine.at(line);
                match self.local(access.space, at, all.len())? {
                    Some(start) => self.local[start..start + all.len()].copy_from_slice(all),
                    None => self.machine.store(*access, at, all)?,
                }
            }
            Op::Atomic { access, update, ty, to, address, from } => {
                let at = self.address(access.space, *address);
                let operands = from.map(|it| self.value(it));
                let new = |before: u64| updated(*update, *ty, before, operands);
                self.machine.at(line);
                let before = match self.local(access.space, at, ty.bytes())? {
                    Some(start) => {
                        let place = &mut self.local[start..start + ty.bytes()];
                        let before = word(place, false);
                        if let Some(new) = new(before) {
                            place.copy_from_slice(&new.to_le_bytes()[..ty.bytes()]);
                        }
                        before
                    }
                    None => self.machine.update(*access, at, ty.bytes(), &new)?,
                };
                self.set_if(*to, before);
            }
            Op::Fence(order) => {
                self.machine.at(line);
                self.machine.fence(*order)?;
            }
            Op::ToGeneric { space, to, from } => {
                let value = self.value(*from);
                self.set(*to, value + base(*space));
            }
            Op::FromGeneric { space, to, from } => {
                let value = self.value(*from).wrapping_sub(base(*space));
                self.set(*to, value);
            }
            Op::IsSpace { space, to, from } => {
                let found = space_of(self.value(*from));
                self.set(*to, u64::from(found == *space));
            }
            Op::JumpIndexed { index, targets } => {
                let index = truncated(self.value(*index), 32) as usize;
                match targets.get(index) {
                    Some(target) => self.frames.last_mut().expect("this one").next = *target,
                    None => {
                        self.machine.at(line);
                        return Err(self.machine.unknown("brx.idx beyond its list"));
                    }
                }
            }
            Op::Call { function, arguments, result } => {
                if self.frames.len() == MOST_CALLS {
                    self.machine.at(line);
                    return Err(self.machine.unknown("call: too many calls have not returned"));
                }
                self.call(*function, arguments, *result);
            }
            Op::CallExternal { name, arguments } if name == "vprintf" => {
                self.machine.at(line);
                self.print(arguments)?;
            }
            Op::CallExternal { name, .. } => {
                self.machine.at(line);
                return Err(self.machine.unknown(&format!("call of {name}")));
            }
            Op::Trap => {
                self.machine.at(line);
                return Err(self.machine.trap());
            }
            Op::Other { opcode, to, from } => {
                let mut operands = Vec::with_capacity(from.len());
                for list in from {
                    operands.push(list.iter().map(|it| self.value(*it)).collect::<Vec<_>>());
                }
                self.machine.at(line);
                let results = self.machine.other(opcode, &operands, to.len())?;
                for (to, value) in to.iter().zip(results) {
                    self.set_if(*to, value);
                }
            }
            Op::Nothing => {}
            Op::Unknown(text) => {
                self.machine.at(line);
                return Err(self.machine.unknown(text));
            }
            Op::Compute { .. } | Op::Jump(_) | Op::Return | Op::Exit => {
                unreachable!("executed before")
            }
        }
        Ok(())
    }

    /// An address of a space; that of shared memory is one of 32 bits.
    fn address(&mut self, space: Space, Address { base, distance }: Address) -> u64 {
        let at = self.value(base).wrapping_add_signed(distance);
        match space {
            Space::Shared => truncated(at, 32),
            _ => at,
        }
    }

    fn load(&mut self, access: Access, at: u64, to: &mut [u8]) -> Result<(), M::Fault> {
        match self.local(access.space, at, to.len())? {
            Some(start) => to.copy_from_slice(&self.local[start..start + to.len()]),
            None => self.machine.load(access, at, to)?,
        }
        Ok(())
    }

    /// Where in the thread's own memory an address is, if it is there.
    fn local(&mut self, space: Space, at: u64, bytes: usize) -> Result<Option<usize>, M::Fault> {
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
        Err(self.machine.beyond_local(at, bytes, size))
    }

    /// `vprintf` of a text, as `cuda_std` calls it.
    fn print(&mut self, arguments: &[Slot]) -> Result<(), M::Fault> {
        let from = self.frame().parameters;
        let argument = |at: usize| arguments.get(at).map_or(0, |slot| from + slot.start);
        let list = word(&self.parameters[argument(1)..][..8], false);
        let access = Access {
            space: Space::Generic,
            order: Order::Weak,
            is_constant: false,
            lets_others: false,
        };
        let mut text = [0; 8];
        self.load(access, list, &mut text)?;
        let (mut at, mut all) = (u64::from_le_bytes(text), Vec::new());
        loop {
            let mut byte = [0];
            self.load(access, at, &mut byte)?;
            if byte[0] == 0 {
                break;
            }
            all.push(byte[0]);
            at += 1;
        }
        self.machine.print(&String::from_utf8_lossy(&all));
        Ok(())
    }
}

/// Where a space begins among generic addresses.
fn base(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        _ => 0,
    }
}

/// The space of a generic address.
pub fn space_of(address: u64) -> Space {
    // Distances may lead some way out of a window.
    match address.wrapping_add(1 << 57) >> 58 {
        1 => Space::Shared,
        2 => Space::Local,
        _ => Space::Global,
    }
}

fn word(bytes: &[u8], signed: bool) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(all);
    let bits = 8 * bytes.len() as u32;
    // As a register of 32 bits has it, or one of 64.
    match signed {
        true => truncated(extended(word, bits) as u64, bits.max(32)),
        false => word,
    }
}

fn holds(relation: Relation, ty: Ty, flushes: bool, a: u64, b: u64) -> bool {
    let order = if ty.is_float() {
        let value = |bits| {
            let value = crate::convert::to_float(ty, bits);
            let tiny = flushes && value.abs() < f64::from(f32::MIN_POSITIVE);
            if tiny { 0.0 } else { value }
        };
        match value(a).partial_cmp(&value(b)) {
            Some(order) => order,
            None => return relation.unordered,
        }
    } else {
        ty.integer(a).cmp(&ty.integer(b))
    };
    match order {
        Ordering::Less => relation.less,
        Ordering::Equal => relation.equal,
        Ordering::Greater => relation.greater,
    }
}

fn updated(update: Update, ty: Ty, before: u64, [a, b]: [u64; 2]) -> Option<u64> {
    let (a, b) = (ty.truncated(a), ty.truncated(b));
    Some(match update {
        Update::Compute(what) => compute(what, ty, Default::default(), [before, a, 0]),
        Update::Exchange => a,
        Update::CompareExchange if before == a => b,
        Update::CompareExchange => return None,
        Update::Increment if before >= a => 0,
        Update::Increment => before + 1,
        Update::Decrement if before == 0 || before > a => a,
        Update::Decrement => before - 1,
    })
}

fn carried(what: What, ty: Ty, [a, b, c]: [u64; 3], carry: bool) -> (u64, bool) {
    let value = |bits: u64| u128::from(ty.truncated(bits));
    let carry = u128::from(carry);
    let (low, high) = match what {
        What::Sub => {
            let all = value(a).wrapping_sub(value(b)).wrapping_sub(carry);
            (all as u64, all >> ty.bits & 1)
        }
        What::Add => {
            let all = value(a) + value(b) + carry;
            (all as u64, all >> ty.bits)
        }
        what => {
            let product = value(a) * value(b);
            let part = match what {
                What::MadLow => value(product as u64),
                _ => product >> ty.bits,
            };
            let all = part + value(c) + carry;
            (all as u64, all >> ty.bits)
        }
    };
    (ty.truncated(low), high != 0)
}

fn pair_half(how: &crate::convert::Conversion, value: u64) -> u64 {
    let bits = convert(crate::convert::Conversion { saturates: false, ..*how }, value);
    // Instead of infinite, as large as it can be.
    let is_infinite = crate::convert::to_float(how.to, bits).is_infinite();
    if how.saturates && is_infinite { bits - 1 } else { bits }
}

