// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions as bytes: the few general ones of a loop, and those on vectors of 256 bits, with a VEX prefix of three bytes
//! (Intel's Software Developer's Manual, volume 2, section 2.3.5).

/// A general register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct General(pub u8);

/// Bytes from the first point of a row on: the index of every address in a row.
pub const RAX: General = General(0);
/// The fourth argument.
pub const RCX: General = General(1);
/// The third argument.
pub const RDX: General = General(2);
/// The second argument.
pub const RSI: General = General(6);
/// The first argument.
pub const RDI: General = General(7);
/// The fifth argument.
pub const R8: General = General(8);
/// The sixth argument.
pub const R9: General = General(9);
/// Registers that a function may change.
pub const FREE: [General; 2] = [General(10), General(11)];
/// Registers that a function leaves as they were: rbx, rbp, r12 to r15.
pub const KEPT: [General; 6] =
    [General(3), General(5), General(12), General(13), General(14), General(15)];

/// A vector register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector(pub u8);

/// The last operand of an instruction on vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorOperand {
    /// A register.
    Register(Vector),
    /// Memory so many bytes behind an address.
    At(General, i32),
    /// Memory so many bytes behind an address and [`RAX`].
    InRow(General, i32),
}

/// An instruction on vectors: which bytes stand for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The table that the opcode is of: 1 for 0F, 2 for 0F38, 3 for 0F3A.
    pub table: u8,
    /// The prefix that the instruction had before VEX: 0 none, 1 for 66.
    pub prefix: u8,
    /// The bit W.
    pub wide: bool,
    /// The opcode.
    pub code: u8,
}

/// The condition of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum JumpCondition {
    /// The last comparison found at least as much, without signs.
    NotBelow = 0x83,
    /// The last test found zero.
    Zero = 0x84,
}

/// A place in the code that is jumped to before it is known.
#[must_use]
pub struct ForwardJump(usize);

/// Machine code.
#[derive(Default)]
pub struct Code {
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Code {
    /// An instruction on vectors: of one register, one that is `None` where the instruction has none, and a place.
    pub fn vector(
        &mut self,
        it: Operation,
        to: Vector,
        first: Option<Vector>,
        last: VectorOperand,
    ) {
        let (index, base) = match last {
            VectorOperand::Register(Vector(it)) => (0, it),
            VectorOperand::At(General(it), _) | VectorOperand::InRow(General(it), _) => (0, it),
        };
        let inverted = |number: u8, bit: u8| if number < 8 { bit } else { 0 };
        let first = first.map_or(0, |Vector(it)| it);
        let extended = inverted(to.0, 0x80) | inverted(index, 0x40) | inverted(base, 0x20);
        let wide = u8::from(it.wide) << 7;
        self.bytes.extend([0xc4, extended | it.table, wide | (!first & 15) << 3 | 4 | it.prefix]);
        self.bytes.push(it.code);
        self.operand(to.0, last);
    }

    /// The bytes of operands: ModRM, and those of an address.
    fn operand(&mut self, to: u8, last: VectorOperand) {
        let to = (to & 7) << 3;
        let mut memory = |General(base): General, index: u8, bytes: i32| {
            self.bytes.extend([0x84 | to, index << 3 | base & 7]);
            self.bytes.extend(bytes.to_le_bytes());
        };
        match last {
            VectorOperand::Register(Vector(it)) => self.bytes.push(0xc0 | to | it & 7),
            // 4 stands for no index.
            VectorOperand::At(base, bytes) => memory(base, 4, bytes),
            VectorOperand::InRow(base, bytes) => memory(base, RAX.0, bytes),
        }
    }

    /// A byte that belongs to the last instruction.
    pub fn immediate(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Loads 64 bits from memory so many bytes behind an address.
    pub fn load(&mut self, to: General, base: General, bytes: i32) {
        let high = |General(it): General, bit: u8| if it < 8 { 0 } else { bit };
        self.bytes.extend([0x48 | high(to, 4) | high(base, 1), 0x8b]);
        self.operand(to.0, VectorOperand::At(base, bytes));
    }

    /// Sets a register to so many bytes behind an address.
    pub fn address(&mut self, to: General, base: General, bytes: i32) {
        let high = |General(it): General, bit: u8| if it < 8 { 0 } else { bit };
        self.bytes.extend([0x48 | high(to, 4) | high(base, 1), 0x8d]);
        self.operand(to.0, VectorOperand::At(base, bytes));
    }

    /// Sets one of the first eight registers to a number.
    pub fn set(&mut self, General(to): General, number: u64) {
        debug_assert!(to < 8);
        self.bytes.extend([0x48, 0xb8 | to]);
        self.bytes.extend(number.to_le_bytes());
    }

    /// Calls what [`RAX`] is the address of.
    pub fn call(&mut self) {
        self.bytes.extend([0xff, 0xd0]);
    }

    /// Clears the upper halves of vector registers, as code without VEX wants them.
    pub fn clear_upper(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77]);
    }

    /// Asks for the line of memory at a place of the row.
    pub fn prefetch(&mut self, base: General, bytes: i32) {
        self.prefetch_line(0x18, base, bytes);
    }

    /// Asks for the line of memory at a place of the row, to write there.
    pub fn prefetch_for_write(&mut self, base: General, bytes: i32) {
        self.prefetch_line(0x0d, base, bytes);
    }

    fn prefetch_line(&mut self, code: u8, General(base): General, bytes: i32) {
        if base >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.extend([0x0f, code]);
        self.operand(1, VectorOperand::InRow(General(base), bytes));
    }

    /// Waits until what was written past the caches is in memory, before whatever is written next.
    pub fn fence(&mut self) {
        self.bytes.extend([0x0f, 0xae, 0xf8]);
    }

    /// Keeps a register on the stack.
    pub fn push(&mut self, General(it): General) {
        if it >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(0x50 | it & 7);
    }

    /// Takes a register back from the stack.
    pub fn pop(&mut self, General(it): General) {
        if it >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(0x58 | it & 7);
    }

    /// Sets [`RAX`] to 0.
    pub fn clear_index(&mut self) {
        self.bytes.extend([0x31, 0xc0]);
    }

    /// Adds to [`RAX`].
    pub fn advance(&mut self, bytes: i32) {
        self.bytes.extend([0x48, 0x05]);
        self.bytes.extend(bytes.to_le_bytes());
    }

    /// Compares [`RAX`] with one of the first eight registers.
    pub fn compare_index(&mut self, General(other): General) {
        debug_assert!(other < 8);
        self.bytes.extend([0x48, 0x39, 0xc0 | other << 3]);
    }

    /// Tests [`R9`] for zero.
    pub fn test_last_argument(&mut self) {
        self.bytes.extend([0x4d, 0x85, 0xc9]);
    }

    /// A jump to a place that comes later.
    pub fn jump(&mut self, when: JumpCondition) -> ForwardJump {
        self.bytes.extend([0x0f, when as u8, 0, 0, 0, 0]);
        ForwardJump(self.bytes.len())
    }

    /// The place that is jumped to.
    pub fn bind(&mut self, ForwardJump(from): ForwardJump) {
        let bytes = (self.bytes.len() - from) as i32;
        self.bytes[from - 4..from].copy_from_slice(&bytes.to_le_bytes());
    }

    /// Jumps back to a place.
    pub fn jump_back(&mut self, to: usize) {
        self.bytes.push(0xe9);
        let bytes = to as i64 - (self.bytes.len() + 4) as i64;
        self.bytes.extend((bytes as i32).to_le_bytes());
    }

    /// Ends the function.
    pub fn finish(&mut self) {
        self.clear_upper();
        self.bytes.push(0xc3);
    }
}
