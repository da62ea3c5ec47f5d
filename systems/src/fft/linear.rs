// SPDX-License-Identifier: MIT OR Apache-2.0
//! The equations of a system as sums of products: weights, which are the same at all points and in all steps, times
//! values around a point, and a constant. Or which part of them is none.

use std::cell::RefCell;
use std::collections::BTreeMap;

use transform::spectral::double::Double;

use crate::checked::System;
use crate::evaluate::{Evaluator, NoArrays, PlainF64};
use crate::expression::{Array, Function, Node, show};
use crate::parts::Start;
use crate::program::{Offset, Program};
use problem::Boundary;
use problem::boundary::Side;

/// A value that is read: a field, how many steps ago, and where.
pub type Read = (usize, usize, Offset);

/// A sum. Its numbers have twice the digits of f64, so that products of constants and weights are exact: what rounding
/// would do to a wave in one step it would do to it a million times.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSum {
    /// The weight of each value.
    pub taps: BTreeMap<Read, Double<1>>,
    /// What is added.
    pub constant: Double<1>,
}

/// What varies in space or time, as it is at one point in one step.
#[derive(Clone, Debug, PartialEq)]
pub struct FrozenValues {
    /// The point as (z, y, x).
    pub point: [usize; 3],
    /// The value of each coefficient there.
    pub coefficients: Vec<f64>,
    /// Steps that are done.
    pub step: f64,
}

/// The next values of each field.
///
/// # Errors
/// What of which equation is not such a sum.
pub fn sums(system: &System) -> Result<Vec<LinearSum>, String> {
    sums_of(system, None)
}

/// The next values of each field where all that varies is everywhere what it is at one point in one step, and no
/// point keeps its values.
///
/// # Errors
/// What of which equation is not such a sum.
pub fn frozen_sums(system: &System, frozen: &FrozenValues) -> Result<Vec<LinearSum>, String> {
    sums_of(system, Some(frozen))
}

fn sums_of(system: &System, frozen: Option<&FrozenValues>) -> Result<Vec<LinearSum>, String> {
    system.check_solves_nothing()?;
    if frozen.is_none() && system.varies_steps() {
        return Err("the step length follows from the values".into());
    }
    if frozen.is_none() && system.solid.is_some() {
        return Err("some points are solid, so not all points have one equation".into());
    }
    if frozen.is_none() && system.is_staged() {
        whole_step(system)?;
    }
    let computed = RefCell::default();
    let of_field = |field: &crate::parts::Field| {
        let name = &field.name;
        if field.keep.is_some() && frozen.is_none() {
            return Err(format!(
                "'{name}' keeps its values at some points, so not all points have one equation"
            ));
        }
        let mut sum =
            Reader { system, name, frozen, computed: &computed }.sum(&field.next, [0; 3])?;
        sum.taps.retain(|_, weight| *weight != Double::ZERO);
        let numbers = sum.taps.values().chain([&sum.constant]);
        let finite = numbers.copied().all(|number| number.value().is_finite());
        if !finite {
            return Err(format!("a weight in the equation of '{name}' is not finite"));
        }
        Ok(sum)
    };
    system.fields.iter().map(of_field).collect()
}

/// Checks that the stages of a step are one sum: that of each point, for no point has others beyond sides.
fn whole_step(system: &System) -> Result<(), String> {
    if !system.sources.is_empty() {
        return Err("a step has stages, between which sources add".into());
    }
    let own = 3 - system.shape.dims();
    let goes_around = |boundary: &Boundary| {
        boundary.sides[own..].iter().flatten().all(|side| *side == Side::Periodic)
    };
    // What is computed is made of fields, which go on beyond a side as what is computed there does only if both go around.
    let fields = (0..system.fields.len()).map(Array::New);
    let works =
        system.stages.iter().flat_map(Program::reads).filter(|(_, offset)| *offset != [0; 3]);
    let works = works.map(|(array, _)| array).filter(|array| matches!(array, Array::Work(_)));
    let other = fields.chain(works).find(|array| !goes_around(system.boundary_of(*array)));
    match other {
        None => Ok(()),
        Some(array) => Err(format!(
            "a step has stages, and not all sides of '{}' are periodic",
            system.name_of(array)
        )),
    }
}

/// What sources add to a field in each step, with the place as (z, y, x).
///
/// # Errors
/// One of them changes with time.
pub fn sources(system: &System) -> Result<Vec<(usize, [usize; 3], f64)>, String> {
    let all = system.sources.iter().map(|source| {
        let name = &system.fields[source.field].name;
        let place =
            || format!("the source of '{name}' changes with time: {}", shown(system, &source.add));
        let value = constant(system, &source.add).ok_or_else(place)?;
        Ok((source.field, source.at, value))
    });
    all.collect()
}

/// The value of a coefficient that is the same everywhere, also beyond the sides.
pub fn coefficient(system: &System, coefficient: usize) -> Option<f64> {
    let known = &system.coefficients[coefficient];
    let mut sides = known.boundary.sides[3 - system.shape.dims()..].iter().flatten();
    let goes_on = sides
        .all(|side| matches!(side, Side::Periodic | Side::Reflect | Side::Symmetric | Side::Edge));
    match &known.start {
        Start::Expression(Node::Number(value)) if goes_on => Some(system.dtype.round(*value)),
        _ => None,
    }
}

/// The value of what has one for all points and all steps.
fn constant(system: &System, node: &Node) -> Option<f64> {
    let mut steady = node.is_uniform();
    node.visit(&mut |part| {
        use Node::{Step, StepLength, Time, Total};
        steady &= !matches!(part, Time | Step | StepLength | Total(_));
    });
    steady.then(|| in_step(system, node, 0.0))
}

/// The value of what has one for all points, in a step.
pub fn in_step(system: &System, node: &Node, step: f64) -> f64 {
    Evaluator::new(system, PlainF64, &NoArrays, step).at(node, [0; 3])
}

fn shown(system: &System, node: &Node) -> String {
    let name = |array: Array| system.name_of(array).to_owned();
    show(node, &name, &|stencil| system.stencils[stencil].name().to_owned())
}

struct Reader<'a> {
    system: &'a System,
    /// Of the field.
    name: &'a str,
    /// Where all that varies is taken; none where nothing may.
    frozen: Option<&'a FrozenValues>,
    /// What the step computes at a point, as far as it is known.
    computed: &'a RefCell<BTreeMap<Array, LinearSum>>,
}

impl Reader<'_> {
    /// An expression at a place.
    fn sum(&self, node: &Node, at: Offset) -> Result<LinearSum, String> {
        if node.is_uniform() {
            let changes = || self.refused(node, "changes with time");
            let value = match self.frozen {
                None => constant(self.system, node).ok_or_else(changes)?,
                Some(frozen) => in_step(self.system, node, frozen.step),
            };
            return Ok(LinearSum::of(value));
        }
        match node {
            Node::Read(Array::Field { field, level }) => {
                let taps = BTreeMap::from([((*field, *level, at), Double::new(1.0))]);
                Ok(LinearSum { taps, constant: Double::ZERO })
            }
            Node::Read(Array::Coefficient(coefficient)) => self.coefficient(*coefficient),
            Node::Read(Array::New(field)) => {
                self.computed(Array::New(*field), &self.system.fields[*field].next, at)
            }
            Node::Read(Array::Work(work)) => {
                self.computed(Array::Work(*work), &self.system.works[*work].value, at)
            }
            Node::Stencil(stencil, argument) => {
                let mut sum = LinearSum::of(0.0);
                for tap in self.system.stencils[*stencil].taps() {
                    let place = std::array::from_fn(|axis| at[axis] + tap.offset[axis]);
                    let part = self.sum(argument, place)?;
                    sum = sum.plus(&part.times(Double::new(tap.weight)));
                }
                Ok(sum)
            }
            Node::Call(function, arguments) => self.call(node, *function, arguments, at),
            Node::Coordinate(axis) => match self.frozen {
                None => Err(self.refused(node, "varies in space")),
                Some(frozen) => {
                    Ok(LinearSum::of(frozen.point[*axis] as f64 * self.system.spacing[*axis]))
                }
            },
            Node::Index(axis) => match self.frozen {
                None => Err(self.refused(node, "varies in space")),
                Some(frozen) => Ok(LinearSum::of(frozen.point[*axis] as f64)),
            },
            Node::Noise(noise) => match self.frozen {
                None => Err(self.refused(node, "is another number at each point")),
                Some(_) => Ok(LinearSum::of(noise.mean())),
            },
            Node::Table(table, argument) if self.frozen.is_some() => {
                let argument = self.sum(argument, at)?.number();
                let argument = argument.ok_or_else(|| self.refused(node, "is not linear"))?;
                Ok(LinearSum::of(self.system.tables[*table].at(argument)))
            }
            _ => Err(self.refused(node, "is not linear")),
        }
    }

    /// What the step computes at a place.
    fn computed(&self, array: Array, node: &Node, at: Offset) -> Result<LinearSum, String> {
        let known = self.computed.borrow().get(&array).cloned();
        let sum = match known {
            Some(sum) => sum,
            None => {
                let sum = self.sum(node, [0; 3])?;
                self.computed.borrow_mut().insert(array, sum.clone());
                sum
            }
        };
        let moved = sum.taps.into_iter().map(|((field, level, offset), weight)| {
            ((field, level, std::array::from_fn(|axis| offset[axis] + at[axis])), weight)
        });
        Ok(LinearSum { taps: moved.collect(), constant: sum.constant })
    }

    fn call(
        &self,
        node: &Node,
        function: Function,
        arguments: &[Node],
        at: Offset,
    ) -> Result<LinearSum, String> {
        let parts: Vec<LinearSum> =
            arguments.iter().map(|part| self.sum(part, at)).collect::<Result<_, _>>()?;
        let fixed: Option<Vec<f64>> = parts.iter().map(LinearSum::number).collect();
        match (function, parts.as_slice()) {
            (Function::Negate, [a]) => Ok(a.times(Double::new(-1.0))),
            (Function::Add, [a, b]) => Ok(a.plus(b)),
            (Function::Subtract, [a, b]) => Ok(a.plus(&b.times(Double::new(-1.0)))),
            (Function::Multiply, [a, b]) if a.taps.is_empty() => Ok(b.times(a.constant)),
            (Function::Multiply, [a, b]) if b.taps.is_empty() => Ok(a.times(b.constant)),
            (Function::Divide, [a, b]) if b.taps.is_empty() => Ok(a.over(b.constant)),
            (Function::If, [condition, yes, no]) if condition.taps.is_empty() => {
                Ok(if condition.constant == Double::ZERO { no.clone() } else { yes.clone() })
            }
            _ => match fixed {
                Some(numbers) => Ok(LinearSum::of(function.of(&numbers))),
                None => Err(self.refused(node, "is not linear")),
            },
        }
    }

    fn coefficient(&self, number: usize) -> Result<LinearSum, String> {
        if let Some(frozen) = self.frozen {
            return Ok(LinearSum::of(frozen.coefficients[number]));
        }
        let varies = || self.refused(&Node::Read(Array::Coefficient(number)), "varies in space");
        coefficient(self.system, number).map(LinearSum::of).ok_or_else(varies)
    }

    fn refused(&self, node: &Node, why: &str) -> String {
        format!("in the equation of '{}' this {why}: {}", self.name, shown(self.system, node))
    }
}

impl LinearSum {
    fn of(constant: f64) -> Self {
        Self { taps: BTreeMap::new(), constant: Double::new(constant) }
    }

    /// Its value, if it is a number.
    fn number(&self) -> Option<f64> {
        self.taps.is_empty().then(|| self.constant.value())
    }

    fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (read, weight) in &other.taps {
            let known = sum.taps.entry(*read).or_insert(Double::ZERO);
            *known = known.plus(*weight);
        }
        sum.constant = sum.constant.plus(other.constant);
        sum
    }

    fn map(&self, change: impl Fn(Double<1>) -> Double<1>) -> Self {
        let taps = self.taps.iter().map(|(read, weight)| (*read, change(*weight)));
        Self { taps: taps.collect(), constant: change(self.constant) }
    }

    fn times(&self, factor: Double<1>) -> Self {
        self.map(|number| number.times(factor))
    }

    fn over(&self, divisor: Double<1>) -> Self {
        self.map(|number| number.over(divisor))
    }

    /// How much of a field's level it takes at most: Σ of the absolute weights.
    pub fn gain(&self, field: usize, level: usize) -> f64 {
        let own = self.taps.iter().filter(|((of, at, _), _)| (*of, *at) == (field, level));
        own.map(|(_, weight)| weight.value().abs()).sum()
    }
}
