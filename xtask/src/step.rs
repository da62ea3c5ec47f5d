// SPDX-License-Identifier: MIT OR Apache-2.0
//! One step of a command: what runs, whether it succeeds, and how long it takes.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::Path;
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

/// Runs a command with its output shown, and beside it another one, whose output goes to a file and is shown after that. Anything but
/// success of both is an error.
pub fn run_beside(
    (name, command): (&str, &mut Command),
    (beside_name, beside): (&str, &mut Command),
    output: &Path,
) -> Result<()> {
    let line = describe(beside);
    println!("==> beside that, {beside_name}: {line}");
    let start = Instant::now();
    // To a file: a pipe would hold the command up while nobody reads it.
    let file =
        File::create(output).with_context(|| format!("cannot write {}", output.display()))?;
    beside.stdout(file.try_clone()?).stderr(file);
    let mut child = beside.spawn().with_context(|| format!("cannot run `{line}`"))?;
    let first = run(name, command);
    let status = child.wait().with_context(|| format!("{beside_name}: no end of `{line}`"))?;
    std::io::copy(&mut File::open(output)?, &mut std::io::stdout())?;
    println!("<== {beside_name}: {:.1} s, with the wait", start.elapsed().as_secs_f64());
    first?;
    if !status.success() {
        bail!("{beside_name} failed ({status}): {line}");
    }
    Ok(())
}

/// What a command prints, or `None` if it is missing or fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as one would type it.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
