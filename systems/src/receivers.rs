// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receivers: places where fields, or expressions of present values, are recorded. Engines record fields at points; what an expression
//! takes of them is known before the first step, and its value is computed of what they recorded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::checked::System;
use super::description::{Description, RecordText};
use super::evaluate::{self, Evaluator, PlainF64};
use super::expression::{Array, Node, Purpose, Scope};
use super::origin::Origin;
use super::parts::{Receiver, Recorded, Start, StepWork, Trace, index};
use super::place_expressions::PlaceExpressions;
use super::places::one_point;
use problem::{Dtype, Error, Grid, Region, Shape};

impl System {
    /// Checks a description; files that it names are looked for in `folder`.
    ///
    /// # Errors
    /// [`Error::System`] with the place and what may have been meant; those of the size, and of the files.
    pub fn new(description: &Description, folder: &Path) -> Result<Self, Error> {
        let (mut system, scope) = Self::without_receivers(description, folder)?;
        system.receive(description, &scope, folder)?;
        system.warnings.extend(system.unread());
        system.source = Some(Arc::new(Origin::new(description, folder, &scope)));
        Ok(system)
    }

    /// Finds out what is recorded, and which points engines record for it.
    fn receive(
        &mut self,
        description: &Description,
        scope: &Scope,
        folder: &Path,
    ) -> Result<(), Error> {
        let dims = self.shape.dims();
        let places = PlaceExpressions { shape: self.shape, spacing: self.spacing, scope, folder };
        let mut numbers = BTreeMap::new();
        for receiver in &description.receivers {
            let (RecordText::Field(name) | RecordText::Value(name)) = &receiver.record;
            let node = match &receiver.record {
                RecordText::Field(field) => {
                    let field = index("field", field, &scope.fields)?;
                    Node::Read(Array::Field { field, level: 0 })
                }
                RecordText::Value(value) => {
                    let node = scope.number(value, Purpose::Recorded)?;
                    if let Some((work, what)) = self.not_present(&node) {
                        let what = format!(
                            "the work field '{work}' depends on {what}, which is known only within a step"
                        );
                        let hint = "a receiver records what fields make as they are after the step";
                        return Err(value.wrong(what).hint(hint).into());
                    }
                    node
                }
            };
            for place in places.of(name, &receiver.at, receiver.units)? {
                let points = receiver.interpolation.weights(place, self.shape);
                let of = match node {
                    Node::Read(Array::Field { field, level: 0 }) => {
                        let part = |(at, weight)| (self.recorded(&mut numbers, field, at), weight);
                        Recorded::Receivers(points.into_iter().map(part).collect())
                    }
                    _ => {
                        for (point, _) in &points {
                            for (field, at) in self.reads(&node, *point) {
                                self.recorded(&mut numbers, field, at);
                            }
                        }
                        Recorded::Expression(node.clone(), points)
                    }
                };
                let (name, at) = (name.as_str().to_owned(), place[3 - dims..].to_vec());
                self.traces.push(Trace { name, at, of });
            }
        }
        Ok(())
    }

    /// The work fields that recorded expressions read, also by way of others.
    pub(super) fn recorded_works(&self) -> BTreeSet<usize> {
        let nodes = self.traces.iter().filter_map(|trace| match &trace.of {
            Recorded::Expression(node, _) => Some(node),
            Recorded::Receivers(_) => None,
        });
        nodes.flat_map(|node| self.works_of(node)).collect()
    }

    /// The work fields that an expression reads, also by way of others.
    fn works_of(&self, node: &Node) -> BTreeSet<usize> {
        let mut works = BTreeSet::new();
        let mut left = vec![node];
        while let Some(node) = left.pop() {
            node.visit(&mut |part| {
                if let Node::Read(Array::Work(work)) = part
                    && works.insert(*work)
                {
                    left.push(&self.works[*work].value);
                }
            });
        }
        works
    }

    /// A work field that an expression reads, also by way of others, and what of it the values after a step do not tell.
    fn not_present(&self, node: &Node) -> Option<(&str, &'static str)> {
        self.works_of(node).into_iter().find_map(|work| {
            let StepWork { name, value, .. } = &self.works[work];
            let mut found = None;
            value.visit(&mut |part| {
                found = found.or(match part {
                    Node::Read(Array::New(_)) => Some("new values"),
                    Node::Read(Array::Field { level: 1.., .. }) => Some("values of earlier steps"),
                    Node::Noise(_) => Some("random numbers"),
                    Node::Total(_) => Some("totals"),
                    Node::Solve(..) => Some("a solution"),
                    _ => None,
                });
            });
            found.map(|what| (name.as_str(), what))
        })
    }

    /// The number of the receiver of a field at a point, which is added if it is new.
    fn recorded(
        &mut self,
        numbers: &mut BTreeMap<(usize, [usize; 3]), usize>,
        field: usize,
        at: [usize; 3],
    ) -> usize {
        *numbers.entry((field, at)).or_insert_with(|| {
            self.receivers.push(Receiver { field, at });
            self.receivers.len() - 1
        })
    }

    /// The fields, places in C order and weights of what is recorded of a field, by the number of the receiver; nothing where an
    /// expression is recorded.
    pub(super) fn points_of_receiver(&self, number: usize) -> Vec<(String, usize, f64)> {
        let Recorded::Receivers(parts) = &self.traces[number].of else { return Vec::new() };
        let [_, ny, nx] = self.shape.extents();
        let point = |&(receiver, weight): &(usize, f64)| {
            let Receiver { field, at: [z, y, x] } = &self.receivers[receiver];
            (self.fields[*field].name.clone(), (z * ny + y) * nx + x, weight)
        };
        parts.iter().map(point).collect()
    }

    /// The points of fields that an expression reads at a point.
    fn reads(&self, node: &Node, at: [usize; 3]) -> Vec<(usize, [usize; 3])> {
        let noted = ReadRecorder::default();
        Evaluator::new(self, PlainF64, &noted, 0.0).at(node, at.map(|at| at as isize));
        let noted = noted.0.into_inner().expect("nobody panics with it");
        let place =
            |(field, index)| (field, one_point(self.shape, index).low.map(|at: isize| at as usize));
        noted.into_iter().map(place).collect()
    }
}

/// Notes which values of fields are read; which are depends on none of them.
#[derive(Default)]
struct ReadRecorder(Mutex<Vec<(usize, usize)>>);

impl evaluate::Values for ReadRecorder {
    fn value(&self, array: Array, index: usize) -> f64 {
        if let Array::Field { field, .. } = array {
            self.0.lock().expect("nobody panics with it").push((field, index));
        }
        0.0
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("what is recorded holds no random numbers")
    }
}

/// What the receivers of a system are told of, by their fields and places in C order.
pub type ValueIndex = HashMap<(usize, usize), usize>;

/// What was received after a step.
pub struct ReceivedValues<'a> {
    /// The system.
    pub system: &'a System,
    /// Of which receiver each value is.
    pub numbers: &'a ValueIndex,
    /// The value of each receiver.
    pub values: &'a [f64],
}

impl ReceivedValues<'_> {
    /// What is recorded of it, after so many steps.
    pub fn record(&self, of: &Recorded, step: usize) -> f64 {
        match of {
            // As it is, also where it is no number.
            Recorded::Receivers(parts) if matches!(parts[..], [(_, 1.0)]) => {
                self.values[parts[0].0]
            }
            Recorded::Receivers(parts) => {
                parts.iter().map(|(receiver, weight)| weight * self.values[*receiver]).sum()
            }
            Recorded::Expression(node, points) => {
                let evaluator = Evaluator::new(self.system, PlainF64, self, step as f64);
                let value = |at: &[usize; 3]| evaluator.at(node, at.map(|at| at as isize));
                match &points[..] {
                    [(at, 1.0)] => value(at),
                    all => all.iter().map(|(at, weight)| weight * value(at)).sum(),
                }
            }
        }
    }
}

impl evaluate::Values for ReceivedValues<'_> {
    fn value(&self, array: Array, index: usize) -> f64 {
        match array {
            Array::Field { field, .. } => self.values[self.numbers[&(field, index)]],
            Array::Coefficient(coefficient) => match &self.system.coefficients[coefficient].start {
                Start::Values(grid, _) => grid.get(index),
                Start::OnDevice(given) => match given.grid() {
                    Ok(grid) => grid.get(index),
                    // The session, which reads the same memory, says why.
                    Err(_) => f64::NAN,
                },
                Start::Expression(node) => {
                    let point = one_point(self.system.shape, index).low;
                    let start = Evaluator::new(self.system, PlainF64, self, 0.0);
                    self.system.dtype.round(start.at(node, point))
                }
            },
            _ => unreachable!("what a step computes is not recorded"),
        }
    }

    fn random(&self, seed: u64, index: usize) -> f64 {
        let region: Region = one_point(self.system.shape, index);
        let values = Grid::random_region(self.system.shape, Dtype::F64, seed, region);
        Grid { shape: Shape::new(&[1]).expect("one point"), values }.get(0)
    }
}
