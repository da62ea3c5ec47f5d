// SPDX-License-Identifier: MIT OR Apache-2.0
//! All checks, in the order in which they are quick to fail.

use crate::gpu_bundle::target;
use crate::{cargo, dist, mpi, setup, step, wheel};
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The chips whose kernels serve every GPU.
pub const ALL_CHIPS: &str = "sm_80,sm_90";
/// Those whose kernels a quick run compiles and audits; the emulator runs the kernels for both.
const QUICK_CHIPS: &str = "sm_90";

/// What clippy is told, in the form in which `cargo clippy` tells it.
const LINTS: &str = "--deny=warnings__CLIPPY_HACKERY__";

/// The compiler that also lints (docs/decisions/0046-lints.md), under a name that build scripts do not take for that of
/// `cargo clippy`, which has no use for kernels.
///
/// # Errors
/// The toolchain has no clippy.
fn linting_compiler() -> Result<PathBuf> {
    let sysroot = step::output(Command::new("rustc").arg("--print=sysroot"));
    let driver =
        Path::new(&sysroot.context("rustc does not tell its sysroot")?).join("bin/clippy-driver");
    if !driver.is_file() {
        bail!("there is no {}; run `rustup component add clippy`", driver.display());
    }
    let link = std::path::absolute(target())?.join("linting-rustc");
    std::fs::create_dir_all(target())?;
    if link.read_link().ok().as_ref() != Some(&driver) {
        match std::fs::remove_file(&link) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => symlink(&driver, &link)?,
        }
    }
    Ok(link)
}

/// Sets up and runs every check; a check that fails ends it, with all of its failures.
pub fn run(thorough: bool) -> Result<()> {
    let start = Instant::now();
    let ptxas = setup::run()?;
    let packages = setup::python_packages()?;
    let has_mpi = match mpi::install() {
        Ok(library) => {
            println!("MPI: {library}");
            true
        }
        Err(error) => {
            println!("MPI: {error:#}; left out: grids that processes share");
            false
        }
    };
    let features = ["--workspace", "--features=stencil/zarr,tests/zarr", "--features=stencil/mpi"];
    let features = &features[..if has_mpi { 3 } else { 2 }];
    let steps: [(&str, &[&str], &[&str]); 3] = [
        ("format", &["fmt", "--all", "--check"], &[]),
        // What no test is built of.
        ("lints and programs", &["build", "--bins", "--benches"], features),
        // One run tells of every failure: a build takes longer than all tests.
        ("lints and tests", &["test", "--no-fail-fast"], features),
    ];
    let compiler = linting_compiler()?;
    for (name, arguments, features) in steps {
        let mut command = cargo();
        // Without these a test that needs the tool skips itself; here it must run.
        command.args(arguments).args(features).env("PTXAS", &ptxas);
        command.env("REQUIRE_DEVICE_COMPILER", "1");
        command.env("RUSTC_WORKSPACE_WRAPPER", &compiler).env("CLIPPY_ARGS", LINTS);
        // Nobody looks at backtraces; where a test panics is told without.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("HOST_BUILD_CHIPS", if thorough { ALL_CHIPS } else { QUICK_CHIPS });
        if thorough {
            command.env("THOROUGH", "1");
        }
        command.env("PYTHON_PACKAGES", &packages);
        if has_mpi {
            command.env("REQUIRE_MPI", "1");
        }
        step::run(name, &mut command)?;
    }
    // What `cargo xtask dist` packs, but for how it is built.
    let archive = dist::pack(
        &target().join("debug/host"),
        &target().join("dist-tested"),
        dist::Packer::Gzip,
    )?;
    dist::check(&archive)?;
    if thorough {
        dist::run(&target().join("dist"), ALL_CHIPS)?;
        wheel::run(&target().join("wheel"), ALL_CHIPS)?;
    }
    println!("all checks passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
