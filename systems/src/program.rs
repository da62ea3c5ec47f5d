// SPDX-License-Identifier: MIT OR Apache-2.0
//! The equations of a system as a list of operations, each of what was read or computed before: what engines
//! execute. What occurs twice is computed once; what is one number for a step is left to whoever starts the step.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

use transform::Stencil;

use super::expression::{Array, Function, Node};
use super::parts::WallImage;
use super::sides::Sides;
use super::text::Text;
use problem::error::Mistake;
use problem::noise::{Noise, STEP_PART};

/// How far from a point values may be read, along each axis.
pub const MOST_REACH: i32 = 32;
/// Operations of a step at a point.
const MOST_OPERATIONS: usize = 10_000;

/// The distance (z, y, x) of a place from the point that is computed.
pub type Offset = [i32; 3];

/// An operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Value {
    /// The result of an earlier operation.
    Result(usize),
    /// A number for all points, by its place in [`Program::scalars`].
    Scalar(usize),
    /// A stored value.
    Read(Array, Offset),
    /// The coordinate of a place along an axis.
    Coordinate(usize, Offset),
    /// The number of points before a place along an axis.
    Index(usize, Offset),
}

/// An operation of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operation {
    /// A function.
    Call(Function, Vec<Value>),
    /// A sum of stored values with constant weights.
    Sum(Array, Vec<(Offset, f64)>),
    /// A random number of the point and the step, of which the lower and the higher part are given
    /// ([`problem::noise::STEP_PART`]).
    Noise(Noise, [Value; 2]),
}

/// An equation: what it computes, how, and where it is written.
pub struct Equation<'a> {
    /// [`Array::New`] or [`Array::Work`].
    pub computes: Array,
    /// Its value at a point.
    pub value: &'a Node,
    /// For errors.
    pub text: &'a Text,
}

/// The equations of a system as operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// What has one value for all points of a step.
    pub scalars: Vec<Node>,
    /// In their order.
    pub operations: Vec<Operation>,
    /// The value of each equation, but for sources.
    pub results: Vec<Value>,
    /// Where each of them is written.
    pub writes: Vec<Array>,
    /// Whether it is a stage that solves: its result is what it solves for, and what it writes is the solution.
    pub solves: bool,
}

impl Program {
    /// The program of equations, each with its text for errors; its scalars begin with these, and `sides` says what is added
    /// beyond sides. An equation that reads at its
    /// point what an equation before it computes takes the value from a register.
    ///
    /// # Errors
    /// They read too far away, or take too many operations.
    pub fn new<'a>(
        (stencils, sides): (&[Stencil], &Sides),
        scalars: &[Node],
        equations: impl Iterator<Item = &'a Equation<'a>>,
    ) -> Result<Self, Mistake> {
        let (calls, sums, beyond) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (program, noises) =
            (Self { scalars: scalars.to_vec(), ..Self::default() }, HashMap::new());
        let masks = HashMap::new();
        let mut writer = Writer { stencils, sides, program, calls, sums, masks, beyond, noises };
        for Equation { computes, value, text } in equations {
            let (value, solves) = match value {
                Node::Solve(_, right) => (&**right, true),
                value => (*value, false),
            };
            let result = writer.write(value, [0; 3]).map_err(|what| text.wrong(what))?;
            writer.program.results.push(result);
            writer.program.writes.push(*computes);
            writer.program.solves |= solves;
        }
        Ok(writer.program)
    }

    /// The program of expressions that are written nowhere.
    ///
    /// # Errors
    /// They read too far away, or take too many operations: as text.
    pub fn of_values<'a>(
        (stencils, sides): (&[Stencil], &Sides),
        values: impl Iterator<Item = &'a Node>,
    ) -> Result<Self, String> {
        let (calls, sums, beyond) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (program, noises) = (Self::default(), HashMap::new());
        let masks = HashMap::new();
        let mut writer = Writer { stencils, sides, program, calls, sums, masks, beyond, noises };
        for value in values {
            let result = writer.write(value, [0; 3])?;
            writer.program.results.push(result);
        }
        Ok(writer.program)
    }

    /// Writes only what is chosen, in the order of arrays.
    pub fn keep(&mut self, chosen: impl Fn(Array) -> bool) {
        let writes = self.writes.iter().copied().zip(self.results.iter().copied());
        let mut all: Vec<(Array, Value)> = writes.filter(|(array, _)| chosen(*array)).collect();
        all.sort_unstable_by_key(|(array, _)| *array);
        (self.writes, self.results) = all.into_iter().unzip();
    }

    /// The place of a field among what is written, if it is.
    #[must_use]
    pub fn place_of(&self, field: usize) -> Option<usize> {
        self.writes.iter().position(|array| *array == Array::New(field))
    }

    /// The arrays that it reads, each once.
    #[must_use]
    pub fn arrays(&self) -> BTreeSet<Array> {
        self.reads().map(|(array, _)| array).collect()
    }

    /// How far it reads of arrays that are chosen, to either side of each axis.
    #[must_use]
    pub fn reach(&self, chosen: impl Fn(Array) -> bool) -> [usize; 3] {
        let mut reach = [0; 3];
        for (_, offset) in self.reads().filter(|(array, _)| chosen(*array)) {
            for axis in 0..3 {
                reach[axis] = reach[axis].max(offset[axis].unsigned_abs() as usize);
            }
        }
        reach
    }

    /// What it reads, each as often as it is read.
    pub fn reads(&self) -> impl Iterator<Item = (Array, Offset)> {
        let of_value = |value: &Value| match value {
            Value::Read(array, offset) => Some((*array, *offset)),
            _ => None,
        };
        let of_operation = move |operation: &Operation| -> Vec<(Array, Offset)> {
            match operation {
                Operation::Call(_, values) => values.iter().filter_map(of_value).collect(),
                Operation::Sum(array, taps) => {
                    taps.iter().map(|(offset, _)| (*array, *offset)).collect()
                }
                Operation::Noise(..) => Vec::new(),
            }
        };
        let results = self.results.iter().filter_map(of_value);
        self.operations.iter().flat_map(of_operation).chain(results)
    }
}

struct Writer<'a> {
    stencils: &'a [Stencil],
    sides: &'a Sides<'a>,
    program: Program,
    calls: HashMap<(Function, Vec<Value>), Value>,
    sums: HashMap<(usize, Array, Offset), Value>,
    /// Sums of masks of solid points, by the bits of the weights.
    masks: HashMap<(usize, Vec<(Offset, u64)>), Value>,
    /// What is added to stored values beyond sides.
    beyond: HashMap<(Array, Offset), Option<Value>>,
    noises: HashMap<Noise, Value>,
}

impl Writer<'_> {
    /// Where the value of an expression at a place is found.
    fn write(&mut self, node: &Node, at: Offset) -> Result<Value, String> {
        if node.is_uniform() {
            return Ok(self.scalar(node));
        }
        Ok(match node {
            Node::Coordinate(axis) => Value::Coordinate(*axis, at),
            Node::Index(axis) => Value::Index(*axis, at),
            Node::Noise(noise) => self.noise(*noise)?,
            Node::Read(array) => match self.known(*array, at) {
                Some(value) => value,
                None => self.read(*array, at)?,
            },
            Node::Call(function, arguments) => {
                let arguments: Vec<Value> =
                    arguments.iter().map(|part| self.write(part, at)).collect::<Result<_, _>>()?;
                self.call(*function, arguments)?
            }
            Node::Stencil(stencil, argument) => match **argument {
                Node::Read(array) => self.sum(*stencil, array, at)?,
                _ => self.expanded(*stencil, argument, at)?,
            },
            Node::Random(_) => unreachable!("equations hold no random numbers of a start"),
            Node::Solve(..) => unreachable!("a solve is the whole value of a work field"),
            Node::Number(_)
            | Node::Time
            | Node::Step
            | Node::StepLength
            | Node::Total(_)
            | Node::Table(..) => {
                unreachable!("it has one value for all points")
            }
        })
    }

    /// What an equation before has computed at the point.
    fn known(&self, array: Array, at: Offset) -> Option<Value> {
        let Program { writes, results, .. } = &self.program;
        let place = writes.iter().position(|known| *known == array);
        place.filter(|_| at == [0; 3]).map(|place| results[place])
    }

    /// A stored value, with what is added beyond sides and at solid points.
    fn read(&mut self, array: Array, at: Offset) -> Result<Value, String> {
        let mut value = Value::Read(array, near(at)?);
        if let Some(added) = self.added(array, at)? {
            value = self.call(Function::Add, vec![value, added])?;
        }
        self.beside_walls(value, array, &[(at, 1.0)])
    }

    /// A sum of stored values, which are 0 at solid points, with what is read there instead.
    fn beside_walls(
        &mut self,
        sum: Value,
        array: Array,
        taps: &[(Offset, f64)],
    ) -> Result<Value, String> {
        let Some(WallImage { of, factor, mask }) = (self.sides.walls)(array) else {
            return Ok(sum);
        };
        let others: Vec<_> = taps.iter().copied().filter(|(at, _)| *at != [0; 3]).collect();
        if others.is_empty() {
            return Ok(sum);
        }
        let far = others.iter().flat_map(|(at, _)| at).map(|at| at.abs()).max();
        if let Some(far @ 2..) = far {
            return Err(format!(
                "this reads {far} points away; beside solid points equations may read one: write a stencil of a stencil as a work field, take stencils of radius 1, or walls = \"value=E\""
            ));
        }
        let solid = self.solid(mask, others)?;
        let given = self.write(&Node::Read(of), [0; 3])?;
        let product = self.call(Function::Multiply, vec![solid, given])?;
        let function = if factor < 0.0 { Function::Subtract } else { Function::Add };
        self.call(function, vec![sum, product])
    }

    /// The weights of the points that are solid, together.
    fn solid(&mut self, mask: usize, taps: Vec<(Offset, f64)>) -> Result<Value, String> {
        let array = Array::Coefficient(mask);
        if let [(at, 1.0)] = taps[..] {
            return Ok(Value::Read(array, at));
        }
        let bits = taps.iter().map(|(at, weight)| (*at, weight.to_bits())).collect();
        let key = (mask, bits);
        if let Some(known) = self.masks.get(&key) {
            return Ok(*known);
        }
        let value = self.push(Operation::Sum(array, taps))?;
        self.masks.insert(key, value);
        Ok(value)
    }

    /// What is added to a stored value beyond sides, if any of them may lie before it.
    fn added(&mut self, array: Array, at: Offset) -> Result<Option<Value>, String> {
        if let Some(known) = self.beyond.get(&(array, at)) {
            return Ok(*known);
        }
        let added = self.sides.added(array, at);
        let added = added.map(|added| self.write(&added, at)).transpose()?;
        self.beyond.insert((array, at), added);
        Ok(added)
    }

    fn scalar(&mut self, node: &Node) -> Value {
        let scalars = &mut self.program.scalars;
        Value::Scalar(scalars.iter().position(|known| known == node).unwrap_or_else(|| {
            scalars.push(node.clone());
            scalars.len() - 1
        }))
    }

    fn call(&mut self, function: Function, arguments: Vec<Value>) -> Result<Value, String> {
        let key = (function, arguments);
        if let Some(known) = self.calls.get(&key) {
            return Ok(*known);
        }
        let value = self.push(Operation::Call(function, key.1.clone()))?;
        self.calls.insert(key, value);
        Ok(value)
    }

    /// A random number of the point itself: no stencil takes one.
    fn noise(&mut self, noise: Noise) -> Result<Value, String> {
        if let Some(known) = self.noises.get(&noise) {
            return Ok(*known);
        }
        let part = Node::Number(f64::from(STEP_PART));
        let call = |function, a: Node, b: Node| Node::call(function, vec![a, b]);
        let high = call(Function::Divide, Node::Step, part.clone());
        let high = Node::call(Function::Floor, vec![high]);
        let below = call(Function::Multiply, high.clone(), part);
        let low = call(Function::Subtract, Node::Step, below);
        let step = [self.scalar(&low), self.scalar(&high)];
        let value = self.push(Operation::Noise(noise, step))?;
        self.noises.insert(noise, value);
        Ok(value)
    }

    /// A stencil of an array.
    fn sum(&mut self, stencil: usize, array: Array, at: Offset) -> Result<Value, String> {
        let key = (stencil, array, at);
        if let Some(known) = self.sums.get(&key) {
            return Ok(*known);
        }
        let stencils = self.stencils;
        let (mut beyond, mut stored) = (Vec::new(), Vec::new());
        for tap in stencils[stencil].taps() {
            let at = near(plus(at, tap.offset))?;
            match self.added(array, at)? {
                Some(_) => beyond.push((at, tap.weight)),
                None => stored.push((at, tap.weight)),
            }
        }
        let mut sum = match stored.is_empty() {
            true => None,
            false => {
                let value = self.push(Operation::Sum(array, stored.clone()))?;
                Some(self.beside_walls(value, array, &stored)?)
            }
        };
        for (at, weight) in beyond {
            let value = self.read(array, at)?;
            sum = Some(self.plus_product(sum, weight, value)?);
        }
        let value = sum.expect("a stencil has a weight");
        self.sums.insert(key, value);
        Ok(value)
    }

    /// A stencil of an expression, which is computed at each neighbour.
    fn expanded(&mut self, stencil: usize, argument: &Node, at: Offset) -> Result<Value, String> {
        let stencils = self.stencils;
        let mut sum = None;
        for tap in stencils[stencil].taps() {
            let value = self.write(argument, plus(at, tap.offset))?;
            sum = Some(self.plus_product(sum, tap.weight, value)?);
        }
        Ok(sum.expect("a stencil has a weight"))
    }

    /// A sum with the product of a constant weight and a value.
    fn plus_product(
        &mut self,
        sum: Option<Value>,
        weight: f64,
        value: Value,
    ) -> Result<Value, String> {
        let weight = self.scalar(&Node::Number(weight));
        let part = self.call(Function::Multiply, vec![weight, value])?;
        match sum {
            Some(sum) => self.call(Function::Add, vec![sum, part]),
            None => Ok(part),
        }
    }

    fn push(&mut self, operation: Operation) -> Result<Value, String> {
        let operations = &mut self.program.operations;
        if operations.len() == MOST_OPERATIONS {
            return Err(format!("this takes over {MOST_OPERATIONS} operations at each point"));
        }
        operations.push(operation);
        Ok(Value::Result(operations.len() - 1))
    }
}

fn plus(a: Offset, b: Offset) -> Offset {
    std::array::from_fn(|axis| a[axis] + b[axis])
}

fn near(at: Offset) -> Result<Offset, String> {
    if at.iter().all(|offset| offset.abs() <= MOST_REACH) {
        return Ok(at);
    }
    Err(format!("this reads values more than {MOST_REACH} points away"))
}
