// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as machine code: what [`super::run`] does with a row, step by step and bit by bit, without looking at what is
//! to be done for each block.

use x86_writer::{
    Binary, InputRows, Instruction, InstructionInput, OutputRows, Program, RowFunction, Unary,
    Workspace,
};

use super::code::{Code, Operand};
use super::functions::pointer;
use super::noise;
use super::real::Real;
use super::step::{BlockStep, Coordinate};
use crate::checked::System;
use crate::expression::Function;
use problem::noise::Noise;

/// Machine code of a program.
pub struct Compiled<R> {
    row: RowFunction<R>,
    /// Numbers that all points share.
    scalars: usize,
    /// The coordinates that it takes, each once.
    coordinates: Vec<Coordinate>,
    /// The random numbers that it takes, each once, with where the parts of the step are among the numbers that all points
    /// share.
    noises: Vec<(Noise, [usize; 2])>,
    /// Of those along x the ones of all points of a row, and of as many behind it as are read.
    across: Vec<Vec<R>>,
}

impl<R: Real> Compiled<R> {
    /// Compiles a program with so many outputs; none if the processor is of another kind. One that streams writes past the caches.
    pub fn new(code: &Code<R>, (system, outputs): (&System, usize), streams: bool) -> Option<Self> {
        let coordinates = coordinates(code);
        let noises = noises(code);
        let names = Names::of(code, &coordinates, &noises);
        let instructions = code.steps.iter().map(|step| names.instruction(step));
        let program = Program {
            inputs: names.inputs + names.across.len() + noises.len(),
            outputs,
            slots: code.slots - code.scalars,
            shared: code.scalars + names.along.len(),
            ahead: code.arrays.iter().map(|reads| reads.lead).enumerate().collect(),
            streams,
            instructions: instructions.collect(),
        };
        let [.., points] = system.shape.extents();
        let row = |coordinate: &Coordinate| {
            let of_point = |x| coordinate.at(system, x);
            (0..points + RowFunction::<R>::behind()).map(of_point).collect()
        };
        let across = names.across.iter().map(row).collect();
        let row = RowFunction::new(program)?;
        Some(Self { row, scalars: code.scalars, coordinates, noises, across })
    }

    /// What a thread computes with, for a step with these numbers.
    pub fn room(&self, scalars: &[R]) -> Workspace<R> {
        let along = self.coordinates.len() - self.across.len();
        let mut shared = scalars.to_vec();
        shared.resize(scalars.len() + along, R::ZERO);
        self.row.room(&shared)
    }

    /// Computes the next values of each array in as many points of as many rows as `[rows, points]` says, from a point on, with the numbers
    /// that all points share.
    pub fn execute(
        &self,
        room: &mut Workspace<R>,
        scalars: &[R],
        (system, [z, y, x], [rows, points]): (&System, [usize; 3], [usize; 2]),
        reads: &[InputRows<R>],
        next: &mut [OutputRows<R>],
    ) {
        if self.coordinates.is_empty() && self.noises.is_empty() {
            return self.row.compute(room, [rows, points], reads, next);
        }
        let mut numbers =
            vec![vec![R::ZERO; points + RowFunction::<R>::behind()]; self.noises.len()];
        for row in 0..rows {
            let point = [z, y + row, x];
            let along = self.coordinates.iter().filter(|it| it.axis != 2);
            for (number, coordinate) in along.enumerate() {
                let value = coordinate.at(system, point[coordinate.axis]);
                self.row.share(room, self.scalars + number, value);
            }
            for (numbers, &(noise, step)) in numbers.iter_mut().zip(&self.noises) {
                let step = noise::step(step.map(|at| scalars[at]));
                noise::NoiseRow { noise, step, point }.fill(system, &mut numbers[..points]);
            }
            let one = |values| InputRows { values, pitch: 0 };
            let across = self.across.iter().map(|row| one(&row[x..]));
            let numbers = numbers.iter().map(|numbers| one(&numbers[..]));
            let reads = reads.iter().map(|it| it.from([row, 0]));
            let reads: Vec<InputRows<R>> = reads.chain(across).chain(numbers).collect();
            let mut next: Vec<_> = next.iter_mut().map(|it| it.from([row, 0])).collect();
            self.row.compute(room, [1, points], &reads, &mut next);
        }
    }
}

/// The coordinates that a program takes, each once.
fn coordinates<R: Real>(code: &Code<R>) -> Vec<Coordinate> {
    let mut found = Vec::new();
    for step in &code.steps {
        if let BlockStep::Coordinate(coordinate) = step
            && !found.contains(coordinate)
        {
            found.push(*coordinate);
        }
    }
    found
}

/// The random numbers that a program takes, each once.
fn noises<R: Real>(code: &Code<R>) -> Vec<(Noise, [usize; 2])> {
    let of_step = |step: &BlockStep<Operand, R>| match step {
        BlockStep::Noise(noise, step) => {
            let places = step.map(|operand| match operand {
                Operand::Slot(slot) => slot,
                Operand::Read { .. } => unreachable!("all points share the step"),
            });
            Some((*noise, places))
        }
        _ => None,
    };
    code.steps.iter().filter_map(of_step).collect()
}

/// What operands are called in machine code.
struct Names {
    scalars: usize,
    inputs: usize,
    /// Coordinates along z and y: numbers that the points of a row share.
    along: Vec<Coordinate>,
    /// Coordinates along x: inputs behind the arrays.
    across: Vec<Coordinate>,
    /// Random numbers: inputs behind those.
    noises: Vec<Noise>,
}

impl Names {
    fn of<R: Real>(
        code: &Code<R>,
        coordinates: &[Coordinate],
        noises: &[(Noise, [usize; 2])],
    ) -> Self {
        let (across, along) = coordinates.iter().partition(|it| it.axis == 2);
        let noises = noises.iter().map(|(noise, _)| *noise).collect();
        Self { scalars: code.scalars, inputs: code.arrays.len(), along, across, noises }
    }

    fn source(&self, operand: &Operand) -> InstructionInput {
        match *operand {
            Operand::Slot(slot) => match slot.checked_sub(self.scalars) {
                Some(slot) => InstructionInput::Slot(slot),
                None => InstructionInput::Shared(slot),
            },
            Operand::Read { array, place } => InstructionInput::Input { number: array, place },
        }
    }

    fn noise(&self, noise: Noise) -> InstructionInput {
        let number = self.noises.iter().position(|it| *it == noise).expect("all are listed");
        InstructionInput::Input { number: self.inputs + self.across.len() + number, place: 0 }
    }

    fn coordinate(&self, coordinate: Coordinate) -> InstructionInput {
        let place = |all: &[Coordinate]| {
            all.iter().position(|it| *it == coordinate).expect("all are listed")
        };
        match coordinate.axis {
            2 => InstructionInput::Input { number: self.inputs + place(&self.across), place: 0 },
            _ => InstructionInput::Shared(self.scalars + place(&self.along)),
        }
    }

    /// What a step is for a processor.
    fn instruction<R: Real>(&self, step: &BlockStep<Operand, R>) -> Instruction<R> {
        let source = |operand: &Operand| self.source(operand);
        let binary = |operation, a: &Operand| Instruction::Binary(operation, source(a));
        let reversed = |operation, a: &Operand| Instruction::Reversed(operation, source(a));
        match step {
            BlockStep::Load(a) => Instruction::Load(source(a)),
            BlockStep::Own(field) => Instruction::Old(*field),
            BlockStep::Coordinate(coordinate) => Instruction::Load(self.coordinate(*coordinate)),
            BlockStep::Noise(noise, _) => Instruction::Load(self.noise(*noise)),
            BlockStep::Product(a, b) => Instruction::Product(source(a), source(b)),
            BlockStep::Sum(taps) => {
                Instruction::Sum(taps.iter().map(|(a, weight)| (source(a), *weight)).collect())
            }
            BlockStep::Add(a) => binary(Binary::Add, a),
            BlockStep::Subtract(a) => binary(Binary::Subtract, a),
            BlockStep::SubtractFrom(a) => reversed(Binary::Subtract, a),
            BlockStep::Square => Instruction::Unary(Unary::Power(2)),
            BlockStep::Multiply(a) => binary(Binary::Multiply, a),
            BlockStep::Divide(a) => binary(Binary::Divide, a),
            BlockStep::DivideInto(a) => reversed(Binary::Divide, a),
            BlockStep::AddProduct(a, b) => Instruction::AddProduct(source(a), source(b)),
            BlockStep::SubtractProduct(a, b) => Instruction::SubtractProduct(source(a), source(b)),
            BlockStep::SubtractFromProduct(a, b) => {
                Instruction::SubtractFromProduct(source(a), source(b))
            }
            BlockStep::Call(function, place, others) => {
                call(*function, *place, others.iter().map(source).collect())
            }
            BlockStep::Store(slot) => Instruction::Store(slot - self.scalars),
            BlockStep::Write(field) => Instruction::Write(*field),
        }
    }
}

/// A function of a value, at a place among its arguments, and of others.
fn call<R: Real>(
    function: Function,
    place: usize,
    others: Vec<InstructionInput>,
) -> Instruction<R> {
    let binary = |operation| match place {
        0 => Instruction::Binary(operation, others[0]),
        _ => Instruction::Reversed(operation, others[0]),
    };
    match function {
        Function::Negate => Instruction::Unary(Unary::Negate),
        Function::Abs => Instruction::Unary(Unary::Abs),
        Function::Sqrt => Instruction::Unary(Unary::Sqrt),
        Function::Floor => Instruction::Unary(Unary::Floor),
        Function::Not => Instruction::Unary(Unary::Not),
        Function::PowerOf(power) => Instruction::Unary(Unary::Power(power)),
        Function::Min | Function::And => binary(Binary::Min),
        Function::Max | Function::Or => binary(Binary::Max),
        Function::Less => binary(Binary::Less),
        Function::LessEqual => binary(Binary::LessEqual),
        Function::Equal => binary(Binary::Equal),
        Function::Add => binary(Binary::Add),
        Function::Subtract => binary(Binary::Subtract),
        Function::Multiply => binary(Binary::Multiply),
        Function::Divide => binary(Binary::Divide),
        Function::If => Instruction::Select(place, [others[0], others[1]]),
        Function::Power
        | Function::Exp
        | Function::Ln
        | Function::Sin
        | Function::Cos
        | Function::Tanh
        | Function::Atan2 => Instruction::Call(pointer(function, place), others),
    }
}
