// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done to a block of values in registers.

use super::super::checked::System;
use super::super::expression::Function;
use super::super::program::Offset;
use super::real::Real;
use problem::noise::Noise;

/// Where points lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// The axis.
    pub axis: usize,
    /// How far from the point.
    pub offset: Offset,
    /// Whether it is the number of points before, not the distance from the first one.
    pub is_index: bool,
}

impl Coordinate {
    /// Its value at a point that has this place along the axis.
    pub fn at<R: Real>(&self, system: &System, point: usize) -> R {
        let Self { axis, offset, is_index } = *self;
        let place = point as f64 + system.origin[axis] as f64 + f64::from(offset[axis]);
        R::from_f64(if is_index { place } else { place * system.spacing[axis] })
    }
}

/// A step on the values of a block in registers.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockStep<O, R> {
    /// They become these.
    Load(O),
    /// They become what the place of a field's next values holds.
    Own(usize),
    /// They become these.
    Coordinate(Coordinate),
    /// They become random numbers of the step, of which these are the lower and the higher part.
    Noise(Noise, [O; 2]),
    /// They become products.
    Product(O, O),
    /// They become sums of products with constant weights.
    Sum(Vec<(O, R)>),
    /// These are added.
    Add(O),
    /// These are subtracted.
    Subtract(O),
    /// They are subtracted from these.
    SubtractFrom(O),
    /// They are multiplied by themselves.
    Square,
    /// They are multiplied by these.
    Multiply(O),
    /// They are divided by these.
    Divide(O),
    /// These are divided by them.
    DivideInto(O),
    /// Products are added.
    AddProduct(O, O),
    /// Products are subtracted.
    SubtractProduct(O, O),
    /// They are subtracted from products.
    SubtractFromProduct(O, O),
    /// They become a function of themselves, at this place among its arguments, and of others.
    Call(Function, usize, Vec<O>),
    /// They are stored in a slot.
    Store(usize),
    /// They are stored as the next values of a field.
    Write(usize),
}

impl<O, R> BlockStep<O, R> {
    /// The step with other operands.
    pub fn map<P>(self, mut f: impl FnMut(O) -> P) -> BlockStep<P, R> {
        match self {
            Self::Load(a) => BlockStep::Load(f(a)),
            Self::Own(field) => BlockStep::Own(field),
            Self::Coordinate(coordinate) => BlockStep::Coordinate(coordinate),
            Self::Noise(noise, step) => BlockStep::Noise(noise, step.map(&mut f)),
            Self::Product(a, b) => BlockStep::Product(f(a), f(b)),
            Self::Sum(taps) => {
                BlockStep::Sum(taps.into_iter().map(|(value, weight)| (f(value), weight)).collect())
            }
            Self::Add(a) => BlockStep::Add(f(a)),
            Self::Subtract(a) => BlockStep::Subtract(f(a)),
            Self::SubtractFrom(a) => BlockStep::SubtractFrom(f(a)),
            Self::Square => BlockStep::Square,
            Self::Multiply(a) => BlockStep::Multiply(f(a)),
            Self::Divide(a) => BlockStep::Divide(f(a)),
            Self::DivideInto(a) => BlockStep::DivideInto(f(a)),
            Self::AddProduct(a, b) => BlockStep::AddProduct(f(a), f(b)),
            Self::SubtractProduct(a, b) => BlockStep::SubtractProduct(f(a), f(b)),
            Self::SubtractFromProduct(a, b) => BlockStep::SubtractFromProduct(f(a), f(b)),
            Self::Call(function, place, others) => {
                BlockStep::Call(function, place, others.into_iter().map(f).collect())
            }
            Self::Store(slot) => BlockStep::Store(slot),
            Self::Write(field) => BlockStep::Write(field),
        }
    }
}
