// SPDX-License-Identifier: MIT OR Apache-2.0
//! Amounts of memory, and whether this machine has them.

use sysinfo::System;

use crate::Error;
pub use crate::bytes::Bytes;

mod cgroup;

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
    fn what_does_not_fit_is_refused() {
        assert!(require("nothing", 0).is_ok());
        let error = require("a grid", u128::MAX).unwrap_err();
        assert!(error.to_string().starts_with("a grid needs 16.0 EiB; "), "{error}");
    }
}
