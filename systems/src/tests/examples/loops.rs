// SPDX-License-Identifier: MIT OR Apache-2.0
//! Built-in systems against loops that are written out.

use super::{difference, example, simulate, values};
use crate::Description;

/// Values that are found at any place of a plane: `mirror` about the last point, or else around.
pub(super) struct Plane {
    pub(super) ny: isize,
    pub(super) nx: isize,
    pub(super) values: Vec<f64>,
}

fn mirrored(at: isize, extent: isize) -> isize {
    let at = if at < 0 { -at } else { at };
    if at >= extent { 2 * (extent - 1) - at } else { at }
}

impl Plane {
    pub(super) fn around(&self, y: isize, x: isize) -> f64 {
        self.values[(y.rem_euclid(self.ny) * self.nx + x.rem_euclid(self.nx)) as usize]
    }

    fn mirrored(&self, y: isize, x: isize) -> f64 {
        self.values[(mirrored(y, self.ny) * self.nx + mirrored(x, self.nx)) as usize]
    }

    pub(super) fn or_zero(&self, y: isize, x: isize) -> f64 {
        let inside = (0..self.ny).contains(&y) && (0..self.nx).contains(&x);
        if inside { self.values[(y * self.nx + x) as usize] } else { 0.0 }
    }

    pub(super) fn map(&self, value: impl Fn(isize, isize) -> f64) -> Self {
        let &Self { ny, nx, .. } = self;
        let values = (0..ny * nx).map(|index| value(index / nx, index % nx)).collect();
        Self { ny, nx, values }
    }
}

/// A field at the start.
pub(super) fn start(description: &Description, field: &str) -> Plane {
    let [ny, nx] = description.size[..] else { panic!("a plane") };
    let values = values(&mut simulate(description, 0), field);
    Plane { ny: ny as isize, nx: nx as isize, values }
}

#[test]
fn heat_on_the_plate() {
    let (ny, nx) = (21isize, 27isize);
    let description = example("heat-plate", &[21, 27]);
    let h = 1.0 / (nx - 1) as f64;
    let mut u = start(&description, "u").map(|_, x| if x == 0 { 1.0 } else { 0.0 });
    for _ in 0..300 {
        u = u.map(|y, x| {
            let (dx, dy) = (x as f64 * h - 0.5, (y as f64 - 0.5 * (ny - 1) as f64) * h);
            let here = u.mirrored(y, x);
            if x == 0 || dx * dx + dy * dy < 0.01 {
                return here;
            }
            let around = u.mirrored(y - 1, x) + u.mirrored(y + 1, x);
            here + 0.2 * (around + u.mirrored(y, x - 1) + u.mirrored(y, x + 1) - 4.0 * here)
        });
    }
    let found = values(&mut simulate(&description, 300), "u");
    assert!(difference(&found, &u.values) < 1e-12, "{}", difference(&found, &u.values));
    assert!(found.iter().any(|value| *value > 0.1 && *value < 0.9));
}

#[test]
fn a_wave_in_layers_with_source_sponge_and_receivers() {
    let (ny, nx) = (60isize, 72isize);
    let description = example("layered-wave", &[60, 72]);
    let (h, dt) = (10.0f64, 0.001f64);
    let weights = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];
    let speed = |y: isize, x: isize| {
        let (depth, whole) = (y as f64 * h, ny as f64 * h);
        if depth < 0.3 * whole {
            1500.0
        } else if depth < 0.6 * whole + 0.1 * x as f64 * h {
            2200.0
        } else {
            3500.0
        }
    };
    let damping = |y: isize, x: isize| {
        let depths = [30 - x, 30 - (nx - 1 - x), 30 - (ny - 1 - y)];
        let squares = depths.map(|depth| (depth.max(0) as f64 * 0.01).powi(2));
        (-squares.iter().sum::<f64>()).exp()
    };
    let mut p = start(&description, "p").map(|_, _| 0.0);
    let mut before = p.map(|_, _| 0.0);
    let mut received = vec![[0.0; 2]];
    for step in 0..160 {
        let a = (std::f64::consts::PI * 15.0 * (f64::from(step) * dt - 0.08)).powi(2);
        let wavelet = (1.0 - 2.0 * a) * (-a).exp();
        let next = p.map(|y, x| {
            let mut laplace = 2.0 * weights[0] * p.or_zero(y, x);
            for at in 1..5 {
                let around = p.or_zero(y - at, x) + p.or_zero(y + at, x);
                let around = around + p.or_zero(y, x - at) + p.or_zero(y, x + at);
                laplace += weights[at as usize] * around;
            }
            let wave = (speed(y, x) * dt / h).powi(2) * laplace;
            // All levels are damped after each step: the earlier one a second time.
            let old = damping(y, x) * before.or_zero(y, x);
            let source = if (y, x) == (5, nx / 2) { wavelet } else { 0.0 };
            damping(y, x) * (2.0 * p.or_zero(y, x) - old + wave) + source
        });
        (before, p) = (p, next);
        received.push([p.or_zero(5, nx / 4), p.or_zero(5, nx * 3 / 4)]);
    }
    let mut simulation = simulate(&description, 160);
    let found = values(&mut simulation, "p");
    let largest = found.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    assert!(largest > 0.01, "{largest}");
    assert!(difference(&found, &p.values) < 1e-11 * largest, "{}", difference(&found, &p.values));
    for (step, (row, expected)) in simulation.records().iter().zip(&received).enumerate() {
        assert!((row[0] - step as f64 * dt).abs() < 1e-12);
        assert!(difference(&row[1..], expected) < 1e-11 * largest, "{step}: {row:?} {expected:?}");
    }
    assert_eq!(simulation.records().len(), received.len());
}

#[test]
fn two_substances_that_react() {
    let description = example("gray-scott", &[24, 30]);
    let (mut u, mut v) = (start(&description, "u"), start(&description, "v"));
    let laplace = |field: &Plane, y: isize, x: isize| {
        field.around(y - 1, x)
            + field.around(y + 1, x)
            + field.around(y, x - 1)
            + field.around(y, x + 1)
            - 4.0 * field.around(y, x)
    };
    for _ in 0..100 {
        let reaction = |y, x| u.around(y, x) * v.around(y, x) * v.around(y, x);
        let next_u = u.map(|y, x| {
            let here = u.around(y, x);
            here + 0.16 * laplace(&u, y, x) - reaction(y, x) + 0.035 * (1.0 - here)
        });
        let next_v = v.map(|y, x| {
            let here = v.around(y, x);
            here + 0.08 * laplace(&v, y, x) + reaction(y, x) - 0.1 * here
        });
        (u, v) = (next_u, next_v);
    }
    let mut simulation = simulate(&description, 100);
    for (name, plane) in [("u", u), ("v", v)] {
        let error = difference(&values(&mut simulation, name), &plane.values);
        assert!(error < 1e-12, "{name}: {error}");
    }
}

#[test]
fn the_game_of_life() {
    let description = example("life", &[31, 37]);
    let mut alive = start(&description, "alive");
    let before: f64 = alive.values.iter().sum();
    assert!((before / 1147.0 - 0.3).abs() < 0.1, "{before}");
    for _ in 0..60 {
        alive = alive.map(|y, x| {
            let mut count = 0.0;
            for (dy, dx) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))) {
                count += if (dy, dx) == (0, 0) { 0.0 } else { alive.around(y + dy, x + dx) };
            }
            let lives = count == 3.0 || count == 2.0 && alive.around(y, x) == 1.0;
            f64::from(u8::from(lives))
        });
    }
    assert_eq!(values(&mut simulate(&description, 60), "alive"), alive.values);
}

#[test]
fn bugs_of_larger_than_life() {
    let description = example("larger-than-life", &[43, 61]);
    let mut alive = start(&description, "alive");
    for _ in 0..30 {
        alive = alive.map(|y, x| {
            let mut count = 0.0;
            for (dy, dx) in (-5..=5).flat_map(|dy| (-5..=5).map(move |dx| (dy, dx))) {
                count += alive.around(y + dy, x + dx);
            }
            let is_alive = alive.around(y, x) == 1.0;
            let lives =
                (34.0..=45.0).contains(&count) || is_alive && (46.0..=58.0).contains(&count);
            f64::from(u8::from(lives))
        });
    }
    let lives = alive.values.iter().sum::<f64>();
    assert!(lives > 30.0, "{lives}");
    assert_eq!(values(&mut simulate(&description, 30), "alive"), alive.values);
}

#[test]
fn a_picture_is_blurred_twice() {
    let description = example("blur", &[40, 52]);
    let (mut blurred, mut kept) = (start(&description, "blurred"), start(&description, "kept"));
    let noise = difference(&blurred.map(|y, x| blurred.mirrored(y, x + 1)).values, &blurred.values);
    assert!(noise > 0.1 && blurred.values == kept.values);
    for _ in 0..20 {
        blurred = blurred.map(|y, x| {
            let row = |y| {
                blurred.mirrored(y, x - 1)
                    + 2.0 * blurred.mirrored(y, x)
                    + blurred.mirrored(y, x + 1)
            };
            (row(y - 1) + 2.0 * row(y) + row(y + 1)) / 16.0
        });
        kept = kept.map(|y, x| {
            let here = kept.mirrored(y, x);
            let flow = |y, x| {
                let slope = kept.mirrored(y, x) - here;
                slope * (-(slope / 0.1) * (slope / 0.1)).exp()
            };
            here + 0.2 * (flow(y, x - 1) + flow(y, x + 1) + flow(y - 1, x) + flow(y + 1, x))
        });
    }
    let mut simulation = simulate(&description, 20);
    for (name, plane) in [("blurred", blurred), ("kept", kept)] {
        let error = difference(&values(&mut simulation, name), &plane.values);
        assert!(error < 1e-13, "{name}: {error}");
    }
}
