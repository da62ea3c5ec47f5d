// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]

mod arithmetic;
mod builder;
mod compiler;
mod embed;
mod environment;
mod error;
mod group;
mod kept;
mod ptx;
mod shared;
mod sources;
mod stand_in;

pub use builder::{Built, CudaBuilder, DebugInfo};
pub use compiler::Compiler;
pub use cuda_chip::Chip;
/// rust-cuda's name of a chip: `NvvmArch::Compute80`.
pub use cuda_chip::Chip as NvvmArch;
pub use embed::{embed, embed_lines, embed_or};
pub use error::BuildError;
