// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on a GPU: kernels that are written as PTX when the system is known, each for one step of all fields or several.

use self::on_target::OnTarget;
use super::checked::System;
use super::session::StepSession;
use super::start::StartValues;
use compute::device::Gpu;
use compute::engine::on_gpu::Ghosts;
use compute::ranks::Gather;
use problem::{Dtype, Error, Region};
use ptx_writer::{NumberFormats, StorageFormat};
use std::rc::Rc;

pub mod cost;
mod device;
mod emulated;
mod geometry;
mod held;
mod kernel;
mod launch;
mod launch_queue;
mod listed;
mod many_arrays;
mod march;
mod on_target;
mod operation;
mod places;
mod sweep;
mod target;
mod tile;
pub mod tiles;
mod windows;

#[cfg(test)]
mod tests;

pub use emulated::check as check_emulated;
pub use geometry::March;
pub use held::TileState;
pub(crate) use kernel::GeneratedKernel;
pub use launch::LaunchWork;
pub(crate) use launch_queue::{BatchPlace, places, session as session_beside};
pub use sweep::{FinishedSweep, check as check_sweep};

/// The PTX of a system, for one step a launch.
///
/// # Errors
/// It has what kernels have no instructions for.
pub fn ptx(system: &System) -> Result<String, String> {
    Ok(GeneratedKernel::new(system)?.ptx())
}

/// How a kernel computes and stores values of a type.
fn numbers(dtype: Dtype) -> NumberFormats {
    let format = match dtype {
        Dtype::F64 => StorageFormat::F64,
        Dtype::F16 => StorageFormat::F16,
        Dtype::Bf16 => StorageFormat::Bf16,
        Dtype::F32 | Dtype::Tf32 => StorageFormat::F32,
    };
    NumberFormats { format, exact: false }
}

/// Whether there is a GPU.
pub fn has_gpu() -> bool {
    device::check().is_ok()
}

/// The kernel of a system, with that of its totals over a box of points.
fn written(system: &System, launch: &LaunchWork, own: Region) -> Result<GeneratedKernel, Error> {
    let unsupported = |reason| Error::Unsupported { engine: "cuda", reason };
    launch.kernel(system).and_then(|kernel| kernel.with_totals(system, own)).map_err(unsupported)
}

/// A system on a GPU, by such launches.
///
/// # Errors
/// The system has what kernels have no instructions for, or the GPU refuses.
pub fn session(
    system: System,
    launch: &LaunchWork,
    beginning: StartValues,
) -> Result<Box<dyn StepSession>, Error> {
    let kernel = written(&system, launch, system.whole())?;
    if let LaunchWork::Sweep(sweep) = launch {
        let target = device::DeviceTarget::with_sweep(&kernel, sweep)?;
        let session = OnTarget::new(system, kernel, beginning, target)?;
        return Ok(Box::new(session.sweeping((**sweep).clone())?));
    }
    let target = match system.has_solves() {
        true => device::DeviceTarget::open_beside_carried(0, &kernel.ptx())?,
        false => device::DeviceTarget::open(&kernel.ptx())?,
    };
    Ok(Box::new(OnTarget::new(system, kernel, beginning, target)?))
}

/// A rank's part, with a box of points of its own and what gathers what it solves for, by such launches on the CUDA cores of the
/// GPU of this number, with what keeps the ghosts of these arrays right.
///
/// # Errors
/// As [`session`].
pub fn part(
    (system, own, among): (System, Region, Option<Gather>),
    launch: &LaunchWork,
    beginning: StartValues,
    number: usize,
    ghosts: impl FnOnce(&Rc<Gpu>) -> Result<Box<dyn Ghosts>, Error>,
    arrays: Vec<usize>,
) -> Result<Box<dyn StepSession>, Error> {
    let kernel = written(&system, launch, own)?;
    let target = match system.has_solves() {
        true => device::DeviceTarget::open_beside_carried(number, &kernel.ptx())?,
        false => device::DeviceTarget::open_nth(number, &kernel.ptx())?,
    };
    let ghosts = ghosts(target.gpu())?;
    let session = OnTarget::solving(system, kernel, beginning, target, among)?;
    Ok(Box::new(session.among(ghosts, arrays)))
}

/// The kernel of systems that are computed side by side, and so differ in numbers only.
///
/// # Errors
/// They have what kernels have no instructions for.
pub(crate) fn kernel_beside(
    system: &System,
    launch: &LaunchWork,
) -> Result<GeneratedKernel, Error> {
    written(system, launch, system.whole())
}

/// A system, or a rank's part of it with a box of points of its own and what gathers what it solves for, by such launches, each of
/// which is executed on the CPU instruction by instruction.
///
/// # Errors
/// [`Error::Unsupported`]: the system has what kernels have no instructions for.
pub fn emulated(
    (system, own): (System, Region),
    launch: &LaunchWork,
    beginning: StartValues,
    among: Option<Gather>,
) -> Result<Box<dyn StepSession>, Error> {
    let kernel = written(&system, launch, own)?;
    let target = emulated::Emulated::new(&kernel);
    Ok(Box::new(OnTarget::solving(system, kernel, beginning, target, among)?))
}
