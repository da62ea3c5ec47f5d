// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which options a command takes for which problem: every option works or is refused, and this table says which.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::Failure;
use super::system::is_file;

#[cfg(test)]
mod tests;

/// What a command makes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionUse {
    /// It has an effect.
    Works,
    /// It is bad input, with what to do instead.
    Refused(&'static str),
    /// It has an effect on systems that are a stencil (`systems::sum`), and is bad input for others.
    OfSums(&'static str),
    /// The command has no such option.
    Missing,
}

use OptionUse::{Missing, OfSums, Refused, Works};

/// What a command makes of an option with a stencil, and with a system of fields.
type OptionSupport = [OptionUse; 2];

/// An option of the commands that compute or plan problems.
struct Row {
    /// Its name without dashes; of the value without an option the word that the help has for it.
    option: &'static str,
    run: OptionSupport,
    plan: OptionSupport,
    /// Of `host example`, which computes systems.
    example: OptionUse,
}

const BOTH: OptionSupport = [Works; 2];
const NONE: OptionSupport = [Missing; 2];

const STENCILS: OptionSupport = [
    Works,
    Refused("put it into the system's file: under [stencils], with dense, or offsets and weights"),
];
const STARTS: OptionSupport = [
    Works,
    Refused(
        "put it into the system's file: start = \"...\" under [fields.NAME], an expression or the name of a .npy file",
    ),
];
const SEEDS: OptionSupport =
    [Works, Refused("put it into the system's file: start = \"random(SEED)\" under [fields.NAME]")];
const SIDES: OptionSupport =
    [Works, Refused("put it into the system's file: boundary = \"...\" under [fields.NAME]")];
const DEPTHS: OptionSupport = [
    Works,
    OfSums(
        "leave it out: steps of this system are taken together in launches (--chain), or at once by --engine fft",
    ),
];
const DEVICES: OptionSupport = [
    Works,
    OfSums(
        "leave it out: what several GPUs make of this system is not predicted; `host run` computes it on them",
    ),
];
const LAYOUTS: OptionSupport =
    [Works, OfSums("leave it out: layouts are of stencils; --json has all of this system's plan")];
const CATALOGUE: OptionSupport =
    [Works, Refused("leave out the file: the catalogue is one of stencils")];
const RECEIVERS: OptionSupport =
    [Refused("a system's file has them under [[receivers]]: field = \"u\", at = [y, x]"), Works];
const TOTALS: OptionSupport =
    [Refused("a system's file has them under [totals]: mass = \"sum(u)*h^2\""), Works];
const FIELDS: OptionSupport = [Refused("leave it out: a stencil has one grid"), Works];

const NUMBERS: OptionSupport =
    [Refused("leave it out: a stencil has its weights, and no constants"), Works];

/// An option.
const fn row(
    option: &'static str,
    run: OptionSupport,
    plan: OptionSupport,
    example: OptionUse,
) -> Row {
    Row { option, run, plan, example }
}

/// All options.
const OPTIONS: [Row; 52] = [
    row("NAME", BOTH, BOTH, Works),
    row("stencil", BOTH, BOTH, Missing),
    row("weights", STENCILS, STENCILS, Missing),
    row("all", NONE, CATALOGUE, Missing),
    row("list", NONE, NONE, Works),
    row("write", NONE, NONE, Works),
    row("size", BOTH, BOTH, Works),
    row("steps", BOTH, BOTH, Works),
    row("dtype", BOTH, BOTH, Works),
    row("set", NUMBERS, NONE, Works),
    row("dt", NUMBERS, NONE, Works),
    row("sweep", NUMBERS, NONE, Missing),
    row("boundary", SIDES, SIDES, Missing),
    row("engine", BOTH, NONE, Works),
    row("fuse", DEPTHS, DEPTHS, Missing),
    row("kernel", BOTH, NONE, Missing),
    row("chain", BOTH, NONE, Works),
    row("jump", BOTH, NONE, Works),
    row("input", BOTH, NONE, Works),
    row("start", STARTS, NONE, Missing),
    row("seed", SEEDS, NONE, Missing),
    row("receivers", RECEIVERS, NONE, Works),
    row("series", TOTALS, NONE, Works),
    row("verify", BOTH, NONE, Works),
    row("time", BOTH, NONE, Works),
    row("machine", NONE, BOTH, Missing),
    row("explain", NONE, BOTH, Missing),
    row("text", NONE, LAYOUTS, Missing),
    row("png", NONE, LAYOUTS, Missing),
    row("json", BOTH, BOTH, Works),
    row("quiet", BOTH, NONE, Works),
    row("print-toml", BOTH, NONE, Missing),
    row("gpus", BOTH, DEVICES, Works),
    row("split", BOTH, NONE, Works),
    row("exchange", BOTH, NONE, Works),
    row("halo", BOTH, NONE, Works),
    row("edges", BOTH, NONE, Works),
    row("nodes", NONE, DEVICES, Missing),
    row("network", NONE, DEVICES, Missing),
    row("weak", NONE, DEVICES, Missing),
    row("output", BOTH, NONE, Works),
    row("stride", BOTH, NONE, Works),
    row("slice", BOTH, NONE, Works),
    row("fields", FIELDS, NONE, Works),
    row("colours", BOTH, NONE, Works),
    row("range", BOTH, NONE, Works),
    row("every", BOTH, NONE, Works),
    row("checkpoint", BOTH, NONE, Works),
    row("checkpoint-every", BOTH, NONE, Works),
    row("resume", BOTH, NONE, Works),
    row("check-finite", BOTH, NONE, Works),
    row("until", BOTH, NONE, Works),
];

/// An option that only systems take which are a stencil, and what to do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumOnlyOption {
    option: &'static str,
    instead: &'static str,
}

impl SumOnlyOption {
    /// A family of stencils by name.
    pub const FAMILY: Self =
        Self { option: "kernel", instead: "name a family of systems (host run --help)" };

    /// The failure for a system that is none, and why it is not.
    pub fn refuse(self, why: String) -> Failure {
        let Self { option, instead } = self;
        Failure::NotASum { option: format!("--{option}"), why, instead }
    }
}

/// Refuses the options that a command line gives and its problem does not take. Returns the first one that only systems
/// take which are a stencil, if it is given for a system.
///
/// # Errors
/// [`Failure::NotOf`] with the first one that is refused.
pub fn check(program: &Command, matches: &ArgMatches) -> Result<Option<SumOnlyOption>, Failure> {
    let Some((name, given)) = matches.subcommand() else { return Ok(None) };
    let command = program.find_subcommand(name).expect("a command of the program");
    let is_system = name == "example" || is_of_system(given);
    let mut only_of_sums = None;
    for arg in command.get_arguments().filter(|arg| is_given(given, arg)) {
        let Some(row) = OPTIONS.iter().find(|row| row.option == option(arg)) else { continue };
        let option = row.option;
        match row.of(name)[usize::from(is_system)] {
            Refused(instead) => {
                let problem = if is_system { "systems of fields" } else { "stencils" };
                return Err(Failure::NotOf { option: format!("--{option}"), problem, instead });
            }
            OfSums(instead) => {
                only_of_sums = only_of_sums.or(Some(SumOnlyOption { option, instead }))
            }
            Works | Missing => {}
        }
    }
    Ok(only_of_sums)
}

impl Row {
    /// What a command makes of it.
    fn of(&self, command: &str) -> OptionSupport {
        match command {
            "run" => self.run,
            "plan" => self.plan,
            "example" => [Missing, self.example],
            _ => NONE,
        }
    }
}

/// Whether an argument stands on the command line.
pub fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    matches.try_contains_id(id).unwrap_or(false)
        && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// Whether the problem is a system: its file stands in the place of a stencil's name.
fn is_of_system(matches: &ArgMatches) -> bool {
    ["name", "stencil"].iter().any(|id| {
        let name = matches.try_get_one::<String>(id).ok().flatten();
        name.is_some_and(|name| is_file(name))
    })
}

/// The name of an argument in the table.
fn option(arg: &Arg) -> &str {
    arg.get_long().unwrap_or("NAME")
}
