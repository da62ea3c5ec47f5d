// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code that a program writes for the processor that it runs on: functions that compute rows of points, vector by
//! vector, with what they read and write checked before each call.
//!
//! A [`Program`] is a list of instructions on one value, which a register holds; the code has it for the points of four
//! vectors at once. Every point gets what the instructions say, in their order, wherever in a row it lies.
//!
//! ```
//! use x86_writer::{Binary, Instruction, InstructionInput, InputRows, OutputRows, Program, RowFunction};
//!
//! // The mean of two neighbours, and a number that all points share.
//! let input = |place| InstructionInput::Input { number: 0, place };
//! let program = Program {
//!     inputs: 1,
//!     outputs: 1,
//!     slots: 0,
//!     shared: 1,
//!     ahead: vec![],
//!     streams: false,
//!     instructions: vec![
//!         Instruction::Sum(vec![(input(0), 0.5f32), (input(1), 0.5)]),
//!         Instruction::Binary(Binary::Add, InstructionInput::Shared(0)),
//!         Instruction::Write(0),
//!     ],
//! };
//! // None on processors of other kinds, or without AVX2.
//! if let Some(row) = RowFunction::new(program) {
//!     let input: Vec<f32> = (0..32).map(|x| x as f32).collect();
//!     let mut means = [0.0; 11];
//!     let mut room = row.room(&[100.0]);
//!     let inputs = [InputRows { values: &input, pitch: 32 }];
//!     let mut outputs = [OutputRows { values: &mut means, pitch: 11 }];
//!     // One row of eleven points.
//!     row.compute(&mut room, [1, 11], &inputs, &mut outputs);
//!     assert_eq!(means[..3], [100.5, 101.5, 102.5]);
//! }
//! ```

#![allow(unsafe_code, reason = "calls what it has written")]

use memmap2::{Mmap, MmapMut};

mod emit;
mod encoding;
mod instruction;

#[cfg(test)]
mod tests;

pub use instruction::{Binary, BlockFunction, FloatType, Instruction, InstructionInput, Unary};

/// Bytes of a vector.
const VECTOR: usize = 32;
/// Vectors of a block.
const VECTORS: usize = 4;

/// What a row's points are computed by.
#[derive(Clone, Debug)]
pub struct Program<T> {
    /// How many rows are read.
    pub inputs: usize,
    /// How many are written.
    pub outputs: usize,
    /// How many values a point may store.
    pub slots: usize,
    /// How many numbers all points share.
    pub shared: usize,
    /// Inputs, with places in them, whose memory is asked for before it is needed.
    pub ahead: Vec<(usize, usize)>,
    /// Whether outputs are written past the caches, but for those whose old values are taken and for rows that do not
    /// begin where a vector may lie: worth it where caches would drop them before they are read again.
    pub streams: bool,
    /// What is computed.
    pub instructions: Vec<Instruction<T>>,
}

impl<T> Program<T> {
    /// Slots with those of calls: a value and two others.
    fn all_slots(&self) -> usize {
        let calls = |it: &Instruction<T>| matches!(it, Instruction::Call(..));
        self.slots + if self.instructions.iter().any(calls) { 3 } else { 0 }
    }

    /// Whether old values of an output are taken.
    fn reads_old(&self, output: usize) -> bool {
        let is_old = |it: &Instruction<T>| matches!(it, Instruction::Old(old) if *old == output);
        self.instructions.iter().any(is_old)
    }

    /// Of each input the furthest place that is read.
    fn furthest(&self) -> Vec<usize> {
        let mut furthest = vec![0; self.inputs];
        let sources = self.instructions.iter().flat_map(Instruction::sources);
        for source in sources {
            if let InstructionInput::Input { number, place } = source {
                furthest[number] = furthest[number].max(place);
            }
        }
        furthest
    }

    /// Checks that only what there is has a number.
    fn check(&self) {
        for instruction in &self.instructions {
            for source in instruction.sources() {
                let is_known = match source {
                    InstructionInput::Input { number, .. } => number < self.inputs,
                    InstructionInput::Slot(number) => number < self.slots,
                    InstructionInput::Shared(number) => number < self.shared,
                };
                assert!(is_known, "{source:?} in a program that has not so many");
            }
            let is_known = match *instruction {
                Instruction::Store(number) => number < self.slots,
                Instruction::Old(number) | Instruction::Write(number) => number < self.outputs,
                Instruction::Select(place, _) => place < 3,
                Instruction::Call(_, ref others) => others.len() <= 2,
                _ => true,
            };
            assert!(is_known, "an instruction names what the program does not have");
        }
        assert!(self.ahead.iter().all(|(number, _)| *number < self.inputs));
    }
}

/// Rows of values that are read.
#[derive(Clone, Copy)]
pub struct InputRows<'a, T> {
    /// From the first value of the first row on.
    pub values: &'a [T],
    /// Values from the beginning of a row to that of the next one.
    pub pitch: usize,
}

/// Rows of values that are written.
pub struct OutputRows<'a, T> {
    /// From the first value of the first row on.
    pub values: &'a mut [T],
    /// Values from the beginning of a row to that of the next one.
    pub pitch: usize,
}

impl<'a, T> InputRows<'a, T> {
    /// From a row on, and from a value of each row on.
    ///
    /// # Panics
    /// If they end before it.
    #[must_use]
    pub fn from(&self, [row, column]: [usize; 2]) -> Self {
        Self { values: &self.values[row * self.pitch + column..], ..*self }
    }
}

impl<T> OutputRows<'_, T> {
    /// From a row on, and from a value of each row on.
    ///
    /// # Panics
    /// If they end before it.
    pub fn from(&mut self, [row, column]: [usize; 2]) -> OutputRows<'_, T> {
        OutputRows { values: &mut self.values[row * self.pitch + column..], pitch: self.pitch }
    }

    /// So many values of a row.
    ///
    /// # Panics
    /// If it does not have them.
    pub fn row(&mut self, row: usize, length: usize) -> &mut [T] {
        &mut self.values[row * self.pitch..][..length]
    }
}

/// A function that computes rows.
pub struct RowFunction<T> {
    code: Mmap,
    /// Where in it the function begins that writes outputs past the caches, which have to lie where a vector may.
    streaming: Option<usize>,
    /// After the numbers that all points share.
    constants: Vec<T>,
    inputs: Vec<usize>,
    outputs: usize,
    slots: usize,
    shared: usize,
}

/// What a thread computes with: numbers that all points share, and slots.
pub struct Workspace<T> {
    values: Vec<T>,
    /// Values before the first one that lies where a vector may.
    skipped: usize,
    slots: usize,
    addresses: Vec<*const T>,
}

type Compute<T> = unsafe extern "C" fn(
    addresses: *const *const T,
    blocks: usize,
    vectors: usize,
    numbers: *const T,
    slots: *mut T,
    mask: *const u8,
);

impl<T: FloatType> RowFunction<T> {
    /// Whether this processor has the instructions.
    pub fn is_possible() -> bool {
        can()
    }

    /// The function of a program; none where the processor has not what it takes, or the system does not let code be
    /// written.
    ///
    /// # Panics
    /// If an instruction names an input, an output, a slot or a shared number that the program does not have.
    pub fn new(program: Program<T>) -> Option<Self> {
        if !can() {
            return None;
        }
        program.check();
        let mut emitted = emit::emit(&program, false)?;
        let mut streaming = None;
        if program.streams {
            streaming = Some(emitted.code.len());
            // Constants are those of the instructions, and so the ones that are there.
            emitted.code.extend(emit::emit(&program, true)?.code);
        }
        let mut memory = MmapMut::map_anon(emitted.code.len()).ok()?;
        memory.copy_from_slice(&emitted.code);
        let code = memory.make_exec().ok()?;
        let (inputs, constants) = (program.furthest(), emitted.constants);
        let slots = program.all_slots();
        let Program { outputs, shared, .. } = program;
        Some(Self { code, streaming, constants, inputs, outputs, slots, shared })
    }

    /// Changes one of the numbers that all points share, in a room of this function.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn share(&self, room: &mut Workspace<T>, number: usize, value: T) {
        assert!(number < self.shared, "a shared number that there is not");
        room.values[room.skipped + number * T::LANES..][..T::LANES].fill(value);
    }

    /// Room for a thread, with the numbers that all points share.
    ///
    /// # Panics
    /// If they are not as many as the program has.
    pub fn room(&self, shared: &[T]) -> Workspace<T> {
        assert_eq!(shared.len(), self.shared, "shared numbers");
        let numbers = (self.shared + self.constants.len()) * T::LANES;
        let all = numbers + self.slots * VECTORS * T::LANES;
        let mut values: Vec<T> = bytemuck::zeroed_vec(all + T::LANES);
        let skipped = values.as_ptr().align_offset(VECTOR).min(T::LANES);
        let vectors = values[skipped..].chunks_exact_mut(T::LANES);
        for (vector, number) in vectors.zip(shared.iter().chain(&self.constants)) {
            vector.fill(*number);
        }
        Workspace { values, skipped, slots: skipped + numbers, addresses: Vec::new() }
    }

    /// Values behind the last point that an input has to have, beyond its furthest place: the last vector is read
    /// whole.
    pub const fn behind() -> usize {
        T::LANES - 1
    }

    /// Computes as many points of as many rows as `[rows, points]` says: of each row each input from the value on that has the number of the
    /// row's first point.
    ///
    /// # Panics
    /// If inputs and outputs are not as many as the program has, rows of an output overlap or end before the points, or an input ends before the
    /// last vector's values at its furthest place; if the room is another function's.
    pub fn compute(
        &self,
        room: &mut Workspace<T>,
        [rows, points]: [usize; 2],
        inputs: &[InputRows<T>],
        outputs: &mut [OutputRows<T>],
    ) {
        if rows == 0 {
            return;
        }
        let lanes = T::LANES;
        assert_eq!(outputs.len(), self.outputs, "outputs");
        assert_eq!(inputs.len(), self.inputs.len(), "inputs");
        let is_apart = |output: &OutputRows<T>| {
            let start = (rows - 1).checked_mul(output.pitch).expect("rows that lie in memory");
            output.values.len() >= start + points && (rows == 1 || output.pitch >= points)
        };
        assert!(outputs.iter().all(is_apart), "an output ends before the points");
        let values = points.next_multiple_of(lanes);
        let is_long = |(input, furthest): (&InputRows<T>, &usize)| {
            let start = (rows - 1).checked_mul(input.pitch).expect("rows that lie in memory");
            input.values.len() >= start + furthest + values
        };
        assert!(inputs.iter().zip(&self.inputs).all(is_long), "an input ends before the row");
        let numbers = (self.shared + self.constants.len()) * lanes;
        let needed = numbers + self.slots * VECTORS * lanes;
        assert!(room.slots == room.skipped + numbers);
        assert!(room.values.len() >= room.skipped + needed);

        room.addresses.clear();
        room.addresses.extend(inputs.iter().map(|it| it.values.as_ptr()));
        room.addresses.extend(outputs.iter_mut().map(|it| it.values.as_mut_ptr().cast_const()));
        let (numbers, slots) = room.values[room.skipped..].split_at_mut(room.slots - room.skipped);
        let rest = points % lanes;
        // As many set values as the last vector has, then unset ones.
        let mask = [[u64::MAX; 4], [0; 4]];
        let mask = &bytemuck::bytes_of(&mask)[VECTOR - rest * size_of::<T>()..];
        let mask = if rest == 0 { std::ptr::null() } else { mask.as_ptr() };
        let bytes = |unit: usize| points / unit * unit * size_of::<T>();
        let may_stream = |output: &OutputRows<T>| {
            let pitch = if rows == 1 { 0 } else { output.pitch * size_of::<T>() };
            output.values.as_ptr().addr().is_multiple_of(VECTOR) && pitch.is_multiple_of(VECTOR)
        };
        let place = self.streaming.filter(|_| outputs.iter().all(may_stream)).unwrap_or(0);
        let code = &self.code[place..];
        // SAFETY: the memory holds there a whole function of this type, which `emit` wrote for a program whose numbers were
        // checked, and the processor has its instructions.
        let function: Compute<T> = unsafe { std::mem::transmute(code.as_ptr()) };
        let pitches = || inputs.iter().map(|it| it.pitch).chain(outputs.iter().map(|it| it.pitch));
        for row in 0..rows {
            if row > 0 {
                for (address, pitch) in room.addresses.iter_mut().zip(pitches()) {
                    // The row is there, as was checked.
                    *address = address.wrapping_add(pitch);
                }
            }
            // SAFETY: it reads `values` values of each input from each of its places in this row on, which the input has, and of
            // the numbers and slots what they hold, as was checked; it writes `points` values of each output's row, which
            // nothing else can reach, and slots. The one that streams writes vectors where they may lie, and all before it ends.
            unsafe {
                function(
                    room.addresses.as_ptr(),
                    bytes(VECTORS * lanes),
                    bytes(lanes),
                    numbers.as_ptr(),
                    slots.as_mut_ptr(),
                    mask,
                );
            }
        }
    }
}

/// Calls a function for so many values of a block, with two others behind it.
///
/// # Safety
/// `values` is the first one of three blocks.
#[allow(improper_ctypes_definitions, reason = "the function is only handed through")]
unsafe extern "C" fn called<T: FloatType>(
    function: BlockFunction<T>,
    values: *mut T,
    count: usize,
) {
    let block = VECTORS * T::LANES;
    // SAFETY: the blocks are those of the room behind the program's slots, which `compute` has checked to be there; nothing
    // else has them while the code runs.
    let blocks = unsafe { std::slice::from_raw_parts_mut(values, 3 * block) };
    let (values, others) = blocks.split_at_mut(block);
    let (a, b) = others.split_at(block);
    function(&mut values[..count], [&a[..count], &b[..count]]);
}

/// Whether this processor has the instructions, and functions take arguments as the code does: in rdi, rsi, rdx, ...
#[cfg(all(target_arch = "x86_64", unix))]
fn can() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Whether this processor has the instructions.
#[cfg(not(all(target_arch = "x86_64", unix)))]
fn can() -> bool {
    false
}

/// The example of the page, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
