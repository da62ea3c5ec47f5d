// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looking on: something is called every so many steps, here of a simulation of a stencil and of one of a system.

use std::error::Error;
use std::path::Path;
use stencil::system::{Description, FieldText, System};
use stencil::{Grid, Simulation, catalogue};

// Not private, because the tests call it.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let mut start = vec![0.0; 40 * 60];
    start[20 * 60 + 30] = 1.0;
    let heat = catalogue::find("star2d1r").expect("a name of the catalogue");
    // A hint for the plan: about so many steps at a time.
    let simulation = Simulation::new(heat, Grid::new(&[40, 60], start)?).portions(50);
    let mut simulation = simulation.build()?;

    let mut seen = Vec::new();
    simulation.observe(220, 50, |now| {
        let u = now.field("u")?;
        let total: f64 = (0..u.shape.points()).map(|point| u.get(point)).sum();
        println!("after {} steps {total:.6} of the heat is left", now.steps());
        seen.push((now.steps(), total));
        Ok(())
    })?;
    assert_eq!(simulation.steps(), 220);
    assert!(seen.iter().map(|(steps, _)| *steps).eq([50, 100, 150, 200]));
    // Heat only leaves, through the edge, and the sooner the more of it has come there.
    assert!(seen.windows(2).all(|pair| pair[1].1 < pair[0].1) && seen[0].1 > 0.999, "{seen:?}");

    // An observer reads fields with equations, too: here a population that grows until there are enough.
    let growth = FieldText::new("u", 0.01, "u + dt*u*(1 - u)");
    let description = Description::new(&[4]).time_step(0.1).field(growth);
    let mut population = Simulation::of(&System::new(&description, Path::new("."))?).build()?;
    let mut grown = 0.01;
    population.observe(100, 20, |now| {
        let u = now.field("u")?.get(0);
        println!("after {} steps there are {u:.6}", now.steps());
        assert!(u > grown && u <= 1.0, "{u} after {grown}");
        grown = u;
        Ok(())
    })?;
    assert!(grown > 0.98, "{grown}");
    Ok(())
}
