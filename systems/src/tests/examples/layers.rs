// SPDX-License-Identifier: MIT OR Apache-2.0
//! Built-in systems with perfectly matched layers, against loops that are written out, and against grids on which no wave has come
//! back from the sides.

use std::f64::consts::PI;

use super::loops::{Plane, start};
use super::{difference, example, set, simulate, values};

const WIDTH: f64 = 10.0;

/// What is left of a memory after a step, so many points along an axis.
fn left(at: isize, extent: isize, (speed, h, dt): (f64, f64, f64)) -> f64 {
    let depth = (WIDTH - at as f64).max(WIDTH - (extent - 1 - at) as f64).max(0.0) / WIDTH;
    let d = 1.5 * speed / (WIDTH * h) * 1e3f64.ln() * depth * depth;
    (-d * dt).exp()
}

#[test]
fn an_acoustic_wave_leaves_two_layers_of_ground() {
    let (ny, nx) = (50isize, 66isize);
    let description = example("acoustic-pml", &[50, 66]);
    let (h, dt) = (10.0f64, 0.0015f64);
    let speed = |y: isize| if (y as f64) * h < 0.6 * ny as f64 * h { 1500.0 } else { 3000.0 };
    let mut p = start(&description, "p");
    let mut before = p.map(|_, _| 0.0);
    // Along y and x: memories of first differences, and of what second derivatives are made of with them.
    let mut first = [[1, 0], [0, 1]].map(|axis: [isize; 2]| (axis, p.map(|_, _| 0.0)));
    let mut second = [0, 1].map(|_| p.map(|_, _| 0.0));
    let difference_of = |of: &Plane, y: isize, x: isize, [down, right]: [isize; 2]| {
        let at = |far: isize| of.or_zero(y + far * down, x + far * right);
        (8.0 * (at(1) - at(-1)) - at(2) + at(-2)) / (12.0 * h)
    };
    let keeps = |[down, _]: [isize; 2], y: isize, x: isize| match down {
        1 => left(y, ny, (3000.0, h, dt)),
        _ => left(x, nx, (3000.0, h, dt)),
    };
    for step in 0..160 {
        for (axis, memory) in &mut first {
            *memory = memory.map(|y, x| {
                let b = keeps(*axis, y, x);
                b * memory.or_zero(y, x) - (1.0 - b) * difference_of(&p, y, x, *axis)
            });
        }
        let once = [0, 1].map(|number: usize| {
            let (axis, memory) = &first[number];
            p.map(|y, x| {
                let at = |far: isize| p.or_zero(y + far * axis[0], x + far * axis[1]);
                let sum = 16.0 * (at(1) + at(-1)) - at(2) - at(-2) - 30.0 * at(0);
                sum / (12.0 * h * h) + difference_of(memory, y, x, *axis)
            })
        });
        for number in 0..2 {
            let axis = first[number].0;
            second[number] = second[number].map(|y, x| {
                let b = keeps(axis, y, x);
                b * second[number].or_zero(y, x) - (1.0 - b) * once[number].or_zero(y, x)
            });
        }
        let a = (PI * 12.0 * (f64::from(step) * dt - 0.1)).powi(2);
        let next = p.map(|y, x| {
            let all = [&once[0], &once[1], &second[0], &second[1]];
            let laplace: f64 = all.into_iter().map(|it| it.or_zero(y, x)).sum();
            let source = if (y, x) == (16, 22) { (1.0 - 2.0 * a) * (-a).exp() } else { 0.0 };
            let wave = (speed(y) * dt).powi(2) * laplace;
            2.0 * p.or_zero(y, x) - before.or_zero(y, x) + wave + source
        });
        (before, p) = (p, next);
    }
    let found = values(&mut simulate(&description, 160), "p");
    let largest = found.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    assert!(largest > 0.01, "{largest}");
    let error = difference(&found, &p.values) / largest;
    assert!(error < 1e-11, "{error} of {largest}");
}

/// A grid with 80 points more at each side, from which nothing has come back, has the same waves inside.
#[test]
fn elastic_waves_leave() {
    const MORE: usize = 80;
    const STEPS: usize = 260;
    let (ny, nx) = (60, 80);
    let layered = example("elastic-pml", &[ny, nx]);
    let free = example("elastic-pml", &[ny + 2 * MORE, nx + 2 * MORE]);
    let mut free = set(free, "ys", &format!("{} + {MORE}", ny / 2));
    free = set(free, "xs", &format!("{} + {MORE}", nx / 3));
    (free.pml, free.receivers) = Default::default();
    let (mut layered, mut free) = (simulate(&layered, 0), simulate(&free, 0));
    let (mut most, mut error) = (0.0f64, 0.0f64);
    for _ in 0..STEPS / 20 {
        layered.step(20).unwrap();
        free.step(20).unwrap();
        let [inside, whole] = [&mut layered, &mut free].map(|it| values(it, "vy"));
        for y in 10..ny - 10 {
            for x in 10..nx - 10 {
                let free = whole[(y + MORE) * (nx + 2 * MORE) + x + MORE];
                // Beside the layer, where all waves pass.
                most = if x == 10 { most.max(free.abs()) } else { most };
                error = error.max((inside[y * nx + x] - free).abs());
            }
        }
    }
    println!("{error} of {most}");
    assert!(most > 0.001 && error < 0.02 * most, "{error} of {most}");
}
