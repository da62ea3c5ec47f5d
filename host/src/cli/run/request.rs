// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be computed, from what, and on what.

use super::RunArgs;
use crate::cli::watching::Problem;
use crate::cli::{Failure, warn};
use crate::engine::EngineRequest;
use crate::io::checkpoint::{Checkpoint, hash_of};
use crate::io::read::{self, Read};
use crate::observe::By;
use crate::run::{Options, Run, Start, checked};
use crate::{Boundary, Dtype, Error, ErrorKind, Grid, Job, Shape};

/// What is to be computed, and from what, unless from random values.
pub fn request(
    args: &RunArgs,
    resumed: Option<&Checkpoint>,
) -> Result<(Job, Option<Grid>), Failure> {
    let stencil = args.stencil.load()?;
    let size = match &args.size {
        None => None,
        Some(size) => Some(size.parse::<Shape>()?.spread(stencil.dims())?),
    };
    let left = resumed.and_then(|checkpoint| checkpoint.arrays.first());
    let (shape, dtype, input) = match (&args.input, size) {
        (None, size) if left.is_some() => {
            let (_, grid) = left.expect("there is one");
            let dtype = args.dtype.unwrap_or(grid.dtype());
            // What it disagrees in is said by whoever compares the problems.
            let fits = size.is_none_or(|size| size == grid.shape) && dtype.stored() == grid.dtype();
            (size.unwrap_or(grid.shape), dtype, fits.then(|| grid.clone()))
        }
        (None, None) => return Err(Failure::NoSize),
        (None, Some(shape)) => (shape, args.dtype.unwrap_or(Dtype::F16), None),
        (Some(path), size) => {
            let Read { grid, ignored } = read::grid(path, stencil.dims())?;
            if ignored > 0 {
                warn(&format!(
                    "{}: {ignored} bytes follow the array, and are not looked at",
                    path.display()
                ));
            }
            if let Some(size) = size.filter(|size| *size != grid.shape) {
                let found = grid.shape;
                return Err(Failure::SizeDisagrees { size, path: path.clone(), found });
            }
            // Not that of the grid: tf32 is stored as f32.
            let dtype = args.dtype.unwrap_or(grid.dtype());
            let grid = grid.stored_as(dtype)?;
            (grid.shape, dtype, Some(grid))
        }
    };
    let boundary = args.boundary.as_deref().unwrap_or("zero");
    let boundary = Boundary::parse(boundary, stencil.dims())?;
    let steps = args.steps.unwrap_or(1);
    let &RunArgs { fuse, chain, jump, kernel, .. } = args;
    let job = Job { stencil, shape, dtype, boundary, steps, fuse, chain, jump, kernel };
    Ok((checked(job)?, input))
}

/// What checkpoints say of a job.
pub fn problem(job: &Job) -> Problem {
    let Job { stencil, shape, dtype, boundary, steps, .. } = job;
    let text = format!("{:?} {shape} {dtype} {boundary:?}", stencil.taps());
    let title = format!("{} on {shape} {dtype} values", stencil.name());
    let (hash, arrays) = (hash_of(&[text.as_bytes()]), 1);
    Problem { title, hash, shape: *shape, dtype: *dtype, arrays, steps: *steps }
}

/// Plans a job; one that goes on from a checkpoint on the engine that began it, if that is here and no other one is
/// asked for.
pub fn plan(job: Job, options: Options, start: Start, by: Option<&By>) -> Result<Run, Error> {
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
