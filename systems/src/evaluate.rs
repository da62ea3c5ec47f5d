// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value of an expression at a point, straight from its tree. In f64 it is the oracle of all engines; with
//! [intervals](super::interval) it also says what rounding can make of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use super::checked::System;
use super::description::Table;
use super::expression::{Array, Function, Node};
use super::solves;
use compute::engine::fft::solve::Solver;
use problem::boundary::{Image, Place, Side};
use problem::{Dtype, Shape};

/// Numbers of some kind, and how they are computed with.
pub trait Numbers: Clone {
    /// The kind.
    type Number: Copy + Send + Sync;
    /// A number as an engine has it.
    fn number(&self, value: f64) -> Self::Number;
    /// A stored value.
    fn stored(&self, value: f64) -> Self::Number;
    /// A value that was given as one number, and stored as another one.
    fn kept(&self, given: f64, stored: f64) -> Self::Number;
    /// A value that was computed in this step, as others find it: stored, or not yet.
    fn computed(&self, value: Self::Number) -> Self::Number;
    /// A function of others.
    fn call(&self, function: Function, arguments: &[Self::Number]) -> Self::Number;
    /// A weighted sum.
    fn sum(&self, parts: &[(f64, Self::Number)]) -> Self::Number;
    /// What a table makes of an argument.
    fn table(&self, table: &Table, argument: Self::Number) -> Self::Number;
    /// The solution at all points of a grid, in C order, of what has these values.
    fn solved(&self, solver: &Solver, shape: Shape, right: Vec<Self::Number>) -> Vec<Self::Number>;
}

/// The solutions of solves, each with the value of each point.
pub type Solved<N> = BTreeMap<Array, Vec<N>>;

/// Plain f64.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Numbers for Plain {
    type Number = f64;

    fn number(&self, value: f64) -> f64 {
        value
    }

    fn stored(&self, value: f64) -> f64 {
        value
    }

    fn kept(&self, given: f64, _: f64) -> f64 {
        given
    }

    fn computed(&self, value: f64) -> f64 {
        value
    }

    fn call(&self, function: Function, arguments: &[f64]) -> f64 {
        function.of(arguments)
    }

    fn sum(&self, parts: &[(f64, f64)]) -> f64 {
        parts.iter().map(|(weight, value)| weight * value).sum()
    }

    fn table(&self, table: &Table, argument: f64) -> f64 {
        table.at(argument)
    }

    fn solved(&self, solver: &Solver, shape: Shape, right: Vec<f64>) -> Vec<f64> {
        solves::solve(solver, shape.extents()[2], &right)
    }
}

/// Values of arrays, random numbers included.
pub trait Values: Sync {
    /// The stored value of an array at a point of the grid, in C order.
    fn value(&self, array: Array, index: usize) -> f64;
    /// What was given as the value of a coefficient there, if that is known and may be another one.
    fn given(&self, _coefficient: usize, _index: usize) -> Option<f64> {
        None
    }
    /// The stored values of an array at points that follow each other in a row, from this one on.
    fn row(&self, array: Array, start: usize, to: &mut [f64]) {
        (start..).zip(to).for_each(|(index, to)| *to = self.value(array, index));
    }
    /// A random number in [0, 1) of a point.
    fn random(&self, seed: u64, index: usize) -> f64;
}

/// No arrays: for what has one value for all points.
pub struct Nothing;

impl Values for Nothing {
    fn value(&self, _: Array, _: usize) -> f64 {
        unreachable!("what is one number for a step reads no array")
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("what is one number for a step is not random")
    }
}

/// What expressions are evaluated with.
pub struct Evaluator<'a, N: Numbers, V: ?Sized> {
    /// Whose expressions.
    pub system: &'a System,
    /// How numbers are computed with.
    pub numbers: N,
    /// The arrays.
    pub values: &'a V,
    /// Steps that are done.
    pub step: f64,
    /// What the reductions of the system's totals are of the present values, where expressions hold some.
    pub totals: &'a [f64],
    /// The solutions of the step's solves, where expressions read some.
    solved: Option<&'a Solved<N::Number>>,
    /// What the step has computed so far: arrays at places in C order.
    computed: Mutex<HashMap<(Array, usize), N::Number>>,
}

impl<'a, N: Numbers, V: Values + ?Sized> Evaluator<'a, N, V> {
    /// An evaluator of a system's expressions, after so many steps.
    pub fn new(system: &'a System, numbers: N, values: &'a V, step: f64) -> Self {
        let (totals, solved, computed) = (&[] as &[f64], None, Mutex::default());
        Self { system, numbers, values, step, totals, solved, computed }
    }

    /// One that knows what the reductions of the system's totals are.
    #[must_use]
    pub fn knowing(self, totals: &'a [f64]) -> Self {
        Self { totals, ..self }
    }

    /// One that knows the solutions of the step's solves.
    #[must_use]
    pub fn with_solved(self, solved: &'a Solved<N::Number>) -> Self {
        Self { solved: Some(solved), ..self }
    }

    /// The value of a part of an expression at a point (z, y, x), which may lie outside of the grid.
    pub fn at(&self, node: &Node, point: [isize; 3]) -> N::Number {
        let System { shape, origin, spacing, clock, stencils, tables, .. } = self.system;
        match node {
            Node::Number(number) => self.numbers.number(*number),
            Node::Time => self.numbers.number(clock.at(self.step)),
            Node::StepLength => self.numbers.number(clock.dt),
            Node::Step => self.numbers.number(self.step),
            Node::Total(number) => self.numbers.number(self.totals[*number]),
            Node::Coordinate(axis) => {
                let place = point[*axis] + origin[*axis];
                self.numbers.number(place as f64 * spacing[*axis])
            }
            Node::Index(axis) => self.numbers.number((point[*axis] + origin[*axis]) as f64),
            Node::Noise(noise) => {
                let place = std::array::from_fn(|axis| point[axis] + origin[axis]);
                let step = self.step as u64;
                self.numbers.number(match self.system.dtype {
                    Dtype::F64 => noise.double(step, place),
                    _ => noise.single(step, place).into(),
                })
            }
            Node::Random(seed) => {
                let index = inside(*shape, point).expect("values to start with are of the grid");
                self.numbers.number(self.values.random(*seed, index))
            }
            Node::Read(array) => match inside(*shape, point) {
                Some(index) => self.read(*array, Ok(index)),
                None => self.beyond(*array, point),
            },
            Node::Call(function, arguments) => {
                let value = |part| self.at(part, point);
                match arguments.as_slice() {
                    [a] => self.numbers.call(*function, &[value(a)]),
                    [a, b] => self.numbers.call(*function, &[value(a), value(b)]),
                    all => self.numbers.call(*function, &all.iter().map(value).collect::<Vec<_>>()),
                }
            }
            Node::Stencil(stencil, argument) => {
                let part = |tap: &transform::Tap| {
                    let place = std::array::from_fn(|axis| point[axis] + tap.offset[axis] as isize);
                    (tap.weight, self.at(argument, place))
                };
                let parts: Vec<_> = stencils[*stencil].taps().iter().map(part).collect();
                self.numbers.sum(&parts)
            }
            Node::Solve(..) => unreachable!("the solutions of solves are known"),
            Node::Table(table, argument) => {
                self.numbers.table(&tables[*table], self.at(argument, point))
            }
        }
    }

    /// The value of an array at a place in C order, or a value that is there instead.
    fn read(&self, array: Array, found: Result<usize, f64>) -> N::Number {
        let index = match found {
            Ok(index) if array.is_computed() => return self.computed(array, index),
            Ok(index) => index,
            Err(value) => return self.numbers.stored(value),
        };
        let stored = self.values.value(array, index);
        let given = match array {
            Array::Coefficient(of) => self.values.given(of, index),
            _ => None,
        };
        match given {
            Some(given) => self.numbers.kept(given, stored),
            None => self.numbers.stored(stored),
        }
    }

    /// The value of an array at a point outside of the grid: the rule of x comes first, then that of y, then that of z.
    fn beyond(&self, array: Array, point: [isize; 3]) -> N::Number {
        let (boundary, later) = self.system.around(array);
        let extents = self.system.shape.extents();
        let (mut place, mut ways, mut end) = ([0; 3], Vec::new(), None);
        for axis in [2, 1, 0] {
            let mut added = Vec::new();
            let passed = &mut |side, distance: usize, image: Image| match side {
                Side::Varying(number) => added.push((image.factor, number)),
                Side::VaryingFlux(number) => added.push((image.factor * distance as f64, number)),
                _ => (),
            };
            match boundary.resolve_by(axis, point[axis], extents[axis], passed) {
                Place::Inside(at, image) => {
                    place[axis] = at;
                    ways.push((image, added));
                }
                Place::Value(value) => {
                    end = Some(value);
                    ways.push((Image::SAME, added));
                    break;
                }
            }
        }
        let found = match end {
            Some(value) => Err(value),
            None => Ok((place[0] * extents[1] + place[1]) * extents[2] + place[2]),
        };
        let value = self.read(array, found);
        let rise = |image: &Image| (image.added != 0.0).then_some(image.added);
        // Slopes that are numbers are added up in any order.
        if ways.iter().all(|(image, added)| image.factor == 1.0 && added.is_empty()) {
            let rises = ways.iter().filter_map(|(image, _)| rise(image));
            let mut parts = vec![(1.0, value)];
            parts.extend(rises.map(|rise| (1.0, self.numbers.number(rise))));
            return if parts.len() == 1 { value } else { self.numbers.sum(&parts) };
        }
        let then = Self::new(self.system, self.numbers.clone(), self.values, self.step + later);
        ways.iter().rev().fold(value, |value, (image, added)| {
            let mut parts = match image.factor {
                -1.0 => vec![(1.0, self.numbers.call(Function::Negate, &[value]))],
                factor => vec![(factor, value)],
            };
            parts.extend(rise(image).map(|rise| (1.0, self.numbers.number(rise))));
            let number = |number: usize| then.at(&self.system.side_values[number], point);
            parts.extend(added.iter().map(|(factor, at)| (*factor, number(*at))));
            match parts.as_slice() {
                [(1.0, value)] => *value,
                parts => self.numbers.sum(parts),
            }
        })
    }

    /// What the step makes of an array at a place in C order.
    pub fn computed(&self, array: Array, index: usize) -> N::Number {
        if let Some(solution) = self.solved.and_then(|all| all.get(&array)) {
            return self.numbers.computed(solution[index]);
        }
        let known = || self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known().get(&(array, index)) {
            return *value;
        }
        let [_, ny, nx] = self.system.shape.extents();
        let point = [index / (ny * nx), index / nx % ny, index % nx].map(|at| at as isize);
        let value = match array {
            Array::New(field) => {
                self.with_sources(field, point, self.at(&self.system.fields[field].next, point))
            }
            Array::Work(work) => self.at(&self.system.works[work].value, point),
            _ => unreachable!("a step computes neither levels nor coefficients"),
        };
        let value = self.numbers.computed(value);
        known().insert((array, index), value);
        value
    }

    /// The next value of a field at a point, with what sources add to it.
    pub fn with_sources(&self, field: usize, point: [isize; 3], next: N::Number) -> N::Number {
        let sources = self
            .system
            .sources
            .iter()
            .filter(|source| source.field == field && source.at.map(|at| at as isize) == point);
        let keep = self.system.fields[field].keep.as_ref();
        let is_kept = || {
            let plain = Evaluator::new(self.system, Plain, self.values, self.step);
            let plain = plain.knowing(self.totals);
            keep.is_some_and(|keep| plain.at(keep, point) != 0.0)
        };
        let mut sources = sources.peekable();
        if sources.peek().is_none() || is_kept() {
            return next;
        }
        sources.fold(next, |sum, source| {
            self.numbers.call(Function::Add, &[sum, self.at(&source.add, point)])
        })
    }
}

/// The place in C order of a point of the grid.
fn inside(shape: Shape, point: [isize; 3]) -> Option<usize> {
    let extents = shape.extents();
    let is_inside = (0..3).all(|axis| (0..extents[axis] as isize).contains(&point[axis]));
    let [z, y, x] = point.map(|at| at as usize);
    is_inside.then(|| (z * extents[1] + y) * extents[2] + x)
}

impl Table {
    /// Its value at an argument.
    #[must_use]
    pub fn at(&self, argument: f64) -> f64 {
        let Self { arguments, values } = self;
        let after = arguments.partition_point(|known| *known <= argument);
        match after {
            0 => values[0],
            _ if after == values.len() => values[after - 1],
            _ => {
                let [left, right] = [arguments[after - 1], arguments[after]];
                let part = (argument - left) / (right - left);
                values[after - 1] + part * (values[after] - values[after - 1])
            }
        }
    }
}
