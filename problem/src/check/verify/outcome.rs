// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comparisons show: a result may be within rounding and still hold no digit of the right one.

use serde::Serialize;

/// What comparisons show of a result, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ComparisonOutcome {
    /// Rounding explains every difference, and took no more than 1 % of the values.
    #[serde(rename = "verified")]
    Verified,
    /// Rounding explains every difference, but took more than 1 % of the values, or may have done so without being
    /// seen: nobody should rely on them.
    #[serde(rename = "digits lost")]
    DigitsLost,
    /// Rounding does not explain a difference.
    #[serde(rename = "wrong")]
    Wrong,
}

/// The part of the values from which on an error takes their digits.
pub const MOST: f64 = 0.01;

/// A part of the values, for people.
#[must_use]
pub fn share(part: f64) -> String {
    match part {
        part if !part.is_finite() => "all there is".into(),
        part if part < 1.0 => format!("{:.1} % of the values", 100.0 * part),
        part => format!("{part:.3e} times the values"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told() {
        assert_eq!(share(0.0123), "1.2 % of the values");
        assert_eq!(share(184.0), "1.840e2 times the values");
        assert_eq!(share(f64::INFINITY), "all there is");
        assert!(
            ComparisonOutcome::Verified < ComparisonOutcome::DigitsLost
                && ComparisonOutcome::DigitsLost < ComparisonOutcome::Wrong
        );
    }
}
