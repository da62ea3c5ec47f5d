// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers of each step: the bits are those of a function of seed, step and point, whoever computes; moments are those
//! of their distributions; and stochastic equations have the variances that are known of them.

use std::path::Path;

use crate::{Description, FieldText, System, SystemSimulation, SystemState};
use compute::engine::EngineRequest;
use problem::noise::Noise;
use problem::observe::Snapshot;
use problem::{Depth, Dtype, Error, Grid, Region};

fn system(description: &Description) -> System {
    System::new(description, Path::new("")).unwrap()
}

/// Uniform and normal numbers.
fn numbers(size: &[usize], dtype: Dtype) -> Description {
    Description::new(size)
        .dtype(dtype)
        .field(FieldText::new("u", "0", "noise(3)"))
        .field(FieldText::new("v", "0", "normal(3)"))
}

fn values(grid: &Grid) -> Vec<f64> {
    (0..grid.shape.points()).map(|at| grid.get(at)).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The mean product of two lists.
fn product(a: &[f64], b: &[f64]) -> f64 {
    mean(a.iter().zip(b).map(|(a, b)| a * b))
}

#[test]
fn every_engine_has_the_bits_of_the_function() {
    for dtype in [Dtype::F64, Dtype::F32] {
        for (size, engine, chain) in [
            (&[9, 40][..], EngineRequest::Cpu, 1),
            (&[64, 40], EngineRequest::Cpu, 4),
            (&[3, 4, 20], EngineRequest::Cpu, 1),
            (&[70], EngineRequest::Emulate, 1),
            (&[20, 30], EngineRequest::Emulate, 3),
            (&[6, 7, 20], EngineRequest::Emulate, 2),
        ] {
            let what = format!("{dtype} {size:?} {engine:?} {chain}");
            let system = system(&numbers(size, dtype)).with_chain(Depth::Steps(chain));
            let mut simulation = SystemSimulation::on(&system, engine)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            simulation.step(4).unwrap();
            let u = simulation.field("u").unwrap();
            let [_, ny, nx] = u.shape.extents();
            for (at, found) in values(&u).into_iter().enumerate() {
                let point = [at / (ny * nx), at / nx % ny, at % nx].map(|it| it as isize);
                let expected = match dtype {
                    Dtype::F64 => Noise::uniform(3).double(3, point),
                    _ => Noise::uniform(3).single(3, point).into(),
                };
                assert_eq!(found, expected, "{what}: {point:?}");
            }
            for _ in 0..2 {
                let check = simulation.checked_step().unwrap();
                assert_eq!(check.undecided, 0, "{what}");
            }
        }
    }
}

#[test]
fn numbers_have_the_moments_of_their_distributions() {
    const POINTS: usize = 400;
    for dtype in [Dtype::F64, Dtype::F32] {
        let system = system(&numbers(&[POINTS, POINTS], dtype));
        let mut simulation = SystemSimulation::new(&system).unwrap();
        let mut before: Option<[Vec<f64>; 2]> = None;
        for _ in 0..3 {
            simulation.step(1).unwrap();
            let [u, v] = ["u", "v"].map(|name| values(&simulation.field(name).unwrap()));
            let centred: Vec<f64> = u.iter().map(|u| (u - 0.5) * 12f64.sqrt()).collect();
            // Of 160,000 numbers a mean is off by 0.0025.
            let near = |found: f64, expected: f64, off: f64, what: &str| {
                let most = 5.0 * off / POINTS as f64;
                assert!((found - expected).abs() < most, "{dtype}, {what}: {found}");
            };
            for (what, values, fourth) in [("uniform", &centred, 1.8), ("normal", &v, 3.0)] {
                near(mean(values.iter().copied()), 0.0, 1.0, what);
                near(product(values, values), 1.0, 1.5, what);
                near(mean(values.iter().map(|it| it.powi(3))), 0.0, 4.0, what);
                near(mean(values.iter().map(|it| it.powi(4))), fourth, 10.0, what);
                near(product(values, &values[1..]), 0.0, 1.0, "neighbours along x");
                near(product(values, &values[POINTS..]), 0.0, 1.0, "neighbours along y");
            }
            near(product(&centred, &v), 0.0, 1.0, "two fields");
            if let Some([u, v]) = before {
                near(product(&u, &centred), 0.0, 1.0, "two steps");
                near(product(&v, &values(&simulation.field("v").unwrap())), 0.0, 1.0, "two steps");
            }
            before = Some([centred, v]);
        }
    }
}

/// A stochastic heat equation, and the variance of each of its waves (Euler and Maruyama): a wave is multiplied by 1 - a in a
/// step and gets noise of variance s² dt, so that it has s² dt/(1 - (1 - a)²) in the end.
#[test]
fn a_stochastic_heat_equation_has_its_variance() {
    let (n, dt, k, s) = (64usize, 0.1, 1.0, 0.7);
    let description = Description::new(&[n])
        .dtype(Dtype::F64)
        .time_step(dt)
        .constant("k", k)
        .constant("s", s)
        .derivative("laplace", "laplace", 2)
        .field(
            FieldText::new("u", "0", "u + dt*(k*laplace(u) - 0.1*u) + s*sqrt(dt)*normal(5)")
                .boundary("periodic"),
        );
    let mut simulation = SystemSimulation::new(&system(&description)).unwrap();
    let waves = (0..n).map(|wave| {
        let angle = 2.0 * std::f64::consts::PI * wave as f64 / n as f64;
        let factor = 1.0 - dt * (k * (2.0 - 2.0 * angle.cos()) + 0.1);
        s * s * dt / (1.0 - factor * factor)
    });
    let expected = mean(waves.collect::<Vec<_>>().into_iter());
    simulation.step(500).unwrap();
    let mut found = Vec::new();
    for _ in 0..2000 {
        simulation.step(10).unwrap();
        let u = values(&simulation.field("u").unwrap());
        found.push(product(&u, &u));
    }
    let found = mean(found.into_iter());
    assert!((found / expected - 1.0).abs() < 0.03, "{found}, {expected}");
}

/// Noise of a flux changes no total: it is read around points of a work field.
#[test]
fn noise_of_a_flux_keeps_the_total() {
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let description = Description::new(&[30, 20])
            .dtype(Dtype::F64)
            .time_step(0.1)
            .derivative("after", "x+", 2)
            .derivative("before", "x-", 2)
            .work_with("flux", "after(u) + normal(1)", "periodic")
            .field(FieldText::new("u", "1", "u + dt*before(flux)").boundary("periodic"));
        let mut simulation = SystemSimulation::on(&system(&description), engine).unwrap();
        simulation.step(10).unwrap();
        let u = values(&simulation.field("u").unwrap());
        assert!((mean(u.iter().copied()) - 1.0).abs() < 1e-13);
        assert!(u.iter().any(|value| (value - 1.0).abs() > 0.1));
        assert_eq!(simulation.checked_step().unwrap().undecided, 0);
    }
}

/// A run that was left goes on with the numbers of its steps, and all stages of a step have one number.
#[test]
fn a_run_goes_on_with_its_numbers() {
    let description = numbers(&[12, 15], Dtype::F32);
    let system = system(&description);
    let mut whole = SystemSimulation::new(&system).unwrap();
    whole.step(7).unwrap();
    let mut first = SystemSimulation::new(&system).unwrap();
    first.step(3).unwrap();
    let mut snapshot = first.snapshot();
    let names = snapshot.arrays();
    let shape = snapshot.shape();
    let read = |array| snapshot.read(array, Region::whole(shape)).unwrap();
    let grids: Vec<Grid> =
        (0..names.len()).map(read).map(|values| Grid { shape, values }).collect();
    let arrays = names.into_iter().zip(grids).collect();
    let left = SystemState {
        step: 3,
        arrays,
        records: Vec::new(),
        series: Vec::new(),
        rows_of: String::new(),
        clock: None,
    };
    // On what began: kernels round as their compiler likes.
    let asked =
        crate::ComputeOptions { engine: EngineRequest::Cpu, ..crate::ComputeOptions::default() };
    let mut second = SystemSimulation::resumed(&system, &asked, left).unwrap();
    second.step(4).unwrap();
    for name in ["u", "v"] {
        assert_eq!(second.field(name).unwrap(), whole.field(name).unwrap());
    }
}

/// Beyond what f32 counts, and beyond 32 bits.
#[test]
fn late_steps_have_numbers_of_their_own() {
    let system = system(&numbers(&[9, 40], Dtype::F32));
    for step in [(1 << 24) + 1, (5 << 32) + 77, (1 << 44) + 3] {
        for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
            let mut first = SystemSimulation::new(&system).unwrap();
            let names = first.snapshot().arrays();
            let grids = ["u", "v"].map(|name| first.field(name).unwrap());
            let arrays = names.into_iter().zip(grids).collect();
            let left = SystemState {
                step,
                arrays,
                records: Vec::new(),
                series: Vec::new(),
                rows_of: String::new(),
                clock: None,
            };
            let asked = crate::ComputeOptions { engine, ..crate::ComputeOptions::default() };
            let mut late = SystemSimulation::resumed(&system, &asked, left).unwrap();
            assert_eq!(late.checked_step().unwrap().undecided, 0);
            let expected = Noise::uniform(3).single(step as u64, [0, 2, 5]);
            assert_eq!(late.field("u").unwrap().get(85), f64::from(expected), "{engine:?} {step}");
        }
    }
}

/// Jumps know no noise.
#[test]
fn what_has_noise_is_not_jumped_over() {
    let system = system(&numbers(&[8, 8], Dtype::F64));
    let error = SystemSimulation::on(&system, EngineRequest::Fft).err().unwrap().to_string();
    assert!(error.contains("this is another number at each point: noise(3)"), "{error}");
}

fn mistake(tables: &str) -> String {
    let text = format!("grid.size = [9, 12]\n[time]\nsteps = 3\ndt = 0.1\n{tables}");
    let read = || System::new(&Description::parse("noise.toml", &text)?, Path::new(""));
    match read().map(|_| ()).unwrap_err() {
        Error::System(mistake) => {
            format!("{mistake}, {}", mistake.hint.as_deref().unwrap_or_default())
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let stencil = "[stencils]\ndx = { derivative = \"x\" }\n";
    let u = |next: &str| format!("{stencil}[fields.u]\nstart = 0\nnext = \"{next}\"\n");
    for (tables, expected) in [
        (
            u("random(1)"),
            "it may hold all but random(seed); noise(seed) is a new random number in each step",
        ),
        (u("noise(u)"), "the seed is a whole number from 0 on"),
        (u("noise(0.5)"), "the seed is a whole number from 0 on"),
        (u("normal()"), "'normal' takes 1 argument, not 0"),
        (u("noise"), "'noise' is a function; its argument is missing"),
        (u("dx(noise(1))"), "give them to a work field, which has a boundary"),
        (u("u*iz"), "there is no iz on a grid of 2 axes"),
        (
            "[fields.u]\nstart = \"noise(1)\"\nnext = \"u\"\n".into(),
            "constants, coefficients, stencils and random(seed)",
        ),
        (
            "[constants]\nnx = 3\n[fields.u]\nstart = 0\nnext = \"u\"\n".into(),
            "it follows from [grid]",
        ),
        ("[fields.and]\nstart = 0\nnext = \"1\"\n".into(), "'and' is a word of the language"),
    ] {
        let error = mistake(&tables);
        assert!(error.contains(expected), "{tables}: {error}");
        assert!(error.starts_with("noise.toml, line "), "{error}");
    }
}

/// What a system calls so is meant, and not what the language does.
#[test]
fn names_of_values_are_free_where_a_system_takes_them() {
    let description = Description::new(&[6, 8])
        .dtype(Dtype::F64)
        .spacing(0.5)
        .constant("n", "2")
        .constant("noise", "3")
        .derivative("x", "x", 2)
        .field(FieldText::new("h", "1 + hx*ix", "h^n + noise*x(h) + nx"))
        .coefficient("nx", "4")
        .field(FieldText::new("t", "iy", "0.5*t + 0.25*h"));
    let system = system(&description);
    let mut simulation = SystemSimulation::new(&system).unwrap();
    assert_eq!(simulation.field("h").unwrap().get(3), 2.5);
    simulation.step(1).unwrap();
    assert_eq!(simulation.field("h").unwrap().get(3), 2.5f64.powi(2) + 3.0 + 4.0);
    assert_eq!(simulation.field("t").unwrap().get(8 + 3), 0.5 + 0.25 * 2.5);
}

/// Indices are whole numbers, also where coordinates are rounded.
#[test]
fn indices_are_whole() {
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let description = Description::new(&[3, 5, 40])
            .dtype(Dtype::F32)
            .spacing(0.1)
            .field(FieldText::new("u", "0", "if(mod(ix + iy + iz, 2) == 0, 1, 0)"));
        let mut simulation = SystemSimulation::on(&system(&description), engine).unwrap();
        simulation.step(2).unwrap();
        let u = simulation.field("u").unwrap();
        for at in 0..600 {
            let sum = at / 200 + at / 40 % 5 + at % 40;
            assert_eq!(u.get(at), f64::from(u8::from(sum % 2 == 0)));
        }
        assert_eq!(simulation.checked_step().unwrap().undecided, 0);
    }
}
