// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to do where rounding took the digits of a result.

use compute::report::{MorePrecise, RoundingLoss};
use problem::check::rounded::RoundedCoefficient;

/// The warning.
#[must_use]
pub fn of_lost_digits(lost: &RoundingLoss) -> String {
    let RoundingLoss { part, keeps } = lost;
    let remedy = match keeps {
        Some(MorePrecise::Type(dtype)) => format!("--dtype {dtype} keeps more of them"),
        Some(MorePrecise::Steps) => {
            "--engine cpu or cuda takes one step after the other, and keeps more of them".into()
        }
        None => "no element type keeps more of them; take fewer steps".into(),
    };
    format!("rounding took the digits of the result, up to {part}; {remedy}")
}

/// The warning of a coefficient that its type cannot hold.
#[must_use]
pub fn of_rounded_coefficient(rounded: &RoundedCoefficient) -> String {
    let RoundedCoefficient { name, position, given, stored, dtype, .. } = rounded;
    let wider = if dtype == "f32" { "f64" } else { "f32" };
    format!(
        "the coefficient '{name}' is {given:e} at {position}, which {dtype} stores as {stored:e}; --dtype {wider} stores \
         it more exactly"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::Dtype;

    #[test]
    fn what_keeps_more_digits_is_an_option() {
        let text =
            |keeps| of_lost_digits(&RoundingLoss { part: "55.0 % of the values".into(), keeps });
        let told = "rounding took the digits of the result, up to 55.0 % of the values; --dtype f32 keeps more of them";
        assert_eq!(text(Some(MorePrecise::Type(Dtype::F32))), told);
        assert!(
            text(Some(MorePrecise::Steps))
                .contains("; --engine cpu or cuda takes one step after the other")
        );
        assert!(text(None).ends_with("; no element type keeps more of them; take fewer steps"));
    }
}
