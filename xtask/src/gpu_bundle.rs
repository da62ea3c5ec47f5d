// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that a machine with a GPU, but without Rust, needs to test and time the kernels.

use crate::test::ALL_CHIPS;
use crate::{cargo, step};
use anyhow::{Context, Result, bail};
use cuda_builder::{Chip, CudaBuilder};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages and the programs that they make for the bundle.
const PACKAGES: [&str; 7] =
    ["stencil", "tests", "benches", "vector-sum", "reduction", "tile-product", "reaction"];
const PROGRAMS: [&str; 13] = [
    "host",
    "gpu-suite",
    "gpu-candidates",
    "gpu-gather",
    "gpu-sweep",
    "gpu-split",
    "gpu-chain",
    "gpu-rows",
    "gpu-sweep3d",
    "vector-sum",
    "reduction",
    "tile-product",
    "reaction",
];
/// What runs them over there.
const SCRIPT: &str = include_str!("gpu_bundle.sh");

/// Builds, fills `folder`, packs it into `folder`.tar.gz, and says how it is used.
pub fn run(folder: &Path) -> Result<()> {
    let archive = archive(folder)?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // First, because without a device compiler the programs would carry no kernels.
    for arch in Chip::ALL {
        CudaBuilder::new("kernels-gpu")
            .arch(arch)
            .target_dir(target().join("cuda-builder"))
            .copy_to(folder.join(arch.name()).with_extension("ptx"))
            .build()
            .context("the bundle needs the kernels")?;
    }
    let mut build = cargo();
    build.env("HOST_BUILD_CHIPS", ALL_CHIPS);
    build.args(["build", "--release", "--bins", "--config", "profile.release.strip='symbols'"]);
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
fn target() -> PathBuf {
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
        let mut found: Vec<String> = vec!["host".into()];
        for package in ["benches", "tests"] {
            let text = fs::read_to_string(root.join(package).join("Cargo.toml")).unwrap();
            let programs = text.split("[[bin]]").skip(1);
            let names = programs.map(|text| text.split('"').nth(1).unwrap().to_owned());
            found.extend(names.filter(|name| name.starts_with("gpu-")));
        }
        for example in fs::read_dir(root.join("examples")).unwrap() {
            found.push(example.unwrap().file_name().into_string().unwrap());
        }
        found.sort();
        let mut packed = PROGRAMS.to_vec();
        packed.sort_unstable();
        assert_eq!(found, packed);
        // The planner's measurements take hours.
        for program in PROGRAMS.into_iter().filter(|program| *program != "gpu-candidates") {
            assert!(SCRIPT.contains(&format!(" ./{program}")), "run.sh does not run {program}");
        }
    }
}
