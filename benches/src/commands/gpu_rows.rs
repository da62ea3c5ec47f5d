// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times the kernels on row windows on a GPU over their launch configurations: the harness behind
//! `Config::tuned` of `stencil::families::{line1d, wide2d}`. Every line is checked against the f64 stencil
//! at random points before it is printed; the copy is measured in the same run.

use crate::{Harness, Setup, error, random_stencil};
use clap::Args;
use stencil::device::Gpu;
use stencil::families::Pass;
use stencil::families::line1d::{self, Line1d};
use stencil::families::wide2d::{self, Wide};
use stencil::{Error, Shape};
use transform::Stencil;
use transform::row_operand::row_operand;

/// Times the sweeps in 1D, and those of many rows in 2D.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    setup: Setup,
    /// Points of a 1D grid, to time the sweep in 1D instead of that in 2D
    #[arg(long, value_name = "N")]
    points: Option<usize>,
    /// 2D: stages of the ring
    #[arg(long, value_delimiter = ',', default_value = "5")]
    stages: Vec<u32>,
    /// 2D: rows of a tile; 0 for those that keep all blocks busy
    #[arg(long, value_delimiter = ',', default_value = "0")]
    rows: Vec<u32>,
    /// 1D: threads of a block
    #[arg(long, value_delimiter = ',', default_value = "256")]
    threads: Vec<u32>,
    /// Blocks for each multiprocessor
    #[arg(long, value_delimiter = ',', default_value = "1")]
    blocks: Vec<u32>,
    /// 1D: launches wait for each other
    #[arg(long)]
    apart: bool,
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    let shape = match arguments.points {
        None => arguments.setup.square()?,
        Some(points) => Shape::new(&[points])?,
    };
    let mut harness = Harness::new(&arguments.setup, shape)?;
    for &radius in &arguments.setup.radius {
        let stencil = stencil(&arguments, radius);
        for configured in configurations(&arguments) {
            let pass = match configured.pass(&arguments, &harness.gpu, &stencil, shape) {
                Ok(pass) => pass,
                Err(reason) => {
                    println!("r={radius} {configured:?}: {reason}");
                    continue;
                }
            };
            let (output, speed) = harness.measure(pass.as_ref())?;
            let error = error(&stencil, &harness.grid, &output);
            let of_copy = harness.of_copy(speed);
            println!(
                "r={radius} {configured:?}: {speed:7.1} GStencil/s, {of_copy:.3} of copy, \
                 relative error {error:.1e}"
            );
        }
    }
    Ok(())
}

/// Random weights: the middle row of a box in 1D.
fn stencil(arguments: &Arguments, radius: usize) -> Stencil {
    let square = random_stencil(radius, arguments.setup.dtype);
    if arguments.points.is_none() {
        return square;
    }
    let row = square.taps().iter().filter(|tap| tap.offset[1] == 0).copied().collect();
    Stencil::new("random", 1, row).expect("a row of a valid box")
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
enum Configured {
    Line(line1d::Config),
    Wide(wide2d::Config),
}

fn configurations(arguments: &Arguments) -> Vec<Configured> {
    let Arguments { points, stages, rows, threads, blocks, apart, .. } = arguments;
    let each = |one: &[u32], other: &[u32]| -> Vec<(u32, u32)> {
        one.iter().flat_map(|&a| other.iter().map(move |&b| (a, b))).collect()
    };
    let mut all = Vec::new();
    for &blocks_per_multiprocessor in blocks {
        if points.is_some() {
            all.extend(threads.iter().map(|&threads| {
                let overlap = !apart;
                Configured::Line(line1d::Config { threads, blocks_per_multiprocessor, overlap })
            }));
        } else {
            all.extend(each(stages, rows).into_iter().map(|(stages, rows)| {
                let tile_rows = (rows > 0).then_some(rows);
                Configured::Wide(wide2d::Config { stages, blocks_per_multiprocessor, tile_rows })
            }));
        }
    }
    all
}

impl Configured {
    fn pass(
        self,
        arguments: &Arguments,
        gpu: &Gpu,
        stencil: &Stencil,
        shape: Shape,
    ) -> Result<Box<dyn Pass>, Error> {
        let element = arguments.setup.element()?;
        let [_, ny, nx] = shape.extents().map(|extent| extent as u32);
        Ok(match self {
            Self::Line(config) => {
                let operand = row_operand(stencil, 0, element).expect("radius 1 to 7");
                Box::new(Line1d::new(gpu, &operand, nx, config)?)
            }
            Self::Wide(config) => {
                let operand = wide2d::operand(stencil, element).expect("radius 1 to 7");
                Box::new(Wide::new(gpu, &operand, ny, nx, config)?)
            }
        })
    }
}
