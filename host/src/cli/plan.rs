// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan`: what the transformation does to a stencil.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use cuda_mma::fragment::Element;
use transform::Stencil;
use transform::explore::Request;
use transform::machine::Machine;
use transform::plan::{Plan, plan};

use super::stencil_args::load;
use crate::io::{CommandFiles, Destination, machine};
use crate::{Error, Shape};

mod explain;
mod markdown;
mod picture;
mod summary;

const EXAMPLES: &str = "\
Examples:
  host plan star2d3r
  host plan star2d3r --text --explain
  host plan --weights mine.toml --stencil smooth --dtype tf32 --fuse 3 --png smooth.png
  host plan box3d1r --size 512x512x512 --machine a100 --json plan.json

A' is the stencil as a matrix, A'' the same with its columns permuted so that sparse tensor cores can
take it; columns of zeros fill what the permutation leaves open.

Exit codes: 0 done, 2 bad input, 5 a file could not be read or written.";

/// What the transformation does to a stencil, and what to expect of it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PlanArgs {
    #[command(flatten)]
    which: Which,
    /// Points per axis, as N, NYxNX or NZxNYxNX [default: 100000000 in 1D, 10240 in 2D, 1024 in 3D]
    #[arg(long, value_name = "N|NYxNX|NZxNYxNX", allow_hyphen_values = true)]
    size: Option<String>,
    /// Type of the products on tensor cores
    #[arg(long, value_name = "TYPE", default_value = "f16", ignore_case = true)]
    dtype: Product,
    /// Time steps that one sweep may do at most
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    fuse: u8,
    /// The GPU to plan for: h200, a100, or a JSON file that describes one, such as `host doctor
    /// --measure --output FILE` writes
    #[arg(long, value_name = "GPU|FILE", default_value = "h200")]
    machine: String,
    /// Print every layout that was worked out, ranked, and why others were not taken; tiles that could
    /// not beat the best even without zero columns are among the others
    #[arg(long)]
    explain: bool,
    /// Draw A', A'' and the permutation as text
    #[arg(long)]
    text: bool,
    /// Draw A', A'' and the permutation into a PNG file
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Write the plan as JSON; - prints it instead of the readable one
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A stencil by name or weights from a file, or the catalogue.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
struct Which {
    /// A named stencil, such as star2d3r; `host list` prints them all. With --weights FILE.toml, the
    /// stencil of that name in the file
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The same
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    stencil: Option<String>,
    /// Your own weights: a dense .npy array of 1 to 3 axes with odd extents, or a .toml file, a table
    /// for each stencil with `offsets` and `weights`, or with `dense`
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Every kernel of the catalogue, as a Markdown table
    #[arg(long, conflicts_with_all = ["name", "stencil", "weights", "explain", "text", "png", "json", "size"])]
    all: bool,
}

/// The type of the products.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Product {
    /// f16 values
    F16,
    /// bf16 values
    Bf16,
    /// f32 values, rounded to tf32 in the product
    Tf32,
}

impl From<Product> for Element {
    fn from(product: Product) -> Self {
        match product {
            Product::F16 => Self::F16,
            Product::Bf16 => Self::Bf16,
            Product::Tf32 => Self::Tf32,
        }
    }
}

/// Runs the command and returns what it prints.
///
/// # Errors
/// The stencil, the size or the machine is no good, there is no layout, or a file cannot be written.
pub fn run(args: &PlanArgs) -> Result<String, Error> {
    let mut files = CommandFiles::default();
    files.reads("--weights", args.which.weights.as_deref())?;
    files.reads("--machine", machine_file(&args.machine))?;
    let png = files.writes("--png", args.png.as_deref())?;
    let json = files.writes_or_prints("--json", args.json.as_deref())?;

    let machine = machine(&args.machine)?;
    let (element, most_steps) = (args.dtype.into(), usize::from(args.fuse));
    if args.which.all {
        return markdown::catalogue(element, &machine, most_steps);
    }
    let stencil = args.which.load()?;
    let shape = match &args.size {
        Some(size) => size.parse::<Shape>()?.spread(stencil.dims())?,
        None => default_shape(stencil.dims())?,
    };
    let extents = shape.extents();
    let request = Request { stencil: &stencil, extents, element, machine: &machine, most_steps };
    let plan = plan(&request)?;

    if let Some(file) = png {
        let image = picture::png(&plan);
        file.write(|to| to.write_all(&image))?;
    }
    let as_json = serde_json::to_string_pretty(&plan).expect("a plan is plain data") + "\n";
    match json {
        Some(Destination::Stdout) => return Ok(as_json),
        Some(Destination::File(file)) => file.write(|to| to.write_all(as_json.as_bytes()))?,
        None => {}
    }
    Ok(readable(args, &plan, shape))
}

fn readable(args: &PlanArgs, plan: &Plan, shape: Shape) -> String {
    let mut text = summary::render(plan, shape);
    if args.text {
        text += &picture::text(plan);
    }
    if args.explain {
        text += &explain::render(plan);
    }
    text
}

impl Which {
    fn load(&self) -> Result<Stencil, Error> {
        load(self.name.as_deref().or(self.stencil.as_deref()), self.weights.as_deref())
    }
}

/// A grid that is large enough to be worth a GPU.
fn default_shape(dims: usize) -> Result<Shape, Error> {
    let extents: &[usize] = match dims {
        1 => &[100_000_000],
        2 => &[10_240; 2],
        _ => &[1024; 3],
    };
    Shape::new(extents)
}

/// A machine by name, or as its JSON file describes it.
fn machine(name: &str) -> Result<Machine, Error> {
    if let Some(machine) = built_in(name) {
        return Ok(machine);
    }
    let path = Path::new(name);
    machine::read(path).map_err(|error| match error {
        Error::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let reason = "there is no such file, and no machine of that name is built in".into();
            Error::Machine { path: path.to_owned(), reason }
        }
        other => other,
    })
}

/// The file that describes a machine, if none is built in under that name.
fn machine_file(name: &str) -> Option<&Path> {
    built_in(name).is_none().then_some(Path::new(name))
}

fn built_in(name: &str) -> Option<Machine> {
    match name.to_ascii_lowercase().as_str() {
        "h200" => Some(Machine::h200()),
        "a100" => Some(Machine::a100()),
        _ => None,
    }
}
