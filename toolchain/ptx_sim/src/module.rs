// SPDX-License-Identifier: MIT OR Apache-2.0
//! A module that was read: its functions, in instructions that are ready to be executed, and its variables.

use crate::compute::{ArithmeticOp, OperationMode};
use crate::convert::Conversion;
use crate::lines::SourceLine;
use crate::types::PtxType;
use std::collections::HashMap;

/// PTX that was read.
#[derive(Debug, Default)]
pub struct Module {
    pub(crate) functions: Vec<Function>,
    pub(crate) names: HashMap<String, usize>,
    /// Variables of global and constant memory.
    pub globals: Vec<Variable>,
    /// Static variables of shared memory.
    pub shared: Vec<Variable>,
    /// Paths of source files by their numbers.
    pub(crate) files: HashMap<u32, String>,
    /// Different lines; instructions name them by their index.
    pub(crate) lines: Vec<SourceLine>,
}

impl Module {
    /// The number of a kernel.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied().filter(|it| self.functions[*it].is_entry)
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().filter(|it| it.is_entry).map(|it| it.name.as_str())
    }

    /// The size of each parameter of a kernel, and where it begins.
    #[must_use]
    pub fn parameters(&self, kernel: usize) -> &[Slot] {
        &self.functions[kernel].parameters
    }

    /// How many lines instructions have.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// The file, line and column that a number stands for; nothing where the module has no lines.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<(&str, u32, u32)> {
        let SourceLine { file, line, column } = *self.lines.get(number as usize)?;
        Some((self.files.get(&file)?, line, column))
    }
}

/// A variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its symbol.
    pub name: String,
    /// What its address is a multiple of.
    pub alignment: usize,
    /// What it holds at first.
    pub bytes: Vec<u8>,
    /// Where it holds addresses of others: the place and the global variable's number.
    pub addresses: Vec<(usize, usize)>,
    /// Whether it has as many bytes as the launch says.
    pub is_dynamic: bool,
    /// Whether nothing writes it.
    pub is_constant: bool,
}

/// Where a parameter lies among others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Its first byte.
    pub start: usize,
    /// Its bytes.
    pub bytes: usize,
}

/// A function of a module.
#[derive(Debug, Default)]
pub struct Function {
    pub name: String,
    pub is_entry: bool,
    pub parameters: Vec<Slot>,
    pub results: Vec<Slot>,
    /// Bytes of parameters, its own and those of calls, and of what it and they return.
    pub parameter_bytes: usize,
    pub registers: usize,
    /// Bytes of local memory.
    pub local_bytes: usize,
    pub code: Vec<Instruction>,
    /// The instructions, as they are written.
    pub texts: Vec<Box<str>>,
}

/// An instruction of a function.
#[derive(Debug)]
pub struct Instruction {
    /// The predicate, and what it must be.
    pub guard: Option<(u32, bool)>,
    pub op: Op,
    /// The number of its line.
    pub line: u32,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperandSource {
    Register(u32),
    /// A predicate's opposite.
    Not(u32),
    Bits(u64),
    /// The address of a variable in global memory, and a distance.
    Global(u32, i64),
    /// The address of a variable in shared memory, and a distance.
    Shared(u32, i64),
    /// A place in the function's local memory.
    Local(u32),
    Special(Special),
}

/// A register that hardware sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `%tid`, in one of three dimensions.
    Thread(u8),
    /// `%ctaid`
    Block(u8),
    /// `%ntid`
    Threads(u8),
    /// `%nctaid`
    Blocks(u8),
    /// `%laneid`
    Lane,
    /// `%warpid`
    Warp,
    /// `%lanemask_lt` and its kin: lanes whose numbers are less, equal or greater.
    LaneMask(bool, bool, bool),
    /// `%clock64` and others that go on.
    Clock,
    /// `%dynamic_smem_size`
    DynamicShared,
}

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Any of them, as the address says.
    Generic,
    /// The memory of buffers.
    Global,
    /// The shared memory of a block.
    Shared,
    /// The memory of a thread.
    Local,
    /// The memory of constants.
    Constant,
}

/// The order that an access to memory keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOrder {
    /// Nothing: an ordinary access.
    Weak,
    /// Nothing, but others may access the word in the same way.
    Relaxed,
    /// What comes after it.
    Acquire,
    /// What comes before it.
    Release,
    /// Both.
    AcquireRelease,
}

/// Among which threads an access is one after the other, and orders something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of a block (`.cta`).
    Block,
    /// The threads of a GPU (`.gpu`).
    Device,
    /// The threads of all GPUs, and the host's (`.sys`).
    System,
}

/// How an instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which memory.
    pub space: Space,
    /// What it orders.
    pub order: MemoryOrder,
    /// For which threads, unless it is an ordinary access.
    pub scope: Scope,
    /// Whether nothing writes there while the kernel runs (`ld.global.nc`).
    pub is_constant: bool,
    /// Whether it is a `volatile` one or atomic one, in a loop of which others must come on.
    pub lets_others: bool,
    /// Bytes of one value, of which there may be several.
    pub element: usize,
}

/// An address: a base and a distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    pub base: OperandSource,
    pub distance: i64,
}

/// What an atomic instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Compute(ArithmeticOp),
    Exchange,
    CompareExchange,
    /// Up to a value, then 0.
    Increment,
    /// Down to 0, then to a value.
    Decrement,
}

/// Relations of `setp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    pub less: bool,
    pub equal: bool,
    pub greater: bool,
    /// Also where one is not a number.
    pub unordered: bool,
}

/// `wgmma.mma_async`.
#[derive(Debug)]
pub struct AsyncProduct {
    pub opcode: String,
    /// The registers of its sums.
    pub sums: Vec<u32>,
    /// Its other operands.
    pub from: Vec<Vec<OperandSource>>,
    /// The registers of A, unless it is in shared memory.
    pub a: Vec<u32>,
    /// The register of metadata, of a sparse product.
    pub metadata: Option<u32>,
}

/// An operation.
#[derive(Debug)]
pub enum Op {
    Compute {
        what: ArithmeticOp,
        ty: PtxType,
        mode: OperationMode,
        to: u32,
        from: [OperandSource; 3],
    },
    Compare {
        relation: Relation,
        ty: PtxType,
        flushes: bool,
        /// How the result is joined with a predicate.
        joined: Option<(ArithmeticOp, OperandSource)>,
        to: Option<u32>,
        /// Where the opposite goes.
        opposite: Option<u32>,
        from: [OperandSource; 2],
        /// What true is.
        is_true: u64,
    },
    Convert {
        how: Conversion,
        to: u32,
        from: OperandSource,
    },
    /// Two halves of a word, rounded, the upper one first.
    ConvertPair {
        how: Conversion,
        to: u32,
        from: [OperandSource; 2],
    },
    /// Several registers as one.
    Pack {
        to: u32,
        from: Vec<OperandSource>,
        bits: u32,
    },
    Unpack {
        to: Vec<Option<u32>>,
        from: OperandSource,
        bits: u32,
    },
    /// A sum or difference with carries.
    Carry {
        what: ArithmeticOp,
        ty: PtxType,
        takes: bool,
        gives: bool,
        to: u32,
        from: [OperandSource; 3],
    },
    Load {
        access: Access,
        bytes: usize,
        signed: bool,
        to: Vec<Option<u32>>,
        address: Address,
    },
    Store {
        access: Access,
        bytes: usize,
        from: Vec<OperandSource>,
        address: Address,
    },
    LoadParameter {
        bytes: usize,
        signed: bool,
        to: Vec<Option<u32>>,
        at: usize,
    },
    StoreParameter {
        bytes: usize,
        from: Vec<OperandSource>,
        at: usize,
    },
    Atomic {
        access: Access,
        update: Update,
        ty: PtxType,
        to: Option<u32>,
        address: Address,
        from: [OperandSource; 2],
    },
    Fence(MemoryOrder, Scope),
    ToGeneric {
        space: Space,
        to: u32,
        from: OperandSource,
    },
    FromGeneric {
        space: Space,
        to: u32,
        from: OperandSource,
    },
    IsSpace {
        space: Space,
        to: u32,
        from: OperandSource,
    },
    Jump(usize),
    JumpIndexed {
        index: OperandSource,
        targets: Vec<usize>,
    },
    Call {
        function: usize,
        arguments: Vec<Slot>,
        result: Option<Slot>,
    },
    /// A function of the driver's.
    CallExternal {
        name: String,
        arguments: Vec<Slot>,
    },
    Return,
    Exit,
    Trap,
    /// What the machine knows: its opcode, registers that it sets, and operands.
    Other {
        opcode: String,
        to: Vec<Option<u32>>,
        from: Vec<Vec<OperandSource>>,
    },
    /// Apart, since it is large.
    Product(Box<AsyncProduct>),
    Nothing,
    /// An instruction that is not known, as it is written.
    Unknown(String),
}
