// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients of systems with totals, and of steps as long as these say.

use super::cases::{by, gradient, line};
use super::runs::told;
use super::{half_squares_and_totals, of, values};
use crate::adjoint::{Adjoint, GradientVariables, Misfit};
use crate::simulation::{Cotangents, GradientBy};
use crate::{Description, FieldText, Simulation, Table, TableText, Text};

/// How much half of the squares of fields, records and totals changes with a constant, and the quotient of differences.
fn by_constant(own: impl Fn(f64) -> Description, k: f64) -> [f64; 2] {
    let run = |k: f64| Simulation::of(&of(&own(k))).series(1).build().unwrap();
    let value = |k: f64| {
        let mut simulation = run(k);
        simulation.step(4).unwrap();
        half_squares_and_totals(&mut simulation).0
    };
    let by = GradientBy { totals: true, ..by(&[], &["k"]) };
    let found = run(k).gradient(4, &by, |after| Ok(half_squares_and_totals(after).1)).unwrap();
    [found.parameters[0].1, (value(k + 1e-6) - value(k - 1e-6)) / 2e-6]
}

/// Totals in equations, at points and in what stencils take, also beyond sides; in sources; the largest value of some points; made of each
/// other.
#[test]
fn totals_are_differentiated_wherever_they_are() {
    let totals = |own: Description| {
        own.total("mass", "sum(u)")
            .total("spread", "norm(laplace(u) - 0.1*mass) + 0.01*mass^2")
            .total_where("most", "max(u)", "ix > 2 and ix < 6")
            .total("least", "min(-abs(u)) + 0*spread")
    };
    let cases = [
        ("u + dt*laplace(u) - 0.01*mass*u", "0"),
        ("u + dt*laplace(u*(1 - 0.1*mass))", "0.2*mass"),
        ("u + dt*laplace(mass*x + u^2)", "if(mass > 1, spread, mass)"),
        ("u + dt*laplace(u) + 0.1*spread*cos(x)", "0.1*(1 - mass)*spread"),
        ("u*(1 - 0.01*most) + 0.1*least", "0.1*most"),
        ("0.5*u + 0.1*new(v)", "0.1*mass"),
    ];
    for (next, add) in cases {
        for sides in ["edge", "periodic", "x-:odd,x+:value=0.3"] {
            if sides == "periodic" && next.contains("mass*x") {
                continue;
            }
            let own = |k: f64| {
                let start = format!("cos({k:?}*x) + 0.01*x");
                let own = totals(line(8).constant("k", format!("{k:?}")));
                own.field(FieldText::new("u", start.as_str(), next).boundary(sides))
                    .field(FieldText::new("v", 0.2, "v + 0.1*k*sin(u) - 0.05*k*mass"))
                    .source("u", &[3], add)
                    .source("v", &[2], "0.1*mass")
                    .receiver_of("u^2", &[4])
            };
            // What the start makes of it does not count.
            let fixed = |k: f64| {
                let mut fixed = own(k);
                fixed
                    .set_constant(&Text::new("a name", "k"), Text::new("k", &format!("{k:?}")))
                    .unwrap();
                let grid: Vec<f64> =
                    (0..8).map(|x| (0.7 * f64::from(x)).cos() + 0.01 * f64::from(x)).collect();
                fixed.set_start("u", problem::Grid::new(&[8], grid).unwrap()).unwrap();
                fixed
            };
            let [found, quotient] = by_constant(fixed, 0.7);
            assert!(
                (found - quotient).abs() < 1e-6 * (1.0 + quotient.abs()),
                "{next}, {add}, {sides}: {found}, {quotient}"
            );
        }
    }
}

/// The largest of what is computed is another one in other arithmetic.
#[test]
fn totals_without_adjoints_are_refused() {
    let own = |total: &str, next: &str| {
        let mut own = line(8).total("most", total);
        let table = Table { arguments: vec![0.0, 1.0], values: vec![0.0, 1.0] };
        own.tables.push((Text::new("a name", "rise"), TableText::Points(table)));
        let own = own.field(FieldText::new("u", "1 + x", next).boundary("edge"));
        gradient(&own, 3, &by(&[], &[])).unwrap_err().to_string()
    };
    let error = own("max(u^2 + 0.1*u)", "0.1*u*most");
    assert!(error.contains("make that a field of its own"), "{error}");
    let error = own("max(u)", "0.1*u*rise(most)");
    assert!(error.contains("a table takes a total"), "{error}");
    let plain = line(8).total("mass", "sum(u)").field(FieldText::new("u", "1 + x", "0.5*u"));
    let mut simulation = Simulation::of(&of(&plain)).build().unwrap();
    let mut told = |totals: bool, rows: Vec<Vec<f64>>| {
        let by = GradientBy { totals, ..by(&[], &[]) };
        let found = simulation
            .gradient(3, &by, |_| Ok(Cotangents { totals: rows, ..Cotangents::default() }));
        found
            .map(|found| values(&found.start[0].1).collect::<Vec<f64>>())
            .map_err(|error| error.to_string())
    };
    assert!(told(false, vec![vec![1.0]]).unwrap_err().contains("were not announced"));
    assert!(told(true, vec![vec![1.0, 2.0]]).unwrap_err().contains("rows of 1"));
    assert_eq!(told(true, vec![vec![1.0]]).unwrap(), [0.125; 8]);
    assert_eq!(told(true, vec![vec![1.0], vec![0.0], vec![0.0]]).unwrap(), [0.5; 8]);
    assert_eq!(told(true, vec![vec![1.0], vec![0.0], vec![0.0], vec![2.0]]).unwrap(), [1.25; 8]);
}

/// Steps as long as a total says have the gradient of steps of these lengths, also where they are taken again.
#[test]
fn lengths_of_steps_that_follow_from_values_are_constants() {
    const STEPS: usize = 25;
    let own = |dt: &str, t: &str| {
        let next = format!("u + {dt}*(laplace(u) - k*u^2*sin(3*{t})) + 0.01*{dt}*spread*prev(u)");
        line(9)
            .constant("k", 0.4)
            .total("spread", format!("sum(u^2)*(1 + 0.1*{t})"))
            .field(FieldText::new("u", "1 + cos(x)", next).boundary("x-:odd,x+:slope=0.1"))
            .source("u", &[3], format!("0.1*{dt}*cos({t})"))
            .receiver_of(format!("u^2*cos({t})"), &[5])
    };
    let follows = own("dt", "t").time_step("0.3/(1 + max(abs(u)))");
    let alone =
        Adjoint::new(&of(&follows), &GradientVariables::default(), (0, STEPS), &Misfit::default());
    assert!(alone.unwrap_err().to_string().contains("known in a run only"));
    let by = |states: u64| GradientBy {
        totals: true,
        memory: Some(problem::memory::Bytes(states * 9 * 8)),
        ..by(&[], &["k"])
    };
    let mut simulation = Simulation::of(&of(&follows)).series(1).build().unwrap();
    let found = simulation.gradient(STEPS, &by(1000), |after| Ok(half_squares_and_totals(after).1));
    let found = found.unwrap();
    let times: Vec<f64> = simulation.series().iter().map(|row| row[1]).collect();
    let lengths: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((lengths[0] - lengths[24]).abs() > 1e-3 * lengths[0], "{lengths:?}");
    let mut again = Simulation::of(&of(&follows)).series(1).build().unwrap();
    let few = again.gradient(STEPS, &by(8), |after| Ok(half_squares_and_totals(after).1)).unwrap();
    assert!(few.steps_again > 0);
    assert_eq!(told(&few), told(&found));
    let mut tabled = own("len(n)", "tim(n)");
    for (name, values) in [("len", lengths), ("tim", times)] {
        let arguments = (0..values.len()).map(|step| step as f64).collect();
        let table = TableText::Points(Table { arguments, values });
        tabled.tables.push((Text::new("a name", name), table));
    }
    let mut simulation = Simulation::of(&of(&tabled)).series(1).build().unwrap();
    let right = simulation.gradient(STEPS, &by(1000), |after| Ok(half_squares_and_totals(after).1));
    for (found, right) in told(&found).into_iter().zip(told(&right.unwrap())) {
        assert!((found - right).abs() <= 1e-11 * (1.0 + right.abs()), "{found} for {right}");
    }
}

/// Steps within a tolerance have the gradients of single steps of these lengths, after each other; those that were taken back do not count.
#[test]
fn steps_within_a_tolerance_have_gradients() {
    const STEPS: usize = 7;
    let own = |dt: f64| {
        let rate = "0.4*laplace(u) - u^3 + u";
        line(9)
            .time_step(dt)
            .method(crate::Method::Rk45)
            .field(FieldText::rate("u", "1 + 2*cos(x)", rate).boundary("edge"))
    };
    let mut within = own(2.0);
    within.tolerance = Some(Text::new("a tolerance", "1e-4"));
    let system = of(&within);
    let ones = |name: problem::observe::ArrayName| {
        let weights: Vec<f64> = (0..9).map(|at| f64::from(at).sin()).collect();
        vec![(name, problem::Grid::new(&[9], weights).unwrap())]
    };
    for states in [1000, 5] {
        let memory = Some(problem::memory::Bytes(states * 9 * 8));
        let by = GradientBy { memory, ..by(&[], &[]) };
        let mut simulation = Simulation::of(&system).series(1).build().unwrap();
        let mut states = Vec::new();
        let mut other = Simulation::of(&system).build().unwrap();
        for _ in 0..STEPS {
            states.push((other.time(), other.field("u").unwrap()));
            other.step(1).unwrap();
        }
        states.push((other.time(), other.field("u").unwrap()));
        let found = simulation.gradient(STEPS, &by, |after| {
            let (name, grid) = after.state()?.arrays.remove(0);
            assert_eq!(grid, states[STEPS].1);
            Ok(Cotangents { fields: ones(name), ..Cotangents::default() })
        });
        let found = found.unwrap();
        let mut cotangents = ones(found.start[0].0.clone());
        for pair in states.windows(2).rev() {
            let system = of(&own(pair[1].0 - pair[0].0));
            let mut one = Simulation::of(&system).build().unwrap();
            one.set_field("u", pair[0].1.clone()).unwrap();
            let by = GradientBy::default();
            let back = one.gradient(1, &by, |_| {
                Ok(Cotangents { fields: cotangents.clone(), ..Cotangents::default() })
            });
            cotangents = back.unwrap().start;
        }
        for (found, right) in values(&found.start[0].1).zip(values(&cotangents[0].1)) {
            assert!((found - right).abs() < 1e-12 * (1.0 + right.abs()), "{found} for {right}");
        }
    }
}
