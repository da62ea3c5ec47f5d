// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems beside solid points as systems without them: what is read there is written out.
//!
//! Of an array whose walls are images a point finds at an offset k `u[k] + factor mask[k] of[0]`. The value of the point that reads
//! has no name inside of a stencil of an expression. So such a stencil is written as a sum over its offsets, each of what the
//! expression is there as the point sees it. All else says the equation itself, which is a condition on what is solid.

use super::algebra::{add, number, sum, times};
use crate::checked::System;
use crate::expression::{Array, Node};
use crate::parts::{Recorded, WallImage};
use problem::Error;
use transform::{Stencil, Tap};

use super::refused;

/// The distance (z, y, x) of a place from a point.
type Offset = [i32; 3];

/// A system without walls whose equations are those of this one; nothing if there are no solid points.
///
/// # Errors
/// A stencil has too many weights.
pub fn written_out(system: &System) -> Result<Option<System>, Error> {
    if system.solid.is_none() {
        return Ok(None);
    }
    let mut writing = WallExpressions { system, stencils: system.stencils.clone() };
    let mut own = system.clone();
    let mut write = |node: &mut Node| -> Result<(), Error> {
        *node = writing.at_point(node).map_err(refused)?;
        Ok(())
    };
    for field in &mut own.fields {
        write(&mut field.next)?;
        field.walls = None;
    }
    for work in &mut own.works {
        write(&mut work.value)?;
        work.walls = None;
    }
    own.totals.reductions.iter_mut().try_for_each(|it| write(&mut it.value))?;
    for trace in &mut own.traces {
        if let Recorded::Expression(node, _) = &mut trace.of {
            write(node)?;
        }
    }
    own.stencils = writing.stencils;
    Ok(Some(own))
}

/// Expressions in the writing.
struct WallExpressions<'a> {
    system: &'a System,
    /// Stencils of the system, and the ones that are made of them.
    stencils: Vec<Stencil>,
}

impl WallExpressions<'_> {
    /// An expression, as the point has it.
    fn at_point(&mut self, node: &Node) -> Result<Node, String> {
        match node {
            Node::Stencil(number, of) if self.reads_images(of) => match &**of {
                Node::Read(array) => self.of_array(*number, *array),
                _ => self.all_at(*number, of, [0; 3]),
            },
            Node::Call(function, parts) => {
                let parts = parts.iter().map(|part| self.at_point(part));
                Ok(Node::call(*function, parts.collect::<Result<_, _>>()?))
            }
            other => Ok(other.clone()),
        }
    }

    /// Whether it holds what walls have images of.
    fn reads_images(&self, node: &Node) -> bool {
        let mut reads = false;
        node.visit(&mut |part| {
            reads |= matches!(part, Node::Read(array) if self.system.wall_image(*array).is_some());
        });
        reads
    }

    /// A stencil of an array, with what walls give instead.
    fn of_array(&mut self, of: usize, array: Array) -> Result<Node, String> {
        let taps = self.stencils[of].taps();
        let taps = taps.iter().filter(|tap| tap.offset != [0; 3]).cloned().collect::<Vec<_>>();
        let plain = Node::Stencil(of, Box::new(Node::Read(array)));
        if taps.is_empty() {
            return Ok(plain);
        }
        let others = self.stencil(taps)?;
        Ok(self.with_image(plain, array, others))
    }

    /// What a stencil reads of an array, with the image of the point that reads, where what this other one reads is solid.
    fn with_image(&self, plain: Node, array: Array, others: usize) -> Node {
        let Some(WallImage { of, factor, mask }) = self.system.wall_image(array) else {
            return plain;
        };
        let solid = Node::Stencil(others, Box::new(Node::Read(Array::Coefficient(mask))));
        add(plain, times(number(factor), times(solid, Node::Read(of))))
    }

    /// A stencil of an expression, so far from the point that reads it.
    fn all_at(&mut self, of: usize, argument: &Node, from: Offset) -> Result<Node, String> {
        let mut parts = Vec::new();
        for Tap { offset, weight } in self.stencils[of].taps().to_vec() {
            let at = std::array::from_fn(|axis| from[axis] + offset[axis]);
            parts.push(times(number(weight), self.at(argument, at)?));
        }
        Ok(sum(parts))
    }

    /// An expression, so far from the point that reads it.
    fn at(&mut self, node: &Node, far: Offset) -> Result<Node, String> {
        if far == [0; 3] {
            return self.at_point(node);
        }
        if node.is_uniform() {
            return Ok(node.clone());
        }
        match node {
            Node::Read(array) => {
                let one = self.stencil(vec![Tap { offset: far, weight: 1.0 }])?;
                let plain = Node::Stencil(one, Box::new(node.clone()));
                Ok(self.with_image(plain, *array, one))
            }
            Node::Stencil(number, of) if self.reads_images(of) => self.all_at(*number, of, far),
            Node::Call(function, parts) => {
                let parts = parts.iter().map(|part| self.at(part, far));
                Ok(Node::call(*function, parts.collect::<Result<_, _>>()?))
            }
            // Coordinates, and stencils of what no walls change.
            other => {
                let one = self.stencil(vec![Tap { offset: far, weight: 1.0 }])?;
                Ok(Node::Stencil(one, Box::new(other.clone())))
            }
        }
    }

    /// The number of a stencil with these weights.
    fn stencil(&mut self, taps: Vec<Tap>) -> Result<usize, String> {
        if let Some(known) = self.stencils.iter().position(|known| known.taps() == taps) {
            return Ok(known);
        }
        let dims = self.system.shape.dims();
        let own = Stencil::new("beside walls", dims, taps).map_err(|error| error.to_string())?;
        self.stencils.push(own);
        Ok(self.stencils.len() - 1)
    }
}
