// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with a GPU.

use crate::call::CallError;
use crate::load::LoadError;
use crate::tensor_map::TensorMapError;
use std::fmt;

/// Why something was not done on a GPU. It shows as text everywhere, so that `main` can return it.
#[derive(Clone, thiserror::Error)]
pub enum Error {
    /// There is no driver.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// There is a driver, but no GPU.
    #[error("the NVIDIA driver lists no GPU: check `nvidia-smi` and CUDA_VISIBLE_DEVICES")]
    NoGpu,
    /// The program was built without kernels.
    #[error("this program was built without GPU kernels: {reason}")]
    NoKernels {
        /// What its build met.
        reason: &'static str,
    },
    /// None of the program's kernels run on the GPU.
    #[error("the kernels are for {chips}; they do not run on {gpu}, of compute capability {}.{}",
        compute_capability.0, compute_capability.1)]
    WrongChip {
        /// The chips that there are kernels for.
        chips: String,
        /// The GPU's name.
        gpu: String,
        /// The GPU's compute capability.
        compute_capability: (u32, u32),
    },
    /// The driver's assembler refuses the PTX.
    #[error("{error}\n{log}")]
    Assemble {
        /// The call.
        error: CallError,
        /// What the assembler wrote.
        log: String,
    },
    /// The module has no kernel of this name.
    #[error("there is no kernel `{name}` among those loaded")]
    NoKernel {
        /// The name asked for.
        name: &'static str,
    },
    /// A tensor map cannot be made.
    #[error(transparent)]
    TensorMap(#[from] TensorMapError),
    /// A driver call failed; of a kernel that failed, the next call after its launch.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
