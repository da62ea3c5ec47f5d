// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of stencils, as `--stencil` takes them.

use crate::promise;
use stencil::cli::named;

/// Finds a stencil by name, and again by the name that it goes by.
///
/// # Panics
/// A promise is broken.
pub fn stencil_name(data: &[u8]) {
    let Ok(name) = str::from_utf8(data) else { return };
    match named(name) {
        Ok(stencil) => {
            assert!(stencil.gain().is_finite());
            assert_eq!(named(stencil.name()).ok(), Some(stencil));
        }
        Err(error) => promise::of_an_error(error),
    }
}
