// SPDX-License-Identifier: MIT OR Apache-2.0
//! All checks, in the order in which they are quick to fail.

use crate::{cargo, setup, step};
use anyhow::Result;
use std::time::Instant;

/// Sets up and runs every check; a check that fails ends it, with all of its failures.
pub fn run() -> Result<()> {
    let start = Instant::now();
    let ptxas = setup::run()?;
    let packages = setup::python_packages()?;
    let steps: [(&str, &[&str]); 3] = [
        ("format", &["fmt", "--all", "--check"]),
        ("lints", &["clippy", "--workspace", "--all-targets", "--", "--deny=warnings"]),
        // It builds the programs that the end-to-end tests start, and takes the fuzz targets' seeds.
        // One run tells of every failure: a build takes longer than all tests.
        ("tests", &["test", "--workspace", "--no-fail-fast"]),
    ];
    for (name, arguments) in steps {
        let mut command = cargo();
        // Without these a test that needs the tool skips itself; here it must run.
        command.args(arguments).env("PTXAS", &ptxas).env("REQUIRE_DEVICE_COMPILER", "1");
        command.env("PYTHON_PACKAGES", &packages);
        step::run(name, &mut command)?;
    }
    println!("all checks passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
