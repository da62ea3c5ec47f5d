// SPDX-License-Identifier: MIT OR Apache-2.0
//! The systems that are set beside others' code: each a file of this project, and functions in the scripts of its peers.

/// Others' code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Devito, which generates C.
    Devito,
    /// Loops that numba compiles.
    Numba,
    /// torch on a GPU.
    Torch,
    /// py-pde, whose operators numba compiles.
    PyPde,
}

impl Peer {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Devito => "Devito",
            Self::Numba => "numba",
            Self::Torch => "torch",
            Self::PyPde => "py-pde",
        }
    }

    /// Its script.
    #[must_use]
    pub fn script(self) -> &'static str {
        match self {
            Self::Devito => include_str!("scripts/devito_system.py"),
            Self::Numba => include_str!("scripts/numba_system.py"),
            Self::Torch => include_str!("scripts/torch_system.py"),
            Self::PyPde => include_str!("scripts/py_pde_system.py"),
        }
    }
}

/// A system, and whose code computes it, too.
#[derive(Clone, Copy, Debug)]
pub struct PeerProblem {
    /// Its name in the scripts.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
    /// Who computes it on a CPU.
    pub on_cpu: &'static [Peer],
    /// Who computes it on a GPU.
    pub on_gpu: &'static [Peer],
}

macro_rules! problem {
    ($name:literal, $on_cpu:expr, $on_gpu:expr) => {
        problem!("problems/", $name, $on_cpu, $on_gpu)
    };
    ($folder:literal, $name:literal, $on_cpu:expr, $on_gpu:expr) => {
        PeerProblem {
            name: $name,
            text: include_str!(concat!($folder, $name, ".toml")),
            on_cpu: $on_cpu,
            on_gpu: $on_gpu,
        }
    };
}

use Peer::{Devito, Numba, PyPde, Torch};

/// Equations of py-pde's classes and examples, with its sides and its differences of second order.
pub const OF_PY_PDE: [PeerProblem; 11] = [
    problem!("py_pde/", "diffusion", &[PyPde], &[]),
    problem!("py_pde/", "allen-cahn", &[PyPde], &[]),
    problem!("py_pde/", "cahn-hilliard", &[PyPde], &[]),
    problem!("py_pde/", "kpz", &[PyPde], &[]),
    problem!("py_pde/", "kuramoto-sivashinsky", &[PyPde], &[]),
    problem!("py_pde/", "swift-hohenberg", &[PyPde], &[]),
    problem!("py_pde/", "wave", &[PyPde], &[]),
    problem!("py_pde/", "brusselator", &[PyPde], &[]),
    problem!("py_pde/", "schroedinger", &[PyPde], &[]),
    problem!("py_pde/", "sir", &[PyPde], &[]),
    problem!("py_pde/", "korteweg-de-vries", &[PyPde], &[]),
];

/// All of them.
pub const PROBLEMS: [PeerProblem; 7] = [
    problem!("wave-2d", &[Devito], &[Torch]),
    problem!("wave-3d", &[Devito], &[Torch]),
    problem!("gray-scott", &[Devito, Numba], &[Torch]),
    problem!("heat", &[Devito], &[Torch]),
    problem!("elastic", &[Devito, Numba], &[]),
    problem!("yee", &[Numba], &[]),
    problem!("lattice-boltzmann", &[Numba], &[]),
];
