// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program `host`.

use std::process::ExitCode;

use git_version::git_version;

/// The commit that it is built from, `-dirty` if sources differ; empty outside of a repository.
/// Here and not in the library, so that a commit does not make all of it be built again.
const COMMIT: &str =
    git_version!(args = ["--always", "--dirty", "--abbrev=7", "--exclude=*"], fallback = "");

fn main() -> ExitCode {
    stencil::cli::main(Some(COMMIT).filter(|commit| !commit.is_empty()))
}
