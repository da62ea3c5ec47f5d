// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that a machine with a GPU, but without Rust, needs to test and time the kernels.

use crate::{cargo, step};
use anyhow::{Context, Result, bail};
use cuda_builder::Compiler;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages, and the programs that they make for the bundle: `benches` has the conformance suite in it.
const PACKAGES: [&str; 8] = [
    "stencil",
    "benches",
    "vector-sum",
    "reduction",
    "tile-product",
    "warpgroup-product",
    "reaction",
    "planted-faults",
];
const PROGRAMS: [&str; 8] = [
    "host",
    "benches",
    "vector-sum",
    "reduction",
    "tile-product",
    "warpgroup-product",
    "reaction",
    "planted-faults",
];
/// What runs them over there.
const SCRIPT: &str = include_str!("gpu_bundle.sh");

/// Builds with the kernels for these chips, fills `folder`, packs it into `folder`.tar.gz, and says how it is used.
pub fn run(folder: &Path, chips: &str) -> Result<()> {
    let archive = archive(folder)?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // Without a device compiler the programs would carry no kernels.
    Compiler::find().context("the bundle needs the kernels")?;
    let mut build = cargo();
    build.env("HOST_BUILD_CHIPS", chips);
    build.args(["build", "--release", "--bins", "--config", "profile.release.strip='symbols'"]);
    // The conformance suite runs every case in the emulator, too.
    build.args(["--config", "profile.release.package.kernels-gpu.opt-level=1"]);
    step::run("programs", build.args(PACKAGES.map(|name| format!("--package={name}"))))?;

    for program in PROGRAMS {
        let (from, to) = (target().join("release").join(program), folder.join(program));
        fs::copy(&from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    let script = folder.join("run.sh");
    fs::write(&script, SCRIPT)
        .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)))
        .with_context(|| format!("cannot write {}", script.display()))?;
    let parent = folder.parent().filter(|parent| *parent != Path::new(""));
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--gzip").arg("--file").arg(&archive);
    tar.arg("--directory").arg(parent.unwrap_or(Path::new(".")));
    step::run("archive", tar.args(folder.file_name()))?;
    let megabytes = |path: &Path| Ok::<_, std::io::Error>(fs::metadata(path)?.len() as f64 / 1e6);
    println!(
        "{} ({:.1} MB): take it to an x86-64 Linux machine with a GPU of compute capability 8.0 \
         or later and a driver for CUDA 12.7 or later, unpack it and start its run.sh",
        archive.display(),
        megabytes(&archive)?,
    );
    Ok(())
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from)
}

/// Beside the folder.
fn archive(folder: &Path) -> Result<PathBuf> {
    let Some(name) = folder.file_name() else {
        bail!("--output {}: give the folder a name", folder.display());
    };
    let mut name = name.to_owned();
    name.push(".tar.gz");
    Ok(folder.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Then: `gpu-gather` was neither packed nor run.
    #[test]
    fn every_program_for_a_gpu_is_packed_and_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(root.join(folder)).unwrap();
            let name = |entry: fs::DirEntry| entry.path().file_stem().unwrap().to_owned();
            entries.map(|entry| name(entry.unwrap()).into_string().unwrap()).collect()
        };
        let mut found = names("examples");
        found.extend(["host".to_owned(), "benches".to_owned()]);
        found.sort();
        let mut packed = PROGRAMS.to_vec();
        packed.sort_unstable();
        assert_eq!(found, packed);
        for program in PROGRAMS {
            assert!(SCRIPT.contains(&format!("./{program}")), "run.sh does not run {program}");
        }
        let commands = names("benches/src/commands");
        let for_gpus = commands.iter().filter(|name| name.starts_with("gpu_"));
        // The planner's measurements take hours.
        for command in for_gpus.filter(|name| *name != "gpu_candidates") {
            let command = command.replace('_', "-");
            let is_run = SCRIPT.contains(&format!(" ./benches {command}"));
            assert!(is_run, "run.sh does not run {command}");
        }
        assert!(SCRIPT.contains(" ./benches gpu-suite"), "run.sh does not run the suite");
    }
}
