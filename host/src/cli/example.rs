// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host example`: systems that the program brings.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::computation_args::ComputationArgs;
use super::files::CommandFiles;
use super::run::run_system;
use super::system;
use super::{Failure, print};
use compute::ranks::engine::Ranks;
use problem::control::Stop;
use problem::similar_names::near;
use systems::Description;
use systems::examples::{self, EXAMPLES, Example};

const HELP: &str = "\
Examples:
  host example --list
  host example gray-scott --output last-{field}.npy
  host example layered-wave --write wave.toml     a file to change and run: host run wave.toml

Exit codes: those of `host run`.";

/// Options of a computation, none of which a file that is only written is changed by.
const COMPUTED: [&str; 32] = [
    "size",
    "steps",
    "dtype",
    "set",
    "dt",
    "engine",
    "chain",
    "jump",
    "input",
    "receivers",
    "series",
    "verify",
    "time",
    "json",
    "quiet",
    "gpus",
    "split",
    "exchange",
    "halo",
    "edges",
    "output",
    "stride",
    "slice",
    "fields",
    "colours",
    "range",
    "every",
    "checkpoint",
    "checkpoint_every",
    "resume",
    "check_finite",
    "until",
];

/// Which example, and what to do with it
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ExampleArgs {
    /// Name of a built-in system, as --list prints it
    #[arg(value_name = "NAME", required_unless_present = "list")]
    name: Option<String>,
    /// Print the names of the built-in systems, with what each is
    #[arg(long, exclusive = true)]
    list: bool,
    /// Write the system's file instead of computing it
    #[arg(long, value_name = "FILE", conflicts_with_all = COMPUTED)]
    write: Option<PathBuf>,
    #[command(flatten)]
    computation: ComputationArgs,
}

/// Runs the command.
///
/// # Errors
/// Any [`Failure`].
pub fn run(args: &ExampleArgs, processes: Option<Ranks>, stop: Stop) -> Result<(), Failure> {
    let Some(name) = &args.name else { return Ok(print(&list())?) };
    let example = examples::find(name).ok_or_else(|| {
        let near = near(name, EXAMPLES.iter().map(|example| (example.name, example.name)));
        Failure::UnknownExample { name: name.clone(), near }
    })?;
    let mut files = CommandFiles::default();
    if let Some(output) = files.writes("--write", args.write.as_deref())? {
        return Ok(output.write(|to| to.write_all(example.text.as_bytes()))?);
    }
    let description = Description::parse(&format!("{name}.toml"), example.text)?;
    let system = system::system(description, Path::new(""), &args.computation)?;
    let job = systems::sum::job(&system).ok();
    run_system(&system, job, (&args.computation, None, None), files, processes, stop)
}

/// The names, with what each is.
fn list() -> String {
    let width = EXAMPLES.iter().map(|example| example.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for Example { name, about, .. } in EXAMPLES {
        writeln!(text, "{name:<width$}  {about}").expect("a string takes any text");
    }
    text
}
