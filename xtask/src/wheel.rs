// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wheel of the Python package for machines without Rust: any x86-64 Linux with the C library of 2018 or later, and any
//! CPython since 3.10 ([why](../../docs/decisions/0073-wheel-and-small-calls.md)).

use crate::zig::{self, C_LIBRARY};
use crate::{licences, step};
use anyhow::{Context, Result, ensure};
use cuda_builder::Compiler;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What is to be installed and to have computed after this time.
const MOST_TIME: Duration = Duration::from_secs(60);
/// A first result, which is compared with the plain stencil in f64.
const FIRST: &str = "
import numpy as np, stencil
u = np.zeros((480, 640), np.float32)
u[240, 320] = 1000
print(stencil.run('heat-2d', u, 100, boundary='x:periodic,y:reflect', verify='full').sum())
";
/// The package's licences, in the folder that the wheel is made of while it is made.
const LICENCES: &str = "python/stencil/LICENCES.txt";
/// Where Rust, C compilers and CUDA are found besides by PATH.
const VARIABLES: [&str; 10] = [
    "CARGO_HOME",
    "RUSTUP_HOME",
    "CC",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "PTXAS",
    "PYTHONHOME",
    "PYTHONPATH",
    "STENCIL_LIBRARY",
];

/// Builds the wheel with the kernels for these chips into a folder, and tries it.
pub fn run(folder: &Path, chips: &str) -> Result<()> {
    // Without a device compiler the library would carry no kernels.
    Compiler::find().context("the wheel needs the kernels")?;
    let built = std::path::absolute(folder)?.join("built");
    empty(&built)?;
    let text = |name: &str| fs::read_to_string(name).with_context(|| format!("cannot read {name}"));
    let own = format!("MIT OR Apache-2.0\n\n{}\n{}", text("LICENSE-MIT")?, text("LICENSE-APACHE")?);
    fs::write(LICENCES, format!("{own}\n{}", licences::third_party("stencil-python")?))?;
    let (major, minor) = C_LIBRARY;
    let mut build = zig::tool("maturin")?;
    build.env("HOST_BUILD_CHIPS", chips).args(["build", "--release", "--zig", "--compatibility"]);
    build.arg(format!("manylinux_{major}_{minor}")).arg("--out").arg(&built);
    let outcome = step::run("wheel", build.args(["--manifest-path", "python/Cargo.toml"]));
    fs::remove_file(LICENCES)?;
    outcome?;
    let wheel = only(&built)?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tag = format!("-cp310-abi3-manylinux_{major}_{minor}_x86_64.whl");
    ensure!(name.ends_with(&tag), "{name} does not end with {tag}");
    let bytes = zig::check_size(&wheel)?;
    println!(
        "{} ({:.1} MB): pip install it on any x86-64 Linux",
        wheel.display(),
        bytes as f64 / 1e6
    );
    check(&wheel, &folder.join("tried"))
}

/// Looks at what is in a wheel, installs it where nothing else is to be found, computes a first result in time, and runs the tests in
/// Python.
fn check(wheel: &Path, folder: &Path) -> Result<()> {
    let folder = std::path::absolute(folder)?;
    empty(&folder)?;
    let unpacked = folder.join("unpacked");
    let mut unpack = Command::new("python3");
    unpack.args(["-m", "zipfile", "--extract"]).arg(wheel).arg(&unpacked);
    step::run("unpack", &mut unpack)?;
    let package = unpacked.join("stencil");
    for part in ["py.typed", "__init__.pyi", "LICENCES.txt"] {
        ensure!(package.join(part).exists(), "the wheel has no stencil/{part}");
    }
    zig::check_symbols(&package.join("_stencil.abi3.so"))?;
    let venv = folder.join("venv");
    let mut make = Command::new("python3");
    step::run("virtual environment", make.args(["-m", "venv"]).arg(&venv))?;
    let python = || {
        let mut python = Command::new(venv.join("bin/python"));
        for name in VARIABLES {
            python.env_remove(name);
        }
        // Speeds that its user measured are not planned with.
        python.env("PATH", venv.join("bin")).env("HOST_CACHE", folder.join("cache"));
        python.current_dir(&folder);
        python
    };
    let start = Instant::now();
    step::run("install", python().args(["-m", "pip", "install", "--quiet"]).arg(wheel))?;
    step::run("first result", python().args(["-c", FIRST]))?;
    let took = start.elapsed();
    println!("installed, and a first result verified, in {:.1} s", took.as_secs_f64());
    ensure!(took <= MOST_TIME, "that is more than {} s", MOST_TIME.as_secs());
    let with_tests = format!("{}[test]", wheel.display());
    step::run("what tests need", python().args(["-m", "pip", "install", "--quiet", &with_tests]))?;
    // Beside the tests there is no package without its library.
    copy_tests(&folder.join("tests"))?;
    let arguments = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests"];
    step::run("tests of the wheel", python().args(arguments))
}

/// The tests in Python alone.
fn copy_tests(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir("python/tests")? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Makes a folder with nothing in it.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// The only entry of a folder.
fn only(folder: &Path) -> Result<PathBuf> {
    let mut paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let first = paths.next().with_context(|| format!("{} is empty", folder.display()))??;
    ensure!(paths.next().is_none(), "{} has more than one file", folder.display());
    Ok(first)
}

#[cfg(test)]
mod tests {
    /// The oldest Python is said three times: to the compiler, to pip, and in the wheel's name.
    #[test]
    fn the_oldest_python_is_the_same_everywhere() {
        let workspace = include_str!("../../Cargo.toml");
        let project = include_str!("../../python/pyproject.toml");
        assert!(workspace.contains("\"abi3-py310\""));
        assert!(project.contains("requires-python = \">=3.10\""));
        assert!(include_str!("wheel.rs").contains("-cp310-abi3-"));
    }
}
