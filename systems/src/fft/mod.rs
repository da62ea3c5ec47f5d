// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems whose equations are linear, with the same weights everywhere and always: any number of steps at once, on a GPU
//! (`on_gpu`) or on all cores of this machine (`jump`).
//!
//! On a torus that imitates the boundary a step multiplies the waves of all fields and levels by a small matrix, T steps by its
//! power (`transform::spectral::coupled`). Which systems these are is read from their equations (`linear`), and
//! from what lies around their fields (`torus`); what is the same in each step, such as constants and steady sources, is
//! added (`source`).
//!
//! Fields are held in f64 whatever the element type, and rounded to it where they are looked at.

use std::sync::Arc;

use transform::machine::Machine;
use transform::spectral::coupled;

use self::jump::JumpGroup;
use self::linear::LinearSum;
use self::on_cpu::OnCpu;
use self::on_gpu::Abilities;
use self::stepping::{Fft, State};
use self::torus::Group;
use super::budget;
use super::checked::System;
use super::session::StepSession;
use super::start::StartValues;
use compute::device::Gpu;
use compute::engine::fft::transform::blocks;
use problem::values::Element;
use problem::{Error, Grid, with_values};

mod jump;
mod jump_error;
pub(super) mod linear;
mod on_cpu;
pub mod on_gpu;
mod plan;
mod source;
mod stepping;
mod torus;

pub use plan::{seconds, stepped};

/// What a system is to this engine.
pub struct Parts {
    sums: Vec<LinearSum>,
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
pub fn parts(system: &System) -> Result<Parts, String> {
    if !system.receivers.is_empty() {
        return Err("receivers record each step, and a jump skips steps".into());
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

/// Checks that this machine's memory holds a system.
///
/// # Errors
/// [`Error::Memory`]; [`Error::Unsupported`]: it is none for jumps.
pub fn require(system: &System) -> Result<(), Error> {
    budget::require(system, &what(system), bytes(system, &read(system)?))
}

/// Checks that this machine's memory holds all levels of a system as f64, too, on their way to a GPU.
///
/// # Errors
/// [`Error::Memory`].
pub fn require_on_gpu(system: &System) -> Result<(), Error> {
    let levels = 8 * system.arrays() as u128 * system.shape.points() as u128;
    budget::require(system, &what(system), levels)
}

/// Checks that a GPU takes jumps of a system.
///
/// # Errors
/// Why it does not.
pub fn check_on_gpu(system: &System, parts: &Parts, machine: &Machine) -> Result<(), String> {
    on_gpu::check(system, parts, Abilities::of(machine))
}

/// About how many seconds a jump of so many steps takes on a GPU; none where no torus of its size fits it.
pub fn seconds_on_gpu(
    system: &System,
    parts: &Parts,
    steps: usize,
    machine: &Machine,
) -> Option<f64> {
    on_gpu::seconds(system, parts, steps, machine)
}

/// A system on the cores of this machine, taken by jumps.
///
/// # Errors
/// [`Error::Unsupported`]: its equations or boundaries are not such.
pub fn session(system: &System, beginning: StartValues) -> Result<Box<dyn StepSession>, Error> {
    let Parts { sums, groups, sources } = read(system)?;
    let state = state(beginning);
    let jumper = |group: Group| JumpGroup::new(system, &sums, group, &sources);
    let jumpers = groups.into_iter().map(jumper).collect();
    let fields = OnCpu::new(jumpers, state, system.shape.dims());
    Ok(Box::new(Fft::new(system, sums, fields)?))
}

/// A system on a GPU, taken by jumps.
///
/// # Errors
/// As [`session`]; the GPU refuses.
pub fn session_on_gpu(
    system: &System,
    beginning: StartValues,
) -> Result<Box<dyn StepSession>, Error> {
    on_gpu::session(system, read(system)?, Box::new(Gpu::open()?), beginning)
}

fn read(system: &System) -> Result<Parts, Error> {
    parts(system).map_err(|reason| Error::Unsupported { engine: "fft", reason })
}

/// A system on any device, taken by jumps, for tests.
///
/// # Errors
/// [`Error::Unsupported`]: it is none for jumps on a GPU; or the device refuses.
#[cfg(test)]
pub(crate) fn session_on(
    system: &System,
    device: Box<dyn compute::device::Device>,
    beginning: impl FnOnce() -> Result<StartValues, Error>,
) -> Result<Box<dyn StepSession>, Error> {
    let unsupported = |reason| Error::Unsupported { engine: "fft", reason };
    let parts = read(system)?;
    check_on_gpu(system, &parts, &Machine::h200()).map_err(unsupported)?;
    on_gpu::session(system, parts, device, beginning()?)
}

fn what(system: &System) -> String {
    format!("jumps of {} fields on {} points", system.fields.len(), system.shape)
}

/// All levels to start with, in f64.
fn state(beginning: StartValues) -> State {
    let values = |grid: Arc<Grid>| -> Vec<f64> {
        with_values!(&grid.values, values => values.iter().map(|it| Element::to_f64(*it)).collect())
    };
    let field = |levels: Vec<Arc<Grid>>| levels.into_iter().map(values).collect();
    beginning.fields.into_iter().map(field).collect()
}

/// The toruses of all groups, slowest axis first.
pub fn toruses(system: &System, parts: &Parts) -> Vec<Vec<usize>> {
    let first = 3 - system.shape.dims();
    parts.groups.iter().map(|group| group.lengths()[first..].to_vec()).collect()
}

/// Memory for a system besides the values that it starts with: its levels now and before a jump, spectra of all variables
/// of a group, tables of roots, and sources.
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
    points * levels * 16 + sources + spectra
}
