// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many of the cases that are drawn a run has: `cargo xtask test` some, with `--thorough` all.

/// All cases, or some of them; or as many as the variable `SYSTEM_CASES` says.
pub fn cases(all: u64, some: u64) -> u64 {
    let own = if is_thorough() { all } else { some };
    std::env::var("SYSTEM_CASES").map_or(own, |text| text.parse().unwrap())
}

/// Whether this is a thorough run.
pub fn is_thorough() -> bool {
    std::env::var_os("THOROUGH").is_some_and(|value| value == "1")
}
