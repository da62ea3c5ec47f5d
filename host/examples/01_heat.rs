// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heat on a plate whose edge is kept at 0: half a wave of a sine along each axis, of which every step leaves the
//! same part.

use std::error::Error;
use std::f64::consts::PI;
use stencil::{Grid, Simulation, catalogue};

/// Points inside of the edge, along y and x.
const SIZE: [usize; 2] = [63, 95];
const STEPS: usize = 2000;

// Not private, because the tests call it.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let wave = |axis: usize, at: usize| (PI * (at + 1) as f64 / (SIZE[axis] + 1) as f64).sin();
    // C order: x is the fastest.
    let points = 0..SIZE[0] * SIZE[1];
    let start = points.map(|point| wave(0, point / SIZE[1]) * wave(1, point % SIZE[1]));
    let plate = Grid::new(&SIZE, start.collect::<Vec<f64>>())?;

    // u' = 3/4 u + 1/16 (the four neighbours): αΔt/Δx² = 1/16.
    let heat = catalogue::find("star2d1r").expect("a name of the catalogue");
    let mut simulation = Simulation::new(heat, plate).build()?;
    simulation.step(STEPS)?;

    // What a step leaves of the wave, by the stencil's weights.
    let cos = SIZE.map(|size| (PI / (size + 1) as f64).cos());
    let left = (0.75 + (cos[0] + cos[1]) / 8.0).powi(STEPS as i32);
    let middle = (SIZE[0] / 2) * SIZE[1] + SIZE[1] / 2;
    let found = simulation.field("u")?.get(middle);
    println!("after {STEPS} steps {found:.12} is left in the middle, exact: {left:.12}");
    assert!((found - left).abs() < 1e-12, "{found} instead of {left}");
    println!("computed by {}", simulation.report().engine);
    Ok(())
}
