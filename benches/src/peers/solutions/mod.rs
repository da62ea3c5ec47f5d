// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems beside solutions of others' code: how far both are apart, and with which order that falls with the spacing.

mod agreement;
mod measure;
mod problems;

pub use agreement::Agreement;
pub use measure::{Demand, Measure};
pub use problems::{BY_DEVITO, BY_EXPONAX, BY_SWASHES, SolutionProblem, Suite};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use stencil::engine::EngineRequest;
use stencil::system::{Description, System};
use stencil::{Dtype, Simulation};

use super::environment::Environment;
use super::worker::{Worker, write_values};
use crate::root;

/// A problem on each of its grids, on the CPU, beside the solution of the suite's script: a row for each quantity.
///
/// # Errors
/// The script or a run fails, or both have different numbers of values. What is demanded is not looked at.
pub fn solve(
    environment: &Environment,
    suite: &Suite,
    problem: &SolutionProblem,
) -> Result<Vec<Agreement>> {
    let systems: Vec<System> = problem
        .points
        .iter()
        .map(|&points| system(suite, problem, points))
        .collect::<Result<_>>()?;
    let finest = systems.last().context("a problem has a grid")?;
    let folder = tempfile::tempdir().context("cannot make a folder for the script's files")?;
    let mut start = simulation(finest)?;
    let mut starts = Vec::new();
    for name in finest.fields() {
        let path = folder.path().join(name);
        write_values(&start.field(name)?, &path)?;
        starts.push(path);
    }
    let request = json!({
        "problem": problem.name,
        "extents": finest.shape().axes(),
        "dtype": "float64",
        "dt": finest.dt(),
        "steps": finest.steps(),
        "spacing": finest.spacing()[2],
        "digits": problem.digits,
        "places": root().join(suite.folder).join("places.csv"),
        "starts": starts,
    });
    let threads = rayon::current_num_threads();
    let mut worker = Worker::start(environment, suite.script, request, threads, folder.path())?;

    let quantities = problem.quantities;
    let mut rows: Vec<Agreement> =
        quantities.iter().map(|quantity| Agreement::new(suite, problem, quantity)).collect();
    for system in &systems {
        let here = values(system, suite.measure, quantities)?;
        let there = worker.solution(system.shape().axes()[0])?;
        let each = there.len() / quantities.len();
        for (row, (here, there)) in rows.iter_mut().zip(here.iter().zip(there.chunks(each))) {
            ensure!(
                here.len() == there.len(),
                "{}: {} has {} values here and {} there",
                problem.name,
                row.quantity,
                here.len(),
                there.len()
            );
            row.add(system, suite.measure.apart(here, there));
        }
    }
    Ok(rows)
}

/// The system of a problem, with so many points along each axis if they are not those of the file.
fn system(suite: &Suite, problem: &SolutionProblem, points: Option<usize>) -> Result<System> {
    let mut description = Description::parse(problem.name, problem.text)?;
    if let Some(points) = points {
        description.size.fill(points);
    }
    let system = System::new(&description, &root().join(suite.folder))?;
    ensure!(system.dtype() == Dtype::F64, "{}: others' solutions are in f64", problem.name);
    Ok(system)
}

fn simulation(system: &System) -> Result<Simulation> {
    Ok(Simulation::of(system).engine(EngineRequest::Cpu).build()?)
}

/// What a run of all steps leaves of each quantity: fields, or traces, of which each quantity has as many.
fn values(system: &System, measure: Measure, quantities: &[&str]) -> Result<Vec<Vec<f64>>> {
    let mut simulation = simulation(system)?;
    simulation.step(system.steps())?;
    if measure == Measure::Traces {
        let mut traces = vec![Vec::new(); quantities.len()];
        for record in simulation.records() {
            // The first is the time.
            let values = &record[1..];
            for (trace, part) in
                traces.iter_mut().zip(values.chunks(values.len() / quantities.len()))
            {
                trace.extend_from_slice(part);
            }
        }
        return Ok(traces);
    }
    let field = |name: &&str| {
        let grid = simulation.field(name)?;
        Ok((0..grid.shape.points()).map(|point| grid.get(point)).collect())
    };
    quantities.iter().map(field).collect()
}
