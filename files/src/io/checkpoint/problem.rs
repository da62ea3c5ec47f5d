// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a checkpoint is of.

use std::path::Path;

use super::Header;
use problem::{Dtype, Error, Shape};

/// What is computed, as checkpoints name it.
#[derive(Clone, Debug)]
pub struct CheckpointProblem {
    /// For people.
    pub title: String,
    /// What it depends on besides, for people.
    pub besides: &'static str,
    /// The hash of all that it depends on.
    pub hash: String,
    /// The extents of its arrays.
    pub shape: Shape,
    /// How values are stored.
    pub dtype: Dtype,
    /// Fields and earlier levels.
    pub arrays: usize,
    /// Steps in all.
    pub steps: usize,
}

impl Header {
    /// Makes sure that a checkpoint is one of a problem.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]: it is of another one, or has more steps.
    pub fn check(&self, path: &Path, problem: &CheckpointProblem) -> Result<(), Error> {
        let foreign = |reason: String| {
            Err(Error::Checkpoint { path: path.to_owned(), reason, foreign: true })
        };
        let CheckpointProblem { title, besides, hash, steps, .. } = problem;
        if self.problem != *hash {
            return foreign(match self.title == *title {
                true => format!(
                    "this is a checkpoint of {title}, but {besides} or the version of the program differ"
                ),
                false => format!("this is a checkpoint of {}, not of {title}", self.title),
            });
        }
        if self.step > *steps {
            return foreign(format!("{} steps are done, and {steps} are asked for", self.step));
        }
        Ok(())
    }
}
