// SPDX-License-Identifier: MIT OR Apache-2.0
//! Installs what the tests need and the machine lacks. Quick when there is nothing to do.

use crate::step;
use anyhow::{Context, Result, bail};
use cuda_builder::{BuildError, Compiler};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The wheel with `ptxas`: CUDA 13.0 assembles for every chip that the kernels are compiled for.
const PTXAS_VERSION: &str = "13.0.88";
/// Where Python packages go.
pub const VENV: &str = ".venv";

/// Installs what is missing; returns the path of `ptxas`.
pub fn run() -> Result<PathBuf> {
    println!("device compiler: {}", device_compiler()?.version);
    let ptxas = ptxas()?;
    println!("ptxas: {}", ptxas.display());
    Ok(ptxas)
}

fn device_compiler() -> Result<Compiler> {
    let missing = match Compiler::find() {
        Ok(compiler) => return Ok(compiler),
        Err(error @ BuildError::NoCompiler { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    // Each installer is tried only where it is at home; the search decides whether it helped.
    if rustup_may_install() {
        let mut rustup = Command::new("rustup");
        attempt("rust-src", rustup.args(["component", "add", "rust-src"]));
        if let Ok(compiler) = Compiler::find() {
            return Ok(compiler);
        }
    }
    by_apt("device compiler", &["rustc-web", "rust-web-src"]);
    Compiler::find().map_err(|_| missing.into())
}

/// Installs packages of Debian's where they are to be had.
pub fn by_apt(name: &str, packages: &[&str]) {
    if step::output(Command::new("apt-get").arg("--version")).is_none() {
        return;
    }
    attempt("package lists", as_root("apt-get").arg("update"));
    let mut install = as_root("apt-get");
    install.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    attempt(name, &mut install);
}

/// Runs an installer that may fail.
pub fn attempt(name: &str, command: &mut Command) {
    if let Err(error) = step::run(name, command) {
        eprintln!("{error:#}");
    }
}

/// Whether rustup is there and not told to leave the machine's toolchains alone.
fn rustup_may_install() -> bool {
    std::env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
        && step::output(Command::new("rustup").arg("--version")).is_some()
}

/// `program` with the rights to install packages.
pub fn as_root(program: &str) -> Command {
    let user = step::output(Command::new("id").arg("-u"));
    if user.as_deref() == Some("0") {
        Command::new(program)
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg(program);
        sudo
    }
}

/// What the tests in Python import, and how pip names it; scipy with its own tests of filters, which `stencil.ndimage` has to
/// pass.
const PYTHON_PACKAGES: [(&str, &str); 7] = [
    ("numpy", "numpy"),
    ("pytest", "pytest"),
    ("ml_dtypes", "ml_dtypes"),
    ("mypy", "mypy"),
    ("xarray", "xarray"),
    ("scipy", "scipy==1.17.1"),
    ("hypothesis", "hypothesis"),
];

/// Where the tests in Python find numpy, pytest and scipy.
pub fn python_packages() -> Result<PathBuf> {
    let packages = std::path::absolute(VENV)?.join("python");
    let is_there = |(module, pip): &(&str, &str)| {
        packages.join(module).exists() && (!pip.contains("==") || is_installed(&packages, pip))
    };
    if !PYTHON_PACKAGES.iter().all(is_there) {
        let mut pip = pip()?;
        pip.args(["install", "--quiet", "--root-user-action=ignore", "--upgrade"]);
        pip.arg("--target").arg(&packages).args(PYTHON_PACKAGES.map(|(_, pip)| pip));
        step::run("packages of Python", &mut pip)?;
    }
    Ok(packages)
}

/// Whether pip has installed `NAME==VERSION` into a folder of packages.
pub fn is_installed(folder: &Path, package: &str) -> bool {
    let (name, version) = package.split_once("==").unwrap_or((package, ""));
    folder.join(format!("{}-{version}.dist-info", name.replace('-', "_"))).exists()
}

/// `ptxas`: the one that the variable `PTXAS` names, or the wheel's, installed if it is missing.
fn ptxas() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PTXAS").map(PathBuf::from) {
        if ptxas_version(&path).is_none() {
            bail!("PTXAS={}: this is no ptxas that runs; correct or unset it", path.display());
        }
        return Ok(path);
    }
    let path = std::path::absolute(VENV)?.join("nvidia/cu13/bin/ptxas");
    let installed = || ptxas_version(&path).is_some_and(|text| text.contains(PTXAS_VERSION));
    if !installed() {
        let mut pip = pip()?;
        let wheel = format!("nvidia-cuda-nvcc=={PTXAS_VERSION}");
        // Without dependencies: they are for compiling C++, not for assembling.
        pip.args(["install", "--quiet", "--root-user-action=ignore", "--no-deps", "--upgrade"]);
        pip.args(["--target", VENV, &wheel]);
        step::run("ptxas", &mut pip)?;
        if !installed() {
            bail!(
                "{} does not run after the installation; remove {VENV} and retry",
                path.display()
            );
        }
    }
    Ok(path)
}

fn ptxas_version(path: &Path) -> Option<String> {
    step::output(Command::new(path).arg("--version"))
}

/// A pip: the machine's, or one in a virtual environment.
pub fn pip() -> Result<Command> {
    let python = |program: &Path| {
        let mut command = Command::new(program);
        command.args(["-m", "pip"]);
        command
    };
    let machine = Path::new("python3");
    if step::output(python(machine).arg("--version")).is_some() {
        return Ok(python(machine));
    }
    step::run("virtual environment", Command::new(machine).args(["-m", "venv", VENV])).context(
        "ptxas comes from PyPI: install Python with pip or venv (on Debian `apt-get install \
         python3-venv`), or set PTXAS to a ptxas of CUDA 13",
    )?;
    Ok(python(&Path::new(VENV).join("bin/python3")))
}
