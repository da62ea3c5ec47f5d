// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulations that are changed between steps go on as runs that begin so.

use std::path::Path;

use super::{SaveRequest, Simulation};
use crate::{Description, FieldText, System};
use compute::engine::EngineRequest;
use problem::{Dtype, Error, Grid};

/// A wave with a coefficient, a total, a receiver, and a source that has a time.
fn wave(speed: f64) -> System {
    let wave = Description::new(&[9, 12])
        .dtype(Dtype::F64)
        .constant("c", speed)
        .time_step("0.25/max(c, 1)")
        .derivative("laplace", "laplace", 2)
        .coefficient("speed", "c*(1 + 0.1*x)")
        .field(FieldText::new(
            "p",
            "exp(-(x - 5)^2 - (y - 4)^2)",
            "2*p - prev(p) + (dt*speed)^2*laplace(p) + 0.01*sin(t)",
        ))
        .total("mass", "c*sum(p)")
        .receiver("p", &[4, 5]);
    System::new(&wave, Path::new("")).unwrap()
}

fn on(system: &System, engine: EngineRequest) -> Simulation {
    Simulation::of(system).engine(engine).series(2).build().unwrap()
}

fn values(grid: &Grid) -> Vec<f64> {
    (0..grid.shape.points()).map(|index| grid.get(index)).collect()
}

const ENGINES: [EngineRequest; 2] = [EngineRequest::Cpu, EngineRequest::Emulate];

#[test]
fn a_state_is_all_that_is_needed_to_go_on() {
    for engine in ENGINES {
        let mut whole = on(&wave(1.0), engine);
        whole.step(7).unwrap();
        let mut first = on(&wave(1.0), engine);
        first.step(3).unwrap();
        let left = first.state().unwrap();
        let mut second =
            Simulation::of(&wave(1.0)).engine(engine).series(2).state(left).build().unwrap();
        second.step(4).unwrap();
        assert_eq!(second.field("p").unwrap(), whole.field("p").unwrap());
        assert_eq!(second.records(), whole.records());
        assert_eq!(second.series(), whole.series());
        assert_eq!(second.series().len(), 4);
        assert_eq!(second.level("p", 1).unwrap(), whole.level("p", 1).unwrap());
    }
}

/// The oracle: a loop over the equation.
fn looped(before: &mut [Vec<f64>; 2], speed: f64, dt: f64, time: f64) {
    let [ny, nx] = [9, 12];
    let [now, past] = &*before;
    let at = |y: isize, x: isize| match (0..ny).contains(&y) && (0..nx).contains(&x) {
        true => now[(y * nx + x) as usize],
        false => 0.0,
    };
    let mut next = Vec::new();
    for y in 0..ny {
        for x in 0..nx {
            let own = at(y, x);
            let laplace = at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1) - 4.0 * own;
            let local = speed * (1.0 + 0.1 * x as f64);
            let past = past[(y * nx + x) as usize];
            next.push(2.0 * own - past + (dt * local).powi(2) * laplace + 0.01 * time.sin());
        }
    }
    before.swap(0, 1);
    before[0] = next;
}

#[test]
fn another_parameter_makes_other_steps_from_the_same_values() {
    for engine in ENGINES {
        let mut changed = on(&wave(1.0), engine);
        let mut expected = [0, 1].map(|level| values(&changed.level("p", level).unwrap()));
        changed.step(3).unwrap();
        for step in 0..3 {
            looped(&mut expected, 1.0, 0.25, 0.25 * f64::from(step));
        }
        changed.set_parameter("c", 2).unwrap();
        assert_eq!(changed.parameters(), [("c".to_owned(), 2.0)]);
        assert_eq!((changed.steps(), changed.time()), (3, 0.75));
        changed.step(2).unwrap();
        // A step has half the length then, and time goes on.
        for step in 0..2 {
            looped(&mut expected, 2.0, 0.125, 0.75 + 0.125 * f64::from(step));
        }
        let found = values(&changed.field("p").unwrap());
        for (found, expected) in found.iter().zip(&expected[0]) {
            assert!((found - expected).abs() < 1e-13, "{engine:?}: {found} {expected}");
        }
        let times: Vec<f64> = changed.records().iter().map(|row| row[0]).collect();
        assert_eq!(times, [0.0, 0.25, 0.5, 0.75, 0.875, 1.0]);
        let mass: f64 = expected[0].iter().sum();
        assert!((changed.totals().unwrap()[0].1 - 2.0 * mass).abs() < 1e-11);
        let steps: Vec<f64> = changed.series().iter().map(|row| row[0]).collect();
        assert_eq!(steps, [0.0, 2.0, 4.0]);

        // A copy, and a checkpoint, keep the time.
        let left = changed.state().unwrap();
        let system = wave(1.0).with_constants(&[("c", 2)]).unwrap();
        let mut copy = Simulation::of(&system).engine(engine).state(left).build().unwrap();
        assert_eq!(copy.time(), 1.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        changed.checkpoint(&path).unwrap();
        changed.step(2).unwrap();
        copy.step(2).unwrap();
        let mut resumed = Simulation::of(&system).engine(engine).build().unwrap();
        resumed.resume(&path).unwrap();
        assert_eq!((resumed.steps(), resumed.time()), (5, 1.0));
        resumed.step(2).unwrap();
        assert_eq!(resumed.field("p").unwrap(), changed.field("p").unwrap());
        assert_eq!(copy.field("p").unwrap(), changed.field("p").unwrap());
        let foreign = on(&wave(3.0), engine).resume(&path).unwrap_err();
        assert!(matches!(foreign, Error::Checkpoint { foreign: true, .. }), "{foreign}");
    }
}

#[test]
fn values_that_are_set_are_gone_on_from() {
    for engine in ENGINES {
        let mut own = on(&wave(1.0), engine);
        own.step(2).unwrap();
        let mut expected = [0, 1].map(|level| values(&own.level("p", level).unwrap()));
        for (level, kept) in expected.iter_mut().enumerate() {
            let grid = Grid::random(own.system().unwrap().shape(), Dtype::F32, level as u64);
            let grid = grid.unwrap();
            *kept = values(&grid);
            own.set_level("p", level, grid).unwrap();
        }
        own.step(1).unwrap();
        looped(&mut expected, 1.0, 0.25, 0.5);
        for (found, expected) in values(&own.field("p").unwrap()).iter().zip(&expected[0]) {
            assert!((found - expected).abs() < 1e-14);
        }
        let small = Grid::new(&[12, 9], vec![0.0; 108]).unwrap();
        let refused = own.set_field("p", small).unwrap_err().to_string();
        assert_eq!(refused, "the grid has 9x12 points, and values of 12x9 are given");
        let nan = Grid::new(&[9, 12], vec![f64::NAN; 108]).unwrap();
        assert!(matches!(own.set_field("p", nan).unwrap_err(), Error::NotFinite { .. }));
        let zero = Grid::new(&[9, 12], vec![0.0; 108]).unwrap();
        let refused = own.set_level("p", 2, zero.clone()).unwrap_err().to_string();
        assert!(refused.contains("p, 2 steps before"), "{refused}");
        assert!(own.set_field("q", zero).is_err());
        assert!(own.set_parameter("d", 3).unwrap_err().to_string().contains("no constant 'd'"));
        assert!(own.set_parameter("c", "0/0").is_err());
        assert!(own.set_parameters(&[("c", "3"), ("c", "1 +")]).is_err());
        assert_eq!(own.parameters(), [("c".to_owned(), 1.0)]);
        assert_eq!(own.steps(), 3);
        own.step(1).unwrap();
    }
}

#[test]
fn solid_points_have_what_walls_say_whatever_is_set() {
    let system = Description::new(&[6])
        .solid("x > 3.5")
        .field(FieldText::new("u", 1.0, "u + 1").walls("value=7"));
    let system = System::new(&system, Path::new("")).unwrap();
    let mut own = Simulation::of(&system).engine(EngineRequest::Cpu).build().unwrap();
    own.set_field("u", Grid::new(&[6], vec![3.0; 6]).unwrap()).unwrap();
    own.step(2).unwrap();
    assert_eq!(values(&own.field("u").unwrap()), [5.0, 5.0, 5.0, 5.0, 7.0, 7.0]);
}

/// A system that is a stencil is computed as one.
#[test]
fn a_sum_is_changed_as_other_systems_are() {
    let heat = Description::new(&[8, 8])
        .dtype(Dtype::F64)
        .constant("D", 0.125)
        .derivative("laplace", "laplace", 2)
        .field(FieldText::new("u", "x*y", "u + D*laplace(u)"));
    let heat = System::new(&heat, Path::new("")).unwrap();
    assert!(crate::sum::job(&heat).is_ok());
    let start =
        |system: &System| Simulation::of(system).engine(EngineRequest::Cpu).build().unwrap();
    let mut own = start(&heat);
    own.step(3).unwrap();
    let mut other = start(&heat.with_constants(&[("D", 0.0625)]).unwrap());
    other.set_field("u", own.field("u").unwrap()).unwrap();
    other.step(2).unwrap();
    own.set_parameter("D", "1/16").unwrap();
    own.step(2).unwrap();
    assert_eq!(own.field("u").unwrap(), other.field("u").unwrap());
    assert_eq!((own.steps(), other.steps()), (5, 2));
    assert_eq!(own.report().steps, 2, "those of this run");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    own.checkpoint(&path).unwrap();
    other.resume(&path).unwrap();
    assert_eq!(other.steps(), 5);
    assert_eq!(own.field("u").unwrap(), other.field("u").unwrap());
    let saved = own.save(&SaveRequest::new(&folder.path().join("{field}_{step:03}.npy"))).unwrap();
    assert_eq!(saved, [folder.path().join("u_005.npy")]);
    let read = files::io::npy::read_grid(&saved[0], 2).unwrap();
    assert_eq!(read, own.field("u").unwrap());
}

/// A copy that begins with what was left, in which a field was changed, is the oracle of one whose field is set.
#[test]
fn values_set_in_their_place_are_those_of_a_run_that_begins_with_them() {
    let mut tried = 0;
    for example in crate::examples::EXAMPLES {
        let mut description = Description::parse(example.name, example.text).unwrap();
        let [longest, chained] = if description.size.len() == 3 { [11, 2] } else { [19, 4] };
        description.size.iter_mut().for_each(|extent| *extent = longest.min(*extent));
        // Places and files of the whole grid are not those of a small one.
        description.receivers.clear();
        description.sources.clear();
        let Ok(system) = System::new(&description, Path::new("")) else { continue };
        for (engine, chain) in [
            (EngineRequest::Cpu, 1),
            (EngineRequest::Cpu, chained),
            (EngineRequest::Emulate, chained),
        ] {
            let of = || Simulation::of(&system).engine(engine).portions(chain);
            let Ok(mut own) = of().build() else { continue };
            own.step(chain + 1).unwrap();
            let mut left = own.state().unwrap();
            for (number, (name, grid)) in left.arrays.iter_mut().enumerate() {
                if !system.fields().any(|known| known == name.field) {
                    continue;
                }
                let noise = Grid::random(grid.shape, Dtype::F64, number as u64).unwrap();
                let near = |index| grid.get(index) * (0.999 + 0.002 * noise.get(index));
                let near: Vec<f64> = (0..grid.shape.points()).map(near).collect();
                let near = Grid::new(grid.shape.axes(), near).unwrap();
                *grid = near.clone().stored_as(system.dtype()).unwrap();
                own.set_level(&name.field, name.level, near).unwrap();
            }
            let mut begun = of().state(left).build().unwrap();
            for own in [&mut begun, &mut own] {
                own.step(2 * chain + 1).unwrap();
            }
            for name in system.fields() {
                let found = own.field(name).unwrap();
                let of = format!("{name} of {} by {engine:?}", example.name);
                // Walls are in both as they say.
                assert_eq!(found, begun.field(name).unwrap(), "{of}");
            }
            assert_eq!(own.totals().unwrap(), begun.totals().unwrap());
            assert_eq!(own.time(), begun.time());
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}

/// Lengths of steps that follow from values are found anew when values or constants change.
#[test]
fn steps_are_as_long_as_changed_values_say() {
    let text = "[grid]\nsize = [4]\ndtype = \"f64\"\n[constants]\nc = 0.1\n\
                [time]\nsteps = 9\ndt_every = 1\ndt = \"c/max(abs(u))\"\n[fields.u]\nstart = 1\nnext = \"u - dt*u\"\n";
    let system = || {
        let description = Description::parse("the text", text).unwrap();
        System::new(&description, Path::new("")).unwrap()
    };
    for engine in ENGINES {
        let mut changed = Simulation::of(&system()).engine(engine).build().unwrap();
        changed.step(2).unwrap();
        let before = changed.time();
        changed.set_field("u", Grid::new(&[4], vec![10.0; 4]).unwrap()).unwrap();
        changed.step(1).unwrap();
        assert!((changed.time() - before - 0.01).abs() < 1e-15, "{}", changed.time());
        assert!((changed.field("u").unwrap().get(0) - 9.9).abs() < 1e-13);
        let before = changed.time();
        changed.set_parameter("c", 0.99).unwrap();
        changed.step(1).unwrap();
        assert!((changed.time() - before - 0.1).abs() < 1e-15, "{}", changed.time());
    }
}

/// Copies and checkpoints keep the time that steps of other lengths led to, also of what is computed as a sum; a checkpoint
/// of steps that were all of one length goes on so.
#[test]
fn time_is_kept_whatever_the_steps_were() {
    let folder = tempfile::tempdir().unwrap();
    for next in ["u + dt*(1 - u)", "u + 0.1*dt*laplace(u)"] {
        let description = Description::new(&[9])
            .dtype(Dtype::F64)
            .constant("r", 1)
            .time_step("0.1/r")
            .derivative("laplace", "laplace", 2)
            .field(FieldText::new("u", "x", next));
        let system = System::new(&description, Path::new("")).unwrap();
        let mut simulation = Simulation::of(&system).engine(EngineRequest::Cpu).build().unwrap();
        let [early, late] = ["early", "late"].map(|name| folder.path().join(name));
        simulation.step(10).unwrap();
        simulation.checkpoint(&early).unwrap();
        simulation.set_parameter("r", 2).unwrap();
        simulation.step(10).unwrap();
        assert!((simulation.time() - 1.5).abs() < 1e-14, "{next}: {}", simulation.time());
        simulation.checkpoint(&late).unwrap();
        let state = simulation.state().unwrap();
        let now = simulation.system().unwrap().clone();
        let copy = Simulation::of(&now).engine(EngineRequest::Cpu).state(state).build().unwrap();
        assert!((copy.time() - 1.5).abs() < 1e-14, "{next}: {}", copy.time());
        simulation.step(3).unwrap();
        simulation.resume(&late).unwrap();
        assert!((simulation.time() - 1.5).abs() < 1e-14, "{next}: {}", simulation.time());
        simulation.set_parameter("r", 1).unwrap();
        simulation.resume(&early).unwrap();
        assert!((simulation.time() - 1.0).abs() < 1e-14, "{next}: {}", simulation.time());
    }
}
