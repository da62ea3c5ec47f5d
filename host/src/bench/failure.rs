// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong in a benchmark, beside what can go wrong in any run.

use std::path::PathBuf;

use thiserror::Error;

use crate::interrupt::Signal;

/// A failure of a benchmark.
#[derive(Debug, Error)]
pub enum Failure {
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
    /// Ctrl-C.
    #[error("interrupted after {done} of {of} measurements")]
    Interrupted {
        /// By what.
        signal: Signal,
        /// How many were made.
        done: usize,
        /// Of how many.
        of: usize,
    },
}

impl Failure {
    /// As [`crate::Error::exit_code`].
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed { .. } | Self::Worse { .. } => 1,
            Self::NothingLeft
            | Self::NothingLeftOf { .. }
            | Self::NothingInCommon { .. }
            | Self::File { .. } => 2,
            Self::Interrupted { signal, .. } => signal.exit_code(),
        }
    }

    /// As [`crate::Error::help`].
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Failed { .. } => {
                "the reasons stand below the table; `host run` repeats a single one, and `host \
                 doctor` shows the state of the GPU"
            }
            Self::Worse { .. } => {
                "they are marked in the table; measure again before you believe a small difference, \
                 or allow more with --threshold"
            }
            Self::NothingLeft | Self::NothingLeftOf { .. } => {
                "leave out one of --stencil, --dtype, --mode, --size-limit"
            }
            Self::NothingInCommon { .. } => {
                "measurements are the same if stencil, shape, dtype, mode and steps are; --quick and \
                 --steps change them"
            }
            Self::File { .. } => "expected a file that `host bench --json FILE` wrote",
            Self::Interrupted { .. } => {
                "the table, and the files of --json and --csv, hold those that were made"
            }
        }
    }
}
