// SPDX-License-Identifier: MIT OR Apache-2.0
//! An archive of the program `host` for machines without Rust: any x86-64 Linux with the C library of 2018 or later.
//!
//! `cargo-zigbuild` links it against that library's symbols ([why](../../docs/decisions/0045-dist.md)).

use crate::gpu_bundle::target;
use crate::zig::{self, C_LIBRARY};
use crate::{licences, step};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The shells whose completions are packed, and how each names its file.
const SHELLS: [(&str, &str); 3] = [("bash", "host.bash"), ("zsh", "_host"), ("fish", "host.fish")];
const ABOUT: &str = "\
Stencil computations on sparse tensor cores and CPUs.

  ./host run --stencil star2d3r --size 10240     on a GPU if there is one, else on the CPU
  ./host example heat-plate --output plate.png
  ./host doctor                                  what it finds on this machine

Put `host` where your PATH leads, man/* below share/man/man1, and a file of completions/ where your shell looks
for it. LICENSE-APACHE or LICENSE-MIT hold for the program, THIRD-PARTY.txt for the libraries in it.
";

/// Builds the program with the kernels for these chips, packs it into a folder, and tries what was packed.
pub fn run(folder: &Path, chips: &str) -> Result<()> {
    let (major, minor) = C_LIBRARY;
    let mut build = zig::tool("cargo-zigbuild")?;
    build.arg("zigbuild");
    build.env("HOST_BUILD_CHIPS", chips).args(["--release", "--package=stencil", "--bin=host"]);
    build.args(["--config", "profile.release.strip='symbols'"]);
    build.arg(format!("--target={TARGET}.{major}.{minor}"));
    step::run("program", &mut build)?;
    let program = target().join(TARGET).join("release/host");
    zig::check_symbols(&program)?;
    let archive = pack(&program, folder, Packer::Xz)?;
    let bytes = zig::check_size(&archive)?;
    println!("{} ({:.1} MB): unpack it on any x86-64 Linux", archive.display(), bytes as f64 / 1e6);
    check(&archive)
}

/// What makes an archive smaller.
#[derive(Clone, Copy)]
pub enum Packer {
    /// Everywhere, and quick.
    Gzip,
    /// Smaller, where it is installed.
    Xz,
}

/// Packs a program with its manual, completions and licences; returns the archive.
pub fn pack(program: &Path, folder: &Path, packer: Packer) -> Result<PathBuf> {
    let name = format!("host-{}-x86_64-linux", env!("CARGO_PKG_VERSION"));
    let whole = folder.join(&name);
    if whole.exists() {
        fs::remove_dir_all(&whole).with_context(|| format!("cannot empty {}", whole.display()))?;
    }
    for part in ["man", "completions"] {
        let part = whole.join(part);
        fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display()))?;
    }
    let copy = |from: &Path, to: &str| {
        let (shown, to) = (from.display(), whole.join(to));
        fs::copy(from, to).map(drop).with_context(|| format!("cannot copy {shown}"))
    };
    copy(program, "host")?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(Path::new(licence), licence)?;
    }
    let write = |name: &str, bytes: &[u8]| {
        fs::write(whole.join(name), bytes).with_context(|| format!("cannot write {name}"))
    };
    write("README.txt", ABOUT.as_bytes())?;
    write("THIRD-PARTY.txt", licences::third_party("stencil")?.as_bytes())?;
    let printed = |arguments: &[&str]| {
        let output = Command::new(whole.join("host")).args(arguments).output();
        let output = output.with_context(|| format!("cannot run {}", program.display()))?;
        ensure!(output.status.success(), "host {} failed", arguments.join(" "));
        Ok(output.stdout)
    };
    write("man/host.1", &printed(&["man"])?)?;
    for command in ["run", "example", "plan", "list", "bench", "doctor"] {
        write(&format!("man/host-{command}.1"), &printed(&["man", command])?)?;
    }
    for (shell, file) in SHELLS {
        write(&format!("completions/{file}"), &printed(&["completions", shell])?)?;
    }
    let (option, extension) = match packer {
        Packer::Gzip => ("--gzip", "gz"),
        Packer::Xz => ("--xz", "xz"),
    };
    let archive = folder.join(format!("{name}.tar.{extension}"));
    let mut tar = Command::new("tar");
    tar.args(["--create", option, "--owner=0", "--group=0", "--file"]).arg(&archive);
    step::run("archive", tar.arg("--directory").arg(folder).arg(&name))?;
    Ok(archive)
}

/// Unpacks an archive elsewhere, and computes with what was in it where nothing else is to be found.
pub fn check(archive: &Path) -> Result<()> {
    let elsewhere = std::path::absolute(archive.with_extension("tried"))?;
    if elsewhere.exists() {
        fs::remove_dir_all(&elsewhere)?;
    }
    fs::create_dir_all(&elsewhere)?;
    let mut tar = Command::new("tar");
    step::run(
        "unpack",
        tar.arg("--extract").arg("--file").arg(archive).arg("--directory").arg(&elsewhere),
    )?;
    let entry = fs::read_dir(&elsewhere)?.next().context("the archive is empty")??;
    let host = entry.path().join("host");
    for (arguments, wanted) in [
        (&["--version"][..], "host "),
        (&["run", "star2d1r", "--size", "64", "--steps", "3", "--engine", "cpu"], "verified"),
        (&["example", "heat-plate", "--steps", "10", "--output", "plate.png"], "verified"),
    ] {
        // An empty PATH, and no variable but where speeds are kept: not with the user's.
        let output = Command::new(&host)
            .args(arguments)
            .env_clear()
            .env("HOST_CACHE", elsewhere.join("cache"))
            .current_dir(&elsewhere)
            .output();
        let output = output.with_context(|| format!("cannot run {}", host.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !text.contains(wanted) {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("host {}: no '{wanted}' in\n{text}{errors}", arguments.join(" "));
        }
    }
    ensure!(fs::metadata(elsewhere.join("plate.png"))?.len() > 100, "no picture was written");
    fs::remove_dir_all(&elsewhere)?;
    println!("the archive's program computes with an empty PATH");
    Ok(())
}
