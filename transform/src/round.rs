// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights rounded to a narrow type such that their sum survives.
//!
//! Rounded one by one, the weights of a conservative stencil no longer sum to 1 (or to 0), and mass
//! decays or grows by the difference at every step. So after rounding each weight to the nearest, some
//! are moved on to the next number on the other side of their exact value until the sum is that of the
//! exact weights, or as near as the type allows. A moved weight is off by less than its last digit, or
//! a few where that does not suffice.
//! Weights that are equal and mirror each other about the centre move together, so that what is
//! symmetric stays so; if the sum allows, whole groups of equal weights at equal distances do.

use crate::stencil::{Stencil, Tap};
use cuda_mma::fragment::Element;
use std::collections::BTreeMap;

/// A binary floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    /// Significant bits, the implied one included.
    pub digits: i32,
    /// Exponent of the smallest number: all are multiples of its power of two.
    pub smallest: i32,
}

/// IEEE half precision.
pub const F16: FloatFormat = FloatFormat { digits: 11, smallest: -24 };
/// bfloat16.
pub const BF16: FloatFormat = FloatFormat { digits: 8, smallest: -133 };
/// The factors of tf32 products.
pub const TF32: FloatFormat = FloatFormat { digits: 11, smallest: -136 };
/// IEEE single precision.
pub const F32: FloatFormat = FloatFormat { digits: 24, smallest: -149 };

impl FloatFormat {
    /// What weights of this type are rounded to.
    #[must_use]
    pub const fn of(element: Element) -> Self {
        match element {
            Element::F16 => F16,
            Element::Bf16 => BF16,
            Element::Tf32 => TF32,
        }
    }

    /// The distance of numbers near a value.
    #[must_use]
    pub fn spacing(self, value: f64) -> f64 {
        if value == 0.0 {
            return 2f64.powi(self.smallest);
        }
        // Exact, unlike a logarithm; subnormal f64 are below every smallest number.
        let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
        2f64.powi((exponent + 1 - self.digits).max(self.smallest))
    }

    /// The nearest number, ties to even; overflow is not looked at.
    #[must_use]
    pub fn round(self, value: f64) -> f64 {
        let spacing = self.spacing(value);
        (value / spacing).round_ties_even() * spacing
    }
}

/// Weights rounded to a format, with the sum of the exact ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounded {
    /// The stencil with the rounded weights; its taps are in the same order.
    pub stencil: Stencil,
    /// Sum of the rounded weights less that of the exact ones.
    pub residual: f64,
}

/// Rounds in which weights may move anywhere.
const LAST: usize = 3;

/// Rounds the weights of a stencil.
#[must_use]
pub fn round(stencil: &Stencil, format: FloatFormat) -> Rounded {
    let taps = stencil.taps();
    let exact: Vec<f64> = taps.iter().map(|tap| tap.weight).collect();
    let mut weights: Vec<f64> = exact.iter().map(|&weight| format.round(weight)).collect();
    let residual = |weights: &[f64]| {
        // The differences are exact in f64, and so few and alike that their sum is too.
        weights.iter().zip(&exact).map(|(rounded, exact)| rounded - exact).sum::<f64>()
    };
    // First to the number on the other side of the exact weight, then, for the last digits, any.
    let last = std::iter::repeat_with(|| (mirrored(taps), false)).take(LAST);
    for (sets, across) in [(groups(taps), true), (mirrored(taps), true)].into_iter().chain(last) {
        let mut left = residual(&weights);
        let step = |set: &[usize], weights: &[f64]| {
            let step = format.spacing(exact[set[0]]) * -left.signum();
            let off = weights[set[0]] - exact[set[0]];
            let legal = format.round(weights[set[0]] + step) == weights[set[0]] + step;
            (legal && (!across || off * step < 0.0)).then_some(step)
        };
        let mut moves: Vec<(f64, Vec<usize>)> = Vec::new();
        for set in sets {
            moves.extend(step(&set, &weights).map(|step| (step, set)));
        }
        // Coarse ones first; among equals, those that gain by it or lose least.
        moves.sort_by(|(a, one), (b, other)| {
            let change = |step: f64, set: &[usize]| step.abs() * set.len() as f64;
            let off = |step: f64, set: &[usize]| (weights[set[0]] - exact[set[0]]) * step.signum();
            let coarse = change(*b, other).total_cmp(&change(*a, one));
            coarse.then(off(*a, one).total_cmp(&off(*b, other)))
        });
        for (step, set) in moves {
            let change = step * set.len() as f64;
            if change.abs() <= left.abs() * (1.0 + 1e-9) {
                set.iter().for_each(|&tap| weights[tap] += step);
                left += change;
            }
        }
    }
    let mut rounded = weights.iter();
    let stencil = stencil.map_weights(|_| *rounded.next().expect("one for each tap"));
    Rounded { stencil, residual: residual(&weights) }
}

/// Taps of one weight at equal distances: those that a mirror or a swap of axes takes to each other.
fn groups(taps: &[Tap]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<([u32; 3], u64), Vec<usize>> = BTreeMap::new();
    for (index, tap) in taps.iter().enumerate() {
        let mut distance = tap.offset.map(i32::unsigned_abs);
        distance.sort_unstable();
        groups.entry((distance, tap.weight.to_bits())).or_default().push(index);
    }
    groups.into_values().collect()
}

/// Each tap with the one of the same weight on the other side of the centre. Taps whose opposite has
/// the opposite weight are left out: they add nothing to the sum.
fn mirrored(taps: &[Tap]) -> Vec<Vec<usize>> {
    let places: BTreeMap<[i32; 3], usize> =
        taps.iter().enumerate().map(|(index, tap)| (tap.offset, index)).collect();
    let mut sets = Vec::new();
    for (index, tap) in taps.iter().enumerate() {
        match places.get(&tap.offset.map(|offset| -offset)).copied() {
            Some(other) if other != index && taps[other].weight == tap.weight => {
                if index < other {
                    sets.push(vec![index, other]);
                }
            }
            Some(other) if other != index && taps[other].weight == -tap.weight => {}
            _ => sets.push(vec![index]),
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn off(stencil: &Stencil, rounded: &Rounded) -> Vec<f64> {
        let pairs = stencil.taps().iter().zip(rounded.stencil.taps());
        pairs.map(|(exact, rounded)| rounded.weight - exact.weight).collect()
    }

    #[test]
    fn numbers_of_the_formats_are_those_of_the_types() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..10_000 {
            // From f64 they would round twice.
            let value = (random.random::<f32>() - 0.5) * 2f32.powi(random.random_range(-30..10));
            let value = f64::from(value);
            assert_eq!(F16.round(value), f16::from_f32(value as f32).to_f64(), "{value}");
            assert_eq!(BF16.round(value), bf16::from_f32(value as f32).to_f64(), "{value}");
            assert_eq!(F32.round(value), f64::from(value as f32), "{value}");
        }
    }

    /// 49 equal weights of 1/49: the nearest f16 sums to 1 - 23 · 2^-16.
    #[test]
    fn a_box_average_keeps_its_mass_and_its_symmetry() {
        let stencil = Stencil::dense("mean", &[7, 7], &[1.0 / 49.0; 49]).unwrap();
        let nearest: f64 = stencil.taps().iter().map(|tap| F16.round(tap.weight)).sum();
        assert_eq!(1.0 - nearest, 23.0 * 2f64.powi(-16));
        let rounded = round(&stencil, F16);
        assert!(rounded.residual.abs() < 1e-15, "{}", rounded.residual);
        let taps = rounded.stencil.taps();
        assert_eq!(taps.iter().map(|tap| tap.weight).sum::<f64>(), 1.0);
        for tap in taps {
            let opposite = tap.offset.map(|offset| -offset);
            assert!(taps.iter().any(|t| t.offset == opposite && t.weight == tap.weight));
        }
    }

    #[test]
    fn random_conservative_stencils_stay_conservative() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut exact = 0;
        for (format, case) in
            [F16, BF16, TF32].into_iter().flat_map(|f| (0..200).map(move |c| (f, c)))
        {
            let radius = 1 + case % 3;
            let width = 2 * radius + 1;
            let mut weights: Vec<f64> = (0..width * width).map(|_| random.random()).collect();
            if case % 2 == 0 {
                let mirrored = weights.clone();
                weights
                    .iter_mut()
                    .zip(mirrored.iter().rev())
                    .for_each(|(w, m)| *w = (*w + m) / 2.0);
            }
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
            let stencil = Stencil::dense("random", &[width, width], &weights).unwrap();
            let rounded = round(&stencil, format);
            let nearest: f64 =
                stencil.taps().iter().map(|tap| format.round(tap.weight) - tap.weight).sum();
            assert!(rounded.residual.abs() <= nearest.abs() + 1e-15);
            exact += usize::from(rounded.residual.abs() < 1e-15);
            for (off, tap) in off(&stencil, &rounded).iter().zip(stencil.taps()) {
                assert!(off.abs() < (1 + LAST) as f64 * format.spacing(tap.weight));
            }
            for tap in rounded.stencil.taps() {
                assert_eq!(format.round(tap.weight), tap.weight, "a number of the format");
            }
        }
        // The others lack weights that are small enough to make up for the last digits.
        assert!(exact > 500, "{exact} of 600 sums are exact");
    }

    #[test]
    fn what_is_exact_or_sums_to_nothing_is_left_alone() {
        let stencil = Stencil::dense("s", &[3], &[0.25, 0.5, 0.25]).unwrap();
        assert_eq!(round(&stencil, BF16), Rounded { stencil, residual: 0.0 });
        let gradient = Stencil::dense("g", &[3], &[-1.0 / 3.0, 0.0, 1.0 / 3.0]).unwrap();
        let rounded = round(&gradient, F16);
        assert_eq!(rounded.residual, 0.0);
        let weights: Vec<f64> = rounded.stencil.taps().iter().map(|tap| tap.weight).collect();
        assert!(
            weights.contains(&F16.round(1.0 / 3.0)) && weights.contains(&-F16.round(1.0 / 3.0))
        );
    }
}
