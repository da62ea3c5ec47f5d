// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times chained sweeps on a GPU. Every line is checked against the f64 stencil, stepped one by one,
//! at random points away from the boundary; the copy is measured in the same run.

use crate::{Harness, Setup, random_stencil};
use clap::Args;
use kernels_gpu::chain2d::Stages;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stencil::families::chain2d::{Chain2d, Config};
use stencil::{Error, Grid};
use transform::stencil::Stencil;
use transform::window;

/// Times chained 2D sweeps.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    setup: Setup,
    /// Steps in a launch
    #[arg(long, value_delimiter = ',', default_value = "1,2,4")]
    chain: Vec<usize>,
    /// Stages of the first ring
    #[arg(long, value_delimiter = ',', default_value = "4")]
    input: Vec<u32>,
    /// Stages of the other rings
    #[arg(long, value_delimiter = ',', default_value = "4")]
    ring: Vec<u32>,
}

/// Runs the command.
///
/// # Errors
/// What the command cannot do, as its help says.
pub fn run(arguments: Arguments) -> Result<(), Error> {
    let mut harness = Harness::new(&arguments.setup, arguments.setup.square()?)?;
    let Setup { size, dtype, .. } = arguments.setup;
    let element = arguments.setup.element()?;
    for &radius in &arguments.setup.radius {
        let stencil = random_stencil(radius, dtype);
        let window = window::window(&stencil).expect("radius 1 to 3");
        for &chain in &arguments.chain {
            let of = |input| arguments.ring.iter().map(move |&ring| Stages { input, ring });
            let rings = arguments.input.iter().flat_map(|&input| of(input));
            for stages in rings {
                let (gpu, extents) = (&harness.gpu, [size, size]);
                let pass = match Chain2d::new(
                    gpu,
                    element,
                    &window,
                    chain,
                    extents,
                    Config { stages, blocks_per_multiprocessor: u32::MAX },
                ) {
                    Ok(pass) => pass,
                    Err(reason) => {
                        println!("r={radius} chain {chain}: {reason}");
                        continue;
                    }
                };
                let (output, speed) = harness.measure(&pass)?;
                let error = check(&stencil, chain, &harness.grid, &output, size, size);
                println!(
                    "r={radius} chain {chain} {stages:?}, {} blocks: {speed:7.1} Gpoint/s, {:7.1} GStencil/s, \
                     {:.3} of copy, relative error {error:.1e}",
                    pass.blocks(),
                    speed * chain as f64,
                    harness.of_copy(speed)
                );
            }
        }
    }
    Ok(())
}

/// Relative L2 error at random points whose dependences lie in the grid; infinite if a value is not
/// finite.
fn check(stencil: &Stencil, chain: usize, input: &Grid, output: &Grid, ny: u32, nx: u32) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (ny, nx, reach) = (ny as usize, nx as usize, stencil.radius() * chain);
    let (mut error, mut norm) = (0.0, 0.0);
    for _ in 0..4000 {
        let mut at = |n: usize| reach + (rng.next_u64() % (n - 2 * reach) as u64) as usize;
        let (y, x) = (at(ny), at(nx));
        let found = output.get(y * nx + x);
        if !found.is_finite() {
            return f64::INFINITY;
        }
        let mut width = 2 * reach + 1;
        let patch = |i: usize| input.get((y - reach + i / width) * nx + x - reach + i % width);
        let mut field: Vec<f64> = (0..width * width).map(patch).collect();
        for _ in 0..chain {
            let next = width - 2 * stencil.radius();
            let r = stencil.radius() as i32;
            let sum = |i: usize| {
                let (py, px) = ((i / next) as i32 + r, (i % next) as i32 + r);
                let value =
                    |o: [i32; 3]| field[(py + o[1]) as usize * width + (px + o[2]) as usize];
                stencil.taps().iter().map(|tap| tap.weight * value(tap.offset)).sum()
            };
            let stepped: Vec<f64> = (0..next * next).map(sum).collect();
            (field, width) = (stepped, next);
        }
        error += (found - field[0]).powi(2);
        norm += field[0].powi(2);
    }
    f64::sqrt(error / norm)
}
