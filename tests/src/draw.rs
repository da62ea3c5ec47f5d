// SPDX-License-Identifier: MIT OR Apache-2.0
//! What random cases are made of: stencils with a reach of their own on each side of each axis, and
//! extents of every kind.

use rand::RngExt;
use transform::{Stencil, Tap};

/// What absolute weights sum to: still less than 1 when each is rounded to bf16, the coarsest type.
const GAIN: f64 = 1.0 - 1.0 / 128.0;

/// Extents that are no multiple of anything.
const PRIMES: [usize; 16] = [2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 257, 509, 1021, 2039, 4093, 8191];

/// Radii (z, y, x) of their own, each from 0 to `radius`, which one at least has.
///
/// # Panics
/// With other than 1 to 3 axes.
#[must_use]
pub fn radii(random: &mut impl RngExt, dims: usize, radius: usize) -> [usize; 3] {
    let mut radii = [0; 3];
    for on_axis in &mut radii[3 - dims..] {
        *on_axis = random.random_range(0..=radius);
    }
    radii[random.random_range(3 - dims..3)] = radius;
    radii
}

/// The neighbours of a stencil of exactly these radii (z, y, x): the points of a box, or of a star,
/// that reaches as far on one side of an axis and anything up to that on the other; all of them, some,
/// or few. Sorted; only such as `may_have` takes, which are to include all on the axes.
pub fn offsets(
    random: &mut impl RngExt,
    radii: [usize; 3],
    may_have: impl Fn([i32; 3]) -> bool,
) -> Vec<[i32; 3]> {
    let reach = radii.map(|radius| {
        let far = radius as i32;
        // Now and then all neighbours lie on one side.
        let least = if random.random_ratio(1, 6) { -far } else { 0 };
        let near = random.random_range(least..=far);
        if random.random() { [-far, near] } else { [-near, far] }
    });
    let along = |axis: usize| reach[axis][0]..=reach[axis][1];
    let all = along(0).flat_map(|z| along(1).flat_map(move |y| along(2).map(move |x| [z, y, x])));
    let star = random.random_ratio(1, 4);
    let kept = [100, 75, 50, 10][random.random_range(0..4)];
    let mut offsets: Vec<[i32; 3]> = all
        .filter(|&offset| may_have(offset) && (!star || is_on_axis(offset)))
        .filter(|_| random.random_ratio(kept, 100))
        .collect();
    for axis in 0..3 {
        let [low, high] = reach[axis];
        let end = if -low == radii[axis] as i32 { low } else { high };
        if offsets.iter().all(|offset| offset[axis].unsigned_abs() as usize != radii[axis]) {
            let mut offset = reach.map(|[low, high]| random.random_range(low..=high));
            offset[axis] = end;
            if star || !may_have(offset) {
                offset = [0; 3];
                offset[axis] = end;
            }
            offsets.push(offset);
        }
    }
    if offsets.is_empty() {
        offsets.push([0; 3]);
    }
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// All neighbours within these radii (z, y, x) that `may_have` takes: what a kernel is made for.
pub fn all_offsets(radii: [usize; 3], may_have: impl Fn([i32; 3]) -> bool) -> Vec<[i32; 3]> {
    let [z, y, x] = radii.map(|radius| -(radius as i32)..=radius as i32);
    let rows = z.flat_map(|z| y.clone().map(move |y| (z, y)));
    let all = rows.flat_map(|(z, y)| x.clone().map(move |x| [z, y, x]));
    all.filter(|&offset| may_have(offset)).collect()
}

/// Whether a star has this neighbour.
#[must_use]
pub fn is_on_axis(offset: [i32; 3]) -> bool {
    offset.iter().filter(|&&along| along != 0).count() < 2
}

/// A stencil of these neighbours with random weights of either sign, none of which is small enough to
/// be rounded to 0. Absolute weights sum to less than 1, also when they are rounded.
///
/// # Panics
/// Where two neighbours are the same, or one is off the axes.
#[must_use]
pub fn weighted(random: &mut impl RngExt, dims: usize, offsets: Vec<[i32; 3]>) -> Stencil {
    let taps = offsets.into_iter().map(|offset| {
        let weight = random.random_range(0.1..1.0);
        Tap { offset, weight: if random.random() { weight } else { -weight } }
    });
    let stencil = Stencil::new("random", dims, taps.collect()).expect("finite weights");
    let scale = GAIN / stencil.gain();
    stencil.map_weights(|weight| weight * scale)
}

/// Bits after the binary point of weights with which so many steps are exact: see [`dyadic`].
#[must_use]
pub fn dyadic_bits(steps: usize) -> i32 {
    ((22 - 6) / steps as i32).min(6)
}

/// A stencil of these neighbours, but perhaps not all, of the same radii, whose weights are multiples of
/// 2^-b with absolute sum 1.
///
/// From values that are multiples of 2^-6, after `steps` steps all products and sums are multiples of
/// 2^-(6 + b · steps), that is of 2^-22 or more, and at most 1: exact in f32 in any order, also where
/// addends are aligned with the largest and cut off. Only the rounding between steps remains.
///
/// # Panics
/// Where two neighbours are the same, or there are no weights for the farthest ones.
#[must_use]
pub fn dyadic(
    random: &mut impl RngExt,
    dims: usize,
    offsets: Vec<[i32; 3]>,
    steps: usize,
) -> Stencil {
    let bits = dyadic_bits(steps);
    let mut units = vec![0i32; offsets.len()];
    // So that radii stay what they are.
    for axis in 0..3 {
        let farthest = (0..offsets.len()).max_by_key(|&at| offsets[at][axis].abs());
        let farthest = farthest.expect("a neighbour");
        units[farthest] = 1;
    }
    let left = (1 << bits) - units.iter().sum::<i32>();
    assert!(left >= 0, "no weights of {bits} bits for the farthest neighbours");
    for _ in 0..left {
        units[random.random_range(0..offsets.len())] += 1;
    }
    let taps = offsets.into_iter().zip(units).map(|(offset, units)| {
        let weight = f64::from(units) * 2f64.powi(-bits);
        Tap { offset, weight: if random.random() { weight } else { -weight } }
    });
    Stencil::new("dyadic", dims, taps.collect()).expect("finite weights")
}

/// A stencil of exactly these radii (z, y, x): see [`offsets`] and [`weighted`].
#[must_use]
pub fn stencil(random: &mut impl RngExt, dims: usize, radii: [usize; 3]) -> Stencil {
    let offsets = offsets(random, radii, |_| true);
    weighted(random, dims, offsets)
}

/// A stencil whose largest radius is this, the others any.
#[must_use]
pub fn stencil_of_radius(random: &mut impl RngExt, dims: usize, radius: usize) -> Stencil {
    let radii = radii(random, dims, radius);
    stencil(random, dims, radii)
}

/// An extent up to `most`: 1, a few points, a prime, or any.
#[must_use]
pub fn extent(random: &mut impl RngExt, most: usize) -> usize {
    match random.random_range(0..8) {
        0 => 1,
        1 => random.random_range(1..=most.min(4)),
        2 | 3 => {
            let primes = PRIMES.iter().take_while(|&&prime| prime <= most).count();
            if primes == 0 { 1 } else { PRIMES[random.random_range(0..primes)] }
        }
        _ => random.random_range(1..=most),
    }
}

/// Extents of a grid, each up to its `most`.
#[must_use]
pub fn extents(random: &mut impl RngExt, most: &[usize]) -> Vec<usize> {
    most.iter().map(|&most| extent(random, most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use std::collections::BTreeSet;

    #[test]
    fn a_stencil_has_the_radii_that_it_was_asked_for() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..500 {
            let dims = random.random_range(1..=3);
            let radius = random.random_range(0..=4);
            let radii = radii(&mut random, dims, radius);
            let stencil = stencil(&mut random, dims, radii);
            assert_eq!(stencil.radii(), radii, "{stencil:?}");
            assert_eq!(stencil.radius(), radius);
            assert!((0.99..1.0).contains(&stencil.gain()), "{}", stencil.gain());
        }
    }

    #[test]
    fn every_combination_of_radii_and_sides_comes_up() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut seen = BTreeSet::new();
        for _ in 0..3000 {
            let stencil = stencil_of_radius(&mut random, 2, 2);
            let side = |axis: usize, sign: i32| {
                stencil.taps().iter().map(|tap| sign * tap.offset[axis]).max().unwrap_or(0).max(0)
            };
            seen.insert([side(1, -1), side(1, 1), side(2, -1), side(2, 1)]);
        }
        // Of 3⁴ reaches those in which some side has 2.
        assert_eq!(seen.len(), 81 - 16);
    }

    #[test]
    fn exact_stencils_have_their_radii_and_an_absolute_sum_of_1() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        for steps in 1..=5 {
            for _ in 0..40 {
                let radii = radii(&mut random, 3, 3);
                let offsets = offsets(&mut random, radii, |_| true);
                let stencil = dyadic(&mut random, 3, offsets, steps);
                assert_eq!((stencil.radii(), stencil.gain()), (radii, 1.0));
                let units = 2f64.powi(dyadic_bits(steps));
                let whole = |tap: &Tap| (tap.weight * units).fract() == 0.0;
                assert!(stencil.taps().iter().all(whole));
            }
        }
    }

    #[test]
    fn only_allowed_neighbours_are_taken() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..200 {
            let diamond = |[z, y, _]: [i32; 3]| z.abs() + y.abs() <= 2;
            let radii = radii(&mut random, 3, 2);
            assert!(offsets(&mut random, radii, diamond).into_iter().all(diamond));
        }
    }
}
