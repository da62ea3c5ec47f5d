// SPDX-License-Identifier: MIT OR Apache-2.0
//! An archive of the program `host` for machines without Rust: any x86-64 Linux with the C library of 2018 or later.
//!
//! `cargo-zigbuild` links it against that library's symbols ([why](../../docs/decisions/0045-dist.md)).

use crate::gpu_bundle::target;
use crate::{cargo, setup, step};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest C library that it runs with: that of RHEL 8; Ubuntu 20.04 and Debian 11 have later ones.
const C_LIBRARY: (u32, u32) = (2, 28);
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What the archive may weigh.
const MOST_BYTES: u64 = 30_000_000;
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
    let zig = zig()?;
    let (major, minor) = C_LIBRARY;
    let mut build = Command::new(zig.join("bin/cargo-zigbuild"));
    build.arg("zigbuild").env("CARGO_ZIGBUILD_ZIG_PATH", zig.join("ziglang/zig"));
    build.env("HOST_BUILD_CHIPS", chips).args(["--release", "--package=stencil", "--bin=host"]);
    build.args(["--config", "profile.release.strip='symbols'"]);
    build.arg(format!("--target={TARGET}.{major}.{minor}"));
    step::run("program", &mut build)?;
    let program = target().join(TARGET).join("release/host");
    let needed = newest_symbol(&fs::read(&program)?);
    ensure!(
        needed.is_some_and(|needed| needed <= C_LIBRARY),
        "{} asks for {needed:?} of the C library, not for {C_LIBRARY:?}",
        program.display()
    );
    let archive = pack(&program, folder, Packer::Xz)?;
    let bytes = fs::metadata(&archive)?.len();
    println!("{} ({:.1} MB): unpack it on any x86-64 Linux", archive.display(), bytes as f64 / 1e6);
    ensure!(bytes <= MOST_BYTES, "it is larger than {} MB", MOST_BYTES / 1_000_000);
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
    write("THIRD-PARTY.txt", third_party()?.as_bytes())?;
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

/// Where `cargo-zigbuild` and `zig` are, installed if they are missing.
fn zig() -> Result<PathBuf> {
    let folder = std::path::absolute(setup::VENV)?.join("zig");
    if !(folder.join("bin/cargo-zigbuild").exists() && folder.join("ziglang/zig").exists()) {
        let mut pip = setup::pip()?;
        pip.args(["install", "--quiet", "--root-user-action=ignore", "--upgrade", "--target"]);
        pip.arg(&folder).args(["ziglang==0.17.1", "cargo-zigbuild==0.24.1"]);
        step::run("linker", &mut pip)?;
    }
    Ok(folder)
}

/// The newest version of the C library that a program asks for, by the names of its symbols' versions.
fn newest_symbol(program: &[u8]) -> Option<(u32, u32)> {
    const PREFIX: &[u8] = b"GLIBC_";
    let places = program.windows(PREFIX.len()).enumerate().filter(|(_, it)| *it == PREFIX);
    let version = |(at, _): (usize, &[u8])| {
        let text =
            program[at + PREFIX.len()..].split(|byte| !b"0123456789.".contains(byte)).next()?;
        let mut numbers = std::str::from_utf8(text).ok()?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    places.filter_map(version).max()
}

/// The libraries in the program: names, versions, licences, and the texts of these.
fn third_party() -> Result<String> {
    let mut tree = cargo();
    tree.args(["tree", "--package=stencil", "--edges=normal", "--prefix=none", "--format={p}"]);
    let tree = step::output(&mut tree).context("cannot list the libraries")?;
    // `name v1.2.3`, and for those of this workspace their folder.
    let foreign = tree.lines().filter(|line| !line.contains("(/"));
    let used: BTreeSet<(&str, &str)> = foreign
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let metadata = step::output(cargo().args(["metadata", "--format-version=1"]));
    let metadata: Value =
        serde_json::from_str(&metadata.context("cannot describe the libraries")?)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut list = String::from("The program has these libraries in it:\n\n");
    // Each text once, with those that it is of.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let [name, version, licence, manifest] =
            ["name", "version", "license", "manifest_path"].map(|key| package[key].as_str());
        let (Some(name), Some(version), Some(manifest)) = (name, version, manifest) else {
            continue;
        };
        if !used.contains(&(name, version)) {
            continue;
        }
        list += &format!("{name} {version}: {}\n", licence.unwrap_or("see its text"));
        for text in licence_texts(Path::new(manifest))? {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    for (text, of) in texts {
        list += &format!("\n---- {}\n\n{}\n", of.join(", "), text.trim());
    }
    Ok(list)
}

/// The texts beside a manifest that licences are in.
fn licence_texts(manifest: &Path) -> Result<Vec<String>> {
    let folder = manifest.parent().context("a manifest lies in a folder")?;
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    let is_one = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().to_uppercase();
        path.is_file()
            && ["LICEN", "COPYING", "UNLICENSE", "NOTICE"].iter().any(|it| name.starts_with(it))
    };
    paths
        .iter()
        .filter(is_one)
        .map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_counts() {
        assert_eq!(newest_symbol(b"\0GLIBC_2.2.5\0GLIBC_2.17\0GLIBC_2.9\0"), Some((2, 17)));
        assert_eq!(newest_symbol(b"GLIBC_PRIVATE\0GLIBCXX_3.4"), None);
        assert_eq!(newest_symbol(b"GLIBC_2.34"), Some((2, 34)));
    }

    #[test]
    fn texts_of_licences_are_found_by_their_names() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let texts = licence_texts(&here).unwrap();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("Apache License") && texts[1].contains("MIT License"));
    }
}
