// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes the source in small ways, one at a time, and looks for a test that fails: what no test sees is
//! listed. Which survive, and why, is in `docs/testing.md`.

use crate::{cargo, step};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

const VERSION: &str = "27.1.0";
/// Where it is installed.
const TOOLS: &str = "target/tools";
/// Where it leaves its lists.
const OUTPUT: &str = "target/mutants";
/// The modules of `host` that compute and decide without a device or files.
const PURE: [&str; 9] = [
    "host/src/boundary.rs",
    "host/src/boundary/*.rs",
    "host/src/growth.rs",
    "host/src/region.rs",
    "host/src/reference.rs",
    "host/src/sample/*.rs",
    "host/src/seams.rs",
    "host/src/shape.rs",
    "host/src/verify/*.rs",
];

/// Installs cargo-mutants if it is missing, and runs a shard of all changes, such as `0/50`.
pub fn run(shard: &str) -> Result<()> {
    let program = std::path::absolute(TOOLS)?.join("bin/cargo-mutants");
    let installed = || {
        let version = step::output(Command::new(&program).args(["mutants", "--version"]));
        version.is_some_and(|line| line.ends_with(VERSION))
    };
    if !installed() {
        let mut install = cargo();
        install.args(["install", "--quiet", "--locked", "--root", TOOLS]);
        step::run("cargo-mutants", install.args(["cargo-mutants", "--version", VERSION]))?;
        if !installed() {
            bail!("{} does not run after the installation; remove it and retry", program.display());
        }
    }
    for (package, files) in [("transform", &["transform/src/**/*.rs"][..]), ("host", &PURE)] {
        let output = Path::new(OUTPUT).join(package);
        std::fs::create_dir_all(&output)?;
        let mut mutants = Command::new(&program);
        mutants.args(["mutants", "--package", package, "--shard", shard, "--output"]).arg(&output);
        // A change that makes a loop endless is caught by the time it takes.
        mutants.args(["--timeout-multiplier", "5", "--colors", "never", "--no-shuffle"]);
        mutants.args(files.iter().flat_map(|file| ["--file", file]));
        // The program's own tests take long, and compile kernels.
        mutants.args(["--", "--lib"]);
        if package == "transform" {
            mutants.arg("--tests");
        }
        let status = mutants.status()?;
        match status.code() {
            Some(0) => {}
            // Some survive.
            Some(2 | 3) => println!("{}: see {}/mutants.out/missed.txt", package, output.display()),
            _ => bail!("cargo-mutants failed on {package} ({status})"),
        }
    }
    Ok(())
}
