// SPDX-License-Identifier: MIT OR Apache-2.0
//! One simulation of stencils and systems: what computes, and what is refused.

use std::path::Path;

use super::*;
use crate::{Description, FieldText};
use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::engine::Ranks;
use problem::{Boundary, Depth, Dtype};
use transform::catalogue;

fn system(next: &str, dtype: Dtype) -> System {
    let field = FieldText::new("heat", "x*(11 - x) + y", next);
    let description = Description::new(&[9, 12]).dtype(dtype).time_step("0.125");
    let description = description.derivative("laplace", "laplace", 2).field(field);
    System::new(&description, Path::new("")).unwrap()
}

fn on_cores(builder: Builder) -> Simulation {
    builder.engine(EngineRequest::Cpu).build().unwrap()
}

fn refusal(builder: Builder) -> String {
    builder.build().map(|_| ()).unwrap_err().to_string()
}

/// What computes stencils has tiles; what computes equations has rows.
#[test]
fn a_system_that_is_a_stencil_is_computed_as_one() {
    for (next, is_sum) in [("heat + dt*laplace(heat)", true), ("heat + dt*heat^2", false)] {
        let mut simulation = on_cores(Simulation::of(&system(next, Dtype::F64)));
        assert_eq!(matches!(simulation.form, Form::Sum(_)), is_sum, "{next}");
        simulation.step(3).unwrap();
        assert_eq!((simulation.steps(), simulation.fields()), (3, vec!["heat"]));
        let refused = simulation.field("u").unwrap_err().to_string();
        assert!(refused.contains("heat"), "{refused}");
    }
}

#[test]
fn both_forms_give_the_values_of_the_equations() {
    let system = system("heat + dt*laplace(heat)", Dtype::F64);
    let mut as_sum = on_cores(Simulation::of(&system));
    let mut stepped = SystemSimulation::new(&system).unwrap();
    as_sum.step(7).unwrap();
    stepped.step(7).unwrap();
    let (a, b) = (as_sum.field("heat").unwrap(), stepped.field("heat").unwrap());
    let most = (0..a.shape.points()).map(|at| (a.get(at) - b.get(at)).abs()).fold(0.0, f64::max);
    assert!(most < 1e-13, "{most}");
}

#[test]
fn values_that_are_given_replace_the_start_of_both_forms() {
    for next in ["heat + dt*laplace(heat)", "heat + dt*heat^2"] {
        let system = system(next, Dtype::F32);
        let ones = || Grid::new(&[9, 12], vec![1.0; 108]).unwrap();
        let mut given = on_cores(Simulation::of(&system).inputs(vec![("heat".into(), ones())]));
        assert_eq!(given.field("heat").unwrap().get(5), 1.0, "{next}");
        let other = Simulation::of(&system).inputs(vec![("cold".into(), ones())]);
        assert!(refusal(other.engine(EngineRequest::Cpu)).contains("cold"), "{next}");
    }
}

#[test]
fn ranks_share_both_forms() {
    for next in ["heat + dt*laplace(heat)", "heat + dt*heat^2"] {
        let system = system(next, Dtype::F64);
        let two = Sharing::among(Ranks::Threads(2));
        let mut shared = on_cores(Simulation::of(&system).shared(two));
        let mut alone = on_cores(Simulation::of(&system));
        shared.step(5).unwrap();
        alone.step(5).unwrap();
        assert_eq!(shared.field("heat").unwrap(), alone.field("heat").unwrap(), "{next}");
    }
}

#[test]
fn a_choice_works_or_is_refused() {
    let sum = || Simulation::of(&system("heat + dt*laplace(heat)", Dtype::F32));
    let reaction = || Simulation::of(&system("heat + dt*heat^2", Dtype::F32));
    let star = compute::families::find("naive2d").unwrap();
    let chain = crate::families::find("chain").unwrap();
    for (builder, part) in [
        (sum().boundary(Boundary::default()), "boundaries of their own"),
        (reaction().dtype(Dtype::F64), "an element type of its own"),
        (reaction().fuse(Depth::Steps(2)), "only a stencil fuses steps"),
        (reaction().kernel(star), "a kernel for stencils"),
    ] {
        let refused = refusal(builder);
        assert!(refused.contains(part), "{refused}");
    }
    let heat = || Simulation::new(catalogue::find("heat-2d").unwrap(), plate());
    for (builder, part) in [
        (heat().way(chain), "`way` is for systems"),
        (heat().inputs(vec![("u".into(), plate())]), "the grid that it is given"),
    ] {
        let refused = refusal(builder);
        assert!(refused.contains(part), "{refused}");
    }
    let rows = crate::families::find("rows").unwrap();
    let by_rows = on_cores(sum().way(rows));
    assert!(matches!(by_rows.form, Form::Equations(_)));
}

fn plate() -> Grid {
    Grid::new(&[6, 7], vec![1.0; 42]).unwrap()
}

/// An observer ends both forms.
#[test]
fn an_observer_ends_the_steps_of_both_forms() {
    use problem::observe::Snapshot;
    use std::ops::ControlFlow;
    struct Third;
    impl Observer for Third {
        fn next(&self, done: usize) -> Option<usize> {
            Some(done + 1)
        }

        fn look(&mut self, done: usize, now: &mut dyn Snapshot) -> Result<ControlFlow<()>, Error> {
            assert_eq!(now.arrays()[0].field, "heat");
            Ok(if done == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        }
    }
    for next in ["heat + dt*laplace(heat)", "heat + dt*heat^2"] {
        let mut simulation = on_cores(Simulation::of(&system(next, Dtype::F64)));
        simulation.step_observed(10, &mut Third).unwrap();
        assert_eq!(simulation.steps(), 3, "{next}");
    }
}

#[test]
fn an_observer_sees_multiples_and_its_error_ends_the_steps() {
    let rod = catalogue::find("star1d1r").unwrap();
    let grid = Grid::new(&[8], vec![1.0; 8]).unwrap();
    let mut simulation = on_cores(Simulation::new(rod, grid));
    simulation.step(3).unwrap();
    let mut seen = Vec::new();
    simulation
        .observe(7, 4, |now| {
            seen.push(now.steps());
            Ok(())
        })
        .unwrap();
    assert_eq!((seen, simulation.steps()), (vec![4, 8], 10));
    let ended = simulation.observe(10, 4, |now| now.field("v").map(drop));
    assert!(matches!(ended, Err(Error::UnknownField { .. })), "{ended:?}");
    assert_eq!(simulation.steps(), 12);
}
