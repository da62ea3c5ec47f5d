// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers that are a function of a seed, a step and a point: whoever computes a point, in whichever order, gets the
//! bits that everybody else gets.
//!
//! The function is Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): ten
//! rounds of two multiplications each on a counter, which is the point and the step, with a key, which is the seed.

use serde::{Deserialize, Serialize};

/// Rounds.
pub const ROUNDS: u32 = 10;
/// What the first and the third word of a counter are multiplied by.
pub const FACTORS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// What is added to the words of the key after each round.
pub const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
/// Bits of a seed in the second word of a key; above them are those of the step that its own word has no room for.
pub const SEED_BITS: u32 = 19;
/// A step is two numbers below this one, which f32 holds exactly: the lower and the higher part.
pub const STEP_PART: u32 = 1 << 24;
/// Bits of a number in f32.
pub const SINGLE: u32 = 24;
/// Bits of a number in f64.
pub const DOUBLE: u32 = 53;

/// Seeds of numbers that normal ones are made of: no seed is as large.
const NORMAL: u64 = 1 << 50;

/// One of the two independent numbers that a seed has for each step and point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Noise {
    /// The seed, and what it is for.
    stream: u64,
    /// 0 or 1.
    part: usize,
}

impl Noise {
    /// The number of a seed below 10¹⁵.
    #[must_use]
    pub fn uniform(seed: u64) -> Self {
        Self { stream: seed, part: 0 }
    }

    /// The two numbers that a normal one is made of, of a seed below 10¹⁵.
    #[must_use]
    pub fn of_normal(seed: u64) -> [Self; 2] {
        [0, 1].map(|part| Self { stream: seed | NORMAL, part })
    }

    /// The seed.
    #[must_use]
    pub fn seed(self) -> u64 {
        self.stream & !NORMAL
    }

    /// Whether a normal number is made of it and another one.
    #[must_use]
    pub fn is_of_normal(self) -> bool {
        self.stream >= NORMAL
    }

    /// What stands in the place of it where only means count: its own; of what normal numbers are made of that which makes
    /// 0.
    #[must_use]
    pub fn mean(self) -> f64 {
        if self.stream < NORMAL { 0.5 } else { 0.0 }
    }

    /// Which of the numbers of a key it is: they are words 0 and 1, or 2 and 3, of what the function gives.
    #[must_use]
    pub fn part(self) -> usize {
        self.part
    }

    /// The words of the key, without what the step adds.
    #[must_use]
    pub fn key(self) -> [u32; 2] {
        [self.stream as u32, (self.stream >> 32) as u32]
    }

    /// Two words, after so many steps, at a point (z, y, x), of which the lower 32 bits count.
    #[must_use]
    #[inline(always)]
    fn words(self, step: u64, [z, y, x]: [isize; 3]) -> [u32; 2] {
        let [low, high] = self.key();
        // What is beyond 32 bits of a step.
        let more = (step >> 32 << SEED_BITS) as u32;
        let words = philox([x as u32, y as u32, z as u32, step as u32], [low, high + more]);
        [words[2 * self.part], words[2 * self.part + 1]]
    }

    /// The number in [0, 1) in f32: a multiple of 2⁻²⁴.
    #[must_use]
    #[inline(always)]
    pub fn single(self, step: u64, point: [isize; 3]) -> f32 {
        let [first, _] = self.words(step, point);
        (first >> (32 - SINGLE)) as f32 / (1u32 << SINGLE) as f32
    }

    /// The number in [0, 1) in f64: a multiple of 2⁻⁵³, which is the one in f32 but for what f32 has no bits for.
    #[must_use]
    #[inline(always)]
    pub fn double(self, step: u64, point: [isize; 3]) -> f64 {
        let [first, second] = self.words(step, point);
        let bits = u64::from(first) << 32 | u64::from(second);
        (bits >> (64 - DOUBLE)) as f64 / (1u64 << DOUBLE) as f64
    }
}

/// Philox 4x32-10 of a counter, with a key.
#[must_use]
#[inline(always)]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let product = |word: u32, factor: u32| u64::from(word) * u64::from(factor);
        let [a, b] = [product(counter[0], FACTORS[0]), product(counter[2], FACTORS[1])];
        let high = |product: u64| (product >> 32) as u32;
        counter =
            [high(b) ^ counter[1] ^ key[0], b as u32, high(a) ^ counter[3] ^ key[1], a as u32];
        key = [0, 1].map(|word| key[word].wrapping_add(KEY_STEPS[word]));
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers that the authors give with their program.
    #[test]
    fn the_function_is_that_of_its_authors() {
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox(counter, key), expected);
        }
    }

    #[test]
    fn both_types_have_the_number_that_they_can_hold() {
        for x in 0..1000 {
            let noise = Noise::of_normal(7)[x as usize % 2];
            let (single, double) = (noise.single(3, [0, 2, x]), noise.double(3, [0, 2, x]));
            assert!((0.0..1.0).contains(&double));
            assert_eq!((double * 2f64.powi(24)).floor(), f64::from(single) * 2f64.powi(24));
        }
    }

    /// Whatever differs, the number does.
    #[test]
    fn each_seed_step_and_point_has_its_own() {
        let mut numbers: Vec<u64> = Vec::new();
        let large = 999_999_999_999_999;
        for seed in [0, 1, 1 << 32, large] {
            let [first, second] = Noise::of_normal(seed);
            for noise in [Noise::uniform(seed), first, second] {
                for step in [0, 1, 1 << 24, 1 << 32, 1 << 44] {
                    for point in [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, -1]] {
                        numbers.push(noise.double(step, point).to_bits());
                    }
                }
            }
        }
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }
}
