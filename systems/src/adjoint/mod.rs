// SPDX-License-Identifier: MIT OR Apache-2.0
//! The adjoint of a system, which is a system again: how what is sought changes with the values that a step begins with, from how it changes
//! with those that it leaves (`docs/how-to/gradients.md`).
//!
//! A step makes s' = F(s) of all levels of all fields. The adjoint step makes of the adjoints of s' those of s, with the transposed derivative of F at
//! s. Its fields are the adjoints, its equations the derivatives of the forward ones ([`reverse`]), written as texts, so that whatever
//! computes systems computes it. Where derivatives depend on s, the values of s are fields of the adjoint system, which whoever runs it gives
//! before each step; what the forward step computes on its way is computed again, as work fields.

mod algebra;
mod build;
mod derivative;
mod file;
mod fold;
mod making;
mod parameters;
mod reverse;
pub mod schedule;
mod text;
mod walls;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::checked::System;
use crate::description::Description;
use crate::parts::{Recorded, Trace};
use problem::{Error, Grid};

/// What is differentiated: how much it changes with what was recorded. How it changes with the fields at the end is what the adjoint
/// starts with.
#[derive(Clone, Debug, Default)]
pub struct Misfit {
    /// Of each row of records, from that of the start on, the derivative by the value of each receiver; nothing if it does not depend on
    /// records.
    pub records: Vec<Vec<f64>>,
    /// Of the values before the first step and after each one the derivative by each total; nothing if it does not depend on totals.
    pub totals: Vec<Vec<f64>>,
    /// Of each step its time and its length, where that follows from the values: they are taken for constant.
    pub paces: Vec<[f64; 2]>,
}

impl Misfit {
    /// One that changes with records in a way that nobody has said yet.
    #[must_use]
    pub fn unsaid(system: &System, steps: usize) -> Self {
        let records = vec![vec![0.0; system.traces.len()]; steps + 1];
        Self { records, ..Self::default() }
    }

    /// One that also changes with totals in a way that nobody has said yet.
    #[must_use]
    pub fn of_totals_too(self, system: &System, steps: usize) -> Self {
        Self { totals: vec![vec![0.0; system.totals.names.len()]; steps + 1], ..self }
    }

    /// Leaves room for the times and lengths of steps, which are not known yet.
    #[must_use]
    pub(crate) fn of_unknown_paces(self, system: &System, steps: usize) -> Self {
        let paces = if system.varies_steps() { vec![[0.0; 2]; steps] } else { Vec::new() };
        Self { paces, ..self }
    }

    /// Whether something is recorded that is made of several values, so that its derivative after the last step is one of these.
    fn looks_at_end(&self, system: &System) -> bool {
        let is_one = |trace: &Trace| matches!(trace.of, Recorded::Expression(..));
        !self.records.is_empty() && system.traces.iter().any(is_one)
    }
}

/// By what is differentiated, besides the values before a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GradientVariables {
    /// Coefficients, by name.
    pub coefficients: Vec<String>,
    /// Constants, by name.
    pub parameters: Vec<String>,
}

/// A field of the adjoint system that is a forward value, to be given before each step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardField {
    /// Its name in the adjoint system.
    pub name: String,
    /// The forward field.
    pub field: String,
    /// When it has this value, in steps from the time before the step that is gone back over: 1 after that step, -1 a step earlier.
    pub when: isize,
}

/// A field of the adjoint system, and the forward field whose adjoint it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjointOf {
    /// Its name in the adjoint system.
    pub name: String,
    /// The forward field.
    pub field: String,
    /// How many steps before.
    pub level: usize,
}

/// A field of the adjoint system in which a gradient is added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GradientField {
    /// Its name in the adjoint system.
    pub name: String,
    /// The coefficient, or the parameter.
    pub by: String,
    /// Whether it is a parameter: then the sum over all points is its gradient.
    pub is_parameter: bool,
}

/// A receiver of the adjoint system, at a source of the forward one.
#[derive(Clone, Debug, PartialEq)]
pub struct AtSource {
    /// The field of the adjoint system that it records.
    pub field: String,
    /// The place in C order.
    pub place: usize,
    /// The number of the source: of all places, in the order of the description.
    pub source: usize,
    /// How much of the source is added there; 0 where points keep their values.
    pub weight: f64,
    /// Whether what is recorded is made by the step that goes back over that of the source; else the adjoint was there before it.
    pub is_made: bool,
}

/// The adjoint of so many steps of a system.
#[derive(Clone, Debug)]
pub struct Adjoint {
    /// It as a description. What forward values are to be is 0 at the start.
    pub description: Description,
    /// It, checked.
    pub system: System,
    /// Forward values that it needs; nothing of a linear system.
    pub given: Vec<ForwardField>,
    /// The adjoints of fields and of their earlier levels, in the order of a state.
    pub fields: Vec<AdjointOf>,
    /// The gradients that it adds up.
    pub summed: Vec<GradientField>,
    /// What its receivers record: adjoints where the forward system has sources.
    pub sources: Vec<AtSource>,
    /// How many sources the forward system has, in all places.
    pub source_count: usize,
    /// Whether its first step makes no step back but looks at the values after the last one, of which receivers record expressions. Then
    /// the adjoints of fields begin with 0, and how what is sought changes with fields is added after that step.
    pub looks_at_end: bool,
    /// Whether its last step makes no step back either, but adds how what is sought changes with totals of the values before the first one.
    pub completes: bool,
    /// What was taken for constant though it changes with values: `floor`, `==`.
    pub constants: Vec<&'static str>,
    /// Values of coefficients that were computed to be starts, by their names: files of the description when it is written.
    pub arrays: Vec<(String, Arc<Grid>)>,
}

impl Adjoint {
    /// Of so many steps of a system, the first of which is the step of this number.
    ///
    /// # Errors
    /// [`Error::Gradient`]: the system has something of which there is no adjoint, with its name; there is no such coefficient or
    /// constant.
    pub fn new(
        system: &System,
        by: &GradientVariables,
        (first, steps): (usize, usize),
        misfit: &Misfit,
    ) -> Result<Self, Error> {
        let origin = system.source.as_deref();
        let known = origin.iter().flat_map(|origin| &origin.description.coefficients);
        let known: Vec<&str> = known.map(|it| it.name.as_str()).collect();
        let mut asked = BTreeSet::new();
        for name in by.coefficients.iter().chain(&by.parameters) {
            if !asked.insert(name) {
                return Err(refused(format!("'{name}' is asked for twice: name it once")));
            }
        }
        for name in &by.coefficients {
            if !known.contains(&name.as_str()) {
                return Err(refused(format!("there is no coefficient '{name}'")));
            }
        }
        let with = match by.parameters.is_empty() {
            true => None,
            false => Some(parameters::as_coefficients(system, &by.parameters)?),
        };
        let of = with.as_ref().unwrap_or(system);
        let without = walls::written_out(of)?;
        build::build((without.as_ref().unwrap_or(of), system), by, (first, steps), misfit)
    }
}

/// What has no gradient.
pub(crate) fn refused(reason: String) -> Error {
    Error::Gradient { reason }
}
