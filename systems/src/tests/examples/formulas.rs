// SPDX-License-Identifier: MIT OR Apache-2.0
//! Built-in systems that formulas solve.

use super::{difference, example, set, simulate, text, values};
use crate::{StartText, Text};
use std::f64::consts::PI;

/// A mode of the block decays by the same factor in each step; on finer grids as exp(-3 pi^2 t), with an error of
/// second order.
#[test]
fn a_mode_of_the_block_decays() {
    let mut errors = Vec::new();
    for points in [7, 15, 31] {
        let description = example("heat-3d", &[points, points, points]);
        let h = 1.0 / (points + 1) as f64;
        let dt = 0.15 * h * h;
        // As many steps as reach one and the same time on all grids.
        let steps = (points + 1) * (points + 1) / 2;
        let mut simulation = simulate(&description, steps);
        let factor = 1.0 - 3.0 * dt * 4.0 / (h * h) * (PI * h / 2.0).sin().powi(2);
        let mode = |at: usize| (PI * (at + 1) as f64 * h).sin();
        let start: Vec<f64> = (0..points.pow(3))
            .map(|at| mode(at % points) * mode(at / points % points) * mode(at / points / points))
            .collect();
        let stepped: Vec<f64> = start.iter().map(|it| it * factor.powi(steps as i32)).collect();
        let found = values(&mut simulation, "u");
        assert!(difference(&found, &stepped) < 1e-13, "{points}: {}", difference(&found, &stepped));
        let decay = (-3.0 * PI * PI * dt * steps as f64).exp();
        let exact: Vec<f64> = start.iter().map(|it| it * decay).collect();
        errors.push(difference(&found, &exact));
    }
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((order - 2.0).abs() < 0.1, "order {order}: {errors:?}");
    }
}

/// A plane wave in even ground keeps its shape; its frequency is that of the scheme, which on finer grids becomes
/// c k: with an error of eighth order, where dt goes with the fourth power of h.
#[test]
fn a_plane_wave_has_the_frequency_of_the_scheme() {
    let (speed, ground) = (1500.0f64, 1000.0);
    let mut errors = Vec::new();
    for points in [12, 24] {
        let h = ground / points as f64;
        let dt = 0.02 * (12.0 / points as f64).powi(4);
        let k = 2.0 * PI * 2.0 / ground;
        // The central difference of eighth order.
        let weights = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];
        let cosines = (1..5).map(|at| 2.0 * weights[at] * (k * h * at as f64).cos());
        let symbol = (weights[0] + cosines.sum::<f64>()) / (h * h);
        let frequency = 2.0 / dt * (speed * dt / 2.0 * (-symbol).sqrt()).asin();
        errors.push((frequency - speed * k).abs() / (speed * k));

        let mut description = example("layered-wave", &[3, points]);
        (description.sponge, description.sources, description.receivers) = Default::default();
        description.spacing = vec![text(&h.to_string())];
        description.dt = text(&dt.to_string());
        description.coefficients[0].start = StartText::from(speed);
        let wave = format!("cos({k}*x - {frequency}*t)");
        description.fields[0].start = StartText::Expression(Text::new("a wave", &wave));
        description.fields[0].boundary = text("periodic");
        let steps = 200;
        let mut simulation = simulate(&description, steps);
        let at = |x: usize| (k * x as f64 * h - frequency * dt * steps as f64).cos();
        let exact: Vec<f64> = (0..3 * points).map(|index| at(index % points)).collect();
        let found = values(&mut simulation, "p");
        assert!(difference(&found, &exact) < 1e-9, "{points}: {}", difference(&found, &exact));
    }
    let order = (errors[0] / errors[1]).log2();
    assert!((order - 8.0).abs() < 0.5, "order {order}: {errors:?}");
}

/// A straight front moves at sqrt(d/2) (1 - 2a) and keeps the shape 1 / (1 + exp(x / sqrt(2d))).
#[test]
fn a_front_travels_at_its_speed() {
    let (a, d) = (0.25f64, 1.0f64);
    let speed = (d / 2.0).sqrt() * (1.0 - 2.0 * a);
    let mut errors = Vec::new();
    for refined in [1, 2] {
        let points = 120 * refined;
        let h = 0.5 / refined as f64;
        let dt = 0.02 / f64::from((refined * refined) as u32);
        let mut description = set(example("allen-cahn", &[2, points]), "a", &a.to_string());
        description.spacing = vec![text(&h.to_string())];
        description.dt = text(&dt.to_string());
        description.fields[0].boundary = text("reflect");
        description.fields[0].start = StartText::from("1/(1 + exp((x - 20)/sqrt(2*d)))");
        let steps = 1000 * refined * refined;
        let mut simulation = simulate(&description, steps);
        let time = dt * steps as f64;
        let front = |x: usize| {
            let from_the_middle = x as f64 * h - 20.0 - speed * time;
            1.0 / (1.0 + (from_the_middle / (2.0 * d).sqrt()).exp())
        };
        let exact: Vec<f64> = (0..2 * points).map(|index| front(index % points)).collect();
        let found = values(&mut simulation, "u");
        errors.push(difference(&found, &exact));
        // Where it is 1/2.
        let after = found[..points].iter().position(|value| *value < 0.5).unwrap();
        let part = (found[after - 1] - 0.5) / (found[after - 1] - found[after]);
        let way = (after as f64 - 1.0 + part) * h - 20.0;
        assert!((way / time - speed).abs() < 0.01 * speed, "{} instead of {speed}", way / time);
    }
    // Space is of fourth order, time of first, with dt going with the square of h.
    assert!(errors[0] / errors[1] > 3.5, "{errors:?}");
}

/// Once around, the pulse is where it was; a cubic through four points has an error of third order.
#[test]
fn a_pulse_comes_back() {
    let mut errors = Vec::new();
    for points in [40, 80, 160] {
        let around = (points * 5 / 2).to_string();
        let description = set(example("advection", &[points, points]), "steps_around", &around);
        let before = values(&mut simulate(&description, 0), "u");
        // Along y it goes half as fast, so that it has to go around twice along x.
        let steps = points * 5;
        let after = values(&mut simulate(&description, steps), "u");
        errors.push(difference(&before, &after));
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        assert!((sum(&before) - sum(&after)).abs() < 1e-9 * sum(&before));
    }
    let order = (errors[1] / errors[2]).log2();
    assert!((2.5..3.5).contains(&order), "order {order}: {errors:?}");
}

/// At a Courant number of 1 each step moves the pulse by one point, exactly.
#[test]
fn a_whole_step_is_exact() {
    let description = set(example("advection", &[6, 10]), "steps_around", "10");
    let description = set(description, "speed_y", "0");
    let before = values(&mut simulate(&description, 0), "u");
    let after = values(&mut simulate(&description, 3), "u");
    let moved: Vec<f64> = (0..60).map(|at| before[at / 10 * 10 + (at % 10 + 7) % 10]).collect();
    assert!(difference(&after, &moved) < 1e-15);
}
