// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights as sparse tensor cores of 16 bits take them: in f16 most of them would be off by a thousandth, so that the
//! weights of a laplacian summed to anything but zero.

use cuda_mma::fragment::Element;
use cuda_mma::number::{bits, value};

/// The largest number that weights are multiplied with, so that all of them are numbers of few digits: those of
/// derivatives and averages are fractions.
const MOST_FACTOR: u32 = 5040;
/// The exponent of the largest number that the products have: f16 goes to 65,504.
const EXPONENT: i32 = 14;
/// What f64 has made of fractions.
const TINY: f64 = 4.0 * f64::EPSILON;

/// Weights as sums of numbers of an element type, times a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitWeights {
    /// For each number that a weight is a sum of, that of each weight.
    pub of: Vec<Vec<f64>>,
    /// What the sum is multiplied with in the end.
    pub factor: f64,
    /// The largest part of a weight that they leave out.
    pub off: f64,
}

impl SplitWeights {
    /// One number where that is all of a weight, up to a common factor; else two.
    pub fn new(element: Element, weights: &[f64]) -> Self {
        let round = |number: f64| value(element, bits(element, number));
        let largest = weights.iter().fold(0.0, |most: f64, weight| weight.abs().max(most));
        // A power of two, so that the largest weight times it is from 2^13 to 2^14.
        let scaled = |by: f64| by * 2f64.powi(EXPONENT - 1 - (largest * by).log2().floor() as i32);
        let is_whole = |factor: &f64| {
            weights.iter().all(|weight| {
                let number = weight * factor;
                (round(number) - number).abs() <= TINY * number.abs()
            })
        };
        // As they are, then beside the smallest: a spacing may be in all of them.
        let absolute = weights.iter().map(|weight| weight.abs()).filter(|weight| *weight > 0.0);
        let smallest = absolute.fold(f64::INFINITY, f64::min);
        let times = (1..=MOST_FACTOR).map(f64::from);
        let relative = times.clone().map(|times| times / smallest);
        if let Some(factor) = times.chain(relative).map(scaled).find(is_whole) {
            let numbers = weights.iter().map(|weight| round(weight * factor)).collect();
            return Self { of: vec![numbers], factor: 1.0 / factor, off: 0.0 };
        }
        let factor = scaled(1.0);
        let first: Vec<f64> = weights.iter().map(|weight| round(weight * factor)).collect();
        let rest = weights.iter().zip(&first).map(|(weight, first)| weight * factor - first);
        let second: Vec<f64> = rest.map(round).collect();
        let off = weights.iter().zip(first.iter().zip(&second)).map(|(weight, (first, second))| {
            let left = weight * factor - first - second;
            if left == 0.0 { 0.0 } else { (left / (weight * factor)).abs() }
        });
        let off = off.fold(0.0, f64::max);
        Self { of: vec![first, second], factor: 1.0 / factor, off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights that they stand for.
    fn sums(numbers: &SplitWeights) -> Vec<f64> {
        let of = |at: usize| numbers.of.iter().map(|number| number[at]).sum::<f64>();
        (0..numbers.of[0].len()).map(|at| of(at) * numbers.factor).collect()
    }

    #[test]
    fn fractions_are_one_number_and_others_two() {
        for element in [Element::F16, Element::Bf16] {
            let of = |weights: &[f64]| SplitWeights::new(element, weights);
            for weights in [&[1.0, 1.0, -8.0][..], &[1.0 / 9.0; 9], &[-1.0 / 12.0, 4.0 / 3.0, -2.5]]
            {
                let numbers = of(weights);
                assert_eq!((numbers.of.len(), numbers.off), (1, 0.0), "{weights:?}");
                for (sum, weight) in sums(&numbers).iter().zip(weights) {
                    assert!((sum - weight).abs() <= 1e-15, "{sum} {weight}");
                }
            }
            // Of order 6, in 2D, with a spacing that is no fraction.
            let laplace = [-490.0, 135.0, -13.5, 1.0].map(|weight| weight / 90.0 / 0.37f64.powi(2));
            assert_eq!(of(&laplace).of.len(), 1);
            let weights = [0.123_456_789, -0.987_654_321, 1e-5, 3.0e-7];
            let numbers = of(&weights);
            assert_eq!(numbers.of.len(), 2);
            for (sum, weight) in sums(&numbers).iter().zip(weights) {
                assert!(
                    (sum - weight).abs() <= numbers.off * weight.abs() * 1.001,
                    "{sum} {weight}"
                );
            }
            let bound = if element == Element::F16 { 2f64.powi(-12) } else { 2f64.powi(-15) };
            assert!(numbers.off < bound, "{}", numbers.off);
        }
    }

    #[test]
    fn weights_far_below_and_above_one_are_taken() {
        for scale in [-100, -27, 0, 30].map(|exponent| 2f64.powi(exponent)) {
            let numbers = SplitWeights::new(Element::F16, &[0.3 * scale, -0.7 * scale]);
            assert_eq!(numbers.of.len(), 1, "tenths");
            assert!(numbers.of[0].iter().all(|number| number.is_finite() && *number != 0.0));
        }
    }
}
