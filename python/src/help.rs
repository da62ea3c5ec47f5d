// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be done about an error, in the words of Python: arguments and calls, not options of a program.

use stencil::error::{Hint, InterruptedWork, UnsupportedRequest};
use stencil::transform::StencilError;
use stencil::{Error, ErrorKind, ValueLocation};

/// How a boundary is written.
pub const BOUNDARY: &str = "give one kind for all sides, such as boundary=\"periodic\", or kinds for axes and sides: \
                            boundary=\"x:periodic,y-:constant=1\" or {\"x\": \"periodic\", \"y-\": \"constant=1\"}; \
                            x is the last axis";
/// Which values there are.
pub const DTYPE: &str =
    "give float16, bfloat16, float32, float64 or whole numbers, as by u.astype(\"float32\")";
/// Which weights make a stencil.
pub const WEIGHTS: &str = "weights are an array of 1 to 3 axes with odd extents and finite values, the centre in the middle, \
                           or a name of stencil.catalogue()";
/// Which systems there are.
pub const SYSTEM: &str = "stencil.examples() has the names; a path ends in .toml, and the text of a file has several lines";
/// What files hold, and how pictures are drawn.
pub const SAVED: &str = "a slice is written as \"z=4\", a range as \"0:1\", \"auto\" or \"each\"";
/// How an array of a GPU comes to the host.
pub const TO_HOST: &str = "copy it to the host, as by tensor.cpu() of torch or cupy.asnumpy";
/// A narrower or smaller grid.
const SMALLER: &str = "take a smaller array, or a dtype with fewer bytes";

/// What can be done about an error of the library.
pub fn of_error(error: &Error) -> String {
    match error {
        Error::System(mistake) => mistake.hint.clone().unwrap_or_else(|| {
            "docs/reference/system-files.md has the keys and the language; stencil.examples() names examples"
                .into()
        }),
        Error::Boundary { hint, .. } => of_boundary(hint.as_ref()),
        Error::SizeAxes { dims, .. } => format!(
            "give an array or a shape of {dims} axes, or weights of as many axes as the array has"
        ),
        Error::UnknownField { known, .. } => format!("ask for one of {}", known.join(", ")),
        Error::Rank { dims, .. } => {
            format!("give an array with {dims} axes, or a stencil with as many as the array")
        }
        Error::Weights { source, .. } | Error::Stencil(source) => of_weights(source).into(),
        Error::OfRank(failure) => of_kind(failure.kind()).into(),
        Error::NoDriver { reason } => format!(
            "install the NVIDIA driver, or take engine=\"cpu\"; looking for it gave: {reason}"
        ),
        other => of_plain(other).into(),
    }
}

/// Of those whose remedy needs none of their facts.
fn of_plain(error: &Error) -> &'static str {
    match error {
        Error::Verification { .. } => {
            "the result is wrong, do not use it; engine=\"cpu\" is the simplest engine; please report this with the \
             call and the output of print(simulation)"
        }
        Error::Fault(_) | Error::PtxFault(_) => {
            "a kernel is wrong, not your input; engine=\"cpu\" does without kernels; please report this"
        }
        Error::Size { .. } => "1 to 3 axes, of at least one point each",
        Error::Extents { .. } => "give an array of the shape of the field",
        Error::Target { .. } => {
            "put {field} into the name, for a file of each field, or take a format that holds many, such as .vti"
        }
        Error::Format { .. } => "name a file that ends with one of them",
        Error::NotBuilt { .. } => "take another format: this package was built without this one",
        Error::NotFlat { .. } => "a picture has two axes: give slice=\"z=4\", or another format",
        Error::Slice { .. } => "a slice is written as slice=\"z=4\", a place from 0 on",
        Error::Checkpoint { foreign: true, .. } => {
            "make the simulation as the one was made that wrote it, and resume then"
        }
        Error::Checkpoint { .. } => "take an earlier checkpoint",
        Error::Write { .. } => "check the path, its permissions and the free space",
        Error::Points { .. } => "give a value for each point, the last axis fastest",
        Error::DeviceArray { .. } => TO_HOST,
        Error::Array { .. } => {
            "expected a .npy file of floats, integers or truth values, as by numpy.save"
        }
        Error::Picture { .. } => "expected a grey PNG of 8 or 16 bits a point",
        Error::Memory { .. } => SMALLER,
        Error::GpuMemory { .. } => {
            "take a smaller array, or a dtype with fewer bytes; engine=\"cpu\" needs no memory of the GPU"
        }
        Error::GpuFull { .. } => {
            "nvidia-smi shows who else uses the GPU (torch keeps freed memory until torch.cuda.empty_cache()); take \
             a smaller array, or a dtype with fewer bytes; engine=\"cpu\" needs no memory of the GPU"
        }
        Error::Asked { asked: UnsupportedRequest::Depths, .. } => {
            "leave out fuse and chain; engine=\"auto\" takes an engine that can, if there is one"
        }
        Error::Asked { asked: UnsupportedRequest::Jump, .. } => {
            "leave out jump, or take engine=\"fft\""
        }
        Error::Asked { asked: UnsupportedRequest::Family, .. } => {
            "leave out kernel; engine=\"auto\" takes an engine that can, if there is one"
        }
        Error::Unsupported { .. } => "engine=\"auto\" takes an engine that can, if there is one",
        Error::NoEngine { .. } => {
            "take another dtype or a smaller array, or leave out engine, fuse, chain, jump and kernel"
        }
        Error::Chip { .. } => "unset HOST_CHIP: the GPU then takes the best kernels that run on it",
        Error::NoGpu { .. } => {
            "the kernels need compute capability 8.0 (A100) or later; engine=\"cpu\" runs anywhere"
        }
        Error::NoDeviceCode { .. } => {
            "install the device compiler and build the package again, or take engine=\"cpu\""
        }
        Error::NotFinite { holder: ValueLocation::Input, .. } => {
            "replace infinities and not-a-numbers in the array, as by numpy.nan_to_num"
        }
        Error::NotFinite {
            holder: ValueLocation::InputAs(_) | ValueLocation::StencilAs(_),
            ..
        } => "the element type cannot hold it: take a wider dtype, or scale the values down",
        Error::NotFinite { holder: ValueLocation::Result, .. } | Error::Overflow { .. } => {
            "the values outgrew the element type: take fewer steps, a wider dtype, or weights whose absolute values \
             sum to at most 1"
        }
        Error::TimeStep { .. } => {
            "the key 'dt' of [time] makes the step length from the values: check what it divides by, and whether values grow"
        }
        Error::FieldOverflow { .. } => {
            "take a smaller dt, fewer steps, or a wider dtype in the system's file"
        }
        Error::Read { .. } => "check the path and its permissions",
        Error::Stopped { during: InterruptedWork::Verifying } => {
            "the result is complete, but it was not verified; verify=\"sample\" takes about a second, \"off\" none"
        }
        Error::Stopped { .. } => "the simulation may go on from the steps that are done",
        other => of_kind(other.kind()),
    }
}

/// Of those that calls of this package do not meet, such as failures of ranks and of files that are written.
fn of_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Wrong => "the result is wrong, do not use it; please report this",
        ErrorKind::Input => "help(stencil) has every argument",
        ErrorKind::Device | ErrorKind::Lost => {
            "nvidia-smi shows the state of the GPU; engine=\"cpu\" does without"
        }
        ErrorKind::NotFinite => "take fewer steps, or a wider dtype",
        ErrorKind::File => "check the path, its permissions and the free space",
        ErrorKind::Memory => SMALLER,
        ErrorKind::Stopped => "call again to go on",
    }
}

/// Of weights that make no stencil.
pub fn of_weights(error: &StencilError) -> &'static str {
    match error {
        StencilError::EvenExtent(_) => {
            "pad the weights with a row or column of zeros, so that they have a centre"
        }
        _ => WEIGHTS,
    }
}

/// Of a boundary that is none.
fn of_boundary(hint: Option<&Hint>) -> String {
    match hint {
        None => BOUNDARY.into(),
        Some(Hint::Meant(meant)) => format!("did you mean {meant}?"),
        Some(Hint::Place(meant)) => {
            format!("did you mean {meant}? x is the last axis of the array")
        }
        Some(Hint::Twice) => "leave one of them out".into(),
        Some(Hint::Order([general, special])) => {
            format!("give the more general one first: boundary=\"{general},{special}\"")
        }
        Some(hint @ (Hint::Reflect | Hint::Slope | Hint::Open | Hint::Fixed)) => {
            hint.side().unwrap_or_default().into()
        }
        Some(Hint::Wider) => "take a wider dtype, or a smaller constant".into(),
    }
}
