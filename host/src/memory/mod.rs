// SPDX-License-Identifier: MIT OR Apache-2.0
//! Amounts of memory, and whether this machine has them.

use std::fmt;

use sysinfo::System;

use crate::Error;

mod cgroup;

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

/// Memory of this machine that can still be used, within the limits of all control groups that this
/// process is in.
#[must_use]
pub fn free() -> Bytes {
    let mut system = System::new();
    system.refresh_memory();
    let machine = system.available_memory();
    Bytes(cgroup::free().map_or(machine, |group| machine.min(group)))
}

/// Checks that `need` bytes are free before they are asked for.
///
/// # Errors
/// [`Error::Memory`] with both amounts.
pub fn require(what: &str, need: u128) -> Result<(), Error> {
    let free = free();
    if need <= u128::from(free.0) { Ok(()) } else { Err(short(what, need, free)) }
}

/// What is missing, with both amounts.
#[must_use]
pub fn short(what: &str, need: u128, free: Bytes) -> Error {
    Error::Memory { what: what.to_owned(), need: Bytes::saturating(need), free }
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

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(require("nothing", 0).is_ok());
        let error = require("a grid", u128::MAX).unwrap_err();
        assert!(error.to_string().starts_with("a grid needs 16.0 EiB; "), "{error}");
    }
}
