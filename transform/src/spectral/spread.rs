// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far steps carry a value, as far as anybody can tell: after T steps of a stencil that averages, what a point has
//! from others fades with their distance, like a Gauss curve about √T wide, long before r·T.
//!
//! What a point has from others at least R away, towards one end of an axis, is at most a tail of `|w|` convolved with itself T times. By
//! Chernoff's bound that is at most `e^(−θR) (Σ |w| e^(θ·o))^T` for every θ > 0, where o is the offset towards that end.
//! Steps that cross the distance on their way and come back are bounded by the same, with the largest of `Σ |w| e^(θ·o)`,
//! `Σ |w|` and 1 (Doob's inequality). So no more than rounding is lost where that is far below the unit roundoff.

use std::f64::consts::{LN_2, PI, TAU};

use crate::Stencil;
use crate::spectral::axis::reach;
use crate::symbol;

/// What may be left out of a result, over the largest value of what is stepped: its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncationLimit(f64);

impl TruncationLimit {
    /// Far below what transforms with this unit roundoff lose, and as far below it in a field that has faded
    /// as much as the slowest wave does: one of an angle (z, y, x), in so many steps.
    #[must_use]
    pub fn below(unit: f64, stencil: &Stencil, slowest: [f64; 3], steps: usize) -> Self {
        /// Of the unit roundoff.
        const PART: f64 = -17.0 * LN_2;
        let faded = steps as f64 * symbol::growth(stencil, slowest).ln();
        Self(unit.ln() + PART + faded.min(0.0))
    }

    /// It, over a number that the largest value has become.
    #[must_use]
    pub fn part(self) -> f64 {
        self.0.exp()
    }
}

/// How much waves along x fade in a step, at least: for some of them, evenly from the constant to the shortest one, the
/// largest that the symbol is over the waves of the other axes.
pub struct WaveDecay(Vec<f64>);

impl WaveDecay {
    /// Of a stencil.
    #[must_use]
    pub fn of(stencil: &Stencil) -> Self {
        const WAVES: usize = 64;
        let others = stencil.radii().map(|radius| 8 * radius.min(4));
        let angles = |axis: usize| {
            let count = others[axis].max(1);
            (0..count).map(move |at| TAU * at as f64 / count as f64)
        };
        let largest = |x: f64| {
            let plane = |z: f64| angles(1).map(move |y| symbol::growth(stencil, [z, y, x]));
            angles(0).flat_map(plane).fold(0.0, f64::max)
        };
        Self((0..=WAVES).map(|wave| largest(PI * wave as f64 / WAVES as f64)).collect())
    }

    /// Which part of the waves along x is left of so many steps, about: those that do not fade to less than may be left out.
    #[must_use]
    pub fn left(&self, steps: usize, left_out: TruncationLimit) -> f64 {
        let largest = self.0.iter().copied().fold(0.0, f64::max).min(1.0).ln();
        // Between two samples the logarithm is taken to be straight.
        let above = |growth: f64| steps as f64 * (growth.ln() - largest) - left_out.0;
        let between = |two: &[f64]| {
            let [a, b] = [above(two[0]), above(two[1])];
            match (a > 0.0, b > 0.0) {
                (true, true) => 1.0,
                (false, false) => 0.0,
                _ => a.max(b) / (a - b).abs(),
            }
        };
        self.0.windows(2).map(between).sum::<f64>() / (self.0.len() - 1) as f64
    }
}

/// How far so many steps read towards the beginning and the end of an axis (0, 1, 2 for z, y, x), but for what may be
/// left out: at most the stencil's reach times the steps.
#[must_use]
pub fn spread(
    stencil: &Stencil,
    axis: usize,
    steps: usize,
    left_out: TruncationLimit,
) -> [usize; 2] {
    /// Points.
    const FEW: usize = 64;
    let whole = reach(stencil, axis).map(|reach| reach.saturating_mul(steps).min(1 << 40));
    let mut weights: Vec<(f64, f64)> = Vec::new();
    for tap in stencil.taps() {
        let offset = f64::from(tap.offset[axis]);
        match weights.iter_mut().find(|(known, _)| *known == offset) {
            Some((_, weight)) => *weight += tap.weight.abs(),
            None => weights.push((offset, tap.weight.abs())),
        }
    }
    [0, 1].map(|end| {
        let sign = if end == 0 { -1.0 } else { 1.0 };
        let tail =
            Tail { weights: &weights, sign, steps: steps as f64, left_out: left_out.0 - LN_2 };
        // A bound of few steps would be beyond what they reach; more steps never reach less far than few.
        if whole[end] < FEW {
            return whole[end];
        }
        whole[end].min((tail.distance() as usize).max(FEW))
    })
}

/// A tail of the weights of many steps.
struct Tail<'a> {
    /// Offsets, and the absolute weights there.
    weights: &'a [(f64, f64)],
    /// Towards which end.
    sign: f64,
    steps: f64,
    left_out: f64,
}

impl Tail<'_> {
    /// Beyond which it is small enough, by one θ.
    fn beyond(&self, theta: f64) -> f64 {
        let term = |&(offset, weight): &(f64, f64)| weight * (theta * self.sign * offset).exp();
        let tilted: f64 = self.weights.iter().map(term).sum();
        let gain: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        (self.steps * tilted.max(gain).max(1.0).ln() - self.left_out) / theta
    }

    /// The least of them: a search by the golden section, since the logarithm of a sum of exponentials is convex, so that over θ it
    /// falls, then rises. Any θ gives a bound.
    fn distance(&self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let radius = self.weights.iter().map(|(offset, _)| offset.abs()).fold(1.0, f64::max);
        let (mut low, mut high) = (f64::ln(1e-9), f64::ln(40.0 / radius));
        let at = |log: f64| self.beyond(log.exp());
        let inner =
            |low: f64, high: f64| (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut a, mut b) = inner(low, high);
        let (mut of_a, mut of_b) = (at(a), at(b));
        for _ in 0..28 {
            if of_a < of_b {
                (high, b, of_b) = (b, a, of_a);
                a = inner(low, high).0;
                of_a = at(a);
            } else {
                (low, a, of_a) = (a, b, of_b);
                b = inner(low, high).1;
                of_b = at(b);
            }
        }
        of_a.min(of_b).ceil()
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::catalogue;

    fn left_out() -> TruncationLimit {
        TruncationLimit(-70.0 * LN_2)
    }

    /// `|w|` along x convolved with itself so many times, and where its middle is.
    fn convolved(weights: &[f64], steps: usize) -> Vec<f64> {
        let mut all = vec![1.0];
        for _ in 0..steps {
            let mut next = vec![0.0; all.len() + weights.len() - 1];
            for (i, a) in all.iter().enumerate() {
                weights.iter().enumerate().for_each(|(j, w)| next[i + j] += a * w.abs());
            }
            all = next;
        }
        all
    }

    #[test]
    fn what_is_beyond_is_less_than_may_be_left_out_and_not_much_less() {
        for weights in [[0.25, 0.5, 0.25], [0.6, 0.3, 0.1], [0.1, 0.0, 0.9], [-0.2, 0.5, 0.3]] {
            let stencil = Stencil::dense("line", &[3], &weights).unwrap();
            for steps in [100, 1000, 3000] {
                let all = convolved(&weights, steps);
                let [before, after] = spread(&stencil, 2, steps, left_out());
                // Offset o lies in place o + steps.
                let tails = [
                    all[..steps - before].iter().sum::<f64>(),
                    all[steps + after + 1..].iter().sum::<f64>(),
                ];
                for (tail, far) in tails.into_iter().zip([before, after]) {
                    assert!(tail <= 1e-21, "{weights:?}, {steps} steps: {tail:e} beyond {far}");
                    assert!(far <= steps);
                }
                // A few points nearer there is more than a thousandth of it.
                if weights[0] == 0.25 && steps > 100 {
                    let near: f64 = all[steps + after * 9 / 10..].iter().sum();
                    assert!(near > 1e-21 && after < steps / 2, "{near:e} beyond {after}");
                }
            }
        }
    }

    /// Weights of either sign in any number of dimensions, of which some in a column cancel: `|w|` counts.
    #[test]
    fn weights_that_cancel_in_a_column_reach_as_far_as_their_magnitudes() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for case in 0..12 {
            let dims = 1 + case % 3;
            let extents = vec![3; dims];
            let mut weights: Vec<f64> =
                (0..3usize.pow(dims as u32)).map(|_| random.random_range(-1.0..1.0)).collect();
            let gain: f64 = weights.iter().map(|weight| weight.abs()).sum();
            weights.iter_mut().for_each(|weight| *weight /= gain);
            let stencil = Stencil::dense("drawn", &extents, &weights).unwrap();
            for axis in 3 - dims..3 {
                let mut columns = [0.0; 3];
                for tap in stencil.taps() {
                    columns[(tap.offset[axis] + 1) as usize] += tap.weight.abs();
                }
                for steps in [100, 700] {
                    let all = convolved(&columns, steps);
                    let [before, after] = spread(&stencil, axis, steps, left_out());
                    let tails = [
                        all[..steps - before].iter().sum::<f64>(),
                        all[steps + after + 1..].iter().sum::<f64>(),
                    ];
                    let what = format!("axis {axis} of {weights:?}, {steps} steps");
                    assert!(tails.iter().all(|tail| *tail <= 1e-21), "{what}: {tails:?}");
                    // Not much farther either, towards the end that values come from: nearer by a tenth there is more
                    // than a thousandth of what may be left out.
                    let near = [
                        all[..=steps - before * 9 / 10].iter().sum::<f64>(),
                        all[steps + after * 9 / 10..].iter().sum::<f64>(),
                    ];
                    let least = left_out().part() * 1e-3;
                    assert!(near.iter().any(|tail| *tail > least), "{what}: {near:?}");
                }
            }
        }
    }

    #[test]
    fn few_steps_and_stencils_that_grow_reach_as_far_as_they_read() {
        let star = catalogue::find("star2d1r").unwrap();
        assert_eq!(spread(&star, 2, 30, left_out()), [30, 30]);
        assert_eq!(spread(&star, 0, 30_000, left_out()), [0, 0]);
        let growing = Stencil::dense("growing", &[3], &[3.0, -3.0, 1.0]).unwrap();
        assert_eq!(spread(&growing, 2, 1000, left_out()), [1000, 1000]);
        let upwind = Stencil::dense("upwind", &[3], &[0.5, 0.5, 0.0]).unwrap();
        let [before, after] = spread(&upwind, 2, 10_000, left_out());
        assert!(after == 0 && (5_000..6_000).contains(&before), "{before}");
    }

    #[test]
    fn of_averages_long_waves_are_left() {
        let star = catalogue::find("star2d1r").unwrap();
        let left = |steps| WaveDecay::of(&star).left(steps, left_out());
        assert!((left(1) - 1.0).abs() < 1e-9 && left(1000) < 0.4, "{} {}", left(1), left(1000));
        // Four times the steps, half the waves.
        let halved = left(40_000) / left(10_000);
        assert!((0.4..0.6).contains(&halved), "{halved}");
        let carried = Stencil::dense("carried", &[3], &[1.0, 0.0, 0.0]).unwrap();
        assert!((WaveDecay::of(&carried).left(1_000_000, left_out()) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_field_that_fades_is_read_from_farther_away() {
        let heat = Stencil::dense("heat", &[3], &[0.25, 0.5, 0.25]).unwrap();
        let of = |slowest: f64| {
            let left_out = TruncationLimit::below(1e-16, &heat, [0.0, 0.0, slowest], 10_000);
            spread(&heat, 2, 10_000, left_out)[0]
        };
        assert!(of(0.0) < of(0.1) && of(0.1) < of(1.0), "{} {} {}", of(0.0), of(0.1), of(1.0));
    }

    /// Slabs of rims, which get thinner with the steps that are left, lie in each other.
    #[test]
    fn fewer_steps_never_reach_farther() {
        let drift = Stencil::dense("drift", &[3], &[0.193, 0.503, 0.304]).unwrap();
        let left_out = TruncationLimit::below(f64::EPSILON / 2.0, &drift, [0.0; 3], 104);
        let far: Vec<_> = (0..=2000).map(|steps| spread(&drift, 2, steps, left_out)).collect();
        for (steps, two) in far.windows(2).enumerate() {
            assert!((0..2).all(|end| two[0][end] <= two[1][end]), "{steps}: {two:?}");
        }
        assert_eq!(far[52], [52, 52]);
        assert!(far[78][0] < 78, "{:?}", far[78]);
    }
}
