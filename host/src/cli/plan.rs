// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan`: which engine and kernel a job is fastest on, and what the transformation does to a stencil.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use transform::Stencil;
use transform::explore::Request;
use transform::factors::Factors;
use transform::machine::Machine;
use transform::plan::{self as layout, LayoutPlan, PlanError};

use super::choice::one_of;
use super::files::{CommandFiles, Destination};
use super::list::SumDetail;
use super::number::whole;
use super::options::SumOnlyOption;
use super::stencil_args::load;
use super::{Failure, remedy, warn};
use compute::families::Refusal;
use compute::plan::{self, Planned, RunTarget};
use compute::run::checked;
use files::io::machine;
use problem::{Boundary, Dtype, Error, Job, Shape};
use scale::{ScaleArgs, Scaled};
use system::SystemPlan;
use systems::families::Hardware;

mod explain;
mod markdown;
mod picture;
mod ranking;
mod scale;
mod summary;
mod system;

const EXAMPLES: &str = "\
Examples:
  host plan star2d3r
  host plan star2d3r --text --explain
  host plan --weights mine.toml --stencil smooth --dtype tf32 --fuse 3 --png smooth.png
  host plan heat-2d --size 512 --dtype f64 --steps 10000 --boundary periodic --machine this
  host plan box3d1r --size 512x512x512 --machine a100 --json plan.json
  host plan heat-3d --size 4096 --dtype f32 --gpus 1024 --nodes 256
  host plan heat-3d --size 1024 --dtype f32 --gpus 512 --weak --network ours.toml
  host plan wave.toml --size 4096

A' is the stencil as a matrix. A'' is A' with its columns in another order, and columns of zeros, so
that sparse tensor cores can multiply it.

Exit codes: 0 done, 2 bad input, 3 no GPU, driver or GPU kernels (--machine this with --all, --text
or --png), 5 a file could not be read or written.";

/// Which engine and kernel is fastest, and what the transformation does to a stencil.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PlanArgs {
    #[command(flatten)]
    which: PlannedStencils,
    /// Points of the grid: N on every axis, or one number per axis, slowest first [default: 100000000 in 1D, 10240
    /// in 2D, 1024 in 3D; of a system, those of its file]
    #[arg(long, value_name = "N|NYxNX|NZxNYxNX", allow_hyphen_values = true)]
    size: Option<String>,
    /// Type in which values are stored [default: f16, also where `host run` takes f32; of a system, that of its
    /// file]. f32 and f64 have no layout for tensor cores
    #[arg(long, value_name = "TYPE", ignore_case = true, value_parser = one_of::<Dtype>())]
    dtype: Option<Dtype>,
    /// Number of time steps of the run [default: 1000; of a system, that of its file]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = whole::<usize>)]
    steps: Option<usize>,
    /// What lies around the grid, as in `host run --boundary`
    #[arg(long, value_name = "KIND", default_value = "zero", allow_hyphen_values = true)]
    boundary: String,
    /// Compute at most this many time steps as one sum in the layout that is shown
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    fuse: u8,
    /// Machine to plan for: this (the GPU and CPU of this machine), h200, h100, a100, or a JSON file that describes
    /// a GPU, as `host doctor --measure --output FILE` writes it
    #[arg(long, value_name = "GPU|FILE", default_value = "h200")]
    machine: String,
    /// Print all ways with their reasons, and of a stencil all layouts that were compared, ranked, with the reasons
    /// of those that were not taken
    #[arg(long)]
    explain: bool,
    /// Draw the matrices A' and A'' and the order of columns as text
    #[arg(long)]
    text: bool,
    /// Draw the matrices A' and A'' and the order of columns into this PNG file
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Write the plan as JSON to this file, with the stencil's offsets, weights and formula; - prints it in place
    /// of the readable plan
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    scale: ScaleArgs,
}

/// A stencil by name or weights from a file, or the catalogue.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
struct PlannedStencils {
    /// Name of a stencil, such as star2d3r (`host list` prints all), or with --weights FILE.toml of a stencil in
    /// that file; or the .toml file of a system of fields, for which --size, --steps, --dtype, --machine, --explain
    /// and --json work
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Name of a stencil, given as an option instead of NAME
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    stencil: Option<String>,
    /// File with weights of your own: a .npy array of 1 to 3 axes with odd extents, or a .toml file with a table
    /// for each stencil, of `offsets` and `weights`, or of `dense`
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Print the catalogue as Markdown: all stencils, and what is planned for each
    #[arg(long, conflicts_with_all = ["name", "stencil", "weights", "explain", "text", "png", "json", "size", "boundary"])]
    all: bool,
}

/// Runs the command and returns what it prints.
///
/// # Errors
/// The stencil, the size or the machine is no good, there is no layout, or a file cannot be written.
pub fn run(args: &PlanArgs, only: Option<SumOnlyOption>) -> Result<String, Failure> {
    let mut files = CommandFiles::default();
    files.reads("--weights", args.which.weights.as_deref())?;
    files.reads("--machine", machine_file(&args.machine))?;
    files.reads("--network", args.scale.file())?;
    let png = files.writes("--png", args.png.as_deref())?;
    let json = files.writes_or_prints("--json", args.json.as_deref())?;

    let here = args.machine.eq_ignore_ascii_case(THIS);
    let target =
        if here { RunTarget::here() } else { machine(&args.machine).map(RunTarget::described) };
    // On this machine, what it computes without a GPU is ranked, too.
    let target = if here { target } else { Ok(target?) };
    let most_steps = usize::from(args.fuse);
    let (dtype, steps) = (args.dtype.unwrap_or(Dtype::F16), args.steps.unwrap_or(STEPS));
    let element = dtype.factors().and_then(Factors::element);
    if args.which.all {
        let element = element.ok_or_else(|| no_layout(dtype))?;
        let target = target.map_err(Failure::NoTarget)?;
        return markdown::catalogue(element, dtype, &target, [most_steps, steps]);
    }
    let system = args.which.system().map(|path| system::read(path, args)).transpose()?;
    let of_system = system.as_ref().map(systems::sum::job);
    if let Some((system, Err(why))) = system.as_ref().zip(of_system.as_ref()) {
        if let Some(option) = only {
            return Err(option.refuse(why.clone()));
        }
        let hardware = match target {
            Ok(RunTarget { machine, .. }) if !here => Hardware::described(machine),
            _ => Hardware::here(),
        };
        let planned = SystemPlan::new(system, &hardware);
        let as_json = serde_json::to_string_pretty(&planned).expect("a plan is plain data") + "\n";
        match json {
            Some(Destination::Stdout) => return Ok(as_json),
            Some(Destination::File(file)) => file.write(|to| to.write_all(as_json.as_bytes()))?,
            None => {}
        }
        return Ok(planned.readable(args.explain));
    }
    let job = match of_system {
        Some(job) => job.expect("others are planned above"),
        None => {
            let stencil = args.which.load()?;
            let shape = match &args.size {
                Some(size) => size.parse::<Shape>()?.spread(stencil.dims())?,
                None => default_shape(stencil.dims())?,
            };
            let boundary = Boundary::parse(&args.boundary, stencil.dims())?;
            Job { boundary, ..Job::new(stencil, shape, dtype, steps) }
        }
    };
    let job = checked(job)?;
    let (shape, dtype, sum) = (job.shape, job.dtype, SumDetail::of(&job.stencil));
    let element = dtype.factors().and_then(Factors::element);
    let drawn = args.text || png.is_some();
    let layout = match (element, &target) {
        (Some(element), Ok(RunTarget { machine, .. })) => {
            let (stencil, extents) = (&job.stencil, shape.extents());
            let request = Request { stencil, extents, element, machine, most_steps };
            match layout::plan(&request) {
                // Other engines may take it.
                Err(PlanError::NoLayout { .. }) if !drawn => None,
                layout => Some(layout?),
            }
        }
        _ if !drawn && most_steps == 1 => None,
        (None, _) => return Err(no_layout(dtype).into()),
        (Some(_), Err(_)) => return Err(Failure::NoTarget(target.expect_err("there is no GPU"))),
    };
    if let Some(why) = target.as_ref().ok().and_then(|target| target.stale_speeds.as_deref()) {
        warn(&remedy::of_stale_speeds(why));
    }
    let scaled = match &target {
        Ok(target) => {
            args.scale.predict(&job, target)?.map(|scaled| (scaled.render(&job, target), scaled))
        }
        Err(_) if args.scale.asked().is_some() => {
            return Err(Failure::NoTarget(target.expect_err("there is no GPU")));
        }
        Err(_) => None,
    };
    let planned = match target {
        Ok(target) if !here => plan::on_gpu(&target, &job),
        target => plan::on_this_machine(target.map_err(Refusal::of), &job),
    };

    if let Some((file, layout)) = png.zip(layout.as_ref()) {
        let image = picture::png(layout);
        file.write(|to| to.write_all(&image))?;
    }
    let (text, scaled) = match scaled {
        Some((text, scaled)) => (text, Some(scaled)),
        None => (readable(args, &planned, layout.as_ref(), (shape, dtype)), None),
    };
    let as_json = as_json(&sum, &planned, layout.as_ref(), scaled.as_ref());
    match json {
        Some(Destination::Stdout) => return Ok(as_json),
        Some(Destination::File(file)) => file.write(|to| to.write_all(as_json.as_bytes()))?,
        None => {}
    }
    Ok(text)
}

/// The layout, the stencil and the ranking; of many GPUs that, too.
fn as_json(
    sum: &SumDetail,
    planned: &Planned,
    layout: Option<&LayoutPlan>,
    scaled: Option<&Scaled>,
) -> String {
    let mut fields = layout.map(object).unwrap_or_default();
    fields.extend(object(sum));
    fields.extend(object(planned));
    fields.extend(scaled.map(|scaled| ("scale".to_owned(), object(scaled).into())));
    serde_json::to_string_pretty(&fields).expect("a plan is plain data") + "\n"
}

/// The fields of a plain value.
fn object(plain: &impl Serialize) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(plain) {
        Ok(serde_json::Value::Object(fields)) => fields,
        other => unreachable!("a struct of plain data: {other:?}"),
    }
}

fn no_layout(dtype: Dtype) -> Error {
    let reason = format!("{dtype} has no layout for tensor cores: f16, bf16 and tf32 have");
    Error::Unsupported { engine: "sparse", reason }
}

fn readable(
    args: &PlanArgs,
    planned: &Planned,
    layout: Option<&LayoutPlan>,
    (shape, dtype): (Shape, Dtype),
) -> String {
    let mut text = match layout {
        Some(layout) => summary::render(layout, shape),
        None => format!("{shape} in {dtype}, for {}\n", planned.machine),
    };
    text += &ranking::render(planned, args.explain);
    if let Some(layout) = layout {
        if args.text {
            text += &picture::text(layout);
        }
        if args.explain {
            text += &explain::render(layout);
        }
    }
    text
}

impl PlannedStencils {
    /// The file of a system of fields, if one is named in the place of a stencil.
    fn system(&self) -> Option<&Path> {
        let name = self.name.as_deref().or(self.stencil.as_deref())?;
        (self.weights.is_none() && super::system::is_file(name)).then(|| Path::new(name))
    }

    fn load(&self) -> Result<Stencil, Failure> {
        load(self.name.as_deref().or(self.stencil.as_deref()), self.weights.as_deref())
    }
}

/// Steps of a run of a stencil.
const STEPS: usize = 1000;

/// A grid that is large enough to be worth a GPU.
fn default_shape(dims: usize) -> Result<Shape, Error> {
    let extents: &[usize] = match dims {
        1 => &[100_000_000],
        2 => &[10_240; 2],
        _ => &[1024; 3],
    };
    Shape::new(extents)
}

/// The name of this machine.
const THIS: &str = "this";

/// A GPU by name, or as its JSON file describes it.
fn machine(name: &str) -> Result<Machine, Error> {
    if let Some(machine) = built_in(name) {
        return Ok(machine);
    }
    let path = Path::new(name);
    machine::read(path).map(|described| described.machine).map_err(|error| match error {
        Error::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let reason = "there is no such file, and no machine of that name is built in".into();
            Error::Machine { path: path.to_owned(), reason }
        }
        other => other,
    })
}

/// The file that describes a machine, if none is built in under that name.
fn machine_file(name: &str) -> Option<&Path> {
    let is_file = built_in(name).is_none() && !name.eq_ignore_ascii_case(THIS);
    is_file.then_some(Path::new(name))
}

fn built_in(name: &str) -> Option<Machine> {
    Machine::find(&name.to_ascii_lowercase())
}
