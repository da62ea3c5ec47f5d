// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which stencil: a name or a file.

use std::path::PathBuf;

use clap::Args;
use transform::{Stencil, catalogue};

use crate::Error;
use crate::io::npy;

/// A stencil by name, or weights from a file.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct StencilArgs {
    /// A named stencil, such as star2d3r; `host list` prints them all
    #[arg(long, value_name = "NAME")]
    stencil: Option<String>,
    /// Your own weights: a dense .npy array of 1 to 3 axes with odd extents, the centre in the
    /// middle: out[y, x] = sum of w[j, i] * in[y + j - r, x + i - r]
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
}

impl StencilArgs {
    /// The stencil itself.
    ///
    /// # Errors
    /// No stencil has that name, or the file holds none.
    pub fn load(&self) -> Result<Stencil, Error> {
        match (&self.stencil, &self.weights) {
            (_, Some(path)) => npy::read_weights(path),
            (name, None) => named(name.as_deref().unwrap_or_default()),
        }
    }
}

/// The stencil of that name.
///
/// # Errors
/// There is none.
pub fn named(name: &str) -> Result<Stencil, Error> {
    catalogue::find(name).ok_or_else(|| unknown(name))
}

/// The error for a name that is not in the catalogue, with up to three that look like it.
fn unknown(name: &str) -> Error {
    const ALIKE: f64 = 0.8;
    let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let wanted = plain(name);
    let names = catalogue::entries().iter().flat_map(|entry| {
        std::iter::once(&entry.name).chain(entry.aliases).map(|name| (entry.name, *name))
    });
    let mut scored: Vec<(f64, &str)> = names
        .map(|(name, alias)| (strsim::jaro_winkler(&wanted, &plain(alias)), name))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut near: Vec<String> = Vec::new();
    for (_, name) in scored {
        if near.len() < 3 && !near.iter().any(|known| known == name) {
            near.push(name.to_owned());
        }
    }
    Error::UnknownStencil { name: name.to_owned(), near }
}
