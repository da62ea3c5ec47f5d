// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both on the same input: first whether they agree, then how long each takes, in turns with a copy.

use anyhow::{Context, Result, bail};
use std::fmt;
use stencil::engine::{Engine, cpu::Cpu};
use stencil::{Dtype, Grid, Job, Shape, with_values};
use transform::catalogue;

use super::environment::Environment;
use super::peer::Peer;

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

/// Of one who computes, of every turn.
#[derive(Clone, Debug, Default)]
struct Speeds(Vec<f64>);

impl Speeds {
    fn add(&mut self, points: f64, seconds: f64) {
        self.0.push(points / seconds / 1e9);
    }

    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    fn best(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
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
    let mut peer = Peer::start(environment, &job, &input, threads, folder.path())?;
    let mut session = Cpu.prepare(&job)?;
    session.load(&input)?;

    session.advance(CHECKED)?;
    let distance = distance(&session.store()?, &peer.result(&job, CHECKED)?);
    let tolerance = TOLERANCES[usize::from(job.dtype == Dtype::F64)];
    if distance.is_nan() || distance > tolerance {
        bail!(
            "{case}: after {CHECKED} steps both are {distance:.1e} apart (relative L2), which rounding does not \
             explain"
        );
    }

    let points = job.shape.points() as f64;
    let [mut ours, mut devito, mut copy] = [const { Speeds(Vec::new()) }; 3];
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

/// Relative L2 distance of one grid from the other.
#[must_use]
pub fn distance(one: &Grid, other: &Grid) -> f64 {
    let sums = |(difference, norm): (f64, f64), (one, other): (f64, f64)| {
        (difference + (one - other).powi(2), norm + other.powi(2))
    };
    let (one, other) = (wide(one), wide(other));
    let (difference, norm) = one.into_iter().zip(other).fold((0.0, 0.0), sums);
    (difference / norm).sqrt()
}

fn wide(grid: &Grid) -> Vec<f64> {
    use stencil::values::Element;
    with_values!(&grid.values, values => values.iter().map(|value| value.to_f64()).collect())
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
