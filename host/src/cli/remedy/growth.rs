// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings of values that grow in systems of fields, and what to do about them.

use compute::report::Report;
use problem::check::wave_growth::{Overflow, WaveGrowth};

/// What to do about steps that are unstable.
const STABLE: &str = "take a smaller dt, or another scheme";

/// What is said before the steps.
pub fn of_growth(growth: &WaveGrowth) -> String {
    let WaveGrowth { factor, steps, digits, .. } = growth;
    let what = if growth.short { "the system is unstable" } else { "values grow" };
    let at = match &growth.at {
        None => String::new(),
        Some(at) => {
            let at: Vec<String> = at.iter().map(usize::to_string).collect();
            format!(" with the weights of point [{}]", at.join(", "))
        }
    };
    let much = format!("{} times in {steps} steps", power_of_ten(*digits));
    let overflow = growth.overflow.as_ref().map_or_else(String::new, |overflow| {
        let Overflow { dtype, limit, step } = overflow;
        let limit = if *limit < 1e6 { limit.to_string() } else { format!("{limit:.1e}") };
        format!(
            ", and values may pass {limit}, the most that {dtype} holds, from about step {step} on"
        )
    });
    let help =
        if growth.short { STABLE } else { "take fewer steps or a wider dtype, if that is meant" };
    let waves = waves(growth.lengths);
    format!(
        "{what}: a step grows {waves}{at} by up to {factor:.4}, that is {much}{overflow}; {help}"
    )
}

/// What is said after the steps where nothing was foreseen.
pub fn of_values(report: &Report) -> Vec<String> {
    if report.growth.is_some() {
        return Vec::new();
    }
    let values = report.values.iter().flatten().filter(|values| values.alternates);
    let warning = |values: &problem::check::field_growth::FieldGrowth| {
        let (field, times) = (&values.field, values.after / values.before);
        format!(
            "the values of '{field}' have grown {times:.1e} times, and neighbours have opposite signs, as \
             unstable steps make them; {STABLE}"
        )
    };
    values.map(warning).collect()
}

fn waves(lengths: [Option<f64>; 3]) -> String {
    let axes = ["z", "y", "x"].into_iter().zip(lengths);
    let lengths: Vec<String> = axes
        .filter_map(|(axis, length)| Some(format!("{:.1} points along {axis}", length?)))
        .collect();
    match lengths.as_slice() {
        [] => "a constant".into(),
        lengths => format!("waves of {}", lengths.join(" and ")),
    }
}

/// 10 to this power, with two digits, however large.
fn power_of_ten(digits: f64) -> String {
    let exponent = digits.floor();
    let mantissa = format!("{:.1}", 10_f64.powf(digits - exponent));
    if mantissa == "10.0" {
        format!("1.0e{}", exponent + 1.0)
    } else {
        format!("{mantissa}e{exponent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_told_with_its_wave() {
        let unstable = WaveGrowth {
            factor: 1.4,
            lengths: [None, Some(2.0), Some(2.0)],
            short: true,
            at: None,
            steps: 100,
            digits: 100.0 * 1.4_f64.log10(),
            overflow: None,
        };
        assert_eq!(
            of_growth(&unstable),
            "the system is unstable: a step grows waves of 2.0 points along y and 2.0 points along x by up to \
             1.4000, that is 4.1e14 times in 100 steps; take a smaller dt, or another scheme"
        );
        let overflow = Overflow { dtype: "f16".into(), limit: 65504.0, step: 33 };
        let grows = WaveGrowth {
            lengths: [None; 3],
            short: false,
            at: Some(vec![3, 4]),
            overflow: Some(overflow),
            ..unstable
        };
        assert_eq!(
            of_growth(&grows),
            "values grow: a step grows a constant with the weights of point [3, 4] by up to 1.4000, that is \
             4.1e14 times in 100 steps, and values may pass 65504, the most that f16 holds, from about step 33 \
             on; take fewer steps or a wider dtype, if that is meant"
        );
    }

    #[test]
    fn powers_of_ten_have_two_digits() {
        for (digits, text) in
            [(0.0, "1.0e0"), (2.9999, "1.0e3"), (400.5, "3.2e400"), (3.0, "1.0e3")]
        {
            assert_eq!(power_of_ten(digits), text);
        }
    }
}
