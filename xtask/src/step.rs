// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step of a command: what runs, whether it succeeds, and how long it takes.

use anyhow::{Context, Result, bail};
use std::process::Command;
use std::time::Instant;

/// Runs a command with its output shown; anything but success is an error.
pub fn run(name: &str, command: &mut Command) -> Result<()> {
    let line = describe(command);
    println!("==> {name}: {line}");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("{name}: cannot run `{line}`"))?;
    if !status.success() {
        bail!("{name} failed ({status}): {line}");
    }
    println!("<== {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// What a command prints, or `None` if it is missing or fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as one would type it.
fn describe(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
