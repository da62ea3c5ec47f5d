// SPDX-License-Identifier: MIT OR Apache-2.0
//! Subcommands of cargo that some tasks need: of one version each, in the project's own folder.

use crate::{cargo, step};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::Command;

/// Where they are installed.
const TOOLS: &str = "target/tools";

/// Installs `cargo-NAME` of a version unless it is there; returns its path.
pub fn install(name: &str, version: &str) -> Result<PathBuf> {
    let package = format!("cargo-{name}");
    let program = std::path::absolute(TOOLS)?.join("bin").join(&package);
    let installed = || {
        let found = step::output(Command::new(&program).args([name, "--version"]));
        found.is_some_and(|line| line.ends_with(version))
    };
    if !installed() {
        let mut install = cargo();
        install.args(["install", "--quiet", "--locked", "--root", TOOLS]);
        step::run(&package, install.args([&package, "--version", version]))?;
        if !installed() {
            bail!("{} does not run after the installation; remove it and retry", program.display());
        }
    }
    Ok(program)
}
