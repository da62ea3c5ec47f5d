// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host run`: arguments to request, report to output.

use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::Failure;
use super::computation_args::ComputationArgs;
use super::file_args::{EndCheck, EndCondition};
use super::files::CommandFiles;
use super::number::whole;
use super::options::SumOnlyOption;
use super::resumed::ResumedRun;
use super::start::Start;
use super::stencil_args::StencilArgs;
use super::sweep::ParameterSweep;
use super::system;
use compute::families::FAMILIES;
use compute::ranks::engine::Ranks;
use compute::run::{FIELD, checkpointed};
use files::record::Units;
use problem::control::Stop;
use problem::{Depth, Job};
use systems::batch::BatchSeat;
use systems::{System, families as of_systems};

mod command;
mod finish;
mod parameter_runs;
mod records;
mod request;
mod sum;

use command::Command;
use sum::SumRun;

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

The result is written before its speed is measured. It is kept if the program is interrupted while
it verifies or measures. A result that fails the verification is removed.

A .toml file such as mine.toml holds stencils, each under its name, in one of two forms:
  [smooth]
  dense = [[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]]
  [drift]
  offsets = [[0, -1], [0, 0]]
  weights = [0.25, 0.75]

A .toml file as NAME is a command line if it has a key stencil or weights. Its keys are options
without their dashes; options on the command line replace them. --print-toml prints such a file.
Any other .toml file as NAME is a system of fields: docs/reference/system-files.md describes it,
`host example --list` names some, docs/reference/command-line.md lists the options for systems.

Exit codes: 0 done, 1 verification failed or a kernel's mistake in the emulator, 2 bad input,
3 no GPU, driver or GPU kernels, 4 values that are not finite, 5 a file could not be read or
written, 6 not enough memory on this machine or its GPU, 7 one of several ranks ended early,
129, 130, 143 ended by SIGHUP, Ctrl-C, SIGTERM.";

/// What to run
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    #[command(flatten)]
    stencil: StencilArgs,
    #[command(flatten)]
    computation: ComputationArgs,

    /// What lies around the grid [default: zero]: zero; constant=V; periodic; reflect (the mirror image about the
    /// last point, which is not repeated); symmetric (the mirror image about half a point outside); edge (the last
    /// point repeated); flux=G (the last point, and G more with each point outwards); odd and odd-reflect (the
    /// mirror images of symmetric and reflect, with the sign changed); robin=A,B,C (A*u + B*du/dn = C half a point
    /// outside). One kind for all sides, or kinds for axes and sides, the general before the special:
    /// x:periodic,y-:constant=1,y+:reflect. In corners x decides, then y
    #[arg(
        long,
        help_heading = "Stencils and kernels",
        value_name = "KIND",
        allow_hyphen_values = true
    )]
    boundary: Option<String>,
    /// Run a system once for each of COUNT values of a constant of its file, or of dt. {NAME} in the name of a file
    /// stands for the value: --sweep D=0.1:1:10 --output u-{D}.npy. On a GPU up to 64 runs of small grids are
    /// computed side by side
    #[arg(
        long,
        help_heading = "Systems",
        value_name = "NAME=FROM:TO:COUNT",
        allow_hyphen_values = true
    )]
    sweep: Option<ParameterSweep>,
    /// Compute this many time steps as one sum, of the stencil convolved with itself. auto takes what is predicted
    /// to be fastest
    #[arg(long, help_heading = "Stencils and kernels", value_name = "T|auto", default_value_t)]
    fuse: Depth,
    /// Family of kernels that takes most of the steps [default: the one that is predicted to be fastest]
    #[arg(long, help_heading = "Stencils and kernels", value_name = "FAMILY", value_parser = family())]
    kernel: Option<&'static str>,
    /// Start values if there is no --input [default: random]: zero; constant=V; random; gauss (a bell in the
    /// middle, with a width of a 16th of the grid)
    #[arg(long, help_heading = "Stencils and kernels", value_name = "WHAT", conflicts_with_all = ["input", "resume"], allow_hyphen_values = true)]
    start: Option<Start>,
    /// Seed of the random start values. A seed gives the same values on any machine
    #[arg(long, help_heading = "Stencils and kernels", value_name = "N", default_value_t = 0, conflicts_with = "input", allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
    /// Run nothing, and print this command line as a file for `host run FILE.toml`
    #[arg(long)]
    print_toml: bool,
}

impl RunArgs {
    /// Whether it starts from random values.
    fn is_random(&self) -> bool {
        let ComputationArgs { input, files, .. } = &self.computation;
        let other = input.is_some() || files.resume.is_some();
        !other && self.start.unwrap_or_default() == Start::Random
    }
}

/// Reads the name of a family: of stencils, or of systems.
fn family() -> impl TypedValueParser<Value = &'static str> {
    let of_stencils = FAMILIES.iter().map(|family| (family.name(), family.about()));
    let of_systems = of_systems::FAMILIES.iter().map(|family| (family.name(), family.about()));
    let all: Vec<_> = of_stencils.chain(of_systems).collect();
    let value =
        |&(name, about): &(&'static str, &'static str)| PossibleValue::new(name).help(about);
    PossibleValuesParser::new(all.iter().map(value)).map(move |name| {
        let known = all.iter().find(|(known, _)| *known == name);
        known.expect("one of the possible values").0
    })
}

/// Runs the command.
///
/// # Errors
/// Any [`Failure`]. The grid is written unless the verification fails, the report also then.
pub fn run(
    args: &RunArgs,
    only: Option<SumOnlyOption>,
    processes: Option<Ranks>,
    stop: Stop,
) -> Result<(), Failure> {
    let mut files = CommandFiles::default();
    if let Some(path) = args.stencil.system() {
        if let Some(sweep) = &args.sweep {
            return parameter_runs::run(sweep, (args, path), only, processes, stop);
        }
        return of_system(path, (args, &args.computation), only, processes, stop);
    }
    if let Some(name) = args.kernel.filter(|name| of_systems::find(name).is_some()) {
        let (option, problem) = (format!("--kernel {name}"), "stencils");
        let instead = "leave it out, or name a family of stencils (host run --help)";
        return Err(Failure::NotOf { option, problem, instead });
    }
    if let Some(EndCheck { when: EndCondition::Condition(_), .. }) = &args.computation.files.until {
        let (option, problem) = ("--until CONDITION".into(), "stencils");
        let instead =
            "give a change of a value in a step, such as --until 1e-6; totals are of systems";
        return Err(Failure::NotOf { option, problem, instead });
    }
    if args.seed != 0 && args.start.is_some_and(|start| start != Start::Random) {
        let (option, problem) = ("--seed".into(), "values that are not random");
        let instead = "leave it out, or take --start random";
        return Err(Failure::NotOf { option, problem, instead });
    }
    let ComputationArgs { input, files: of_files, sharing, .. } = &args.computation;
    files.reads("--weights", args.stencil.weights())?;
    files.reads("--input", input.as_deref())?;
    let shared = sharing.is_asked() || processes.is_some();
    let mut resumed = ResumedRun::named(of_files, &mut files, shared)?;
    let (job, given) = request::request(args, resumed.as_mut(), shared)?;
    let problem = checkpointed(&job);
    resumed.as_ref().map(|resumed| resumed.check(&problem)).transpose()?;
    let done = resumed.as_ref().map_or(0, ResumedRun::steps);
    let by = resumed.as_ref().map(ResumedRun::by);
    let input = input.as_deref().or(of_files.resume.as_deref());
    let sum = SumRun {
        warnings: args.stencil.misuse(&job.stencil, job.steps).into_iter().collect(),
        job,
        given,
        problem,
        field: FIELD.to_owned(),
        units: Units::default(),
        seed: args.is_random().then_some(args.seed),
        read: [args.stencil.weights(), input].map(|path| path.map(Path::to_owned)),
        done,
        by,
    };
    let task = sum.task(&args.computation, shared)?;
    Command(&args.computation).run(task, files, processes, stop)
}

/// Runs a system's file, with these options of a computation.
///
/// # Errors
/// Any [`Failure`].
fn of_system(
    path: &Path,
    (args, computation): (&RunArgs, &ComputationArgs),
    only: Option<SumOnlyOption>,
    processes: Option<Ranks>,
    stop: Stop,
) -> Result<(), Failure> {
    let mut files = CommandFiles::default();
    files.reads("the system", Some(path))?;
    let system = system::read(path, computation)?;
    let (job, family) = meant(&system, args, only)?;
    run_system(&system, job, (computation, family, None), files, processes, stop)
}

/// The job that a system is, or the family of ways that is to take its steps, if one is named.
///
/// # Errors
/// An option is none of such a system's.
fn meant(
    system: &System,
    args: &RunArgs,
    only: Option<SumOnlyOption>,
) -> Result<(Option<Job>, Option<&'static str>), Failure> {
    let &RunArgs { fuse, kernel, .. } = args;
    let family = kernel.filter(|name| of_systems::find(name).is_some());
    if family.is_some() && fuse != Depth::Auto {
        let (option, problem) = ("--fuse".into(), "kernels of systems");
        let instead = "leave it out, or name a family of stencils with --kernel";
        return Err(Failure::NotOf { option, problem, instead });
    }
    let of_stencils = kernel.filter(|_| family.is_none()).map(|_| SumOnlyOption::FAMILY);
    let only = only.or(of_stencils);
    let job = match systems::sum::job(system) {
        Err(why) if let Some(option) = only => return Err(option.refuse(why)),
        job => job.ok().filter(|_| family.is_none()),
    };
    Ok((job.map(|job| Job { kernel, ..systems::sum::fused(job, fuse) }), family))
}

/// Computes a system, which may be a job; by a family of ways, if one is named, or beside others.
///
/// # Errors
/// Any [`Failure`].
pub fn run_system(
    system: &System,
    job: Option<Job>,
    (args, family, seat): (&ComputationArgs, Option<&'static str>, Option<BatchSeat>),
    mut files: CommandFiles,
    processes: Option<Ranks>,
    stop: Stop,
) -> Result<(), Failure> {
    let shared = args.sharing.is_asked() || processes.is_some();
    let task = match job {
        Some(job) => {
            SumRun::of_system(system, job, args, &mut files, shared)?.task(args, shared)?
        }
        None => system::task(system, args, (family, seat), &mut files)?,
    };
    Command(args).run(task, files, processes, stop)
}
