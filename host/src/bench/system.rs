// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurement of a system.

use std::path::Path;

use super::{BenchCase, DepthMode, Measurement};
use compute::engine::EngineRequest;
use compute::run::Time;
use problem::control::{Control, Stop};
use problem::observe::NoObserver;
use problem::{Dtype, Error};
use systems::{ComputeOptions, Description, System, SystemSimulation, examples};

/// Computes a case on an engine, verifies and measures it. The systems of the workloads are no stencils.
///
/// # Errors
/// As [`super::measure()`] has them.
pub fn run(case: &BenchCase, engine: EngineRequest, stop: &Stop) -> Result<Measurement, Error> {
    let unsupported =
        |reason: &str| Error::Unsupported { engine: engine.into(), reason: reason.into() };
    if case.dtype == Dtype::Tf32 {
        return Err(unsupported("systems are stored as f64, f32, f16 or bf16"));
    }
    if case.mode == DepthMode::Fused {
        return Err(unsupported("a system is not computed as one sum"));
    }
    let (_, chain) = case.mode.depths();
    let example = examples::find(case.workload.stencil).expect("a built-in system");
    let mut description = Description::parse(example.name, example.text)?;
    description.size = case.shape.axes().to_vec();
    (description.dtype, description.steps) = (case.dtype, case.steps);
    let system = System::new(&description, Path::new(""))?.with_chain(chain);
    let control = Control { stop: stop.clone(), progress: None };
    // Only in the mode that leaves it open steps may be taken by jumps.
    let steps = if case.mode == DepthMode::Auto { case.steps } else { 1 };
    let asked = ComputeOptions { engine, steps, ..ComputeOptions::default() };
    let mut simulation = SystemSimulation::asked(&system, &asked)?.control(control);
    let compared = [0, case.steps / 2, case.steps - 1];
    simulation.run(case.steps, &compared, &mut NoObserver)?;
    simulation.check_finite()?;
    simulation.measure(Time::Auto)?;
    let report = simulation.report();
    Measurement::of(&report)
        .ok_or_else(|| unsupported("its steps cannot be repeated for measuring"))
}
