// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Fourier symbol of a stencil: one application multiplies the wave `e^{iθ·p}` by
//! `Σ weight · e^{iθ·offset}`. Its largest absolute value is the factor by which a step can grow
//! what any field holds of a wave, on an unbounded or a periodic grid; where it is at most 1 the
//! step is stable (von Neumann). `Σ |weight|` is an upper bound of it, and often far above.

use std::f64::consts::TAU;

use crate::Stencil;

/// A wave, and what one application of a stencil makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// Radians from one point to the next along (z, y, x), from 0 up to 2π; 0 is a constant.
    pub angle: [f64; 3],
    /// The absolute value of the symbol.
    pub growth: f64,
}

impl Wave {
    /// Points of a period along each axis (z, y, x); `None` where the wave is constant along it.
    #[must_use]
    pub fn lengths(&self) -> [Option<f64>; 3] {
        // An angle beyond π is that of a shorter way round the other way.
        let shortest = self.angle.map(|angle| angle.min(TAU - angle));
        shortest.map(|angle| (angle > 1e-6).then(|| TAU / angle))
    }
}

/// The absolute value of the symbol at an angle (z, y, x).
#[must_use]
pub fn growth(stencil: &Stencil, angle: [f64; 3]) -> f64 {
    let (mut re, mut im) = (0.0, 0.0);
    for tap in stencil.taps() {
        let phase: f64 = (0..3).map(|axis| angle[axis] * f64::from(tap.offset[axis])).sum();
        re += tap.weight * phase.cos();
        im += tap.weight * phase.sin();
    }
    f64::hypot(re, im)
}

/// The wave that a stencil grows most, or shrinks least.
///
/// The symbol is a trigonometric polynomial of the radius' degree: it is sampled at 8 angles for
/// each degree along each axis, and the best sample is refined.
#[must_use]
pub fn fastest(stencil: &Stencil) -> Wave {
    const SAMPLES: usize = 8;
    const ROUNDS: usize = 20;
    let counts = stencil.radii().map(|radius| (SAMPLES * radius).max(1));
    let symbol = samples(stencil, counts);
    let best = (0..symbol.len()).max_by(|&a, &b| {
        let size = |index: usize| f64::hypot(symbol[index][0], symbol[index][1]);
        // Of equals the first, which is the longest wave.
        size(a).total_cmp(&size(b)).then(b.cmp(&a))
    });
    let best = best.expect("there is at least one sample");
    let [_, ny, nx] = counts;
    let at = [best / (ny * nx), best / nx % ny, best % nx];
    let mut step: [f64; 3] = std::array::from_fn(|axis| TAU / counts[axis] as f64);
    let angle = std::array::from_fn(|axis| at[axis] as f64 * step[axis]);
    let mut wave = Wave { angle, growth: growth(stencil, angle) };
    for _ in 0..ROUNDS {
        step = step.map(|step| step / 2.0);
        for axis in (0..3).filter(|&axis| counts[axis] > 1) {
            for side in [-1.0, 1.0] {
                let mut angle = wave.angle;
                angle[axis] = (angle[axis] + side * step[axis]).rem_euclid(TAU);
                let growth = growth(stencil, angle);
                if growth > wave.growth * (1.0 + 1e-12) {
                    wave = Wave { angle, growth };
                }
            }
        }
    }
    wave
}

/// The symbol, real and imaginary part, at `counts` angles along (z, y, x) from 0 up to 2π, in C
/// order.
fn samples(stencil: &Stencil, counts: [usize; 3]) -> Vec<[f64; 2]> {
    let radii = stencil.radii();
    let mut extents = radii.map(|radius| 2 * radius + 1);
    let mut values = vec![[0.0; 2]; extents.iter().product()];
    for tap in stencil.taps() {
        let at: [usize; 3] =
            std::array::from_fn(|axis| (tap.offset[axis] + radii[axis] as i32) as usize);
        values[(at[0] * extents[1] + at[1]) * extents[2] + at[2]][0] = tap.weight;
    }
    // One axis after the other, which is what makes large boxes cheap.
    for axis in 0..3 {
        values = transform_axis(&values, extents, axis, counts[axis]);
        extents[axis] = counts[axis];
    }
    values
}

/// Sums along one axis, with the centre in its middle, at `count` angles.
fn transform_axis(
    values: &[[f64; 2]],
    extents: [usize; 3],
    axis: usize,
    count: usize,
) -> Vec<[f64; 2]> {
    let (length, inner) = (extents[axis], extents[axis + 1..].iter().product::<usize>());
    let outer = extents[..axis].iter().product::<usize>();
    let mut sums = vec![[0.0; 2]; outer * count * inner];
    for sample in 0..count {
        for offset in 0..length {
            let distance = offset as f64 - (length / 2) as f64;
            let (sin, cos) = (TAU * sample as f64 / count as f64 * distance).sin_cos();
            for (block, from) in values.chunks(length * inner).enumerate() {
                let to = &mut sums[(block * count + sample) * inner..][..inner];
                for ([re, im], [a, b]) in to.iter_mut().zip(&from[offset * inner..][..inner]) {
                    *re += a * cos - b * sin;
                    *im += a * sin + b * cos;
                }
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use std::f64::consts::PI;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn known_symbols_are_found() {
        // 1 + r δ² along x and y: 1 − 8r at the shortest wave.
        let heat = |r: f64| {
            let weights = [0.0, r, 0.0, r, 1.0 - 4.0 * r, r, 0.0, r, 0.0];
            fastest(&Stencil::dense("heat", &[3, 3], &weights).unwrap())
        };
        assert!(near(heat(0.2).growth, 1.0), "{:?}", heat(0.2));
        assert_eq!(heat(0.2).lengths(), [None; 3]);
        let wave = heat(0.3);
        assert!(near(wave.growth, 1.4), "{wave:?}");
        assert_eq!(
            wave.lengths().map(|length| length.map(f64::round)),
            [None, Some(2.0), Some(2.0)]
        );
        // The first derivative, i sin θ, is largest at waves of 4 points.
        let slope = Stencil::dense("slope", &[3], &[-0.5, 0.0, 0.5]).unwrap();
        let wave = fastest(&slope);
        assert!(near(wave.growth, 1.0) && near(wave.lengths()[2].unwrap(), 4.0), "{wave:?}");
    }

    /// No wave of a fine scan grows faster, and none slower than the constant field.
    #[test]
    fn no_wave_grows_faster() {
        for (index, entry) in catalogue::entries().iter().enumerate().step_by(7) {
            let stencil = entry.stencil();
            let found = fastest(&stencil).growth;
            assert!(found <= stencil.gain() * (1.0 + 1e-12), "{}", entry.name);
            let mut angle = [0.0; 3];
            for scan in 0..500 {
                for axis in 3 - stencil.dims()..3 {
                    // Steps that share no period, so that each angle is another.
                    let turn = scan as f64 * [0.618_034, 0.754_878, 0.819_173][axis];
                    angle[axis] = TAU * (turn + index as f64 * 0.1).fract();
                }
                let other = growth(&stencil, angle);
                assert!(other <= found * (1.0 + 1e-9), "{}: {other} > {found}", entry.name);
            }
        }
    }

    /// A peak between the samples: waves of 2.4 points along x only.
    #[test]
    fn peaks_between_samples_are_found() {
        let angle = TAU / 2.4;
        // |e^{iθ} + e^{iθ₀}…|: weights cos(kθ₀) peak near ±θ₀.
        let weights: Vec<f64> = (-16..=16).map(|k| (f64::from(k) * angle).cos() / 16.0).collect();
        let stencil = Stencil::dense("peak", &[33], &weights).unwrap();
        let wave = fastest(&stencil);
        let scan = (0..100_000).map(|k| growth(&stencil, [0.0, 0.0, PI * f64::from(k) / 1e5]));
        assert!(near(wave.growth, scan.fold(0.0, f64::max)), "{wave:?}");
    }
}
