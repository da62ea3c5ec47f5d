// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times the register-window sweep on a GPU over its launch configurations: the harness behind
//! `Config::tuned`. Every line is checked against the f64 stencil at random points and in the
//! corners before it is printed; the copy is measured in the same run.

use benches::{Harness, Setup, random_stencil};
use clap::Parser;
use host::device::sweep2d::{Config, Sweep};
use host::{Error, Grid};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use transform::stencil::Stencil;
use transform::window;

/// Times the 2D sweep over launch configurations.
#[derive(Parser)]
struct Arguments {
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
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let mut harness = Harness::new(&arguments.setup)?;
    let Setup { size, dtype, .. } = arguments.setup;
    let element = arguments.setup.element()?;
    for &radius in &arguments.setup.radius {
        let stencil = random_stencil(radius, dtype);
        let window = window::window(&stencil).expect("radius 1 to 3");
        for &stages in &arguments.stages {
            for &blocks_per_multiprocessor in &arguments.blocks {
                for &tile_rows in &arguments.rows {
                    let config = Config { stages, blocks_per_multiprocessor, tile_rows };
                    let sweep = match Sweep::new(
                        &harness.gpu,
                        radius,
                        &window.encode(element),
                        size,
                        size,
                        config,
                    ) {
                        Ok(sweep) => sweep,
                        Err(reason) => {
                            println!("r={radius} {config:?}: {reason}");
                            continue;
                        }
                    };
                    let (output, speed) = harness.measure(&sweep)?;
                    let error = check(&stencil, &harness.grid, &output, size, size);
                    println!(
                        "r={radius} stages {stages} blocks {blocks_per_multiprocessor} rows {tile_rows:3}: \
                         {:7.1} GStencil/s, {:.3} of copy, relative error {error:.1e}",
                        speed,
                        harness.of_copy(speed)
                    );
                }
            }
        }
    }
    Ok(())
}

/// Relative L2 error at random points and in the corners; infinite if a value is not finite.
fn check(stencil: &Stencil, input: &Grid, output: &Grid, ny: u32, nx: u32) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (ny, nx) = (ny as usize, nx as usize);
    let random = |_| (rng.next_u64() % (ny * nx) as u64) as usize;
    let mut points: Vec<usize> = (0..200_000).map(random).collect();
    let edge = 8.min(ny).min(nx);
    for y in (0..edge).chain(ny - edge..ny) {
        points.extend((0..edge).chain(nx - edge..nx).map(|x| y * nx + x));
    }
    let (mut error, mut norm) = (0.0, 0.0);
    for point in points {
        let (y, x) = ((point / nx) as i64, (point % nx) as i64);
        let mut expected = 0.0;
        for tap in stencil.taps() {
            let (y, x) = (y + i64::from(tap.offset[1]), x + i64::from(tap.offset[2]));
            if (0..ny as i64).contains(&y) && (0..nx as i64).contains(&x) {
                expected += tap.weight * input.get(y as usize * nx + x as usize);
            }
        }
        let found = output.get(point);
        if !found.is_finite() {
            return f64::INFINITY;
        }
        error += (found - expected).powi(2);
        norm += expected.powi(2);
    }
    f64::sqrt(error / norm)
}
