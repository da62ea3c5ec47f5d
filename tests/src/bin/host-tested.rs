// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program `host` under another name: cargo builds the binaries of this package before its
//! tests, so they never start a stale one.

use std::process::ExitCode;

fn main() -> ExitCode {
    // What the tests expect in files, whatever they were built from.
    stencil::cli::main(Some("tested"))
}
