// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients: how what is made of the values that steps leave, and of what receivers recorded, changes with the values before the steps, with
//! coefficients, constants and sources (`docs/how-to/gradients.md`).
//!
//! After the steps the adjoint system goes back over them. Where it depends on the forward values, some of them are kept on the way, and
//! those between are computed again ([`back`]).

use super::builder::Choices;
use super::{Form, Simulation};
use crate::adjoint::{Adjoint, GradientVariables, Misfit, refused};
use crate::checked::System;
use back::ReversePath;
use problem::memory::Bytes;
use problem::observe::ArrayName;
use problem::{Dtype, Error, Grid};

mod back;
mod place;
mod shots;

pub use crate::tape::TapeStorage;
pub use back::KeptTapes;
pub use shots::ShotGradients;

/// By what is differentiated, and with how much memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GradientBy {
    /// Coefficients, by name.
    pub coefficients: Vec<String>,
    /// Constants, by name: as far as equations and sources read them.
    pub parameters: Vec<String>,
    /// Whether the number that is sought changes with totals, too: then what these are made of is kept.
    pub totals: bool,
    /// What kept states may take of the memory where they are kept, of a system that needs some. If nothing is said, a quarter of what is
    /// free, of this machine's memory no more than it takes to take each step again once (and 256 MiB), and in a folder as much as they like.
    /// All that is kept counts, with the state after the steps where some are taken again. At least so much is taken all the same, as soon
    /// as it is one state: two states, and the values that the adjoint reads of two times and of the earlier ones that equations read. On a
    /// GPU what the adjoint's arrays take is not counted as free.
    pub memory: Option<Bytes>,
    /// Where they are kept.
    pub place: TapeStorage,
    /// To which type values are rounded that the adjoint reads, of fewer bytes than that of the system. States from which steps are taken
    /// again keep theirs.
    pub rounded: Option<Dtype>,
}

/// How much a number that is sought changes with what the steps leave.
#[derive(Clone, Debug, Default)]
pub struct Cotangents {
    /// With each value of fields after the last step, also of earlier levels; with others not at all.
    pub fields: Vec<(ArrayName, Grid)>,
    /// With each value that receivers recorded: a row of each step, as [`Simulation::records`] has them but without the time, and before
    /// them one of the start, or none. Nothing at all if it does not change with them.
    pub records: Vec<Vec<f64>>,
    /// With each total of the system, in the order of its names: a row of the values after each step, and before them one of the start, or
    /// none, or one row of those after the last step alone. Nothing at all if it does not change with them. [`GradientBy::totals`] says
    /// before that there will be some.
    pub totals: Vec<Vec<f64>>,
}

/// How much a number that is sought changes with what the steps began with.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// With each value of fields before the first step, and of earlier levels.
    pub start: Vec<(ArrayName, Grid)>,
    /// With each value of coefficients.
    pub coefficients: Vec<(String, Grid)>,
    /// With constants.
    pub parameters: Vec<(String, f64)>,
    /// With what each source adds in each step: a list for each place, in the order of the system. Zeros of those that read values of
    /// their points, which are parts of equations.
    pub sources: Vec<Vec<f64>>,
    /// What was taken for constant though it changes with values: `floor`, `==`.
    pub constants: Vec<&'static str>,
    /// Steps that were taken again to go back.
    pub steps_again: usize,
}

impl Simulation {
    /// Takes so many steps, asks `misfit` how much the number that is sought changes with what they left, and returns how much it changes with
    /// what they began with. The simulation is then after these steps, as [`Simulation::step`] leaves it.
    ///
    /// What half the sum of squares after a step of decay has to do with the values before it:
    /// ```
    /// # mod stencil { pub use {problem::*, systems::Simulation}; pub mod system { pub use systems::*; } }
    /// use stencil::Simulation;
    /// use stencil::system::simulation::{Cotangents, GradientBy};
    /// use stencil::system::{Description, FieldText, System};
    /// use std::path::Path;
    ///
    /// # fn main() -> Result<(), stencil::Error> {
    /// let decay = Description::new(&[4])
    ///     .dtype(stencil::Dtype::F64)
    ///     .constant("rate", 0.5)
    ///     .field(FieldText::new("u", "1 + x", "u - rate*u^2"));
    /// let system = System::new(&decay, Path::new("."))?;
    /// let mut decay = Simulation::of(&system).build()?;
    /// let by = GradientBy { parameters: vec!["rate".into()], ..GradientBy::default() };
    /// let gradient = decay.gradient(1, &by, |after| {
    ///     let u = after.state()?.arrays;
    ///     Ok(Cotangents { fields: u, ..Cotangents::default() })
    /// })?;
    /// // Of the second point: u = 2 becomes 2 - 0.5*4 = 0; of the first one 1 becomes 0.5, which changes by 1 - 2*0.5*1 = 0.
    /// let (name, by_start) = &gradient.start[0];
    /// assert_eq!((name.field.as_str(), by_start.get(0), by_start.get(1)), ("u", 0.0, 0.0));
    /// // 3 becomes -1.5, which changes by 1 - 3.
    /// assert_eq!(by_start.get(2), 3.0);
    /// // By the rate: -(1*0.5 + 4*0 + 9*(-1.5) + 16*(-4)).
    /// assert_eq!(gradient.parameters, [("rate".to_owned(), 77.0)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::Gradient`]: there is no adjoint of something in the system, which is told.
    /// - [`Error::UnknownField`], [`Error::Extents`]: a cotangent is of none of its arrays, or of another shape.
    /// - [`Error::Memory`]: not one state fits.
    /// - Whatever [`Simulation::step`], [`super::Builder::build`] and `misfit` fail with.
    pub fn gradient(
        &mut self,
        steps: usize,
        by: &GradientBy,
        misfit: impl FnOnce(&mut Self) -> Result<Cotangents, Error>,
    ) -> Result<Gradient, Error> {
        self.gradient_within(steps, (by, None), misfit)
    }

    /// As [`Simulation::gradient`], where kept states take no more than a share, if there is one, whatever limit they have else.
    fn gradient_within(
        &mut self,
        steps: usize,
        (by, share): (&GradientBy, Option<Bytes>),
        misfit: impl FnOnce(&mut Self) -> Result<Cotangents, Error>,
    ) -> Result<Gradient, Error> {
        let Some(choices) = self.choices.clone() else {
            return Err(refused("gradients are taken of systems: write the stencil as one".into()));
        };
        let system = choices.system.clone();
        let keeping = by;
        let by = GradientVariables {
            coefficients: by.coefficients.clone(),
            parameters: by.parameters.clone(),
        };
        let first = self.steps();
        let span = (first, steps);
        let mut unsaid = Misfit::unsaid(&system, steps).of_unknown_paces(&system, steps);
        if keeping.totals {
            unsaid = unsaid.of_totals_too(&system, steps);
        }
        let plain = Adjoint::new(&system, &by, span, &unsaid)?;
        let mut route = match plain.given.is_empty() {
            true => None,
            false => Some(ReversePath::new(self, &plain, steps, (keeping, share))?),
        };
        if let Form::Equations(own) = &mut self.form {
            own.note_paces();
        }
        let stepped = match &mut route {
            Some(route) => route.forward(self),
            None => self.step(steps),
        };
        let paces = match &mut self.form {
            Form::Equations(own) => own.noted_paces(),
            Form::Sum(_) => Vec::new(),
        };
        stepped?;
        if self.steps() != first + steps {
            let taken = self.steps() - first;
            return Err(refused(format!(
                "the run ends after {taken} of the {steps} steps: ask for {taken} steps"
            )));
        }
        let cotangents = misfit(self)?;
        if self.steps() != first + steps {
            return Err(refused("the misfit took steps of its own".into()));
        }
        let records = checked_records(&system, cotangents.records, steps)?;
        let totals = checked_totals(&system, cotangents.totals, steps)?;
        if !totals.is_empty() && !keeping.totals {
            return Err(refused(
                "derivatives by totals are given, but were not announced: set `totals`, so that the values they need are kept".into(),
            ));
        }
        let is_plain = records.is_empty()
            && system.receivers().len() == 0
            && !keeping.totals
            && !system.varies_steps();
        let adjoint = match is_plain {
            true => plain,
            false => {
                let misfit = Misfit { records: records.clone(), totals, paces };
                Adjoint::new(&system, &by, span, &misfit)?
            }
        };
        // What the misfit has nothing to do with was kept in vain.
        if let Some(route) = &mut route {
            route.give(&adjoint.given);
        }
        let row = records.last().filter(|_| !adjoint.looks_at_end);
        let inputs = beginning(&system, &adjoint, &cotangents.fields, row)?;
        // What is added after the first step, which is noted before that.
        let mut unnoted = vec![0.0; adjoint.sources.len()];
        let mut back = match adjoint.looks_at_end {
            false => going_back(&adjoint, &choices, inputs)?,
            true => {
                let mut back = going_back(&adjoint, &choices, Vec::new())?;
                match &mut route {
                    Some(route) => route.give_end(self, &mut back)?,
                    None => back.step(1)?,
                }
                for (name, grid) in inputs {
                    let at_sources = adjoint.sources.iter().enumerate();
                    let at_sources =
                        at_sources.filter(|(_, own)| own.field == name && !own.is_made);
                    at_sources.for_each(|(number, own)| unnoted[number] += grid.get(own.place));
                    let own = back.field(&name)?;
                    let sum = (0..grid.shape.points()).map(|at| own.get(at) + grid.get(at));
                    let extents = &grid.shape.extents()[3 - grid.shape.dims()..];
                    let sum = Grid::new(extents, sum.collect::<Vec<f64>>())?;
                    back.put_level(&name, 0, sum.stored_as(own.dtype())?)?;
                }
                back
            }
        };
        let steps_again = match &mut route {
            None => {
                back.step(steps + usize::from(adjoint.completes))?;
                0
            }
            Some(route) => {
                route.back(self, &mut back, adjoint.completes)?;
                route.steps_again
            }
        };
        self.tapes = route.and_then(ReversePath::leave);
        found(&adjoint, &mut back, (steps, steps_again), &unnoted)
    }
}

/// A simulation of the adjoint as the steps were computed, shared by ranks if these were and it can be cut so.
fn going_back(
    adjoint: &Adjoint,
    choices: &Choices,
    inputs: Vec<(String, Grid)>,
) -> Result<Simulation, Error> {
    let back = || {
        let back = Simulation::of(&adjoint.system).engine(choices.asked.engine);
        back.control(choices.control.clone()).inputs(inputs.clone())
    };
    if let Some(sharing) = &choices.asked.sharing {
        match back().shared(sharing.clone()).build() {
            // By one rank, whose results are the same.
            Err(Error::Split { .. } | Error::Unsupported { .. }) => (),
            built => return built,
        }
    }
    back().build()
}

/// Rows of as many numbers as there are receivers, one of the start and one of each step, or none at all.
fn checked_records(
    system: &System,
    records: Vec<Vec<f64>>,
    steps: usize,
) -> Result<Vec<Vec<f64>>, Error> {
    let receivers = system.receivers().len();
    let are_right = records.iter().all(|row| row.len() == receivers);
    match records.len() {
        0 => return Ok(records),
        rows if rows == steps + 1 && are_right => return Ok(records),
        rows if rows == steps && are_right => {
            return Ok([vec![0.0; receivers]].into_iter().chain(records).collect());
        }
        _ => (),
    }
    let (rows, most) = (records.len(), records.iter().map(Vec::len).max().unwrap_or(0));
    Err(refused(format!(
        "{rows} rows of up to {most} derivatives by records; {steps} steps and {receivers} receivers have as many rows of {receivers}, or one more"
    )))
}

/// Rows of as many numbers as there are totals, one of the start and one of each step, or none at all.
fn checked_totals(
    system: &System,
    rows: Vec<Vec<f64>>,
    steps: usize,
) -> Result<Vec<Vec<f64>>, Error> {
    let totals = system.totals().len();
    let are_right = rows.iter().all(|row| row.len() == totals);
    let before = match rows.len() {
        0 => return Ok(rows),
        _ if are_right && totals == 0 => return Ok(Vec::new()),
        count if are_right && (count == steps || count == 1) => steps + 1 - count,
        count if are_right && count == steps + 1 => 0,
        count => {
            let most = rows.iter().map(Vec::len).max().unwrap_or(0);
            return Err(refused(format!(
                "{count} rows of up to {most} derivatives by totals; {steps} steps and {totals} totals have as many rows of {totals}, or one more, or the last one alone"
            )));
        }
    };
    Ok(std::iter::repeat_n(vec![0.0; totals], before).chain(rows).collect())
}

/// What the fields of an adjoint system start with.
fn beginning(
    system: &System,
    adjoint: &Adjoint,
    fields: &[(ArrayName, Grid)],
    row: Option<&Vec<f64>>,
) -> Result<Vec<(String, Grid)>, Error> {
    let shape = system.shape();
    let mut all: Vec<Option<Vec<f64>>> = vec![None; adjoint.fields.len()];
    let place = |field: &str, level: usize| {
        adjoint.fields.iter().position(|own| own.field == field && own.level == level)
    };
    for (name, grid) in fields {
        let Some(place) = place(&name.field, name.level) else {
            let known = system.fields().map(str::to_owned).collect();
            let name = match name.level {
                0 => name.field.clone(),
                level => format!("{}, {level} steps before", name.field),
            };
            return Err(Error::UnknownField { name, known });
        };
        if grid.shape != shape {
            let (shape, found) = (shape.to_string(), grid.shape.to_string());
            return Err(Error::Extents { shape, found });
        }
        let values = all[place].get_or_insert_with(|| vec![0.0; shape.points()]);
        values.iter_mut().enumerate().for_each(|(index, own)| *own += grid.get(index));
    }
    for (number, value) in row.into_iter().flatten().enumerate() {
        for (field, index, weight) in system.points_of_receiver(number) {
            let place = place(&field, 0).expect("each field has an adjoint");
            let values = all[place].get_or_insert_with(|| vec![0.0; shape.points()]);
            values[index] += weight * value;
        }
    }
    let extents = &shape.extents()[3 - shape.dims()..];
    let given = adjoint.fields.iter().zip(all);
    let given = given.filter_map(|(own, values)| Some((own.name.clone(), values?)));
    given.map(|(name, values)| Ok((name, Grid::new(extents, values)?))).collect()
}

/// What the adjoint system has come to.
fn found(
    adjoint: &Adjoint,
    back: &mut Simulation,
    (steps, steps_again): (usize, usize),
    unnoted: &[f64],
) -> Result<Gradient, Error> {
    let mut start = Vec::new();
    for own in &adjoint.fields {
        let name = ArrayName { field: own.field.clone(), level: own.level };
        let values = back.field(&own.name)?;
        // What a run takes as 0 makes no difference.
        let field = adjoint.system.find(&own.name)?;
        start.push((name, adjoint.system.with_zeros(field, &values).into_owned()));
    }
    let (mut coefficients, mut parameters) = (Vec::new(), Vec::new());
    for own in &adjoint.summed {
        let grid = back.field(&own.name)?;
        match own.is_parameter {
            true => {
                let sum = (0..grid.shape.points()).map(|index| grid.get(index)).sum();
                parameters.push((own.by.clone(), sum));
            }
            false => coefficients.push((own.by.clone(), grid)),
        }
    }
    let mut sources = vec![vec![0.0; steps]; adjoint.source_count];
    let records = back.records();
    for (number, own) in adjoint.sources.iter().enumerate().filter(|(_, own)| own.weight != 0.0) {
        let before = usize::from(own.is_made) + usize::from(adjoint.looks_at_end);
        let rows = records.iter().skip(before).take(steps);
        for (row, values) in rows.enumerate() {
            let more = if row == 0 { unnoted[number] } else { 0.0 };
            sources[own.source][steps - 1 - row] += own.weight * (values[1 + number] + more);
        }
    }
    let constants = adjoint.constants.clone();
    Ok(Gradient { start, coefficients, parameters, sources, constants, steps_again })
}
