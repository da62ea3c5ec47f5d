// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value of an expression at a point, straight from its tree. In f64 it is the oracle of all engines; with
//! [intervals](super::interval) it also says what rounding can make of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use super::checked::System;
use super::description::Table;
use super::expression::{Array, Function, Node};
use super::parts::WallImage;
use compute::engine::fft::solve::Solver;
use problem::boundary::{Image, NeighbourPlace, Side};
use problem::{Dtype, Shape};

/// Numbers of some kind, and how they are computed with.
pub trait NumberKind: Clone {
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
    fn solved(&self, solver: &Solver, right: Vec<Self::Number>) -> Vec<Self::Number>;
}

/// The solutions of solves, each with the value of each point.
pub type Solved<N> = BTreeMap<Array, Vec<N>>;

/// Arithmetic in f64, as the CPU does it.
#[derive(Clone, Copy, Debug)]
pub struct PlainF64;

impl NumberKind for PlainF64 {
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

    fn solved(&self, solver: &Solver, right: Vec<f64>) -> Vec<f64> {
        solver.solution(&right)
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
pub struct NoArrays;

impl Values for NoArrays {
    fn value(&self, _: Array, _: usize) -> f64 {
        unreachable!("what is one number for a step reads no array")
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("what is one number for a step is not random")
    }
}

/// What expressions are evaluated with.
pub struct Evaluator<'a, N: NumberKind, V: ?Sized> {
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

impl<'a, N: NumberKind, V: Values + ?Sized> Evaluator<'a, N, V> {
    /// An evaluator of a system's expressions, after so many steps.
    pub fn new(system: &'a System, numbers: N, values: &'a V, step: f64) -> Self {
        let (totals, solved, computed) = (&[] as &[f64], None, Mutex::default());
        Self { system, numbers, values, step, totals, solved, computed }
    }

    /// One that knows what the reductions of the system's totals are.
    #[must_use]
    pub fn with_totals(self, totals: &'a [f64]) -> Self {
        Self { totals, ..self }
    }

    /// One that knows the solutions of the step's solves.
    #[must_use]
    pub fn with_solved(self, solved: &'a Solved<N::Number>) -> Self {
        Self { solved: Some(solved), ..self }
    }

    /// The value of a part of an expression at a point (z, y, x), which may lie outside of the grid.
    pub fn at(&self, node: &Node, point: [isize; 3]) -> N::Number {
        self.seen(node, point, point)
    }

    /// The value of a part of an expression at a point, as the point that it is computed for finds it.
    fn seen(&self, node: &Node, point: [isize; 3], from: [isize; 3]) -> N::Number {
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
            Node::Read(array) => match self.parts(*array, point, from) {
                (value, None) => value,
                (value, Some(more)) => self.numbers.sum(&[(1.0, value), (1.0, more)]),
            },
            Node::Call(function, arguments) => {
                let value = |part| self.seen(part, point, from);
                match arguments.as_slice() {
                    [a] => self.numbers.call(*function, &[value(a)]),
                    [a, b] => self.numbers.call(*function, &[value(a), value(b)]),
                    all => self.numbers.call(*function, &all.iter().map(value).collect::<Vec<_>>()),
                }
            }
            Node::Stencil(stencil, argument) => {
                let mut parts = Vec::new();
                for tap in stencils[*stencil].taps() {
                    let place = std::array::from_fn(|axis| point[axis] + tap.offset[axis] as isize);
                    let (value, more) = match **argument {
                        Node::Read(array) => self.parts(array, place, from),
                        _ => (self.seen(argument, place, from), None),
                    };
                    parts.push((tap.weight, value));
                    parts.extend(more.map(|more| (tap.weight, more)));
                }
                self.numbers.sum(&parts)
            }
            Node::Solve(..) => unreachable!("the solutions of solves are known"),
            Node::Table(table, argument) => {
                self.numbers.table(&tables[*table], self.seen(argument, point, from))
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

    /// The value of an array at a point, as another one finds it: a number, or a sum of two that an engine has apart, what sides
    /// add beyond a solid point and what its walls give.
    fn parts(
        &self,
        array: Array,
        point: [isize; 3],
        from: [isize; 3],
    ) -> (N::Number, Option<N::Number>) {
        if let Some(index) = inside(self.system.shape, point) {
            let given = if point == from { None } else { self.of_walls(array, index, from) };
            return (given.unwrap_or_else(|| self.read(array, Ok(index))), None);
        }
        let way = self.way(array, point);
        match way.found.ok().and_then(|index| self.of_walls(array, index, from)) {
            None => (self.beyond(&way, self.read(array, way.found)), None),
            Some(given) if way.adds() => {
                let added = self.beyond(&way, self.numbers.number(0.0));
                (added, Some(self.beyond(&way.without_added(), given)))
            }
            Some(given) => (self.beyond(&way, given), None),
        }
    }

    /// What walls give instead of the value of an array at a place in C order, if that is solid. Which values are read for it
    /// depends on none of them.
    fn of_walls(&self, array: Array, index: usize, from: [isize; 3]) -> Option<N::Number> {
        let WallImage { of, factor, .. } = self.system.wall_image(array)?;
        let solid = Array::Coefficient(self.system.solid?);
        let own = inside(self.system.shape, from).expect("what has walls is read from the grid");
        self.read(array, Ok(index));
        let given = self.read(of, Ok(own));
        let is_solid = self.values.value(solid, index) != 0.0;
        is_solid.then(|| match factor {
            -1.0 => self.numbers.call(Function::Negate, &[given]),
            _ => given,
        })
    }

    /// Where the way from a point outside of the grid leads: the rule of x comes first, then that of y, then that of z.
    fn way(&self, array: Array, point: [isize; 3]) -> OutsidePath {
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
                NeighbourPlace::Inside(at, image) => {
                    place[axis] = at;
                    ways.push((image, added));
                }
                NeighbourPlace::Value(value) => {
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
        OutsidePath { point, found, later, ways }
    }

    /// What sides make of the value of an array where the way from a point outside leads.
    fn beyond(&self, way: &OutsidePath, value: N::Number) -> N::Number {
        let OutsidePath { point, ways, later, .. } = way;
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
            let number = |number: usize| then.at(&self.system.side_values[number], *point);
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
        let solid = self.system.solid.map(Array::Coefficient);
        let is_solid = || {
            let index = inside(self.system.shape, point).expect("sources are of the grid");
            solid.is_some_and(|solid| self.values.value(solid, index) != 0.0)
        };
        let is_kept = || {
            let plain = Evaluator::new(self.system, PlainF64, self.values, self.step);
            let plain = plain.with_totals(self.totals);
            keep.is_some_and(|keep| plain.at(keep, point) != 0.0)
        };
        let mut sources = sources.peekable();
        if sources.peek().is_none() || is_kept() || is_solid() {
            return next;
        }
        sources.fold(next, |sum, source| {
            self.numbers.call(Function::Add, &[sum, self.at(&source.add, point)])
        })
    }
}

/// The way from a point outside of the grid to a value.
#[derive(Clone)]
struct OutsidePath {
    /// The point (z, y, x).
    point: [isize; 3],
    /// The place in C order that it leads to, or the value that is there instead.
    found: Result<usize, f64>,
    /// Steps from the time before a step to that of the value.
    later: f64,
    /// What becomes of the value along x, y and z, and which expressions are added how often.
    ways: Vec<(Image, Vec<(f64, usize)>)>,
}

impl OutsidePath {
    /// Whether anything is added to the value.
    fn adds(&self) -> bool {
        self.ways.iter().any(|(image, added)| image.added != 0.0 || !added.is_empty())
    }

    fn without_added(&self) -> Self {
        let own = |(image, _): &(Image, _)| (Image { added: 0.0, ..*image }, Vec::new());
        Self { ways: self.ways.iter().map(own).collect(), ..self.clone() }
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
