// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times the register-window sweep on a GPU over its launch configurations: the harness behind
//! `Config::tuned`. Every line is checked against the f64 stencil at random points and in the
//! corners before it is printed; the copy is measured in the same run.

use crate::{Harness, Setup, error, random_stencil, worst_error};
use clap::Args;
use stencil::Error;
use stencil::check::seams::Seams;
use stencil::device::Device;
use stencil::families::Fields;
use stencil::families::Pass;
use stencil::families::sweep2d::{Config, Sweep2d, Wavefronts};
use stencil::problem::region::Region;
use transform::window;

/// Steps of one launch that are compared with as many launches.
const STEPS: usize = 9;

/// Times the 2D sweep over launch configurations.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    setup: Setup,
    /// Stages of the ring
    #[arg(long, value_delimiter = ',', default_value = "4")]
    stages: Vec<u32>,
    /// Blocks on each multiprocessor
    #[arg(long, value_delimiter = ',', default_value = "2")]
    blocks: Vec<u32>,
    /// Rows of a tile
    #[arg(long, value_delimiter = ',', default_value = "26")]
    rows: Vec<u32>,
    /// Steps of a wavefront
    #[arg(long, value_delimiter = ',', default_value = "1")]
    depth: Vec<u32>,
    /// Rows of tiles from a step of a wavefront to the next; unless given, what the blocks are at work on
    #[arg(long)]
    lag: Option<u32>,
    /// Launch every step by itself
    #[arg(long)]
    separate: bool,
}

/// A pass that is always launched by itself.
struct Separate<'a>(&'a dyn Pass);

impl Pass for Separate<'_> {
    fn launch(&self, device: &dyn Device, fields: Fields, region: Region) -> Result<(), Error> {
        self.0.launch(device, fields, region)
    }

    fn seams(&self) -> Seams {
        self.0.seams()
    }
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    let mut harness = Harness::new(&arguments.setup, arguments.setup.square()?)?;
    let Setup { size, dtype, .. } = arguments.setup;
    let factors = arguments.setup.factors()?;
    for &radius in &arguments.setup.radius {
        let stencil = random_stencil(radius, dtype);
        let window = window::window(&stencil).expect("radius 1 to 3");
        for &stages in &arguments.stages {
            for &blocks_per_multiprocessor in &arguments.blocks {
                let depths = |rows| arguments.depth.iter().map(move |depth| (rows, depth));
                for (&tile_rows, &depth) in arguments.rows.iter().flat_map(depths) {
                    let config = Config { stages, blocks_per_multiprocessor, tile_rows };
                    let wavefronts =
                        Wavefronts { config, depth, lag: arguments.lag, separate: false };
                    let (gpu, extents) = (&harness.gpu, [size, size]);
                    let sweep =
                        match Sweep2d::new(gpu, &window, factors, extents, config, wavefronts) {
                            Ok(sweep) => sweep,
                            Err(reason) => {
                                println!("r={radius} {config:?}: {reason}");
                                continue;
                            }
                        };
                    let separate = Separate(&sweep);
                    let pass: &dyn Pass = if arguments.separate { &separate } else { &sweep };
                    let (output, speed) = harness.measure(pass)?;
                    let error = error(&stencil, &harness.grid, &output);
                    let worst = worst_error(&stencil, &harness.grid, &output);
                    // In one launch or in many: the same sums, in the same order.
                    let same = harness.after(&sweep, STEPS)? == harness.after(&separate, STEPS)?;
                    let error = if same { error } else { f64::INFINITY };
                    println!(
                        "r={radius} stages {stages} blocks {blocks_per_multiprocessor} \
                         rows {tile_rows:3} depth {depth}: \
                         {:7.1} GStencil/s, {:.3} of copy, relative error {error:.1e}, at most \
                         {worst:.1e} of sum |w||x|",
                        speed,
                        harness.of_copy(speed)
                    );
                }
            }
        }
    }
    Ok(())
}
