// SPDX-License-Identifier: MIT OR Apache-2.0
//! A gradient of waves that processes take together: prints a number in a line. Steps are taken again, since few states fit.

use std::path::Path;
use std::process::ExitCode;

use stencil::plan::Sharing;
use stencil::problem::memory::Bytes;
use stencil::ranks::engine::Ranks;
use stencil::system::simulation::{Cotangents, Gradient, GradientBy};
use stencil::system::{Description, FieldText, System};
use stencil::{Dtype, Error, Grid, Simulation};

fn main() -> ExitCode {
    stencil::processes::main(|ranks| {
        let found = gradient(ranks)?;
        let grids = found.start.iter().map(|(_, grid)| grid);
        let grids = grids.chain(found.coefficients.iter().map(|(_, grid)| grid));
        for value in grids.flat_map(values).chain(found.parameters.iter().map(|(_, by)| *by)) {
            println!("{value:e}");
        }
        eprintln!("{} steps again", found.steps_again);
        Ok(())
    })
}

fn values(grid: &Grid) -> impl Iterator<Item = f64> {
    (0..grid.shape.points()).map(|point| grid.get(point))
}

fn gradient(ranks: Ranks) -> Result<Gradient, Error> {
    let mut waves = Description::new(&[17, 14])
        .dtype(Dtype::F64)
        .time_step(0.3)
        .constant("damping", 0.01)
        .coefficient("c", "1 + 0.3*sin(0.5*x)*cos(0.3*y)");
    for (name, axis) in [("px", "x+"), ("mx", "x-"), ("py", "y+"), ("my", "y-")] {
        waves = waves.derivative(name, axis, 4);
    }
    let waves = waves
        .field(FieldText::new("p", "0", "p - dt*(damping*p + c^2*(mx(new(vx)) + my(new(vy))))"))
        .field(FieldText::new("vx", "0", "vx - dt*px(p)"))
        .field(FieldText::new("vy", "0", "vy - dt*py(p)"))
        .source("p", &[4, 5], "exp(-((t - 3)/2)^2)")
        .receiver("p", &[12, 9]);
    let system = System::new(&waves, Path::new("."))?;
    let state = 8 * (system.arrays() * system.shape().points()) as u64;
    let by = GradientBy {
        coefficients: vec!["c".into()],
        parameters: vec!["damping".into()],
        memory: Some(Bytes(20 * state)),
        ..GradientBy::default()
    };
    let mut simulation = Simulation::of(&system).shared(Sharing::among(ranks)).build()?;
    simulation.gradient(40, &by, |after| {
        let records = after.records().iter().map(|row| row[1..].to_vec()).collect();
        Ok(Cotangents { fields: after.state()?.arrays, records, ..Cotangents::default() })
    })
}
