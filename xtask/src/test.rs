// SPDX-License-Identifier: MIT OR Apache-2.0
//! All checks, in the order in which they are quick to fail.

use crate::gpu_bundle::target;
use crate::{cargo, dist, mpi, setup, step};
use anyhow::Result;
use std::time::Instant;

/// The chips whose kernels serve every GPU.
pub const ALL_CHIPS: &str = "sm_80,sm_90";
/// Those whose kernels a quick run compiles and audits; the emulator runs the kernels for both.
const QUICK_CHIPS: &str = "sm_90";

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
    // It builds the programs that the end-to-end tests start, and takes the fuzz targets' seeds.
    // One run tells of every failure: a build takes longer than all tests.
    let features = ["--features=stencil/zarr,tests/zarr", "--features=stencil/mpi"];
    let tests = ["test", "--workspace", "--no-fail-fast", features[0], features[1]];
    let lints = ["clippy", "--workspace", "--all-targets", features[0], features[1]];
    let lints = &lints[..if has_mpi { 5 } else { 4 }];
    let steps: [(&str, &[&str]); 3] = [
        ("format", &["fmt", "--all", "--check"]),
        ("lints", &[lints, &["--", "--deny=warnings"]].concat()),
        ("tests", if has_mpi { &tests } else { &tests[..4] }),
    ];
    for (name, arguments) in steps {
        let mut command = cargo();
        // Without these a test that needs the tool skips itself; here it must run.
        command.args(arguments).env("PTXAS", &ptxas).env("REQUIRE_DEVICE_COMPILER", "1");
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
    }
    println!("all checks passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
