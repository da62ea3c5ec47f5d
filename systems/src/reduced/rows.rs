// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions of values that lie in this machine's memory: row by row, in blocks that stay in the first-level cache.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use crate::checked::System;
use crate::evaluate::{Evaluator, NoArrays, PlainF64, Values};
use crate::expression::{Array, Function};
use crate::program::{Offset, Operation, Program, Value};
use crate::totals::exact::{Accumulator, Partial};
use problem::Region;
use problem::boundary::NeighbourPlace;

/// Points that are computed together.
const BLOCK: usize = 256;
/// Rows whose reductions are one part, so that the parts do not depend on the threads.
const ROWS: usize = 16;

/// What each reduction is over a box of points, after so many steps, as far as those are known that it is made of.
#[must_use]
pub fn reduce(
    system: &System,
    values: &(dyn Values + '_),
    own: Region,
    (step, known): (usize, &[f64]),
) -> Vec<Partial> {
    let program = &system.totals.program;
    let evaluator = Evaluator::new(system, PlainF64, &NoArrays, step as f64).with_totals(known);
    let scalars = program.scalars.iter().map(|node| vec![evaluator.at(node, [0; 3]); BLOCK]);
    let scalars: Vec<Vec<f64>> = scalars.collect();
    let [planes, rows, _] = own.extents();
    let all: Vec<[isize; 2]> = (0..planes * rows)
        .map(|row| [row / rows, row % rows].map(|at| at as isize))
        .map(|[z, y]| [own.low[0] + z, own.low[1] + y])
        .collect();
    let of_rows = |rows: &[[isize; 2]]| {
        let mut sums: Vec<Accumulator> = system.totals.folds().map(Accumulator::new).collect();
        let mut room = RowBuffers::new(program, &scalars);
        for row in rows {
            let of = Row { system, values, row: *row, columns: own.low[2]..own.high[2] };
            of.reduce(&mut room, &mut sums);
        }
        sums.iter().map(Accumulator::partial).collect::<Vec<_>>()
    };
    let parts: Vec<Vec<Partial>> = all.par_chunks(ROWS).map(of_rows).collect();
    system.totals.in_one(parts.iter().map(Vec::as_slice))
}

/// Room for what is computed of a block, and for the rows that are read.
struct RowBuffers<'a> {
    program: &'a Program,
    scalars: &'a [Vec<f64>],
    /// Of each operation.
    results: Vec<Vec<f64>>,
    /// Coordinates and indices.
    coordinates: HashMap<Value, Vec<f64>>,
    /// Rows of arrays at some distance along z and y, from so far before the first column on.
    rows: HashMap<(Array, [i32; 2]), Vec<f64>>,
    /// How far values are read along x.
    reach: usize,
}

impl<'a> RowBuffers<'a> {
    fn new(program: &'a Program, scalars: &'a [Vec<f64>]) -> Self {
        let results = vec![vec![0.0; BLOCK]; program.operations.len()];
        let mut coordinates = HashMap::new();
        let mut note = |value: &Value| {
            if let Value::Coordinate(..) | Value::Index(..) = value {
                coordinates.insert(*value, vec![0.0; BLOCK]);
            }
        };
        for operation in &program.operations {
            if let Operation::Call(_, values) = operation {
                values.iter().for_each(&mut note);
            }
        }
        program.results.iter().for_each(note);
        let [.., reach] = program.reach(|_| true);
        let rows = program.reads().map(|(array, [z, y, _])| ((array, [z, y]), Vec::new()));
        let rows = rows.collect();
        Self { program, scalars, results, coordinates, rows, reach }
    }

    /// Values of a block of so many points from a column on.
    fn operand(&self, value: &Value, block: &Range<usize>) -> &[f64] {
        match value {
            Value::Result(result) => &self.results[*result][..block.len()],
            Value::Scalar(scalar) => &self.scalars[*scalar][..block.len()],
            Value::Coordinate(..) | Value::Index(..) => &self.coordinates[value][..block.len()],
            Value::Read(array, offset) => self.read(*array, *offset, block),
        }
    }

    fn read(&self, array: Array, [z, y, x]: Offset, block: &Range<usize>) -> &[f64] {
        let first = (block.start + self.reach).strict_add_signed(x as isize);
        &self.rows[&(array, [z, y])][first..first + block.len()]
    }

    /// Computes all operations of a block.
    fn compute(&mut self, block: &Range<usize>) {
        for (number, operation) in self.program.operations.iter().enumerate() {
            let mut result = std::mem::take(&mut self.results[number]);
            let to = &mut result[..block.len()];
            match operation {
                Operation::Sum(array, taps) => {
                    for (number, (offset, weight)) in taps.iter().enumerate() {
                        let values = self.read(*array, *offset, block);
                        let parts = to.iter_mut().zip(values);
                        match number {
                            0 => parts.for_each(|(to, value)| *to = weight * value),
                            _ => parts.for_each(|(to, value)| *to += weight * value),
                        }
                    }
                }
                Operation::Noise(..) => unreachable!("totals hold no random numbers"),
                Operation::Call(function, values) => match values.as_slice() {
                    [a] => one(*function, to, self.operand(a, block)),
                    [a, b] => two(*function, to, self.operand(a, block), self.operand(b, block)),
                    all => {
                        let all: Vec<&[f64]> =
                            all.iter().map(|value| self.operand(value, block)).collect();
                        let mut arguments = vec![0.0; all.len()];
                        for (point, to) in to.iter_mut().enumerate() {
                            arguments.iter_mut().zip(&all).for_each(|(to, of)| *to = of[point]);
                            *to = function.of(&arguments);
                        }
                    }
                },
            }
            self.results[number] = result;
        }
    }
}

fn one(function: Function, to: &mut [f64], a: &[f64]) {
    let mut each = |f: &dyn Fn(f64) -> f64| to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*a));
    match function {
        Function::PowerOf(2) => to.iter_mut().zip(a).for_each(|(to, a)| *to = a * a),
        Function::Abs => to.iter_mut().zip(a).for_each(|(to, a)| *to = a.abs()),
        Function::PowerOf(n) => each(&|a| power(a, n)),
        other => each(&|a| other.of(&[a])),
    }
}

/// By squaring, in the order of operations of the kernels for GPUs; a negative one by a division at the end.
fn power(base: f64, n: i32) -> f64 {
    let (mut rest, mut square, mut power) = (n.unsigned_abs(), base, 1.0);
    while rest > 0 {
        if rest % 2 == 1 {
            power *= square;
        }
        square *= square;
        rest /= 2;
    }
    if n > 0 { power } else { 1.0 / power }
}

fn two(function: Function, to: &mut [f64], a: &[f64], b: &[f64]) {
    let all = to.iter_mut().zip(a.iter().zip(b));
    match function {
        Function::Add => all.for_each(|(to, (a, b))| *to = a + b),
        Function::Subtract => all.for_each(|(to, (a, b))| *to = a - b),
        Function::Multiply => all.for_each(|(to, (a, b))| *to = a * b),
        Function::Divide => all.for_each(|(to, (a, b))| *to = a / b),
        other => all.for_each(|(to, (a, b))| *to = other.of(&[*a, *b])),
    }
}

/// A row of points.
struct Row<'a, V: ?Sized> {
    system: &'a System,
    values: &'a V,
    /// Its place along z and y.
    row: [isize; 2],
    columns: Range<isize>,
}

impl<V: Values + ?Sized> Row<'_, V> {
    fn reduce(&self, room: &mut RowBuffers, sums: &mut [Accumulator]) {
        let [z, y] = self.row;
        let reach = room.reach as isize;
        for ((array, [dz, dy]), to) in &mut room.rows {
            to.resize((self.columns.end - self.columns.start + 2 * reach) as usize, 0.0);
            let row = [z + *dz as isize, y + *dy as isize];
            self.fetch(*array, row, self.columns.start - reach, to);
        }
        let length = (self.columns.end - self.columns.start) as usize;
        for start in (0..length).step_by(BLOCK) {
            let block = start..length.min(start + BLOCK);
            let System { origin, spacing, .. } = self.system;
            let point = [z, y, self.columns.start + start as isize];
            for (value, to) in &mut room.coordinates {
                let (axis, offset, unit) = match *value {
                    Value::Coordinate(axis, offset) => (axis, offset, spacing[axis]),
                    Value::Index(axis, offset) => (axis, offset, 1.0),
                    _ => unreachable!("neither is of a place"),
                };
                let first = point[axis] + origin[axis] + offset[axis] as isize;
                for (column, to) in to.iter_mut().enumerate() {
                    let along = if axis == 2 { column as isize } else { 0 };
                    *to = (first + along) as f64 * unit;
                }
            }
            room.compute(&block);
            for (sum, value) in sums.iter_mut().zip(&room.program.results) {
                sum.take(room.operand(value, &block));
            }
        }
    }

    /// The value of an array at a point outside of the grid, but for expressions at sides, which the program adds: the rule of x
    /// comes first, then that of y, then that of z.
    fn beyond(&self, array: Array, point: [isize; 3]) -> f64 {
        let extents = self.system.shape.extents();
        let boundary = self.system.boundary_of(array);
        let (mut place, mut images, mut end) = ([0; 3], Vec::new(), None);
        for axis in [2, 1, 0] {
            match boundary.resolve(axis, point[axis], extents[axis]) {
                NeighbourPlace::Inside(at, image) => {
                    place[axis] = at;
                    images.push(image);
                }
                NeighbourPlace::Value(value) => {
                    end = Some(value);
                    break;
                }
            }
        }
        let index = || (place[0] * extents[1] + place[1]) * extents[2] + place[2];
        let value = end.unwrap_or_else(|| self.values.value(array, index()));
        images.iter().rev().fold(value, |value, image| value * image.factor + image.added)
    }

    /// Values of a row of an array from a column on.
    fn fetch(&self, array: Array, [z, y]: [isize; 2], first: isize, to: &mut [f64]) {
        let [nz, ny, nx] = self.system.shape.extents().map(|extent| extent as isize);
        let is_row = (0..nz).contains(&z) && (0..ny).contains(&y);
        let inside = if is_row { 0.max(first)..nx.min(first + to.len() as isize) } else { 0..0 };
        for (column, to) in (first..).zip(&mut *to) {
            if !inside.contains(&column) {
                *to = self.beyond(array, [z, y, column]);
            }
        }
        if !inside.is_empty() {
            let start = ((z * ny + y) * nx + inside.start) as usize;
            let to = &mut to[(inside.start - first) as usize..(inside.end - first) as usize];
            self.values.row(array, start, to);
        }
    }
}
