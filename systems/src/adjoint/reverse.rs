// SPDX-License-Identifier: MIT OR Apache-2.0
//! The equations of a step, differentiated from their values back to what they read.
//!
//! Each array that a step computes has an *adjoint*: by how much what is sought changes with its value at each point. The adjoint of what an
//! equation reads is that of the equation's value times the derivative. A stencil S of an expression e hands on v = Sᵀ(w) from the adjoint w of its
//! value. Sᵀ has the weights of S at the opposite offsets. w is 0 beyond the grid, for no equation is computed there. So v is known at
//! places beyond sides, too, where S reads e; and where the derivative of e holds other stencils, the same is done to it. What lies beyond
//! sides is added to the points that it leads to ([`super::fold`]).

use std::collections::{BTreeMap, BTreeSet};

use super::algebra::{call, guarded, number, split, sum, times};
use super::derivative::{constant, pulled_where};
use super::fold::{AxisCoordinates, Offset};
use crate::checked::System;
use crate::expression::{Array, Function, Node, Reduction, Type};
use problem::Boundary;
use problem::boundary::Side;
use transform::Stencil;

mod solves;
mod stencils;
mod totals;

/// Parts of an expression that has no name of its own.
const MOST_UNNAMED: usize = 24;

/// A work field of the adjoint step.
pub struct AdjointWorkField {
    /// What it is called, if that is not taken.
    pub name: String,
    /// Its value; none of a field of the adjoint.
    pub value: Option<Node>,
    /// Along which axes it is periodic; beyond other sides it is 0.
    pub periodic: [bool; 3],
    /// What lies around it instead, of one that is solved for.
    pub sides: Option<Boundary>,
}

/// What an expression hands on.
#[derive(Clone)]
struct Contribution {
    /// The adjoint of its value, at whatever place it is computed.
    value: Node,
    /// From where on the way to it stencils read; nothing at the point itself.
    path: Option<StencilPath>,
}

/// The stencils on the way to an expression.
#[derive(Clone)]
struct StencilPath {
    /// All offsets together.
    taps: Vec<Offset>,
    /// What the adjoint is, if it is just a stencil of an array.
    only: Option<ScaledTranspose>,
    /// Axes along which all that is read is periodic.
    periodic: [bool; 3],
}

/// A factor times a transposed stencil of an array.
#[derive(Clone)]
struct ScaledTranspose {
    factor: Node,
    /// The stencil before it was transposed.
    taps: Vec<(Offset, f64)>,
    of: Array,
}

impl StencilPath {
    /// It with another adjoint at its end.
    fn with(&self, value: &Node) -> Self {
        let only = self.only.clone().and_then(|only| {
            let (factor, rest) = split(value);
            let is_one = matches!(&rest, Node::Stencil(_, of) if **of == Node::Read(only.of));
            is_one.then_some(ScaledTranspose { factor, ..only })
        });
        Self { only, ..self.clone() }
    }
}

/// An adjoint step in the making.
pub struct Reverse<'a> {
    pub system: &'a System,
    /// The stencils of the system, and those that are made of them.
    pub stencils: Vec<Stencil>,
    /// The reductions of the system, and those of the adjoint.
    pub totals: Vec<Reduction>,
    /// Of each reduction of the system whether it depends on what is differentiated by.
    active_totals: Vec<bool>,
    /// What of each reduction that a step reads the adjoint is the sum of, over all points.
    pub by_totals: BTreeMap<usize, Vec<Node>>,
    /// The fields that hold this.
    pub of_totals: BTreeMap<usize, Array>,
    /// Of each source of the system whether what it adds counts.
    counts: Vec<bool>,
    /// Fields and work fields of the adjoint: numbered as work fields after those of the system.
    pub own: Vec<AdjointWorkField>,
    /// What of each array the adjoint is the sum of.
    pub found: BTreeMap<Array, Vec<Node>>,
    /// What depends on what is differentiated by.
    active: BTreeSet<Array>,
    /// Along which axes what the equation computes is periodic.
    usual: [bool; 3],
    /// The adjoint of each field after the step, with what other equations make of it in the step.
    pub after: BTreeMap<usize, Node>,
    /// What was taken for constant.
    pub constants: BTreeSet<&'static str>,
    /// Adjoints of what vanishes somewhere, with the array that does: nobody needs them there, as whatever they are handed on by vanishes, too.
    pub vanishing: Vec<(Array, Array)>,
}

impl<'a> Reverse<'a> {
    /// Of a system, with derivatives by fields and these arrays. Of its sources those count of which that is said.
    pub fn new(system: &'a System, by: &[Array], counts: Vec<bool>) -> Self {
        let mut active: BTreeSet<Array> = by.iter().copied().collect();
        for (field, levels) in system.fields.iter().map(|field| field.levels).enumerate() {
            active.extend((0..levels).map(|level| Array::Field { field, level }));
        }
        let mut reverse = Self {
            system,
            stencils: system.stencils.clone(),
            totals: system.totals.reductions.clone(),
            active_totals: Vec::new(),
            by_totals: BTreeMap::new(),
            of_totals: BTreeMap::new(),
            counts,
            own: Vec::new(),
            found: BTreeMap::new(),
            active,
            usual: [false; 3],
            after: BTreeMap::new(),
            constants: BTreeSet::new(),
            vanishing: Vec::new(),
        };
        reverse.activate_totals();
        reverse.activate();
        reverse
    }

    /// Finds out what depends on what is differentiated by.
    fn activate(&mut self) {
        let has_source = |array: &Array| match array {
            Array::New(field) => self.system.sources.iter().any(|source| source.field == *field),
            _ => false,
        };
        let order = self.order();
        // What a source adds to is followed also where nothing else changes it.
        self.active.extend(order.iter().filter(|it| has_source(it)).copied());
        for computed in &order {
            if self.depends(self.value(*computed)) {
                self.active.insert(*computed);
            }
        }
    }

    /// Goes through an expression that is recorded of the values before the step; `by` is what is sought by its value at each point.
    ///
    /// # Errors
    /// It holds something that has no adjoint here.
    pub fn recorded(&mut self, node: &Node, by: Node) -> Result<(), String> {
        self.usual = [false; 3];
        self.hand(node, Contribution { value: by, path: None })
    }

    /// An array of the adjoint.
    pub fn array(&mut self, own: AdjointWorkField) -> Array {
        self.own.push(own);
        Array::Work(self.system.works.len() + self.own.len() - 1)
    }

    /// One of its arrays, if it is that.
    pub fn own(&self, array: Array) -> Option<&AdjointWorkField> {
        match array {
            Array::Work(work) => work.checked_sub(self.system.works.len()).map(|it| &self.own[it]),
            _ => None,
        }
    }

    /// The value of what a step computes.
    pub fn value(&self, computed: Array) -> &'a Node {
        match computed {
            Array::New(field) => &self.system.fields[field].next,
            Array::Work(work) => &self.system.works[work].value,
            _ => unreachable!("a step computes neither levels nor coefficients"),
        }
    }

    /// Goes through all equations, the last ones first; `after` are the adjoints of the fields after the step.
    ///
    /// # Errors
    /// Something that has no adjoint here, as text with the array whose equation it is.
    pub fn equations(&mut self, after: &[Array]) -> Result<(), (Array, String)> {
        let order = self.order();
        for (field, adjoint) in after.iter().enumerate() {
            self.found.entry(Array::New(field)).or_default().push(Node::Read(*adjoint));
        }
        let active: Vec<Array> =
            order.into_iter().rev().filter(|it| self.active.contains(it)).collect();
        for computed in active {
            let parts = self.found.remove(&computed).unwrap_or_default();
            let adjoint = sum(parts);
            if super::algebra::is(&adjoint, 0.0) {
                continue;
            }
            let (factor, rest) = split(&adjoint);
            let value = match rest {
                Node::Read(_) => adjoint,
                rest => {
                    let name = format!("adjoint_of_{}", self.system.name_of(computed));
                    let periodic = self.periodic_of(computed);
                    let own = self.array(AdjointWorkField {
                        name,
                        value: Some(rest),
                        periodic,
                        sides: None,
                    });
                    self.vanishing.push((own, computed));
                    times(factor, Node::Read(own))
                }
            };
            if let Array::New(field) = computed {
                self.after.insert(field, value.clone());
                self.sources_of(field, &value).map_err(|what| (computed, what))?;
            }
            let handed = Contribution { value, path: None };
            self.usual = self.periodic_of(computed);
            let handed = match self.value(computed) {
                Node::Solve(stencil, right) => {
                    let solved = self.solved(computed, (*stencil, &handed.value));
                    solved.and_then(|handed| self.hand(right, handed))
                }
                value => self.hand(value, handed),
            };
            handed.map_err(|what| (computed, what))?;
        }
        Ok(())
    }

    /// What a step computes, each after what it is made of.
    pub fn order(&self) -> Vec<Array> {
        fn note(reverse: &Reverse, array: Array, order: &mut Vec<Array>) {
            if order.contains(&array) {
                return;
            }
            for (read, _) in reverse.value(array).computed_reads() {
                note(reverse, read, order);
            }
            if !order.contains(&array) {
                order.push(array);
            }
        }
        let mut order = Vec::new();
        let recorded = self.system.recorded_works().into_iter().map(Array::Work);
        for array in recorded.chain((0..self.system.fields.len()).map(Array::New)) {
            note(self, array, &mut order);
        }
        order
    }

    fn depends(&self, node: &Node) -> bool {
        let mut found = false;
        node.visit(&mut |part| {
            found |= match part {
                Node::Read(array) => self.active.contains(array),
                // Totals of the adjoint are known when a step begins.
                Node::Total(number) => self.active_totals.get(*number) == Some(&true),
                _ => false,
            };
        });
        found
    }

    /// Along which axes what lies around an array is the array again.
    pub fn periodic_of(&self, array: Array) -> [bool; 3] {
        match self.own(array) {
            Some(own) => own.periodic,
            None => self.system.boundary_of(array).sides.map(|sides| sides[0] == Side::Periodic),
        }
    }

    /// Hands the adjoint of an expression on to what it reads: through each part of it once, however often it stands there.
    fn hand(&mut self, node: &Node, handed: Contribution) -> Result<(), String> {
        let Contribution { value, path } = handed;
        let mut left: Vec<(usize, Node, Vec<Node>)> =
            vec![(height(node), node.clone(), vec![value])];
        // A part is nearer to the ground than what it is a part of.
        while let Some(highest) = (0..left.len()).max_by_key(|place| left[*place].0) {
            let (_, node, parts) = left.swap_remove(highest);
            let mut value = sum(parts);
            if super::algebra::is(&value, 0.0) || !self.depends(&node) {
                continue;
            }
            let Node::Call(function, arguments) = &node else {
                let path = path.as_ref().map(|path| path.with(&value));
                self.hand_on(&node, &Contribution { value, path })?;
                continue;
            };
            self.note_constants(*function, arguments);
            let mut known = arguments.clone();
            let mut guard = None;
            if let Some((condition, inner)) = self.guarded(&value) {
                (guard, value) = (Some(condition), inner);
            }
            if path.is_none() {
                value = self.named(&value, "adjoint_of_a_part");
                self.named_arguments(*function, &mut known);
            }
            let parts = pulled_where(guard, *function, &known, &value);
            for (argument, value) in arguments.iter().zip(parts) {
                match left.iter_mut().find(|(_, known, _)| known == argument) {
                    Some((_, _, parts)) => parts.push(value),
                    None => left.push((height(argument), argument.clone(), vec![value])),
                }
            }
        }
        Ok(())
    }

    /// Hands the adjoint of what is no function of others on.
    fn hand_on(&mut self, node: &Node, handed: &Contribution) -> Result<(), String> {
        match node {
            Node::Read(array) => self.read(*array, handed),
            Node::Stencil(number, argument) => {
                let handed = self.through(*number, argument, handed)?;
                self.hand(argument, handed)
            }
            Node::Total(number) => self.total(*number, handed),
            Node::Table(..) => Err(totals::of_a_table()),
            Node::Solve(..) => Err("a solve in an expression has no adjoint".into()),
            other => unreachable!("{other:?} reads nothing"),
        }
    }

    /// An expression at a point by a name, if it is large: as a work field of the adjoint.
    fn named(&mut self, node: &Node, name: &str) -> Node {
        let (factor, rest) = split(node);
        if size(&rest) <= MOST_UNNAMED {
            return node.clone();
        }
        let reach = [false; 3];
        let array = self.around_named(rest, (name, self.usual), reach);
        times(factor, Node::Read(array))
    }

    /// Names large numbers that a function of values at a point is made of, also within conditions.
    fn named_arguments(&mut self, function: Function, arguments: &mut [Node]) {
        for (argument, wanted) in arguments.iter_mut().zip(function.takes()) {
            match argument {
                argument if *wanted == Type::Number => *argument = self.named(argument, "part"),
                Node::Call(function, within) => self.named_arguments(*function, within),
                _ => (),
            }
        }
    }

    /// Where an adjoint at a point counts, if that is not everywhere, and what it is there.
    fn guarded(&self, value: &Node) -> Option<(Node, Node)> {
        guarded(value, &|array| self.own(array).and_then(|own| own.value.as_ref()))
    }

    /// Notes what has no derivative, and changes with values.
    fn note_constants(&mut self, function: Function, arguments: &[Node]) {
        self.constants.extend(constant(function));
        if function == Function::If && self.depends(&arguments[0]) {
            let mut decides = false;
            arguments[0].visit(&mut |part| {
                decides |= matches!(part, Node::Call(Function::Equal, _));
            });
            self.constants.extend(decides.then_some("=="));
        }
    }
}

/// Parts of an expression.
fn size(node: &Node) -> usize {
    let mut parts = 0;
    node.visit(&mut |_| parts += 1);
    parts
}

/// How many parts of an expression are within each other.
fn height(node: &Node) -> usize {
    match node {
        Node::Call(_, arguments) => 1 + arguments.iter().map(height).max().unwrap_or(0),
        Node::Stencil(_, of) | Node::Table(_, of) | Node::Solve(_, of) => 1 + height(of),
        _ => 0,
    }
}

/// Whether a point has these coordinates.
pub fn is_at(at: AxisCoordinates) -> Node {
    let along = (0..3).filter_map(|axis| {
        let place = number(at[axis]? as f64);
        Some(call(Function::Equal, [Node::Index(axis), place]))
    });
    let all = along.reduce(|a, b| call(Function::And, [a, b]));
    all.expect("some axis is told")
}
