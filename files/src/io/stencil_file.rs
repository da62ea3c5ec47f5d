// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of stencils, as TOML.

use std::fs;
use std::path::Path;

use transform::Stencil;
use transform::stencil_file::parse;

use problem::Error;

/// Reads the stencils of a file, at least one, in its order.
///
/// # Errors
/// The file cannot be read, or its text is at fault, with line and column.
pub fn read(path: &Path) -> Result<Vec<Stencil>, Error> {
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    // What is no text becomes a replacement character, which TOML refuses at its place.
    parse(&String::from_utf8_lossy(&bytes))
        .map_err(|source| Error::StencilFile { path: path.to_owned(), source })
}
