// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every error promises.

use stencil::cli::{Failure, remedy};

/// Checks that an error says what is wrong, on one line, what to do, and that the input is at fault.
///
/// # Panics
/// The error breaks its promise.
pub fn of_an_error(error: impl Into<Failure>) {
    let error = error.into();
    let (headline, help) = (error.to_string(), remedy(&error));
    assert!(!headline.is_empty() && !help.is_empty(), "{error:?}");
    assert_eq!(error.exit_code(), 2, "{headline}");
}
