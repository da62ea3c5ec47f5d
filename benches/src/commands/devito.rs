// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPU engine beside Devito. Needs Python 3, gcc, and PyPI the first time; no GPU.

use crate::devito::{Case, Comparison, Environment, RELEASE, compare};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};
use stencil::{Dtype, Shape};

/// Run stencils on the CPU engine and with Devito in turns, and print the speeds of both and of a copy
///
/// Devito is installed into a virtual environment under target/ the first time. Before it is timed, both
/// results are compared. Medians of the turns; best speeds tell more on a machine that others use, too.
///
/// Exit codes: 0 done, 1 Python, gcc or Devito failed or both disagree, 2 bad arguments.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Stencils to run one step of; by default those of the documentation
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "star2d3r,box2d1r,box2d3r,star3d1r,box3d1r"
    )]
    single: Vec<String>,
    /// Stencils to run many steps of
    #[arg(long, value_delimiter = ',', default_value = "star2d1r,star3d1r")]
    many: Vec<String>,
    /// How many steps that is
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..))]
    steps: u32,
    /// Points along each axis of grids in 1D, 2D and 3D
    #[arg(long, value_delimiter = ',', default_value = "16777216,4096,256")]
    sizes: Vec<usize>,
    /// Element types: f32, f64
    #[arg(long, value_delimiter = ',', default_value = "f32,f64", value_parser = dtype)]
    dtype: Vec<Dtype>,
    /// Turns, of which the median counts
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Folder of the virtual environment
    #[arg(long, value_name = "FOLDER")]
    environment: Option<PathBuf>,
}

/// A type that Devito has.
fn dtype(text: &str) -> Result<Dtype, String> {
    match text.parse() {
        Ok(dtype @ (Dtype::F32 | Dtype::F64)) => Ok(dtype),
        _ => Err("Devito computes in f32 and f64".into()),
    }
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<()> {
    let cases = cases(&arguments)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no folder above")?;
    let folder = arguments.environment.clone().unwrap_or_else(|| root.join("target/devito"));
    let environment = Environment::set_up(&folder)?;
    println!(
        "{} and Devito {RELEASE} (openmp, advanced), in turns",
        stencil::engine::cpu::device()
    );
    println!("GStencil/s; of the copy, 10^9 points a second, each read and written once");
    println!("{}", Comparison::HEADER);
    for case in &cases {
        println!("{}", compare(&environment, case, arguments.turns as usize)?);
    }
    Ok(())
}

/// All that is to be run.
fn cases(arguments: &Arguments) -> Result<Vec<Case>> {
    let many = arguments.many.iter().map(|stencil| (stencil, arguments.steps as usize));
    let runs: Vec<_> = arguments.single.iter().map(|stencil| (stencil, 1)).chain(many).collect();
    let mut cases = Vec::new();
    for &dtype in &arguments.dtype {
        for &(stencil, steps) in &runs {
            let known = transform::catalogue::find(stencil).with_context(|| {
                format!("no stencil is called {stencil:?}; `host list` has their names")
            })?;
            let extent = arguments.sizes.get(known.dims() - 1);
            let extent = *extent.context("--sizes has a number for each of 1D, 2D and 3D")?;
            let shape = Shape::new(&vec![extent; known.dims()])?;
            cases.push(Case { stencil: stencil.clone(), dtype, shape, steps });
        }
    }
    Ok(cases)
}
