// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of what is drawn is run. `cargo xtask test` runs a part: every kernel, every family and every kind of mistake;
//! `cargo xtask test --thorough` runs all of it.

/// The variable that asks for all.
const VARIABLE: &str = "THOROUGH";

/// One in so many cases; all of them in a thorough run.
#[must_use]
pub fn one_in(count: usize) -> usize {
    if is_thorough() { 1 } else { count }
}

/// So many of all drawn cases; all of them in a thorough run.
#[must_use]
pub fn some_of(all: u64, some: u64) -> u64 {
    if is_thorough() { all } else { some.min(all) }
}

/// Whether this is a thorough run.
#[must_use]
pub fn is_thorough() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|value| value == "1")
}
