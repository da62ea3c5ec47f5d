// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system from a file: `host run problem.toml`, and the built-in ones of `host example`.

use std::fmt::Write;
use std::iter::{once, successors};
use std::path::{Path, PathBuf};

use clap::Args;

use super::choice::one_of;
use super::file_args::FileArgs;
use super::files::CommandFiles;
use super::input;
use super::number::{steps, whole};
use super::progress::control;
use super::sharing::SharingArgs;
use super::tell::tell;
use super::watching::{self, Problem, Watching, publish};
use super::{Failure, remedy, warn};
use compute::engine::EngineRequest;
use compute::ranks::engine::Ranks;
use compute::report::{Files, Report};
use compute::run::Time;
use files::io::checkpoint::{self, Checkpoint};
use files::io::{Output, npy};
use files::record::Units;
use problem::check::verify::Verify;
use problem::control::Stop;
use problem::observe::Observer;
use problem::{Depth, Dtype, Error, Grid, Region, Shape};
use systems::{Asked, Description, System, SystemSimulation, SystemState};

/// What may be said of a system besides its file.
#[derive(Args, Debug, Default)]
pub struct SystemArgs {
    /// Points instead of those of the file: N on every axis, or one number per axis, slowest first
    #[arg(long, value_name = "N|NYxNX|NZxNYxNX", allow_hyphen_values = true)]
    pub size: Option<String>,
    /// Time steps instead of those of the file
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub steps: Option<usize>,
    /// Element type instead of that of the file
    #[arg(long, value_name = "TYPE", ignore_case = true, value_parser = one_of::<Dtype>())]
    pub dtype: Option<Dtype>,
    /// What computes: auto, cuda, sparse, cpu, fft or emulate
    #[arg(long, default_value = "auto", value_parser = one_of::<EngineRequest>())]
    pub engine: EngineRequest,
    /// Steps to take in one launch of a GPU, each on what the one before left on chip
    #[arg(long, value_name = "C|auto", default_value_t)]
    pub chain: Depth,
    /// Time steps to take at once by Fourier transforms, at most, with --engine fft or auto
    #[arg(long, value_name = "T|auto", default_value_t, value_parser = steps)]
    pub jump: Depth,
    /// Values of a field to start with instead of those of the file: a .npy array or a grey .png; of several fields each with
    /// its name, FIELD=FILE,FIELD=FILE
    #[arg(long, value_name = "[FIELD=]FILE", conflicts_with = "resume")]
    pub input: Option<PathBuf>,
    /// Write what the receivers recorded: a row for the start and each step, with the time and a value for each,
    /// as .npy or else as .csv
    #[arg(long, value_name = "FILE")]
    pub receivers: Option<PathBuf>,
    /// Which steps to compare with f64 [default: sample]: full, every one at every point; sample, the first, the
    /// middle and the last one; off, none
    #[arg(long, value_name = "HOW", value_parser = one_of::<Verify>(), hide_possible_values = true)]
    pub verify: Option<Verify>,
    /// What to measure: off, only the time of the run itself; N, the run again N times (a part of it,
    /// if it is short), in turns with a copy of an array; auto, the copy, and a run of less than half
    /// a second again; with --quiet and without --json nothing
    #[arg(long, value_name = "off|N|auto", default_value = "auto")]
    pub time: Time,
    /// Write the report as JSON; - prints it instead of the readable one
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print no report and no progress, only warnings and errors
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub sharing: SharingArgs,
    #[command(flatten)]
    pub files: FileArgs,
}

/// Whether a name is that of a system's file.
pub fn is_file(name: &str) -> bool {
    let extension = Path::new(name).extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Reads a system's file.
///
/// # Errors
/// Any [`Failure`].
pub fn read(path: &Path, args: &SystemArgs) -> Result<System, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    system(Description::read(path)?, folder, args)
}

/// The system of a description, with what is given instead of its own numbers.
///
/// # Errors
/// Any [`Failure`].
pub fn system(
    mut description: Description,
    folder: &Path,
    args: &SystemArgs,
) -> Result<System, Failure> {
    if let Some(size) = &args.size {
        let shape = size.parse::<Shape>()?.spread(description.size.len())?;
        description.size = shape.axes().to_vec();
    }
    description.dtype = args.dtype.unwrap_or(description.dtype);
    description.steps = args.steps.unwrap_or(description.steps);
    let system = System::new(&description, folder)?.with_chain(args.chain).with_jump(args.jump);
    if args.receivers.is_some() && system.receivers().len() == 0 {
        return Err(Failure::NoReceivers);
    }
    Ok(system)
}

/// Computes a system that is no stencil.
///
/// # Errors
/// Any [`Failure`]. Files are written unless a comparison fails or somebody asks for an end.
pub fn run(
    system: &System,
    args: &SystemArgs,
    mut files: CommandFiles,
    processes: Option<Ranks>,
    stop: Stop,
) -> Result<(), Failure> {
    system.warnings().iter().for_each(|warning| warn(warning));
    let resumed = watching::resumed(&args.files, &mut files)?;
    let resumed = resumed.map(checkpoint::read).transpose()?;
    let problem = problem(system);
    if let Some(checkpoint) = &resumed {
        watching::check(&args.files, &checkpoint.header, &problem)?;
    }
    let fields: Vec<String> = system.fields().map(str::to_owned).collect();
    let Problem { shape, dtype, steps, .. } = problem;
    let outputs = args.files.outputs(shape, dtype, &fields, units(system), steps, &mut files)?;
    let receivers = files.writes("--receivers", args.receivers.as_deref())?;
    let json = files.writes_or_prints("--json", args.json.as_deref())?;

    let done = resumed.as_ref().map_or(0, |checkpoint| checkpoint.header.step);
    let by = resumed.as_ref().map(|checkpoint| checkpoint.header.by.clone());
    let mut watching =
        Watching::new(&args.files, outputs.as_ref(), &problem, done, by, &mut files)?;
    let verify = args.verify.unwrap_or(Verify::Sample);
    // Steps that are all compared are taken one by one.
    let unseen = if verify == Verify::Full { 1 } else { unseen(&args.files, steps - done) };
    let inputs = inputs(system, args.input.as_deref(), &mut files)?.into();
    let sharing = args.sharing.sharing(args.engine, shape.dims(), processes)?;
    let asked = Asked { engine: args.engine, steps: unseen, sharing, inputs };
    let mut simulation = match resumed {
        None => SystemSimulation::asked(system, &asked)?,
        Some(Checkpoint { header, arrays, records }) => {
            let left = SystemState { step: header.step, arrays, records };
            SystemSimulation::resumed(system, &asked, left)?
        }
    }
    .control(control(stop, args.quiet));
    let rounded = simulation.rounded_coefficients().iter();
    rounded.map(remedy::of_rounded_coefficient).for_each(|text| warn(&text));
    let growth = simulation.foresee_growth(steps - done);
    growth.iter().for_each(|growth| warn(&remedy::of_growth(growth)));
    compute(&mut simulation, steps, verify, &mut watching.observers())
        .map_err(|error| watching.explain(error))?;
    let step = simulation.steps();
    let mut kept = None;
    if let Some(outputs) = &outputs {
        let files = outputs.after(step)?;
        let staged = watching.stage(outputs, &files, step, &mut simulation.snapshot())?;
        publish(outputs, staged, step)?;
        kept = args.files.output.as_deref().map(|pattern| watching::named(&files, pattern));
    }
    if let Some(output) = receivers {
        write_records(&output, &simulation)?;
    }
    let snapshots = watching.waited();
    // Nobody would see what was measured.
    let unseen = args.quiet && args.json.is_none() && args.time == Time::Auto;
    let measured = simulation.measure(if unseen { Time::Off } else { args.time });
    let input = args.input.as_deref().or(args.files.resume.as_deref());
    let files = Files::new(None, input, kept.as_deref());
    let report = Report { files, snapshots, growth, ..simulation.report() };
    report.lost().as_ref().map(remedy::of_lost_digits).into_iter().for_each(|text| warn(&text));
    remedy::of_values(&report).iter().for_each(|warning| warn(warning));
    let told = tell(&args.files, args.quiet, &report, &watching.told(step), json);
    Ok(measured.and(told).and(watching.kept())?)
}

/// The values of the fields that `--input` names.
fn inputs(
    system: &System,
    given: Option<&Path>,
    files: &mut CommandFiles,
) -> Result<Vec<(String, Grid)>, Failure> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let named = named(system, given)?;
    let read = |(field, path): (String, PathBuf)| {
        files.reads("--input", Some(&path))?;
        Ok((field, input::of_system(&path, system.shape(), system.dtype())?))
    };
    named.into_iter().map(read).collect()
}

/// The fields that an input is for, each with its file.
///
/// # Errors
/// [`Failure::NoField`].
pub fn named(system: &System, given: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let fields: Vec<&str> = system.fields().collect();
    let text = given.to_string_lossy();
    let name = |part: &str| {
        let (field, file) = part.split_once('=')?;
        fields.contains(&field).then(|| (field.to_owned(), PathBuf::from(file)))
    };
    let all: Option<Vec<_>> = text.split(',').map(name).collect();
    match (all, fields.as_slice()) {
        (Some(all), _) => Ok(all),
        (None, [field]) => Ok(vec![((*field).to_owned(), given.to_owned())]),
        (None, _) => {
            let fields = fields.iter().map(|field| (*field).to_owned()).collect();
            Err(Failure::NoField { text: text.into_owned(), fields })
        }
    }
}

/// How long a step of a system is, and how far it is from a point to the next.
pub fn units(system: &System) -> Units {
    Units { dt: Some(system.dt()), spacing: system.spacing() }
}

/// What checkpoints say of a system.
pub fn problem(system: &System) -> Problem {
    let (shape, dtype, dt) = (system.shape(), system.dtype(), system.dt());
    let fields: Vec<&str> = system.fields().collect();
    let fields = fields.join(", ");
    let name = match system.title() {
        "" => format!("a system of {fields}"),
        title => format!("{title}: {fields}"),
    };
    let title = format!("{name} on {shape} {dtype} values, steps of {dt}");
    let besides =
        "its spacing, equations, starts, boundaries, stencils, tables, sources or receivers";
    let (hash, arrays, steps) = (system.fingerprint(), system.arrays(), system.steps());
    Problem { title, besides, hash, shape, dtype, arrays, steps }
}

/// Of so many steps those that are taken while nobody looks at the fields.
fn unseen(files: &FileArgs, steps: usize) -> usize {
    let looks = [files.every, files.check_finite, files.until.map(|until| until.every)];
    let looks = looks.into_iter().flatten().fold(steps, usize::min);
    // A checkpoint may be due at any step.
    if files.checkpoint.is_some() { 1 } else { looks }
}

/// The steps that a sample compares of a run of so many: the first, one in the middle, the last; of one that may end at
/// any step the first ones at growing distances.
fn compared(done: usize, steps: usize, open_ended: bool) -> Vec<usize> {
    if !open_ended {
        return vec![done, steps / 2, steps.saturating_sub(1)];
    }
    let growing = successors(Some(1_usize), |after| after.checked_mul(4));
    let after = growing.map_while(|after| done.checked_add(after)).take_while(|step| *step < steps);
    once(done).chain(after).collect()
}

/// Takes all steps, of which are compared: all; a few; or none.
fn compute(
    simulation: &mut SystemSimulation,
    steps: usize,
    verify: Verify,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let done = simulation.steps();
    let compared = compared(done, steps, observer.may_end(done).is_some());
    let compared = if verify == Verify::Sample && steps > 0 { &compared[..] } else { &[] };
    simulation.compare_all(verify == Verify::Full);
    simulation.run(steps, compared, observer)?;
    simulation.check_finite()
}

fn write(output: &Output, grid: &Grid) -> Result<(), Error> {
    /// Points that are converted at a time.
    const MOST: usize = 1 << 19;
    let read = |region: Region| Ok(grid.read(region));
    npy::stage(output, grid.shape, grid.dtype(), MOST, read)?.publish()
}

fn write_records(output: &Output, simulation: &SystemSimulation) -> Result<(), Error> {
    let (records, system) = (simulation.records(), simulation.system());
    if output.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
        let values: Vec<f64> = records.iter().flatten().copied().collect();
        let grid = Grid::new(&[records.len(), values.len() / records.len()], values)?;
        return write(output, &grid);
    }
    let mut text = "t".to_owned();
    for (name, at) in system.receivers() {
        let at: Vec<String> = at.iter().map(usize::to_string).collect();
        write!(text, ",{name}[{}]", at.join(" ")).expect("a string takes any text");
    }
    for row in records {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        write!(text, "\n{}", row.join(",")).expect("a string takes any text");
    }
    text.push('\n');
    output.write(|to| to.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_known_end_is_compared_at_growing_steps() {
        assert_eq!(compared(0, 100, false), [0, 50, 99]);
        assert_eq!(compared(0, 100, true), [0, 1, 4, 16, 64]);
        assert_eq!(compared(40, 100, true), [40, 41, 44, 56]);
        assert_eq!(compared(0, 1, true), [0]);
    }

    #[test]
    fn a_system_is_named_by_a_file() {
        assert!(is_file("wave.toml") && is_file("a/b.TOML"));
        assert!(!is_file("star2d1r") && !is_file("toml") && !is_file("a.npy"));
    }
}
