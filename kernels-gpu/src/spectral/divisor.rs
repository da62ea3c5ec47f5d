// SPDX-License-Identifier: MIT OR Apache-2.0
//! Division by numbers that a launch knows: a multiplication each.

/// A number from 1 to 65,536 by which others below that are divided.
#[derive(Clone, Copy)]
pub struct Divisor {
    by: u32,
    reciprocal: u32,
}

/// What [`Divisor::with`] takes: `⌈2³² / by⌉`, or 0 for 1.
///
/// Of `n < 2¹⁶` the quotient is `⌊n · ⌈2³² / by⌉ / 2³²⌋`: rounding adds less than `n · by / 2³² < 1` to a numerator.
#[inline(always)]
#[must_use]
pub const fn reciprocal(by: u32) -> u32 {
    if by < 2 {
        return 0;
    }
    // ⌈2³² / by⌉, as 2³² itself has a bit too many.
    u32::MAX / by + 1
}

impl Divisor {
    /// Of a number with its [`reciprocal`].
    #[inline(always)]
    #[must_use]
    pub const fn with(by: u32, reciprocal: u32) -> Self {
        Self { by, reciprocal }
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub const fn by(self) -> u32 {
        self.by
    }

    /// Quotient and remainder.
    #[inline(always)]
    #[must_use]
    pub const fn split(self, value: u32) -> (u32, u32) {
        let product = ((value as u64 * self.reciprocal as u64) >> 32) as u32;
        let quotient = if self.reciprocal == 0 { value } else { product };
        (quotient, value - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_and_remainders_are_those_of_integers() {
        let by =
            (1..400).chain([511, 512, 1021, 4095, 4096, 10_007, 16_384, 65_521, 65_535, 65_536]);
        for by in by {
            let divisor = Divisor::with(by, reciprocal(by));
            let near = |n: u32| [n.saturating_sub(1), n, n + 1];
            let values = (0..=65_535 / by).flat_map(|n| near(n * by));
            for value in values.chain([65_535]).filter(|&value| value < 65_536) {
                assert_eq!(divisor.split(value), (value / by, value % by), "{value} / {by}");
            }
        }
    }
}
