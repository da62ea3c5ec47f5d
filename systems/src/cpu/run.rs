// SPDX-License-Identifier: MIT OR Apache-2.0
//! The execution of instructions on a run of points: each a loop over slices that the compiler makes vectors of.

use super::super::expression::Function;
use super::super::program::Offset;
use super::Arrays;
use super::code::{Action, Code, Instruction, Operand};
use super::real::Real;

/// Points that are computed together: the runs of results of many operations fit the first-level cache.
pub const RUN: usize = 256;

/// A run of points, and what is computed of it.
pub struct Run<'a, R> {
    /// The arrays that are read.
    pub arrays: &'a Arrays<R>,
    /// One number each for all points.
    pub scalars: &'a [R],
    /// Where the first point of the arrays lies in the whole grid.
    pub origin: [isize; 3],
    /// Distance of points.
    pub spacing: [f64; 3],
    /// The first point (z, y, x).
    pub point: [usize; 3],
    /// How many points, at most [`RUN`].
    pub length: usize,
}

/// Values of a run.
enum Source<'a, R> {
    Many(&'a [R]),
    One(R),
}

impl<R: Real> Run<'_, R> {
    /// Executes a program, whose results of each operation are left in the slots.
    #[inline(always)]
    pub fn execute(&self, code: &Code, slots: &mut [Vec<R>]) {
        for Instruction { action, to } in &code.instructions {
            let mut target = std::mem::take(&mut slots[*to]);
            self.instruct(action, slots, &mut target[..self.length]);
            slots[*to] = target;
        }
    }

    /// Copies the values of an operand.
    #[inline(always)]
    pub fn copy(&self, operand: &Operand, slots: &[Vec<R>], to: &mut [R]) {
        match self.source(operand, slots) {
            Source::Many(values) => to.copy_from_slice(values),
            Source::One(value) => to.fill(value),
        }
    }

    #[inline(always)]
    fn instruct(&self, action: &Action, slots: &[Vec<R>], to: &mut [R]) {
        match action {
            Action::Coordinates(offset) => {
                let first = (self.point[2] as isize + self.origin[2]) as f64;
                for (index, to) in to.iter_mut().enumerate() {
                    let place = first + index as f64 + f64::from(*offset);
                    *to = R::from_f64(place * self.spacing[2]);
                }
            }
            Action::Sum(array, taps) => {
                let row = |offset: Offset| self.arrays.row(*array, self.point, offset, self.length);
                let (first, rest) = taps.split_at(taps.len() % 4);
                match first {
                    [] => to.fill(R::ZERO),
                    [(offset, weight), more @ ..] => {
                        let weight = R::from_f64(*weight);
                        let row = row(*offset);
                        to.iter_mut().zip(row).for_each(|(to, value)| *to = weight * *value);
                        for (offset, weight) in more {
                            add_one(
                                to,
                                R::from_f64(*weight),
                                self.arrays.row(*array, self.point, *offset, self.length),
                            );
                        }
                    }
                }
                for four in rest.chunks_exact(4) {
                    let rows = [0, 1, 2, 3].map(|tap: usize| row(four[tap].0));
                    add_four(to, [0, 1, 2, 3].map(|tap: usize| R::from_f64(four[tap].1)), rows);
                }
            }
            Action::Call(function, operands) => self.call(*function, operands, slots, to),
        }
    }

    #[inline(always)]
    fn call(&self, function: Function, operands: &[Operand], slots: &[Vec<R>], to: &mut [R]) {
        let source = |index: usize| self.source(&operands[index], slots);
        let truth = |holds: bool| if holds { R::ONE } else { R::ZERO };
        let (one, two) = (|| source(0), || (source(0), source(1)));
        match function {
            Function::Negate => map(to, one(), |a| -a),
            Function::Abs => map(to, one(), R::magnitude),
            Function::Sqrt => map(to, one(), R::root),
            Function::PowerOf(n) => whole_power(to, one(), n),
            Function::Not => map(to, one(), |a| R::ONE - a),
            Function::Add => pairs(to, two(), |a, b| a + b),
            Function::Subtract => pairs(to, two(), |a, b| a - b),
            Function::Multiply => pairs(to, two(), |a, b| a * b),
            Function::Divide => pairs(to, two(), |a, b| a / b),
            Function::Min | Function::And => pairs(to, two(), |a, b| if a < b { a } else { b }),
            Function::Max | Function::Or => pairs(to, two(), |a, b| if a > b { a } else { b }),
            Function::Less => pairs(to, two(), |a, b| truth(a < b)),
            Function::LessEqual => pairs(to, two(), |a, b| truth(a <= b)),
            Function::Equal => pairs(to, two(), |a, b| truth(a == b)),
            Function::If => {
                self.copy(&operands[2], slots, to);
                match (source(0), source(1)) {
                    (Source::One(holds), yes) => {
                        if holds != R::ZERO {
                            map(to, yes, |a| a);
                        }
                    }
                    (Source::Many(holds), Source::Many(yes)) => {
                        for ((to, holds), yes) in to.iter_mut().zip(holds).zip(yes) {
                            *to = if *holds != R::ZERO { *yes } else { *to };
                        }
                    }
                    (Source::Many(holds), Source::One(yes)) => {
                        for (to, holds) in to.iter_mut().zip(holds) {
                            *to = if *holds != R::ZERO { yes } else { *to };
                        }
                    }
                }
            }
            other if other.takes().len() == 1 => map(to, one(), |a| a.of_one(other)),
            other => pairs(to, two(), |a, b| a.of_two(b, other)),
        }
    }

    #[inline(always)]
    fn source<'b>(&'b self, operand: &Operand, slots: &'b [Vec<R>]) -> Source<'b, R> {
        match *operand {
            Operand::Slot(slot) => Source::Many(&slots[slot][..self.length]),
            Operand::Scalar(scalar) => Source::One(self.scalars[scalar]),
            Operand::Read(array, offset) => {
                Source::Many(self.arrays.row(array, self.point, offset, self.length))
            }
            Operand::Coordinate(axis, offset) => {
                let place = (self.point[axis] as isize + self.origin[axis]) as f64;
                let place = place + f64::from(offset[axis]);
                Source::One(R::from_f64(place * self.spacing[axis]))
            }
        }
    }
}

#[inline(always)]
fn map<R: Real>(to: &mut [R], source: Source<R>, f: impl Fn(R) -> R) {
    match source {
        Source::Many(values) => to.iter_mut().zip(values).for_each(|(to, value)| *to = f(*value)),
        Source::One(value) => to.fill(f(value)),
    }
}

#[inline(always)]
fn pairs<R: Real>(to: &mut [R], (a, b): (Source<R>, Source<R>), f: impl Fn(R, R) -> R) {
    match (a, b) {
        (Source::Many(a), Source::Many(b)) => {
            to.iter_mut().zip(a).zip(b).for_each(|((to, a), b)| *to = f(*a, *b));
        }
        (Source::Many(a), Source::One(b)) => {
            to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*a, b));
        }
        (Source::One(a), Source::Many(b)) => {
            to.iter_mut().zip(b).for_each(|(to, b)| *to = f(a, *b));
        }
        (Source::One(a), Source::One(b)) => to.fill(f(a, b)),
    }
}

/// By squaring; a negative one by a division at the end.
#[inline(always)]
fn whole_power<R: Real>(to: &mut [R], source: Source<R>, n: i32) {
    map(to, source, |base| {
        let (mut rest, mut square, mut power) = (n.unsigned_abs(), base, R::ONE);
        while rest > 0 {
            if rest % 2 == 1 {
                power = power * square;
            }
            square = square * square;
            rest /= 2;
        }
        if n < 0 { R::ONE / power } else { power }
    });
}

#[inline(always)]
fn add_one<R: Real>(to: &mut [R], weight: R, row: &[R]) {
    to.iter_mut().zip(row).for_each(|(to, value)| *to = *to + weight * *value);
}

#[inline(always)]
fn add_four<R: Real>(to: &mut [R], [p, q, r, s]: [R; 4], [a, b, c, d]: [&[R]; 4]) {
    let length = to.len();
    let (a, b, c, d) = (&a[..length], &b[..length], &c[..length], &d[..length]);
    for index in 0..length {
        let sum = (p * a[index] + q * b[index]) + (r * c[index] + s * d[index]);
        to[index] = to[index] + sum;
    }
}
