// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong in a benchmark, beside what can go wrong in any run.

use std::path::PathBuf;

use problem::{Error, ErrorKind};

/// A failure of a benchmark.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// What can go wrong in any run.
    #[error(transparent)]
    Run(#[from] Error),
    /// Results that should have been right.
    #[error("{failed} of {of} measurements failed")]
    Failed {
        /// How many.
        failed: usize,
        /// Of how many.
        of: usize,
    },
    /// Worse than what it was compared with.
    #[error("{worse} of {of} measurements are worse than in {}", old.display())]
    Worse {
        /// How many are slower, gone, or failed.
        worse: usize,
        /// Of how many.
        of: usize,
        /// What they were compared with.
        old: PathBuf,
    },
    /// Filters that leave nothing.
    #[error("there is nothing to measure: no workload fits all the filters")]
    NothingLeft,
    /// A problem whose sparse kernels have no dense twin, or that is none.
    #[error("no ablation: {reason}")]
    NoAblation {
        /// Why not.
        reason: String,
    },
    /// Filters that leave nothing of a file.
    #[error("{} holds no measurement that fits the filters", path.display())]
    NothingLeftOf {
        /// The file.
        path: PathBuf,
    },
    /// Two files of different cases.
    #[error("{} and {} have no measurement in common", old.display(), new.display())]
    NothingInCommon {
        /// One file.
        old: PathBuf,
        /// The other file.
        new: PathBuf,
    },
    /// A file that no benchmark wrote.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl BenchError {
    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Run(error) => error.kind(),
            Self::Failed { .. } | Self::Worse { .. } => ErrorKind::Wrong,
            Self::NothingLeft
            | Self::NoAblation { .. }
            | Self::NothingLeftOf { .. }
            | Self::NothingInCommon { .. }
            | Self::File { .. } => ErrorKind::Input,
        }
    }
}
