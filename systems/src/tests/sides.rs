// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sides that are expressions or change images, against loops and formulas that are written out.

use std::path::Path;

use crate::{Description, FieldText, Method, System, SystemSimulation};
use problem::{Dtype, Error};

fn simulate(description: &Description, steps: usize) -> SystemSimulation {
    let system = System::new(description, Path::new("")).unwrap();
    let mut simulation = SystemSimulation::new(&system).unwrap();
    simulation.step(steps).unwrap();
    simulation
}

fn values(simulation: &mut SystemSimulation, field: &str) -> Vec<f64> {
    let grid = simulation.field(field).unwrap();
    (0..grid.shape.points()).map(|index| grid.get(index)).collect()
}

/// Of a plane with a side of each kind, and of all corners of a wide stencil: the rule of x is applied to what those of y make.
#[test]
fn all_kinds_together_are_those_of_loops() {
    const H: f64 = 0.5;
    let (ny, nx, dt) = (6isize, 7isize, 0.1);
    // Numbers of a*u + b*du/dn = c.
    let robin = |k: isize, u: f64| {
        let (a, b, c) = (1.0, 0.3, 0.2);
        let across = b / (H * (2 * k - 1) as f64);
        ((across - a / 2.0) * u + c) / (across + a / 2.0)
    };
    type Row<'a> = &'a dyn Fn(isize) -> f64;
    // What lies at a place of a row, beyond its low and its high side.
    type Kind = (&'static str, fn(Row, isize, f64, [f64; 2], &dyn Fn(isize, f64) -> f64) -> f64);
    let kinds: [Kind; 6] = [
        ("odd", |row, k, _, _, _| -row(k - 1)),
        ("odd-reflect", |row, k, _, _, _| -row(k)),
        ("robin=1,0.3,0.2", |row, k, _, _, robin| robin(k, row(k - 1))),
        ("value=sin(2*t) + x*y", |_, _, t, [y, x], _| (2.0 * t).sin() + x * y),
        ("slope=t - 0.1*y", |row, k, t, [y, _], _| row(0) + k as f64 * (t - 0.1 * y)),
        ("constant=0.7", |_, _, _, _, _| 0.7),
    ];
    for first in 0..kinds.len() {
        let own = [0, 1, 2, 3].map(|side| kinds[(first + side * (side + first + 1)) % kinds.len()]);
        let boundary = format!("x-:{},x+:{},y-:{},y+:{}", own[0].0, own[1].0, own[2].0, own[3].0);
        let offsets = [[-2, -2], [2, -1], [-1, 2], [2, 2], [0, 0], [0, -2], [1, 0]];
        let mut description = Description::new(&[6, 7]).dtype(Dtype::F64).spacing(H).time_step(dt);
        let weights = [0.1, 0.15, -0.2, 0.1, 0.2, 0.1, -0.1];
        let taps: Vec<_> = offsets.into_iter().zip(weights).collect();
        description = description.stencil("s", stencil(&taps));
        let field = FieldText::new("u", "cos(3*x + y)", "s(u)").boundary(&boundary);
        let mut simulation = simulate(&description.field(field), 5);
        let mut u: Vec<f64> = (0..ny * nx)
            .map(|at| (3.0 * H * (at % nx) as f64 + H * (at / nx) as f64).cos())
            .collect();
        for step in 0..5 {
            let t = f64::from(step) * dt;
            let next = |at: isize| -> f64 {
                let of = |(offset, weight): &([i32; 2], f64)| {
                    let (y, x) = (at / nx + offset[0] as isize, at % nx + offset[1] as isize);
                    let place = [y as f64 * H, x as f64 * H];
                    let along_y = |x: isize| {
                        let row = |y: isize| u[(y * nx + x) as usize];
                        match y {
                            _ if y < 0 => own[2].1(&row, -y, t, place, &robin),
                            _ if y >= ny => {
                                own[3].1(&|k| row(ny - 1 - k), y - ny + 1, t, place, &robin)
                            }
                            _ => row(y),
                        }
                    };
                    weight
                        * match x {
                            _ if x < 0 => own[0].1(&along_y, -x, t, place, &robin),
                            _ if x >= nx => {
                                own[1].1(&|k| along_y(nx - 1 - k), x - nx + 1, t, place, &robin)
                            }
                            _ => along_y(x),
                        }
                };
                taps.iter().map(of).sum()
            };
            u = (0..ny * nx).map(next).collect();
        }
        let found = values(&mut simulation, "u");
        let error = found.iter().zip(&u).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-13, "{boundary}: {error}");
    }
}

fn stencil(taps: &[([i32; 2], f64)]) -> transform::Stencil {
    let taps = taps.iter().map(|(offset, weight)| transform::Tap {
        offset: [0, offset[0], offset[1]],
        weight: *weight,
    });
    transform::Stencil::new("own", 2, taps.collect()).unwrap()
}

/// Each array has the value of its own time beyond a side: after 3 steps of 0.5 a field that reads beyond the side only.
#[test]
fn values_are_those_of_the_time_of_what_is_read() {
    let shift = transform::Stencil::new(
        "left",
        1,
        vec![transform::Tap { offset: [0, 0, -1], weight: 1.0 }],
    );
    let description = Description::new(&[1]).dtype(Dtype::F64).time_step(0.5);
    let mut description = description.stencil("left", shift.unwrap());
    for (name, next) in [
        ("now", "left(u)"),
        ("before", "left(prev(u))"),
        ("after", "left(new(u))"),
        ("within", "left(w)"),
        ("counted", "left(v)"),
    ] {
        description = description.field(FieldText::new(name, "0", next));
    }
    let description = description
        .field(FieldText::new("u", "0", "u").boundary("x-:value=10*t"))
        .field(FieldText::new("v", "0", "v").boundary("x-:slope=n"))
        .work_with("w", "u", "x-:value=t + 2*x");
    let mut simulation = simulate(&description, 3);
    let mut of = |name: &str| values(&mut simulation, name)[0];
    assert_eq!([of("now"), of("before"), of("after")], [10.0, 5.0, 15.0]);
    assert_eq!([of("within"), of("counted")], [-1.0, 2.0]);
}

/// In the stages of a method a side has the value of the stage's time: u' = -du/dx with what flows in as known for all time.
#[test]
fn what_flows_in_has_the_time_of_each_stage() {
    let mut errors = Vec::new();
    for steps in [20, 40] {
        let mut description = Description::new(&[1])
            .dtype(Dtype::F64)
            .time_step(1.0 / steps as f64)
            .derivative("dx", "x-", 2)
            .method(Method::Rk4);
        description =
            description.field(FieldText::rate("u", "0", "-dx(u)").boundary("x-:value=cos(2*t)"));
        let found = values(&mut simulate(&description, steps), "u")[0];
        // u' = cos(2t) - u, from 0 on.
        let exact = 0.2 * (2f64.cos() + 2.0 * 2f64.sin()) - 0.2 * (-1f64).exp();
        errors.push((found - exact).abs());
    }
    let order = (errors[0] / errors[1]).log2();
    assert!(order > 3.8 && errors[1] < 1e-7, "order {order}: {errors:?}");
}

/// The slowest wave of heat in a wall that cools by u + b du/dn = 0 at its face: b is cot(1) for a wall of length 1.
#[test]
fn walls_that_cool_are_of_second_order() {
    let mut errors = Vec::new();
    for points in [10usize, 20] {
        let (h, b) = (1.0 / points as f64, 1.0 / 1f64.tan());
        let steps = points * points;
        let description = Description::new(&[points])
            .dtype(Dtype::F64)
            .spacing(h)
            .time_step(0.25 * h * h)
            .derivative("dxx", "xx", 2)
            .field(
                FieldText::new("u", "cos(x + h/2)", "u + dt*dxx(u)")
                    .boundary(&format!("x-:symmetric,x+:robin=1,{b},0")),
            );
        let found = values(&mut simulate(&description, steps), "u");
        let off = found
            .iter()
            .enumerate()
            .map(|(at, value)| (value - (-0.25f64).exp() * ((at as f64 + 0.5) * h).cos()).abs());
        errors.push(off.fold(0.0, f64::max));
    }
    let order = (errors[0] / errors[1]).log2();
    assert!((order - 2.0).abs() < 0.2 && errors[1] < 1e-3, "order {order}: {errors:?}");
}

/// A constant of a system is a number, and the sides are those of the number.
#[test]
fn constants_are_numbers() {
    let of = |boundary: &str| {
        let field = FieldText::new("u", "0", "u").boundary(boundary);
        let description = Description::new(&[4, 5]).constant("k", "2.5").field(field);
        System::new(&description, Path::new("")).unwrap().fingerprint()
    };
    assert_eq!(of("x-:value=2*k,y:slope=k"), of("x-:constant=5,y:flux=2.5"));
    assert_ne!(of("x-:value=t"), of("x-:value=2*t"));
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    let of = |boundary: &str, coefficient: &str| -> Error {
        let text = format!(
            "[grid]\nsize = [4, 5]\n[time]\nsteps = 1\n[fields.u]\nstart = 0\nnext = \"u + c\"\nboundary = \"{boundary}\"\n\
             [coefficients.c]\nstart = 1\nboundary = \"{coefficient}\"\n"
        );
        let description = Description::parse("sides.toml", &text).unwrap();
        System::new(&description, Path::new("")).unwrap_err()
    };
    for (boundary, coefficient, line, expected) in [
        ("x-:value=u + 1", "edge", 8, "this reads a field, a coefficient or a total"),
        ("x-:value=c*t", "edge", 8, "this reads a field, a coefficient or a total"),
        ("x-:value=2*q", "edge", 8, "'q'"),
        ("x-:slope=random(3)", "edge", 8, "cannot stand in"),
        ("x-:value=z", "edge", 8, "there is no z on a grid of 2 axes"),
        ("x-:robin=1,2", "edge", 8, "'robin' needs three numbers"),
        ("x-:odd=2", "edge", 8, "'odd' takes no value"),
        ("odd", "x-:value=t", 11, "'t'"),
    ] {
        let error = of(boundary, coefficient).to_string();
        assert!(error.starts_with(&format!("sides.toml, line {line}, column ")), "{error}");
        assert!(error.contains(expected), "{boundary} {coefficient}: {error}");
    }
}
