// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::catalogue;
use crate::spectral::Powers;
use std::f64::consts::{PI, TAU};

fn coupling(to: usize, from: (usize, usize), offset: [i32; 3], weight: f64) -> Coupling {
    Coupling { to, from, offset, weight: Double::new(weight) }
}

/// What all variables and sources become along x, of lines that start with these values everywhere.
fn multiplied(coupled: &Coupled, lines: &[Complex64], length: usize) -> Vec<Vec<Complex64>> {
    let mut lines: Vec<Vec<Complex64>> =
        lines.iter().map(|value| vec![*value; length / 2 + 1]).collect();
    let mut borrowed: Vec<&mut [Complex64]> = lines.iter_mut().map(Vec::as_mut_slice).collect();
    coupled.multiply(2, [0; 3], &mut borrowed, &mut Scratch::default());
    lines
}

#[test]
fn one_field_of_one_level_has_the_powers_of_its_symbol() {
    for name in ["star1d1r", "star1d2r"] {
        let stencil = catalogue::find(name).unwrap();
        let taps = stencil.taps().iter();
        let couplings: Vec<_> =
            taps.map(|tap| coupling(0, (0, 0), tap.offset, tap.weight)).collect();
        for steps in [1, 2, 77, 100_000] {
            let levels = Levels::new(&[1]);
            let coupled = Coupled::new(levels, &couplings, [1, 1, 1021], [false; 3], &[0], steps);
            let lines = [Complex64::ONE, Complex64::ONE];
            let found = multiplied(&coupled, &lines, 1021);
            let powers = Powers::new(&stencil, [1, 1, 1021], steps);
            let line = powers.line(2, [0; 3]);
            for (k, found) in found[0].iter().enumerate() {
                let expected = line.power(k) + line.sum(k);
                let error = (found - expected).norm() / expected.norm().max(1.0);
                assert!(error < 1e-13, "{name}, {steps} steps, wave {k}: {error:e}");
            }
        }
    }
}

/// `u₊ = 2u − u₋ + c² (u at both sides − 2u)`: waves turn by θ a step, sin(θ/2) = c sin(φ/2).
fn wave(courant: f64) -> Vec<Coupling> {
    let c = courant * courant;
    vec![
        coupling(0, (0, 0), [0, 0, 0], 2.0 - 2.0 * c),
        coupling(0, (0, 0), [0, 0, -1], c),
        coupling(0, (0, 0), [0, 0, 1], c),
        coupling(0, (0, 1), [0, 0, 0], -1.0),
    ]
}

#[test]
fn waves_turn_as_their_dispersion_says() {
    let (length, courant) = (1000, 0.5);
    for steps in [1, 2, 1001, 1_000_000] {
        let (levels, lengths) = (Levels::new(&[2]), [1, 1, length]);
        let coupled = Coupled::new(levels, &wave(courant), lengths, [false; 3], &[], steps);
        for k in [0, 1, 2, 77, 499, 500] {
            let turn = 2.0 * (courant * (PI * k as f64 / length as f64).sin()).asin();
            // From cos(−θt): 1 now, cos θ before, whose difference is 2 sin²(θ/2).
            let difference = 2.0 * (0.5 * turn).sin().powi(2);
            let lines = [Complex64::ONE, Complex64::from(difference)];
            let found = multiplied(&coupled, &lines, length);
            let expected = (steps as f64 * turn).cos();
            // The angle itself is known to a rounding only.
            let allowed = 4e-15 + 4.0 * f64::EPSILON * steps as f64 * turn;
            let error = (found[0][k].re - expected).abs();
            assert!(error < allowed, "{steps} steps, wave {k}: {error:e}");
        }
    }
}

/// T steps, and T steps of two halves: in all digits of the halves, for couplings of any kind.
#[test]
fn two_halves_are_the_whole() {
    let mut couplings = wave(0.3);
    couplings.extend([
        coupling(1, (1, 0), [0, 0, 0], 0.6),
        coupling(1, (1, 2), [0, 0, 1], 0.3),
        coupling(1, (0, 0), [0, 0, -1], 0.01),
        coupling(2, (2, 0), [0, 0, 0], 0.999),
        coupling(2, (1, 1), [0, 0, 2], 0.02),
    ]);
    let start: Vec<Complex64> =
        (0..8).map(|at| Complex64::new(1.0 / (1 + at) as f64, 0.1 * at as f64)).collect();
    let steps = 40_000;
    let of = |steps| {
        let levels = Levels::new(&[2, 3, 1]);
        Coupled::new(levels, &couplings, [1, 1, 30], [false; 3], &[0, 2], steps)
    };
    let whole = multiplied(&of(steps), &start, 30);
    let half = of(steps / 2);
    let mut twice: Vec<Vec<Complex64>> = start.iter().map(|value| vec![*value; 16]).collect();
    for _ in 0..2 {
        let mut lines: Vec<&mut [Complex64]> = twice.iter_mut().map(Vec::as_mut_slice).collect();
        half.multiply(2, [0; 3], &mut lines, &mut Scratch::default());
    }
    for (row, (whole, twice)) in whole.iter().zip(&twice).enumerate() {
        let largest = whole.iter().map(|value| value.norm()).fold(1.0, f64::max);
        for (k, (a, b)) in whole.iter().zip(twice).enumerate() {
            assert!((a - b).norm() < 1e-13 * largest, "row {row}, wave {k}: {a} {b}");
        }
    }
}

#[test]
fn few_steps_are_those_of_steps() {
    let couplings = [
        coupling(0, (0, 0), [0, 0, 0], 0.5),
        coupling(0, (1, 0), [0, 0, 1], 0.25),
        coupling(1, (0, 1), [0, 0, 0], -0.5),
        coupling(1, (1, 0), [0, 0, -1], 0.75),
    ];
    let (length, steps) = (7, 5);
    let levels = Levels::new(&[2, 1]);
    let coupled = Coupled::new(levels, &couplings, [1, 1, length], [false; 3], &[1], steps);
    let lines = [0.3, 0.1, -0.7, 0.2].map(Complex64::from);
    let found = multiplied(&coupled, &lines, length);
    for k in 0..=length / 2 {
        let root = Complex64::cis(TAU * k as f64 / length as f64);
        let (mut u, mut before, mut v) = (lines[0], lines[0] - lines[1], lines[2]);
        for _ in 0..steps {
            let next = 0.5 * u + 0.25 * root * v;
            v = -0.5 * before + 0.75 * v / root + lines[3];
            (before, u) = (u, next);
        }
        for (found, expected) in found.iter().zip([u, u - before, v, lines[3]]) {
            assert!((found[k] - expected).norm() < 1e-15, "{k}: {} {expected}", found[k]);
        }
    }
}

#[test]
fn constant_parts_of_odd_axes_are_nothing() {
    let couplings = [coupling(0, (0, 0), [0, 0, 0], 2.0)];
    for odd in [[false, false, true], [false, true, false]] {
        let coupled = Coupled::new(Levels::new(&[1]), &couplings, [1, 1, 4], odd, &[], 1);
        let mut line = vec![Complex64::ONE; 3];
        coupled.multiply(2, [0; 3], &mut [line.as_mut_slice()], &mut Scratch::default());
        let others = Complex64::from(if odd[2] { 2.0 } else { 0.0 });
        assert_eq!(line, [Complex64::ZERO, others, others]);
    }
}

#[test]
fn what_grows_beyond_all_numbers_is_said_to() {
    let couplings = [coupling(0, (0, 0), [0, 0, 0], 3.0)];
    let coupled = Coupled::new(Levels::new(&[1]), &couplings, [1, 1, 4], [false; 3], &[], 1000);
    let mut line = vec![Complex64::ONE; 3];
    let largest = coupled.multiply(2, [0; 3], &mut [line.as_mut_slice()], &mut Scratch::default());
    assert_eq!(coupled.of_power(&largest, 0, 0), f64::INFINITY);
}

/// The matrix of differences is that of levels, with differences before it and after it.
#[test]
fn differences_are_taken_to_differences() {
    let couplings = [
        coupling(0, (0, 0), [0, 0, 1], 0.5),
        coupling(0, (0, 2), [0, 0, 0], 0.25),
        coupling(0, (1, 1), [0, 0, -1], 0.125),
        coupling(1, (0, 1), [0, 0, 2], -0.5),
        coupling(1, (1, 0), [0, 0, 0], 0.75),
    ];
    let levels = Levels::new(&[3, 2]);
    let coupled = Coupled::new(levels.clone(), &couplings, [1, 1, 9], [false; 3], &[], 1);
    let start: Vec<Complex64> = (0..5).map(|at| Complex64::new(0.3 * at as f64, 1.0)).collect();
    let found = multiplied(&coupled, &start, 9);
    let of_differences = coupled.of_differences();
    for k in 0..5 {
        for (row, found) in found.iter().enumerate() {
            let of_tap = |(offset, weight): &Tap| {
                let turn = TAU * f64::from(offset[2]) * k as f64 / 9.0;
                weight.value() * Complex64::cis(turn)
            };
            let of_column = |column: usize| -> Complex64 {
                of_differences[row * 5 + column].iter().map(of_tap).sum::<Complex64>()
                    * start[column]
            };
            let expected: Complex64 = (0..5).map(of_column).sum();
            assert!((found[k] - expected).norm() < 1e-14, "{row}, wave {k}: {expected}");
        }
    }
}
