// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be computed, from what, and on what.

use super::RunArgs;
use crate::cli::Failure;
use crate::cli::computation_args::ComputationArgs;
use crate::cli::file_args::FileArgs;
use crate::cli::input::check_file;
use crate::cli::resumed::ResumedRun;
use crate::cli::start::StartFrom;
use compute::engine::EngineRequest;
use compute::run::{InputMemory, Options, Run, checked};
use files::io::npy::ArrayFile;
use files::io::read::{self, Read};
use files::io::{StartSource, absolute};
use problem::observe::ComputedBy;
use problem::{Boundary, Dtype, Error, ErrorKind, Job, Shape};

/// The element type of a run without an input that asks for none: f16 for a run of which only the speed is left, f32
/// for one to which values are given or that keeps them.
fn default_dtype(args: &RunArgs) -> Dtype {
    let FileArgs { output, every, checkpoint, until, .. } = &args.computation.files;
    let given = args.stencil.weights().is_some() || args.start.is_some();
    let kept = output.is_some() || every.is_some() || checkpoint.is_some() || until.is_some();
    if given || kept { Dtype::F32 } else { Dtype::F16 }
}

/// What is to be computed, and from what; `shared` among ranks or not.
pub fn request(
    args: &RunArgs,
    resumed: Option<&mut ResumedRun>,
    shared: bool,
) -> Result<(Job, StartFrom), Failure> {
    let ComputationArgs { size, dtype, steps, chain, jump, input, .. } = &args.computation;
    let stencil = args.stencil.load()?;
    let size = match size {
        None => None,
        Some(size) => Some(size.parse::<Shape>()?.spread(stencil.dims())?),
    };
    let (shape, dtype, input) = match (input, size) {
        (None, size) if resumed.is_some() => {
            let resumed = resumed.expect("there is one");
            let (shape, own) = resumed.grid()?;
            let dtype = dtype.unwrap_or(own);
            // What it disagrees in is said by whoever compares the problems.
            let fits = size.is_none_or(|size| size == shape) && dtype.stored() == own;
            (size.unwrap_or(shape), dtype, fits.then(|| resumed.start()))
        }
        (None, None) => return Err(Failure::NoSize),
        (None, Some(shape)) => (shape, dtype.unwrap_or_else(|| default_dtype(args)), None),
        (Some(path), size) => {
            let by_parts = shared && read::has_regions(path);
            let (found, own, ignored, grid) = if by_parts {
                let file = ArrayFile::open(path, stencil.dims())?;
                (file.shape(), file.dtype(), file.ignored, None)
            } else {
                let Read { grid, ignored } = read::grid(path, stencil.dims())?;
                (grid.shape, grid.dtype(), ignored, Some(grid))
            };
            check_file(path, ignored, found, size)?;
            // Not that of the grid: tf32 is stored as f32.
            let dtype = dtype.unwrap_or(own);
            let given = match grid {
                Some(grid) => StartFrom::Grid(grid.stored_as(dtype)?),
                None => StartFrom::Source(StartSource::Array(absolute(path))),
            };
            (found, dtype, Some(given))
        }
    };
    let boundary = args.boundary.as_deref().unwrap_or("zero");
    let boundary = Boundary::parse(boundary, stencil.dims())?;
    let steps = steps.unwrap_or(1);
    let (&RunArgs { fuse, kernel, .. }, &chain, &jump) = (args, chain, jump);
    let job = Job::new(stencil, shape, dtype, steps);
    let job = Job { boundary, fuse, chain, jump, kernel, ..job };
    let made = || StartFrom::Source(args.start.unwrap_or_default().initial(args.seed));
    Ok((checked(job)?, input.unwrap_or_else(made)))
}

/// Plans a job; one that goes on from a checkpoint on the engine that began it, if that is here and no other one is
/// asked for.
pub fn plan(
    job: Job,
    options: Options,
    start: InputMemory,
    by: Option<&ComputedBy>,
) -> Result<Run, Error> {
    let began = by.and_then(|by| by.engine.parse::<EngineRequest>().ok());
    let Some(engine) = began.filter(|_| options.engine == EngineRequest::Auto) else {
        return Run::plan(job, options, start);
    };
    match Run::plan(job.clone(), Options { engine, ..options.clone() }, start) {
        Err(error) if matches!(error.kind(), ErrorKind::Device | ErrorKind::Input) => {
            Run::plan(job, options, start)
        }
        planned => planned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: RunArgs,
    }

    fn dtype(more: &str) -> Dtype {
        let line = format!("run --size 8 {more}");
        let Line { args } = Line::parse_from(line.split_whitespace());
        default_dtype(&args)
    }

    #[test]
    fn who_gives_or_keeps_values_gets_f32_and_a_run_for_its_speed_f16() {
        for bare in [
            "",
            "--steps 1000",
            "--seed 7",
            "--boundary edge",
            "--verify full",
            "--time off",
            "--json -",
            "--quiet",
            "--check-finite 5",
            "--gpus 2",
        ] {
            assert_eq!(dtype(&format!("star2d1r {bare}")), Dtype::F16, "{bare}");
        }
        for valued in [
            "star2d1r --start gauss",
            "star2d1r --start random",
            "star2d1r --start constant=1",
            "--weights w.npy",
            "--weights w.toml --stencil s",
            "star2d1r -o a.npy",
            "star2d1r --output -",
            "star2d1r --every 5 --output a.png",
            "star2d1r --until 1e-6",
            "star2d1r --until 1e-6,50",
            "star2d1r --checkpoint a.state",
            "star2d1r --checkpoint a.state --checkpoint-every 9",
        ] {
            assert_eq!(dtype(valued), Dtype::F32, "{valued}");
        }
    }
}
