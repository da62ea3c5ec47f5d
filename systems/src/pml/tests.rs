// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers against loops that are written by hand, against grids so large that nothing comes back, and over many steps.

use std::path::Path;

use crate::{Description, FieldText, Method, System, SystemSimulation, Text};
use problem::Dtype;

mod reflected;
mod refused;

fn values(simulation: &mut SystemSimulation, field: &str) -> Vec<f64> {
    let grid = simulation.field(field).unwrap();
    (0..grid.shape.points()).map(|index| grid.get(index)).collect()
}

const POINTS: usize = 40;
const WIDTH: usize = 8;
const DT: f64 = 0.1;
const H: f64 = 0.25;
const SPEED: f64 = 1.5;
const FREQUENCY: f64 = 0.2;
const START: &str = "exp(-((x - 5)/0.8)^2)";

/// A grid with a layer.
fn layered() -> Description {
    let mut line = Description::new(&[POINTS]).dtype(Dtype::F64).spacing(H).time_step(DT);
    line = line.pml(WIDTH, "3/2");
    let pml = line.pml.as_mut().unwrap();
    pml.reflection = Some(Text::new("the reflection", "1e-4"));
    pml.frequency = Some(Text::new("the frequency", "0.2"));
    line
}

/// d and alpha so many points after the first one.
fn damping(place: f64) -> (f64, f64) {
    let width = WIDTH as f64;
    let low = (width - place).max(0.0);
    let high = (width - ((POINTS - 1) as f64 - place)).max(0.0);
    let depth = low.max(high) / width;
    let d = 3.0 * SPEED / (2.0 * width * H) * 1e4f64.ln() * depth * depth;
    (d, std::f64::consts::PI * FREQUENCY * (1.0 - depth).max(0.0))
}

/// b and (b - 1) d / (d + alpha).
fn memory(place: f64) -> (f64, f64) {
    let (d, alpha) = damping(place);
    let b = (-(d + alpha) * DT).exp();
    if d == 0.0 { (b, 0.0) } else { (b, d / (d + alpha) * (b - 1.0)) }
}

fn at(values: &[f64], index: usize, offset: isize) -> f64 {
    let index = index.checked_add_signed(offset);
    index.and_then(|index| values.get(index)).copied().unwrap_or(0.0)
}

fn start() -> Vec<f64> {
    (0..POINTS).map(|point| (-((point as f64 * H - 5.0) / 0.8).powi(2)).exp()).collect()
}

/// Takes checked steps, and compares them with the fields that `step` makes of those before.
fn follow(description: &Description, names: &[&str], mut step: impl FnMut() -> Vec<Vec<f64>>) {
    let system = System::new(description, Path::new("")).unwrap();
    assert_eq!(system.fields().collect::<Vec<_>>(), names);
    let mut simulation = SystemSimulation::new(&system).unwrap();
    for number in 1..=150 {
        simulation.checked_step().unwrap();
        for (name, expected) in names.iter().zip(step()) {
            let found = values(&mut simulation, name);
            for (point, (found, expected)) in found.iter().zip(expected).enumerate() {
                let near = (found - expected).abs() < 1e-12;
                assert!(near, "{name} at {point}, step {number}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn a_second_derivative_is_what_loops_make_of_it() {
    let wave = layered().derivative("dxx", "xx", 2);
    let next = "2*u - prev(u) + (1.5*dt)^2*dxx(u)";
    let (mut u, mut before) = (start(), start());
    let (mut m, mut n) = (vec![0.0; POINTS], vec![0.0; POINTS]);
    follow(&wave.field(FieldText::new("u", START, next)), &["u"], || {
        for (i, m) in m.iter_mut().enumerate() {
            let (b, a) = memory(i as f64);
            *m = b * *m + a * (at(&u, i, 1) - at(&u, i, -1)) / (2.0 * H);
        }
        let mut next = vec![0.0; POINTS];
        for i in 0..POINTS {
            let (b, a) = memory(i as f64);
            let second = (at(&u, i, 1) - 2.0 * u[i] + at(&u, i, -1)) / (H * H);
            let once = second + (at(&m, i, 1) - at(&m, i, -1)) / (2.0 * H);
            n[i] = b * n[i] + a * once;
            next[i] = 2.0 * u[i] - before[i] + (SPEED * DT).powi(2) * (once + n[i]);
        }
        before = std::mem::replace(&mut u, next);
        vec![u.clone()]
    });
}

/// A leapfrog of velocity and pressure, on a grid that is staggered.
#[test]
fn first_derivatives_between_points_are_what_loops_make_of_them() {
    let wave = layered().derivative("right", "x+", 2).derivative("left", "x-", 2);
    let wave = wave.field(FieldText::new("v", "0", "v + dt*right(p)"));
    let wave = wave.field(FieldText::new("p", START, "p + 1.5^2*dt*left(new(v))"));
    let (mut v, mut p) = (vec![0.0; POINTS], start());
    let (mut of_p, mut of_v) = (vec![0.0; POINTS], vec![0.0; POINTS]);
    follow(&wave, &["v", "p"], || {
        for i in 0..POINTS {
            let (b, a) = memory(i as f64 + 0.5);
            let right = (at(&p, i, 1) - p[i]) / H;
            of_p[i] = b * of_p[i] + a * right;
            v[i] += DT * (right + of_p[i]);
        }
        for i in 0..POINTS {
            let (b, a) = memory(i as f64 - 0.5);
            let left = (v[i] - at(&v, i, -1)) / H;
            of_v[i] = b * of_v[i] + a * left;
            p[i] += SPEED * SPEED * DT * (left + of_v[i]);
        }
        vec![v.clone(), p.clone()]
    });
}

/// A flux with a coefficient: the outer derivative is taken of the inner one as it is stretched.
#[test]
fn a_derivative_of_a_derivative_is_what_loops_make_of_it() {
    let wave = layered().derivative("right", "x+", 2).derivative("left", "x-", 2);
    let wave = wave.coefficient("k", "1 + x/20");
    let next = "2*u - prev(u) + dt^2*left(k*right(u))";
    let (mut u, mut before) = (start(), start());
    let (mut inner, mut outer) = (vec![0.0; POINTS], vec![0.0; POINTS]);
    let mut flux = vec![0.0; POINTS];
    follow(&wave.field(FieldText::new("u", START, next)), &["u"], || {
        for i in 0..POINTS {
            let (b, a) = memory(i as f64 + 0.5);
            let right = (at(&u, i, 1) - u[i]) / H;
            inner[i] = b * inner[i] + a * right;
            flux[i] = (1.0 + i as f64 * H / 20.0) * (right + inner[i]);
        }
        // Beyond the grid the memory is 0, and the coefficient is mirrored.
        let beyond = (1.0 + H / 20.0) * (u[0] / H);
        let mut next = vec![0.0; POINTS];
        for i in 0..POINTS {
            let (b, a) = memory(i as f64 - 0.5);
            let left = (flux[i] - if i == 0 { beyond } else { flux[i - 1] }) / H;
            outer[i] = b * outer[i] + a * left;
            next[i] = 2.0 * u[i] - before[i] + DT * DT * (left + outer[i]);
        }
        before = std::mem::replace(&mut u, next);
        vec![u.clone()]
    });
}

/// The midpoint method of rates: memories have rates, too.
#[test]
fn memories_of_rates_are_integrated_as_fields() {
    let wave = layered().derivative("dx", "x", 2).method(Method::Rk2);
    let wave = wave.field(FieldText::rate("v", "0", "dx(p)"));
    let wave = wave.field(FieldText::rate("p", START, "1.5^2*dx(v)"));
    let zeros = || vec![0.0; POINTS];
    let mut all = [zeros(), start(), zeros(), zeros()];
    let rates = |[v, p, of_p, of_v]: &[Vec<f64>; 4]| {
        let mut rates = [zeros(), zeros(), zeros(), zeros()];
        for i in 0..POINTS {
            let (d, alpha) = damping(i as f64);
            let [dp, dv] = [p, v].map(|it| (at(it, i, 1) - at(it, i, -1)) / (2.0 * H));
            rates[0][i] = dp + of_p[i];
            rates[1][i] = SPEED * SPEED * (dv + of_v[i]);
            rates[2][i] = -(d + alpha) * of_p[i] - d * dp;
            rates[3][i] = -(d + alpha) * of_v[i] - d * dv;
        }
        rates
    };
    let plus = |all: &[Vec<f64>; 4], rates: &[Vec<f64>; 4], dt: f64| {
        let of = |field: usize, i: usize| all[field][i] + dt * rates[field][i];
        [0, 1, 2, 3].map(|field| (0..POINTS).map(|i| of(field, i)).collect::<Vec<f64>>())
    };
    follow(&wave, &["v", "p"], || {
        let middle = plus(&all, &rates(&all), DT / 2.0);
        all = plus(&all, &rates(&middle), DT);
        vec![all[0].clone(), all[1].clone()]
    });
}
