// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurement of a system.

use std::path::Path;

use super::{Case, Measurement, Mode};
use compute::engine::EngineRequest;
use compute::run::Time;
use problem::Error;
use problem::control::{Control, Stop};
use problem::observe::Nobody;
use systems::{Asked, Description, System, SystemSimulation, examples};

/// Computes a case on an engine, verifies and measures it. The systems of the workloads are no stencils.
///
/// # Errors
/// As [`super::measure()`] has them.
pub fn run(case: &Case, engine: EngineRequest, stop: &Stop) -> Result<Measurement, Error> {
    let (_, chain) = case.mode.depths();
    let example = examples::find(case.workload.stencil).expect("a built-in system");
    let mut description = Description::parse(example.name, example.text)?;
    description.size = case.shape.axes().to_vec();
    (description.dtype, description.steps) = (case.dtype, case.steps);
    let system = System::new(&description, Path::new(""))?.with_chain(chain);
    let control = Control { stop: stop.clone(), progress: None };
    if case.mode == Mode::Fused {
        let reason = "the equations of a system are not taken as one sum".to_owned();
        return Err(Error::Unsupported { engine: engine.into(), reason });
    }
    // Only in the mode that leaves it open steps may be taken by jumps.
    let steps = if case.mode == Mode::Auto { case.steps } else { 1 };
    let asked = Asked { engine, steps, ..Asked::default() };
    let mut simulation = SystemSimulation::asked(&system, &asked)?.control(control);
    let compared = [0, case.steps / 2, case.steps - 1];
    simulation.run(case.steps, &compared, &mut Nobody)?;
    simulation.check_finite()?;
    simulation.measure(Time::Auto)?;
    let report = simulation.report();
    Ok(Measurement::of(&report).expect("the run was compared and measured"))
}
