// SPDX-License-Identifier: MIT OR Apache-2.0
//! All checks, in the order in which they are quick to fail.

use crate::{cargo, fuzz, setup, step};
use anyhow::Result;
use std::time::Instant;

/// For how long each fuzz target runs: enough to see that it works, and for what is easy to find.
const FUZZ_SECONDS: u32 = 4;

/// Sets up and runs every check; the first failure ends it.
pub fn run() -> Result<()> {
    let start = Instant::now();
    let ptxas = setup::run()?;
    let cargo_fuzz = fuzz::setup()?;
    let steps: [(&str, &[&str]); 4] = [
        ("format", &["fmt", "--all", "--check"]),
        ("lints", &["clippy", "--workspace", "--all-targets", "--", "--deny=warnings"]),
        // The end-to-end tests start the program.
        ("build", &["build", "--workspace"]),
        ("tests", &["test", "--workspace"]),
    ];
    for (name, arguments) in steps {
        let mut command = cargo();
        // Without these a test that needs the tool skips itself; here it must run.
        command.args(arguments).env("PTXAS", &ptxas).env("REQUIRE_DEVICE_COMPILER", "1");
        step::run(name, &mut command)?;
    }
    fuzz::run(&cargo_fuzz, FUZZ_SECONDS)?;
    println!("all checks passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
