// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stencil here and in Devito on one input: first whether they agree, then how long each takes, in turns with a copy.

use anyhow::{Context, Result, bail};
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

/// What is compared.
#[derive(Clone, Debug)]
pub struct Case {
    /// A name of the catalogue.
    pub stencil: String,
    /// f32 or f64.
    pub dtype: Dtype,
    /// The grid.
    pub shape: Shape,
    /// Time steps of a run.
    pub steps: usize,
}

/// Speeds in GStencil/s; that of the copy in points a second.
#[derive(Clone, Debug)]
pub struct Comparison {
    case: Case,
    ours: Speeds,
    devito: Speeds,
    copy: Speeds,
    distance: f64,
}

/// Runs a case for so many turns.
///
/// # Errors
/// Devito fails, the grid does not fit in memory, or both disagree.
pub fn compare(environment: &Environment, case: &Case, turns: usize) -> Result<Comparison> {
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
    Ok(Comparison { case: case.clone(), ours, devito, copy, distance })
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

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { stencil, dtype, shape, steps } = self;
        write!(f, "{stencil:9} {dtype:4} {:11} {steps:5}", shape.to_string())
    }
}

impl Comparison {
    /// Names of the columns.
    pub const HEADER: &str = "stencil   type grid        steps  here  Devito  ratio   copy  here/copy   best of \
                              each: here  Devito  ratio   copy  distance";
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { case, ours, devito, copy, distance } = self;
        let (here, peer, copied) = (ours.median(), devito.median(), copy.median());
        write!(f, "{case} {here:5.2} {peer:7.2} {:6.2} {copied:6.2}", here / peer)?;
        write!(f, " {:10.2}", here / copied)?;
        let (here, peer, copied) = (ours.best(), devito.best(), copy.best());
        write!(f, " {here:19.2} {peer:7.2} {:6.2} {copied:6.2}  {distance:.1e}", here / peer)
    }
}
