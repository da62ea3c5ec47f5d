// SPDX-License-Identifier: MIT OR Apache-2.0
//! Printing and assertions.

use crate::fault::FaultKind;
use crate::lane::with;
use std::fmt::Arguments;

/// `vprintf`: to standard output, at once.
#[track_caller]
pub fn print(text: Arguments<'_>) {
    with(|_, _| {
        print!("{text}");
        Ok(())
    });
}

/// `__assertfail`: ends the launch.
#[track_caller]
pub fn fail(text: Arguments<'_>) {
    with(|_, _| Err::<(), _>(FaultKind::Assertion(text.to_string())));
}
