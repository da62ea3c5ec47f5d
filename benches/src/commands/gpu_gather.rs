// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times the gather kernels on a GPU over their launch configurations: the harness behind
//! `Config::tuned` of `stencil::families::gather`. Every line is checked against the f64 stencil at random
//! points before it is printed; the copy, and if asked the kernel on CUDA cores, are measured in the same
//! run.

use crate::{Harness, Setup, error};
use clap::Args;
use stencil::device::Device as _;
use stencil::families::direct::{Direct, Variant};
use stencil::families::gather::{Config, Gathered};
use stencil::{Boundary, Error, Shape};
use transform::catalogue;
use transform::gather::{OutputTile, gather_tiles};

/// Times the gather over launch configurations.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    setup: Setup,
    /// Extents of the grid, if it is not a square
    #[arg(long, value_delimiter = ',')]
    extents: Vec<usize>,
    /// Names of stencils
    #[arg(long, value_delimiter = ',', default_value = "star2d3r,box2d8r")]
    stencil: Vec<String>,
    /// The outputs of a product's column: 1x16, 2x8 or both
    #[arg(long, value_delimiter = ',', value_parser = tile, default_value = "1x16,2x8")]
    tile: Vec<OutputTile>,
    /// Units of a block, such as 4x2 (down and across); otherwise the tuned ones
    #[arg(long, value_delimiter = ',', value_parser = units)]
    units: Vec<[u32; 2]>,
    /// Stages of the ring beyond the planes that the weights reach; 0 for the tuned ones
    #[arg(long, value_delimiter = ',', default_value = "0")]
    ahead: Vec<u32>,
    /// Warps of a block that compute; 0 for the tuned ones
    #[arg(long, value_delimiter = ',', default_value = "0")]
    warps: Vec<u32>,
    /// Blocks on each multiprocessor; 0 for the tuned ones
    #[arg(long, value_delimiter = ',', default_value = "0")]
    blocks: Vec<u32>,
    /// Time the kernel on CUDA cores, too
    #[arg(long)]
    direct: bool,
}

fn tile(text: &str) -> Result<OutputTile, String> {
    let found = OutputTile::ALL.into_iter().find(|tile| tile.to_string() == text);
    found.ok_or_else(|| "a tile is 1x16 or 2x8".into())
}

fn units(text: &str) -> Result<[u32; 2], String> {
    let parsed = text
        .split_once('x')
        .and_then(|(down, across)| Some([down.parse().ok()?, across.parse().ok()?]));
    parsed.ok_or_else(|| "units are such as 4x2".into())
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    let shape = match &*arguments.extents {
        [] => arguments.setup.square()?,
        extents => Shape::new(extents)?,
    };
    let (element, dtype) = (arguments.setup.element()?, arguments.setup.dtype);
    let mut harness = Harness::new(&arguments.setup, shape)?;
    let most = harness.gpu.shared_bytes();
    for name in &arguments.stencil {
        let stencil = catalogue::find(name).expect("the name of a stencil");
        let stencil = dtype.round_weights(&stencil);
        if arguments.direct {
            let boundary = Boundary::default();
            let direct = Direct::new(
                &harness.gpu,
                Variant::new(&stencil, &boundary, shape, dtype),
                shape,
                dtype,
            )?;
            let (output, speed) = harness.measure(&direct)?;
            let error = error(&stencil, &harness.grid, &output);
            let of_copy = harness.of_copy(speed);
            println!(
                "{name} CUDA cores: {speed:7.1} GStencil/s, {of_copy:.3} of copy, relative error {error:.1e}"
            );
        }
        for &tile in &arguments.tile {
            let gather = gather_tiles(&stencil, element, tile).expect("radius up to 8");
            let tuned = Config::tuned(&gather.footprint, gather.steps.len(), shape, most);
            let waves = gather.wavefronts(tuned.pitch(&gather.footprint, shape));
            let mut done: Vec<Config> = Vec::new();
            for config in configs(&arguments, tuned, gather.footprint.extent[0] as u32) {
                if done.contains(&config) {
                    continue;
                }
                done.push(config);
                let Config { tile: [down, across], stages, warps, .. } = config;
                let blocks = config.blocks_per_multiprocessor;
                let line = format!(
                    "{name} {tile}, {} steps, {waves} wavefronts, {down}x{across} units, {stages} \
                     stages, {warps} warps, {blocks} blocks",
                    gather.steps.len()
                );
                let pass = match Gathered::new(&harness.gpu, &gather, shape, config) {
                    Ok(pass) => pass,
                    Err(reason) => {
                        println!("{line}: {reason}");
                        continue;
                    }
                };
                let (output, speed) = harness.measure(&pass)?;
                let error = error(&stencil, &harness.grid, &output);
                let (launch, blocks) = pass.shape();
                println!(
                    "{line} ({blocks}), segment {}, {} bytes: {speed:7.1} GStencil/s, {:.3} of copy, \
                     relative error {error:.1e}",
                    launch.segment,
                    launch.shared_bytes(),
                    harness.of_copy(speed),
                );
            }
        }
    }
    Ok(())
}

/// The tuned configuration with what was asked for instead.
fn configs(arguments: &Arguments, tuned: Config, planes: u32) -> Vec<Config> {
    let or = |asked: u32, tuned: u32| if asked == 0 { tuned } else { asked };
    let units = if arguments.units.is_empty() { vec![tuned.tile] } else { arguments.units.clone() };
    let mut configs = Vec::new();
    for tile in units {
        for &ahead in &arguments.ahead {
            for &warps in &arguments.warps {
                for &blocks in &arguments.blocks {
                    configs.push(Config {
                        segment: None,
                        tile,
                        stages: if ahead == 0 { tuned.stages } else { planes + ahead },
                        warps: or(warps, tuned.warps).min(tile[0] * tile[1]),
                        blocks_per_multiprocessor: or(blocks, tuned.blocks_per_multiprocessor),
                    });
                }
            }
        }
    }
    configs
}
