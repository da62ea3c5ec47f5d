// SPDX-License-Identifier: MIT OR Apache-2.0
//! Built-in systems whose steps have stages, against formulas and loops that are written out.

use std::f64::consts::PI;

use super::loops::{Plane, start};
use super::{difference, example, set, simulate, values};
use crate::Description;

/// Values of the next point less this one's, along y or x.
fn rise(plane: &Plane, y: isize, x: isize, [down, right]: [isize; 2]) -> f64 {
    plane.or_zero(y + down, x + right) - plane.or_zero(y, x)
}

#[test]
fn a_wave_around_a_conductor() {
    let (ny, nx) = (90isize, 120isize);
    // With the source at (45, 30), and the conductor at (45, 78).
    let description = set(example("yee", &[90, 120]), "radius", "0.203");
    let (h, dt) = (0.01, 0.005);
    let mut ez = start(&description, "ez");
    let (mut hx, mut hy) = (ez.map(|_, _| 0.0), ez.map(|_, _| 0.0));
    for step in 0..200 {
        hx = hx.map(|y, x| hx.or_zero(y, x) - dt / h * rise(&ez, y, x, [1, 0]));
        hy = hy.map(|y, x| hy.or_zero(y, x) + dt / h * rise(&ez, y, x, [0, 1]));
        let a = (PI * 3.0 * (f64::from(step) * dt - 0.5)).powi(2);
        ez = ez.map(|y, x| {
            let (far_x, far_y) = (x as f64 * h - 0.65 * nx as f64 * h, (y - ny / 2) as f64 * h);
            if y == 0 || x == 0 || far_x * far_x + far_y * far_y < 0.203 * 0.203 {
                return 0.0;
            }
            let around = rise(&hy, y, x - 1, [0, 1]) - rise(&hx, y - 1, x, [1, 0]);
            let source = if (y, x) == (45, 30) { (1.0 - 2.0 * a) * (-a).exp() } else { 0.0 };
            ez.or_zero(y, x) + dt / h * around + source
        });
    }
    let mut simulation = simulate(&description, 200);
    for (name, plane) in [("ez", ez), ("bx", hx), ("by", hy)] {
        let found = values(&mut simulation, name);
        let largest = plane.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        assert!(largest > 0.01, "{name}: {largest}");
        let error = difference(&found, &plane.values);
        assert!(error < 1e-14, "{name}: {error}");
    }
}

/// The traction is 0 on the surface: half of the first row's stress acts on each side of it, and shear stress there is none.
#[test]
fn waves_below_a_free_surface() {
    let (ny, nx) = (40isize, 64isize);
    let mut description = example("elastic-free-surface", &[40, 64]);
    description.sponge = None;
    description = set(description, "cp", "2.5");
    let (h, cp, cs, rho) = (10.0f64, 2.5f64, 1.7f64, 2.0f64);
    let (dt, mu) = (0.5 * h / cp, rho * cs * cs);
    let lambda = rho * cp * cp - 2.0 * mu;
    let zero = || Plane { ny, nx, values: vec![0.0; (ny * nx) as usize] };
    let (mut vx, mut vy) = (zero(), zero());
    let (mut txx, mut tyy, mut txy) = (zero(), zero(), zero());
    for step in 0..150 {
        vx = vx.map(|y, x| {
            let forces = rise(&txx, y, x, [0, 1]) + rise(&txy, y, x, [1, 0]);
            vx.or_zero(y, x) + dt / rho / h * forces
        });
        let a = (PI * 0.01 * (f64::from(step) * dt - 120.0)).powi(2);
        vy = vy.map(|y, x| {
            // A layer of half a row lies below the surface, and the stress on its other side is that of the first row.
            let pressed = match y {
                0 => 2.0 * tyy.or_zero(0, x),
                _ => rise(&tyy, y - 1, x, [1, 0]),
            };
            let forces = rise(&txy, y, x - 1, [0, 1]) + pressed;
            let blow = if (y, x) == (0, 16) { (1.0 - 2.0 * a) * (-a).exp() } else { 0.0 };
            vy.or_zero(y, x) + dt / rho / h * forces + blow
        });
        let strains =
            |y: isize, x: isize| [rise(&vx, y, x - 1, [0, 1]) / h, rise(&vy, y, x, [1, 0]) / h];
        txx = txx.map(|y, x| {
            let [across, down] = strains(y, x);
            txx.or_zero(y, x) + dt * ((lambda + 2.0 * mu) * across + lambda * down)
        });
        tyy = tyy.map(|y, x| {
            let [across, down] = strains(y, x);
            tyy.or_zero(y, x) + dt * (lambda * across + (lambda + 2.0 * mu) * down)
        });
        txy = txy.map(|y, x| {
            let shear = rise(&vy, y, x, [0, 1]) + rise(&vx, y - 1, x, [1, 0]);
            if y == 0 { 0.0 } else { txy.or_zero(y, x) + dt * mu * shear / h }
        });
    }
    let mut simulation = simulate(&description, 150);
    for (name, plane) in [("vx", vx), ("vy", vy), ("txx", txx), ("tyy", tyy), ("txy", txy)] {
        let found = values(&mut simulation, name);
        let largest = plane.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        assert!(largest > 0.01, "{name}: {largest}");
        let error = difference(&found, &plane.values) / largest;
        assert!(error < 1e-12, "{name}: {error} of {largest}");
    }
}

/// What was there in the whole is there at the end, and some of it has come through.
#[test]
fn a_particle_meets_a_wall_with_slits() {
    let (ny, nx) = (60isize, 90isize);
    let description = set(example("schroedinger", &[60, 90]), "width", "0.8");
    let (h, dt) = (0.1f64, 0.2 * 0.01);
    let wall = |y: isize, x: isize| {
        let (x, y) = (x as f64 * h, y as f64 * h);
        let y0 = 0.5 * ny as f64 * h;
        let is_wall =
            (x - 0.5 * nx as f64 * h).abs() < 3.0 * h && ((y - y0).abs() - 1.6).abs() > 0.6;
        if is_wall { 60.0 } else { 0.0 }
    };
    let laplace = |plane: &Plane, y: isize, x: isize| {
        let along = |down: isize, right: isize| {
            let at = |far: isize| plane.or_zero(y + far * down, x + far * right);
            (16.0 * (at(1) + at(-1)) - at(2) - at(-2) - 30.0 * at(0)) / (12.0 * h * h)
        };
        along(1, 0) + along(0, 1)
    };
    let (mut real, mut imaginary) = (start(&description, "real"), start(&description, "imaginary"));
    let probability = |real: &Plane, before: &Plane, after: &Plane| {
        let all = real.values.iter().zip(&before.values).zip(&after.values);
        all.map(|((real, before), after)| real * real + before * after).sum::<f64>()
    };
    let mut all = Vec::new();
    for _ in 0..500 {
        let energy = |of: &Plane, y, x| wall(y, x) * of.or_zero(y, x) - 0.5 * laplace(of, y, x);
        real = real.map(|y, x| real.or_zero(y, x) + dt * energy(&imaginary, y, x));
        let next = imaginary.map(|y, x| imaginary.or_zero(y, x) - dt * energy(&real, y, x));
        all.push(probability(&real, &imaginary, &next));
        imaginary = next;
    }
    let mut simulation = simulate(&description, 500);
    for (name, plane) in [("real", real), ("imaginary", imaginary)] {
        let error = difference(&values(&mut simulation, name), &plane.values);
        assert!(error < 1e-11, "{name}: {error}");
    }
    assert!((all[499] / all[0] - 1.0).abs() < 1e-11, "{} of {}", all[499], all[0]);
}

/// Cole and Hopf: -2 nu times the gradient of ln(phi), where phi solves the heat equation. Differences and the method
/// are of fourth order.
#[test]
fn a_flow_that_steepens_is_that_of_cole_and_hopf() {
    let mut errors = Vec::new();
    for points in [32usize, 64] {
        let mut description = example("burgers", &[points, points]);
        for (name, value) in [("a", "0.5"), ("nu", "0.02")] {
            description = set(description, name, value);
        }
        let steps = 2 * points;
        let mut simulation = simulate(&description, steps);
        let (h, k, nu) = (1.0 / points as f64, 2.0 * PI, 0.02);
        let t = 0.2 * h * steps as f64;
        let decay = 0.5 * (-2.0 * nu * k * k * t).exp();
        let exact = (0..points * points).map(|at| {
            let (y, x) = (k * (at / points) as f64 * h, k * (at % points) as f64 * h);
            2.0 * nu * k * decay * x.sin() * y.cos() / (1.0 + decay * x.cos() * y.cos())
        });
        let exact: Vec<f64> = exact.collect();
        assert!(exact.iter().any(|value| *value > 0.02));
        errors.push(difference(&values(&mut simulation, "u"), &exact));
    }
    let order = (errors[0] / errors[1]).log2();
    assert!((order - 4.0).abs() < 0.3 && errors[1] < 1e-5, "order {order}: {errors:?}");
}

/// Stoker, "Water waves" (1957), section 10.8: a straight dam between two depths.
#[test]
fn a_straight_dam_breaks_as_stokers_does() {
    let mut errors = Vec::new();
    for points in [200usize, 800] {
        let mut description = set(example("shallow-water", &[3, points]), "round", "0");
        description.title.clear();
        let h = 20.0 / points as f64;
        let t = 1.5;
        let steps = (t / (0.1 * h)).round() as usize;
        let found = values(&mut simulate(&description, steps), "d");
        let (high, low) = (2.0f64, 1.0f64);
        // The depth between the wave that goes back and the one that goes on.
        let on = |depth: f64| (depth - low) * ((depth + low) / (2.0 * depth * low)).sqrt();
        let back = |depth: f64| 2.0 * (high.sqrt() - depth.sqrt());
        let (mut less, mut more) = (low, high);
        for _ in 0..100 {
            let middle = 0.5 * (less + more);
            if on(middle) < back(middle) { less = middle } else { more = middle }
        }
        let depth = less;
        let shock = depth * on(depth) / (depth - low);
        let exact = |x: f64| {
            // From the middle of the water on, the dam is 4 away.
            let from_dam = ((x - 10.0).abs() - 4.0 + 0.5 * h) / t;
            let (fast, slow) = (-high.sqrt(), on(depth) - depth.sqrt());
            match from_dam {
                place if place < fast => high,
                place if place < slow => (2.0 * high.sqrt() - place).powi(2) / 9.0,
                place if place < shock => depth,
                _ => low,
            }
        };
        let row = &found[points..2 * points];
        let off = row.iter().enumerate().map(|(at, value)| (value - exact(at as f64 * h)).abs());
        errors.push(off.sum::<f64>() / points as f64);
    }
    let order = (errors[0] / errors[1]).log2() / 2.0;
    assert!(order > 0.6 && errors[1] < 0.012, "order {order}: {errors:?}");
}

/// Values a time step later by the midpoint method or the classical one, of rates of change.
fn integrated(
    state: &[Plane],
    dt: f64,
    order: usize,
    rates: &dyn Fn(&[Plane]) -> Vec<Plane>,
) -> Vec<Plane> {
    let moved = |rates: &[Plane], dt: f64| -> Vec<Plane> {
        let all = state.iter().zip(rates);
        all.map(|(a, b)| a.map(|y, x| a.around(y, x) + dt * b.around(y, x))).collect()
    };
    let first = rates(state);
    let second = rates(&moved(&first, dt / 2.0));
    if order == 2 {
        return moved(&second, dt);
    }
    let third = rates(&moved(&second, dt / 2.0));
    let fourth = rates(&moved(&third, dt));
    let mean = (0..state.len()).map(|field| {
        first[field].map(|y, x| {
            let [a, b, c, d] = [&first, &second, &third, &fourth].map(|it| it[field].around(y, x));
            (a + 2.0 * b + 2.0 * c + d) / 6.0
        })
    });
    moved(&mean.collect::<Vec<_>>(), dt)
}

/// Compares some steps of an example with those that loops take.
fn same(
    description: &Description,
    fields: &[&str],
    (dt, order): (f64, usize),
    rates: &dyn Fn(&[Plane]) -> Vec<Plane>,
) {
    let mut state: Vec<Plane> = fields.iter().map(|field| start(description, field)).collect();
    for _ in 0..100 {
        state = integrated(&state, dt, order, rates);
    }
    let mut simulation = simulate(description, 100);
    for (field, plane) in fields.iter().zip(&state) {
        let found = values(&mut simulation, field);
        let largest = found.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let error = difference(&found, &plane.values);
        assert!(largest > 0.01 && error < 1e-12, "{field}: {error} of {largest}");
    }
}

#[test]
fn waves_of_excitation() {
    let (ny, nx) = (24isize, 30isize);
    let description = example("fitzhugh-nagumo", &[24, 30]);
    let rates = |state: &[Plane]| {
        let [u, w] = state else { panic!("two fields") };
        let at = |y: isize, x: isize| u.around(y.clamp(0, ny - 1), x.clamp(0, nx - 1));
        let first = u.map(|y, x| {
            let here = at(y, x);
            let around = at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1) - 4.0 * here;
            around + here * (1.0 - here) * (here - 0.1) - w.around(y, x)
        });
        let second = w.map(|y, x| 0.01 * (0.5 * u.around(y, x) - w.around(y, x)));
        vec![first, second]
    };
    same(&description, &["u", "w"], (0.1, 2), &rates);
}

#[test]
fn a_flame_front() {
    let description = example("kuramoto-sivashinsky", &[26, 30]);
    let rates = |state: &[Plane]| {
        let u = &state[0];
        let laplace = |of: &Plane, y: isize, x: isize| {
            let around = of.around(y - 1, x) + of.around(y + 1, x);
            (around + of.around(y, x - 1) + of.around(y, x + 1) - 4.0 * of.around(y, x)) / 0.25
        };
        let curvature = u.map(|y, x| laplace(u, y, x));
        vec![u.map(|y, x| {
            let along_y = u.around(y + 1, x) - u.around(y - 1, x);
            let along_x = u.around(y, x + 1) - u.around(y, x - 1);
            let steep = 0.5 * (along_y * along_y + along_x * along_x);
            -curvature.around(y, x) - laplace(&curvature, y, x) - steep
        })]
    };
    same(&description, &["u"], (0.002, 4), &rates);
}

/// A layer whose speed is tanh(y): of all waves that of 0.4446 turns grows fastest, by exp(0.1897 t) (Michalke, "On the inviscid
/// instability of the hyperbolic-tangent velocity profile", 1964, table 1).
#[test]
fn a_layer_rolls_up_as_fast_as_it_should() {
    let (ny, nx, k) = (108, 48, 0.4446);
    let h = 2.0 * PI / k / nx as f64;
    let mut description = example("kelvin-helmholtz", &[ny, nx]);
    description.spacing = vec![crate::Text::new("the spacing", &h.to_string())];
    let mut description = set(set(description, "d", "1"), "nu", "0");
    description.dt = crate::Text::new("the time step", "0.2");
    let (first, last) = (0.25 * ny as f64 * h, 0.75 * ny as f64 * h);
    let layer =
        format!("if(y < {}, -1/cosh(y - {first})^2, 1/cosh(y - {last})^2)", 0.5 * ny as f64 * h);
    let wave = format!("1e-4*cos({k}*x)*(exp(-(y - {first})^2) + exp(-(y - {last})^2))");
    let start = crate::Text::new("the start", &format!("{layer} + {wave}"));
    description.fields[0].start = crate::StartText::Expression(start);
    // The part of the wave that goes once around.
    let size = |values: &[f64]| {
        let of_row = |row: &[f64]| {
            let part = |of: fn(f64) -> f64| -> f64 {
                let turns = row.iter().enumerate();
                turns.map(|(x, value)| value * of(2.0 * PI * x as f64 / nx as f64)).sum()
            };
            part(f64::cos).powi(2) + part(f64::sin).powi(2)
        };
        values.chunks(nx).map(of_row).sum::<f64>().sqrt()
    };
    // What does not grow fastest has been left behind by then.
    let mut simulation = simulate(&description, 100);
    let before = size(&values(&mut simulation, "w"));
    simulation.step(50).unwrap();
    let after = size(&values(&mut simulation, "w"));
    let rate = (after / before).ln() / 10.0;
    assert!((rate - 0.1897).abs() < 0.001, "{rate}");
}
