// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work fields that are solved for.

use std::path::Path;

use crate::{Description, System, SystemSimulation};
use compute::engine::EngineRequest;
use problem::Error;

/// A system of these tables on 8 x 16 points.
fn system(tables: &str) -> Result<System, Error> {
    let text = format!(
        "[grid]\nsize = [8, 16]\ndtype = \"f64\"\nspacing = 0.5\n[time]\nsteps = 3\ndt = 0.1\n[stencils]\n\
         laplace = {{ derivative = \"laplace\", order = 2 }}\ndx = {{ derivative = \"x\", order = 2 }}\n\
         implicit = {{ dense = [[0, -0.5, 0], [-0.5, 3, -0.5], [0, -0.5, 0]] }}\n\
         wide = {{ derivative = \"laplace\", order = 4 }}\n{tables}"
    );
    System::new(&Description::parse("solves.toml", &text)?, Path::new(""))
}

/// What is wrong with tables, and what to do.
fn mistake(tables: &str) -> String {
    match system(tables).unwrap_err() {
        Error::System(mistake) => {
            let hint = mistake.hint.as_deref().unwrap_or_default();
            format!("line {}: {}; {hint}", mistake.line, mistake.what)
        }
        other => panic!("{other}"),
    }
}

const U: &str = "[fields.u]\nstart = \"sin(pi*x/4)*cos(pi*y/2)\"\nboundary = \"periodic\"\n";

/// Waves of the torus are waves of the inverse.
#[test]
fn a_wave_is_divided_by_its_symbol() {
    let tables = format!(
        "{U}next = \"p\"\n[work.p]\nvalue = \"solve(laplace, u)\"\nboundary = \"periodic\"\n"
    );
    let mut simulation = SystemSimulation::new(&system(&tables).unwrap()).unwrap();
    let before = simulation.field("u").unwrap();
    let check = simulation.checked_step().unwrap();
    assert_eq!(check.points, 128);
    let after = simulation.field("u").unwrap();
    let sine = |turn: f64| (std::f64::consts::PI * turn).sin().powi(2);
    // Of 8 turns along y and 4 along x of 16 and 8 half points.
    let symbol = -4.0 * (sine(1.0 / 16.0) + sine(1.0 / 8.0)) / 0.25;
    for at in 0..128 {
        assert!((after.get(at) * symbol - before.get(at)).abs() < 1e-14, "{at}");
    }
}

/// An implicit step of diffusion leaves the mean where it was; a stencil without a constant takes it off.
#[test]
fn only_a_stencil_that_takes_the_mean_away_gives_none_back() {
    let of = |stencil: &str| {
        let tables = format!(
            "[fields.u]\nstart = \"1 + x\"\nboundary = \"edge\"\nnext = \"p\"\n[work.p]\n\
             value = \"solve({stencil}, u)\"\nboundary = \"edge\"\n"
        );
        let mut simulation = SystemSimulation::new(&system(&tables).unwrap()).unwrap();
        simulation.step(1).unwrap();
        let after = simulation.field("u").unwrap();
        (0..128).map(|at| after.get(at)).sum::<f64>() / 128.0
    };
    assert!((of("implicit") - 4.75).abs() < 1e-13);
    assert!(of("laplace").abs() < 1e-13);
}

/// Potentials between plates: w is 3 at one and -1 at the other, and a straight line lies between.
#[test]
fn constants_at_sides_are_those_of_the_solution() {
    let of = |boundary: &str, value: &str| {
        let tables = format!(
            "[fields.u]\nstart = \"0\"\nboundary = \"edge\"\nnext = \"p + 0*laplace(p)\"\n[work.p]\n\
             value = \"{value}\"\nboundary = \"{boundary}\"\n"
        );
        let system = system(&tables).unwrap();
        let [cpu, emulated] = [EngineRequest::Cpu, EngineRequest::Emulate].map(|engine| {
            let mut simulation = SystemSimulation::on(&system, engine).unwrap();
            simulation.checked_step().unwrap();
            simulation.field("u").unwrap()
        });
        assert_eq!(cpu, emulated);
        cpu
    };
    let plates = of("y-:constant=3,y+:constant=-1,x:periodic", "solve(laplace, u)");
    let inside = of("y:constant=300,x:edge", "solve(laplace, 0*u)");
    // The number in the middle is taken off, and put back.
    let implicit = of("y:constant=2,x:symmetric", "solve(implicit, 1 + 0*u)");
    for at in 0..128 {
        let line = 3.0 - 4.0 * ((at / 16) as f64 + 1.0) / 9.0;
        assert!((plates.get(at) - line).abs() < 1e-13, "{at}: {}", plates.get(at));
        assert_eq!(inside.get(at), 300.0);
        assert!((1.0..2.0).contains(&implicit.get(at)));
    }
}

/// Each stage of a method solves for its own values; u and v each wait for a solve of the other.
#[test]
fn solves_are_stages() {
    let tables = format!(
        "{U}rate = \"dx(p) - u\"\n[work.p]\nvalue = \"solve(implicit, 2*u + t)\"\nboundary = \"periodic\"\n"
    );
    let rk4 = tables.replace("[fields", "[time]\nmethod = \"rk4\"\n[fields");
    let text = "[grid]\nsize = [8, 16]\ndtype = \"f64\"\n[time]\nsteps = 3\ndt = 0.1\nmethod = \"rk4\"\n\
                [stencils]\ndx = { derivative = \"x\" }\nimplicit = { dense = [-0.5, 2, -0.5] }\n";
    let rk4 = text.replace("[8, 16]", "[16]") + &rk4[rk4.find("[fields").unwrap()..];
    let rk4 = rk4.replace("*cos(pi*y/2)", "");
    let staged =
        System::new(&Description::parse("rk4.toml", &rk4).unwrap(), Path::new("")).unwrap();
    let solves =
        |system: &System| -> Vec<bool> { system.stages.iter().map(|stage| stage.solves).collect() };
    let four = [false, true].repeat(4).into_iter().chain([false]).collect::<Vec<bool>>();
    assert_eq!(solves(&staged), four);
    SystemSimulation::new(&staged).unwrap().checked_step().unwrap();
    let coupled = "[fields.u]\nstart = \"x\"\nnext = \"p\"\n[fields.v]\nstart = \"y\"\nnext = \"q + new(u)\"\n\
                   [work.p]\nvalue = \"solve(implicit, v)\"\n[work.q]\nvalue = \"solve(implicit, dx(p))\"\n";
    let coupled = system(coupled).unwrap();
    // The first is of a field as it is.
    assert_eq!(solves(&coupled), [true, false, true, false]);
    SystemSimulation::new(&coupled).unwrap().checked_step().unwrap();
}

/// A field is solved for as it is, before anything else is computed; receivers receive what is there before.
#[test]
fn a_field_is_solved_for_where_it_lies() {
    let tables = format!(
        "{U}next = \"p\"\n[fields.v]\nstart = \"x\"\nnext = \"0.5*q + 0.5*prev(v)\"\n\
         [work.p]\nvalue = \"solve(implicit, u)\"\nboundary = \"periodic\"\n\
         [work.q]\nvalue = \"solve(implicit, prev(v))\"\nboundary = \"edge\"\n\
         [[receivers]]\nfield = \"u\"\nat = [3, 5]\n"
    );
    let system = system(&tables).unwrap();
    let solves: Vec<bool> = system.stages.iter().map(|stage| stage.solves).collect();
    assert_eq!(solves, [true, true, false]);
    let mut all = [EngineRequest::Cpu, EngineRequest::Emulate]
        .map(|engine| SystemSimulation::on(&system, engine).unwrap());
    for simulation in &mut all {
        simulation.step(2).unwrap();
        simulation.checked_step().unwrap();
        simulation.step(1).unwrap();
    }
    let [a, b] = &all;
    assert_eq!(a.records().len(), 5);
    for (a, b) in a.records().iter().zip(b.records()) {
        assert!((a[1] - b[1]).abs() < 1e-13, "{a:?} {b:?}");
    }
}

#[test]
fn what_cannot_be_solved_is_told() {
    let of = |value: &str, boundary: &str| {
        mistake(&format!(
            "{U}next = \"p\"\n[work.p]\nvalue = \"{value}\"\nboundary = \"{boundary}\"\n"
        ))
    };
    for (value, boundary, expected) in [
        ("1 + solve(laplace, u)", "periodic", "'solve' must be the whole value of a work field"),
        ("solve(lapalce, u)", "periodic", "there is no stencil 'lapalce'; did you mean laplace?"),
        ("solve(u, laplace)", "periodic", "there is no stencil 'u'"),
        ("solve(2*u, u)", "periodic", "'solve' takes the name of a stencil"),
        ("solve(laplace)", "periodic", "'solve' takes 2 arguments, not 1"),
        ("solve(dx, u)", "periodic", "it removes waves of 2.0000 points along x"),
        ("solve(laplace, u)", "constant=sin(t)", "no solve takes a value that changes at y-"),
        (
            "solve(wide, u)",
            "constant=1",
            "constants and an edge need a symmetric stencil that reads one point far",
        ),
        ("solve(laplace, u)", "odd", "no solve takes odd at y-"),
        ("solve(dx, u)", "edge", "no solve takes edge at x-"),
    ] {
        let found = of(value, boundary);
        assert!(found.contains(expected), "{value}: {found}");
        assert!(found.starts_with("line 18"), "{found}");
    }
    let next = mistake(&format!("{U}next = \"solve(laplace, u)\"\n"));
    assert!(next.contains("'solve' must be the whole value"), "{next}");
}

#[test]
fn engines_that_cannot_solve_say_so() {
    let tables = format!(
        "{U}next = \"p\"\n[work.p]\nvalue = \"solve(implicit, u)\"\nboundary = \"periodic\"\n"
    );
    let system = self::system(&tables).unwrap();
    let refused = SystemSimulation::on(&system, EngineRequest::Fft).err().unwrap().to_string();
    assert!(refused.contains("a step has a solve, which reads all points"), "{refused}");
    SystemSimulation::on(&system, EngineRequest::Emulate).unwrap().checked_step().unwrap();
    SystemSimulation::on(&system, EngineRequest::Cpu).unwrap().checked_step().unwrap();
    // Between values at both sides a period of 16 points has 2 * 17.
    let between = self::system(
        &tables.replace("u)\"\nboundary = \"periodic\"", "u)\"\nboundary = \"constant=1\""),
    )
    .unwrap();
    let refused = SystemSimulation::on(&between, EngineRequest::Emulate).err().unwrap().to_string();
    assert!(
        refused.contains("products of 2, 3, 5 and 7") && refused.contains("along x is 34"),
        "{refused}"
    );
    SystemSimulation::on(&between, EngineRequest::Cpu).unwrap().checked_step().unwrap();
}
