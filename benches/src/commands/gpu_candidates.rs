// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times everything that the planner chooses among: every engine, kernel family, number of fused steps and of
//! chained sweeps, on grids from small to large. CSV, as `tests/measurements/h200.csv`. The planner is calibrated with
//! these (`docs/decisions/0017-planner.md`). Of every candidate the first launch is compared at every point with
//! the f64 reference where that is quick, on the smaller grids.

use clap::Args;
use std::time::Duration;
use stencil::check::verify;
use stencil::device::{Device as _, Gpu};
use stencil::engine::{EngineRequest, SumSession};
use stencil::families::{FAMILIES, Family};
use stencil::plan::choose;
use stencil::{Boundary, Dtype, Error, Grid, Shape};
use stencil::{Depth, Job};
use transform::catalogue;

/// Times every candidate of the planner.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Names of stencils
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "star1d1r,star1d2r,star1d7r,star2d1r,box2d1r,\
        star2d2r,box2d2r,star2d3r,box2d3r,star2d5r,box2d7r,star3d1r,box3d1r,star3d2r,box3d2r,star3d4r"
    )]
    stencil: Vec<String>,
    /// Element types
    #[arg(long, value_delimiter = ',', default_value = "f16,bf16,tf32,f32,f64")]
    dtype: Vec<Dtype>,
    /// Engines
    #[arg(long, value_delimiter = ',', default_value = "sparse,dense,cuda")]
    engine: Vec<EngineRequest>,
    /// Families of kernels; all if none is named
    #[arg(long, value_delimiter = ',')]
    family: Vec<String>,
    /// Sums that are chained; as many as there are kernels for if none is given
    #[arg(long, value_delimiter = ',')]
    chain: Vec<usize>,
    /// Grids of at least so many points
    #[arg(long, default_value_t = 0)]
    least_points: usize,
    /// Grids of at most so many points
    #[arg(long, default_value_t = 600_000_000)]
    most_points: usize,
    /// Periodic sides instead of zeros
    #[arg(long)]
    periodic: bool,
    /// Seconds of a sample
    #[arg(long, default_value_t = 0.003)]
    sample: f64,
}

/// Samples, of which the median counts.
const SAMPLES: usize = 5;

/// Multiplications of a reference that are quick.
const QUICK: usize = 100_000_000;

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    // Kept open, because opening the first one takes long.
    let gpu = Gpu::open()?;
    eprintln!("{}", gpu.describe());
    println!("stencil,shape,dtype,boundary,engine,kernel,fuse,chain,seconds_per_step");
    for name in &arguments.stencil {
        let stencil = catalogue::find(name).expect("a name of the catalogue");
        for extents in sizes(stencil.dims()) {
            let shape = Shape::new(&extents)?;
            if !(arguments.least_points..=arguments.most_points).contains(&shape.points()) {
                continue;
            }
            for &dtype in &arguments.dtype {
                let input = Grid::random(shape, dtype, 1)?;
                let sides = if arguments.periodic { "periodic" } else { "zero" };
                let boundary = Boundary::parse(sides, shape.dims())?;
                let job = Job { boundary, ..Job::new(stencil.clone(), shape, dtype, 1 << 20) };
                for (engine, kernel, fuse, chain) in candidates() {
                    let is_wanted = arguments.family.is_empty()
                        || arguments.family.iter().any(|name| name == kernel.name());
                    let is_wanted = is_wanted
                        && (arguments.chain.is_empty() || arguments.chain.contains(&chain));
                    if !arguments.engine.contains(&engine) || !is_wanted {
                        continue;
                    }
                    let (fuse, chain) = (Depth::Steps(fuse), Depth::Steps(chain));
                    let job = Job { kernel: Some(kernel.name()), fuse, chain, ..job.clone() };
                    time(&job, (engine, sides), &input, arguments.sample)?;
                }
            }
        }
    }
    Ok(())
}

fn sizes(dims: usize) -> Vec<Vec<usize>> {
    match dims {
        1 => [10_000, 100_000, 1_000_000, 10_240_000, 100_000_000, 536_870_912]
            .map(|n| vec![n])
            .into(),
        2 => [
            [256, 256],
            [512, 512],
            [1000, 1000],
            [2048, 2048],
            [4096, 4096],
            [10240, 10240],
            [64, 100_000],
        ]
        .map(Vec::from)
        .into(),
        _ => [64, 128, 256, 512, 768].map(|n| vec![n; 3]).into(),
    }
}

/// Every family, at every depth that it takes.
fn candidates() -> Vec<(EngineRequest, &'static dyn Family, usize, usize)> {
    let mut all = Vec::new();
    for &family in FAMILIES {
        let engine = family.unit().engine().parse().expect("an engine's name");
        for fuse in family.fused() {
            all.extend(family.chained().map(|chain| (engine, family, fuse, chain)));
        }
    }
    all
}

fn time(
    job: &Job,
    (engine, sides): (EngineRequest, &str),
    input: &Grid,
    sample: f64,
) -> Result<(), Error> {
    let Ok(choice) = choose(engine, job) else { return Ok(()) };
    let mut session = match choice.engine.prepare(job) {
        Err(Error::Unsupported { .. }) => return Ok(()),
        session => session?,
    };
    session.load(input)?;
    let fuse = session.arithmetic().fuse;
    let whole = fuse * session.chain();
    if whole * job.shape.points() * job.stencil.taps().len() < QUICK {
        session.advance(whole)?;
        check(&Job { steps: whole, ..job.clone() }, session.as_mut(), input)?;
    }
    let mut launches = 2;
    let mut seconds = |launches: usize| {
        session.advance(launches * whole).map(|time: Duration| time.as_secs_f64())
    };
    // Until a sample is long enough.
    loop {
        let once = seconds(launches)?;
        if once >= sample || launches >= 1 << 20 {
            break;
        }
        launches = (launches as f64 * (1.2 * sample / once).clamp(1.5, 100.0)).ceil() as usize;
    }
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        samples.push(seconds(launches)? / (launches * whole) as f64);
    }
    samples.sort_by(f64::total_cmp);
    let Job { stencil, shape, dtype, .. } = job;
    println!(
        "{},{shape},{dtype},{sides},{},{},{fuse},{},{:.4e}",
        stencil.name(),
        choice.engine.name(),
        session.kernel().unwrap_or_default(),
        session.chain(),
        samples[SAMPLES / 2],
    );
    Ok(())
}

/// Compares the grid after one launch.
fn check(job: &Job, session: &mut dyn SumSession, input: &Grid) -> Result<(), Error> {
    let found =
        verify::whole(job, (session.arithmetic(), session.jumped()), input, &session.store()?)?;
    if found.holds() { Ok(()) } else { Err(found.into()) }
}
