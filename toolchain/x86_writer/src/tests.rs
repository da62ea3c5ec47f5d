// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the code computes, against the instructions one after the other, bit by bit.

use super::*;

/// Some values, of both signs, with zeros.
fn row<T: FloatType>(seed: usize, from: fn(f64) -> T) -> Vec<T> {
    let value = |at: usize| ((at * 37 + seed * 101) % 23) as f64 * 0.37 - 3.7;
    (0..200).map(|at| from(value(at))).collect()
}

macro_rules! interpreter {
    ($name:ident, $type:ty) => {
        fn $name(
            program: &Program<$type>,
            shared: &[$type],
            inputs: &[Vec<$type>],
            outputs: &mut [Vec<$type>],
        ) {
            for point in 0..outputs[0].len() {
                let mut slots = vec![0.0; program.slots];
                let mut value: $type = 0.0;
                for instruction in &program.instructions {
                    let at = |source: &InstructionInput| match *source {
                        InstructionInput::Input { number, place } => inputs[number][point + place],
                        InstructionInput::Slot(slot) => slots[slot],
                        InstructionInput::Shared(number) => shared[number],
                    };
                    let truth = |holds: bool| if holds { 1.0 } else { 0.0 };
                    let binary = |operation: &Binary, a: $type, b: $type| match operation {
                        Binary::Add => a + b,
                        Binary::Subtract => a - b,
                        Binary::Multiply => a * b,
                        Binary::Divide => a / b,
                        Binary::Min => {
                            if a < b {
                                a
                            } else {
                                b
                            }
                        }
                        Binary::Max => {
                            if a > b {
                                a
                            } else {
                                b
                            }
                        }
                        Binary::Less => truth(a < b),
                        Binary::LessEqual => truth(a <= b),
                        Binary::Equal => truth(a == b),
                    };
                    value = match instruction {
                        Instruction::Load(a) => at(a),
                        Instruction::Old(output) => outputs[*output][point],
                        Instruction::Product(a, b) => at(a) * at(b),
                        Instruction::Sum(taps) => {
                            taps.iter().fold(0.0, |sum, (a, weight)| at(a).mul_add(*weight, sum))
                        }
                        Instruction::Binary(operation, a) => binary(operation, value, at(a)),
                        Instruction::Reversed(operation, a) => binary(operation, at(a), value),
                        Instruction::AddProduct(a, b) => at(a).mul_add(at(b), value),
                        Instruction::SubtractProduct(a, b) => (-at(a)).mul_add(at(b), value),
                        Instruction::SubtractFromProduct(a, b) => at(a).mul_add(at(b), -value),
                        Instruction::Unary(Unary::Negate) => -value,
                        Instruction::Unary(Unary::Abs) => value.abs(),
                        Instruction::Unary(Unary::Sqrt) => value.sqrt(),
                        Instruction::Unary(Unary::Floor) => value.floor(),
                        Instruction::Unary(Unary::Not) => 1.0 - value,
                        Instruction::Unary(Unary::Power(power)) => {
                            let (mut power_of, mut square) = (1.0, value);
                            let mut rest = power.unsigned_abs();
                            while rest > 0 {
                                if rest % 2 == 1 {
                                    power_of *= square;
                                }
                                square *= square;
                                rest /= 2;
                            }
                            if *power < 0 { 1.0 / power_of } else { power_of }
                        }
                        Instruction::Select(place, [a, b]) => {
                            let (condition, yes, no) = match place {
                                0 => (value, at(a), at(b)),
                                1 => (at(a), value, at(b)),
                                _ => (at(a), at(b), value),
                            };
                            if condition != 0.0 { yes } else { no }
                        }
                        Instruction::Call(function, others) => {
                            let mut of_others = others.iter().map(|it| [at(it)]);
                            let [a, b] = [(); 2].map(|()| of_others.next().unwrap_or([0.0]));
                            let mut of_value = [value];
                            function(&mut of_value, [&a, &b]);
                            of_value[0]
                        }
                        Instruction::Store(slot) => {
                            slots[*slot] = value;
                            value
                        }
                        Instruction::Write(output) => {
                            outputs[*output][point] = value;
                            value
                        }
                    };
                }
            }
        }
    };
}

interpreter!(singles, f32);
interpreter!(doubles, f64);

/// All instructions, with more inputs, outputs and constants than there are registers.
fn all<T: FloatType>(from: fn(f64) -> T) -> Program<T> {
    let input = |number: usize, place: usize| InstructionInput::Input { number, place };
    let taps = (0..19).map(|tap| (input(tap % 9, tap * 3 % 31), from(0.5 + tap as f64 / 8.0)));
    let mut instructions =
        vec![Instruction::Old(1), Instruction::Store(0), Instruction::Sum(taps.collect())];
    let binary = [
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::Divide,
        Binary::Min,
        Binary::Max,
        Binary::Less,
        Binary::LessEqual,
        Binary::Equal,
    ];
    let sources =
        [input(3, 1), InstructionInput::Slot(0), InstructionInput::Shared(1), input(8, 40)];
    for (number, operation) in binary.into_iter().enumerate() {
        let source = |more: usize| sources[(number + more) % 4];
        instructions.extend([
            Instruction::Binary(operation, source(0)),
            Instruction::AddProduct(source(1), source(2)),
            Instruction::Reversed(operation, source(1)),
            Instruction::SubtractProduct(source(0), source(3)),
            Instruction::SubtractFromProduct(source(2), source(0)),
            Instruction::Store(1 + number % 2),
            Instruction::Write(2 + number),
        ]);
    }
    for place in 0..3 {
        instructions.extend([
            Instruction::Product(input(place, place), input(7, 2)),
            Instruction::Store(2),
            Instruction::Load(input(5, 0)),
            Instruction::Binary(Binary::Less, input(6, 0)),
            Instruction::Store(1),
            if place == 0 {
                Instruction::Load(InstructionInput::Slot(1))
            } else {
                Instruction::Load(input(4, 9))
            },
            Instruction::Select(
                place,
                [
                    if place == 0 { input(1, 7) } else { InstructionInput::Slot(1) },
                    InstructionInput::Slot(2),
                ],
            ),
            Instruction::Write(11 + place),
        ]);
    }
    let unary = [
        Unary::Abs,
        Unary::Sqrt,
        Unary::Floor,
        Unary::Negate,
        Unary::Not,
        Unary::Power(2),
        Unary::Power(5),
        Unary::Power(-3),
    ];
    instructions.push(Instruction::Load(input(2, 2)));
    for (number, operation) in unary.into_iter().enumerate() {
        instructions.extend([Instruction::Unary(operation), Instruction::Write(14 + number)]);
    }
    // Numbers and addresses in registers are those that they were.
    let called = |values: &mut [T], [a, b]: [&[T]; 2]| {
        for ((value, a), b) in values.iter_mut().zip(a).zip(b) {
            *value = if bytemuck::bytes_of(a) < bytemuck::bytes_of(b) { *a } else { *value };
        }
    };
    let taps = [(input(8, 2), from(0.5)), (input(3, 3), from(0.625))];
    instructions.extend([
        Instruction::Sum(taps.to_vec()),
        Instruction::Call(called, vec![input(7, 1), InstructionInput::Shared(1)]),
        Instruction::Binary(Binary::Add, input(0, 0)),
        Instruction::AddProduct(InstructionInput::Shared(0), InstructionInput::Slot(1)),
        Instruction::Write(22),
        Instruction::Call(|values, _| values.reverse(), vec![]),
        Instruction::Call(|values, _| values.reverse(), vec![]),
        Instruction::Write(23),
    ]);
    instructions.extend([Instruction::Load(InstructionInput::Slot(0)), Instruction::Write(0)]);
    instructions.extend([Instruction::Load(InstructionInput::Shared(0)), Instruction::Write(1)]);
    // What an output holds is used when it holds it no longer.
    instructions.extend([
        Instruction::Old(3),
        Instruction::Store(0),
        Instruction::Load(InstructionInput::Shared(1)),
        Instruction::Write(3),
        Instruction::Load(InstructionInput::Slot(0)),
        Instruction::Binary(Binary::Add, input(1, 0)),
        Instruction::Write(4),
    ]);
    let ahead = vec![(0, 30), (8, 40)];
    Program { inputs: 9, outputs: 24, slots: 3, shared: 2, ahead, streams: true, instructions }
}

macro_rules! agrees {
    ($name:ident, $type:ty, $interpreter:ident) => {
        #[test]
        fn $name() {
            let from = |value: f64| value as $type;
            let program = all::<$type>(from);
            let Some(compiled) = RowFunction::new(program.clone()) else { return };
            let shared = [1.25, -0.75];
            let inputs: Vec<_> = (0..program.inputs).map(|it| row(it, from)).collect();
            // Rows that begin where a vector may lie are written past the caches.
            let lengths = [0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 100];
            for (points, more) in lengths.into_iter().flat_map(|it| [(it, 0), (it, 1)]) {
                let mut given: Vec<Vec<$type>> =
                    (0..program.outputs).map(|it| row(it + 50, from)[..points].to_vec()).collect();
                let mut found = given.clone();
                let mut room = vec![vec![0.0; points + VECTOR]; program.outputs];
                let inputs_from = |it: usize| InputRows { values: &inputs[it][..], pitch: 0 };
                let read: Vec<_> = (0..program.inputs).map(inputs_from).collect();
                let outputs = room.iter_mut().zip(&given).map(|(room, given)| {
                    let start = room.as_ptr().align_offset(VECTOR) + more;
                    let output = &mut room[start..start + points];
                    output.copy_from_slice(given);
                    OutputRows { values: output, pitch: points }
                });
                let mut outputs: Vec<OutputRows<$type>> = outputs.collect();
                compiled.compute(&mut compiled.room(&shared), [1, points], &read, &mut outputs);
                for (found, output) in found.iter_mut().zip(&outputs) {
                    found.copy_from_slice(output.values);
                }
                $interpreter(&program, &shared, &inputs, &mut given);
                let bits = |all: &[Vec<$type>]| -> Vec<Vec<_>> {
                    let of = |it: &$type| {
                        if it.is_nan() { <$type>::NAN.to_bits() } else { it.to_bits() }
                    };
                    all.iter().map(|row| row.iter().map(of).collect()).collect()
                };
                assert_eq!(bits(&found), bits(&given), "{points} points");
            }
        }
    };
}

agrees!(singles_are_those_of_the_instructions, f32, singles);
agrees!(doubles_are_those_of_the_instructions, f64, doubles);

#[test]
#[should_panic(expected = "an input ends before the row")]
fn an_input_that_is_too_short_is_refused() {
    let program = Program {
        inputs: 1,
        outputs: 1,
        slots: 0,
        shared: 0,
        ahead: vec![],
        streams: false,
        instructions: vec![
            Instruction::Load(InstructionInput::Input { number: 0, place: 5 }),
            Instruction::<f64>::Write(0),
        ],
    };
    let Some(row) = RowFunction::new(program) else { panic!("an input ends before the row") };
    // Eight values at the place 5 take 13.
    let inputs = [InputRows { values: &[0.0; 12], pitch: 12 }];
    let mut outputs = [OutputRows { values: &mut [0.0; 6], pitch: 6 }];
    row.compute(&mut row.room(&[]), [1, 6], &inputs, &mut outputs);
}

/// The sum of a value and the one behind it.
fn neighbours(streams: bool) -> Option<RowFunction<f32>> {
    let input = |place| InstructionInput::Input { number: 0, place };
    RowFunction::new(Program {
        inputs: 1,
        outputs: 1,
        slots: 0,
        shared: 0,
        ahead: vec![],
        streams,
        instructions: vec![
            Instruction::Sum(vec![(input(0), 1.0), (input(1), 1.0)]),
            Instruction::Write(0),
        ],
    })
}

#[test]
fn rows_have_what_each_has_alone() {
    let values: Vec<f32> = (0..400).map(|it| (it * it % 97) as f32).collect();
    for (streams, pitch) in [(false, 40), (true, 40), (true, 43)] {
        let Some(function) = neighbours(streams) else { return };
        for (rows, points) in [(0, 9), (1, 9), (3, 40), (5, 33)] {
            let mut found = vec![-1.0; 300];
            let start = found.as_ptr().align_offset(VECTOR);
            let inputs = [InputRows { values: &values, pitch: 47 }];
            let mut outputs = [OutputRows { values: &mut found[start..], pitch }];
            function.compute(&mut function.room(&[]), [rows, points], &inputs, &mut outputs);
            for (at, found) in found[start..].iter().enumerate() {
                let [row, x] = [at / pitch, at % pitch];
                let sum = |at: usize| values[at] + values[at + 1];
                let wanted = if row < rows && x < points { sum(row * 47 + x) } else { -1.0 };
                assert_eq!(*found, wanted, "{rows} rows of {points} points: {at}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "an input ends before the row")]
fn the_last_row_of_an_input_is_looked_at() {
    let Some(function) = neighbours(false) else { panic!("an input ends before the row") };
    // The second row begins at 8 and takes nine.
    let inputs = [InputRows { values: &[0.0; 16], pitch: 8 }];
    let mut outputs = [OutputRows { values: &mut [0.0; 16], pitch: 8 }];
    function.compute(&mut function.room(&[]), [2, 8], &inputs, &mut outputs);
}

#[test]
#[should_panic(expected = "an output ends before the points")]
fn the_last_row_of_an_output_is_looked_at() {
    let Some(function) = neighbours(false) else { panic!("an output ends before the points") };
    let inputs = [InputRows { values: &[0.0; 64], pitch: 8 }];
    let mut outputs = [OutputRows { values: &mut [0.0; 15], pitch: 8 }];
    function.compute(&mut function.room(&[]), [2, 8], &inputs, &mut outputs);
}

#[test]
#[should_panic(expected = "has not so many")]
fn a_slot_that_there_is_not_is_refused() {
    let instructions =
        vec![Instruction::Load(InstructionInput::Slot(1)), Instruction::<f32>::Write(0)];
    let program = Program {
        inputs: 0,
        outputs: 1,
        slots: 1,
        shared: 0,
        ahead: vec![],
        streams: false,
        instructions,
    };
    RowFunction::new(program).expect("has not so many");
}
