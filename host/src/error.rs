// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that can go wrong: each kind has a headline, a remedy and an exit code.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use transform::StencilError;
use transform::catalogue::ShapeError;
use transform::plan::PlanError;
use transform::stencil_file::{StencilFileError, StencilFileErrorKind};

use crate::interrupt::{During, Signal};
use crate::memory::Bytes;
use crate::verify::Comparison;
use crate::{Shape, bench};

/// A failure, as the user sees it. The headline is its `Display`, the remedy its [`Error::help`].
#[derive(Debug, Error)]
pub enum Error {
    /// The result differs from the reference by more than rounding explains.
    #[error(
        "verification failed: over the steps {from_step} to {to_step} the largest error is \
         {error:.3e}, rounding explains at most {bound:.3e}"
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
    /// A file of stencils with a mistake.
    #[error("{}: {source}", path.display())]
    StencilFile {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: StencilFileError,
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
        /// What may have been meant, as a remedy.
        hint: Option<String>,
    },
    /// A size with the wrong number of axes.
    #[error("size {size} has {} axes, the stencil has {dims}", size.dims())]
    SizeAxes {
        /// What was asked for.
        size: Shape,
        /// Axes of the stencil.
        dims: usize,
    },
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
    /// Neither `--size` nor `--input`.
    #[error("no grid size was given")]
    NoSize,
    /// A file that is no array this program can read.
    #[error("{}: {reason}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
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
    /// Weights that make no stencil.
    #[error("{}: {source}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// Why they make no stencil.
        source: StencilError,
    },
    /// A stencil that has no layout on tensor cores.
    #[error(transparent)]
    Plan(#[from] PlanError),
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

    /// A benchmark's own.
    #[error(transparent)]
    Bench(#[from] bench::Failure),

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
    #[error("{what} holds {value} at {position}")]
    NotFinite {
        /// Which grid.
        what: String,
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

    /// Ctrl-C, or another signal that asks for an end.
    #[error("{}", interrupted(*signal, *during))]
    Interrupted {
        /// Which.
        signal: Signal,
        /// What it put an end to.
        during: During,
    },
}

impl Error {
    /// The exit code of the program: 1 verification failed or a kernel's fault, 2 usage or bad
    /// input, 3 no GPU, driver or device code, 4 values that are not finite, 5 a file could not be
    /// read or written, 6 not enough memory, of this machine or the GPU; 129, 130 and 143 ended by
    /// SIGHUP, Ctrl-C and SIGTERM.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Verification { .. } | Self::Fault(_) => 1,
            Self::UnknownStencil { .. }
            | Self::NotListed { .. }
            | Self::Shape(_)
            | Self::TwoStencils { .. }
            | Self::StencilFile { .. }
            | Self::ManyStencils { .. }
            | Self::NotInFile { .. }
            | Self::Size { .. }
            | Self::Boundary { .. }
            | Self::NoEngine { .. }
            | Self::SizeAxes { .. }
            | Self::SizeDisagrees { .. }
            | Self::NoSize
            | Self::SameFile { .. }
            | Self::Array { .. }
            | Self::Rank { .. }
            | Self::Weights { .. }
            | Self::Plan(_)
            | Self::Machine { .. }
            | Self::Chip { .. }
            | Self::Unsupported { .. } => 2,
            Self::NoDriver { .. }
            | Self::NoGpu { .. }
            | Self::NoDeviceCode { .. }
            | Self::Driver { .. } => 3,
            Self::Bench(failure) => failure.exit_code(),
            Self::NotFinite { .. } | Self::Overflow { .. } => 4,
            Self::Read { .. }
            | Self::Write { .. }
            | Self::ReadOnly { .. }
            | Self::NoFolder { .. } => 5,
            Self::Memory { .. } | Self::GpuMemory { .. } | Self::GpuFull { .. } => 6,
            Self::Interrupted { signal, .. } => signal.exit_code(),
        }
    }

    /// What the user can do about it, in one line.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Verification { .. } => {
                "the result is wrong, do not use it; `--engine cpu` is the simplest engine; please \
                 report this with the command line and the output of `host doctor`"
                    .into()
            }
            Self::Fault(_) => {
                "a kernel is wrong, not your input; `--engine cpu` does without kernels; please \
                 report this with the command line"
                    .into()
            }
            Self::UnknownStencil { near, .. } if near.is_empty() => {
                "`host list` prints every name; `--weights FILE` takes your own weights".into()
            }
            Self::NotListed { near, .. } if near.is_empty() => {
                "`host list` prints all of them".into()
            }
            Self::UnknownStencil { near, .. } | Self::NotListed { near, .. } => {
                format!("did you mean {}? `host list` prints every name", near.join(", "))
            }
            Self::Shape(_) => {
                "shapes are star, box or diamond, dimensions and radius, such as star2d3r; \
                 `--weights FILE` takes your own weights"
                    .into()
            }
            Self::TwoStencils { .. } => {
                "leave one of them out; only in a .toml file does --stencil choose one".into()
            }
            Self::ManyStencils { names, .. } => {
                format!("choose one with --stencil: {}", names.join(", "))
            }
            Self::NotInFile { near, names, .. } if near.is_empty() => {
                format!("it holds {}", names.join(", "))
            }
            Self::NotInFile { near, names, .. } => {
                format!("did you mean {}? It holds {}", near.join(", "), names.join(", "))
            }
            Self::Size { .. } | Self::NoSize => {
                "give --size N for N points on every axis, or one number per axis, slowest first, \
                 such as --size 480x640"
                    .into()
            }
            Self::Boundary { hint: Some(hint), .. } => hint.clone(),
            Self::Boundary { .. } => {
                "give one kind for all sides, such as --boundary periodic, or kinds for axes and \
                 sides, such as --boundary x:periodic,y-:constant=1,y+:reflect"
                    .into()
            }
            Self::SizeAxes { dims, .. } => {
                let example = vec!["64"; *dims].join("x");
                format!("give --size N for N points on every axis, or {dims}, such as {example}")
            }
            Self::SameFile { read: true, .. } => {
                "give the result a file of its own; a file that is read is not replaced".into()
            }
            Self::SameFile { .. } => "give each a file of its own".into(),
            Self::SizeDisagrees { .. } => "leave --size out to take the size of the input".into(),
            Self::Array { .. } => {
                "expected a .npy file of little- or big-endian f2, f4 or f8 values; in numpy: \
                 np.save(path, array.astype('f4'))"
                    .into()
            }
            Self::Rank { dims, .. } => {
                format!("give an array with {dims} axes, or a stencil with as many as the array")
            }
            Self::Weights { source: StencilError::EvenExtent(_), .. }
            | Self::StencilFile {
                source:
                    StencilFileError {
                        kind: StencilFileErrorKind::Weights(StencilError::EvenExtent(_)),
                        ..
                    },
                ..
            } => {
                "pad the weights with a row or column of zeros, so that they have a centre".into()
            }
            Self::StencilFile { .. } => {
                "a stencil is a table, such as [smooth], with dense = [[0, 0.125, 0], \
                 [0.125, 0.5, 0.125], [0, 0.125, 0]], or with offsets = [[0, -1], [0, 1]] and \
                 weights = [0.5, 0.5]"
                    .into()
            }
            Self::Weights { .. } => {
                "weights are a dense .npy array of 1 to 3 axes with odd extents and finite values; \
                 out[y, x] = sum of w[j, i] * in[y + j - r, x + i - r]"
                    .into()
            }
            Self::Plan(PlanError::NoLayout { .. }) => {
                "take a smaller stencil, or fewer steps with --fuse; `--engine cpu` runs any".into()
            }
            Self::Plan(PlanError::Broken { .. }) => {
                "this is a fault of the program; please report it with the command line".into()
            }
            Self::Machine { .. } => {
                "a machine is JSON: name, source, multiprocessors, clock_hz, copy_bytes_per_s, and \
                 half, single, double with cuda, dense, sparse in flop/s; h200 and a100 are built in"
                    .into()
            }
            Self::Memory { .. } => "take a smaller --size, or a --dtype with fewer bytes".into(),
            Self::GpuMemory { .. } => {
                "take a smaller --size, or a --dtype with fewer bytes; `--engine cpu` needs none of it"
                    .into()
            }
            Self::GpuFull { .. } => {
                "`nvidia-smi` shows who else uses the GPU; take a smaller --size, or a --dtype with \
                 fewer bytes; `--engine cpu` needs none of it"
                    .into()
            }
            Self::Unsupported { .. } => "`--engine auto` takes an engine that can".into(),
            Self::NoEngine { .. } => {
                "take another --dtype or --size, or leave out --fuse, --chain and --kernel".into()
            }
            Self::Bench(failure) => failure.help().into(),
            Self::NoDriver { reason } => format!(
                "install the NVIDIA driver, or use `--engine cpu`; looking for it gave: {reason}"
            ),
            Self::NoGpu { .. } => {
                "the kernels need compute capability 8.0 (A100) or later; `--engine cpu` runs anywhere"
                    .into()
            }
            Self::Chip { .. } => {
                "unset HOST_CHIP: the GPU then takes the best kernels that run on it; `host doctor` \
                 lists them"
                    .into()
            }
            Self::NoDeviceCode { .. } => {
                "install the device compiler and build again, or use `--engine cpu`".into()
            }
            Self::Driver { .. } => {
                "`host doctor` shows the state of the GPU; `nvidia-smi` who else uses it".into()
            }
            Self::NotFinite { what, .. } if what == "the input" => {
                "replace infinities and not-a-numbers in the input".into()
            }
            Self::NotFinite { what, .. } if what.contains(" as ") => {
                "the element type cannot hold it: take a wider --dtype, or scale the values down"
                    .into()
            }
            Self::NotFinite { .. } | Self::Overflow { .. } => {
                "the values outgrew the element type: take fewer --steps, a wider --dtype, or \
                 weights whose absolute values sum to at most 1"
                    .into()
            }
            Self::Read { .. } => "check the path and its permissions".into(),
            Self::Write { source, .. } if is_about_the_name(source) => {
                "name a file, in a folder that exists".into()
            }
            Self::Write { .. } => {
                "check the permissions and the free space; an existing file was left as it was"
                    .into()
            }
            Self::ReadOnly { path } => {
                format!("name another file, or if it may be replaced: chmod u+w {}", path.display())
            }
            Self::NoFolder { folder, .. } => format!("mkdir -p {}", folder.display()),
            Self::Interrupted { during: During::Computing, .. } => {
                "nothing was written; existing files are as they were".into()
            }
            Self::Interrupted { during: During::Verifying, .. } => {
                "the result is complete, and was written if --output asks for it, but nobody checked \
                 it; `--verify sample` takes about a second, `--verify off` none"
                    .into()
            }
            Self::Interrupted { during: During::Measuring, .. } => {
                "the result is complete and verified as the report says; its time is that of the run \
                 itself, as with `--time off`"
                    .into()
            }
        }
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

/// Whether a path cannot be that of a file, whatever its permissions.
fn is_about_the_name(source: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    matches!(source.kind(), InvalidFilename | InvalidInput | IsADirectory | NotADirectory)
}

fn interrupted(signal: Signal, during: During) -> String {
    let by = match signal {
        Signal::Interrupt => String::new(),
        other => format!(" by {other}"),
    };
    match during {
        During::Computing => format!("interrupted{by}"),
        During::Verifying => format!("interrupted{by} while the result was being verified"),
        During::Measuring => format!("interrupted{by} while the speed was being measured"),
    }
}

/// Of a comparison that failed.
impl From<Comparison> for Error {
    fn from(wrong: Comparison) -> Self {
        let Comparison { from_step, to_step, max_abs_err: error, bound, .. } = wrong;
        Self::Verification { from_step, to_step, error, bound }
    }
}
