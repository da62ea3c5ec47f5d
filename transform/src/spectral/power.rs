// SPDX-License-Identifier: MIT OR Apache-2.0
//! Powers of the symbol, `λ^T`, and their sum `1 + λ + … + λ^(T−1)`, by modulus and phase.
//!
//! Repeated squaring would lose a digit for every ten times as many steps, and so would `T · log λ` if λ were rounded
//! near 1, where waves live long. So λ is never formed. With the drift `v = Σ w·o / Σ w` of the stencil and
//! `x = θ·(o − v)`,
//!
//! ```text
//! λ = e^{iθ·v} (1 + q),   q = (Σw − 1) + Σ w (e^{ix} − 1 − ix) + iθ·Σ w (o − v)
//! ```
//!
//! whose last term is only what rounding left of v. `e^{ix} − 1 − ix` is of second order, tabulated with all its
//! digits (`−2 sin²(x/2)` and `sin x − x`), so is q, and `|λ|^T = exp(T · log1p(…) / 2)` and the phase `T · arg(1 + q)`
//! lose no more than what has faded by then anyway. The turn by the drift, `T θ·v`, is reduced in double-double before
//! it is rounded. Symmetric stencils have v = 0 and a real q.
//!
//! Products of waves along several axes stay small differences, too:
//! `e^{i(a+b)} − 1 = d_a + d_b + d_a d_b` with `d = e^{i·} − 1`.

use std::f64::consts::TAU;

use num_complex::Complex64;

use crate::Stencil;
use crate::spectral::axis::{is_symmetric, is_symmetric_in};

/// What is known of the waves of a torus along one axis.
struct Waves {
    length: usize,
    /// For each offset that the stencil has along the axis, and each wave: `e^{ix} − 1`.
    small: Vec<Vec<Complex64>>,
    /// For each wave: `Σ w (e^{ix} − 1 − ix)` and what rounding left of the drift.
    second: Vec<Complex64>,
    /// For each wave: `e^{iTθv}`; none without a drift.
    turn: Vec<Complex64>,
    /// For each wave: `e^{iθv} − 1`; none without a drift.
    drift: Vec<Complex64>,
}

/// The powers of a stencil's symbol for the waves of a torus: along x half of them, as real data has.
pub struct Powers {
    steps: f64,
    /// Whether T is odd, for λ below 0.
    odd: bool,
    /// Whether weights at opposite offsets are the same: then λ is real.
    real: bool,
    /// `Σ w − 1`; of inverses `Σ w`.
    excess: f64,
    /// Whether waves are divided by the symbol, instead of multiplied by its power.
    inverse: bool,
    /// Symbols up to this size are 0 but for rounding.
    least: f64,
    /// Whether λ is real and the same for a wave and the opposite one along (z, y, x).
    even: [bool; 3],
    /// Weights, with the place of their offset in the tables of (z, y, x).
    taps: Vec<(f64, [usize; 3])>,
    waves: [Waves; 3],
}

/// The powers of waves that differ along one axis only.
pub struct LinePowers<'a> {
    powers: &'a Powers,
    even: bool,
    waves: &'a Waves,
    /// The part of q that does not depend on the axis.
    fixed: Complex64,
    /// The factors of `d` for each offset along the axis.
    factors: Vec<Complex64>,
    /// Turn and drift along the other axes.
    turn: Complex64,
    drift: Complex64,
}

impl Powers {
    /// For a torus of these lengths (z, y, x) and so many steps.
    #[must_use]
    pub fn new(stencil: &Stencil, lengths: [usize; 3], steps: usize) -> Self {
        Self::of(stencil, lengths, steps, false)
    }

    /// Inverses of the symbol, `1 / λ`, and 0 where λ is: as "powers" that are multiplied with, they solve S(w) = f for w
    /// ([`inverse`](super::inverse)).
    #[must_use]
    pub fn inverse(stencil: &Stencil, lengths: [usize; 3]) -> Self {
        Self::of(stencil, lengths, 1, true)
    }

    fn of(stencil: &Stencil, lengths: [usize; 3], steps: usize, inverse: bool) -> Self {
        let weights = || stencil.taps().iter().map(|tap| tap.weight);
        let real = is_symmetric(stencil);
        let total = exact_sum(weights().collect());
        let offsets: [Vec<i32>; 3] = std::array::from_fn(|axis| {
            let mut all: Vec<i32> = stencil.taps().iter().map(|tap| tap.offset[axis]).collect();
            all.sort_unstable();
            all.dedup();
            all
        });
        let place = |axis: usize, offset: i32| offsets[axis].binary_search(&offset).unwrap();
        let taps = stencil
            .taps()
            .iter()
            .map(|tap| (tap.weight, std::array::from_fn(|axis| place(axis, tap.offset[axis]))));
        let waves = std::array::from_fn(|axis| {
            let along = |&offset: &i32| {
                let own = stencil.taps().iter().filter(|tap| tap.offset[axis] == offset);
                exact_sum(own.map(|tap| tap.weight).collect())
            };
            let along: Vec<f64> = offsets[axis].iter().map(along).collect();
            let moments = offsets[axis].iter().zip(&along).map(|(&o, w)| w * f64::from(o));
            // Without a sum to speak of there is no drift, and no wave that lives long for its sake.
            let drifts = !inverse && !real && total.abs() > 0.25 * stencil.gain();
            let drift = if drifts { moments.sum::<f64>() / total } else { 0.0 };
            let (length, offsets) = (lengths[axis], &offsets[axis]);
            let waves = if axis == 2 { length / 2 + 1 } else { length };
            Waves::new((length, waves), offsets, &along, drift, steps)
        });
        let mut terms: Vec<f64> = weights().collect();
        // With it q is λ itself, and small ones keep their digits.
        terms.extend((!inverse).then_some(-1.0));
        Self {
            inverse,
            least: GONE * stencil.gain(),
            steps: steps as f64,
            odd: steps % 2 == 1,
            real,
            even: std::array::from_fn(|axis| real && is_symmetric_in(stencil, axis)),
            excess: exact_sum(terms),
            taps: taps.collect(),
            waves,
        }
    }

    /// Whether `λ` is real for all waves: weights at opposite offsets are the same.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// The factors of waves along `axis`, at fixed numbers of the waves along the other two.
    #[must_use]
    pub fn line(&self, axis: usize, at: [usize; 3]) -> LinePowers<'_> {
        let [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
        let [wb, wc] = [b, c].map(|other| &self.waves[other]);
        let waves = &self.waves[axis];
        let mut factors = vec![Complex64::ZERO; waves.small.len()];
        let mut fixed = self.excess + wb.second[at[b]] + wc.second[at[c]];
        for (weight, places) in &self.taps {
            let db = wb.small[places[b]][at[b]];
            let dc = wc.small[places[c]][at[c]];
            fixed += db * dc * *weight;
            factors[places[axis]] += (db + dc + db * dc) * *weight;
        }
        let ((turn_b, db), (turn_c, dc)) = (wb.drifting(at[b]), wc.drifting(at[c]));
        let turn = turn_b * turn_c;
        let even = self.even[axis];
        LinePowers { powers: self, even, waves, fixed, factors, turn, drift: db + dc + db * dc }
    }
}

impl Waves {
    /// The first waves along an axis of so many points; of each offset that the stencil has along it, the sum of its
    /// weights.
    fn new(
        (length, waves): (usize, usize),
        offsets: &[i32],
        weights: &[f64],
        drift: f64,
        steps: usize,
    ) -> Self {
        // A wave beyond half the length is a wave of a negative number, the shorter way round.
        let number = |k: usize| if 2 * k > length { k as f64 - length as f64 } else { k as f64 };
        let shifts: Vec<f64> = offsets.iter().map(|&offset| f64::from(offset) - drift).collect();
        let small = shifts
            .iter()
            .map(|&shift| (0..waves).map(|k| minus_one(number(k), shift, length)).collect());
        // The first moment: what rounding left of it, where a drift was taken out. Of symmetric stencils it is 0.
        let moments = offsets.iter().zip(weights).flat_map(|(&offset, &weight)| {
            let (there, back) = (product(weight, f64::from(offset)), product(-weight, drift));
            [there.0, there.1, back.0, back.1]
        });
        let moment = TAU / length as f64 * exact_sum(moments.collect());
        let second = (0..waves).map(|k| {
            let terms = shifts.iter().zip(weights);
            let terms =
                terms.map(|(&shift, weight)| second_order(number(k), shift, length) * weight);
            terms.sum::<Complex64>() + Complex64::new(0.0, number(k) * moment)
        });
        let turn = |k| Complex64::cis(TAU * turns(drift, number(k), length, steps));
        let drifting = if drift == 0.0 { 0 } else { waves };
        Self {
            length,
            small: small.collect(),
            second: second.collect(),
            turn: (0..drifting).map(turn).collect(),
            drift: (0..drifting).map(|k| minus_one(number(k), drift, length)).collect(),
        }
    }

    /// `e^{iTθv}` and `e^{iθv} − 1` of a wave.
    fn drifting(&self, k: usize) -> (Complex64, Complex64) {
        match self.turn.get(k) {
            Some(&turn) => (turn, self.drift[k]),
            None => (Complex64::ONE, Complex64::ZERO),
        }
    }
}

/// Bytes that the powers for a torus of these lengths take, about.
#[must_use]
pub fn bytes(stencil: &Stencil, [z, y, x]: [usize; 3]) -> u128 {
    let lengths = [z, y, x / 2 + 1];
    let of = |axis: usize| (2 * stencil.radii()[axis] + 4) as u128 * lengths[axis] as u128;
    (0..3).map(of).sum::<u128>() * size_of::<Complex64>() as u128
}

impl LinePowers<'_> {
    /// The number of waves along it, including those that real data has twice.
    #[must_use]
    pub fn waves(&self) -> usize {
        self.waves.length
    }

    /// Whether factors are real, and the same for waves k and `waves − k`.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.even
    }

    fn q(&self, k: usize) -> Complex64 {
        let parts =
            self.factors.iter().zip(&self.waves.small).map(|(factor, small)| factor * small[k]);
        self.fixed + self.waves.second[k] + parts.sum::<Complex64>()
    }

    /// `λ` of a wave, of which inverses are.
    pub(super) fn symbol(&self, k: usize) -> Complex64 {
        assert!(self.powers.inverse, "of inverses only");
        let q = self.q(k);
        if self.powers.real { Complex64::from(q.re) } else { q }
    }

    /// `λ^T` of a wave, or `1 / λ`.
    #[must_use]
    pub fn power(&self, k: usize) -> Complex64 {
        let Powers { steps, odd, real, inverse, .. } = *self.powers;
        if inverse {
            let symbol = self.symbol(k);
            let is_gone = symbol.norm() <= self.powers.least;
            return if is_gone { Complex64::ZERO } else { symbol.inv() };
        }
        let q = self.q(k);
        if real {
            return Complex64::from(real_power(q.re, steps, odd));
        }
        let turn = self.turn * self.waves.drifting(k).0;
        let (log, angle) = logarithm(q);
        if steps * log < FADED {
            return Complex64::ZERO;
        }
        Complex64::from_polar((steps * log).exp(), steps * angle) * turn
    }

    /// `1 + λ + … + λ^(T−1)` of a wave.
    #[must_use]
    pub fn sum(&self, k: usize) -> Complex64 {
        let Powers { steps, odd, real, .. } = *self.powers;
        let q = self.q(k);
        if real {
            let q = q.re;
            let above = if q > -0.5 {
                (steps * q.ln_1p()).exp_m1()
            } else {
                real_power(q, steps, odd) - 1.0
            };
            return Complex64::from(if q == 0.0 { steps } else { above / q });
        }
        // λ − 1 = (1 + q)(1 + d) − 1.
        let (_, own) = self.waves.drifting(k);
        let drift = self.drift + own + self.drift * own;
        let step = q + drift + q * drift;
        if step.norm() * steps < 1e-6 {
            return steps * (1.0 + 0.5 * (steps - 1.0) * step);
        }
        (self.power(k) - 1.0) / step
    }
}

/// What rounding of the weights can leave of a symbol that is 0, over the sum of their sizes.
const GONE: f64 = 16.0 * f64::EPSILON;

/// The logarithm of what is left of a wave that counts as gone, 10^−269: numbers that are smaller still are slow to
/// compute with.
const FADED: f64 = -620.0;

fn real_power(q: f64, steps: f64, odd: bool) -> f64 {
    let log = steps * if q > -0.5 { q.ln_1p() } else { (1.0 + q).abs().ln() };
    if log < FADED {
        return 0.0;
    }
    if odd && q < -1.0 { -log.exp() } else { log.exp() }
}

/// The logarithm of `1 + q`: of its modulus, and the angle.
fn logarithm(q: Complex64) -> (f64, f64) {
    let squared = 2.0 * q.re + q.norm_sqr();
    let size = if squared > -0.5 { 0.5 * squared.ln_1p() } else { (1.0 + q).norm().ln() };
    (size, q.im.atan2(1.0 + q.re))
}

/// `2π · number · shift / length`, with whole turns left out where the shift is a whole number.
fn reduced(number: f64, shift: f64, length: usize) -> f64 {
    let (all, length) = (number * shift, length as f64);
    if shift.fract() != 0.0 {
        return TAU * all / length;
    }
    TAU * (all - length * (all / length).round()) / length
}

/// `e^{ix} − 1`.
fn minus_one(number: f64, shift: f64, length: usize) -> Complex64 {
    let x = reduced(number, shift, length);
    let half = (0.5 * x).sin();
    Complex64::new(-2.0 * half * half, x.sin())
}

/// `e^{ix} − 1 − ix`, where x is not reduced in its last term.
fn second_order(number: f64, shift: f64, length: usize) -> Complex64 {
    let x = TAU * number * shift / length as f64;
    // The series where the difference would lose digits.
    let im = if x.abs() < 0.5 {
        let square = x * x;
        let mut term = -x * square / 6.0;
        let mut sum = 0.0;
        for n in 2..12 {
            sum += term;
            term *= -square / f64::from(2 * n * (2 * n + 1));
        }
        sum
    } else {
        minus_one(number, shift, length).im - x
    };
    Complex64::new(minus_one(number, shift, length).re, im)
}

/// `T · v · k / length` without its whole part, in (−1, 1).
fn turns(drift: f64, number: f64, length: usize, steps: usize) -> f64 {
    // Whole turns of the product are taken out before anything is rounded: T k is below 2^53 but for the longest.
    let length = length as i128;
    let (mantissa, exponent) = split(drift);
    let product = steps as i128 * number as i128;
    // v = mantissa · 2^exponent with exponent ≤ 0: T k v / L modulo 1 is (T k mantissa mod L 2^-exponent) / (L 2^-exponent).
    if mantissa == 0 {
        return 0.0;
    }
    let shift = -exponent;
    if shift > 70 {
        // A drift below 2^-17 or so: its turns are few.
        return (steps as f64 * number * drift / length as f64).fract();
    }
    let modulus = length << shift;
    let reduced = multiply_modulo(product.rem_euclid(modulus), mantissa, modulus);
    let turns = reduced as f64 / modulus as f64;
    if turns > 0.5 { turns - 1.0 } else { turns }
}

/// A number as `mantissa · 2^exponent`, the exponent at most 0.
fn split(value: f64) -> (i128, i32) {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    if exponent == 0 {
        return (0, 0);
    }
    let mantissa = i128::from((bits & ((1 << 52) - 1)) | (1 << 52));
    let mantissa = if value < 0.0 { -mantissa } else { mantissa };
    let (mut mantissa, mut exponent) = (mantissa, exponent - 1075);
    while mantissa % 2 == 0 && exponent < 0 {
        mantissa /= 2;
        exponent += 1;
    }
    (mantissa << exponent.max(0), exponent.min(0))
}

/// `a · b mod modulus` for a modulus below 2^120, in parts of a few bits.
fn multiply_modulo(a: i128, b: i128, modulus: i128) -> i128 {
    let (negative, mut b, mut power, mut sum) = (b < 0, b.abs(), a, 0);
    while b > 0 {
        if b % 2 == 1 {
            sum = (sum + power) % modulus;
        }
        power = power * 2 % modulus;
        b /= 2;
    }
    if negative { (modulus - sum) % modulus } else { sum }
}

/// A product and what its rounding left out.
fn product(a: f64, b: f64) -> (f64, f64) {
    let rounded = a * b;
    (rounded, a.mul_add(b, -rounded))
}

/// A sum, rounded once in effect: what each addition leaves out is added in the end, twice over.
#[must_use]
pub fn exact_sum(mut terms: Vec<f64>) -> f64 {
    for _ in 0..3 {
        for next in 1..terms.len() {
            let (a, b) = (terms[next - 1], terms[next]);
            let sum = a + b;
            let part = sum - a;
            terms[next - 1] = (a - (sum - part)) + (b - part);
            terms[next] = sum;
        }
    }
    terms.iter().sum()
}

#[cfg(test)]
mod sums;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    /// `λ` and `λ^T` by squaring, good for few steps.
    fn plain(stencil: &Stencil, lengths: [usize; 3], at: [usize; 3], steps: u32) -> Complex64 {
        let wave = stencil.taps().iter().map(|tap| {
            let turns: f64 = (0..3)
                .map(|axis| f64::from(tap.offset[axis]) * at[axis] as f64 / lengths[axis] as f64)
                .sum();
            Complex64::from_polar(tap.weight, 0.0) * Complex64::cis(TAU * turns)
        });
        wave.sum::<Complex64>().powu(steps)
    }

    fn own() -> Stencil {
        let weights = [0.1, 0.2, 0.05, -0.07, 0.3, 0.11, 0.01, 0.02, 0.28];
        Stencil::dense("own", &[3, 3], &weights).unwrap()
    }

    #[test]
    fn powers_and_sums_of_few_steps_are_those_of_squaring() {
        let upwind = Stencil::dense("upwind", &[3], &[0.7, 0.3, 0.0]).unwrap();
        let slope = Stencil::dense("slope", &[3], &[-0.5, 0.0, 0.5]).unwrap();
        let names = ["star2d1r", "box2d3r", "star3d1r", "box3d1r", "star1d2r"];
        let stencils = names.map(|name| catalogue::find(name).unwrap());
        for stencil in stencils.into_iter().chain([upwind, slope, own()]) {
            let lengths = [[1, 1, 15], [1, 6, 7], [4, 5, 6]][stencil.dims() - 1];
            for steps in [1usize, 2, 7] {
                let powers = Powers::new(&stencil, lengths, steps);
                for axis in 0..3 {
                    for index in
                        (0..lengths.iter().product()).filter(|at| at % lengths[2] <= lengths[2] / 2)
                    {
                        let at = [
                            index / (lengths[1] * lengths[2]),
                            index / lengths[2] % lengths[1],
                            index % lengths[2],
                        ];
                        let line = powers.line(axis, at);
                        let expected = plain(&stencil, lengths, at, steps as u32);
                        let found = line.power(at[axis]);
                        let scale = stencil.gain().powi(steps as i32).max(1.0);
                        assert!(
                            (found - expected).norm() < 1e-13 * scale,
                            "{} {at:?} {steps}: {found} {expected}",
                            stencil.name()
                        );
                        let sum: Complex64 =
                            (0..steps as u32).map(|t| plain(&stencil, lengths, at, t)).sum();
                        assert!(
                            (line.sum(at[axis]) - sum).norm() < 1e-12 * scale,
                            "{} {at:?}",
                            stencil.name()
                        );
                    }
                }
            }
        }
    }

    /// T steps, and T steps of two halves, which double every error.
    #[test]
    fn a_million_steps_lose_no_digits() {
        let shift = Stencil::dense("shift", &[3], &[1.0, 0.0, 0.0]).unwrap();
        let length = 10_007;
        let powers = Powers::new(&shift, [1, 1, length], 1_000_003);
        for k in [0, 1, 77, 2500, 5003] {
            // e^{−iTθ}, reduced exactly.
            let turns = (1_000_003 * k % length) as f64 / length as f64;
            let expected = Complex64::cis(-TAU * turns);
            let found = powers.line(2, [0, 0, 0]).power(k);
            assert!((found - expected).norm() < 2e-15, "{k}: {found} {expected}");
        }
        // Heat: 1 − λ = sin²(θ/2) with all digits.
        let heat = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).unwrap();
        let powers = Powers::new(&heat, [1, 1, 4096], 1_000_000);
        for k in [1usize, 2, 5, 9] {
            let half = std::f64::consts::PI * k as f64 / 4096.0;
            let expected = (1e6 * (-half.sin().powi(2)).ln_1p()).exp();
            let found = powers.line(2, [0, 0, 0]).power(k);
            assert!((found.re / expected - 1.0).abs() < 1e-14, "{k}: {found} {expected}");
        }
        // Twice the steps are the square, also of an asymmetric stencil with a drift that is no whole number.
        let upwind = Stencil::dense("upwind", &[3], &[0.3, 0.7, 0.0]).unwrap();
        let [once, twice] =
            [500_000, 1_000_000].map(|steps| Powers::new(&upwind, [1, 1, 4099], steps));
        for k in 0..60 {
            let squared = once.line(2, [0; 3]).power(k).powu(2);
            let found = twice.line(2, [0; 3]).power(k);
            assert!((found - squared).norm() < 2e-14, "{k}: {found} {squared}");
        }
    }

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(exact_sum(vec![1e16, 1.0, -1e16, 1e-3]), 1.001);
        assert_eq!(exact_sum(vec![0.1, 0.2, -0.3]), 2.7755575615628914e-17);
    }
}
