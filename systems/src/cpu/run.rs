// SPDX-License-Identifier: MIT OR Apache-2.0
//! The execution of a program on a row of points, in blocks whose values stay in vector registers from step to step.
//!
//! What a point gets does not depend on where it lies in a block: all blocks take the same steps with the same
//! instructions, and of the last one of a row only what belongs to it is stored.

use fearless_simd::{Simd, SimdBase, SimdFloat, SimdFrom};
use prefetch_index::prefetch_index;

use super::block::{AHEAD, BEHIND, FEW, LINE, VECTORS};
use super::code::{Code, Operand};
use super::functions;
use super::noise;
use super::real::Real;
use super::step::BlockStep;
use crate::checked::System;

/// A row of points, and what is computed of it.
pub struct PointRow<'a, R> {
    /// What is computed.
    pub code: &'a Code<R>,
    /// Of each array that is read ([`Code::arrays`]) its values from the first place of the row's first point on.
    pub reads: &'a [&'a [R]],
    /// The system, whose points have coordinates.
    pub system: &'a System,
    /// The first point (z, y, x).
    pub point: [usize; 3],
}

/// Room for the slots of a block, with the numbers that all points share.
#[inline(always)]
pub fn slots<R: Real, S: Simd>(_: S, code: &Code<R>, scalars: &[R]) -> Vec<R> {
    let width = VECTORS * R::Vector::<S>::LEN;
    let mut slots = vec![R::ZERO; code.slots * width];
    for (slot, scalar) in slots.chunks_mut(width).zip(scalars) {
        slot.fill(*scalar);
    }
    slots
}

impl<R: Real> PointRow<'_, R> {
    /// Computes the next values of each field.
    #[inline(always)]
    pub fn execute<S: Simd>(&self, simd: S, slots: &mut [R], next: &mut [&mut [R]]) {
        let lanes = R::Vector::<S>::LEN;
        let length = next[0].len();
        let mut at = 0;
        let line = (LINE / size_of::<R>()).max(1);
        while at < length {
            for (reads, values) in self.code.arrays.iter().zip(self.reads) {
                let from = at + reads.lead + AHEAD * lanes;
                for place in (from..from + VECTORS * lanes).step_by(line) {
                    prefetch_index(*values, place);
                }
            }
            if length - at > FEW * lanes {
                self.block::<S, VECTORS>(simd, at, slots, next);
                at += VECTORS * lanes;
            } else {
                self.block::<S, FEW>(simd, at, slots, next);
                at += FEW * lanes;
            }
        }
    }

    /// A block of so many vectors from a place of the row on.
    #[inline(always)]
    fn block<S: Simd, const V: usize>(
        &self,
        simd: S,
        at: usize,
        slots: &mut [R],
        next: &mut [&mut [R]],
    ) {
        let lanes = R::Vector::<S>::LEN;
        let (size, width) = (V * lanes, VECTORS * lanes);
        let splat = |value: R| R::Vector::<S>::simd_from(simd, value);
        macro_rules! operand {
            ($operand:expr) => {
                match *$operand {
                    Operand::Slot(slot) => &slots[slot * width..][..size],
                    Operand::Read { array, place } => &self.reads[array][at + place..][..size],
                }
            };
        }
        macro_rules! each {
            ($values:ident, |$vector:ident| $what:expr) => {
                for $vector in 0..V {
                    $values[$vector] = $what;
                }
            };
        }
        let mut values = [splat(R::ZERO); V];
        for step in &self.code.steps {
            match step {
                BlockStep::Load(a) => {
                    let a = operand!(a);
                    each!(values, |it| vector(simd, a, it));
                }
                BlockStep::Product(a, b) => {
                    let (a, b) = (operand!(a), operand!(b));
                    each!(values, |it| vector::<R, S>(simd, a, it) * vector::<R, S>(simd, b, it));
                }
                BlockStep::Sum(taps) => {
                    values = [splat(R::ZERO); V];
                    for (a, weight) in taps {
                        let (a, weight) = (operand!(a), splat(*weight));
                        each!(values, |it| vector::<R, S>(simd, a, it).mul_add(weight, values[it]));
                    }
                }
                BlockStep::Add(a) => {
                    let a = operand!(a);
                    each!(values, |it| values[it] + vector::<R, S>(simd, a, it));
                }
                BlockStep::Subtract(a) => {
                    let a = operand!(a);
                    each!(values, |it| values[it] - vector::<R, S>(simd, a, it));
                }
                BlockStep::SubtractFrom(a) => {
                    let a = operand!(a);
                    each!(values, |it| vector::<R, S>(simd, a, it) - values[it]);
                }
                BlockStep::Square => each!(values, |it| values[it] * values[it]),
                BlockStep::Multiply(a) => {
                    let a = operand!(a);
                    each!(values, |it| values[it] * vector::<R, S>(simd, a, it));
                }
                BlockStep::Divide(a) => {
                    let a = operand!(a);
                    each!(values, |it| values[it] / vector::<R, S>(simd, a, it));
                }
                BlockStep::DivideInto(a) => {
                    let a = operand!(a);
                    each!(values, |it| vector::<R, S>(simd, a, it) / values[it]);
                }
                BlockStep::AddProduct(a, b) => {
                    let (a, b) = (operand!(a), operand!(b));
                    each!(values, |it| vector::<R, S>(simd, a, it)
                        .mul_add(vector::<R, S>(simd, b, it), values[it]));
                }
                BlockStep::SubtractProduct(a, b) => {
                    let (a, b) = (operand!(a), operand!(b));
                    each!(values, |it| (-vector::<R, S>(simd, a, it))
                        .mul_add(vector::<R, S>(simd, b, it), values[it]));
                }
                BlockStep::SubtractFromProduct(a, b) => {
                    let (a, b) = (operand!(a), operand!(b));
                    each!(values, |it| vector::<R, S>(simd, a, it)
                        .mul_sub(vector::<R, S>(simd, b, it), values[it]));
                }
                BlockStep::Call(function, place, others) => {
                    let mut stored = [R::ZERO; BEHIND];
                    let stored = &mut stored[..size];
                    store::<R, S, V>(&values, stored);
                    let [a, b] = match &others[..] {
                        [] => [&[][..]; 2],
                        [a] => [operand!(a), &[]],
                        [a, b, ..] => [operand!(a), operand!(b)],
                    };
                    functions::apply(simd, *function, *place, stored, [a, b]);
                    each!(values, |it| vector(simd, stored, it));
                }
                BlockStep::Own(field) => {
                    let row = &next[*field][at..];
                    if row.len() < size {
                        let mut padded = [R::ZERO; BEHIND];
                        padded[..row.len()].copy_from_slice(row);
                        each!(values, |it| vector(simd, &padded, it));
                    } else {
                        let row = &row[..size];
                        each!(values, |it| vector(simd, row, it));
                    }
                }
                BlockStep::Coordinate(coordinate) => {
                    let mut coordinates = [R::ZERO; BEHIND];
                    let axis = coordinate.axis;
                    for (index, to) in coordinates[..size].iter_mut().enumerate() {
                        let along = if axis == 2 { at + index } else { 0 };
                        *to = coordinate.at(self.system, self.point[axis] + along);
                    }
                    each!(values, |it| vector(simd, &coordinates[..size], it));
                }
                BlockStep::Noise(noise, [low, high]) => {
                    let mut numbers = [R::ZERO; BEHIND];
                    let step = noise::step([operand!(low)[0], operand!(high)[0]]);
                    let [z, y, x] = self.point;
                    let row = noise::NoiseRow { noise: *noise, step, point: [z, y, x + at] };
                    row.fill(self.system, &mut numbers[..size]);
                    each!(values, |it| vector(simd, &numbers[..size], it));
                }
                BlockStep::Store(slot) => {
                    store::<R, S, V>(&values, &mut slots[slot * width..][..size]);
                }
                BlockStep::Write(field) => {
                    let row = &mut next[*field][at..];
                    if row.len() < size {
                        let mut padded = [R::ZERO; BEHIND];
                        store::<R, S, V>(&values, &mut padded[..size]);
                        row.copy_from_slice(&padded[..row.len()]);
                    } else {
                        store::<R, S, V>(&values, &mut row[..size]);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn vector<R: Real, S: Simd>(simd: S, values: &[R], number: usize) -> R::Vector<S> {
    let lanes = R::Vector::<S>::LEN;
    SimdBase::from_slice(simd, &values[number * lanes..][..lanes])
}

#[inline(always)]
fn store<R: Real, S: Simd, const V: usize>(values: &[R::Vector<S>; V], to: &mut [R]) {
    let lanes = R::Vector::<S>::LEN;
    for number in 0..V {
        values[number].store_slice(&mut to[number * lanes..][..lanes]);
    }
}
