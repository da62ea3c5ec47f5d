// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients of single systems that random ones do not have.

use super::{half_squares, of, values};
use crate::simulation::{Cotangents, Gradient, GradientBy};
use crate::{Description, FieldText, Simulation, Table, TableText, Text};
use compute::engine::EngineRequest;
use problem::{Dtype, Error};

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| (*name).to_owned()).collect()
}

pub fn by(coefficients: &[&str], parameters: &[&str]) -> GradientBy {
    let (coefficients, parameters) = (names(coefficients), names(parameters));
    GradientBy { coefficients, parameters, ..GradientBy::default() }
}

pub fn gradient(of_system: &Description, steps: usize, by: &GradientBy) -> Result<Gradient, Error> {
    let mut simulation = Simulation::of(&of(of_system)).build().unwrap();
    simulation.gradient(steps, by, |after| Ok(half_squares(after).1))
}

pub fn line(size: usize) -> Description {
    Description::new(&[size]).dtype(Dtype::F64).time_step(0.1).derivative("laplace", "laplace", 2)
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-6 * (1.0 + wanted.abs()), "{found} for {wanted}");
}

/// A source that is made of a constant is a part of an equation where that is a coefficient, and has its gradient all the same.
#[test]
fn sources_have_gradients_beside_those_of_constants_that_they_read() {
    let wave = |k: f64, dir: [f64; 4]| {
        let mut own = line(9).constant("k", format!("{k:?}")).coefficient("c", "1 + x");
        let table = Table { arguments: vec![0.0, 1.0, 2.0, 3.0], values: dir.to_vec() };
        own.tables.push((Text::new("a name", "dir"), TableText::Points(table)));
        let field = FieldText::new("u", "cos(x)", "u + dt*(laplace(u) - u^3)").boundary("edge");
        let after = FieldText::new("v", 0.0, "v + sin(new(u))");
        own.field(field)
            .field(after)
            .source("u", &[2], "k*sin(t) + dir(n)")
            .source("u", &[5], "0.2")
            .source("u", &[6], "0.1*c")
    };
    let zero = [0.0; 4];
    let value = |k: f64, dir: [f64; 4]| {
        let mut simulation = Simulation::of(&of(&wave(k, dir))).build().unwrap();
        simulation.step(4).unwrap();
        half_squares(&mut simulation).0
    };
    let plain = gradient(&wave(0.7, zero), 4, &by(&[], &[])).unwrap();
    let found = gradient(&wave(0.7, zero), 4, &by(&["c"], &["k"])).unwrap();
    // The last one, which reads a coefficient, is a part of an equation.
    assert_eq!((plain.sources.len(), found.sources.len()), (3, 3));
    assert_eq!(found.sources[2], zero);
    for (of_plain, of_found) in plain.sources.iter().flatten().zip(found.sources.iter().flatten()) {
        near(*of_found, *of_plain);
    }
    for step in 0..4 {
        let mut dir = zero;
        dir[step] = 1e-6;
        let ahead = value(0.7, dir);
        dir[step] = -1e-6;
        near(found.sources[0][step], (ahead - value(0.7, dir)) / 2e-6);
    }
    near(found.parameters[0].1, (value(0.7 + 1e-6, zero) - value(0.7 - 1e-6, zero)) / 2e-6);
}

#[test]
fn names_that_are_asked_for_twice_are_refused() {
    let own = line(6).constant("k", 2).coefficient("c", "x");
    let own = own.field(FieldText::new("u", "x", "k*c*u"));
    for by in [by(&["c", "c"], &[]), by(&[], &["k", "k"])] {
        let error = gradient(&own, 2, &by).unwrap_err().to_string();
        assert!(error.contains("is asked for twice"), "{error}");
    }
}

/// A constant in what a stencil is taken of has its value beyond sides of any kind, which differ between fields.
#[test]
fn constants_are_read_beyond_sides() {
    for sides in [["zero", "edge"], ["periodic", "periodic"], ["odd", "reflect"]] {
        let own = |k: f64| {
            let next = ["u + dt*laplace(k*u)", "v + dt*laplace(k^2*v + u)"];
            let own = line(8).constant("k", k);
            own.field(FieldText::new("u", "1 + cos(x)", next[0]).boundary(sides[0]))
                .field(FieldText::new("v", "sin(x)", next[1]).boundary(sides[1]))
        };
        let value = |k: f64| {
            let mut simulation = Simulation::of(&of(&own(k))).build().unwrap();
            simulation.step(3).unwrap();
            half_squares(&mut simulation).0
        };
        let found = gradient(&own(0.7), 3, &by(&[], &["k"])).unwrap();
        near(found.parameters[0].1, (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6);
    }
}

/// Tables of the adjoint are called otherwise than what the system has.
#[test]
fn names_of_tables_are_no_names_of_fields() {
    let mut own = line(6);
    let table = Table { arguments: vec![0.0, 1.0], values: vec![1.0, 2.0] };
    own.tables.push((Text::new("a name", "own"), TableText::Points(table)));
    let own = own
        .coefficient("residual_0", "x")
        .field(FieldText::new("table_0", "cos(x)", "table_0*(1 - 0.1*residual_0*own(n)*table_0)"))
        .receiver("table_0", &[2]);
    let found = gradient(&own, 2, &by(&["residual_0"], &[])).unwrap();
    assert!(values(&found.coefficients[0].1).any(|value| value != 0.0));
}

/// A run whose constants change on the way has a time that goes on with other steps, also where its gradient is by constants.
#[test]
fn a_changed_simulation_keeps_its_time() {
    let own = line(6).constant("q", 0.1).constant("k", 0.4).time_step("q");
    let own = own.field(FieldText::new("u", "cos(x)", "u + dt*k*sin(3*t)*u"));
    let after = |k: f64, by: Option<&GradientBy>| {
        let mut simulation = Simulation::of(&of(&own)).build().unwrap();
        simulation.step(3).unwrap();
        simulation.set_parameters(&[("q", 0.25), ("k", k)]).unwrap();
        let found = match by {
            Some(by) => Some(simulation.gradient(4, by, |now| Ok(half_squares(now).1)).unwrap()),
            None => {
                simulation.step(4).unwrap();
                None
            }
        };
        (half_squares(&mut simulation).0, found)
    };
    let found = after(0.4, Some(&by(&[], &["k"]))).1.unwrap();
    near(found.parameters[0].1, (after(0.4 + 1e-6, None).0 - after(0.4 - 1e-6, None).0) / 2e-6);
}

/// Values of 16 bits have adjoints of 32.
#[test]
fn sixteen_bits_are_differentiated_in_more() {
    let own = |dtype: Dtype| {
        line(40).dtype(dtype).coefficient("c", "1 + 0.5*sin(x)").field(
            FieldText::new("u", "cos(x/5)", "u + dt*c*laplace(u) - 0.01*u^3").boundary("edge"),
        )
    };
    let of = |dtype: Dtype| {
        let mut simulation = Simulation::of(&of(&own(dtype))).build().unwrap();
        let found = simulation.gradient(400, &by(&["c"], &[]), |after| {
            let (name, grid) = after.state()?.arrays.remove(0);
            let ones = problem::Grid::new(&[40], vec![1.0; 40])?;
            assert_eq!(grid.shape, ones.shape);
            Ok(Cotangents { fields: vec![(name, ones)], ..Cotangents::default() })
        });
        let found = found.unwrap();
        let by_c: Vec<f64> = values(&found.coefficients[0].1).collect();
        (values(&found.start[0].1).collect::<Vec<f64>>(), by_c)
    };
    let right = of(Dtype::F64);
    for dtype in [Dtype::F16, Dtype::Bf16] {
        let found = of(dtype);
        let off = |found: &[f64], right: &[f64]| {
            let most = right.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            let off = found.iter().zip(right).map(|(a, b)| (a - b).abs());
            off.fold(0.0, f64::max) / most
        };
        let [start, by_c] = [off(&found.0, &right.0), off(&found.1, &right.1)];
        println!("{dtype}: off by {start:e} and {by_c:e}");
        // The forward steps round.
        let most = if dtype == Dtype::F16 { 0.02 } else { 0.15 };
        assert!(start < most && by_c < most, "{dtype}: {start:e}, {by_c:e}");
    }
}

/// Branches that are not taken say nothing, whatever they would be.
#[test]
fn what_a_condition_guards_is_no_part_of_a_gradient_where_it_does_not_hold() {
    let cases = [
        "if(h > 0, q/h, 0) + q",
        "if(h > 0, sin(q/h)*q, 2*q)",
        "if(h > 0, 3*(q/h)^2, 1)*q + if(h > 0.5, ln(h), 0)",
        "if(h > 0 and h < 8, (q/h + sqrt(h))*q, q)",
        "if(h <= 0, q, 0.1*exp(1/h))",
        "if(h > 0, w, q)",
        "laplace(if(h > 0, q/h, 0))",
        "q + 0*h^c + 0.1*if(h > 0, h^c, 0)",
        "q + h^(1 + c)",
        "q + 0.1*if(h > 1, laplace(q/h), 0)",
        "q + 0.1*if(h > 1, laplace(sqrt(h)*q + q^2*ln(h)), 0)",
        "q + 0.1*if(h > 1.3, laplace(laplace(q/h)*q), 0)",
        "q + 0.1*laplace(if(h > 1, laplace(q/h), 0))",
        "q + 0.1*if(h > 1, laplace(v), 0)",
    ];
    for next in cases {
        let own = |c: f64, q: f64| {
            line(7)
                .coefficient("c", c)
                .field(FieldText::new("h", "if(ix < 3, 0, 0.3*x)", "h").boundary("edge"))
                .field(FieldText::new("q", format!("{q:?}*cos(x)").as_str(), next).boundary("edge"))
                .work("w", "q/h")
                .work_with("v", "if(h > 0, q/h, 0)", "edge")
        };
        let value = |c: f64, q: f64| {
            let mut simulation = Simulation::of(&of(&own(c, q))).build().unwrap();
            simulation.step(2).unwrap();
            half_squares(&mut simulation).0
        };
        assert!(value(0.5, 0.4).is_finite(), "{next}");
        let found = gradient(&own(0.5, 0.4), 2, &by(&["c"], &[])).unwrap();
        let (_, by_q) = found.start.iter().find(|(name, _)| name.field == "q").unwrap();
        let slope: f64 = values(by_q).enumerate().map(|(x, by)| by * (x as f64).cos()).sum();
        let quotient = (value(0.5, 0.4 + 1e-6) - value(0.5, 0.4 - 1e-6)) / 2e-6;
        assert!(
            (slope - quotient).abs() < 1e-6 * (1.0 + slope.abs()),
            "{next}: {slope}, {quotient}"
        );
        let slope: f64 = values(&found.coefficients[0].1).sum();
        let quotient = (value(0.5 + 1e-6, 0.4) - value(0.5 - 1e-6, 0.4)) / 2e-6;
        assert!(
            (slope - quotient).abs() < 1e-6 * (1.0 + slope.abs()),
            "{next}: {slope}, {quotient}"
        );
    }
}

/// Where nothing is recorded, values are kept before each step all the same.
#[test]
fn rows_of_totals_leave_a_gradient_what_it_is() {
    let mut decay = Description::new(&[4]).dtype(Dtype::F64);
    decay = decay.field(FieldText::new("u", "1 + x", "u - 0.1*u^2")).total("mass", "sum(u)");
    let system = of(&decay);
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let run = |every: Option<usize>| {
            let mut simulation = Simulation::of(&system).engine(engine);
            if let Some(every) = every {
                simulation = simulation.series(every);
            }
            let mut simulation = simulation.build().unwrap();
            let by = GradientBy::default();
            let found = simulation.gradient(3, &by, |after| Ok(half_squares(after).1)).unwrap();
            let found: Vec<f64> = values(&found.start[0].1).collect();
            (found, simulation.series().len())
        };
        let (usual, _) = run(None);
        for every in [1, 2] {
            assert_eq!(run(Some(every)), (usual.clone(), 1 + 3 / every), "{engine}, {every}");
        }
    }
}

/// Of no steps the gradient is that of what receivers record of the start.
#[test]
fn a_gradient_of_no_steps_reads_present_values() {
    let line = Description::new(&[4]).dtype(Dtype::F64);
    let line = line.field(FieldText::new("u", "3 + x", "u/2")).receiver_of("u^2", &[0]);
    let mut simulation = Simulation::of(&of(&line)).build().unwrap();
    let found = simulation.gradient(0, &GradientBy::default(), |after| {
        assert_eq!(after.records()[0][1], 9.0);
        Ok(Cotangents { records: vec![vec![1.0]], ..Cotangents::default() })
    });
    let found: Vec<f64> = values(&found.unwrap().start[0].1).collect();
    assert_eq!(found, [6.0, 0.0, 0.0, 0.0]);
}

/// A derivative of a value that is infinite as it is kept may be 0.
#[test]
fn values_that_are_infinite_as_they_are_kept_are_refused() {
    let line = Description::new(&[4]).dtype(Dtype::F64);
    let line = of(&line.field(FieldText::new("u", "1e5", "1/u")));
    for engine in [EngineRequest::Cpu, EngineRequest::Emulate] {
        let found = |rounded: Dtype| {
            let by = GradientBy { rounded: Some(rounded), ..GradientBy::default() };
            let mut simulation = Simulation::of(&line).engine(engine).build().unwrap();
            simulation.gradient(1, &by, |after| Ok(half_squares(after).1))
        };
        let error = found(Dtype::F16).unwrap_err().to_string();
        assert!(error.contains("kept as f16"), "{error}");
        assert!(found(Dtype::Bf16).is_ok());
    }
}
