// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong in a command: the command line itself, what it asks the library for, or a benchmark.

use std::path::PathBuf;

use thiserror::Error;
use transform::catalogue::ShapeError;
use transform::plan::PlanError;

use super::launch::ProcessLaunch;
use crate::bench::BenchError;
use crate::signal::Signal;
use files::record::PatternError;
use problem::error::InterruptedWork;
use problem::{Error, ErrorKind, Shape};

/// A failure, as the user sees it. The headline is its `Display`, what to do about it
/// [`remedy`](super::remedy()).
#[derive(Debug, Error)]
pub enum Failure {
    /// Of a computation.
    #[error(transparent)]
    Library(#[from] Error),
    /// Of a benchmark.
    #[error(transparent)]
    Bench(BenchError),
    /// A signal ended a computation.
    #[error("interrupted{signal}{during}")]
    Interrupted {
        /// Which.
        signal: Signal,
        /// What it put an end to.
        during: InterruptedWork,
    },
    /// A signal ended a benchmark.
    #[error("interrupted after {done} of {of} measurements")]
    Unfinished {
        /// Which.
        signal: Signal,
        /// How many were made.
        done: usize,
        /// Of how many.
        of: usize,
    },

    /// An option about ranks, without any.
    #[error("{option} needs several GPUs or ranks that share the grid; there is only one")]
    NobodyShares {
        /// Which.
        option: &'static str,
    },
    /// GPUs of one process and several processes.
    #[error("--gpus is for one process, and there are several")]
    GpusOfProcesses,
    /// An engine that computes on no GPU, of which several were asked for.
    #[error("--gpus and --engine {engine} do not go together")]
    NotOnGpus {
        /// The engine.
        engine: String,
    },
    /// Slices that fit no grid.
    #[error("--split {text}: there are {dims} axes, and each is cut into one slice or more")]
    Split {
        /// What was asked for.
        text: String,
        /// Axes of the stencil.
        dims: usize,
    },

    /// A name that is not in the catalogue.
    #[error("there is no stencil named '{name}'")]
    UnknownStencil {
        /// What was asked for.
        name: String,
        /// Names that look alike, best first.
        near: Vec<String>,
    },
    /// A word that no stencil of the catalogue holds.
    #[error("no name, description or domain of the stencils holds '{word}'")]
    NotListed {
        /// What was looked for.
        word: String,
        /// Names that look alike, best first.
        near: Vec<String>,
    },
    /// A name that follows the rule of the shapes, with a number out of range.
    #[error(transparent)]
    Shape(ShapeError),
    /// A name beside a file that holds a single array.
    #[error("both '{name}' and {} name a stencil", path.display())]
    TwoStencils {
        /// The name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// A file of several stencils, and no name.
    #[error("{} holds {} stencils", path.display(), names.len())]
    ManyStencils {
        /// The file.
        path: PathBuf,
        /// Their names.
        names: Vec<String>,
    },
    /// A name that is not in a file of stencils.
    #[error("{} holds no stencil named '{name}'", path.display())]
    NotInFile {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        name: String,
        /// Names that look alike, best first.
        near: Vec<String>,
        /// All names.
        names: Vec<String>,
    },
    /// Neither `--size` nor `--input`.
    #[error("no grid size was given")]
    NoSize,
    /// `--size` and `--input` disagree.
    #[error("size {size} was asked for, but {} holds a grid of {found}", path.display())]
    SizeDisagrees {
        /// What was asked for.
        size: Shape,
        /// The input file.
        path: PathBuf,
        /// The shape of the array in it.
        found: Shape,
    },
    /// There is no GPU here to plan for.
    #[error(transparent)]
    NoTarget(Error),
    /// An option that a problem does not take.
    #[error("{option} is not for {problem}")]
    NotOf {
        /// The option.
        option: String,
        /// The kind of problem.
        problem: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// An option that a system takes only where it is a stencil.
    #[error(
        "{option} is for stencils and for systems that are a stencil; this system is not one: {why}"
    )]
    NotASum {
        /// The option.
        option: String,
        /// Why the system is none.
        why: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// One file for several fields.
    #[error("{} is one file for several fields: {}", path.display(), fields.join(", "))]
    OneFile {
        /// The file.
        path: PathBuf,
        /// The fields.
        fields: Vec<String>,
    },
    /// One file for all values of a constant.
    #[error("{} is one file for all values of {name}", path.display())]
    OneFileForAll {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The constant.
        name: String,
    },
    /// The name of a file with something in braces that stands for nothing.
    #[error("{}: {wrong}", path.display())]
    Pattern {
        /// The file.
        path: PathBuf,
        /// What it is.
        wrong: PatternError,
    },
    /// One file for what is to be written every some steps.
    #[error("{} is one file for many steps", path.display())]
    NoStep {
        /// The file.
        path: PathBuf,
    },
    /// A film that an earlier run began.
    #[error("{}: an animation cannot be continued", path.display())]
    FilmResumed {
        /// The file.
        path: PathBuf,
    },
    /// A signal ended a computation of which files were written on the way.
    #[error("{0}")]
    OnTheWay(Box<Self>),
    /// Something ended a computation of which there is a checkpoint.
    #[error("{failure}; {} holds the state after step {step}", path.display())]
    Kept {
        /// What.
        failure: Box<Self>,
        /// The checkpoint.
        path: PathBuf,
        /// The steps that it has.
        step: usize,
    },
    /// Records of receivers that there are not.
    #[error("the system has no receivers to record")]
    NoReceivers,
    /// A series of totals that there are not.
    #[error("the system has no totals to write")]
    NoTotals,
    /// Values that are to be those of no field.
    #[error("--input '{text}' names none of the system's fields, which are {}", fields.join(", "))]
    NoField {
        /// What was given.
        text: String,
        /// The fields.
        fields: Vec<String>,
    },
    /// A name that no built-in system has.
    #[error("there is no example named '{name}'")]
    UnknownExample {
        /// What was asked for.
        name: String,
        /// Names that look alike, best first.
        near: Vec<String>,
    },
    /// A key of a file of arguments that is no option, or has a value of another kind.
    #[error("{}: {key}: {reason}", path.display())]
    RunFile {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What is wrong.
        reason: String,
        /// Options that look alike, best first.
        near: Vec<String>,
    },
    /// A command that there is not.
    #[error("there is no command named '{name}'")]
    UnknownCommand {
        /// What was asked for.
        name: String,
        /// Names that look alike, best first.
        near: Vec<String>,
    },
    /// Two results for one file, or a result for a file that is read.
    #[error("{}", same_file(options, paths))]
    SameFile {
        /// The options.
        options: [&'static str; 2],
        /// How each names the file.
        paths: [PathBuf; 2],
        /// Whether one of them reads it.
        read: bool,
    },
    /// One of several processes of a program that was built without MPI.
    #[error("{} says that this is one of {} processes, but this program was built without MPI", .0.variable, of(*.0))]
    WithoutMpi(ProcessLaunch),
    /// Several processes that MPI does not connect.
    #[error("{} says that this is one of {} processes, but {library} finds one only", launch.variable, of(*launch))]
    Apart {
        /// How they were started.
        launch: ProcessLaunch,
        /// The MPI library.
        library: String,
    },
    /// Something that ranks do not share.
    #[error("{what} runs on one rank, not on {ranks}")]
    NotShared {
        /// What.
        what: String,
        /// How many there are.
        ranks: usize,
    },
    /// A stencil that has no layout on tensor cores.
    #[error(transparent)]
    Layout(#[from] PlanError),
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Run(error) => Self::Library(error),
            other => Self::Bench(other),
        }
    }
}

/// How many processes there are.
fn of(launch: ProcessLaunch) -> String {
    launch.ranks.map_or_else(|| "several".into(), |ranks| ranks.to_string())
}

impl Failure {
    /// Changes the failure inside [`Self::OnTheWay`] and [`Self::Kept`], which say something else besides; any other
    /// failure stays as it is.
    #[must_use]
    pub(super) fn map_inner(self, change: impl FnOnce(Self) -> Self) -> Self {
        match self {
            Self::OnTheWay(failure) => Self::OnTheWay(Box::new(change(*failure))),
            Self::Kept { failure, path, step } => {
                Self::Kept { failure: Box::new(change(*failure)), path, step }
            }
            other => other,
        }
    }

    /// The exit code of the program: 1 verification failed or a kernel's fault, 2 usage or bad
    /// input, 3 no GPU, driver or device code, 4 values that are not finite, 5 a file could not be
    /// read or written, 6 not enough memory, of this machine or the GPU; 7 one of several ranks ended
    /// before its time; 129, 130 and 143 ended by SIGHUP, Ctrl-C and SIGTERM.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let kind = match self {
            Self::Interrupted { signal, .. } | Self::Unfinished { signal, .. } => {
                return signal.exit_code();
            }
            Self::Kept { failure, .. } | Self::OnTheWay(failure) => return failure.exit_code(),
            Self::Library(error) | Self::NoTarget(error) => error.kind(),
            Self::Bench(error) => error.kind(),
            _ => ErrorKind::Input,
        };
        kind.exit_code()
    }
}

/// Both options, with the file's name if they share it, else with both names.
fn same_file([first, second]: &[&str; 2], [one, other]: &[PathBuf; 2]) -> String {
    let (one, other) = (one.display(), other.display());
    if one.to_string() == other.to_string() {
        format!("{first} and {second} both name {one}")
    } else {
        format!("{first} {one} and {second} {other} are the same file")
    }
}
