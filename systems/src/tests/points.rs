// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources and receivers between points are those of points around, each with its weight.

use std::path::Path;

use crate::{Description, FieldText, Interpolation, System, SystemSimulation};
use compute::engine::EngineRequest;
use problem::Dtype;

/// A wave in a plane.
fn wave() -> Description {
    Description::new(&[30, 40]).dtype(Dtype::F64).derivative("laplace", "laplace", 2).field(
        FieldText::new("p", "sin(0.3*x)*y", "2*p - prev(p) + 0.2*laplace(p)").boundary("zero"),
    )
}

fn computed(description: &Description, engine: EngineRequest) -> SystemSimulation {
    let system = System::new(description, Path::new("")).unwrap();
    let mut simulation = SystemSimulation::on(&system, engine).unwrap();
    simulation.step(7).unwrap();
    simulation
}

#[test]
fn receivers_between_points_record_what_is_interpolated() {
    let places = [[3.25, 7.5], [0.0, 38.75], [29.0, 5.0], [12.5, 0.1]];
    let hows = [Interpolation::Linear, Interpolation::Sinc];
    let mut description = wave();
    for (at, how) in places.iter().flat_map(|at| hows.map(|how| (at, how))) {
        description = description.receiver_between("p", at, how);
    }
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let mut simulation = computed(&description, engine);
        let p = simulation.field("p").unwrap();
        let last = simulation.records().last().unwrap().clone();
        assert_eq!(last.len(), 1 + places.len() * hows.len());
        let all = places.iter().flat_map(|at| hows.map(|how| (at, how)));
        for ((at, how), found) in all.zip(&last[1..]) {
            let weights = how.weights([0.0, at[0], at[1]], p.shape);
            let value = |([_, y, x], weight): &([usize; 3], f64)| weight * p.get(y * 40 + x);
            let expected: f64 = weights.iter().map(value).sum();
            assert!((found - expected).abs() < 1e-13, "{at:?} {how}: {found}, not {expected}");
        }
    }
}

#[test]
fn a_source_between_points_is_some_at_points() {
    let between = wave().source_between("p", &[3.25, 7.0], Interpolation::Linear, "sin(t)");
    let apart = wave().source("p", &[3, 7], "0.75*sin(t)").source("p", &[4, 7], "0.25*sin(t)");
    let [a, b] = [between, apart]
        .map(|description| computed(&description, EngineRequest::Cpu).field("p").unwrap());
    assert_eq!(a, b);
    let sinc = wave().source_between("p", &[3.25, 7.5], Interpolation::Sinc, "1");
    let system = System::new(&sinc, Path::new("")).unwrap();
    assert_eq!(system.sources.len(), 8 * 8);
}

#[test]
fn files_have_places_between_points() {
    let text = "grid.size = [9]\ntime.steps = 1\nfields.u = { start = \"x\", next = \"u\" }\n";
    let read = |more: &str| {
        let text = format!("{text}{more}");
        System::new(&Description::parse("points.toml", &text)?, Path::new(""))
    };
    let at = "[[receivers]]\nfield = \"u\"\nat = [2.5]\n";
    let mut simulation = SystemSimulation::new(&read(at).unwrap()).unwrap();
    simulation.step(1).unwrap();
    assert_eq!(simulation.records(), [[0.0, 2.5], [1.0, 2.5]]);
    let system = read(&format!("{at}interpolation = \"sinc\"\n")).unwrap();
    assert_eq!(system.receivers().next().unwrap(), ("u", &[2.5][..]));
    for (more, expected) in [
        (format!("{at}interpolation = \"cubic\"\n"), "'cubic' is none of linear, sinc"),
        ("[[receivers]]\nfield = \"u\"\nat = [8.5]\n".into(), "8.5 is outside the points 0 to 8"),
    ] {
        let error = read(&more).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
