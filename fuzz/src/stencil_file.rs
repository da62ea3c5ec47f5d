// SPDX-License-Identifier: MIT OR Apache-2.0
//! TOML files of stencils.

use transform::{Stencil, stencil_file::parse};

/// Reads stencils, writes them in the form of offsets and weights, and reads them again. The place
/// that an error names lies in the text.
///
/// # Panics
/// A promise is broken.
pub fn stencil_file(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    match parse(text) {
        Ok(stencils) => {
            let written: String = stencils.iter().map(table).collect();
            assert_eq!(parse(&written).as_ref(), Ok(&stencils), "{written}");
        }
        Err(error) => {
            assert!(!error.kind.to_string().is_empty());
            // The end of a text that ends in a newline is a line of its own.
            let line = text.split('\n').nth(error.line - 1);
            let line = line.unwrap_or_else(|| panic!("no line {}: {error}", error.line));
            assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}");
        }
    }
}

/// A stencil as its table.
fn table(stencil: &Stencil) -> String {
    let dims = stencil.dims();
    let offsets: Vec<&[i32]> = stencil.taps().iter().map(|tap| &tap.offset[3 - dims..]).collect();
    let weights: Vec<f64> = stencil.taps().iter().map(|tap| tap.weight).collect();
    format!("[{}]\noffsets = {offsets:?}\nweights = {weights:?}\n", quoted(stencil.name()))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let escape = |c: char| format!("\\U{:08X}", u32::from(c));
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
