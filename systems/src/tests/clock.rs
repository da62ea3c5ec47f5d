// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that are as long as the values say.

use std::path::Path;

use super::draw;
use super::tier::cases;
use crate::{ComputeOptions, Description, FieldText, System, SystemSimulation, SystemState};
use compute::engine::EngineRequest;
use compute::plan::Sharing;
use compute::ranks::engine::Ranks;
use problem::Error;
use problem::observe::Snapshot;

/// A value that decays, slower and slower: by steps of so many parts of its own.
fn decay() -> Description {
    let mut description = Description::new(&[3])
        .dtype(problem::Dtype::F64)
        .time_step("0.1/max(abs(u))")
        .field(FieldText::rate("u", "2 + ix", "-u^2"));
    (description.dt_every, description.steps) = (Some(3), 1000);
    description
}

fn simulation(description: &Description) -> SystemSimulation {
    SystemSimulation::new(&System::new(description, Path::new("")).unwrap()).unwrap()
}

#[test]
fn the_step_follows_from_the_values_after_every_so_many() {
    let mut simulation = simulation(&decay());
    let (mut u, mut time, mut dt) = ([2.0, 3.0, 4.0], 0.0, 0.0);
    for step in 0..20 {
        if step % 3 == 0 {
            dt = 0.1 / u[2];
        }
        u = u.map(|u: f64| u - dt * u * u);
        time += dt;
        simulation.step(1).unwrap();
        let found = simulation.field("u").unwrap();
        for (at, u) in u.iter().enumerate() {
            assert!((found.get(at) - u).abs() < 1e-14 * u.abs(), "step {step}");
        }
        assert!((simulation.now() - time).abs() < 1e-14, "step {step}");
    }
}

#[test]
fn a_run_ends_at_its_time_and_not_before() {
    let mut description = decay();
    description.until = Some(crate::Text::new("the end", "1.5"));
    let mut whole = simulation(&description);
    whole.step(1000).unwrap();
    let steps = whole.steps();
    let is_there = |simulation: &SystemSimulation| (simulation.now() - 1.5).abs() < 1e-12;
    assert!(is_there(&whole) && (15..100).contains(&steps), "{steps} {}", whole.now());
    // What is over stays as it is.
    whole.step(5).unwrap();
    assert!(whole.steps() == steps && is_there(&whole));
    // Du/dt = -u^2 is 1/u = 1/u0 + t; Euler's method is of first order.
    let u = whole.field("u").unwrap().get(0);
    assert!((u - 0.5).abs() < 0.03, "{u}");
    // Any portions, and comparisons in between, make no other steps.
    let mut parts = simulation(&description);
    parts.step(7).unwrap();
    parts.checked_step().unwrap();
    parts.step(2).unwrap();
    parts.step(1000).unwrap();
    assert_eq!(parts.steps(), steps);
    assert_eq!(parts.field("u").unwrap(), whole.field("u").unwrap());
    assert_eq!(parts.now().to_bits(), whole.now().to_bits());
    // With comparisons at all points, up to the end.
    let mut compared = simulation(&description);
    compared.compare_all(true);
    compared.run(1000, &[], &mut problem::observe::NoObserver).unwrap();
    assert_eq!(compared.steps(), steps);
    assert_eq!(compared.field("u").unwrap(), whole.field("u").unwrap());
}

#[test]
fn a_run_goes_on_with_the_steps_that_it_had() {
    let description = decay();
    let system = System::new(&description, Path::new("")).unwrap();
    let mut whole = simulation(&description);
    whole.step(20).unwrap();
    for first in [1, 3, 8] {
        let mut before = simulation(&description);
        before.step(first).unwrap();
        let left = {
            let mut snapshot = before.snapshot();
            let region = problem::Region::whole(snapshot.shape());
            let names = snapshot.arrays();
            let grid = |array: usize, snapshot: &mut dyn Snapshot| problem::Grid {
                shape: snapshot.shape(),
                values: snapshot.read(array, region).unwrap(),
            };
            let arrays = names.into_iter().enumerate();
            let arrays = arrays.map(|(array, name)| (name, grid(array, &mut snapshot))).collect();
            let clock = snapshot.clock();
            SystemState {
                step: first,
                arrays,
                records: Vec::new(),
                series: Vec::new(),
                rows_of: String::new(),
                clock,
            }
        };
        let mut after =
            SystemSimulation::resumed(&system, &ComputeOptions::default(), left).unwrap();
        after.step(20 - first).unwrap();
        assert_eq!(after.field("u").unwrap(), whole.field("u").unwrap(), "{first}");
        assert_eq!(after.now().to_bits(), whole.now().to_bits(), "{first}");
    }
}

/// du/dt = -u^2 by steps that are off by no more than a tolerance.
fn tolerant(tolerance: &str, first: &str) -> Description {
    let text = |text: &str| crate::Text::new("a number", text);
    let mut description = decay().method(crate::Method::Rk45).time_step(first);
    description.dt_every = None;
    description.tolerance = Some(text(tolerance));
    description.until = Some(text("3"));
    description
}

#[test]
fn steps_are_off_by_no_more_than_a_tolerance() {
    let mut before = 0;
    for (tolerance, most) in [("1e-5", 1e-4), ("1e-8", 1e-7), ("1e-11", 1e-10)] {
        let mut simulation = simulation(&tolerant(tolerance, "0.01"));
        simulation.step(1000).unwrap();
        assert!((simulation.now() - 3.0).abs() < 1e-12);
        let u = simulation.field("u").unwrap();
        for at in 0..3 {
            let exact = 1.0 / (1.0 / (2.0 + at as f64) + 3.0);
            assert!((u.get(at) - exact).abs() < most, "{tolerance}: {}", u.get(at) - exact);
        }
        // A fifth root of a thousand times as many.
        let steps = simulation.steps();
        assert!(before < steps && steps < 150, "{tolerance}: {steps} steps");
        before = steps;
    }
}

/// The first step would be far too long: it is taken back, more than once, and nothing of it is left.
#[test]
fn steps_that_are_off_by_more_are_taken_again() {
    let mut long = tolerant("1e-8", "2").receiver("u", &[1]);
    long = long.total("mass", "sum(u)");
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let system = System::new(&long, Path::new("")).unwrap();
        let simulation = SystemSimulation::on(&system, engine).unwrap();
        let mut simulation = simulation.with_series(1).unwrap();
        simulation.checked_step().unwrap();
        // Steps that were taken back are none that were compared.
        assert_eq!(simulation.report().steps, 1);
        simulation.step(1000).unwrap();
        let steps = simulation.steps();
        let u = simulation.field("u").unwrap().get(1);
        assert!((u - 1.0 / (1.0 / 3.0 + 3.0)).abs() < 1e-7, "{u}");
        let rows = simulation.series().to_vec();
        assert_eq!([rows.len(), simulation.records().len()], [steps + 1; 2]);
        for (step, (row, record)) in rows.iter().zip(simulation.records()).enumerate() {
            assert_eq!((row[0], row[1]), (step as f64, record[0]));
        }
        assert!(rows.windows(2).all(|two| two[0][1] < two[1][1]));
    }
    let mut other = tolerant("1e-8", "2");
    other.method = crate::Method::Rk4;
    let refused = System::new(&other, Path::new("")).unwrap_err().to_string();
    assert!(refused.contains("'rk4' has no error estimate"), "{refused}");
    let mut other = tolerant("-1", "2");
    let refused = System::new(&other, Path::new("")).unwrap_err().to_string();
    assert!(refused.contains("a tolerance is a number above 0"), "{refused}");
    other.tolerance = Some(crate::Text::new("a number", "1"));
    let refused = System::new(&other.time_step("1/max(u)"), Path::new("")).unwrap_err().to_string();
    assert!(refused.contains("both 'tolerance' and a time step"), "{refused}");
}

/// Without a tolerance it is a method of fifth order.
#[test]
fn the_method_of_cash_and_karp_is_of_fifth_order() {
    let error = |steps: usize| {
        let mut description = decay().method(crate::Method::Rk45).time_step(1.0 / steps as f64);
        description.dt_every = None;
        let mut simulation = simulation(&description);
        simulation.step(steps).unwrap();
        (simulation.field("u").unwrap().get(0) - 1.0 / 1.5).abs()
    };
    let order = (error(16) / error(32)).log2();
    assert!((4.5..5.5).contains(&order), "{order}");
}

/// A random system whose steps are as long as its values say.
fn drawn(seed: u64) -> Result<System, Error> {
    let mut description = match seed % 2 {
        0 => draw::in_stages(seed, 2),
        _ => draw::system(seed),
    };
    if seed.is_multiple_of(6) {
        // Rates; the sides and sources of any.
        description = description.method(crate::Method::Rk45).time_step("0.05");
        description.tolerance = Some(crate::Text::new("a number", "1e-2"));
        return System::new(&description, Path::new(""));
    }
    description = description.time_step("0.02 + 0.1*mean(abs(u0)) + 0.001*n");
    description.dt_every = Some(1 + (seed % 3) as usize);
    System::new(&description, Path::new(""))
}

/// Random systems, but for those with sides that read earlier values whose time is unknown.
fn each(cases: u64, mut of: impl FnMut(u64, System)) {
    let mut taken = 0;
    for seed in 0..cases {
        match drawn(seed) {
            Ok(system) => {
                of(seed, system);
                taken += 1;
            }
            Err(error) => assert!(error.to_string().contains("one step ago"), "{error}"),
        }
    }
    assert!(4 * taken > cases, "{taken} of {cases}");
}

#[test]
fn any_system_with_such_steps_agrees_with_the_oracle() {
    each(cases(8, 5), |seed, system| {
        let mut checked = SystemSimulation::new(&system).unwrap();
        for _ in 0..5 {
            checked.checked_step().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        let mut stepped = SystemSimulation::new(&system).unwrap();
        stepped.step(2).unwrap();
        stepped.step(3).unwrap();
        for name in system.fields() {
            assert_eq!(stepped.field(name).unwrap(), checked.field(name).unwrap(), "seed {seed}");
        }
    });
}

#[test]
fn kernels_with_such_steps_agree_with_the_oracle() {
    each(6, |seed, system| {
        let mut emulated = SystemSimulation::on(&system, EngineRequest::Emulate).unwrap();
        for _ in 0..4 {
            emulated.checked_step().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    });
}

#[test]
fn ranks_take_such_steps_together() {
    each(8, |seed, system| {
        let sharing = Sharing::among(Ranks::Threads(2));
        let asked = ComputeOptions { sharing: Some(sharing), ..ComputeOptions::default() };
        let asked = ComputeOptions { engine: EngineRequest::Cpu, ..asked };
        let Ok(mut shared) = SystemSimulation::asked(&system, &asked) else { return };
        let mut alone = SystemSimulation::new(&system).unwrap();
        for simulation in [&mut shared, &mut alone] {
            simulation.step(5).unwrap();
        }
        assert_eq!(shared.now().to_bits(), alone.now().to_bits(), "seed {seed}");
        for name in system.fields() {
            assert_eq!(shared.field(name).unwrap(), alone.field(name).unwrap(), "seed {seed}");
        }
    });
}

#[test]
fn what_is_wrong_with_such_steps_is_told() {
    let of = |change: &dyn Fn(&mut Description)| {
        let mut description = decay();
        change(&mut description);
        let system = System::new(&description, Path::new(""));
        system.and_then(|system| SystemSimulation::new(&system)).map(drop).unwrap_err().to_string()
    };
    let dt = |text: &'static str| move |it: &mut Description| it.dt = crate::Text::new("dt", text);
    assert!(of(&dt("max(u) - 10")).contains("after step 0 the next step would have the length -6"));
    assert!(of(&dt("1/min(u - 2)")).contains("would have the length inf"));
    assert!(of(&dt("0.1/max(u*dt)")).contains("the time step depends on itself"));
    assert!(of(&dt("0.1")).contains("'dt_every' needs a time step that follows"));
    assert!(of(&|it| it.dt_every = Some(0)).contains("'dt_every' is 0 steps"));
    assert!(of(&dt("max(new(u))")).contains("cannot stand in what is summed over the grid"));
    let constant = of(&|it| {
        it.constants.push((crate::Text::new("a name", "half"), crate::Text::new("half", "dt/2")));
    });
    assert!(constant.contains("'dt' cannot stand in a constant"), "{constant}");
    let steps = of(&|it| {
        it.steps = 0;
        it.until = Some(crate::Text::new("the end", "2"));
    });
    assert!(steps.contains("the number of steps is not known"), "{steps}");
    let until = of(&|it| it.until = Some(crate::Text::new("the end", "-2")));
    assert!(until.contains("-2 is no end time"), "{until}");
    let system = System::new(&decay(), Path::new("")).unwrap();
    let refused = SystemSimulation::on(&system, EngineRequest::Fft).err().unwrap().to_string();
    assert!(refused.contains("the step length follows from the values"), "{refused}");
}
