// SPDX-License-Identifier: MIT OR Apache-2.0
//! The amplification matrices of coupled fields with earlier levels: a step multiplies the waves `e^{iθ·p}` of all
//! of them by a small matrix A(θ), whose spectral radius is the factor by which a wave grows in each of many steps
//! (von Neumann). Of one field with one level it is the [symbol](crate::symbol).
//!
//! The radius is the root of a high power's norm, not an eigenvalue. Eigenvalues that meet at 1 (a wave equation at
//! its longest wave) let values grow like a power of the number of steps, which the root of the norm does not see.
//! Rounding would move such eigenvalues by the root of the precision.

use std::f64::consts::TAU;

use num_complex::Complex64;

use crate::spectral::coupled::{Coupling, Levels};
use crate::symbol::Wave;

/// What a radius may be off by: the rest that the root leaves of powers, and rounding of eigenvalues that meet.
pub const OFF: f64 = 1e-5;

/// The wave that a step of these fields grows most, or shrinks least. A growth of less than 1 + [`OFF`] is none.
///
/// Angles are sampled along each axis that is read, the shortest waves included, and the best sample is refined.
#[must_use]
pub fn fastest(couplings: &[Coupling], levels: &Levels) -> Wave {
    /// Samples along each axis that is read, by how many there are.
    const SAMPLES: [usize; 4] = [1, 32, 16, 8];
    const ROUNDS: usize = 12;
    let read = |axis: usize| couplings.iter().any(|coupling| coupling.offset[axis] != 0);
    let axes: Vec<usize> = (0..3).filter(|&axis| read(axis)).collect();
    let counts = [0, 1, 2].map(|axis| if read(axis) { SAMPLES[axes.len()] } else { 1 });
    let mut step = counts.map(|count| TAU / count as f64);
    let at = |angle: [f64; 3]| Wave { angle, growth: radius(couplings, levels, angle) };
    // Weights are real: the opposite wave has the conjugate matrix, so half of the last axis holds all.
    let half = counts.map(|count| count / 2 + 1);
    let last = axes.last().copied();
    let ends = [0, 1, 2].map(|axis| if Some(axis) == last { half[axis] } else { counts[axis] });
    let mut best = at([0.0; 3]);
    for z in 0..ends[0] {
        for y in 0..ends[1] {
            for x in 0..ends[2] {
                let place = [z, y, x];
                let wave = at([0, 1, 2].map(|axis| place[axis] as f64 * step[axis]));
                best = better(best, wave);
            }
        }
    }
    for _ in 0..ROUNDS {
        step = step.map(|step| step / 2.0);
        for &axis in &axes {
            for side in [-1.0, 1.0] {
                let mut angle = best.angle;
                angle[axis] = (angle[axis] + side * step[axis]).rem_euclid(TAU);
                best = better(best, at(angle));
            }
        }
    }
    best
}

/// The wave that grows faster, by more than what a radius may be off by; else the first one.
fn better(first: Wave, second: Wave) -> Wave {
    if second.growth > first.growth * (1.0 + OFF) { second } else { first }
}

/// The spectral radius of the amplification matrix at an angle (z, y, x).
#[must_use]
pub fn radius(couplings: &[Coupling], levels: &Levels, angle: [f64; 3]) -> f64 {
    /// Squarings: the power is 2^24, of which the root of a norm of 10^9 is off by 1.2e-6. Each takes some
    /// roots of the precision from eigenvalues that meet.
    const SQUARINGS: i32 = 24;
    let n = levels.variables();
    let mut matrix = matrix(couplings, levels, angle);
    let mut squares = vec![Complex64::ZERO; n * n];
    // ln of the norm, over the power: each squaring adds what it was scaled by.
    let mut rate = 0.0;
    for squaring in 0..=SQUARINGS {
        let largest = matrix.iter().map(|entry| entry.norm()).fold(0.0, f64::max);
        if !largest.is_finite() {
            return f64::INFINITY;
        }
        if largest == 0.0 {
            return 0.0;
        }
        rate += largest.ln() / 2_f64.powi(squaring);
        matrix.iter_mut().for_each(|entry| *entry /= largest);
        for (row, squares) in matrix.chunks(n).zip(squares.chunks_mut(n)) {
            squares.fill(Complex64::ZERO);
            for (factor, other) in row.iter().zip(matrix.chunks(n)) {
                for (square, entry) in squares.iter_mut().zip(other) {
                    *square += factor * entry;
                }
            }
        }
        std::mem::swap(&mut matrix, &mut squares);
    }
    rate.exp()
}

/// The amplification matrix at an angle, row by row: what becomes of each variable.
fn matrix(couplings: &[Coupling], levels: &Levels, angle: [f64; 3]) -> Vec<Complex64> {
    let n = levels.variables();
    let mut matrix = vec![Complex64::ZERO; n * n];
    for Coupling { to, from: (field, level), offset, weight } in couplings {
        let phase: f64 = (0..3).map(|axis| angle[axis] * f64::from(offset[axis])).sum();
        let entry = levels.place(*to, 0) * n + levels.place(*field, *level);
        matrix[entry] += Complex64::from_polar(1.0, phase) * weight.value();
    }
    for (field, level) in levels.all().filter(|(_, level)| *level > 0) {
        let place = levels.place(field, level);
        matrix[place * n + place - 1] = Complex64::ONE;
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectral::double::Double;
    use crate::{Stencil, symbol};

    fn coupling(to: usize, from: (usize, usize), offset: [i32; 3], weight: f64) -> Coupling {
        Coupling { to, from, offset, weight: Double::new(weight) }
    }

    /// `c²∇²` of a field's present level along so many axes, added to `own` times it.
    fn laplacian(dims: usize, c2: f64, own: f64) -> Vec<Coupling> {
        let mut all = vec![coupling(0, (0, 0), [0; 3], own - 2.0 * dims as f64 * c2)];
        for axis in 3 - dims..3 {
            for side in [-1, 1] {
                let mut offset = [0; 3];
                offset[axis] = side;
                all.push(coupling(0, (0, 0), offset, c2));
            }
        }
        all
    }

    fn wave(dims: usize, courant: f64) -> Wave {
        let mut all = laplacian(dims, courant * courant, 2.0);
        all.push(coupling(0, (0, 1), [0; 3], -1.0));
        fastest(&all, &Levels::new(&[2]))
    }

    #[test]
    fn one_field_has_the_growth_of_its_symbol() {
        for weights in [
            [0.3, 0.4, 0.3],
            [0.6, -0.2, 0.6],
            [-0.5, 1.0, 0.5],
            [0.375, 0.75, -0.125],
            [1.0, 1.0, 1.0],
            [0.01, 0.5, 0.2],
        ] {
            let stencil = Stencil::dense("own", &[3], &weights).unwrap();
            let all: Vec<_> =
                stencil.taps().iter().map(|t| coupling(0, (0, 0), t.offset, t.weight)).collect();
            let (found, known) = (fastest(&all, &Levels::new(&[1])), symbol::fastest(&stencil));
            let off = (found.growth - known.growth).abs();
            assert!(off < OFF, "{weights:?}: {found:?} {known:?}");
        }
    }

    /// Leapfrog: `z + 1/z = 2 − 4 dims·C²` at the shortest wave, stable up to `C² = 1/dims`.
    #[test]
    fn waves_grow_beyond_their_courant_number() {
        for dims in [1, 2, 3] {
            let limit = (1.0 / dims as f64).sqrt();
            for part in [0.001, 0.1, 0.5, 0.9, 0.999, 1.0] {
                let found = wave(dims, part * limit).growth;
                assert!((found - 1.0).abs() < OFF, "{dims} axes, {part} of the limit: {found}");
            }
            for courant in [1.01 * limit, 1.1 * limit, 2.0 * limit] {
                let half = 2.0 * dims as f64 * courant * courant - 1.0;
                let known = half + (half * half - 1.0).sqrt();
                let found = wave(dims, courant);
                assert!((found.growth / known - 1.0).abs() < OFF, "{dims} {courant}: {found:?}");
                for length in found.lengths().into_iter().skip(3 - dims) {
                    assert!((length.unwrap() - 2.0).abs() < 1e-6, "{found:?}");
                }
            }
        }
    }

    /// p and v on a staggered line: stable up to a Courant number of 1, with `z + 1/z = 2 − 4C²` at 2 points.
    #[test]
    fn fields_that_depend_on_each_other_grow_together() {
        for (courant, known) in
            [(0.5, 1.0), (1.0, 1.0), (1.1, 2.42 - 1.0 + (1.42_f64.powi(2) - 1.0).sqrt())]
        {
            let c: f64 = courant;
            // v' = v + C (p[+1] − p), p' = p + C (v' − v'[−1])
            let all = [
                coupling(0, (0, 0), [0; 3], 1.0),
                coupling(0, (1, 0), [0, 0, 1], c),
                coupling(0, (1, 0), [0; 3], -c),
                coupling(1, (1, 0), [0; 3], 1.0 - 2.0 * c * c),
                coupling(1, (1, 0), [0, 0, 1], c * c),
                coupling(1, (1, 0), [0, 0, -1], c * c),
                coupling(1, (0, 0), [0; 3], c),
                coupling(1, (0, 0), [0, 0, -1], -c),
            ];
            let found = fastest(&all, &Levels::new(&[1, 1])).growth;
            assert!((found / known - 1.0).abs() < OFF, "{courant}: {found} {known}");
        }
    }

    /// Fields that each sum up the one before grow like a power of the steps, and a field that is not used is 0.
    #[test]
    fn growth_like_a_power_of_the_steps_is_none() {
        let all: Vec<_> = (0..4)
            .flat_map(|to| (0..=to).map(move |from| coupling(to, (from, 0), [0; 3], 1.0)))
            .collect();
        let found = fastest(&all, &Levels::new(&[1; 4])).growth;
        assert!((found - 1.0).abs() < OFF, "{found}");
        assert_eq!(fastest(&[], &Levels::new(&[2, 1])).growth, 0.0);
    }
}
