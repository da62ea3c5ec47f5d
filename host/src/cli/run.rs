// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host run`: arguments to request, report to output.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::choice::one_of;
use super::file_args::FileArgs;
use super::files::CommandFiles;
use super::number::{steps, whole};
use super::options::OnlyOfSums;
use super::sharing::SharingArgs;
use super::start::Start;
use super::stencil_args::StencilArgs;
use super::system::{self, SystemArgs};
use super::{Failure, watching};
use compute::engine::EngineRequest;
use compute::families::{self, FAMILIES, Family};
use compute::ranks::engine::Ranks;
use compute::run::{FIELD, Time};
use files::record::Units;
use problem::check::verify::Verify;
use problem::control::Stop;
use problem::{Depth, Dtype, Job};

mod command;
mod finish;
mod request;

pub use command::Command;

use command::Task;
use request::Resumed;

const EXAMPLES: &str = "\
Examples:
  host run --stencil star2d3r --size 10240
  host run --stencil heat-2d --size 480x640 --steps 1000 --output warm.npy
  host run --weights mine.toml --stencil smooth --size 512x768
  host run --weights blur.npy --input photo.npy --output blurred.npy --json report.json
  host run --stencil star2d1r --size 4096 --steps 100000 --output last.npy --quiet --verify off
  host run wave.toml --output last-{field}.npy --receivers traces.csv
  host run heat-2d --size 512 --steps 1e4 --start gauss --every 100 --output heat.png
  host run heat-2d --size 4096 --steps 1e7 --checkpoint heat.state --output last.npy

The result is written before its speed is measured, and whatever ends the program while it verifies or
measures, the result is kept. Only a result that fails the verification is not.

A .toml file such as mine.toml holds stencils, each under its name, in one of two forms:
  [smooth]
  dense = [[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]]
  [drift]
  offsets = [[0, -1], [0, 0]]
  weights = [0.25, 0.75]

A .toml file in the place of a NAME is a command line, if it has a key stencil or weights: its keys are
options without their dashes, and --print-toml prints it; options beside it take the place of its keys.
Another .toml file there is that of a system of fields, with grid, equations and all
(docs/systems.md; `host example --list` names some). Of the options it takes --size, --steps, --dtype,
--engine, --chain, --receivers, --verify, --json, --quiet, --print-toml, and all of files and pictures
(docs/files.md); others are refused, with what the file says instead (docs/run.md).

Exit codes: 0 done, 1 verification failed or a kernel's mistake in the emulator, 2 bad input,
3 no GPU, driver or GPU kernels, 4 values that are not finite, 5 a file could not be read or
written, 6 not enough memory on this machine or its GPU, 7 one of several ranks ended before its
time, 129, 130, 143 ended by SIGHUP, Ctrl-C, SIGTERM.";

/// What to run
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    #[command(flatten)]
    stencil: StencilArgs,

    /// Points: N on every axis, or one number per axis, slowest first; the input's, if there is one
    #[arg(long, value_name = "N|NYxNX|NZxNYxNX", allow_hyphen_values = true)]
    size: Option<String>,
    /// Time steps [default: 1]; a warning tells from which step on values may outgrow the element type,
    /// and where a stencil is not made to be repeated
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = whole::<usize>)]
    steps: Option<usize>,
    /// Element type of the grid [default: the input's or the checkpoint's; else f32 where values are given or kept, by
    /// --weights, --start, --output, --every, --until or --checkpoint; else f16, for speed]
    #[arg(long, value_name = "TYPE", ignore_case = true, value_parser = one_of::<Dtype>())]
    dtype: Option<Dtype>,
    /// What lies around the grid [default: zero]: zero, constant=V, periodic, reflect (the mirror image
    /// about the last point, which is not repeated), symmetric (about half a point outside), edge (the last point repeated) or flux=G (the last point
    /// and G more with each point outwards); or that for axes and sides, the general before the
    /// special: x:periodic,y-:constant=1,y+:reflect or edge,x:zero. In corners x decides, then y
    #[arg(long, value_name = "KIND", allow_hyphen_values = true)]
    boundary: Option<String>,
    /// What computes
    #[arg(long, default_value = "auto", value_parser = one_of::<EngineRequest>())]
    engine: EngineRequest,
    /// Time steps to take as one sum, of the stencil convolved with itself
    #[arg(long, value_name = "T|auto", default_value_t)]
    fuse: Depth,
    /// The family of kernels that is to take most of the steps, instead of the one that is predicted to be fastest
    #[arg(long, value_name = "FAMILY", value_parser = family())]
    kernel: Option<&'static str>,
    /// Sweeps to chain on chip, of T time steps each; of a system, its steps
    #[arg(long, value_name = "C|auto", default_value_t)]
    chain: Depth,
    /// Time steps to take at once by Fourier transforms, at most, with --engine fft or auto
    #[arg(long, value_name = "T|auto", default_value_t, value_parser = steps)]
    jump: Depth,

    /// The grid to start from: a .npy array, of which integers become f4 or f8; a grey .png, black 0 and
    /// white 1; - is standard input, as .npy. Random values in [0, 1) if not given. Of a system values of a field
    /// instead of its own start, with several fields FIELD=FILE,FIELD=FILE
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    input: Option<PathBuf>,
    /// What to start from without a file [default: random]: zero, constant=V, random, or gauss, a bell in the
    /// middle with a width of a 16th of the grid
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["input", "resume"], allow_hyphen_values = true)]
    start: Option<Start>,
    /// Seed of the random values: the same seed gives the same grid, on any machine
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "input", allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
    /// Of a system: write what its receivers recorded, as .npy or else as .csv
    #[arg(long, value_name = "FILE")]
    receivers: Option<PathBuf>,

    /// What to compare with the plain stencil in f64 [default: every point after all steps if that
    /// takes about a second, else a sample]; of a system, which steps with f64: full, every one at every point;
    /// sample, the default, the first, the middle and the last one
    #[arg(long, value_name = "HOW", value_parser = one_of::<Verify>())]
    verify: Option<Verify>,
    /// What to measure: off, only the time of the run itself; N, the run again N times (a part of it,
    /// if it is short), in turns with a copy of the grid; auto, the copy, and a run of less than half
    /// a second again; with --quiet and without --json nothing
    #[arg(long, value_name = "off|N|auto", default_value = "auto")]
    time: Time,
    /// Write the report as JSON; - prints it instead of the readable one
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print no report and no progress, only warnings and errors
    #[arg(long, short)]
    quiet: bool,
    /// Run nothing, and print this command line as a file that `host run FILE.toml` takes
    #[arg(long)]
    print_toml: bool,
    #[command(flatten)]
    sharing: SharingArgs,
    #[command(flatten)]
    files: FileArgs,
}

impl RunArgs {
    /// Whether it starts from random values.
    fn is_random(&self) -> bool {
        let other = self.input.is_some() || self.files.resume.is_some();
        !other && self.start.unwrap_or_default() == Start::Random
    }
}

/// Reads the name of a family.
fn family() -> impl TypedValueParser<Value = &'static str> {
    let value = |family: &&dyn Family| PossibleValue::new(family.name()).help(family.about());
    PossibleValuesParser::new(FAMILIES.iter().map(value))
        .map(|name| families::find(&name).expect("one of the possible values").name())
}

/// Runs the command.
///
/// # Errors
/// Any [`Failure`]. The grid is written unless the verification fails, the report also then.
pub fn run(
    args: &RunArgs,
    only: Option<OnlyOfSums>,
    processes: Option<Ranks>,
    stop: Stop,
) -> Result<(), Failure> {
    let mut files = CommandFiles::default();
    if let Some(path) = args.stencil.system() {
        files.reads("the system", Some(path))?;
        let of_system = of_system(args);
        let system = system::read(path, &of_system)?;
        return match systems::sum::job(&system) {
            Ok(job) => {
                let &RunArgs { fuse, jump, kernel, .. } = args;
                let fuse = if fuse == Depth::Auto { job.fuse } else { fuse };
                let job = Job { fuse, jump, kernel, ..job };
                let command = Command::of(&of_system);
                command.run_sum(&system, job, args.input.as_deref(), files, processes, stop)
            }
            Err(why) => {
                if let Some(option) = only {
                    return Err(option.refuse(why));
                }
                system::run(&system, &of_system, files, processes, stop)
            }
        };
    }
    if args.seed != 0 && args.start.is_some_and(|start| start != Start::Random) {
        let (option, problem) = ("--seed".into(), "values that are not random");
        let instead = "leave it out, or take --start random";
        return Err(Failure::NotOf { option, problem, instead });
    }
    files.reads("--weights", args.stencil.weights())?;
    files.reads("--input", args.input.as_deref())?;
    let shared = args.sharing.is_asked() || processes.is_some();
    let resumed = watching::resumed(&args.files, &mut files)?;
    let mut resumed = resumed.map(|path| Resumed::read(path, shared)).transpose()?;
    let (job, given) = request::request(args, resumed.as_mut(), shared)?;
    let problem = request::problem(&job);
    let (mut done, mut by) = (0, None);
    if let Some(Resumed { header, .. }) = resumed {
        watching::check(&args.files, &header, &problem)?;
        (done, by) = (header.step, Some(header.by));
    }
    // Also with --quiet: it makes the result worthless, though nothing fails.
    let misuse = args.stencil.misuse(&job.stencil, job.steps);
    let input = args.input.as_deref().or(args.files.resume.as_deref());
    let read = [args.stencil.weights(), input].map(|path| path.map(Path::to_owned));
    let seed = args.is_random().then_some(args.seed);
    let (field, units) = (FIELD.to_owned(), Units::default());
    let task = Task { job, given, problem, field, units, misuse, seed, read, done, by, shared };
    let &RunArgs { engine, verify, time, quiet, .. } = args;
    let (json, sharing, of_files) = (args.json.as_deref(), &args.sharing, &args.files);
    let command = Command { engine, verify, time, json, quiet, sharing, files: of_files };
    command.run(task, files, processes, stop)
}

/// What is asked for of a system.
fn of_system(args: &RunArgs) -> SystemArgs {
    SystemArgs {
        size: args.size.clone(),
        steps: args.steps,
        dtype: args.dtype,
        engine: args.engine,
        chain: args.chain,
        jump: args.jump,
        input: args.input.clone(),
        receivers: args.receivers.clone(),
        verify: args.verify,
        time: args.time,
        json: args.json.clone(),
        quiet: args.quiet,
        sharing: args.sharing.clone(),
        files: args.files.clone(),
    }
}
