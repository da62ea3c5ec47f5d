// SPDX-License-Identifier: MIT OR Apache-2.0
//! A checked system: every name is what it stands for, every number is known.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use transform::Stencil;

use super::clock::StepLength;
use super::description::Table;
use super::expression::{Array, Node};
use super::origin::Origin;
use super::parts::{
    BatchNumbers, Coefficient, Field, Receiver, Source, StepWork, Trace, WallImage, WholeGrid,
};
use super::program::Program;
use super::sides::Sides;
use super::totals::Totals;
use super::vanishing::Vanishing;
use problem::job::Depth;
use problem::{Boundary, Clock, Dtype, Error, Shape};

mod checks;
mod making;
mod names;
mod order;
mod starts;

/// A system of fields, ready to be computed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct System {
    pub(super) title: String,
    pub(super) shape: Shape,
    pub(super) dtype: Dtype,
    /// Where along z, y, x its first point lies in the whole grid, of which it may be a rank's part.
    pub(super) origin: [isize; 3],
    /// Distance of points along z, y, x.
    pub(super) spacing: [f64; 3],
    /// When steps are, and how long.
    pub(super) clock: Clock,
    /// The length of steps, if it follows from the values.
    pub(super) length: Option<StepLength>,
    pub(super) steps: usize,
    pub(super) stencils: Vec<Stencil>,
    pub(super) tables: Vec<Table>,
    pub(super) fields: Vec<Field>,
    pub(super) coefficients: Vec<Coefficient>,
    pub(super) works: Vec<StepWork>,
    /// Of a rank's part the grid on which it solves.
    pub(super) solved_on: Option<WholeGrid>,
    /// The coefficient that is 1 at solid points and 0 elsewhere.
    pub(super) solid: Option<usize>,
    /// The expressions of values and slopes at sides.
    pub(super) side_values: Vec<Node>,
    pub(super) sources: Vec<Source>,
    /// Of each of them which place of the description it is of, and with which weight; of a part of a system nothing.
    #[serde(skip)]
    pub(super) shares: Vec<(usize, f64)>,
    /// How many places of sources the description has; of a part of a system nothing.
    #[serde(skip)]
    pub(super) source_places: usize,
    /// What all points make together.
    pub(super) totals: Totals,
    /// Where a run has come to its end, if a condition says it.
    pub(super) end: Option<Node>,
    /// Arrays that are 0 at most points, or needed at few; where nothing is said, nothing is known.
    pub(super) vanishing: Vec<Vanishing>,
    /// Points whose values engines record.
    pub(super) receivers: Vec<Receiver>,
    /// What is recorded of them.
    pub(super) traces: Vec<Trace>,
    /// All equations.
    pub(super) program: Program,
    /// The equations of each stage of a step, in the order of the stages.
    pub(super) stages: Vec<Program>,
    /// Steps of a launch, where an engine can take several.
    pub(super) chain: Depth,
    /// Steps that are taken at once by Fourier transforms, at most.
    pub(super) jump: Depth,
    /// What may not be what was meant.
    pub(super) warnings: Vec<String>,
    /// The systems beside which it is computed by one kernel, if it is.
    #[serde(skip)]
    pub(super) beside: Option<BatchNumbers>,
    /// What it was made of; of a rank's part nothing.
    #[serde(skip)]
    pub(super) source: Option<Arc<Origin>>,
}

impl System {
    /// What an array is called.
    pub(super) fn name_of(&self, array: Array) -> &str {
        match array {
            Array::Field { field, .. } | Array::New(field) => &self.fields[field].name,
            Array::Coefficient(coefficient) => &self.coefficients[coefficient].name,
            Array::Work(work) => &self.works[work].name,
        }
    }

    /// What lies around an array.
    pub(super) fn boundary_of(&self, array: Array) -> &Boundary {
        match array {
            Array::Field { field, .. } | Array::New(field) => &self.fields[field].boundary,
            Array::Coefficient(coefficient) => &self.coefficients[coefficient].boundary,
            Array::Work(work) => &self.works[work].boundary,
        }
    }

    /// What lies around an array, and how many steps after the time before a step its values are.
    pub(super) fn around(&self, array: Array) -> (Boundary, f64) {
        let later = match array {
            Array::Field { level, .. } => -(level as f64),
            Array::New(_) => 1.0,
            Array::Work(work) => self.works[work].later,
            Array::Coefficient(_) => 0.0,
        };
        (*self.boundary_of(array), later)
    }

    /// How long a step is: a number, or what the clock says.
    pub(super) fn step_length(&self) -> Node {
        if self.varies_steps() { Node::StepLength } else { Node::Number(self.clock.dt) }
    }

    /// The expressions at sides, with what lies around each array, and what is read instead of it at solid points.
    pub(super) fn sides<'a>(
        &'a self,
        of: &'a dyn Fn(Array) -> (Boundary, f64),
        walls: &'a dyn Fn(Array) -> Option<WallImage>,
    ) -> Sides<'a> {
        let Self { side_values, shape, spacing, .. } = self;
        let dt = self.step_length();
        Sides { expressions: side_values, shape: *shape, spacing: *spacing, dt, of, walls }
    }

    /// With so many steps to take instead of its own.
    #[must_use]
    pub fn with_steps(self, steps: usize) -> Self {
        Self { steps, ..self }
    }

    /// With so many steps taken at once on a GPU, which has the bits of single ones but for what its compiler makes
    /// of products and sums.
    #[must_use]
    pub fn with_chain(self, chain: Depth) -> Self {
        Self { chain, ..self }
    }

    /// With at most so many steps taken at once by Fourier transforms, which are asked for with that.
    #[must_use]
    pub fn with_jump(self, jump: Depth) -> Self {
        Self { jump, ..self }
    }

    /// What may not be what was meant, a sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What it is.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Its grid.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How fields are stored.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// From a point to the next along (z, y, x); 1 along an axis that the grid lacks.
    #[must_use]
    pub fn spacing(&self) -> [f64; 3] {
        self.spacing
    }

    /// Time of a step.
    #[must_use]
    pub fn dt(&self) -> f64 {
        self.clock.dt
    }

    /// Steps to take, if nothing else is said.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The arrays that change: fields, and what is kept of earlier steps.
    #[must_use]
    pub fn arrays(&self) -> usize {
        self.fields.iter().map(|field| field.levels).sum()
    }

    /// The names of its fields, but for those that a layer adds.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &str> {
        let named = self.fields.len() - self.memories();
        self.fields[..named].iter().map(|field| field.name.as_str())
    }

    /// What is recorded where: the name of a field or an expression, and the place in points, slowest axis first.
    pub fn receivers(&self) -> impl ExactSizeIterator<Item = (&str, &[f64])> {
        self.traces.iter().map(|it| (it.name.as_str(), it.at.as_slice()))
    }

    /// Which field has this name.
    pub(super) fn find(&self, name: &str) -> Result<usize, Error> {
        self.fields.iter().position(|field| field.name == name).ok_or_else(|| {
            let known = self.fields().map(str::to_owned).collect();
            Error::UnknownField { name: name.to_owned(), known }
        })
    }
}
