// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line: what was typed becomes what is meant, once, and errors are printed, once.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use interrupt::Signals;
use launch::ProcessLaunch;
use options::SumOnlyOption;
use problem::Error;
use ranks::Role;
use run_file::RunArguments;

mod adjoint;
mod bench;
mod buffered_output;
mod choice;
mod computation_args;
mod doctor;
mod example;
mod failure;
mod file_args;
mod files;
mod input;
mod interrupt;
mod launch;
mod list;
mod manual;
mod measure;
mod number;
mod options;
mod plan;
mod progress;
mod ranks;
mod remedy;
mod resumed;
mod run;
mod run_file;
mod set;
mod sharing;
mod start;
mod stencil_args;
mod sweep;
mod system;
mod task;
mod tell;
mod watching;

pub use failure::Failure;
pub use remedy::remedy;
pub use stencil_args::named;

const START: &str = "\
Start here:
  host run star2d3r --size 10240     on the GPU if there is one, else on the CPU
  host list                          the stencils by name
  host doctor                        what is missing for the GPU
  host run --help                    every option, examples, exit codes";

/// Compute stencils and systems of equations on GPUs and CPUs, and verify every result
#[derive(Parser, Debug)]
#[command(
    after_help = START,
    name = "host",
    bin_name = "host",
    version,
    propagate_version = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Compute time steps of a stencil or a system, verify the result, and report the speed
    Run(Box<run::RunArgs>),
    /// Compute a built-in system of fields, or write its file
    Example(Box<example::ExampleArgs>),
    /// Print the adjoint of a system of fields (the system that computes its gradients), or write its file
    Adjoint(adjoint::AdjointArgs),
    /// Rank all ways to compute a problem, without computing it, and show its layout for tensor cores
    Plan(plan::PlanArgs),
    /// Measure the speed of the papers' workloads, verify every result, and compare with earlier results
    Bench(bench::BenchArgs),
    /// Print the stencils that have names, with what each is and where it comes from
    List(list::ListArgs),
    /// Print what was found on this machine, and what to do about what is missing
    Doctor(doctor::DoctorArgs),
    /// Print the script by which a shell completes command lines
    Completions(manual::CompletionsArgs),
    /// Print the manual page of the program, or of a command
    Man(manual::ManArgs),
}

/// Runs the program with the arguments it was started with; files of results name the commit that it was
/// built from, if it is known.
#[must_use]
pub fn main(commit: Option<&str>) -> ExitCode {
    let launch = ProcessLaunch::found(|variable| std::env::var(variable).ok());
    ExitCode::from(match launch {
        None => program(commit, &Role::Alone),
        Some(launch) => ranks::program(launch, commit),
    })
}

/// Runs the program in a role, as the only process or as one of several ranks; returns the exit code.
fn program(commit: Option<&str>, role: &Role) -> u8 {
    let done = match typed(true) {
        Ok(ParsedArguments::Command(command, only)) => dispatch(*command, only, commit, role),
        Ok(ParsedArguments::Done(code)) => return code,
        Err(failure) => Err(failure),
    };
    done.map_or_else(|failure| say(&failure), |()| 0)
}

/// The command that the arguments ask for, or the exit code.
enum ParsedArguments {
    /// This, and an option that is given and only some systems take.
    Command(Box<Command>, Option<SumOnlyOption>),
    /// What is asked for, or what is wrong with them, is printed; the exit code.
    Done(u8),
}

/// What the arguments mean; what they ask to be printed need not be.
fn typed(aloud: bool) -> Result<ParsedArguments, Failure> {
    let told = |error: clap::Error| {
        if aloud {
            // Nothing is left to be done if stdout or stderr is gone.
            let _ = error.print();
        }
        Ok(ParsedArguments::Done(error.exit_code().try_into().unwrap_or(u8::MAX)))
    };
    let program = Cli::command();
    let mut matches = match program.clone().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return told(error),
    };
    if let Some(("run", of_run)) = matches.subcommand() {
        match run_file::meant(&program, of_run)? {
            None => (),
            Some(RunArguments::Arguments(arguments)) => {
                match program.clone().try_get_matches_from(arguments) {
                    Ok(replaced) => matches = replaced,
                    Err(error) => return told(error),
                }
            }
            Some(RunArguments::File(text)) => {
                if aloud {
                    print(&text)?;
                }
                return Ok(ParsedArguments::Done(0));
            }
        }
    }
    let only = options::check(&program, &matches)?;
    Cli::from_arg_matches(&matches)
        .map_or_else(told, |cli| Ok(ParsedArguments::Command(Box::new(cli.command), only)))
}

/// Says on stderr what went wrong and what to do about it; the program ends with its exit code.
pub fn fail(failure: &Failure) -> ExitCode {
    ExitCode::from(say(failure))
}

/// Says on stderr what went wrong and what to do about it; returns the exit code as a number.
fn say(failure: &Failure) -> u8 {
    // Nothing is left to be done if stderr is gone.
    let _ = writeln!(io::stderr(), "error: {failure}\n  help: {}", remedy(failure));
    failure.exit_code()
}

fn dispatch(
    command: Command,
    only: Option<SumOnlyOption>,
    commit: Option<&str>,
    role: &Role,
) -> Result<(), Failure> {
    role.allows(&command)?;
    match command {
        Command::Run(args) => {
            let signals = Signals::catch();
            let done = run::run(&args, only, role.processes(), signals.stop());
            done.map_err(|failure| role.name(signals.name(failure)))
        }
        Command::Example(args) => {
            let signals = Signals::catch();
            example::run(&args, role.processes(), signals.stop())
                .map_err(|failure| signals.name(failure))
        }
        Command::Bench(args) => {
            let signals = Signals::catch();
            bench::run(&args, &signals, commit).map_err(|failure| signals.name(failure))
        }
        Command::Adjoint(args) => adjoint::run(&args),
        Command::Plan(args) => Ok(print(&plan::run(&args, only)?)?),
        Command::List(args) => Ok(print(&list::run(&args)?)?),
        Command::Doctor(args) => Ok(print(&doctor::run(&args, role.post())?)?),
        Command::Completions(args) => Ok(print_bytes(&manual::completions(&args, Cli::command()))?),
        Command::Man(args) => Ok(print_bytes(&manual::man(&args, Cli::command())?)?),
    }
}

/// A line on stderr.
fn warn(text: &str) {
    // Nothing is lost if stderr is gone.
    let _ = writeln!(io::stderr(), "warning: {}", buffered_output::named(text));
}

/// Prints a report: to stdout, unless a result goes there.
fn report(text: &str, result_on_stdout: bool) -> Result<(), Error> {
    if !result_on_stdout {
        return print(text);
    }
    // Nothing is lost if stderr is gone.
    let _ = io::stderr().write_all(text.as_bytes());
    Ok(())
}

/// Prints to stdout. A reader that has seen enough, such as `head`, is no error.
fn print(text: &str) -> Result<(), Error> {
    print_bytes(text.as_bytes())
}

/// Prints bytes to stdout. A reader that has seen enough, such as `head`, is no error.
fn print_bytes(bytes: &[u8]) -> Result<(), Error> {
    if buffered_output::keeps(bytes) {
        return Ok(());
    }
    match io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()) {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Write { path: "standard output".into(), source })
        }
        _ => Ok(()),
    }
}
