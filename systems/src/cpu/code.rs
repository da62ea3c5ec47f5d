// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as the CPU executes it: operation by operation on a run of points, with as few runs of results as
//! can be, so that they stay in the first-level cache.

use super::super::expression::{Array, Function};
use super::super::program::{Offset, Operation, Program, Value};

/// What an instruction takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A run of results.
    Slot(usize),
    /// A number for all points.
    Scalar(usize),
    /// Stored values.
    Read(Array, Offset),
    /// The coordinate along z or y, one number for a row.
    Coordinate(usize, Offset),
}

/// One instruction: what it does, and the slot that it fills.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// What it does.
    pub action: Action,
    /// The slot that it fills, which it does not read.
    pub to: usize,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A function.
    Call(Function, Vec<Operand>),
    /// A sum of stored values with constant weights.
    Sum(Array, Vec<(Offset, f64)>),
    /// The coordinates along x at some distance.
    Coordinates(i32),
}

/// A program as the CPU executes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// In their order.
    pub instructions: Vec<Instruction>,
    /// The next values of each field.
    pub results: Vec<Operand>,
    /// Runs of results that are needed at the same time.
    pub slots: usize,
}

impl Code {
    /// That of a program.
    pub fn new(program: &Program) -> Self {
        let mut last_use = vec![0; program.operations.len()];
        for (index, operation) in program.operations.iter().enumerate() {
            if let Operation::Call(_, values) = operation {
                values.iter().for_each(|value| note(&mut last_use, value, index));
            }
        }
        // The results are needed until the end.
        program.results.iter().for_each(|value| note(&mut last_use, value, usize::MAX));

        let mut writer = Writer::default();
        for (index, operation) in program.operations.iter().enumerate() {
            let action = match operation {
                Operation::Sum(array, taps) => Action::Sum(*array, taps.clone()),
                Operation::Call(function, values) => {
                    let operands = values.iter().map(|value| writer.operand(value)).collect();
                    Action::Call(*function, operands)
                }
            };
            let to = writer.push(action);
            writer.slot_of.push(to);
            // Only now: no instruction fills what it reads.
            if let Operation::Call(_, values) = operation {
                for (place, value) in values.iter().enumerate() {
                    if let Value::Result(result) = *value
                        && last_use[result] == index
                        && !values[..place].contains(value)
                    {
                        writer.free.push(writer.slot_of[result]);
                    }
                }
            }
            writer.free.append(&mut writer.passing);
        }
        let results = program.results.iter().map(|value| writer.operand(value)).collect();
        Self { instructions: writer.instructions, results, slots: writer.slots }
    }
}

/// Notes that an operation uses a value.
fn note(last_use: &mut [usize], value: &Value, index: usize) {
    if let Value::Result(result) = value {
        last_use[*result] = last_use[*result].max(index);
    }
}

#[derive(Default)]
struct Writer {
    instructions: Vec<Instruction>,
    /// The slot of each operation.
    slot_of: Vec<usize>,
    free: Vec<usize>,
    /// Slots of coordinates, which one instruction reads.
    passing: Vec<usize>,
    slots: usize,
}

impl Writer {
    fn operand(&mut self, value: &Value) -> Operand {
        match *value {
            Value::Result(result) => Operand::Slot(self.slot_of[result]),
            Value::Scalar(scalar) => Operand::Scalar(scalar),
            Value::Read(array, offset) => Operand::Read(array, offset),
            Value::Coordinate(2, [_, _, x]) => {
                let slot = self.push(Action::Coordinates(x));
                self.passing.push(slot);
                Operand::Slot(slot)
            }
            Value::Coordinate(axis, offset) => Operand::Coordinate(axis, offset),
        }
    }

    fn push(&mut self, action: Action) -> usize {
        let to = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.instructions.push(Instruction { action, to });
        to
    }
}
