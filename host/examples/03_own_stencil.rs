// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stencil of one's own: a pulse is carried around a ring by Lax and Wendroff's scheme.

use std::error::Error;
use stencil::{Boundary, Grid, Simulation, Stencil};
use transform::{Tap, symbol};

/// Points of the ring.
const POINTS: usize = 256;
/// The part of a point's distance that the pulse moves in a step, to the right.
const COURANT: f64 = 0.5;

// Not private, because the tests call it.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let c = COURANT;
    let weights = [c * (1.0 + c) / 2.0, 1.0 - c * c, c * (c - 1.0) / 2.0];
    // All weights in C order, zeros too …
    let dense = Stencil::dense("lax-wendroff", &[3], &weights)?;
    // … or neighbours one by one, at offsets (z, y, x).
    let tap = |x: i32| Tap { offset: [0, 0, x], weight: weights[(x + 1) as usize] };
    let stencil = Stencil::new("lax-wendroff", 1, vec![tap(0), tap(1), tap(-1)])?;
    assert_eq!(stencil, dense);
    // No wave grows: the scheme is stable.
    assert!(symbol::fastest(&stencil).growth <= 1.0 + 1e-12);

    let far = |point: usize| (point as f64 - POINTS as f64 / 2.0) / 16.0;
    let pulse: Vec<f64> = (0..POINTS).map(|point| (-far(point).powi(2)).exp()).collect();
    let mut ring = Simulation::new(stencil, Grid::new(&[POINTS], pulse.clone())?)
        .boundary(Boundary::parse("periodic", 1)?)
        .build()?;
    ring.step((POINTS as f64 / COURANT) as usize)?;

    // Once around it is where it was, as far as the scheme is exact; nothing is lost.
    let found = ring.field("u")?;
    let error = (0..POINTS).map(|point| (found.get(point) - pulse[point]).abs());
    let error = error.fold(0.0, f64::max);
    let mass = [pulse.iter().sum::<f64>(), (0..POINTS).map(|point| found.get(point)).sum()];
    println!(
        "once around the ring: largest error {error:.4}, mass {:.6} of {:.6}",
        mass[1], mass[0]
    );
    assert!(error < 0.1, "{error}");
    assert!((mass[0] - mass[1]).abs() < 1e-10, "{mass:?}");
    Ok(())
}
