// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole numbers as options take them.

use problem::Depth;

/// A whole number, also as in 1e6, or what to write instead.
///
/// # Errors
/// Why the text is none, as a remedy.
pub fn whole<T: TryFrom<u128>>(text: &str) -> Result<T, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits {
        let number = text.parse::<u128>().ok().and_then(|number| T::try_from(number).ok());
        return number.ok_or_else(|| "too large".to_owned());
    }
    match text.parse::<f64>() {
        // 1e6 and 1000000.0: below 2^53, so that it is the number that was meant.
        Ok(number) if (0.0..=1e15).contains(&number) && number.fract() == 0.0 => {
            T::try_from(number.abs() as u128).map_err(|_| "too large".to_owned())
        }
        _ => Err("give a whole number, such as 1000".to_owned()),
    }
}

/// Steps of which there may be any number, such as those of a jump, or auto.
///
/// # Errors
/// What to write instead.
pub fn steps(text: &str) -> Result<Depth, String> {
    match text.parse() {
        _ if text == "auto" => Ok(Depth::Auto),
        Ok(steps) if steps > 0 => Ok(Depth::Steps(steps)),
        _ => Err("give a number of steps from 1 on, or auto".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_and_others_answered() {
        assert_eq!(whole::<usize>("0"), Ok(0));
        assert_eq!(whole::<u64>("18446744073709551615"), Ok(u64::MAX));
        let refused = |text: &str| whole::<u64>(text).unwrap_err();
        assert_eq!(refused("18446744073709551616"), "too large");
        assert_eq!(whole::<usize>("1e6"), Ok(1_000_000));
        assert_eq!(whole::<usize>("2.5e3"), Ok(2500));
        assert_eq!(whole::<u16>("1e6"), Err("too large".to_owned()));
        for text in ["", "-1", "many", "1.5", "nan", "1e300"] {
            assert_eq!(refused(text), "give a whole number, such as 1000", "{text}");
        }
    }
}
