// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights in the type of the sums, and what that changes.

use transform::Tap;

use super::number::Float;
use super::{Stage, Term};
use crate::window::Window;

/// The terms with weights as `C` holds them. What rounding a weight changes is taken from the next smaller one, if that is
/// about as large: so that their sum, the level of flat parts, stays what it is.
pub fn rounded<C: Float>(terms: &[Term]) -> Vec<Tap> {
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by(|a, b| terms[*b].weight.abs().total_cmp(&terms[*a].weight.abs()));
    let mut taps: Vec<Tap> =
        terms.iter().map(|term| Tap { offset: term.offset, weight: term.weight }).collect();
    let mut left = 0.0;
    for number in order {
        let weight = &mut taps[number].weight;
        if f64::abs(left) > 2.0 * f64::from(f32::EPSILON) * weight.abs() {
            left = 0.0;
        }
        let wanted = *weight + left;
        *weight = C::cut(wanted).widen();
        left = wanted - *weight;
    }
    taps
}

/// The most that a sum in `C` is off that in the order of scipy, of whole numbers of magnitudes up to `values`: weights are
/// rounded, each product, and each partial sum in the order of [`Window`].
pub fn bound<C: Float>(stage: &Stage, values: f64) -> f64 {
    let taps = rounded::<C>(&stage.terms);
    let pairs = stage.terms.iter().zip(&taps);
    let of_weights: f64 = pairs.map(|(term, tap)| (term.weight - tap.weight).abs()).sum();
    let reach = taps.iter().map(|tap| tap.offset[0].unsigned_abs()).max().unwrap_or(0);
    let mut partial = 0.0;
    let mut of_order = 0.0;
    for weight in Window::<C>::new(&taps, reach as usize).weights() {
        partial += weight.to_f64().abs();
        of_order += partial + weight.to_f64().abs();
    }
    // scipy's own rounding; and of weights that mirror one another within the rounding of 1 it takes one.
    let of_scipy = f64::EPSILON * (taps.len() + 2) as f64 * (partial + 1.0);
    // Second orders are far below a hundredth.
    1.01 * values * (of_weights + C::UNIT * of_order + of_scipy)
}
