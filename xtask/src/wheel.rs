// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wheel of the Python package for machines without Rust: any x86-64 Linux with the C library of 2018 or later, and any
//! CPython since 3.10 ([why](../../docs/decisions/0073-wheel-and-small-calls.md)).

use crate::zig::{self, C_LIBRARY};
use crate::{licences, step};
use anyhow::{Context, Result, ensure};
use cuda_builder::Compiler;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The wheel is to be installed and to have computed after this time, once what it depends on is there.
const MOST_TIME: Duration = Duration::from_secs(60);
/// A first result, which is compared with the plain stencil in f64.
const FIRST: &str = "
import numpy as np, stencil
u = np.zeros((480, 640), np.float32)
u[240, 320] = 1000
print(stencil.run('heat-2d', u, 100, boundary='x:periodic,y:reflect', verify='full').sum())
";
/// What the wheel depends on, as `pyproject.toml` has it.
const DEPENDENCY: &str = "numpy>=1.24";
/// The package's licences, in the folder that the wheel is made of while it is made.
const LICENCES: &str = "python/stencil/LICENCES.txt";
/// Folders that a trial makes.
const TRIED: [&str; 5] = ["unpacked", "venv", "cache", "tests", "examples"];
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
    // Before anything is made: it may have to be installed.
    let mut build = zig::tool("maturin")?;
    let (major, minor) = C_LIBRARY;
    let (built, version) = (std::path::absolute(folder)?.join("built"), env!("CARGO_PKG_VERSION"));
    let name = format!("stencil-{version}-cp310-abi3-manylinux_{major}_{minor}_x86_64.whl");
    let wheel = built.join(&name);
    fs::create_dir_all(&built).with_context(|| format!("cannot make {}", built.display()))?;
    if wheel.exists() {
        fs::remove_file(&wheel).with_context(|| format!("cannot remove {}", wheel.display()))?;
    }
    let text = |name: &str| fs::read_to_string(name).with_context(|| format!("cannot read {name}"));
    let own = format!("MIT OR Apache-2.0\n\n{}\n{}", text("LICENSE-MIT")?, text("LICENSE-APACHE")?);
    let all = format!("{own}\n{}", licences::third_party("stencil-python")?);
    let licences = RemovedFile::file(Path::new(LICENCES), &all)?;
    build.env("HOST_BUILD_CHIPS", chips).args(["build", "--release", "--zig", "--compatibility"]);
    build.arg(format!("manylinux_{major}_{minor}")).arg("--out").arg(&built);
    step::run("wheel", build.args(["--manifest-path", "python/Cargo.toml"]))?;
    drop(licences);
    ensure!(wheel.exists(), "maturin made no {name} in {}", built.display());
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
    for part in TRIED.map(|part| folder.join(part)) {
        if part.exists() {
            fs::remove_dir_all(&part)
                .with_context(|| format!("cannot remove {}", part.display()))?;
        }
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
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
        let own = std::env::vars_os().map(|(name, _)| name);
        for name in own.filter(|name| is_of_this_machine(name)) {
            python.env_remove(name);
        }
        // Speeds that its user measured are not planned with.
        python.env("PATH", venv.join("bin")).env("HOST_CACHE", folder.join("cache"));
        python.current_dir(&folder);
        python
    };
    let timed = |name: &str, command: &mut Command| -> Result<Duration> {
        let start = Instant::now();
        step::run(name, command)?;
        Ok(start.elapsed())
    };
    let pip = ["-m", "pip", "install", "--quiet"];
    // How long that takes is up to the network.
    let before = timed("what it depends on", python().args(pip).arg(DEPENDENCY))?;
    let installed = timed("install", python().args(pip).arg(wheel))?;
    let took = installed + timed("first result", python().args(["-c", FIRST]))?;
    println!(
        "the wheel installed, and a first result verified, in {:.1} s; {DEPENDENCY} before that in {:.1} s",
        took.as_secs_f64(),
        before.as_secs_f64()
    );
    ensure!(took <= MOST_TIME, "that is more than {} s", MOST_TIME.as_secs());
    let with_tests = format!("{}[test]", wheel.display());
    step::run("what tests need", python().args(["-m", "pip", "install", "--quiet", &with_tests]))?;
    // Beside the tests there is no package without its library.
    copy_files("python/tests", &folder.join("tests"))?;
    copy_files("python/examples", &folder.join("examples"))?;
    let arguments = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests"];
    step::run("tests of the wheel", python().args(arguments))
}

/// The files of one folder into another one.
fn copy_files(from: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Whether a variable says something of the machine that builds, which the one that installs does not have.
fn is_of_this_machine(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("HOST_") || VARIABLES.contains(&&*name)
}

/// A file that goes when this does, whatever fails meanwhile.
struct RemovedFile<'a>(&'a Path);

impl<'a> RemovedFile<'a> {
    fn file(path: &'a Path, text: &str) -> Result<Self> {
        // Also one that was cut.
        let own = Self(path);
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(own)
    }
}

impl Drop for RemovedFile<'_> {
    fn drop(&mut self) {
        // Where it could not be written there is none.
        let _ = fs::remove_file(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_building_machine_stays_there() {
        let of = |name: &str| is_of_this_machine(OsStr::new(name));
        assert!(of("HOST_CHIP") && of("HOST_CACHE") && of("CARGO_HOME") && of("PYTHONPATH"));
        assert!(!of("HOME") && !of("GHOST_A") && !of("LANG"));
    }

    #[test]
    fn a_passing_file_goes_whatever_fails() {
        let folder = std::env::temp_dir().join(format!("xtask-wheel-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("LICENCES.txt");
        let fails = || -> Result<()> {
            let _file = RemovedFile::file(&path, "MIT")?;
            ensure!(!path.exists(), "it is there");
            Ok(())
        };
        assert!(fails().is_err() && !path.exists());
        assert!(RemovedFile::file(&folder.join("no/such"), "").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    /// The oldest Python is said three times: to the compiler, to pip, and in the wheel's name.
    #[test]
    fn the_oldest_python_is_the_same_everywhere() {
        let workspace = include_str!("../../Cargo.toml");
        let project = include_str!("../../python/pyproject.toml");
        assert!(workspace.contains("\"abi3-py310\""));
        assert!(project.contains("requires-python = \">=3.10\""));
        assert!(include_str!("wheel.rs").contains("-cp310-abi3-"));
        assert!(project.contains(&format!("dependencies = [\"{DEPENDENCY}\"]")));
        assert!(
            project.contains("name = \"stencil\"") && project.contains("dynamic = [\"version\"]")
        );
    }
}
