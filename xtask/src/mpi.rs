// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program is built and started with whose grid several processes share.

use crate::{setup, step};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// The packages of Debian and Ubuntu that have MPI and what its bindings are built with.
const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

/// Installs what is missing; returns the library's name.
///
/// # Errors
/// Something is missing, and is not to be had here.
pub fn install() -> Result<String> {
    if missing().is_some() {
        setup::by_apt("MPI", &PACKAGES);
    }
    match missing() {
        None => Ok(first_line(Command::new("mpirun").arg("--version")).unwrap_or_default()),
        Some(what) => {
            bail!("there is no {what}; on Debian: apt-get install {}", PACKAGES.join(" "))
        }
    }
}

/// The first of what is needed that is not there.
fn missing() -> Option<&'static str> {
    let runs = |program| first_line(Command::new(program).arg("--version")).is_some();
    if !runs("mpicc") {
        Some("mpicc")
    } else if !runs("mpirun") {
        Some("mpirun")
    } else if !has_clang() {
        Some("libclang with its headers")
    } else {
        None
    }
}

fn first_line(command: &mut Command) -> Option<String> {
    step::output(command).and_then(|text| text.lines().next().map(str::to_owned))
}

/// Whether the library that reads MPI's header is there, with the headers of its own, such as `stddef.h`.
fn has_clang() -> bool {
    let told = std::env::var_os("LIBCLANG_PATH").is_some();
    told || step::output(Command::new("clang").arg("-print-resource-dir")).is_some()
        || folders("/usr/lib".as_ref(), "llvm-")
            .iter()
            .flat_map(|llvm| folders(&llvm.join("lib/clang"), ""))
            .any(|version| version.join("include/stddef.h").exists())
}

/// The folders in one whose names begin like this.
fn folders(inside: &Path, start: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(inside).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    named.map(|entry| entry.path()).collect()
}
