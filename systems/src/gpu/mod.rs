// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on a GPU: one kernel, written as PTX when the system is known, that takes one step of all fields.

use self::choice::Choice;
use self::kernel::Kernel;
use self::on_target::OnTarget;
use super::budget;
use super::checked::System;
use super::session::StepSession;
use super::start::StartValues;
use compute::device::Gpu;
use compute::engine::on_gpu::Ghosts;
use problem::Error;
use problem::memory::Bytes;
use std::rc::Rc;
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
    beginning: impl FnOnce() -> Result<StartValues, Error>,
) -> Result<Box<dyn StepSession>, Error> {
    emulated::check(system)?;
    let beginning = beginning()?;
    emulated_part(system.with_sources_that_count(&beginning), beginning)
}

/// Ways to take steps on CUDA cores, by the steps of a launch: predicted seconds of a step, or why there is no such launch.
pub fn chains(system: &System, machine: &Machine) -> Vec<(usize, Result<f64, String>)> {
    match ptx(system) {
        Ok(_) => choice::chains(system, machine),
        Err(reason) => vec![(1, Err(reason))],
    }
}

/// Predicted seconds of a step by a sweep on sparse tensor cores.
///
/// # Errors
/// Why there is none.
pub fn sweep(system: &System, machine: &Machine) -> Result<f64, String> {
    Ok(swept::Swept::new(system, machine)?.seconds(system, machine))
}

/// Whether there is a GPU.
pub fn is_here() -> bool {
    device::check().is_ok()
}

/// Steps of a launch on CUDA cores: as many as are asked for, or predicted to be fastest.
///
/// # Errors
/// [`Error::Unsupported`]: kernels have no instructions for it, or cannot take as many steps as are asked for.
pub fn depth(system: &System, machine: &Machine) -> Result<usize, Error> {
    ptx(system).map_err(|reason| Error::Unsupported { engine: "cuda", reason })?;
    let tile = choice::choose(system, machine, Cores::Cuda)?.tile;
    Ok(tile.map_or(1, |tile| tile.steps))
}

/// The kernel for CUDA cores.
fn on_cuda_cores(system: &System, machine: &Machine) -> Result<Kernel, Error> {
    let kernel = match choice::choose(system, machine, Cores::Cuda)?.tile {
        Some(tile) => Kernel::chained(system, tile),
        None => Kernel::new(system),
    };
    kernel.map_err(|reason| Error::Unsupported { engine: "cuda", reason })
}

/// A rank's part on the CUDA cores of the GPU of this number, with what keeps the ghosts of these arrays right.
///
/// # Errors
/// As [`session`].
pub fn part(
    system: System,
    beginning: StartValues,
    number: usize,
    ghosts: impl FnOnce(&Rc<Gpu>) -> Result<Box<dyn Ghosts>, Error>,
    arrays: Vec<usize>,
) -> Result<Box<dyn StepSession>, Error> {
    let machine = compute::device::first()?.machine();
    let kernel = on_cuda_cores(&system, &machine)?;
    room::require(&system, &kernel, Bytes(machine.memory_bytes))?;
    let target = device::OnDevice::open_nth(number, &kernel.text)?;
    let ghosts = ghosts(target.gpu())?;
    Ok(Box::new(OnTarget::new(system, kernel, beginning, target)?.among(ghosts, arrays)))
}

/// A rank's part, its kernel executed on the CPU.
///
/// # Errors
/// As [`emulated`].
pub fn emulated_part(
    system: System,
    beginning: StartValues,
) -> Result<Box<dyn StepSession>, Error> {
    emulated::check(&system)?;
    let kernel = on_cuda_cores(&system, &Machine::h200())?;
    let target = emulated::Emulated::new(&kernel);
    Ok(Box::new(OnTarget::new(system, kernel, beginning, target)?))
}

/// A system on a GPU, on the cores that are asked for, or predicted to be fastest.
///
/// # Errors
/// There is none, its memory does not suffice, or [`Error::Unsupported`]: the system has what kernels have no
/// instructions for.
pub fn session(
    system: &System,
    cores: Cores,
    beginning: impl FnOnce() -> Result<StartValues, Error>,
) -> Result<Box<dyn StepSession>, Error> {
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
