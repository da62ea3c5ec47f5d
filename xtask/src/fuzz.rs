// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fuzz targets, from the committed seeds and what earlier runs found.
//!
//! cargo-fuzz needs no nightly compiler for this: coverage is an LLVM pass, and the sanitizers, which
//! would need one, find nothing in safe code.

use crate::{setup, step, tool};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of cargo-fuzz.
const VERSION: &str = "0.13.2";
/// What libFuzzer compiles its own sources with.
const CXX: &str = "c++";

/// Installs what is missing; returns the path of `cargo-fuzz`.
pub fn setup() -> Result<PathBuf> {
    let compiler = || step::output(Command::new(CXX).arg("--version"));
    if compiler().is_none() {
        setup::attempt(
            "C++ compiler",
            setup::as_root("apt-get").args(["install", "--yes", "--no-install-recommends", "g++"]),
        );
        if compiler().is_none() {
            bail!("libFuzzer is built by a C++ compiler: install one that answers to {CXX}");
        }
    }
    tool::install("fuzz", VERSION)
}

/// Builds all targets and runs each for `seconds`; the first that breaks a promise ends it.
pub fn run(program: &Path, seconds: u32) -> Result<()> {
    let fuzz = |command: &str| {
        let mut fuzz = Command::new(program);
        fuzz.args(["fuzz", command, "--dev", "--sanitizer=none", "--features=libfuzzer"]);
        // Enough for parsers, and quick to build.
        fuzz.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        fuzz
    };
    step::run("fuzz targets", &mut fuzz("build"))?;
    let targets = step::output(Command::new(program).args(["fuzz", "list"]));
    for target in targets.context("cargo-fuzz lists no targets")?.lines() {
        // libFuzzer adds what it finds to the first folder, which git ignores.
        let folders = ["corpus", "seeds"].map(|kind| Path::new("fuzz").join(kind).join(target));
        std::fs::create_dir_all(&folders[0])
            .with_context(|| format!("cannot create {}", folders[0].display()))?;
        let mut libfuzzer = fuzz("run");
        libfuzzer.arg(target).args(&folders).args(["--", &format!("-max_total_time={seconds}")]);
        // One that hangs, or takes much more memory than its input has, is at fault as well. (A plan
        // of a 3D box takes 4 s in an instrumented build on an idle machine.)
        libfuzzer.args(["-timeout=60", "-rss_limit_mb=1024", "-max_len=4096"]);
        let output = libfuzzer.output().with_context(|| format!("cannot fuzz {target}"))?;
        let log = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!(
                "{log}\n{target} broke a promise; once mended, keep the input in fuzz/seeds/{target}"
            );
        }
        let done = log.lines().find(|line| line.contains("DONE")).unwrap_or_default();
        println!("fuzz {target}: {done}");
    }
    Ok(())
}
