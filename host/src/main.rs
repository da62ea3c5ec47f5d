// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program `host`.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::cli::main()
}
