// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that can go wrong in a computation: a kind, and the facts. What can be done about it, and with
//! which code a program ends, is said by whoever knows what was typed (`stencil::cli`).

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use transform::StencilError;
use transform::stencil_file::StencilFileError;

use crate::bytes::Bytes;

mod facts;
mod mistake;
mod rank_failure;

pub use facts::{Hint, InterruptedWork, UnsupportedRequest, ValueLocation};
pub use mistake::Mistake;
pub use rank_failure::RankFailure;

/// A failure. Its `Display` is a line that says what is wrong, and where.
#[derive(Debug, Error)]
pub enum Error {
    /// The result differs from the reference by more than rounding explains.
    #[error(
        "verification failed: the largest error is {error:.3e} over the steps {from_step} to \
         {to_step}, rounding explains at most {bound:.3e}"
    )]
    Verification {
        /// The step after which the reference began.
        from_step: usize,
        /// The step after which they were compared.
        to_step: usize,
        /// Largest absolute difference from the f64 reference.
        error: f64,
        /// What rounding can cause.
        bound: f64,
    },
    /// A kernel did what no kernel may, seen by the emulator.
    #[error("the emulated GPU stopped: {0}")]
    Fault(#[from] cuda_sim::Fault),
    /// A kernel that this program wrote did what no kernel may.
    #[error("the emulated GPU stopped: {0}")]
    PtxFault(#[from] ptx_sim::Fault),

    /// A file of stencils with a mistake.
    #[error("{}: {source}", path.display())]
    StencilFile {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: StencilFileError,
    },
    /// A description of a system with a mistake.
    #[error("{0}")]
    System(Box<Mistake>),
    /// A size that is no list of positive numbers.
    #[error("size '{size}': {reason}")]
    Size {
        /// What was asked for.
        size: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No engine can run a job.
    #[error("no engine can run this; {reasons}")]
    NoEngine {
        /// Why each cannot.
        reasons: String,
    },
    /// A boundary that is none.
    #[error("boundary '{boundary}': {reason}")]
    Boundary {
        /// What was asked for.
        boundary: String,
        /// What is wrong with it.
        reason: String,
        /// What may have been meant.
        hint: Option<Hint>,
    },
    /// A size with the wrong number of axes.
    #[error("size {size} has {axes} axes, the stencil has {dims}")]
    SizeAxes {
        /// What was asked for.
        size: String,
        /// Its axes.
        axes: usize,
        /// Axes of the stencil.
        dims: usize,
    },
    /// A grid with more values than points, or fewer.
    #[error("a grid of {shape} has {points} points, but {found} values were given")]
    Points {
        /// Its extents.
        shape: String,
        /// Its points.
        points: usize,
        /// Number of values.
        found: usize,
    },
    /// A name that no file can have that is to hold these fields.
    #[error("cannot write {}: {reason}", path.display())]
    Target {
        /// The name.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Values of other extents than a grid's.
    #[error("the grid has {shape} points, and values of {found} are given")]
    Extents {
        /// The extents of the grid.
        shape: String,
        /// The extents of the values.
        found: String,
    },
    /// An array in the memory of a GPU that cannot be taken.
    #[error("the array on a GPU: {reason}")]
    DeviceArray {
        /// Why not, and what can be done.
        reason: String,
    },
    /// A field that a computation does not have.
    #[error("there is no field '{name}'; there is {}", known.join(", "))]
    UnknownField {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A file that is no array this program can read.
    #[error("{}: {reason}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of rows of numbers that has others than are needed.
    #[error("{}: {reason}", path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line or row.
        reason: String,
    },
    /// An input grid with the wrong number of axes.
    #[error("{} holds an array with {found} axes, the stencil has {dims}", path.display())]
    Rank {
        /// The file.
        path: PathBuf,
        /// Axes of the array in it.
        found: usize,
        /// Axes of the stencil.
        dims: usize,
    },
    /// A file that is no picture this program can read.
    #[error("{}: {reason}", path.display())]
    Picture {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file to be written in a format that there is not.
    #[error("{}: no format has this extension; there is {}", path.display(), known.join(", "))]
    Format {
        /// The file.
        path: PathBuf,
        /// The extensions that there are.
        known: Vec<String>,
    },
    /// A file to be written in a format that the program was built without.
    #[error("{}: this program was built without the format {format}", path.display())]
    NotBuilt {
        /// The file.
        path: PathBuf,
        /// The format, which is also the feature that it is built with.
        format: &'static str,
    },
    /// A slice that a grid does not have.
    #[error("slice {slice} of a grid of {grid}: {reason}")]
    Slice {
        /// What was asked for.
        slice: String,
        /// The extents of the grid.
        grid: String,
        /// Why there is none.
        reason: String,
    },
    /// A picture of other than two axes.
    #[error("{}: a picture has two axes, and this is a grid of {shape}", path.display())]
    NotFlat {
        /// The file.
        path: PathBuf,
        /// The extents of what was to be drawn.
        shape: String,
    },
    /// A checkpoint that cannot be gone on from.
    #[error("{}: {reason}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
        /// Whether it is a good one, of something else.
        foreign: bool,
    },
    /// Weights that make no stencil.
    #[error("{}: {source}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// Why they make no stencil.
        source: StencilError,
    },
    /// Weights or taps of a program that make no stencil.
    #[error(transparent)]
    Stencil(#[from] StencilError),
    /// A file that describes no machine.
    #[error("{}: {reason}", path.display())]
    Machine {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with line and column.
        reason: String,
    },
    /// Too big for this machine.
    #[error("{what} needs {need}; {free} are free")]
    Memory {
        /// What would not fit.
        what: String,
        /// What it needs.
        need: Bytes,
        /// What is free.
        free: Bytes,
    },
    /// Too big for the GPU.
    #[error("{what} need {need} of GPU memory; the GPU has {total}")]
    GpuMemory {
        /// What would not fit, in the plural.
        what: String,
        /// What they need.
        need: Bytes,
        /// What the GPU has in all.
        total: Bytes,
    },
    /// Memory of the GPU that others use.
    #[error("the GPU driver refused to {action}: the GPU has not enough free memory")]
    GpuFull {
        /// What was being done.
        action: String,
    },
    /// An engine that does not do this job.
    #[error("engine '{engine}' cannot run this: {reason}")]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// Why it cannot.
        reason: String,
    },
    /// An engine that does not do what was asked for with a job.
    #[error("engine '{engine}' cannot run this: {asked}")]
    Asked {
        /// The engine.
        engine: &'static str,
        /// What it does not do.
        asked: UnsupportedRequest,
    },

    /// Something that has no gradient.
    #[error("no gradient: {reason}")]
    Gradient {
        /// What it is, and what to do instead, if anything.
        reason: String,
    },

    /// A grid that cannot be cut among so many ranks.
    #[error("{reason}")]
    Split {
        /// Why not, with both numbers.
        reason: String,
    },
    /// GPUs that do not fill nodes.
    #[error("{gpus} GPUs cannot be spread evenly over {nodes} nodes")]
    Nodes {
        /// How many there are.
        gpus: usize,
        /// How many nodes they are to fill.
        nodes: usize,
    },
    /// A file that describes no network.
    #[error("{}: {reason}", path.display())]
    Network {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with line and column.
        reason: String,
    },
    /// Ranks that were started with other arguments or programs than rank 0.
    #[error(
        "rank {rank} was started with another {what} than rank 0: {found} instead of {expected}"
    )]
    Ranks {
        /// Which.
        rank: usize,
        /// What differs.
        what: &'static str,
        /// What the rank was started with.
        found: String,
        /// What rank 0 was started with.
        expected: String,
    },
    /// A rank that does not answer any more.
    #[error("rank {rank} is gone")]
    Gone {
        /// Which.
        rank: usize,
    },
    /// What went wrong on one of several ranks.
    #[error("{0}")]
    OfRank(Box<RankFailure>),

    /// No NVIDIA driver on this machine.
    #[error("no NVIDIA driver was found on this machine")]
    NoDriver {
        /// What the loader said.
        reason: String,
    },
    /// A driver, but no GPU that the kernels run on.
    #[error("no suitable GPU was found: {reason}")]
    NoGpu {
        /// What was found instead.
        reason: String,
    },
    /// A chip was asked for whose kernels cannot be taken.
    #[error("HOST_CHIP={name}: {reason}")]
    Chip {
        /// The chip's name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The program was built without device code.
    #[error("this program was built without GPU kernels: {reason}")]
    NoDeviceCode {
        /// What was missing when it was built, in one line with its remedy.
        reason: String,
    },
    /// A call to the driver failed.
    #[error("the GPU driver refused to {action}: {reason}")]
    Driver {
        /// What was being done.
        action: String,
        /// The driver's message.
        reason: String,
    },

    /// A value that is infinite or not a number.
    #[error("{holder} holds {value} at {position}")]
    NotFinite {
        /// What holds it.
        holder: ValueLocation,
        /// The value.
        value: f64,
        /// Where, as `(y, x)`.
        position: String,
    },

    /// A step whose result is infinite or not a number somewhere.
    #[error(
        "after step {step} the grid holds {value} at {position}; after step {finite} all values were \
         finite"
    )]
    Overflow {
        /// The step; the first such one, if it follows `finite`.
        step: usize,
        /// An earlier step after which all values were finite; 0 for the input.
        finite: usize,
        /// The first such value.
        value: f64,
        /// Where, as `(y, x)`.
        position: String,
    },

    /// A time step that follows from the values, and cannot be taken.
    #[error("after step {step} the next step would have the length {value}")]
    TimeStep {
        /// What it would be.
        value: f64,
        /// Steps that are done.
        step: usize,
    },

    /// A step of a system after which a value is infinite or not a number.
    #[error(
        "after step {step} the field '{field}' holds {value} at {position}; after step {finite} all values \
         were finite"
    )]
    FieldOverflow {
        /// The field.
        field: String,
        /// The step.
        step: usize,
        /// An earlier step after which all values were finite; 0 for the start.
        finite: usize,
        /// The first such value.
        value: f64,
        /// Where, as `(y, x)`.
        position: String,
    },

    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file to be replaced that is read-only.
    #[error("cannot write {}: the file is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A file to be written into a folder that does not exist.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },

    /// Files that there is no room for.
    #[error("the files in {} need {need} of disk; {free} are free", folder.display())]
    DiskSpace {
        /// Where they are to be written.
        folder: PathBuf,
        /// What they need.
        need: Bytes,
        /// What is free there.
        free: Bytes,
    },

    /// Somebody asked for an end.
    #[error("stopped{during}")]
    Stopped {
        /// What it put an end to.
        during: InterruptedWork,
    },
}

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// A result is wrong, or a kernel.
    Wrong,
    /// What was asked for is not possible, or makes no sense.
    Input,
    /// There is no GPU, driver or device code, or they fail.
    Device,
    /// Values are infinite or not a number.
    NotFinite,
    /// A file cannot be read or written.
    File,
    /// There is not enough memory, of this machine or of the GPU.
    Memory,
    /// It was asked to end.
    Stopped,
    /// One of several ranks ended before its time.
    Lost,
}

impl ErrorKind {
    /// The exit code of a program that ends because of such an error.
    ///
    /// ```
    /// assert_eq!(problem::ErrorKind::Input.exit_code(), 2);
    /// ```
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Wrong => 1,
            Self::Input => 2,
            Self::Device => 3,
            Self::NotFinite => 4,
            Self::File => 5,
            Self::Memory => 6,
            Self::Lost => 7,
            // Ctrl-C, as shells report a program that it ended.
            Self::Stopped => 130,
        }
    }
}

impl Error {
    /// What it is about.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Verification { .. } | Self::Fault(_) | Self::PtxFault(_) => ErrorKind::Wrong,
            Self::StencilFile { .. }
            | Self::System(_)
            | Self::Size { .. }
            | Self::Boundary { .. }
            | Self::NoEngine { .. }
            | Self::SizeAxes { .. }
            | Self::Points { .. }
            | Self::Extents { .. }
            | Self::Target { .. }
            | Self::DeviceArray { .. }
            | Self::UnknownField { .. }
            | Self::Array { .. }
            | Self::Columns { .. }
            | Self::Rank { .. }
            | Self::Picture { .. }
            | Self::Format { .. }
            | Self::NotBuilt { .. }
            | Self::Slice { .. }
            | Self::NotFlat { .. }
            | Self::Checkpoint { .. }
            | Self::Weights { .. }
            | Self::Stencil(_)
            | Self::Machine { .. }
            | Self::Chip { .. }
            | Self::Split { .. }
            | Self::Nodes { .. }
            | Self::Network { .. }
            | Self::Ranks { .. }
            | Self::Unsupported { .. }
            | Self::Gradient { .. }
            | Self::Asked { .. } => ErrorKind::Input,
            Self::NoDriver { .. }
            | Self::NoGpu { .. }
            | Self::NoDeviceCode { .. }
            | Self::Driver { .. } => ErrorKind::Device,
            Self::NotFinite { .. }
            | Self::Overflow { .. }
            | Self::FieldOverflow { .. }
            | Self::TimeStep { .. } => ErrorKind::NotFinite,
            Self::Read { .. }
            | Self::Write { .. }
            | Self::ReadOnly { .. }
            | Self::DiskSpace { .. }
            | Self::NoFolder { .. } => ErrorKind::File,
            Self::Memory { .. } | Self::GpuMemory { .. } | Self::GpuFull { .. } => {
                ErrorKind::Memory
            }
            Self::Stopped { .. } => ErrorKind::Stopped,
            Self::Gone { .. } => ErrorKind::Lost,
            Self::OfRank(failure) => failure.kind(),
        }
    }
}

impl InterruptedWork {
    /// An error in this part of a run: an end that was asked for names the part, other errors stay as they are.
    #[must_use]
    pub fn of(self, error: Error) -> Error {
        match error {
            Error::Stopped { .. } => Error::Stopped { during: self },
            other => other,
        }
    }
}
