// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stencil here and in Devito on one input: first whether they agree, then how long each takes, in turns with a copy.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;
use stencil::engine::{Engine, cpu::Cpu};
use stencil::{Dtype, Grid, Job, Shape};
use transform::catalogue;

use super::environment::Environment;
use super::speeds::{Speeds, distance};
use super::worker::{Worker, write_values};

/// Steps after which both grids are compared.
const CHECKED: usize = 8;
/// Relative L2 distance that rounding explains, of f32 and f64.
const TOLERANCES: [f64; 2] = [1e-6, 1e-14];
/// Runs of a single step in one turn, of which the mean counts, and copies.
const SINGLE_STEPS: usize = 5;
const COPIES: usize = 10;

/// A stencil on a grid that is timed here and by another package.
#[derive(Clone, Debug)]
pub struct StencilCase {
    /// A name of the catalogue.
    pub stencil: String,
    /// f32 or f64.
    pub dtype: Dtype,
    /// The grid.
    pub shape: Shape,
    /// Time steps of a run.
    pub steps: usize,
}

/// A case beside Devito: GStencil/s, of the copy 10⁹ points a second, medians of the turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StencilRow {
    /// A name of the catalogue.
    pub stencil: String,
    /// The grid.
    pub grid: String,
    /// The element type.
    pub dtype: String,
    /// Time steps of a run.
    pub steps: usize,
    /// Here.
    pub here: f64,
    /// There.
    pub there: f64,
    /// A copy of the grid on all cores.
    pub copy: f64,
    /// The fastest turn here.
    pub best_here: f64,
    /// The fastest turn there.
    pub best_there: f64,
    /// The fastest copy.
    pub best_copy: f64,
    /// How far apart the grids are after 8 steps: the relative L2 distance.
    pub distance: f64,
}

impl StencilRow {
    /// What a table shows.
    #[must_use]
    pub fn cells(&self) -> [String; 7] {
        let Self { stencil, grid, dtype, steps, here, there, copy, distance, .. } = self;
        [
            format!("{stencil} {grid} {dtype}, {steps}"),
            format!("{here:.2}"),
            format!("{there:.2}"),
            format!("{:.2}", here / there),
            format!("{:.2}", self.best_here / self.best_there),
            format!("{:.2}", here / copy),
            format!("{distance:.1e}"),
        ]
    }
}

/// Runs a case for so many turns.
///
/// # Errors
/// Devito fails, the grid does not fit in memory, or both disagree.
pub fn compare(environment: &Environment, case: &StencilCase, turns: usize) -> Result<StencilRow> {
    let stencil = catalogue::find(&case.stencil)
        .with_context(|| format!("no stencil is called {:?}: `host list`", case.stencil))?;
    let job = Job::new(stencil, case.shape, case.dtype, case.steps);
    let input = Grid::random(job.shape, job.dtype, 1)?;
    let folder = tempfile::tempdir().context("cannot make a folder for Devito's files")?;
    let threads = rayon::current_num_threads();
    let request = request(&job, &input, folder.path())?;
    let script = include_str!("scripts/devito_stencil.py");
    let mut peer = Worker::start(environment, script, request, threads, folder.path())?;
    let mut session = Cpu.prepare(&job)?;
    session.load(&input)?;

    session.advance(CHECKED)?;
    let theirs = peer.results(job.shape, job.dtype, CHECKED)?;
    let distance = distance(&session.store()?, &theirs[0]);
    let tolerance = TOLERANCES[usize::from(job.dtype == Dtype::F64)];
    if distance.is_nan() || distance > tolerance {
        bail!(
            "{case}: after {CHECKED} steps both are {distance:.1e} apart (relative L2), which rounding does not \
             explain"
        );
    }

    let points = job.shape.points() as f64;
    let [mut ours, mut devito, mut copy] = std::array::from_fn(|_| Speeds::default());
    let runs = if case.steps == 1 { SINGLE_STEPS } else { 1 };
    for turn in 0..=turns {
        session.restart()?;
        let (mut seconds, mut of_devito) = (0.0, 0.0);
        for _ in 0..runs {
            seconds += session.advance(case.steps)?.as_secs_f64();
        }
        for _ in 0..runs {
            of_devito += peer.time(case.steps)?;
        }
        let of_copy = session.copy(COPIES)?.as_secs_f64();
        // The first turn warms up.
        if turn > 0 {
            let steps = (runs * case.steps) as f64;
            ours.add(points * steps, seconds);
            devito.add(points * steps, of_devito);
            copy.add(points, of_copy);
        }
    }
    Ok(StencilRow {
        stencil: case.stencil.clone(),
        grid: case.shape.to_string(),
        dtype: case.dtype.to_string(),
        steps: case.steps,
        here: ours.median(),
        there: devito.median(),
        copy: copy.median(),
        best_here: ours.best(),
        best_there: devito.best(),
        best_copy: copy.best(),
        distance,
    })
}

/// What the script is told of a job.
fn request(job: &Job, input: &Grid, folder: &Path) -> Result<Value> {
    let path = folder.join("input");
    let kind = write_values(input, &path)?;
    let first = 3 - job.shape.dims();
    let stencil = job.dtype.round_weights(&job.stencil);
    let taps: Vec<_> =
        stencil.taps().iter().map(|tap| json!([tap.offset[first..], tap.weight])).collect();
    Ok(json!({
        "extents": job.shape.axes(),
        "dtype": kind,
        "radius": job.stencil.radii().into_iter().max(),
        "taps": taps,
        "input": path,
    }))
}

impl fmt::Display for StencilCase {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { stencil, dtype, shape, steps } = self;
        write!(f, "{stencil:9} {dtype:4} {:11} {steps:5}", shape.to_string())
    }
}

impl StencilRow {
    /// Names of the columns.
    pub const HEADER: &str = "stencil   type grid        steps  here  Devito  ratio   copy  here/copy   best of \
                              each: here  Devito  ratio   copy  distance";
}

impl fmt::Display for StencilRow {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { stencil, dtype, grid, steps, here, there, copy, distance, .. } = self;
        write!(f, "{stencil:9} {dtype:4} {grid:11} {steps:5}")?;
        write!(f, " {here:5.2} {there:7.2} {:6.2} {copy:6.2}", here / there)?;
        write!(f, " {:10.2}", here / copy)?;
        let Self { best_here, best_there, best_copy, .. } = self;
        write!(f, " {best_here:19.2} {best_there:7.2} {:6.2}", best_here / best_there)?;
        write!(f, " {best_copy:6.2}  {distance:.1e}")
    }
}
