// SPDX-License-Identifier: MIT OR Apache-2.0
//! Totals: numbers that all points of the present values make together, such as mass and energy.
//!
//! A total is an expression of reductions ([`Reduction`]): sums over the grid, smallest and largest values. What is reduced
//! is computed in f64 from the values as they are stored, by one order of operations without fused ones; sums are exact to
//! some hundred bits ([`exact`]). So neither an engine nor the number of threads or ranks changes a total, but for what
//! functions such as exp differ in.

use serde::{Deserialize, Serialize};
use transform::Stencil;

use crate::description::TotalText;
use crate::expression::{Array, Fold, Function, Node, Purpose, Reduction, Scope};
use crate::program::{Offset, Program};
use crate::sides::Sides;
use crate::text::Text;
use problem::error::Mistake;

pub mod exact;
mod order;

pub use exact::Partial;

/// The totals of a system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Their names.
    pub names: Vec<String>,
    /// What each is made of: reductions and what is one number for a step.
    pub values: Vec<Node>,
    /// How many reductions each and those before it have, in the order in which they were found.
    ends: Vec<usize>,
    /// The reductions.
    pub reductions: Vec<Reduction>,
    /// What is reduced, as operations on a point.
    pub program: Program,
}

/// More than any step is off by that is good for something.
const BOUNDLESS: f64 = 1e300;

/// Where points are not solid, of which the coefficient of this number tells.
fn fluid(solid: Option<usize>) -> Option<Node> {
    let solid = Node::Read(Array::Coefficient(solid?));
    Some(Node::call(Function::Less, vec![solid, Node::Number(0.5)]))
}

impl Totals {
    /// Checks the totals of a description, and names them in the scope, each for those that are made of it. Points do not count where
    /// the coefficient of this number says that they are solid.
    ///
    /// # Errors
    /// One is no total, is made of itself, or takes too much.
    pub fn new(
        texts: &[TotalText],
        scope: &mut Scope,
        solid: Option<usize>,
    ) -> Result<Self, Mistake> {
        let fluid = fluid(solid);
        let mut totals = Self {
            names: texts.iter().map(|text| text.name.as_str().to_owned()).collect(),
            values: vec![Node::Number(0.0); texts.len()],
            ends: vec![0; texts.len()],
            ..Self::default()
        };
        for number in order::of(texts, scope)? {
            let TotalText { name, value, region } = &texts[number];
            let region = match region {
                Some(region) => Some(scope.condition(region, Purpose::Reduced)?),
                None => None,
            };
            let region = match (region, &fluid) {
                (Some(region), Some(fluid)) => {
                    Some(Node::call(Function::And, vec![fluid.clone(), region]))
                }
                (region, fluid) => region.or_else(|| fluid.clone()),
            };
            let node = scope.total(value, region.as_ref(), &mut totals.reductions)?;
            let mut sums = false;
            node.visit(&mut |part| sums |= matches!(part, Node::Total(_)));
            if !sums {
                let wrong = value.wrong("a total needs a sum over the grid");
                return Err(wrong.hint("such as sum(u), mean(u) or max(abs(u))"));
            }
            totals.ends[number] = totals.reductions.len();
            scope.totals.push((name.as_str().to_owned(), node.clone()));
            totals.values[number] = node;
        }
        Ok(totals)
    }

    /// The length of steps as a total that has no name.
    ///
    /// # Errors
    /// It is no total.
    pub fn step_length(
        &mut self,
        text: &Text,
        scope: &Scope,
        solid: Option<usize>,
    ) -> Result<Node, Mistake> {
        let node = scope.total(text, fluid(solid).as_ref(), &mut self.reductions)?;
        let mut of_itself = false;
        let mut see = |part: &Node| of_itself |= matches!(part, Node::StepLength);
        node.visit(&mut see);
        self.reductions.iter().for_each(|reduction| reduction.value.visit(&mut see));
        if of_itself {
            return Err(text.wrong("the time step depends on itself"));
        }
        self.ends.push(self.reductions.len());
        Ok(node)
    }

    /// What fields are off by over what is tolerated, by work fields in the order of fields: of the largest of all points, where
    /// |u| more is tolerated.
    pub fn off(
        &mut self,
        estimates: std::ops::Range<usize>,
        tolerance: &Node,
        solid: Option<usize>,
    ) -> Node {
        let call = |function, a: Node, b: Node| Node::call(function, vec![a, b]);
        let size = |node: Node| Node::call(Function::Abs, vec![node]);
        let of_field = |(field, work): (usize, usize)| {
            let now = Node::Read(Array::Field { field, level: 0 });
            let allowed = call(Function::Add, Node::Number(1.0), size(now.clone()));
            let off = call(Function::Divide, size(Node::Read(Array::Work(work))), allowed);
            // What is no number is off by anything: the largest of all values would leave it out.
            let most = || Node::Number(BOUNDLESS);
            let [is_known, is_finite] =
                [off.clone(), size(now)].map(|it| call(Function::Less, it, most()));
            let is_known = call(Function::And, is_known, is_finite);
            Node::call(Function::If, vec![is_known, off, most()])
        };
        let all = estimates.enumerate().map(of_field);
        let largest = all.reduce(|a, b| call(Function::Max, a, b)).expect("a system has fields");
        let largest = match fluid(solid) {
            Some(fluid) => Node::call(Function::If, vec![fluid, largest, Node::Number(0.0)]),
            None => largest,
        };
        self.reductions.push(Reduction { fold: Fold::Max, value: largest });
        self.ends.push(self.reductions.len());
        let largest = Node::Total(self.reductions.len() - 1);
        call(Function::Divide, largest, tolerance.clone())
    }

    /// Makes operations of what is reduced, with what is added beyond sides.
    ///
    /// # Errors
    /// A total reads too far away, or takes too many operations.
    pub fn compile(&mut self, by: (&[Stencil], &Sides), texts: &[&Text]) -> Result<(), Mistake> {
        let mut found: Vec<(&&Text, &usize)> = texts.iter().zip(&self.ends).collect();
        found.sort_by_key(|(_, end)| **end);
        for (text, end) in found {
            let values = self.reductions[..*end].iter().map(|reduction| &reduction.value);
            let program = Program::of_values(by, values);
            self.program = program.map_err(|what| text.wrong(what))?;
        }
        Ok(())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How often the values must be looked at: reductions of values that are made of no other one are known after the first
    /// look, those that are made of these after the second.
    #[must_use]
    pub fn looks(&self) -> usize {
        let mut all: Vec<usize> = Vec::new();
        for reduction in &self.reductions {
            let mut before = 0;
            // It is made of those before it.
            reduction.value.visit(&mut |part| {
                if let Node::Total(number) = part {
                    before = before.max(all[*number]);
                }
            });
            all.push(before + 1);
        }
        all.into_iter().max().unwrap_or_default()
    }

    /// What each reduction is, by looks that each are told what the one before has found.
    ///
    /// # Errors
    /// A look fails.
    pub fn find<E>(
        &self,
        mut look: impl FnMut(&[f64]) -> Result<Vec<Vec<Partial>>, E>,
    ) -> Result<Vec<f64>, E> {
        // What a look does not know yet is no number, nor is what it makes of it.
        let mut known = self.unknown();
        for _ in 0..self.looks() {
            known = self.together(&look(&known)?);
        }
        Ok(known)
    }

    /// What is known of reductions before a look.
    #[must_use]
    pub fn unknown(&self) -> Vec<f64> {
        vec![f64::NAN; self.reductions.len()]
    }

    /// How each reduction makes one number of all.
    pub fn folds(&self) -> impl ExactSizeIterator<Item = Fold> {
        self.reductions.iter().map(|reduction| reduction.fold)
    }

    /// What each reduction is in two parts, of those of parts of the grid in the order of the parts.
    #[must_use]
    pub fn in_one<'a>(&self, parts: impl Iterator<Item = &'a [Partial]>) -> Vec<Partial> {
        let mut all: Vec<Partial> = self.folds().map(exact::nothing).collect();
        for part in parts {
            for ((all, own), fold) in all.iter_mut().zip(part).zip(self.folds()) {
                *all = exact::both(fold, *all, *own);
            }
        }
        all
    }

    /// What each reduction is, of those of parts of the grid in the order of the parts.
    #[must_use]
    pub fn together(&self, parts: &[Vec<Partial>]) -> Vec<f64> {
        let all = self.in_one(parts.iter().map(Vec::as_slice));
        self.folds().zip(all).map(|(fold, part)| exact::value(fold, part)).collect()
    }

    /// How far a reduction reads around a point (z, y, x).
    #[must_use]
    pub fn reach(&self) -> [usize; 3] {
        self.program.reach(|_| true)
    }

    /// What is read, each as often as it is read.
    pub fn reads(&self) -> impl Iterator<Item = (Array, Offset)> {
        self.program.reads()
    }
}
