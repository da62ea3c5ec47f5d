// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids that processes share, which `mpirun` starts on this machine, more of them than it has cores. They need an MPI library and
//! a program that is built with it (`--features stencil/mpi`); where `REQUIRE_MPI` is set, a test that finds none fails.

#[allow(dead_code, reason = "it is made for the tests of the command line, too")]
#[path = "../cli/support.rs"]
mod support;

mod draw;
#[cfg(target_os = "linux")]
mod faults;
mod gradients;
mod launch;
mod problems;
mod start;
