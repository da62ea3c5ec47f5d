// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions with their derivatives stretched, and the memories that this takes.

use transform::finite_difference::{AxisWeights, central};
use transform::{Stencil, Tap};

use super::derivative::{AXES, DerivativeKind, parts};
use super::memory::MemoryVariable;
use super::profile::Profile;
use crate::expression::{Array, Function, Node, Scope};
use crate::parts::{Field, StepWork};
use crate::text::Text;
use problem::Boundary;
use problem::boundary::Side;
use problem::error::Mistake;

/// What stretches the derivatives of a system's expressions.
pub struct Layer<'a> {
    profile: Profile,
    scope: &'a Scope,
    averages: &'a [bool],
    /// Fields that are no memories.
    own: usize,
    boundaries: Vec<Boundary>,
    of_works: Vec<Boundary>,
    stencils: &'a mut Vec<Stencil>,
    memories: Vec<MemoryVariable>,
}

impl<'a> Layer<'a> {
    /// Of a system with these fields, work fields and stencils, of which `averages` tells those that are values between points.
    pub fn new(
        (profile, scope, averages): (Profile, &'a Scope, &'a [bool]),
        fields: &[Field],
        works: &[StepWork],
        stencils: &'a mut Vec<Stencil>,
    ) -> Self {
        let boundaries = fields.iter().map(|it| it.boundary).collect();
        let of_works = works.iter().map(|it| it.boundary).collect();
        let (own, memories) = (fields.len(), Vec::new());
        Self { profile, scope, averages, own, boundaries, of_works, stencils, memories }
    }

    /// The memories that were needed.
    pub fn into_memories(self) -> (Vec<MemoryVariable>, Profile) {
        (self.memories, self.profile)
    }

    /// An expression with its derivatives stretched.
    ///
    /// # Errors
    /// A stencil of what changes is no sum of derivatives along axes.
    pub fn stretched(&mut self, node: &Node, text: &Text) -> Result<Node, Mistake> {
        match node {
            Node::Call(function, parts) => {
                let parts = parts.iter().map(|part| self.stretched(part, text));
                Ok(Node::call(*function, parts.collect::<Result<_, _>>()?))
            }
            Node::Stencil(stencil, argument) => {
                let argument = self.stretched(argument, text)?;
                self.derivative(*stencil, argument, text)
            }
            leaf => Ok(leaf.clone()),
        }
    }

    /// A stencil of an expression, stretched if it takes derivatives across a layer.
    fn derivative(&mut self, stencil: usize, of: Node, text: &Text) -> Result<Node, Mistake> {
        let plain = |stencil: usize, of: &Node| Node::Stencil(stencil, Box::new(of.clone()));
        // What does not change makes no waves, and values between points are no derivatives.
        if !changes(&of) || self.averages[stencil] {
            return Ok(plain(stencil, &of));
        }
        let found = parts(&self.stencils[stencil], self.profile.layered())
            .map_err(|why| refused(&self.scope.stencils[stencil], &why, text))?;
        if found.is_empty() {
            return Ok(plain(stencil, &of));
        }
        let is_one = found.len() == 1;
        let mut sum: Option<Node> = None;
        for part in found {
            let own = if is_one { stencil } else { self.stencil(part.axis, part.row) };
            let value = plain(own, &of);
            let value = match part.kind {
                None => value,
                Some(DerivativeKind::First { place }) => {
                    let memory = self.memory(&value, part.axis, place);
                    call(Function::Add, value, memory)
                }
                Some(DerivativeKind::Second { times, order }) => {
                    let first = central(1, order);
                    let scaled = first.iter().map(|(at, weight)| (*at, times * weight)).collect();
                    let [first, scaled] = [first, scaled].map(|row| self.stencil(part.axis, row));
                    let memory = self.memory(&plain(first, &of), part.axis, 0.0);
                    let once = call(Function::Add, value, plain(scaled, &memory));
                    let memory = self.memory(&once, part.axis, 0.0);
                    call(Function::Add, once, memory)
                }
            };
            sum = Some(match sum {
                Some(sum) => call(Function::Add, sum, value),
                None => value,
            });
        }
        Ok(sum.expect("there is a part"))
    }

    /// What the memory of a derivative is in this step.
    fn memory(&mut self, of: &Node, axis: usize, place: f64) -> Node {
        let known = self.memories.iter().position(|known| known.of == *of);
        let number = known.unwrap_or_else(|| {
            let boundary = self.around(of, axis);
            self.memories.push(MemoryVariable { of: of.clone(), axis, place, boundary });
            self.memories.len() - 1
        });
        let field = self.own + number;
        Node::Read(match self.profile.steps.by_stages {
            true => Array::Field { field, level: 0 },
            false => Array::New(field),
        })
    }

    /// What lies around the memory of a derivative along an axis: there it has ended; along others the grid goes on as for what
    /// the derivative is taken of, where that is one thing, and else there is nothing.
    fn around(&self, of: &Node, axis: usize) -> Boundary {
        let mut read: Vec<Boundary> = Vec::new();
        let mut across = [false; 3];
        of.visit(&mut |part| match part {
            Node::Read(Array::Field { field, .. } | Array::New(field)) => {
                read.push(match field.checked_sub(self.own) {
                    Some(memory) => self.memories[memory].boundary,
                    None => self.boundaries[*field],
                });
            }
            Node::Read(Array::Work(work)) => read.push(self.of_works[*work]),
            Node::Stencil(stencil, _) => {
                let radii = self.stencils[*stencil].radii();
                (0..3).for_each(|axis| across[axis] |= radii[axis] > 0);
            }
            _ => (),
        });
        let mut boundary = Boundary::default();
        for other in (0..3).filter(|other| *other != axis) {
            let sides = |it: &Boundary| it.sides[other].map(without_numbers);
            let one = read.first().map(sides).unwrap_or_default();
            let is_common = read.iter().all(|it| sides(it) == one);
            // A difference along the axis has the images of none of them.
            let goes_on = !across[other] || one.contains(&Side::Periodic);
            if is_common && goes_on {
                boundary.sides[other] = one;
            }
        }
        boundary
    }

    /// The number of a stencil along an axis.
    fn stencil(&mut self, axis: usize, row: AxisWeights) -> usize {
        let tap = |(at, weight): (i32, f64)| {
            let mut offset = [0; 3];
            offset[axis] = at;
            Tap { offset, weight }
        };
        let taps = row.into_iter().filter(|(_, weight)| *weight != 0.0).map(tap).collect();
        let dims = self.profile.steps.shape.dims();
        let stencil = Stencil::new(&format!("along {}", AXES[axis]), dims, taps)
            .expect("it is part of a stencil, or a difference that reads no farther");
        let known = self.stencils.iter().position(|known| known.taps() == stencil.taps());
        known.unwrap_or_else(|| {
            self.stencils.push(stencil);
            self.stencils.len() - 1
        })
    }
}

/// A side for what is made of differences: numbers that are added beyond it cancel, or are the same for all.
fn without_numbers(side: Side) -> Side {
    match side {
        Side::Constant(_) | Side::Varying(_) | Side::Open => Side::Zero,
        Side::Flux(_) | Side::VaryingFlux(_) => Side::Edge,
        Side::Robin([a, b, _]) => Side::Robin([a, b, 0.0]),
        other => other,
    }
}

/// Whether an expression holds what changes from step to step.
fn changes(node: &Node) -> bool {
    let mut changes = false;
    node.visit(&mut |part| {
        changes |= matches!(part, Node::Read(array) if !matches!(array, Array::Coefficient(_)));
    });
    changes
}

/// The refusal of a stencil, at its name if the equation has it.
fn refused(name: &str, why: &str, text: &Text) -> Mistake {
    let what = format!("the layer of [pml] cannot stretch '{name}': {why}");
    let start = text.as_str().find(&format!("{name}(")).map(|at| text.range().start + at);
    let wrong = match start {
        Some(start) => text.mistake(start..start + name.len(), what),
        None => text.wrong(what),
    };
    wrong.hint(
        "write derivatives as stencils along one axis, such as { derivative = \"x\" }, or name the fields whose \
         equations the layer is for: fields = [...]",
    )
}

fn call(function: Function, a: Node, b: Node) -> Node {
    Node::call(function, vec![a, b])
}
