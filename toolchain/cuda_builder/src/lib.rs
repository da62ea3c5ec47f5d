// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles a kernel crate to PTX from a build script, with rust-cuda's builder interface on rustc's
//! own NVPTX back end.
//!
//! ```no_run
//! // build.rs
//! use cuda_builder::{Chip, CudaBuilder};
//!
//! let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
//! let built = CudaBuilder::new("../kernels-gpu")
//!     .arch(Chip::Sm90a)
//!     .copy_to(out.join("kernels_sm_90a.ptx"))
//!     .build()?;
//! println!("cargo:rustc-env=DEVICE_COMPILER={}", built.compiler);
//! # Ok::<(), cuda_builder::BuildError>(())
//! ```
//!
//! It needs a *device compiler*: a rustc that knows NVIDIA's chips and has the sources of its own
//! `core`; [`Compiler::find`] says where it looks. What it builds stays in `cuda-builder` in the
//! target folder, and cargo rebuilds it when sources change. Chip after chip in one process costs
//! little more than the first: they share a `core`.
//!
//! The kernel crate itself learns its chip from `cfg(target_feature = "sm_90")` (set for this chip and
//! all later ones), crates that it uses from `option_env!("CUDA_ARCH")`, such as `sm_90a`.

mod builder;
mod compiler;
mod embed;
mod environment;
mod error;
mod ptx;
mod sources;
mod stand_in;

pub use builder::{Built, CudaBuilder, DebugInfo};
pub use compiler::Compiler;
pub use cuda_chip::Chip;
pub use embed::embed;
pub use error::BuildError;
