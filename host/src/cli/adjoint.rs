// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host adjoint`: the adjoint of a system, as a system's file.

use std::path::{Path, PathBuf};

use clap::Args;

use super::files::CommandFiles;
use super::{Failure, print, warn};
use files::io::npy;
use problem::Error;
use systems::adjoint::{Adjoint, GradientVariables, Misfit};
use systems::{Description, System};

const HELP: &str = "\
Examples:
  host adjoint wave.toml
  host adjoint wave.toml --by c,damping --write back.toml
  host run back.toml             derivatives by fields and records are 0 until you write them there

Exit codes: 0 done, 2 bad input, 5 a file could not be read or written.";

/// Of which system, and by what else than its fields it is differentiated
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct AdjointArgs {
    /// File of the system
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Names of coefficients and constants, separated by commas, by which to differentiate besides fields. Each
    /// gets a field that adds up its gradient
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    by: Vec<String>,
    /// Number of time steps to go back over [default: that of the file]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Write the adjoint to this file instead of printing it, and values of coefficients beside it (of back.toml as
    /// back-NAME.npy)
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Any [`Failure`].
pub fn run(args: &AdjointArgs) -> Result<(), Failure> {
    let mut files = CommandFiles::default();
    files.reads("FILE.toml", Some(&args.file))?;
    let description = Description::read(&args.file)?;
    let folder = args.file.parent().unwrap_or(Path::new(""));
    for file in description.files() {
        files.reads("the system", Some(&folder.join(file.as_str())))?;
    }
    let system = System::new(&description, folder)?;
    let steps = args.steps.unwrap_or(system.steps());
    let mut by = GradientVariables::default();
    for name in &args.by {
        let is_constant = system.constants().any(|(known, _)| known == name);
        let names = if is_constant { &mut by.parameters } else { &mut by.coefficients };
        names.push(name.clone());
    }
    let misfit = match system.receivers().len() {
        0 => Misfit::default(),
        _ => Misfit::unsaid(&system, steps),
    };
    let adjoint = Adjoint::new(&system, &by, (0, steps), &misfit)?;
    for what in &adjoint.constants {
        warn(&format!("'{what}' has no derivative and is treated as constant"));
    }
    let Some(path) = &args.write else { return printed(&adjoint) };
    let output = files.writes("--write", Some(path))?.expect("a file is named");
    let beside = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut arrays = Vec::new();
    for (name, grid) in &adjoint.arrays {
        let path = beside.join(Adjoint::array_file(&stem, name));
        let output = files.writes("--write", Some(&path))?.expect("a file is named");
        arrays.push((output, grid));
    }
    for (output, grid) in &arrays {
        let points = grid.shape.points();
        let read = |region| Ok::<_, Error>(grid.read(region));
        npy::stage(output, grid.shape, grid.dtype(), points, read)?.publish()?;
    }
    Ok(output.write(|to| to.write_all(adjoint.file(&stem).as_bytes()))?)
}

/// Prints it, with the names of files that only `--write` writes.
fn printed(adjoint: &Adjoint) -> Result<(), Failure> {
    const STEM: &str = "adjoint";
    for (name, _) in &adjoint.arrays {
        let file = Adjoint::array_file(STEM, name);
        print(&format!(
            "# {file}: values of the coefficient {name}, which --write {STEM}.toml writes\n"
        ))?;
    }
    Ok(print(&adjoint.file(STEM))?)
}
