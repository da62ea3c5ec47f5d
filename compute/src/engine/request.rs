// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which engine the user asks for.

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use problem::names::{self, UnknownName};

/// What the user asked for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(
    serialize_all = "lowercase",
    parse_err_ty = UnknownName,
    parse_err_fn = names::unknown::<EngineRequest>
)]
pub enum EngineRequest {
    /// The engine that is predicted to be fastest; cpu if no engine of the GPU can run the job
    #[default]
    Auto,
    /// Sparse tensor cores of an NVIDIA GPU
    Sparse,
    /// Dense tensor cores of an NVIDIA GPU
    Dense,
    /// CUDA cores of an NVIDIA GPU
    Cuda,
    /// All cores of this machine
    Cpu,
    /// Fourier transforms, on an NVIDIA GPU or all cores of this machine: any number of steps at once
    Fft,
    /// The GPU kernels in an emulator that checks them, for small grids
    Emulate,
}

impl EngineRequest {
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;
}
