// SPDX-License-Identifier: MIT OR Apache-2.0
//! The function of a row.
//!
//! ```text
//! rdi  addresses of the inputs' first values, then the outputs'      rax   bytes from the row's first point on
//! rsi  bytes of the row that whole blocks take                       rbx, rbp, r12 to r15    addresses that are used most
//! rdx  bytes that whole vectors take                                 r10, r11                other addresses
//! rcx  shared numbers and constants, a vector each                   ymm0 to ymm3            the values of a block
//! r8   slots, a block each                                           ymm4, ymm5              what is needed in between
//! r9   which values the last vector has, or 0 if there is none       ymm6 to ymm15           numbers that are used most
//! ```

use std::collections::BTreeMap;

use super::encoding::{
    Code, FREE, General, JumpCondition, KEPT, Operation, R8, R9, RAX, RCX, RDI, RDX, RSI, Vector,
    VectorOperand,
};
use super::instruction::{Binary, BlockFunction, FloatType, Instruction, InstructionInput, Unary};
use super::{Program, VECTOR, VECTORS};

const ALL: u8 = VECTORS as u8;
const TEMPORARY: Vector = Vector(ALL);
const OTHER: Vector = Vector(ALL + 1);
/// The first register with a number that all points share.
const NUMBERS: u8 = ALL + 2;
/// Vector registers.
const REGISTERS: u8 = 16;
/// Bytes of a line of the cache.
const LINE: usize = 64;

const LOAD: Operation = Operation { table: 1, prefix: 0, wide: false, code: 0x10 };
const STORE: Operation = Operation { table: 1, prefix: 0, wide: false, code: 0x11 };
/// A store that goes to memory past the caches, where a vector may lie.
const STREAM: Operation = Operation { table: 1, prefix: 0, wide: false, code: 0x2b };
/// Bytes ahead of a block in which memory is asked for, at most.
const FURTHEST_AHEAD: usize = 512;
/// And at least: those of a block.
const NEAREST_AHEAD: usize = VECTORS * VECTOR;
/// Bytes of the first-level cache that hold what was asked for: one thread's part of them, if two share a core.
const ASKED: usize = 12 << 10;

/// Machine code of a program, and the constants that it takes.
pub struct Emitted<T> {
    /// The code.
    pub code: Vec<u8>,
    /// The constants, after the numbers that all points share.
    pub constants: Vec<T>,
}

/// The function of a program, unless something lies too far away for an instruction; one that streams writes its outputs past
/// the caches.
pub fn emit<T: FloatType>(program: &Program<T>, streams: bool) -> Option<Emitted<T>> {
    let mut emitter = Emitter {
        program,
        streams,
        code: Code::default(),
        constants: Vec::new(),
        numbers: BTreeMap::new(),
        addresses: BTreeMap::new(),
        loaded: [None; 2],
        turn: 0,
        vectors: VECTORS,
        is_last: false,
        in_place: BTreeMap::new(),
    };
    emitter.far_enough()?;
    emitter.choose();
    emitter.function();
    Some(Emitted { code: emitter.code.bytes, constants: emitter.constants })
}

struct Emitter<'a, T> {
    program: &'a Program<T>,
    /// Whether outputs are written past the caches.
    streams: bool,
    code: Code,
    constants: Vec<T>,
    /// Which shared numbers, or constants after them, are in registers.
    numbers: BTreeMap<usize, Vector>,
    /// Which addresses are in registers: inputs, then outputs.
    addresses: BTreeMap<usize, General>,
    /// Which other ones were loaded last.
    loaded: [Option<usize>; 2],
    /// Which of these was asked for last: an instruction may use it with another one.
    turn: usize,
    /// Vectors of the block that is written.
    vectors: usize,
    /// Whether only a part of it belongs to the row.
    is_last: bool,
    /// Slots whose values an output still has: they are taken from there.
    in_place: BTreeMap<usize, usize>,
}

impl<T: FloatType> Emitter<'_, T> {
    /// That places lie within 31 bits.
    fn far_enough(&self) -> Option<()> {
        let furthest = self.program.furthest().into_iter().max().unwrap_or_default();
        let bytes = furthest.checked_mul(size_of::<T>())?.checked_add(1 << 16)?;
        i32::try_from(bytes).ok()?;
        i32::try_from(self.program.all_slots().checked_mul(VECTORS * VECTOR)?).ok().map(drop)
    }

    /// The number of a constant among all numbers of the table.
    fn constant(&mut self, value: T) -> usize {
        let same = |it: &T| bytemuck::bytes_of(it) == bytemuck::bytes_of(&value);
        let found = self.constants.iter().position(same);
        let number = found.unwrap_or_else(|| {
            self.constants.push(value);
            self.constants.len() - 1
        });
        self.program.shared + number
    }

    /// Chooses which numbers and addresses are in registers: those that are used most.
    fn choose(&mut self) {
        let (mut numbers, mut addresses) = (BTreeMap::new(), BTreeMap::new());
        let mut count = |source: &InstructionInput| match *source {
            InstructionInput::Shared(number) => *numbers.entry(number).or_insert(0) += 1,
            InstructionInput::Input { number, .. } => *addresses.entry(number).or_insert(0) += 1,
            InstructionInput::Slot(_) => (),
        };
        let program = self.program;
        for instruction in &program.instructions {
            instruction.sources().iter().for_each(&mut count);
        }
        for instruction in &program.instructions {
            match instruction {
                Instruction::Sum(taps) => {
                    for (_, weight) in taps {
                        *numbers.entry(self.constant(*weight)).or_insert(0) += 1;
                    }
                }
                Instruction::Old(output) | Instruction::Write(output) => {
                    *addresses.entry(program.inputs + output).or_insert(0) += 1;
                }
                _ => (),
            }
        }
        let registers = (NUMBERS..REGISTERS).map(Vector);
        self.numbers = most(numbers).into_iter().zip(registers).collect();
        self.addresses = most(addresses).into_iter().zip(KEPT).collect();
    }

    fn function(&mut self) {
        KEPT.into_iter().for_each(|it| self.code.push(it));
        for (number, register) in self.addresses.clone() {
            self.code.load(register, RDI, 8 * number as i32);
        }
        self.numbers();
        self.code.clear_index();
        for (vectors, end) in [(VECTORS, RSI), (1, RDX)] {
            let start = self.code.bytes.len();
            self.code.compare_index(end);
            let done = self.code.jump(JumpCondition::NotBelow);
            self.block(vectors, false);
            self.code.advance((vectors * VECTOR) as i32);
            self.code.jump_back(start);
            self.code.bind(done);
        }
        self.code.test_last_argument();
        let done = self.code.jump(JumpCondition::Zero);
        self.block(1, true);
        self.code.bind(done);
        KEPT.into_iter().rev().for_each(|it| self.code.pop(it));
        if self.streams {
            self.code.fence();
        }
        self.code.finish();
    }

    fn block(&mut self, vectors: usize, is_last: bool) {
        (self.vectors, self.is_last, self.loaded) = (vectors, is_last, [None; 2]);
        let program = self.program;
        if vectors == VECTORS {
            let written: Vec<usize> =
                (0..program.outputs).filter(|output| !self.is_streamed(*output)).collect();
            let ahead = ahead(program.ahead.len() + written.len());
            for &(input, place) in &program.ahead {
                let base = self.address(input);
                for line in (0..VECTORS * VECTOR).step_by(LINE) {
                    let bytes = place * size_of::<T>() + ahead + line;
                    self.code.prefetch(base, bytes as i32);
                }
            }
            for output in written {
                let base = self.address(program.inputs + output);
                for line in (0..VECTORS * VECTOR).step_by(LINE) {
                    self.code.prefetch_for_write(base, (ahead + line) as i32);
                }
            }
        }
        self.in_place.clear();
        let mut instructions = program.instructions.iter().enumerate();
        while let Some((number, it)) = instructions.next() {
            if let Some((slot, output)) = self.stays(number) {
                self.in_place.insert(slot, output);
                // What would store it in the slot.
                instructions.next();
                continue;
            }
            if let Instruction::Store(slot) = it {
                self.in_place.remove(slot);
            }
            self.instruction(it);
        }
    }

    /// Of an instruction that takes what an output holds to store it in a slot, both, if the output holds it as long as the slot
    /// is used. Of a part of a vector the output has no whole one.
    fn stays(&self, number: usize) -> Option<(usize, usize)> {
        let [Instruction::Old(output), Instruction::Store(slot), next, ..] =
            &self.program.instructions[number..]
        else {
            return None;
        };
        // What begins anew does not take it from the registers.
        let begins = matches!(
            next,
            Instruction::Load(_)
                | Instruction::Old(_)
                | Instruction::Product(..)
                | Instruction::Sum(_)
        );
        let mut is_written = false;
        for later in &self.program.instructions[number + 2..] {
            if is_written && later.sources().contains(&InstructionInput::Slot(*slot)) {
                return None;
            }
            match later {
                Instruction::Store(other) if other == slot => break,
                Instruction::Write(other) if other == output => is_written = true,
                _ => (),
            }
        }
        (begins && !self.is_last).then_some((*slot, *output))
    }

    fn instruction(&mut self, it: &Instruction<T>) {
        match it {
            Instruction::Load(source) => self.each(|own, number, value| {
                let place = own.place(*source, number);
                own.move_from(value, place);
            }),
            Instruction::Old(output) => self.old(*output),
            Instruction::Product(a, b) => self.each(|own, number, value| {
                let first = own.place(*a, number);
                own.move_from(value, first);
                let second = own.place(*b, number);
                own.on(own.float(0x59), value, value, second);
            }),
            Instruction::Sum(taps) => self.sum(taps),
            Instruction::Binary(operation, other) => self.each(|own, number, value| {
                let other = own.place(*other, number);
                own.binary(*operation, value, value, other);
            }),
            Instruction::Reversed(operation, other) => self.each(|own, number, value| {
                let other = own.place(*other, number);
                own.move_from(TEMPORARY, other);
                own.binary(*operation, value, TEMPORARY, VectorOperand::Register(value));
            }),
            Instruction::Unary(operation) => self.unary(*operation),
            Instruction::AddProduct(a, b) => self.product(0xb8, *a, *b),
            Instruction::SubtractProduct(a, b) => self.product(0xbc, *a, *b),
            Instruction::SubtractFromProduct(a, b) => self.product(0xba, *a, *b),
            Instruction::Select(place, others) => self.select(*place, *others),
            Instruction::Call(function, others) => self.call(*function, others),
            Instruction::Store(slot) => self.each(|own, number, value| {
                let place = own.place(InstructionInput::Slot(*slot), number);
                own.code.vector(STORE, value, None, place);
            }),
            Instruction::Write(output) => self.write(*output),
        }
    }

    /// Does something for each vector of the block.
    fn each(&mut self, mut f: impl FnMut(&mut Self, usize, Vector)) {
        (0..self.vectors).for_each(|number| f(self, number, Vector(number as u8)));
    }

    /// The register with an address.
    fn address(&mut self, number: usize) -> General {
        if let Some(register) = self.addresses.get(&number) {
            return *register;
        }
        if let Some(place) = self.loaded.iter().position(|it| *it == Some(number)) {
            self.turn = place;
            return FREE[place];
        }
        self.turn = 1 - self.turn;
        self.loaded[self.turn] = Some(number);
        self.code.load(FREE[self.turn], RDI, 8 * number as i32);
        FREE[self.turn]
    }

    /// Where a vector of a source is.
    fn place(&mut self, source: InstructionInput, vector: usize) -> VectorOperand {
        match source {
            InstructionInput::Input { number, place } => {
                let bytes = place * size_of::<T>() + vector * VECTOR;
                VectorOperand::InRow(self.address(number), bytes as i32)
            }
            InstructionInput::Slot(slot) => match self.in_place.get(&slot) {
                Some(output) => {
                    let address = self.address(self.program.inputs + output);
                    VectorOperand::InRow(address, (vector * VECTOR) as i32)
                }
                None => VectorOperand::At(R8, ((slot * VECTORS + vector) * VECTOR) as i32),
            },
            InstructionInput::Shared(number) => self.number(number),
        }
    }

    /// Where a shared number or a constant is.
    fn number(&self, number: usize) -> VectorOperand {
        self.numbers.get(&number).map_or(in_table(number), |it| VectorOperand::Register(*it))
    }

    fn move_from(&mut self, to: Vector, from: VectorOperand) {
        self.code.vector(LOAD, to, None, from);
    }

    fn on(&mut self, operation: Operation, to: Vector, first: Vector, last: VectorOperand) {
        self.code.vector(operation, to, Some(first), last);
    }

    /// One of the operations on f32 that with a prefix are those on f64.
    fn float(&self, code: u8) -> Operation {
        Operation { table: 1, prefix: u8::from(T::IS_DOUBLE), wide: false, code }
    }

    /// One of the fused multiply-adds.
    fn fused(&self, code: u8) -> Operation {
        Operation { table: 2, prefix: 1, wide: T::IS_DOUBLE, code }
    }

    fn binary(&mut self, operation: Binary, to: Vector, first: Vector, last: VectorOperand) {
        let (code, comparison) = match operation {
            Binary::Add => (0x58, None),
            Binary::Subtract => (0x5c, None),
            Binary::Multiply => (0x59, None),
            Binary::Divide => (0x5e, None),
            Binary::Min => (0x5d, None),
            Binary::Max => (0x5f, None),
            Binary::Less => (0xc2, Some(0x11)),
            Binary::LessEqual => (0xc2, Some(0x12)),
            Binary::Equal => (0xc2, Some(0)),
        };
        self.on(self.float(code), to, first, last);
        if let Some(comparison) = comparison {
            self.code.immediate(comparison);
            let one = self.constant(T::ONE);
            self.on(self.float(0x54), to, to, self.number(one));
        }
    }

    fn sum(&mut self, taps: &[(InstructionInput, T)]) {
        self.each(|own, _, value| {
            own.on(own.float(0x57), value, value, VectorOperand::Register(value));
        });
        for (source, weight) in taps {
            let weight = self.constant(*weight);
            let weight = match self.number(weight) {
                VectorOperand::Register(register) => register,
                memory => {
                    self.move_from(TEMPORARY, memory);
                    TEMPORARY
                }
            };
            self.each(|own, number, value| {
                let place = own.place(*source, number);
                own.on(own.fused(0xb8), value, weight, place);
            });
        }
    }

    /// A fused multiply-add with a product of two sources.
    fn product(&mut self, code: u8, a: InstructionInput, b: InstructionInput) {
        self.each(|own, number, value| {
            let factor = match own.place(a, number) {
                VectorOperand::Register(register) => register,
                memory => {
                    own.move_from(TEMPORARY, memory);
                    TEMPORARY
                }
            };
            let place = own.place(b, number);
            own.on(own.fused(code), value, factor, place);
        });
    }

    fn unary(&mut self, operation: Unary) {
        let constant = |own: &mut Self, value: T| {
            let number = own.constant(value);
            own.number(number)
        };
        match operation {
            Unary::Negate => {
                let sign = constant(self, T::SIGN);
                self.each(|own, _, value| own.on(own.float(0x57), value, value, sign));
            }
            Unary::Abs => {
                let magnitude = constant(self, T::MAGNITUDE);
                self.each(|own, _, value| own.on(own.float(0x54), value, value, magnitude));
            }
            Unary::Sqrt => self.each(|own, _, value| {
                own.code.vector(own.float(0x51), value, None, VectorOperand::Register(value));
            }),
            Unary::Floor => self.each(|own, _, value| {
                let code = 8 + u8::from(T::IS_DOUBLE);
                let floor = Operation { table: 3, prefix: 1, wide: false, code };
                own.code.vector(floor, value, None, VectorOperand::Register(value));
                // Down, without a flag that it was no whole number.
                own.code.immediate(9);
            }),
            Unary::Not => {
                let one = constant(self, T::ONE);
                self.each(|own, _, value| {
                    own.move_from(TEMPORARY, one);
                    own.on(own.float(0x5c), value, TEMPORARY, VectorOperand::Register(value));
                });
            }
            Unary::Power(power) => self.each(|own, _, value| own.power(power, value)),
        }
    }

    /// By squaring.
    fn power(&mut self, power: i32, value: Vector) {
        let (square, mut rest, mut is_first) = (TEMPORARY, power.unsigned_abs(), true);
        self.move_from(square, VectorOperand::Register(value));
        while rest > 0 {
            if rest % 2 == 1 {
                match is_first {
                    true => self.move_from(value, VectorOperand::Register(square)),
                    false => {
                        self.on(self.float(0x59), value, value, VectorOperand::Register(square))
                    }
                }
                is_first = false;
            }
            rest /= 2;
            if rest > 0 {
                self.on(self.float(0x59), square, square, VectorOperand::Register(square));
            }
        }
        if power < 0 {
            let one = self.constant(T::ONE);
            self.move_from(TEMPORARY, self.number(one));
            self.on(self.float(0x5e), value, TEMPORARY, VectorOperand::Register(value));
        }
    }

    /// Of a condition, what it becomes where it holds, and else.
    fn select(&mut self, own_place: usize, others: [InstructionInput; 2]) {
        let zero = self.constant(bytemuck::Zeroable::zeroed());
        let blend = 0x4a + u8::from(T::IS_DOUBLE);
        let blend = Operation { table: 3, prefix: 1, wide: false, code: blend };
        self.each(|own, number, value| {
            let condition = match own_place {
                0 => value,
                _ => {
                    let condition = own.place(others[0], number);
                    own.move_from(TEMPORARY, condition);
                    TEMPORARY
                }
            };
            // Not equal, or not comparable.
            own.on(own.float(0xc2), TEMPORARY, condition, own.number(zero));
            own.code.immediate(4);
            let (yes, no) = match own_place {
                0 => (own.place(others[0], number), others[1]),
                1 => (VectorOperand::Register(value), others[1]),
                _ => (own.place(others[1], number), others[0]),
            };
            let no = match own_place {
                2 => value,
                _ => {
                    let place = own.place(no, number);
                    own.move_from(OTHER, place);
                    OTHER
                }
            };
            own.on(blend, value, no, yes);
            own.code.immediate(TEMPORARY.0 << 4);
        });
    }

    /// Calls a function with the block and others, which are in the slots behind the program's.
    fn call(&mut self, function: BlockFunction<T>, others: &[InstructionInput]) {
        let own = self.program.slots;
        let slot = |number: usize, vector: usize| {
            VectorOperand::At(R8, (((own + number) * VECTORS + vector) * VECTOR) as i32)
        };
        self.each(|own, vector, value| own.code.vector(STORE, value, None, slot(0, vector)));
        for (number, other) in others.iter().enumerate() {
            self.each(|own, vector, _| {
                let place = own.place(*other, vector);
                own.move_from(TEMPORARY, place);
                own.code.vector(STORE, TEMPORARY, None, slot(1 + number, vector));
            });
        }
        // Seven registers: together with those that the function keeps, the stack then ends where a call wants it.
        let changed = [RAX, RDI, RSI, RDX, RCX, R8, R9];
        changed.into_iter().for_each(|it| self.code.push(it));
        let values = self.vectors * T::LANES;
        self.code.set(RDI, function as *const () as u64);
        self.code.address(RSI, R8, (own * VECTORS * VECTOR) as i32);
        self.code.set(RDX, values as u64);
        self.code.set(RAX, super::called::<T> as *const () as u64);
        self.code.clear_upper();
        self.code.call();
        changed.into_iter().rev().for_each(|it| self.code.pop(it));
        self.loaded = [None; 2];
        self.numbers();
        self.each(|own, vector, value| own.move_from(value, slot(0, vector)));
    }

    /// Loads the numbers that registers have.
    fn numbers(&mut self) {
        for (number, register) in self.numbers.clone() {
            self.code.vector(LOAD, register, None, in_table(number));
        }
    }

    fn old(&mut self, output: usize) {
        let address = self.address(self.program.inputs + output);
        match self.is_last {
            true => {
                self.mask();
                let at = VectorOperand::InRow(address, 0);
                self.on(self.masked(0x2c), Vector(0), TEMPORARY, at);
            }
            false => self.each(|own, number, value| {
                own.move_from(value, VectorOperand::InRow(address, (number * VECTOR) as i32));
            }),
        }
    }

    fn write(&mut self, output: usize) {
        let address = self.address(self.program.inputs + output);
        match self.is_last {
            true => {
                self.mask();
                let at = VectorOperand::InRow(address, 0);
                self.on(self.masked(0x2e), Vector(0), TEMPORARY, at);
            }
            false => {
                let store = if self.is_streamed(output) { STREAM } else { STORE };
                self.each(|own, number, value| {
                    let at = VectorOperand::InRow(address, (number * VECTOR) as i32);
                    own.code.vector(store, value, None, at);
                });
            }
        }
    }

    /// Whether an output is written past the caches: what is read of it before would be in them.
    fn is_streamed(&self, output: usize) -> bool {
        self.streams && !self.program.reads_old(output)
    }

    fn mask(&mut self) {
        self.move_from(TEMPORARY, VectorOperand::At(R9, 0));
    }

    /// A load or a store of a part of a vector.
    fn masked(&self, code: u8) -> Operation {
        Operation { table: 2, prefix: 1, wide: false, code: code + u8::from(T::IS_DOUBLE) }
    }
}

/// Bytes ahead of a block in which memory is asked for, of so many arrays.
fn ahead(arrays: usize) -> usize {
    let fitting = (ASKED / arrays.max(1)).saturating_sub(NEAREST_AHEAD) / LINE * LINE;
    fitting.clamp(NEAREST_AHEAD, FURTHEST_AHEAD)
}

/// Where a number of the table is.
fn in_table(number: usize) -> VectorOperand {
    VectorOperand::At(RCX, (number * VECTOR) as i32)
}

/// Numbers, those with the largest counts first.
fn most(counts: BTreeMap<usize, usize>) -> Vec<usize> {
    let mut numbers: Vec<(usize, usize)> = counts.into_iter().collect();
    numbers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    numbers.into_iter().map(|(number, _)| number).collect()
}
