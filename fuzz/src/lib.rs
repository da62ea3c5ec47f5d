// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fuzz targets, one for each reader of input. Each takes any bytes and panics where a promise is
//! broken:
//!
//! - whatever comes in, the reader returns: a value or an error with a text and a remedy;
//! - what it takes, it takes again from its own writing, unchanged;
//! - a value that it takes is one that the rest of the program can work with.
//!
//! [`TARGETS`] lists them. libFuzzer drives them by `cargo xtask fuzz`, and `tests/seeds.rs` gives
//! each the files of `seeds/`, past mistakes among them. A failure ends with the command that repeats
//! it; `cargo fuzz` is in `target/tools/bin` once that has run.

mod bench_results;
mod file;
mod machine;
mod network;
mod npy;
mod promise;
mod size;
mod stencil_file;
mod stencil_name;
mod stencil_plan;
mod system_file;

pub use bench_results::bench_results;
pub use machine::machine;
pub use network::network;
pub use npy::{npy_grid, npy_weights};
pub use size::size;
pub use stencil_file::stencil_file;
pub use stencil_name::stencil_name;
pub use stencil_plan::stencil_plan;
pub use system_file::system_file;

/// A target: any bytes in, a panic where a promise is broken.
pub type Target = fn(&[u8]);

/// Every target under its name.
pub const TARGETS: [(&str, Target); 10] = [
    ("size", size),
    ("stencil_name", stencil_name),
    ("stencil_file", stencil_file),
    ("stencil_plan", stencil_plan),
    ("system_file", system_file),
    ("npy_grid", npy_grid),
    ("npy_weights", npy_weights),
    ("machine", machine),
    ("network", network),
    ("bench_results", bench_results),
];
