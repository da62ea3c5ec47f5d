// SPDX-License-Identifier: MIT OR Apache-2.0
//! What checkpoints say of a job.

use files::io::checkpoint::{CheckpointProblem, hash_of};
use problem::Job;

/// What checkpoints say of a job.
#[must_use]
pub fn checkpointed(job: &Job) -> CheckpointProblem {
    let Job { stencil, shape, dtype, boundary, steps, .. } = job;
    let text = format!("{:?} {shape} {dtype} {boundary:?}", stencil.taps());
    let sides = boundary.describe(shape.dims());
    let title = format!("{} on {shape} {dtype} values, boundary {sides}", stencil.name());
    let besides = "its weights";
    let (hash, arrays) = (hash_of(&[text.as_bytes()]), 1);
    CheckpointProblem { title, besides, hash, shape: *shape, dtype: *dtype, arrays, steps: *steps }
}
