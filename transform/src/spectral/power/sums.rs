// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of powers of long waves and of many steps, which small cases do not have: `(λ − 1) T` of every size.

use num_complex::Complex64;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Powers;
use crate::{Stencil, catalogue};

/// Powers of two of steps, up to a million.
const DOUBLINGS: usize = 20;

/// Some are symmetric, others carry a field along, by little or by much; `Σw` is 1, so that long waves live long.
fn stencils(random: &mut ChaCha8Rng) -> Vec<Stencil> {
    let mut all: Vec<Stencil> =
        ["star1d1r", "star1d2r"].map(|name| catalogue::find(name).unwrap()).into();
    for drift in [1e-6, 1e-4, 1e-2, 0.1, 0.5] {
        let drift = drift * random.random_range(0.5..1.0);
        let half = 0.5 * random.random_range(drift..=0.5f64.max(drift));
        let weights = [half + 0.5 * drift, 1.0 - 2.0 * half, half - 0.5 * drift];
        all.push(Stencil::dense("drawn", &[3], &weights).unwrap());
    }
    all
}

/// `1 + λ + … + λ^(2T−1) = (1 + λ^T) (1 + λ + … + λ^(T−1))`: of 2^k steps the sum is a product of powers.
#[test]
fn sums_of_many_steps_are_products_of_powers() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let lengths = [15, 1009, 30_011];
    for stencil in stencils(&mut random) {
        for length in lengths {
            // The constant, long waves, the shortest ones and some between.
            let mut waves = vec![0, 1, 2, 3, 5, length / 2 - 1, length / 2];
            waves.extend((0..8).map(|_| random.random_range(0..=length / 2)));
            let mut expected = vec![Complex64::ONE; waves.len()];
            for doubling in 0..=DOUBLINGS {
                let steps = 1 << doubling;
                let powers = Powers::new(&stencil, [1, 1, length], steps);
                let line = powers.line(2, [0; 3]);
                for (&wave, expected) in waves.iter().zip(&mut expected) {
                    let found = line.sum(wave);
                    let off = (found - *expected).norm();
                    assert!(
                        off <= 1e-9 * expected.norm().max(1.0),
                        "{:?}, wave {wave} of {length}, {steps} steps: {found} {expected}",
                        stencil.taps()
                    );
                    *expected *= 1.0 + line.power(wave);
                }
            }
        }
    }
}
