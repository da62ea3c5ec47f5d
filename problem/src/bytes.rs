// SPDX-License-Identifier: MIT OR Apache-2.0
//! Amounts of memory.

use std::fmt;

/// A number of bytes, printed with a binary unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Bytes {
    /// As many, or the most that can be counted.
    #[must_use]
    pub fn saturating(bytes: u128) -> Self {
        Self(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let mut amount = self.0 as f64;
        let mut unit = "bytes";
        for larger in UNITS {
            if amount < 1024.0 {
                break;
            }
            amount /= 1024.0;
            unit = larger;
        }
        if unit == "bytes" { write!(f, "{amount} bytes") } else { write!(f, "{amount:.1} {unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_unit() {
        assert_eq!(Bytes(0).to_string(), "0 bytes");
        assert_eq!(Bytes(1023).to_string(), "1023 bytes");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes(u64::MAX).to_string(), "16.0 EiB");
    }
}
