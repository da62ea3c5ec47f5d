// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils of expressions, seen from what they read.

use std::collections::BTreeSet;

use super::{AdjointWorkField, Contribution, Reverse, ScaledTranspose, StencilPath, is_at};
use crate::adjoint::algebra::{call, choose, number, split, stencil, times};
use crate::adjoint::fold::{self, Offset};
use crate::expression::{Array, Function, Node};
use problem::Boundary;
use problem::boundary::Side;
use transform::{Stencil, Tap};

/// Whether an expression, or its derivative, may be infinite or no number where its parts are numbers.
fn may_be_no_number(node: &Node) -> bool {
    let mut may = false;
    node.visit(&mut |part| {
        let Node::Call(function, parts) = part else { return };
        may |= match function {
            Function::Divide => !parts[1].is_number(),
            Function::PowerOf(power) => *power < 1,
            Function::Sqrt | Function::Ln | Function::Power | Function::Atan2 | Function::Exp => {
                true
            }
            _ => false,
        };
    });
    may
}

impl Reverse<'_> {
    /// What a stencil of an expression hands on to that.
    pub(super) fn through(
        &mut self,
        of: usize,
        to: &Node,
        handed: &Contribution,
    ) -> Result<Contribution, String> {
        let taps: Vec<(Offset, f64)> =
            self.stencils[of].taps().iter().map(|tap| (tap.offset, tap.weight)).collect();
        let opposite = taps.iter().map(|(at, weight)| (at.map(|at| -at), *weight)).collect();
        let transposed = self.stencil(opposite)?;
        // Where none of the points that read it counts, what it would be is no part of the derivative.
        let guard = match may_be_no_number(to) {
            true => self.guarded(&handed.value).map(|(guard, _)| guard),
            false => None,
        };
        let around_each = || taps.iter().map(|(at, _)| (at.map(|at| -at), 1.0)).collect();
        let counts = |own: Node| choose(own, number(1.0), number(0.0));
        let where_some = |all: usize, count: Node, value: Node| {
            let some = call(Function::Less, [number(0.0), stencil(all, count)]);
            choose(some, value, number(0.0))
        };
        if let Some(path) = &handed.path {
            let mut value = stencil(transposed, handed.value.clone());
            if let Some(guard) = guard {
                value = where_some(self.stencil(around_each())?, counts(guard), value);
            }
            let mut all: BTreeSet<Offset> = BTreeSet::new();
            for first in &path.taps {
                for (second, _) in &taps {
                    all.insert(std::array::from_fn(|axis| first[axis] + second[axis]));
                }
            }
            let taps = all.into_iter().collect();
            return Ok(Contribution {
                value,
                path: Some(StencilPath { taps, only: None, ..*path }),
            });
        }
        let reach = self.reach(of, to);
        let periodic = self.periodic(to, reach)?;
        let (factor, rest) = split(&handed.value);
        let around = self.around(rest, periodic, reach);
        let mut value = times(factor.clone(), stencil(transposed, Node::Read(around)));
        if let Some(guard) = guard {
            let counts = self.around(counts(guard), periodic, reach);
            value = where_some(self.stencil(around_each())?, Node::Read(counts), value);
        }
        let offsets = taps.iter().map(|(at, _)| *at).collect();
        let only = Some(ScaledTranspose { factor, taps, of: around });
        let path = StencilPath { taps: offsets, only, periodic };
        Ok(Contribution { value, path: Some(path) })
    }

    /// Along which axes a stencil of an expression reads others than the point.
    fn reach(&self, of: usize, node: &Node) -> [bool; 3] {
        let along = |number: usize, reach: &mut [bool; 3]| {
            for tap in self.stencils[number].taps() {
                (0..3).for_each(|axis| reach[axis] |= tap.offset[axis] != 0);
            }
        };
        let mut reach = [false; 3];
        along(of, &mut reach);
        node.visit(&mut |part| {
            if let Node::Stencil(number, _) = part {
                along(*number, &mut reach);
            }
        });
        reach
    }

    /// Along which axes a stencil of an expression finds beyond sides what lies at the other side.
    fn periodic(&self, node: &Node, reach: [bool; 3]) -> Result<[bool; 3], String> {
        let mut periodic = [true; 3];
        let is_bare = matches!(node, Node::Read(_));
        for axis in 0..3 {
            let (mut any, mut other) = (false, None);
            let letter = ["z", "y", "x"][axis];
            node.visit(&mut |part| {
                let found = match part {
                    Node::Read(array) => {
                        let own = self.periodic_of(*array)[axis];
                        any |= own && self.active.contains(array);
                        let name = self.system.name_of(*array);
                        match own {
                            false => Some(format!("'{name}', which is not")),
                            true if !is_bare && self.sides_change_along(*array, axis) => {
                                Some(format!("'{name}', whose sides are made of {letter}"))
                            }
                            true => None,
                        }
                    }
                    Node::Coordinate(of) | Node::Index(of) if *of == axis => {
                        Some(format!("the coordinate {letter}"))
                    }
                    _ => None,
                };
                if other.is_none() {
                    other = found;
                }
            });
            periodic[axis] = any && other.is_none();
            if let Some(other) = other.filter(|_| any && reach[axis]) {
                return Err(format!(
                    "a stencil takes here an expression of what is periodic along {letter} and of {other}"
                ));
            }
        }
        Ok(periodic)
    }

    /// Whether an expression at sides of an array holds coordinates along an axis.
    fn sides_change_along(&self, array: Array, axis: usize) -> bool {
        let sides = self.system.boundary_of(array).sides;
        sides.iter().flatten().any(|side| {
            let (Side::Varying(number) | Side::VaryingFlux(number)) = side else { return false };
            let mut found = false;
            self.system.side_values[*number].visit(&mut |part| {
                found |= matches!(part, Node::Coordinate(of) | Node::Index(of) if *of == axis);
            });
            found
        })
    }

    /// An array with these values which is periodic along these axes and beyond others 0, as far as a stencil that reaches along some
    /// sees.
    fn around(&mut self, value: Node, periodic: [bool; 3], reach: [bool; 3]) -> Array {
        self.around_named(value, ("weighted", periodic), reach)
    }

    pub(super) fn around_named(
        &mut self,
        value: Node,
        (name, periodic): (&str, [bool; 3]),
        reach: [bool; 3],
    ) -> Array {
        let fits = |own: [bool; 3]| (0..3).all(|axis| !reach[axis] || own[axis] == periodic[axis]);
        if let Node::Read(array) = value
            && self.own(array).is_some_and(|own| own.sides.is_none() && fits(own.periodic))
        {
            return array;
        }
        let first = self.system.works.len();
        let known = self
            .own
            .iter()
            .position(|own| own.value.as_ref() == Some(&value) && fits(own.periodic));
        match known {
            Some(known) => Array::Work(first + known),
            None => self.array(AdjointWorkField {
                name: name.into(),
                value: Some(value),
                periodic,
                sides: None,
            }),
        }
    }

    /// Notes a part of the adjoint of an array that is read.
    pub(super) fn read(&mut self, array: Array, handed: &Contribution) -> Result<(), String> {
        if !self.active.contains(&array) {
            return Ok(());
        }
        let boundary = self.system.boundary_of(array).without_added();
        let parts = self.folded(&boundary, handed)?;
        self.found.entry(array).or_default().extend(parts);
        Ok(())
    }

    /// What is handed on to each point of something that has this around it.
    pub(super) fn folded(
        &mut self,
        boundary: &Boundary,
        Contribution { value, path }: &Contribution,
    ) -> Result<Vec<Node>, String> {
        let mut parts = vec![value.clone()];
        if let Some(path) = path {
            let extents = self.system.shape.extents();
            let left_out = path.periodic;
            match &path.only {
                Some(ScaledTranspose { factor, taps, of }) => {
                    for (at, taps) in fold::of_stencil(boundary, extents, taps, left_out) {
                        let own = self.stencil_of(taps, Node::Read(*of))?;
                        parts.push(choose(is_at(at), times(factor.clone(), own), number(0.0)));
                    }
                }
                None => {
                    for (at, taps) in fold::of_places(boundary, extents, &path.taps, left_out) {
                        let own = self.stencil_of(taps, value.clone())?;
                        parts.push(choose(is_at(at), own, number(0.0)));
                    }
                }
            }
        }
        Ok(parts)
    }

    /// A stencil with these weights of an expression; one of the point itself is a product.
    fn stencil_of(&mut self, taps: Vec<(Offset, f64)>, of: Node) -> Result<Node, String> {
        Ok(match taps[..] {
            [([0, 0, 0], weight)] => times(number(weight), of),
            _ => stencil(self.stencil(taps)?, of),
        })
    }

    /// The number of a stencil with these weights.
    pub(super) fn stencil(&mut self, taps: Vec<(Offset, f64)>) -> Result<usize, String> {
        let mut taps: Vec<Tap> =
            taps.into_iter().map(|(offset, weight)| Tap { offset, weight }).collect();
        taps.sort_by_key(|tap| tap.offset);
        if let Some(known) = self.stencils.iter().position(|known| known.taps() == taps) {
            return Ok(known);
        }
        let dims = self.system.shape.dims();
        let own = Stencil::new("transposed", dims, taps).map_err(|error| error.to_string())?;
        self.stencils.push(own);
        Ok(self.stencils.len() - 1)
    }
}
