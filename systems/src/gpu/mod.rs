// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on a GPU: one kernel, written as PTX when the system is known, that takes one step of all fields.

use self::choice::Choice;
use self::kernel::Kernel;
use self::on_target::OnTarget;
use super::budget;
use super::checked::System;
use super::start::Beginning;
use super::stepper::Stepper;
use problem::Error;
use problem::memory::Bytes;
use transform::machine::Machine;

mod choice;
mod cost;
mod device;
mod emitter;
mod emulated;
mod functions;
mod geometry;
mod kernel;
mod listed;
mod numbers;
mod on_target;
mod operation;
mod places;
mod plan;
mod room;
mod swept;
mod target;
mod tile;
mod windows;

#[cfg(test)]
mod tests;

pub use choice::Cores;
pub use plan::{SystemPlan, plan, seconds_here};

/// The PTX of a system.
///
/// # Errors
/// It has what kernels have no instructions for.
pub fn ptx(system: &System) -> Result<String, String> {
    Ok(Kernel::new(system)?.text)
}

/// A system as an H200 would compute it on CUDA cores, its kernel executed on the CPU.
///
/// # Errors
/// [`Error::Unsupported`]: the system has what kernels have no instructions for, or is too large. [`Error::Memory`].
pub fn emulated(
    system: &System,
    beginning: impl FnOnce() -> Result<Beginning, Error>,
) -> Result<Box<dyn Stepper>, Error> {
    emulated::check(system)?;
    let unsupported = |reason| Error::Unsupported { engine: emulated::ENGINE, reason };
    let beginning = beginning()?;
    let system = system.with_sources_that_count(&beginning);
    let kernel = match choice::choose(&system, &Machine::h200(), Cores::Cuda)?.tile {
        Some(tile) => Kernel::chained(&system, tile),
        None => Kernel::new(&system),
    };
    let kernel = kernel.map_err(unsupported)?;
    let target = emulated::Emulated::new(&kernel);
    Ok(Box::new(OnTarget::new(system, kernel, beginning, target)?))
}

/// A system on a GPU, on the cores that are asked for, or predicted to be fastest.
///
/// # Errors
/// There is none, its memory does not suffice, or [`Error::Unsupported`]: the system has what kernels have no
/// instructions for.
pub fn stepper(
    system: &System,
    cores: Cores,
    beginning: impl FnOnce() -> Result<Beginning, Error>,
) -> Result<Box<dyn Stepper>, Error> {
    let unsupported = |reason| Error::Unsupported { engine: "cuda", reason };
    // Before values to start with are computed for nothing.
    ptx(system).map_err(unsupported)?;
    if cores == Cores::Sparse {
        swept::check(system).map_err(|reason| Error::Unsupported { engine: "sparse", reason })?;
    }
    device::check()?;
    let machine = compute::device::first()?.machine();
    // Also before it is known which sources count.
    let written = |system: &System, choice: &Choice| {
        let kernel = match (&choice.swept, choice.tile) {
            (Some(swept), _) => Kernel::near_sides(system, swept.geometry(system)),
            (None, Some(tile)) => Kernel::chained(system, tile),
            (None, None) => Kernel::new(system),
        };
        kernel.map_err(unsupported)
    };
    let kernel = written(system, &choice::choose(system, &machine, cores)?)?;
    room::require(system, &kernel, Bytes(machine.memory_bytes))?;
    let what = format!("the start of {} fields on {} points", system.fields.len(), system.shape);
    budget::require(system, &what, 0)?;
    let beginning = beginning()?;
    let system = system.with_sources_that_count(&beginning);
    let choice = choice::choose(&system, &machine, cores)?;
    let kernel = written(&system, &choice)?;
    if let Some(swept) = choice.swept {
        let target = device::OnDevice::with_sweep(&kernel, &swept)?;
        return Ok(Box::new(OnTarget::new(system, kernel, beginning, target)?.sweeping(swept)?));
    }
    let target = device::OnDevice::open(&kernel.text)?;
    Ok(Box::new(OnTarget::new(system, kernel, beginning, target)?))
}
