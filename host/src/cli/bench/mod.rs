// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host bench`: which measurements, and where the results go.

mod ablation;

use std::path::{Path, PathBuf};
use std::{iter, slice};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::choice::{one_of, possible};
use super::files::{CommandFiles, Destination};
use super::interrupt::Signals;
use super::number::whole;
use super::progress::control;
use super::{Failure, print};
use crate::bench::{
    self, BenchCase, BenchError, Comparison, DepthMode, Origin, Results, Selection, Workload,
    chart, compare, csv, json, measure, table,
};
use compute::engine::EngineRequest;
use files::io::Output;
use problem::{Dtype, Error};

const EXAMPLES: &str = "\
Examples:
  host bench --quick                               small grids, in a minute without a GPU
  host bench --stencil box2d1r,star2d1r --dtype f16 --json today.json
  host bench --stencil gray-scott,layered-wave     systems of fields
  host bench --engines all --stencil box2d1r       each engine's best, side by side
  host bench box2d3r --ablation --dtype tf32       CUDA cores, dense and sparse tensor cores
  host bench --compare yesterday.json              the same measurements again, side by side
  host bench --compare yesterday.json --with today.json --threshold 10%
  host bench --from today.json --chart today.svg --chart today.png

Every result is compared with the f64 reference; a wrong result has no speed. What no engine
supports is listed with the reason. The files of --json, --csv and --chart are replaced after each
measurement. After Ctrl-C they hold what was measured, and the JSON says \"complete\": false.

Exit codes: 0 done, 1 a result failed to verify or, with --compare, a measurement is slower by more
than the threshold or no longer supported, 2 bad input, 3 no GPU, driver or GPU kernels, 5 a file
could not be read or written, 129, 130, 143 ended by SIGHUP, Ctrl-C, SIGTERM.";

/// What to measure
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// With --ablation: name of a 2D stencil, such as box2d3r (`host list` prints all)
    #[arg(value_name = "STENCIL", requires = "ablation")]
    pub(super) name: Option<String>,
    /// Measure what each part of the sparse kernels is worth for one stencil: CUDA cores, dense tensor cores with
    /// the same layout, sparse ones untuned and tuned, chained, and what auto takes; in one --dtype [default: f16]
    #[arg(long, requires = "name", conflicts_with_all = ["stencil", "mode", "size_limit", "engine", "engines", "compare", "from", "csv", "chart"])]
    ablation: bool,
    /// With --ablation: extents of the grid, such as 4096 or 4000x5000 [default: 10240x10240, with --quick 250x260]
    #[arg(long, value_name = "EXTENTS", requires = "ablation")]
    pub(super) size: Option<String>,

    /// Measure only these workloads: names of stencils or built-in systems, or the papers' names [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', ignore_case = true, value_parser = workloads())]
    stencil: Vec<&'static Workload>,
    /// Measure only these element types [default: all]
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',', ignore_case = true, value_parser = one_of::<Dtype>())]
    pub(super) dtype: Vec<Dtype>,
    /// Measure only these modes [default: all]
    #[arg(long, value_name = "MODE,...", value_delimiter = ',', value_parser = one_of::<DepthMode>())]
    mode: Vec<DepthMode>,
    /// Measure only grids of at most this many points
    #[arg(long, value_name = "POINTS", value_parser = whole::<usize>)]
    size_limit: Option<usize>,

    /// Measure small grids and few steps
    #[arg(long, conflicts_with = "compare")]
    pub(super) quick: bool,
    /// Number of time steps of each run [default: 48, in 3D 24, with --quick 12]
    #[arg(long, value_name = "S", conflicts_with = "compare", value_parser = steps)]
    pub(super) steps: Option<usize>,
    /// The part of the program that computes [default: auto; with --compare the engine of that file]
    #[arg(long, value_parser = one_of::<EngineRequest>())]
    engine: Option<EngineRequest>,

    /// Measure these engines side by side, each with its best candidate and its predicted speed: all (sparse,
    /// dense, cuda, cpu), or some by name. Without --mode only in the mode auto
    #[arg(long, value_name = "all|ENGINE,...", value_delimiter = ',', conflicts_with_all = ["engine", "compare"], value_parser = engines())]
    engines: Vec<Engines>,

    /// Measure again what this file of --json holds, and print both speeds, their ratio, and what became worse
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
    /// Measure nothing: compare the file of --compare with the results in this file
    #[arg(long, value_name = "NEW.json", requires = "compare", conflicts_with_all = ["engine", "json", "csv"])]
    with: Option<PathBuf>,
    /// Measure nothing: show what this file of --json holds, as a table, CSV or a chart
    #[arg(long, value_name = "RECORD.json", conflicts_with_all = ["compare", "quick", "steps", "engine", "engines"])]
    from: Option<PathBuf>,
    /// Change of a speed, in percent, that --compare does not report
    #[arg(long, value_name = "P%", default_value = "5%", requires = "compare", value_parser = percent)]
    threshold: f64,

    /// Write the results as JSON to this file; - prints them in place of the table
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the results as CSV to this file; - prints them in place of the table
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the results into this .svg or .png file: bars beside the limit of a copy of the grid, and the roofline,
    /// for each element type. Repeat the option for both formats
    #[arg(long, value_name = "FILE", conflicts_with = "with", value_parser = chart_file)]
    chart: Vec<PathBuf>,
    /// Print only errors: no table, no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// Engines to be measured side by side.
type Engines = &'static [EngineRequest];

/// What `all` measures.
const SIDE_BY_SIDE: Engines =
    &[EngineRequest::Sparse, EngineRequest::Dense, EngineRequest::Cuda, EngineRequest::Cpu];

/// `all`, or an engine by name.
fn engines() -> impl TypedValueParser<Value = Engines> {
    let named = || EngineRequest::ALL.iter().filter(|engine| **engine != EngineRequest::Auto);
    let all = PossibleValue::new("all").help("sparse, dense, cuda and cpu");
    let names = PossibleValuesParser::new(iter::once(all).chain(named().map(possible)));
    names.map(move |name| {
        let engine = named().find(|engine| engine.to_string() == name);
        engine.map_or(SIDE_BY_SIDE, slice::from_ref)
    })
}

/// The workloads as values of an option: they stand in its help and in its errors.
fn workloads() -> impl TypedValueParser<Value = &'static Workload> {
    let value = |workload: &Workload| {
        PossibleValue::new(workload.stencil).alias(workload.paper).help(workload.paper)
    };
    let names = PossibleValuesParser::new(Workload::all().iter().map(value));
    names.map(|name| Workload::named(&name).expect("one of the possible values"))
}

fn steps(text: &str) -> Result<usize, String> {
    match whole(text)? {
        0 => Err("give a whole number from 1 on".into()),
        steps => Ok(steps),
    }
}

/// A percentage, with its sign or without.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let percent = number.filter(|percent| (0.0..100.0).contains(percent));
    percent.ok_or_else(|| "give 0% to 99.9%, such as 5%".into())
}

/// A file whose extension says what kind of picture it is.
fn chart_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    chart::ImageFormat::of(&path).map_err(|_| "a chart is an .svg or a .png file".to_owned())?;
    Ok(path)
}

/// Runs the command, of a program that was built from that commit.
///
/// # Errors
/// Any [`Failure`]; those about results come after the results.
pub fn run(args: &BenchArgs, signals: &Signals, commit: Option<&str>) -> Result<(), Failure> {
    if args.ablation {
        return ablation::run(args, signals, commit);
    }
    let selection = args.selection();
    let with_path = |path: &PathBuf| read(path, &selection).map(|results| (path.clone(), results));
    let old = args.compare.as_ref().map(with_path).transpose()?;
    if let Some((old, new)) = old.as_ref().zip(args.with.as_ref()) {
        return compare_files(args, old, &with_path(new)?);
    }
    let targets = Targets::new(args)?;
    if let Some(path) = &args.from {
        return show(args, &targets, &read(path, &selection)?);
    }
    let (cases, engine) = match &old {
        Some((_, old)) => (old.rows.iter().map(|row| row.case.clone()).collect(), old.engine),
        None => (selected(args, &selection)?, EngineRequest::Auto),
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let engine = args.engine.unwrap_or(engine);
    let (origin, rows) = (Origin::now(commit), Vec::new());
    let mut new = Results { version, origin, engine, complete: false, rows };
    let control = control(signals.stop(), args.quiet);
    let ended = measure(&cases, &control, &mut new, |results| targets.update(results));
    if !new.rows.is_empty() {
        targets.finish(&new)?;
        match (targets.stdout, &old) {
            (Some(render), _) => print(&render(&new))?,
            _ if args.quiet => {}
            (None, Some((_, old))) => print(&compare(old, &new, args.threshold).render())?,
            (None, None) => print(&table::render(&new))?,
        }
    }
    match (ended, new.rows.len()) {
        (Err(Error::Stopped { .. }), done @ 1..) => {
            let signal = signals.last();
            return Err(Failure::Unfinished { signal, done, of: cases.len() });
        }
        (ended, _) => ended?,
    }
    if let Some((path, old)) = &old {
        fail_if_worse(&compare(old, &new, args.threshold), path)?;
    }
    match new.failures() {
        0 => Ok(()),
        failed => Err(BenchError::Failed { failed, of: new.rows.len() }.into()),
    }
}

/// The cases that are wanted.
fn selected(args: &BenchArgs, selection: &Selection) -> Result<Vec<BenchCase>, Failure> {
    let mut cases = bench::cases(args.quick, args.steps);
    let side_by_side = |case: &BenchCase| args.mode.is_empty() && case.mode != DepthMode::Auto;
    cases.retain(|case| selection.takes(case) && (args.engines.is_empty() || !side_by_side(case)));
    let mut engines: Vec<EngineRequest> = Vec::new();
    for engine in args.engines.iter().copied().flatten() {
        if !engines.contains(engine) {
            engines.push(*engine);
        }
    }
    if !engines.is_empty() {
        cases = cases.into_iter().flat_map(|case| case.on_each(&engines)).collect();
    }
    if cases.is_empty() { Err(BenchError::NothingLeft.into()) } else { Ok(cases) }
}

/// Those results of a file that are wanted.
fn read(path: &Path, selection: &Selection) -> Result<Results, Failure> {
    let mut results = json::read(path)?;
    results.rows.retain(|row| selection.takes(&row.case));
    if results.rows.is_empty() {
        return Err(BenchError::NothingLeftOf { path: path.to_owned() }.into());
    }
    Ok(results)
}

/// What was recorded, nothing measured.
fn show(args: &BenchArgs, targets: &Targets, results: &Results) -> Result<(), Failure> {
    targets.update(results)?;
    targets.finish(results)?;
    match targets.stdout {
        Some(render) => print(&render(results))?,
        None if args.quiet => {}
        None => print(&table::render(results))?,
    }
    Ok(())
}

/// Two files, nothing measured.
fn compare_files(
    args: &BenchArgs,
    (old_path, old): &(PathBuf, Results),
    (new_path, new): &(PathBuf, Results),
) -> Result<(), Failure> {
    let comparison = compare(old, new, args.threshold);
    if comparison.in_common() == 0 {
        let (old, new) = (old_path.clone(), new_path.clone());
        return Err(BenchError::NothingInCommon { old, new }.into());
    }
    if !args.quiet {
        print(&comparison.render())?;
    }
    fail_if_worse(&comparison, old_path)
}

fn fail_if_worse(comparison: &Comparison, old: &Path) -> Result<(), Failure> {
    match comparison.worse() {
        0 => Ok(()),
        worse => {
            let of = comparison.pairs.len();
            Err(BenchError::Worse { worse, of, old: old.to_owned() }.into())
        }
    }
}

impl BenchArgs {
    fn selection(&self) -> Selection {
        Selection {
            workloads: self.stencil.clone(),
            dtypes: self.dtype.clone(),
            modes: self.mode.clone(),
            size_limit: self.size_limit,
        }
    }
}

/// The text of results.
type Text = fn(&Results) -> String;

/// A form of the results.
#[derive(Clone, Copy)]
enum Form {
    Text(Text),
    Chart(chart::ImageFormat),
}

impl Form {
    fn bytes(self, results: &Results) -> Vec<u8> {
        match self {
            Self::Text(render) => render(results).into_bytes(),
            Self::Chart(format) => chart::render(results, format),
        }
    }
}

/// Where results go.
struct Targets {
    files: Vec<(Output, Form)>,
    /// Instead of the table.
    stdout: Option<Text>,
}

impl Targets {
    /// Checks that the files can be written, before anything is measured, and that none is named
    /// twice.
    fn new(args: &BenchArgs) -> Result<Self, Failure> {
        let mut files = CommandFiles::default();
        files.reads("--compare", args.compare.as_deref())?;
        files.reads("--from", args.from.as_deref())?;
        let json = files.writes_or_prints("--json", args.json.as_deref())?;
        let csv = files.writes_or_prints("--csv", args.csv.as_deref())?;
        let mut targets = Self { files: Vec::new(), stdout: None };
        for (destination, render) in [(json, json::render as Text), (csv, csv::render)] {
            match destination {
                None => {}
                Some(Destination::Stdout) => targets.stdout = Some(render),
                Some(Destination::File(file)) => targets.files.push((file, Form::Text(render))),
            }
        }
        for path in &args.chart {
            let format = chart::ImageFormat::of(path).expect("the option takes no others");
            let file = files.writes("--chart", Some(path))?;
            targets.files.extend(file.map(|file| (file, Form::Chart(format))));
        }
        Ok(targets)
    }

    /// Replaces the files; a pipe cannot take anything back and waits for the end.
    fn update(&self, results: &Results) -> Result<(), Error> {
        self.write(results, |output| !output.is_special())
    }

    fn finish(&self, results: &Results) -> Result<(), Error> {
        self.write(results, Output::is_special)
    }

    fn write(&self, results: &Results, which: impl Fn(&Output) -> bool) -> Result<(), Error> {
        for (output, form) in self.files.iter().filter(|(output, _)| which(output)) {
            output.write(|to| to.write_all(&form.bytes(results)))?;
        }
        Ok(())
    }
}
