// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole numbers, as files have them.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A whole number from 0 on, also as in 1e3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeNumber(pub usize);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor).map(Self)
    }
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 on, such as 1000 or 1e3")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<usize, E> {
        let whole = usize::try_from(number);
        whole.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<usize, E> {
        // Below 2^53, so that it is the number that was meant.
        if (0.0..=1e15).contains(&number) && number.fract() == 0.0 {
            return Ok(number as usize);
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    /// A system of one field with these keys of time and grid.
    fn system(size: &str, steps: &str) -> String {
        format!(
            "grid.size = {size}\ntime.steps = {steps}\nfields.u = {{ start = 0, next = \"u\" }}\n"
        )
    }

    #[test]
    fn whole_numbers_may_have_exponents() {
        for (size, steps) in
            [("[1000, 20]", "1000"), ("[1e3, 20.0]", "1e3"), ("[10e2, 2e1]", "1_000.0")]
        {
            let read = parse("a test", &system(size, steps)).unwrap();
            assert_eq!((read.size, read.steps), (vec![1000, 20], 1000));
        }
    }

    #[test]
    fn others_are_answered_with_what_is_taken() {
        let expected = ", expected a whole number from 0 on, such as 1000 or 1e3";
        for (text, found) in [
            ("-1", "invalid value: integer `-1`"),
            ("1.5", "invalid value: floating point `1.5`"),
            ("-1e3", "invalid value: floating point `-1000.0`"),
            ("2e15", "invalid value: floating point `2000000000000000.0`"),
            ("inf", "invalid value: floating point `inf`"),
            ("\"many\"", "invalid type: string \"many\""),
            ("true", "invalid type: boolean `true`"),
        ] {
            for (size, steps) in [("[8]", text), (&*format!("[{text}]"), "8")] {
                let mistake = parse("a test", &system(size, steps)).unwrap_err();
                assert_eq!(mistake.what, format!("{found}{expected}"));
            }
        }
    }
}
