// SPDX-License-Identifier: MIT OR Apache-2.0
//! Remedies of the library's errors.

use super::boundary;
use problem::error::{InterruptedWork, UnsupportedRequest};
use problem::{Error, ErrorKind, ValueLocation};
use std::io;
use transform::StencilError;
use transform::stencil_file::{StencilFileError, StencilFileErrorKind};

/// How a size is given.
pub const SIZE: &str = "give --size N for N points on every axis, or one number per axis, slowest first, \
                        such as --size 480x640";

/// What to do about an error of the library.
#[must_use]
pub fn of_error(error: &Error) -> String {
    match error {
            Error::Verification { .. } => {
                "the result is wrong, do not use it; `--engine cpu` is the simplest engine; please \
                 report this with the command line and the output of `host doctor`"
                    .into()
            }
            Error::Fault(_) | Error::PtxFault(_) => {
                "a kernel is wrong, not your input; `--engine cpu` does without kernels; please \
                 report this with the command line"
                    .into()
            }
            Error::System(mistake) => mistake.hint.clone().unwrap_or_else(|| {
                "docs/reference/system-files.md has the keys and the language; `host example --list` names examples".into()
            }),
            Error::Size { .. } => SIZE.into(),
            Error::Boundary { hint, .. } => boundary::remedy(hint.as_ref()),
            Error::SizeAxes { dims, .. } => {
                let example = vec!["64"; *dims].join("x");
                format!("give --size N for N points on every axis, or {dims}, such as {example}")
            }
            Error::Points { .. } => {
            "give a value for each point, the last axis fastest".into()
        }
        Error::Extents { .. } => "give values of the grid's extents, slowest axis first".into(),
        Error::Target { .. } => {
            "put {field} into the name, for a file of each field, or take a format that holds many, such as .vti".into()
        }
        Error::DeviceArray { .. } => "give it as an array of this machine's memory".into(),
        Error::UnknownField { known, .. } => format!("ask for one of {}", known.join(", ")),
        Error::Array { .. } => {
                "expected a .npy file of floats of 2, 4 or 8 bytes, integers or truth values; in numpy: \
                 np.save(path, array.astype('f4'))"
                    .into()
            }
            Error::Columns { .. } => {
                "expected rows of numbers: a .csv, parted by commas, or a .npy array; docs/reference/system-files.md has which columns"
                    .into()
            }
            Error::Picture { .. } => {
                "expected a grey PNG of 8 or 16 bits a point; with ImageMagick: convert photo.jpg -colorspace gray \
                 photo.png"
                    .into()
            }
            Error::Format { .. } => {
                "name a file that ends with one of them; without an extension it is a .npy array".into()
            }
            Error::NotBuilt { format, .. } => format!(
                "build it with the format: cargo build --release --features {format}; or write .npy or .vti"
            ),
            Error::Slice { .. } => "give an axis and a place on it, such as --slice z=16".into(),
            Error::NotFlat { .. } => {
                "write it as .npy or .vti, or draw a slice of a 3D grid, such as --slice z=16".into()
            }
            Error::Checkpoint { foreign: true, .. } => {
                "give the command line that it was written by, or leave --resume out to start anew".into()
            }
            Error::Checkpoint { .. } => {
                "take another checkpoint, or leave --resume out to start anew".into()
            }
            Error::DiskSpace { .. } => {
                "free some, name files on another disk, or write less: a larger --every, or --stride".into()
            }
            Error::Rank { dims, .. } => {
                format!("give an array with {dims} axes, or a stencil with as many as the array")
            }
            Error::Weights { source: StencilError::EvenExtent(_), .. }
            | Error::Stencil(StencilError::EvenExtent(_))
            | Error::StencilFile {
                source:
                    StencilFileError {
                        kind: StencilFileErrorKind::Weights(StencilError::EvenExtent(_)),
                        ..
                    },
                ..
            } => {
                "pad the weights with a row or column of zeros, so that they have a centre".into()
            }
            Error::StencilFile { .. } => {
                "a stencil is a table, such as [smooth], with dense = [[0, 0.125, 0], \
                 [0.125, 0.5, 0.125], [0, 0.125, 0]], or with offsets = [[0, -1], [0, 1]] and \
                 weights = [0.5, 0.5]"
                    .into()
            }
            Error::Weights { .. } | Error::Stencil(_) => {
                "weights are a dense .npy array of 1 to 3 axes with odd extents and finite values; \
                 out[y, x] = sum of w[j, i] * in[y + j - r, x + i - r]"
                    .into()
            }
            Error::Machine { .. } => {
                "a machine is JSON: name, source, multiprocessors, clock_hz, copy_bytes_per_s, and \
                 half, single, double with cuda, dense, sparse in flop/s; h200, h100 and a100 are built in"
                    .into()
            }
            Error::Memory { .. } => "take a smaller --size, or a --dtype with fewer bytes".into(),
            Error::GpuMemory { .. } => {
                "take a smaller --size, or a --dtype with fewer bytes; `--engine cpu` needs none of it"
                    .into()
            }
            Error::GpuFull { .. } => {
                "`nvidia-smi` shows who else uses the GPU; take a smaller --size, or a --dtype with \
                 fewer bytes; `--engine cpu` needs none of it"
                    .into()
            }
            Error::Asked { asked: UnsupportedRequest::Depths, .. } => {
            "leave out --fuse and --chain; `--engine auto` takes an engine that can, if there is one"
                .into()
        }
        Error::Asked { asked: UnsupportedRequest::Jump, .. } => {
            "leave out --jump, or take `--engine fft`".into()
        }
        Error::Asked { asked: UnsupportedRequest::Family, .. } => {
            "leave out --kernel; `--engine auto` takes an engine that can, if there is one".into()
        }
        Error::Unsupported { .. } => "`--engine auto` takes an engine that can".into(),
            Error::NoEngine { .. } => {
                "take another --dtype or --size, or leave out --fuse, --chain and --kernel".into()
            }
            Error::Gradient { .. } => {
                "the page docs/how-to/gradients.md lists what is differentiated, and what is not".into()
            }
            Error::Split { .. } => {
                "take fewer ranks or GPUs, a larger --size, or other numbers for --split".into()
            }
            Error::Nodes { .. } => {
                "give --nodes a number that divides that of the GPUs, such as --gpus 1024 --nodes 256".into()
            }
            Error::Network { .. } => {
                "a network is TOML, as the file that docs/benchmarks/scaling.md links to: name, source, link_bytes_per_s, \
                 link_latency_s, fabric_bytes_per_s, fabric_latency_s, message_s, pack_bytes_per_s, exchange_s"
                    .into()
            }
            Error::Ranks { .. } => {
                "start the same program with the same arguments on all ranks".into()
            }
            Error::Gone { .. } => {
                LOST.into()
            }
            Error::OfRank(failure) => of_kind(failure.kind()).into(),
            Error::NoDriver { reason } => format!(
                "install the NVIDIA driver, or use `--engine cpu`; looking for it gave: {reason}"
            ),
            Error::NoGpu { .. } => {
                "the kernels need compute capability 8.0 (A100) or later; `--engine cpu` runs anywhere"
                    .into()
            }
            Error::Chip { .. } => {
                "unset HOST_CHIP: the GPU then takes the best kernels that run on it; `host doctor` \
                 lists them"
                    .into()
            }
            Error::NoDeviceCode { .. } => {
                "install the device compiler and build again, or use `--engine cpu`".into()
            }
            Error::Driver { .. } => {
                "`host doctor` shows the state of the GPU; `nvidia-smi` who else uses it".into()
            }
            Error::NotFinite { holder: ValueLocation::Input, .. } => {
                "replace infinities and not-a-numbers in the input".into()
            }
            Error::NotFinite { holder: ValueLocation::InputAs(_) | ValueLocation::StencilAs(_), .. } => {
                "the element type cannot hold it: take a wider --dtype, or scale the values down"
                    .into()
            }
            Error::NotFinite { holder: ValueLocation::Result, .. } | Error::Overflow { .. } => {
                "the values outgrew the element type: take fewer --steps, a wider --dtype, or \
                 weights whose absolute values sum to at most 1"
                    .into()
            }
            Error::TimeStep { .. } => {
                "the key 'dt' of [time] makes the step length from the values: check what it divides by, and whether values grow"
                    .into()
            }
            Error::FieldOverflow { .. } => {
                "take a smaller dt, fewer steps, or a wider dtype".into()
            }
            Error::Read { .. } => "check the path and its permissions".into(),
            Error::Write { source, .. } if is_about_the_name(source) => {
                "name a file, in a folder that exists".into()
            }
            Error::Write { .. } => {
                "check the permissions and the free space; an existing file was left as it was"
                    .into()
            }
            Error::ReadOnly { path } => {
                format!("name another file, or if it may be replaced: chmod u+w {}", path.display())
            }
            Error::NoFolder { folder, .. } => format!("mkdir -p {}", folder.display()),
            Error::Stopped { during } => of_end(*during).into(),
    }
}

/// What is left where a rank has ended before its time.
const LOST: &str = "what was written before is whole; go on from the last checkpoint with --resume, on any number of ranks";

/// What can be done about an error of one of several ranks.
fn of_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Memory => "take more ranks or GPUs, a smaller --size or a narrower --dtype",
        ErrorKind::Device => "`host doctor` there shows the state of its GPUs",
        ErrorKind::Input => {
            "another --split, --engine or --size may do; a file that is damaged has to be made again"
        }
        ErrorKind::Lost => LOST,
        ErrorKind::File => {
            "check that all ranks see the files under these names, and the free space"
        }
        _ => "run it on one rank to see whether sharing the grid is the cause",
    }
}

/// That speeds are not planned with, and what to do about it.
pub fn of_stale_speeds(why: &str) -> String {
    format!("{why}: not taken; `host doctor --measure` measures again")
}

/// What is left where somebody asked for an end.
pub fn of_end(during: InterruptedWork) -> &'static str {
    match during {
        InterruptedWork::Computing => "nothing was written; existing files are as they were",
        InterruptedWork::Verifying => {
            "the result is complete, and was written if --output asks for it, but it was not verified; \
             `--verify sample` takes about a second, `--verify off` none"
        }
        InterruptedWork::Measuring => {
            "the result is complete and verified as the report says; its time is that of the run \
             itself, as with `--time off`"
        }
    }
}

/// Whether a path cannot be that of a file, whatever its permissions.
fn is_about_the_name(source: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    matches!(source.kind(), InvalidFilename | InvalidInput | IsADirectory | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compute::engine::cpu;
    use compute::families::refusal::Refusal;
    use problem::{Depth, Dtype, Job};
    use transform::catalogue;

    #[test]
    fn what_an_engine_does_not_do_is_to_be_left_out() {
        let stencil = catalogue::find("star1d1r").unwrap();
        let job = Job::new(stencil, "9".parse().unwrap(), Dtype::F16, 1);
        let several = Depth::Steps(2);
        let refused = |job: Job| cpu::check(&job).unwrap_err();
        for (refusal, start) in [
            (Refusal::OneStep, "leave out --fuse and --chain; "),
            (
                refused(Job { fuse: several, ..job.clone() }),
                "`--engine auto` takes an engine that can",
            ),
            (
                refused(Job { chain: several, ..job.clone() }),
                "`--engine auto` takes an engine that can",
            ),
            (refused(Job { kernel: Some("line1d"), ..job.clone() }), "leave out --kernel; "),
        ] {
            let error = refusal.error("cpu");
            assert!(error.to_string().starts_with("engine 'cpu' cannot run this: "), "{error}");
            assert!(of_error(&error).starts_with(start), "{}", of_error(&error));
        }
    }
}
