// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that executes a kernel, on a machine that has the memory and the other threads.

mod accesses;
mod products;

use crate::compute::{ArithmeticOp, compute};
use crate::convert::convert;
use crate::machine::Machine;
use crate::module::{Function, Module, Op, OperandSource, Slot, Space};
use crate::scalar::{carried, holds, overflows, pair_half, word};
use crate::types::truncated;
use products::Products;

/// Where shared memory is among generic addresses.
pub const SHARED: u64 = 1 << 58;

/// Where a thread's local memory is among generic addresses.
pub const LOCAL: u64 = 1 << 59;

/// Instructions between two questions whether a thread may go on.
const STRIDE: u64 = 256;

/// The most functions that wait for others to return.
const MOST_CALLS: usize = 1 << 10;

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

/// The memory of a thread that has ended. A kernel may have thousands of registers before an assembler joins them, and blocks have
/// hundreds of threads, so that blocks take over that of those before them.
#[derive(Clone, Default)]
pub struct ThreadMemory {
    registers: Vec<u64>,
    written: Vec<bool>,
}

/// The execution of a kernel by one thread.
pub struct Thread<'a> {
    module: &'a Module,
    frames: Vec<Frame<'a>>,
    /// Where the registers of the last of them begin.
    first: usize,
    registers: Vec<u64>,
    parameters: Vec<u8>,
    local: Vec<u8>,
    carry: bool,
    /// Which registers have been written, if that is asked for.
    written: Option<Vec<bool>>,
    /// Whether one was read that has not.
    is_unwritten: bool,
    /// Where the last instruction is in its function.
    last: (usize, &'a Function),
    /// Once it has issued asynchronous products.
    products: Option<Box<Products>>,
}

impl<'a> Thread<'a> {
    /// One at the start of a kernel with these parameters, as [`Module::parameters`] has them.
    pub fn new(module: &'a Module, kernel: usize, parameters: &[u8]) -> Self {
        let registers = vec![0; module.functions[kernel].registers];
        Self::with(registers, module, kernel, parameters)
    }

    fn with(registers: Vec<u64>, module: &'a Module, kernel: usize, parameters: &[u8]) -> Self {
        let function = &module.functions[kernel];
        let mut all = parameters.to_vec();
        all.resize(function.parameter_bytes.max(all.len()), 0);
        let frame =
            Frame { function, next: 0, registers: 0, parameters: 0, local: 0, result: None };
        Self {
            module,
            frames: vec![frame],
            first: 0,
            registers,
            parameters: all,
            local: vec![0; function.local_bytes],
            carry: false,
            written: None,
            is_unwritten: false,
            last: (0, function),
            products: None,
        }
    }

    /// As [`Self::new`], in the memory of a thread that has ended, and reports the first read of a register that nothing has
    /// written. What a compiler made may have such reads, of values that do not matter.
    pub fn strict(memory: ThreadMemory, module: &'a Module, parameters: &[u8]) -> Self {
        let ThreadMemory { mut registers, mut written } = memory;
        let count = module.functions[0].registers;
        // Nobody reads what was left in them.
        registers.resize(count, 0);
        written.clear();
        written.resize(count, false);
        Self { written: Some(written), ..Self::with(registers, module, 0, parameters) }
    }

    /// What another thread may use.
    pub fn into_memory(self) -> ThreadMemory {
        ThreadMemory { registers: self.registers, written: self.written.unwrap_or_default() }
    }

    /// The instruction that was executed last, as it is written.
    #[must_use]
    pub fn instruction(&self) -> &str {
        let (at, function) = self.last;
        function.texts.get(at).map_or("", |text| text)
    }

    /// Runs to the end, then it is true, or to where the machine waits for others.
    ///
    /// # Errors
    /// The first mistake, as the machine tells it.
    pub fn run<M: Machine>(&mut self, machine: &mut M) -> Result<bool, M::Fault> {
        let mut left = self.stride();
        loop {
            let frame = self.frames.last_mut().expect("one until the end");
            let (at, function) = (frame.next, frame.function);
            let Some(instruction) = function.code.get(at) else {
                if self.leave() {
                    return Ok(true);
                }
                continue;
            };
            frame.next = at + 1;
            self.last = (at, function);
            if let Some((register, wanted)) = instruction.guard
                && (self.read(register) & 1 != 0) != wanted
            {
                continue;
            }
            left -= 1;
            if left == 0 {
                left = self.stride();
                machine.at(instruction.line);
                machine.count(left)?;
                if self.watch(machine, &instruction.op, instruction.line)? {
                    continue;
                }
            }
            match &instruction.op {
                Op::Compute { what, ty, mode, to, from } => {
                    let operands = self.values(machine, from);
                    if self.written.is_some() && overflows(*what, *ty, operands) {
                        return Err(machine.overflow());
                    }
                    let value = compute(*what, *ty, *mode, operands);
                    self.set(*to, value);
                }
                Op::Jump(target) => self.frames.last_mut().expect("this one").next = *target,
                Op::Return => {
                    if self.leave() {
                        return Ok(true);
                    }
                }
                Op::Exit => return Ok(true),
                op => {
                    self.step(machine, op, instruction.line)?;
                    match op {
                        Op::Other { .. } if machine.waits() => return Ok(false),
                        Op::Product(_) => left = 1,
                        _ => {}
                    }
                }
            }
            if self.is_unwritten {
                machine.at(instruction.line);
                return Err(machine.unwritten_register());
            }
        }
    }

    /// Instructions until the next that is looked at: once there are products, each one.
    fn stride(&self) -> u64 {
        if self.products.is_some() { 1 } else { STRIDE }
    }

    fn frame(&self) -> &Frame<'a> {
        self.frames.last().expect("one until the end")
    }

    #[inline]
    fn set(&mut self, register: u32, value: u64) {
        let at = self.first + register as usize;
        self.registers[at] = value;
        if let Some(written) = &mut self.written {
            written[at] = true;
        }
    }

    /// The value of a register that an instruction reads.
    #[inline]
    fn read(&mut self, register: u32) -> u64 {
        let at = self.first + register as usize;
        if let Some(written) = &self.written {
            self.is_unwritten |= !written[at];
        }
        self.registers[at]
    }

    /// The values of three operands. Most are of registers and constants, which are read here.
    #[inline]
    fn values<M: Machine>(&mut self, machine: &mut M, from: &[OperandSource; 3]) -> [u64; 3] {
        let mut values = [0; 3];
        for (value, from) in values.iter_mut().zip(from) {
            *value = match *from {
                OperandSource::Register(register) => self.read(register),
                OperandSource::Bits(bits) => bits,
                other => self.value(machine, other),
            };
        }
        values
    }

    fn set_if(&mut self, register: Option<u32>, value: u64) {
        if let Some(register) = register {
            self.set(register, value);
        }
    }

    fn lists<M: Machine>(&mut self, machine: &mut M, from: &[Vec<OperandSource>]) -> Vec<Vec<u64>> {
        let mut lists = Vec::with_capacity(from.len());
        for list in from {
            lists.push(list.iter().map(|it| self.value(machine, *it)).collect());
        }
        lists
    }

    fn value<M: Machine>(&mut self, machine: &mut M, source: OperandSource) -> u64 {
        match source {
            OperandSource::Register(register) => self.read(register),
            OperandSource::Not(register) => !self.read(register) & 1,
            OperandSource::Bits(bits) => bits,
            OperandSource::Special(register) => machine.special(register),
            OperandSource::Local(at) => self.frame().local as u64 + u64::from(at),
            OperandSource::Global(number, distance) => {
                machine.global(number).wrapping_add_signed(distance)
            }
            OperandSource::Shared(number, distance) => {
                machine.shared(number).wrapping_add_signed(distance)
            }
        }
    }

    /// Returns from a function; whether it is the kernel.
    fn leave(&mut self) -> bool {
        let frame = self.frames.pop().expect("one until the end");
        let Some(caller) = self.frames.last() else { return true };
        self.first = caller.registers;
        if let (Some(to), Some(from)) = (frame.result, frame.function.results.first()) {
            let from = frame.parameters + from.start;
            let count = to.bytes.min(frame.function.results[0].bytes);
            self.parameters.copy_within(from..from + count, caller.parameters + to.start);
        }
        self.registers.truncate(frame.registers);
        self.parameters.truncate(frame.parameters);
        self.local.truncate(frame.local);
        if let Some(products) = &mut self.products {
            products.truncate(frame.registers);
        }
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
        if let Some(written) = &mut self.written {
            written.truncate(frame.registers);
            written.resize(frame.registers + function.registers, false);
        }
        self.parameters.resize(frame.parameters + function.parameter_bytes, 0);
        self.local.resize(frame.local + function.local_bytes, 0);
        for (from, to) in arguments.iter().zip(&function.parameters) {
            let (start, count) = (caller + from.start, from.bytes.min(to.bytes));
            self.parameters.copy_within(start..start + count, frame.parameters + to.start);
        }
        self.first = frame.registers;
        self.frames.push(frame);
    }

    fn step<M: Machine>(&mut self, machine: &mut M, op: &Op, line: u32) -> Result<(), M::Fault> {
        match op {
            Op::Compare { relation, ty, joined, to, opposite, from, is_true, flushes } => {
                let [a, b] = from.map(|it| self.value(machine, it));
                let holds = holds(*relation, *ty, *flushes, a, b);
                let (mut holds, mut not) = (holds, !holds);
                if let Some((what, with)) = joined {
                    let with = self.value(machine, *with) & 1 != 0;
                    let join = |one: bool| match what {
                        ArithmeticOp::And => one & with,
                        ArithmeticOp::Or => one | with,
                        _ => one ^ with,
                    };
                    (holds, not) = (join(holds), join(not));
                }
                self.set_if(*to, if holds { *is_true } else { 0 });
                self.set_if(*opposite, u64::from(not));
            }
            Op::Convert { how, to, from } => {
                let value = convert(*how, self.value(machine, *from));
                self.set(*to, value);
            }
            Op::ConvertPair { how, to, from } => {
                let [high, low] = from.map(|it| {
                    let value = self.value(machine, it);
                    pair_half(how, value)
                });
                self.set(*to, high << 16 | low);
            }
            Op::Pack { to, from, bits } => {
                let mut word = 0;
                for (at, from) in from.iter().enumerate() {
                    word |= truncated(self.value(machine, *from), *bits) << (at as u32 * bits);
                }
                self.set(*to, word);
            }
            Op::Unpack { to, from, bits } => {
                let word = self.value(machine, *from);
                for (at, to) in to.iter().enumerate() {
                    self.set_if(*to, truncated(word >> (at as u32 * bits), *bits));
                }
            }
            Op::Carry { what, ty, takes, gives, to, from } => {
                let operands = self.values(machine, from);
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
                    let value = self.value(machine, *from).to_le_bytes();
                    let start = at + number * bytes;
                    self.parameters[start..start + bytes].copy_from_slice(&value[..*bytes]);
                }
            }
            Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } => {
                machine.at(line);
                self.access(machine, op)?;
            }
            Op::Fence(order, scope) => {
                machine.at(line);
                machine.fence(*order, *scope)?;
            }
            Op::ToGeneric { space, to, from } => {
                let value = self.value(machine, *from);
                self.set(*to, value + base(*space));
            }
            Op::FromGeneric { space, to, from } => {
                let value = self.value(machine, *from).wrapping_sub(base(*space));
                self.set(*to, value);
            }
            Op::IsSpace { space, to, from } => {
                let found = space_of(self.value(machine, *from));
                self.set(*to, u64::from(found == *space));
            }
            Op::JumpIndexed { index, targets } => {
                let index = truncated(self.value(machine, *index), 32) as usize;
                match targets.get(index) {
                    Some(target) => self.frames.last_mut().expect("this one").next = *target,
                    None => {
                        machine.at(line);
                        return Err(machine.unknown("brx.idx beyond its list"));
                    }
                }
            }
            Op::Call { function, arguments, result } => {
                if self.frames.len() == MOST_CALLS {
                    machine.at(line);
                    return Err(machine.unknown("call: too many calls have not returned"));
                }
                self.call(*function, arguments, *result);
            }
            Op::CallExternal { name, arguments } if name == "vprintf" => {
                machine.at(line);
                self.print(machine, arguments)?;
            }
            Op::CallExternal { name, .. } => {
                machine.at(line);
                return Err(machine.unknown(&format!("call of {name}")));
            }
            Op::Trap => {
                machine.at(line);
                return Err(machine.trap());
            }
            Op::Other { opcode, to, from } => {
                let operands = self.lists(machine, from);
                machine.at(line);
                let results = machine.other(opcode, &operands, to.len())?;
                for (to, value) in to.iter().zip(results) {
                    self.set_if(*to, value);
                }
                self.order_products(machine, opcode);
            }
            Op::Product(product) => {
                let operands = self.lists(machine, &product.from);
                machine.at(line);
                self.issue(machine, product, &operands)?;
            }
            Op::Nothing => {}
            Op::Unknown(text) => {
                machine.at(line);
                return Err(machine.unknown(text));
            }
            Op::Compute { .. } | Op::Jump(_) | Op::Return | Op::Exit => {
                unreachable!("executed before")
            }
        }
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
