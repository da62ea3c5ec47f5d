// SPDX-License-Identifier: MIT OR Apache-2.0
//! A standing wave: an equation that needs two earlier time levels, as a system of fields.

use std::error::Error;
use std::f64::consts::PI;
use std::path::Path;
use stencil::Simulation;
use stencil::system::{Description, FieldText, System};
use stencil::{Dtype, Grid};

/// Points between the two fixed ends of a string of length 1.
const POINTS: usize = 127;
/// c·dt / h.
const COURANT: f64 = 0.5;
const STEPS: usize = 1000;

// Not private, because the tests call it.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let h = 1.0 / (POINTS + 1) as f64;
    let dt = COURANT * h;
    // The frequency that the scheme gives the third overtone: sin(ω dt/2) = c·dt/h · sin(k h/2).
    let k = 3.0 * PI;
    let omega = 2.0 / dt * (COURANT * (k * h / 2.0).sin()).asin();

    let description = Description::new(&[POINTS])
        .dtype(Dtype::F64)
        .spacing(h)
        .time_step(dt)
        .constant("omega", omega)
        .derivative("laplace", "xx", 2)
        // What depends on t is also taken at earlier times, where the equation asks for them.
        .field(FieldText::new(
            "p",
            "sin(3*pi*(x + h)) * cos(omega*t)",
            "2*p - prev(p) + dt^2*laplace(p)",
        ));
    let system = System::new(&description, Path::new("."))?;
    let mut string = Simulation::of(&system).build()?;
    string.step(STEPS)?;

    let field: Grid = string.field("p")?;
    let time = STEPS as f64 * dt;
    let exact = |point: usize| (k * (point + 1) as f64 * h).sin() * (omega * time).cos();
    let errors = (0..POINTS).map(|point| (field.get(point) - exact(point)).abs());
    let worst = errors.fold(0.0, f64::max);
    println!("after {STEPS} steps, {time:.2} seconds, the largest error is {worst:.1e}");
    assert!(worst < 1e-10, "{worst}");
    Ok(())
}
