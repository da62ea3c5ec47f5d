// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function in f64 and the system that its formula makes give the same values, and the same derivatives.

use super::{Formula, Number};
use crate::simulation::{Cotangents, GradientBy};
use crate::{Description, FieldText, Simulation, System};
use compute::engine::EngineRequest;
use problem::{Dtype, Error, Grid};
use std::path::Path;

/// Every function and operator, of values on both sides of 0 and of the limit.
fn everything<N: Number>(u: &N, v: &N) -> N {
    let positive = u.abs() + 0.5;
    let waves = (u.clone() * 3.0).sin() + v.cos() - u.atan2(v);
    let powers = positive.sqrt() * positive.ln() / (v.exp() + 1.0) + u.powi(3) - positive.powi(-2);
    let steps = (u.clone() * 7.0 + 0.3).floor() * 0.125 + u.min(v) * -2.0 + u.max(v).powi(0);
    let either = (u.clone() - v.clone()).less_than(&N::from(-0.1), &waves, &(-powers.clone()));
    waves + powers.tanh() * 1e-3 + steps / 3.0 + either
}

const POINTS: usize = 97;

fn starts() -> [Vec<f64>; 2] {
    // Nowhere near where a step of `floor` or of the limit lies.
    let u = (0..POINTS).map(|i| (i as f64 * 0.613 + 0.05).sin() * 1.5);
    let v = (0..POINTS).map(|i| (i as f64 * 0.377).cos() - 0.07);
    [u.collect(), v.collect()]
}

fn simulation(dtype: Dtype, engine: EngineRequest) -> Result<Simulation, Error> {
    let [u, v] = starts().map(|values| Grid::new(&[POINTS], values).unwrap());
    let next = everything(&Formula::named("u"), &Formula::named("v"));
    let description = Description::new(&[POINTS])
        .dtype(dtype)
        .field(FieldText::new("u", u, next))
        .field(FieldText::new("v", v, "v"));
    Simulation::of(&System::new(&description, Path::new("."))?).engine(engine).build()
}

#[test]
fn a_system_computes_what_the_function_does() {
    let [u, v] = starts();
    for (dtype, engine, most) in [
        (Dtype::F64, EngineRequest::Cpu, 1e-13),
        (Dtype::F32, EngineRequest::Cpu, 1e-4),
        (Dtype::F32, EngineRequest::Emulate, 1e-4),
    ] {
        let mut simulation = simulation(dtype, engine).unwrap();
        simulation.step(1).unwrap();
        let found = simulation.field("u").unwrap();
        for point in 0..POINTS {
            let expected = everything(&u[point], &v[point]);
            let found = found.get(point);
            let is_near = (found - expected).abs() <= most * (1.0 + expected.abs());
            assert!(is_near, "{dtype:?} {engine:?} {point}: {found} instead of {expected}");
        }
    }
}

#[test]
fn its_derivatives_are_those_of_the_function() {
    let [u, v] = starts();
    let mut simulation = simulation(Dtype::F64, EngineRequest::Cpu).unwrap();
    // Of the sum of u after the step.
    let gradient = simulation
        .gradient(1, &GradientBy::default(), |after| {
            let mut fields = after.state()?.arrays;
            for (name, grid) in &mut fields {
                let value = f64::from(u8::from(name.field == "u"));
                *grid = Grid::new(&[POINTS], vec![value; POINTS])?;
            }
            Ok(Cotangents { fields, ..Cotangents::default() })
        })
        .unwrap();
    let by_u = &gradient.start.iter().find(|(name, _)| name.field == "u").unwrap().1;
    for point in 0..POINTS {
        let h = 1e-6;
        let at = |u: f64| everything(&u, &v[point]);
        let expected = (at(u[point] + h) - at(u[point] - h)) / (2.0 * h);
        let found = by_u.get(point);
        let is_near = (found - expected).abs() <= 1e-7 * (1.0 + expected.abs());
        assert!(is_near, "{point}: {found} instead of {expected}");
    }
}

#[test]
fn numbers_are_written_so_that_they_are_read_back() {
    for value in [0.1, 1.0 / 3.0, -2.5, 1e-300, 6.02e23, -0.0] {
        let text = Formula::from(value).to_string();
        let inner = text.trim_matches(['(', ')']);
        assert_eq!(inner.parse::<f64>().unwrap().to_bits(), f64::to_bits(value), "{text}");
    }
    let u = Formula::named("u");
    assert_eq!((u.clone() - -1.0).to_string(), "(u - (-1.0))");
    assert_eq!((2.0 / u.clone()).to_string(), "(2.0 / u)");
    let wrong = Description::new(&[4]).field(FieldText::new("u", "0", u * f64::NAN));
    let error = System::new(&wrong, Path::new(".")).unwrap_err().to_string();
    assert!(error.contains("NaN"), "{error}");
}
