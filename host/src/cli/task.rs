// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a command computes: a stencil's job, or a system.

use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::watching::RunObservers;
use compute::plan::Sharing;
use compute::run::Completed;
use files::io::checkpoint::CheckpointProblem;
use files::record::Units;
use problem::control::Control;
use problem::observe::ComputedBy;

/// What is computed, for those who write files, go on from a checkpoint, and report.
pub struct Task<'a> {
    /// What checkpoints say of it.
    pub problem: CheckpointProblem,
    /// The names of the fields.
    pub fields: Vec<String>,
    pub units: Units,
    /// The names of what receivers record.
    pub receivers: Vec<String>,
    /// The names of totals.
    pub totals: Vec<String>,
    /// What is said before it is computed.
    pub warnings: Vec<String>,
    /// Of random values to start with.
    pub seed: Option<u64>,
    /// The files that weights and values are read from.
    pub read: [Option<PathBuf>; 2],
    /// Steps that an earlier run took, and by what.
    pub done: usize,
    pub by: Option<ComputedBy>,
    /// Takes the steps.
    pub compute: Compute<'a>,
}

/// Takes the steps of a task.
pub type Compute<'a> =
    Box<dyn FnOnce(Surroundings, &mut RunObservers) -> Result<Box<dyn Completed>, Failure> + 'a>;

/// Who computes a task, and who may end it.
pub struct Surroundings {
    pub sharing: Option<Sharing>,
    pub control: Control,
}
