// SPDX-License-Identifier: MIT OR Apache-2.0
//! What computes: whatever is predicted to be fastest, or what is asked for. All engines give the same values, but
//! for rounding.

use std::error::Error;
use stencil::engine::EngineRequest;
use stencil::{Dtype, ErrorKind, Grid, Shape, Simulation, catalogue};

const STEPS: usize = 4;

// Not private, because the tests call it.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let stencil = catalogue::find("box2d1r").expect("a name of the catalogue");
    let grid = Grid::random(Shape::new(&[40, 70])?, Dtype::F16, 1)?;
    let build = |engine| {
        // Planned for so many steps at a time.
        let simulation = Simulation::new(stencil.clone(), grid.clone()).portions(STEPS);
        simulation.engine(engine).build()
    };

    // The oracle of this example: f64, step by step, on the CPU.
    let exact = Simulation::new(stencil.clone(), grid.clone()).dtype(Dtype::F64);
    let mut exact = exact.engine(EngineRequest::Cpu).build()?;
    exact.step(STEPS)?;
    let exact = exact.field("u")?;

    use EngineRequest::{Auto, Cpu, Cuda, Emulate, Sparse};
    for engine in [Auto, Sparse, Cuda, Cpu, Emulate] {
        let mut simulation = match build(engine) {
            Ok(simulation) => simulation,
            // No GPU, or no driver: something that a program can act upon.
            Err(error) if error.kind() == ErrorKind::Device => {
                println!("{engine}: {error}");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        simulation.step(STEPS)?;
        let (field, report) = (simulation.field("u")?, simulation.report());
        let errors = (0..grid.shape.points()).map(|at| (field.get(at) - exact.get(at)).abs());
        let worst = errors.fold(0.0, f64::max);
        let [kernel, why] = [report.kernel, report.why].map(Option::unwrap_or_default);
        println!("{engine}: {} {kernel} ({why}), error {worst:.1e}", report.engine);
        // Values are below 1, where f16 is right to 2⁻¹²; each step rounds once.
        assert!(worst <= STEPS as f64 * 2f64.powi(-11), "{engine}: {worst}");
    }
    Ok(())
}
