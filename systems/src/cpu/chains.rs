// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program as chains: each takes what the operation before it left in registers, so that only what is needed twice is
//! stored. A product that is added is joined to the sum: a fused multiply-add, where processors have it. No chain changes
//! the order in which an equation adds.

use super::super::expression::{Array, Function};
use super::super::program::{Operation, Program, Value};
use super::real::Real;
use super::step::{BlockStep, Coordinate};

/// Steps on one block of values, and where it is stored.
pub struct RegisterChain<R> {
    /// In their order.
    pub steps: Vec<BlockStep<Value, R>>,
    /// Where the values go.
    pub to: ChainOutput,
}

/// Where the values of a chain go.
pub enum ChainOutput {
    /// They are that [`Value::Result`].
    Result(usize),
    /// They are the next ones of that field.
    Field(usize),
}

/// The chains of a program, each after those whose results it takes. `own` tells of an array that a field's next
/// values are written over, which field that is.
pub fn of<R: Real>(
    program: &Program,
    own: impl Fn(Array) -> Option<usize>,
) -> Vec<RegisterChain<R>> {
    let Program { operations, results, .. } = program;
    let mut names = Names { operations, own, loaded: Vec::new() };
    let calls: Vec<Vec<Value>> = operations
        .iter()
        .map(|operation| match operation {
            Operation::Call(_, values) => values.iter().map(|it| names.of(it)).collect(),
            Operation::Sum(..) | Operation::Noise(..) => Vec::new(),
        })
        .collect();
    let results: Vec<Value> = results.iter().map(|value| names.of(value)).collect();

    let mut uses = vec![0; operations.len() + names.loaded.len()];
    for value in calls.iter().flatten().chain(&results) {
        if let Value::Result(result) = value {
            uses[*result] += 1;
        }
    }
    let mut writer = Writer { uses: &uses, open: Vec::new() };
    for (operation, values) in operations.iter().zip(&calls) {
        let steps = match operation {
            Operation::Call(function, _) => writer.call(*function, values),
            Operation::Sum(array, taps) => {
                let tap = |(offset, weight): &(_, f64)| {
                    (names.of(&Value::Read(*array, *offset)), R::from_f64(*weight))
                };
                vec![BlockStep::Sum(taps.iter().map(tap).collect())]
            }
            Operation::Noise(noise, step) => vec![BlockStep::Noise(*noise, *step)],
        };
        writer.open.push(Some(steps));
    }

    let load = |(number, value): (usize, &Value)| {
        let result = operations.len() + number;
        let step = match *value {
            Value::Coordinate(axis, offset) => {
                BlockStep::Coordinate(Coordinate { axis, offset, is_index: false })
            }
            Value::Index(axis, offset) => {
                BlockStep::Coordinate(Coordinate { axis, offset, is_index: true })
            }
            Value::Read(array, _) => BlockStep::Own((names.own)(array).expect("it has been asked")),
            _ => unreachable!("neither is loaded first"),
        };
        RegisterChain { steps: vec![step], to: ChainOutput::Result(result) }
    };
    let mut chains: Vec<RegisterChain<R>> = names.loaded.iter().enumerate().map(load).collect();
    let field_of = |result: usize| {
        let field = results.iter().position(|value| *value == Value::Result(result));
        field.filter(|_| uses[result] == 1)
    };
    for (result, steps) in writer.open.into_iter().enumerate() {
        if let (Some(steps), 1..) = (steps, uses[result]) {
            let to = field_of(result).map_or(ChainOutput::Result(result), ChainOutput::Field);
            chains.push(RegisterChain { steps, to });
        }
    }
    for (field, value) in results.iter().enumerate() {
        let is_done =
            matches!(value, Value::Result(it) if *it < operations.len() && uses[*it] == 1);
        if !is_done {
            chains.push(RegisterChain {
                steps: vec![BlockStep::Load(*value)],
                to: ChainOutput::Field(field),
            });
        }
    }
    chains
}

/// The names of values.
struct Names<'a, F> {
    operations: &'a [Operation],
    own: F,
    /// What is loaded before all else, each the result after those of the operations.
    loaded: Vec<Value>,
}

impl<F: Fn(Array) -> Option<usize>> Names<'_, F> {
    fn of(&mut self, value: &Value) -> Value {
        match *value {
            Value::Result(result) => match &self.operations[result] {
                // A neighbour.
                Operation::Sum(array, taps) if taps.len() == 1 && taps[0].1 == 1.0 => {
                    self.of(&Value::Read(*array, taps[0].0))
                }
                _ => *value,
            },
            Value::Read(array, _) if (self.own)(array).is_some() => self.loaded(*value),
            Value::Coordinate(..) | Value::Index(..) => self.loaded(*value),
            Value::Read(..) | Value::Scalar(_) => *value,
        }
    }

    fn loaded(&mut self, value: Value) -> Value {
        let known = self.loaded.iter().position(|it| *it == value);
        Value::Result(
            self.operations.len()
                + known.unwrap_or_else(|| {
                    self.loaded.push(value);
                    self.loaded.len() - 1
                }),
        )
    }
}

struct Writer<'a, R> {
    /// How often each result is taken.
    uses: &'a [usize],
    /// Of each operation its chain, unless another one goes on with it.
    open: Vec<Option<Vec<BlockStep<Value, R>>>>,
}

impl<R: Real> Writer<'_, R> {
    /// The chain of a value that nothing else takes.
    fn take(&mut self, value: Value) -> Option<Vec<BlockStep<Value, R>>> {
        match value {
            Value::Result(it) if it < self.open.len() && self.uses[it] == 1 => self.open[it].take(),
            _ => None,
        }
    }

    /// The chain of one of some values, and its place among them: of the last one that is computed, so that the others are
    /// stored for a short time only.
    fn take_one(&mut self, values: &[Value]) -> Option<(Vec<BlockStep<Value, R>>, usize)> {
        let number = |value: &Value| match *value {
            Value::Result(it) if it < self.open.len() && self.uses[it] == 1 => Some(it),
            _ => None,
        };
        let places = (0..values.len()).filter(|at| number(&values[*at]).is_some());
        let last = places.max_by_key(|at| number(&values[*at]))?;
        Some((self.take(values[last])?, last))
    }

    fn call(&mut self, function: Function, values: &[Value]) -> Vec<BlockStep<Value, R>> {
        match (function, values) {
            (Function::Add, &[a, b]) => self.sum(a, b, false),
            (Function::Subtract, &[a, b]) => self.sum(a, b, true),
            (Function::Multiply, &[a, b]) => match self.take_one(values) {
                Some((chain, place)) => with(chain, BlockStep::Multiply(values[1 - place])),
                None => vec![BlockStep::Product(a, b)],
            },
            (Function::Divide, &[a, b]) => match self.take_one(values) {
                Some((chain, 0)) => with(chain, BlockStep::Divide(b)),
                Some((chain, _)) => with(chain, BlockStep::DivideInto(a)),
                None => vec![BlockStep::Load(a), BlockStep::Divide(b)],
            },
            (Function::PowerOf(2), &[a]) => match self.take(a) {
                Some(chain) => with(chain, BlockStep::Square),
                None => vec![BlockStep::Product(a, a)],
            },
            _ => {
                let found = self.take_one(values);
                let (chain, place) = found.unwrap_or_else(|| (vec![BlockStep::Load(values[0])], 0));
                let others = (0..values.len()).filter(|at| *at != place).map(|at| values[at]);
                with(chain, BlockStep::Call(function, place, others.collect()))
            }
        }
    }

    /// a + b, or a − b.
    fn sum(&mut self, a: Value, b: Value, subtract: bool) -> Vec<BlockStep<Value, R>> {
        let add = |value| if subtract { BlockStep::Subtract(value) } else { BlockStep::Add(value) };
        let add_to =
            |value| if subtract { BlockStep::SubtractFrom(value) } else { BlockStep::Add(value) };
        match (self.take(a), self.take(b)) {
            (Some(chain), Some(other)) => match (&chain[..], &other[..]) {
                (_, &[BlockStep::Product(x, y)]) if subtract => {
                    with(chain, BlockStep::SubtractProduct(x, y))
                }
                (_, &[BlockStep::Product(x, y)]) => with(chain, BlockStep::AddProduct(x, y)),
                (&[BlockStep::Product(x, y)], _) if subtract => {
                    with(other, BlockStep::SubtractFromProduct(x, y))
                }
                (&[BlockStep::Product(x, y)], _) => with(other, BlockStep::AddProduct(x, y)),
                _ => self.sum_of_chains((a, chain), (b, other), subtract),
            },
            (Some(chain), None) => with(chain, add(b)),
            (None, Some(chain)) => match (&chain[..], subtract) {
                (&[BlockStep::Product(x, y)], true) => {
                    vec![BlockStep::Load(a), BlockStep::SubtractProduct(x, y)]
                }
                (&[BlockStep::Product(x, y)], false) => {
                    vec![BlockStep::Load(a), BlockStep::AddProduct(x, y)]
                }
                _ => with(chain, add_to(a)),
            },
            (None, None) => vec![BlockStep::Load(a), add(b)],
        }
    }

    /// a + b, or a − b, of two chains, of which the first one that is computed is stored.
    fn sum_of_chains(
        &mut self,
        (a, first): (Value, Vec<BlockStep<Value, R>>),
        (b, second): (Value, Vec<BlockStep<Value, R>>),
        subtract: bool,
    ) -> Vec<BlockStep<Value, R>> {
        let (Value::Result(of_a), Value::Result(of_b)) = (a, b) else {
            unreachable!("only results have a chain")
        };
        if of_a > of_b {
            self.open[of_b] = Some(second);
            return with(first, if subtract { BlockStep::Subtract(b) } else { BlockStep::Add(b) });
        }
        self.open[of_a] = Some(first);
        with(second, if subtract { BlockStep::SubtractFrom(a) } else { BlockStep::Add(a) })
    }
}

fn with<T>(mut steps: Vec<T>, step: T) -> Vec<T> {
    steps.push(step);
    steps
}
