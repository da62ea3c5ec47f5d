// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths that Fourier transforms are fast at: products of 2, 3, 5 and 7.

/// Whether a length has no prime factor above 7.
#[must_use]
pub fn is_smooth(length: usize) -> bool {
    let rest = [2, 3, 5, 7].into_iter().fold(length.max(1), |mut rest, prime| {
        while rest % prime == 0 {
            rest /= prime;
        }
        rest
    });
    rest == 1
}

/// The least such length that is not below this one; it is at most an eighth above, but for lengths below 8.
#[must_use]
pub fn next_smooth(length: usize) -> usize {
    (length.max(1)..).find(|&length| is_smooth(length)).expect("powers of 2 are among them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_up() {
        for (length, smooth) in
            [(0, 1), (1, 1), (7, 7), (11, 12), (121, 125), (1021, 1024), (10241, 10290)]
        {
            assert_eq!(next_smooth(length), smooth);
        }
        assert!((8..5000).all(|length| next_smooth(length) * 8 <= length * 9));
    }
}
