// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system here and by others' code, from the same start: first whether they agree, then how long each takes, in turns.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use stencil::engine::EngineRequest;
use stencil::system::{ComputeOptions, Description, System, SystemSimulation};
use stencil::{Dtype, Shape};

use super::environment::Environment;
use super::problems::{Peer, PeerProblem};
use super::speeds::{Speeds, distance};
use super::worker::{Worker, write_values};

/// Steps after which the fields are compared.
const CHECKED: usize = 8;
/// Relative L2 distance that rounding explains, of f32 and f64.
const TOLERANCES: [f64; 2] = [1e-5, 1e-13];

/// What is run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What computes here.
    pub engine: EngineRequest,
    /// Points along each axis, instead of those of the file.
    pub size: Option<usize>,
    /// The element type, instead of that of the file.
    pub dtype: Option<Dtype>,
    /// Turns, of which the median counts.
    pub turns: usize,
}

/// A problem beside one peer: 10⁹ points a second, medians of the turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SystemRow {
    /// The problem.
    pub problem: String,
    /// Its grid.
    pub grid: String,
    /// Its element type.
    pub dtype: String,
    /// Steps of a turn.
    pub steps: usize,
    /// Others' code.
    pub peer: String,
    /// The kernel here.
    pub kernel: String,
    /// Here.
    pub here: f64,
    /// There.
    pub there: f64,
    /// The fastest turn here.
    pub best_here: f64,
    /// The fastest turn there.
    pub best_there: f64,
    /// How far apart the fields are after 8 steps: the largest relative L2 distance.
    pub distance: f64,
}

impl SystemRow {
    /// Names of the columns.
    pub const HEADER: &str = "| problem | grid, type, steps | peer | here | peer's | ratio | of the best turns | apart |\n\
                              | --- | --- | --- | --- | --- | --- | --- | --- |";

    /// A line of the table.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { problem, grid, dtype, steps, peer, here, there, .. } = self;
        format!(
            "| {problem} | {grid} {dtype}, {steps} | {peer} | {here:.3} | {there:.3} | {:.2} | {:.2} | {:.1e} |",
            here / there,
            self.best_here / self.best_there,
            self.distance
        )
    }
}

/// A problem beside a peer.
///
/// # Errors
/// The peer's script fails, the grid does not fit in memory, or both disagree by more than rounding explains.
pub fn beside(
    environment: &Environment,
    problem: &PeerProblem,
    peer: Peer,
    setting: Setting,
) -> Result<SystemRow> {
    let system = system(problem, setting)?;
    let (shape, dtype) = (system.shape(), system.dtype());
    let folder = tempfile::tempdir().context("cannot make a folder for the script's files")?;
    let asked = ComputeOptions {
        engine: setting.engine,
        steps: system.steps(),
        ..ComputeOptions::default()
    };
    let mut simulation = SystemSimulation::asked(&system, &asked)?;
    let names: Vec<String> = system.fields().map(str::to_owned).collect();
    let (mut starts, mut kind) = (Vec::new(), "float32");
    for name in &names {
        let path = folder.path().join(name);
        kind = write_values(&simulation.field(name)?, &path)?;
        starts.push(path);
    }
    let request = json!({
        "problem": problem.name,
        "extents": shape.axes(),
        "dtype": kind,
        "dt": system.dt(),
        "spacing": system.spacing()[2],
        "starts": starts,
    });
    let threads = rayon::current_num_threads();
    let mut worker = Worker::start(environment, peer.script(), request, threads, folder.path())?;

    simulation.step(CHECKED)?;
    let theirs = worker.results(shape, dtype, CHECKED)?;
    let mut farthest = 0.0_f64;
    for (name, other) in names.iter().zip(&theirs) {
        let apart = distance(&simulation.field(name)?, other);
        farthest = farthest.max(if apart.is_nan() { f64::INFINITY } else { apart });
    }
    let tolerance = TOLERANCES[usize::from(dtype == Dtype::F64)];
    if farthest > tolerance {
        bail!(
            "{} beside {}: after {CHECKED} steps fields are {farthest:.1e} apart (relative L2), which rounding does \
             not explain",
            problem.name,
            peer.name()
        );
    }
    let [mut here, mut there] = [Speeds::default(), Speeds::default()];
    let (points, steps) = (shape.points() as f64, system.steps());
    for turn in 0..=setting.turns {
        let of_turn = simulation.advance(steps)?.as_secs_f64();
        let of_peer = worker.time(steps)?;
        // The first turn warms up.
        if turn > 0 {
            here.add(points * steps as f64, of_turn);
            there.add(points * steps as f64, of_peer);
        }
    }
    simulation.check_finite()?;
    Ok(SystemRow {
        problem: problem.name.to_owned(),
        grid: shape.to_string(),
        dtype: dtype.to_string(),
        steps,
        peer: peer.name().to_owned(),
        kernel: simulation.report().kernel.unwrap_or_default(),
        here: here.median(),
        there: there.median(),
        best_here: here.best(),
        best_there: there.best(),
        distance: farthest,
    })
}

/// The system of a problem.
fn system(problem: &PeerProblem, setting: Setting) -> Result<System> {
    let mut description = Description::parse(problem.name, problem.text)?;
    if let Some(size) = setting.size {
        description.size = Shape::new(&vec![size; description.size.len()])?.axes().to_vec();
    }
    description.dtype = setting.dtype.unwrap_or(description.dtype);
    Ok(System::new(&description, Path::new(""))?)
}
