// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems whose equations are linear, with the same weights everywhere and always: any number of steps at once, on
//! all cores of this machine.
//!
//! On a torus that imitates the boundary a step multiplies the waves of all fields and levels by a small matrix, T steps by its
//! power (`transform::spectral::coupled`). Which systems these are is read from their equations (`linear`), and
//! from what lies around their fields (`torus`); what is the same in each step, such as constants and steady sources, is
//! added (`source`).
//!
//! Fields are held in f64 whatever the element type, and rounded to it where they are looked at.

use std::time::{Duration, Instant};

use num_complex::Complex64;
use transform::spectral::coupled;

use self::jump::{Jumper, Off, State};
use self::linear::Sum;
use self::torus::Group;
use super::checked::System;
use super::evaluate::Values;
use super::expression::Array;
use super::start::Beginning;
use super::stepper::{Jumps, Stepper};
use crate::engine::fft::transform::blocks;
use crate::values::Element;
use crate::{Dtype, Error, Grid, memory, with_values};

mod jump;
mod linear;
mod plan;
mod source;
mod torus;

pub use plan::{JumpPlan, plan, seconds, stepped};

/// What a system is to this engine.
struct Parts {
    sums: Vec<Sum>,
    groups: Vec<Group>,
    /// Steady sources: field, point, and what is added.
    sources: Vec<(usize, [usize; 3], f64)>,
}

/// The most variables of a group: fields and their earlier levels.
const MOST: usize = 12;

/// Reads a system's equations.
///
/// # Errors
/// Why it is not one that jumps.
fn parts(system: &System) -> Result<Parts, String> {
    if !system.receivers.is_empty() {
        return Err("receivers record each step, and a jump has none in between".into());
    }
    if !system.chain.allows_one() {
        return Err("it takes steps by Fourier transforms, not in a chain".into());
    }
    let (sums, sources) = (linear::sums(system)?, linear::sources(system)?);
    let groups = torus::groups(system, &sums)?;
    for group in &groups {
        let variables: usize = group.fields.iter().map(|it| system.fields[*it].levels).sum();
        if variables > MOST {
            return Err(format!(
                "{variables} fields and earlier levels depend on each other; it takes up to {MOST}"
            ));
        }
    }
    Ok(Parts { sums, groups, sources })
}

/// A system on the cores of this machine, taken by jumps.
///
/// # Errors
/// [`Error::Unsupported`]: its equations or boundaries are not such. [`Error::Memory`]: it does not fit.
pub fn stepper(
    system: &System,
    beginning: impl FnOnce() -> Result<Beginning, Error>,
) -> Result<Box<dyn Stepper>, Error> {
    let parts = parts(system).map_err(|reason| Error::Unsupported { engine: "fft", reason })?;
    let what = format!("jumps of {} fields on {} points", system.fields.len(), system.shape);
    memory::require(&what, bytes(system, &parts))?;
    let Parts { sums, groups, sources } = parts;
    let values = |grid: Grid| -> Vec<f64> {
        with_values!(&grid.values, values => values.iter().map(|it| Element::to_f64(*it)).collect())
    };
    let field = |levels: Vec<Grid>| levels.into_iter().map(values).collect();
    let state = beginning()?.fields.into_iter().map(field).collect();
    let jumps = Jumps { steps: 0, toruses: toruses(system, &groups), growth: 0.0 };
    let jumper = |group: Group| Jumper::new(system, &sums, group, &sources);
    let jumpers = groups.into_iter().map(jumper).collect();
    let off = vec![0.0; sums.len()];
    let (before, spectra) = (None, Vec::new());
    Ok(Box::new(Fft { system: system.clone(), sums, jumpers, state, before, spectra, off, jumps }))
}

/// The toruses of all groups, slowest axis first.
fn toruses(system: &System, groups: &[Group]) -> Vec<Vec<usize>> {
    let first = 3 - system.shape.dims();
    groups.iter().map(|group| group.lengths()[first..].to_vec()).collect()
}

/// Memory for a system: its levels now and before a jump, and those it is made from, spectra of all variables of a
/// group, tables of roots, and sources.
fn bytes(system: &System, parts: &Parts) -> u128 {
    let points = system.shape.points() as u128;
    let levels = system.arrays() as u128;
    let of_group = |group: &Group| {
        let variables: usize = group.fields.iter().map(|it| system.fields[*it].levels).sum();
        let all = (variables + group.fields.len()) as u128;
        let blocks = blocks(&group.axes, system.shape.dims());
        all * blocks.bytes() + coupled::bytes(group.lengths())
    };
    let spectra = parts.groups.iter().map(of_group).max().unwrap_or_default();
    let sources = 8 * points * parts.sums.len() as u128;
    points * levels * (16 + system.dtype.bytes() as u128) + sources + spectra
}

/// The fields before a jump.
struct Before {
    /// After so many steps.
    done: usize,
    state: State,
    /// Steps of the jump.
    steps: usize,
    /// By how much it can be off.
    off: Vec<Off>,
}

struct Fft {
    system: System,
    sums: Vec<Sum>,
    jumpers: Vec<Jumper>,
    state: State,
    before: Option<Before>,
    spectra: Vec<Vec<Complex64>>,
    /// Of the step that was compared last, by field.
    off: Vec<f64>,
    jumps: Jumps,
}

impl Fft {
    fn jump(&mut self, steps: usize) -> Result<Vec<Off>, Error> {
        /// Of the largest value: beyond that a jump says nothing.
        const MOST_OFF: f64 = 0.01;
        let Self { jumpers, state, spectra, jumps, system, .. } = self;
        let all: Vec<Off> =
            jumpers.iter().map(|jumper| jumper.make(state, steps, spectra)).collect();
        for (jumper, Off { values, largest, growth }) in jumpers.iter().zip(&all) {
            jumps.growth = jumps.growth.max(*growth);
            let is_known = |off: &f64| *off <= MOST_OFF * largest;
            if largest.is_finite() && values.iter().flatten().all(is_known) {
                continue;
            }
            let name = &system.fields[jumper.fields()[0]].name;
            let reason = format!(
                "it is unstable: in {steps} steps a wave of '{name}' grows {growth:.1e} times, and with it \
                 what rounding leaves, so that no digit would be certain; a smaller dt may help"
            );
            return Err(Error::Unsupported { engine: "fft", reason });
        }
        jumps.steps = jumps.steps.max(steps);
        Ok(all)
    }

    /// By how much a jump can be off, by field and level.
    fn by_field(&self, off: &[Off]) -> Vec<Vec<f64>> {
        let mut all = vec![Vec::new(); self.sums.len()];
        for (jumper, off) in self.jumpers.iter().zip(off) {
            let pairs = jumper.fields().iter().zip(&off.values);
            pairs.for_each(|(field, values)| all[*field] = values.clone());
        }
        all
    }
}

impl Stepper for Fft {
    fn advance(&mut self, done: usize, steps: usize) -> Result<Duration, Error> {
        if steps == 0 {
            return Ok(Duration::ZERO);
        }
        let start = Instant::now();
        let state = self.state.clone();
        let off = self.jump(steps)?;
        self.before = Some(Before { done, state, steps, off });
        Ok(start.elapsed())
    }

    /// As many as there are.
    fn depth(&self) -> usize {
        usize::MAX
    }

    /// The step that follows the last jump, by a jump of one step more from where that one began.
    fn advance_from_before(&mut self, done: usize) -> Result<(), Error> {
        let last = self.before.take().filter(|before| before.done + before.steps == done);
        let (steps, before) = match last {
            Some(Before { state, steps, off, .. }) => {
                self.state = state;
                (steps + 1, self.by_field(&off))
            }
            None => (1, vec![Vec::new(); self.sums.len()]),
        };
        let off = self.jump(steps)?;
        let after = self.by_field(&off);
        let of_field = |(sum, after): (&Sum, &Vec<f64>)| {
            let read = before.iter().enumerate().flat_map(|(field, levels)| {
                let levels = levels.iter().enumerate();
                levels.map(move |(level, off)| sum.gain(field, level) * off)
            });
            after[0] + read.sum::<f64>()
        };
        self.off = self.sums.iter().zip(&after).map(of_field).collect();
        Ok(())
    }

    fn holds(&self) -> Option<Dtype> {
        Some(Dtype::F64)
    }

    fn off(&self, field: usize) -> f64 {
        self.off[field]
    }

    fn jumps(&self) -> Option<Jumps> {
        Some(self.jumps.clone())
    }

    fn grid(&self, array: Array) -> Result<Grid, Error> {
        let Array::Field { field, level } = array else {
            unreachable!("coefficients are not looked at")
        };
        let values = f64::wrap(self.state[field][level].clone());
        Grid { shape: self.system.shape, values }.cast(self.system.dtype)
    }

    fn values(&self) -> Result<Box<dyn Values + '_>, Error> {
        Ok(Box::new(View(self)))
    }

    fn record(&self, points: &[(usize, usize)]) -> Result<Vec<f64>, Error> {
        Ok(points.iter().map(|&(field, index)| self.state[field][0][index]).collect())
    }

    fn engine(&self) -> &'static str {
        "fft"
    }

    fn device(&self) -> String {
        crate::engine::cpu::device()
    }

    fn arithmetic(&self) -> String {
        format!("{} values, kept as f64, f64 transforms", self.system.dtype)
    }

    fn value_bytes(&self) -> usize {
        size_of::<f64>()
    }
}

/// The present values, read one by one.
struct View<'a>(&'a Fft);

impl Values for View<'_> {
    fn value(&self, array: Array, index: usize) -> f64 {
        match array {
            Array::Field { field, level } => self.0.state[field][level][index],
            // Those that an equation may have here are the same everywhere.
            Array::Coefficient(coefficient) => linear::coefficient(&self.0.system, coefficient)
                .expect("equations that read another are refused"),
        }
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers")
    }
}
