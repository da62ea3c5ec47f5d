// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems side by side: each has the values that it has alone, whatever kernel computes them, and however they look at them.

use std::path::Path;

use super::draw;
use super::tier::cases;
use crate::batch::{Batch, BatchSeat, MOST};
use crate::plan::Request;
use crate::{ComputeOptions, Description, FieldText, System, SystemSimulation, Text};
use compute::engine::EngineRequest;
use problem::{Depth, Dtype, Grid};

fn asked(seat: Option<BatchSeat>) -> ComputeOptions {
    ComputeOptions { engine: EngineRequest::Emulate, seat, ..ComputeOptions::default() }
}

fn plan(systems: &[System]) -> Result<Batch, String> {
    let request = Request { engine: EngineRequest::Emulate, steps: 1, ..Request::default() };
    Batch::plan(systems, request, None)
}

/// A description with values of a constant, or of the time step.
fn swept(description: &Description, name: &str, values: &[f64]) -> Vec<System> {
    let system = |value: &f64| {
        let mut own = description.clone();
        let text = Text::new(name, &value.to_string());
        match own.constants.iter_mut().find(|(known, _)| known.as_str() == name) {
            Some((_, value)) => *value = text,
            None => own.dt = text,
        }
        System::new(&own, Path::new("")).unwrap()
    };
    values.iter().map(system).collect()
}

/// What is left of a system after some steps, and the steps of a launch.
#[derive(Debug, PartialEq)]
struct Left {
    fields: Vec<Grid>,
    records: Vec<Vec<f64>>,
    series: Vec<Vec<f64>>,
}

/// Takes steps, of which some are compared.
fn run(system: &System, seat: Option<BatchSeat>) -> Left {
    let simulation = SystemSimulation::asked(system, &asked(seat)).unwrap();
    let mut simulation = simulation.with_series(2).unwrap();
    simulation.checked_step().unwrap();
    simulation.step(5).unwrap();
    simulation.checked_step().unwrap();
    let names: Vec<String> = simulation.fields().map(str::to_owned).collect();
    let fields = names.iter().map(|name| simulation.field(name).unwrap()).collect();
    let report = simulation.report();
    assert!(report.verification.passed == Some(true), "{report}");
    Left { fields, records: simulation.records().to_vec(), series: simulation.series().to_vec() }
}

/// What is left of those of some systems that are computed side by side, each with its number.
fn side_by_side(systems: &[System], batch: Batch) -> Vec<(usize, Left)> {
    let members: Vec<usize> = batch.members().collect();
    let seats = batch.seats();
    std::thread::scope(|scope| {
        let of_seat = |(member, seat): (usize, BatchSeat)| {
            let system = &systems[member];
            (member, scope.spawn(move || run(system, Some(seat))))
        };
        let threads: Vec<_> = members.into_iter().zip(seats).map(of_seat).collect();
        threads.into_iter().map(|(member, thread)| (member, thread.join().unwrap())).collect()
    })
}

/// How many of some systems are computed side by side, each with the values that it has alone.
fn agree(what: &str, systems: &[System]) -> usize {
    let batch = match plan(systems) {
        Ok(batch) => batch,
        Err(why) => {
            println!("{what}: {why}");
            return 0;
        }
    };
    let found = side_by_side(systems, batch);
    for (member, left) in &found {
        assert!(*left == run(&systems[*member], None), "{what}, system {member}");
    }
    found.len()
}

/// Sweeps that can be computed side by side, of so many. One after the other: what waits for other systems in a thread of a pool
/// would keep it from them.
fn agreeing(cases: u64, draw: impl Fn(u64) -> Description) -> [usize; 2] {
    let all: Vec<usize> = (0..cases)
        .map(|seed| {
            let description = draw(seed);
            let at: Vec<usize> = description.size.iter().map(|extent| extent / 2).collect();
            let description = description.receiver("u0", &at).total("all", "sum(u0*k)");
            // A number that many programs have anyway is among them.
            let (name, values) = match seed % 4 {
                3 => ("dt", [0.25, 0.5, 0.75]),
                _ => ("k", [0.625, 1.0, -1.5]),
            };
            agree(&format!("seed {seed}"), &swept(&description, name, &values))
        })
        .collect();
    [all.iter().filter(|members| **members == 3).count(), all.len()]
}

#[test]
fn random_systems_have_side_by_side_the_values_that_they_have_alone() {
    let [found, all] = agreeing(cases(10, 6), draw::near);
    assert!(found * 4 >= all * 3, "{found} of {all}");
}

#[test]
fn random_systems_in_stages_have_side_by_side_the_values_that_they_have_alone() {
    let [found, all] = agreeing(cases(8, 4), |seed| draw::in_stages(seed, 2));
    assert!(found * 4 >= all * 3, "{found} of {all}");
}

/// By chains and by single steps.
#[test]
fn any_launch_takes_several_systems() {
    let spots = Description::new(&[24, 40])
        .dtype(Dtype::F32)
        .constant("k", 1)
        .derivative("laplace", "laplace", 2)
        .field(FieldText::new("u", "sin(x)*cos(y)", "u + 0.1*k*laplace(u) + 0.01*sin(t)*v"))
        .field(FieldText::new("v", "1", "v + 0.05*laplace(v) - k*0.1*u*v"))
        .source("v", &[3, 5], "k*t")
        .receiver("u", &[4, 4])
        .total("mass", "sum(k*u)");
    for chain in [1, 3] {
        let systems = swept(&spots, "k", &[0.25, 0.5, 0.75, 1.0]);
        let with_chain = |system: System| system.with_chain(Depth::Steps(chain));
        let systems: Vec<System> = systems.into_iter().map(with_chain).collect();
        assert_eq!(agree(&format!("chain {chain}"), &systems), 4);
    }
}

/// One ends before the others, one is looked at more often.
#[test]
fn systems_side_by_side_need_not_do_the_same() {
    let heat = Description::new(&[40])
        .constant("k", 1)
        .derivative("laplace", "xx", 2)
        .field(FieldText::new("u", "sin(x)", "u + 0.1*k*laplace(u) - 0.001*u^3"));
    let systems = swept(&heat, "k", &[0.25, 0.5, 0.75]);
    let steps = |number: usize| [2, 40, 9][number];
    let alone: Vec<Grid> = systems
        .iter()
        .enumerate()
        .map(|(number, system)| {
            let mut alone = SystemSimulation::asked(system, &asked(None)).unwrap();
            alone.step(steps(number)).unwrap();
            alone.field("u").unwrap()
        })
        .collect();
    let seats = plan(&systems).unwrap().seats();
    std::thread::scope(|scope| {
        for (number, seat) in seats.into_iter().enumerate() {
            let (system, expected) = (&systems[number], &alone[number]);
            scope.spawn(move || {
                let mut own = SystemSimulation::asked(system, &asked(Some(seat))).unwrap();
                let portion = if number == 2 { 1 } else { steps(number) };
                (0..steps(number) / portion).for_each(|_| own.step(portion).unwrap());
                assert!(own.field("u").unwrap() == *expected, "system {number}");
                assert_eq!(own.report().side_by_side, 3);
            });
        }
    });
}

#[test]
fn what_cannot_be_side_by_side_says_why() {
    let heat = |size: &[usize], more: &str| {
        Description::new(size)
            .constant("k", 1)
            .derivative("laplace", "xx", 2)
            .field(FieldText::new("u", "sin(x)", format!("u + 0.1*k*laplace(u)*u{more}")))
    };
    let why = |systems: &[System]| plan(systems).err().unwrap();
    let small = swept(&heat(&[40, 40], ""), "k", &[0.25, 0.5]);
    assert!(plan(&small).is_ok());
    assert_eq!(why(&small[..1]), "there is only one");
    // A system that others compute so fast alone.
    let request = Request { engine: EngineRequest::Emulate, steps: 1, ..Request::default() };
    let told = Batch::plan(&small, request, Some(1e-9)).err().unwrap();
    assert!(told.contains("is predicted to take"), "{told}");
    let powers = swept(&heat(&[40, 40], "^k"), "k", &[2.0, 3.0]);
    assert_eq!(why(&powers), "the runs differ in more than numbers of their equations");
    let many: Vec<f64> = (0..=MOST).map(|number| number as f64 + 0.5).collect();
    assert_eq!(why(&swept(&heat(&[40], ""), "k", &many)), "there are more than 64");
}
