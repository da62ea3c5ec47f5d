// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host run`: arguments to request, report to output.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::choice::one_of;
use super::file_args::{FileArgs, Outputs};
use super::files::{CommandFiles, Destination};
use super::number::whole;
use super::progress::control;
use super::stencil_args::StencilArgs;
use super::system::{self, SystemArgs};
use super::{Failure, print, remedy, warn};
use crate::check::growth::Growth;
use crate::check::verify::Verify;
use crate::control::Stop;
use crate::engine::EngineRequest;
use crate::families::{self, FAMILIES, Family};
use crate::io::Staged;
use crate::io::read::{self, Read};
use crate::report::{Files, Report};
use crate::run::{Computed, Options, Run, Start, Time, checked};
use crate::{Boundary, Dtype, Error, Grid, Shape};
use crate::{Depth, Job};

const EXAMPLES: &str = "\
Examples:
  host run --stencil star2d3r --size 10240
  host run --stencil heat-2d --size 480x640 --steps 1000 --dtype f32 --output warm.npy
  host run --weights mine.toml --stencil smooth --size 512x768
  host run --weights blur.npy --input photo.npy --output blurred.npy --json report.json
  host run --stencil star2d1r --size 4096 --steps 100000 --output last.npy --quiet --verify off
  host run wave.toml --output last-{field}.npy --receivers traces.csv

The result is written before its speed is measured, and whatever ends the program while it verifies or
measures, the result is kept. Only a result that fails the verification is not.

A .toml file such as mine.toml holds stencils, each under its name, in one of two forms:
  [smooth]
  dense = [[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]]
  [drift]
  offsets = [[0, -1], [0, 0]]
  weights = [0.25, 0.75]

Another .toml file in the place of a NAME is that of a system of fields, with grid, equations and all
(docs/systems.md; `host example --list` names some). Of the options it takes --size, --steps, --dtype,
--engine, --output, --receivers, --verify off, --json and --quiet.

Exit codes: 0 done, 1 verification failed or a kernel's mistake in the emulator, 2 bad input,
3 no GPU, driver or GPU kernels, 4 values that are not finite, 5 a file could not be read or
written, 6 not enough memory on this machine or its GPU, 129, 130, 143 ended by SIGHUP, Ctrl-C,
SIGTERM.";

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
    /// Element type of the grid; the input's if there is one, else f16
    #[arg(long, value_name = "TYPE", ignore_case = true, value_parser = one_of::<Dtype>())]
    dtype: Option<Dtype>,
    /// What lies around the grid [default: zero]: zero, constant=V, periodic or reflect (the mirror image
    /// about the last point, which is not repeated); or that for axes and sides, the general before the
    /// special: x:periodic,y-:constant=1,y+:reflect or reflect,x:zero. In corners x decides, then y
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
    /// Sweeps to chain on chip, of T time steps each
    #[arg(long, value_name = "C|auto", default_value_t)]
    chain: Depth,
    /// Time steps to take at once by Fourier transforms, at most, with --engine fft or auto
    #[arg(long, value_name = "T|auto", default_value_t, value_parser = jump)]
    jump: Depth,

    /// The grid to start from: a .npy array, of which integers become f4 or f8; a grey .png, black 0 and
    /// white 1; - is standard input, as .npy. Random values in [0, 1) if not given
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Seed of the random values: the same seed gives the same grid, on any machine
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "input", allow_negative_numbers = true, value_parser = whole::<u64>)]
    seed: u64,
    /// Of a system: write what its receivers recorded, as .npy or else as .csv
    #[arg(long, value_name = "FILE")]
    receivers: Option<PathBuf>,

    /// What to compare with the plain stencil in f64 [default: every point after all steps if that
    /// takes about a second, else a sample]
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
    #[command(flatten)]
    files: FileArgs,
}

/// Reads the steps of a jump, of which there may be any number.
fn jump(text: &str) -> Result<Depth, String> {
    match text.parse() {
        _ if text == "auto" => Ok(Depth::Auto),
        Ok(steps) if steps > 0 => Ok(Depth::Steps(steps)),
        _ => Err("give a number of steps from 1 on, or auto".into()),
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
pub fn run(args: &RunArgs, stop: Stop) -> Result<(), Failure> {
    let mut files = CommandFiles::default();
    if let Some(path) = args.stencil.system() {
        files.reads("the system", Some(path))?;
        return system::run_file(path, &of_system(args)?, files, stop);
    }
    if args.receivers.is_some() {
        return Err(Failure::NoReceivers);
    }
    files.reads("--weights", args.stencil.weights())?;
    files.reads("--input", args.input.as_deref())?;
    let (job, input) = request(args)?;
    let Job { shape, dtype, steps, .. } = job;
    let fields = ["u".to_owned()];
    let outputs = args.files.outputs(shape, dtype.stored(), &fields, None, steps, &mut files)?;
    let json = files.writes_or_prints("--json", args.json.as_deref())?;
    // Also with --quiet: it makes the result worthless, though nothing fails.
    let misuse = args.stencil.misuse(&job.stencil, job.steps);
    let growth = Growth::foresee(&job, input.as_ref()).map(|growth| growth.to_string());
    misuse.into_iter().chain(growth).for_each(|warning| warn(&warning));
    let start = if input.is_some() { Start::Given } else { Start::ToCome };
    let planned = Run::plan(job, options(args, stop), start)?;
    let stale = planned.stale_speeds().map(remedy::of_stale_speeds);
    planned.reduced().map(str::to_owned).into_iter().chain(stale).for_each(|text| warn(&text));
    let input = match input {
        Some(grid) => grid,
        None => Grid::random(shape, dtype, args.seed)?,
    };
    Ok(finish(args, planned.compute(Cow::Owned(input))?, outputs.as_ref(), json)?)
}

/// What is asked for of a system.
fn of_system(args: &RunArgs) -> Result<SystemArgs, Failure> {
    let given = [
        ("--boundary", args.boundary.is_some()),
        ("--fuse", args.fuse != Depth::Auto),
        ("--chain", args.chain != Depth::Auto),
        ("--jump", args.jump != Depth::Auto),
        ("--kernel", args.kernel.is_some()),
        ("--input", args.input.is_some()),
        ("--seed", args.seed != 0),
        ("--time", args.time != Time::Auto),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::NotOfSystems { option });
    }
    Ok(SystemArgs {
        size: args.size.clone(),
        steps: args.steps,
        dtype: args.dtype,
        engine: args.engine,
        receivers: args.receivers.clone(),
        unverified: args.verify == Some(Verify::Off),
        json: args.json.clone(),
        quiet: args.quiet,
        files: args.files.clone(),
    })
}

fn options(args: &RunArgs, stop: Stop) -> Options {
    let &RunArgs { engine, verify, quiet, .. } = args;
    // Nobody would see what was measured.
    let unseen = quiet && args.json.is_none() && args.time == Time::Auto;
    let time = if unseen { Time::Off } else { args.time };
    Options { engine, verify, stops: false, time, control: control(stop, quiet) }
}

/// Keeps the result, verifies it, measures, and reports: each as far as it goes, whatever happens to the
/// others.
fn finish(
    args: &RunArgs,
    mut computed: Computed,
    outputs: Option<&Outputs>,
    json: Option<Destination>,
) -> Result<(), Error> {
    let steps = computed.job().steps;
    // Beside its place at first: what is wrong must not replace an earlier result.
    let mut staged = Vec::new();
    for (Outputs { recording, .. }, (target, output)) in
        outputs.iter().flat_map(|outputs| outputs.files.iter().map(move |file| (outputs, file)))
    {
        staged.push(recording.stage(target, output, steps, |_, region| computed.read(region))?);
    }
    let verified = computed.verify();
    let wrong = computed.verdict().failure().cloned();
    let kept = match wrong {
        None => {
            staged.into_iter().try_for_each(Staged::publish).map(|()| args.files.output.as_deref())
        }
        Some(_) => Ok(None),
    };
    let measured = match verified {
        Ok(true) => computed.measure(),
        _ => Ok(()),
    };
    let report = Report {
        seed: args.input.is_none().then_some(args.seed),
        files: Files::new(
            args.stencil.weights(),
            args.input.as_deref(),
            *kept.as_ref().unwrap_or(&None),
        ),
        ..computed.report()
    };
    let told = tell(args, &report, json);
    if let Some(wrong) = wrong {
        return Err(wrong.into());
    }
    kept.map(|_| ()).and(verified.map(|_| ())).and(measured).and(told)
}

/// Prints the report and writes it.
fn tell(args: &RunArgs, report: &Report, json: Option<Destination>) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(report).expect("a report is plain data") + "\n";
    let printed = match json {
        Some(Destination::Stdout) => print(&text),
        _ if args.quiet => Ok(()),
        _ => super::report(&report.advising("--verify full").to_string(), args.files.streams()),
    };
    let written = match json {
        Some(Destination::File(file)) => file.write(|to| to.write_all(text.as_bytes())),
        _ => Ok(()),
    };
    printed.and(written)
}

/// What is to be computed, and from what, unless from random values.
fn request(args: &RunArgs) -> Result<(Job, Option<Grid>), Failure> {
    let stencil = args.stencil.load()?;
    let size = match &args.size {
        None => None,
        Some(size) => Some(size.parse::<Shape>()?.spread(stencil.dims())?),
    };
    let (shape, dtype, input) = match (&args.input, size) {
        (None, None) => return Err(Failure::NoSize),
        (None, Some(shape)) => (shape, args.dtype.unwrap_or(Dtype::F16), None),
        (Some(path), size) => {
            let Read { grid, ignored } = read::grid(path, stencil.dims())?;
            if ignored > 0 {
                warn(&format!(
                    "{}: {ignored} bytes follow the array, and are not looked at",
                    path.display()
                ));
            }
            if let Some(size) = size.filter(|size| *size != grid.shape) {
                let found = grid.shape;
                return Err(Failure::SizeDisagrees { size, path: path.clone(), found });
            }
            // Not that of the grid: tf32 is stored as f32.
            let dtype = args.dtype.unwrap_or(grid.dtype());
            let grid = grid.stored_as(dtype)?;
            (grid.shape, dtype, Some(grid))
        }
    };
    let boundary = args.boundary.as_deref().unwrap_or("zero");
    let boundary = Boundary::parse(boundary, stencil.dims())?;
    let steps = args.steps.unwrap_or(1);
    let &RunArgs { fuse, chain, jump, kernel, .. } = args;
    let job = Job { stencil, shape, dtype, boundary, steps, fuse, chain, jump, kernel };
    Ok((checked(job)?, input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: RunArgs,
    }

    #[test]
    fn what_nobody_sees_is_not_measured_unless_it_is_asked_for() {
        for (more, time) in [
            ("", Time::Auto),
            ("--quiet", Time::Off),
            ("--quiet --json -", Time::Auto),
            ("--quiet --json report.json", Time::Auto),
            ("--quiet --time 3", Time::Repeat(3)),
            ("--time off", Time::Off),
            ("--time off --json -", Time::Off),
        ] {
            let line = format!("run --stencil star2d1r --size 8 {more}");
            let Line { args } = Line::parse_from(line.split_whitespace());
            assert_eq!(options(&args, Stop::default()).time, time, "{more}");
        }
    }
}
