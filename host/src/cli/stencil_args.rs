// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which stencil: a name, a file, or a name in a file.

use std::path::{Path, PathBuf};

use clap::Args;
use transform::Stencil;
use transform::catalogue::{self, ApplicationKind, Shape, ShapeError};

use super::{Failure, system};
use files::io::{npy, stencil_file};
use problem::similar_names::near;

/// A stencil by name, or weights from a file.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub struct StencilArgs {
    /// Name of a stencil, such as star2d3r (`host list` prints all), or with --weights FILE.toml of a stencil in
    /// that file. Of `host run` and `host plan` also the .toml file of a system of fields
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Name of a stencil, given as an option instead of NAME
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    stencil: Option<String>,
    /// File with weights of your own: a .npy array of 1 to 3 axes with odd extents and the centre in the middle, so
    /// that out[y, x] = sum of w[j, i] * in[y + j - r, x + i - r]; or a .toml file with a table for each stencil,
    /// of `offsets` and `weights`, or of `dense`
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
}

impl StencilArgs {
    /// The stencil itself.
    ///
    /// # Errors
    /// No stencil has that name, the file holds none that was asked for, or both name one.
    pub fn load(&self) -> Result<Stencil, Failure> {
        load(self.name.as_deref().or(self.stencil.as_deref()), self.weights.as_deref())
    }

    /// The file of a system of fields, if one is named in the place of a stencil.
    pub fn system(&self) -> Option<&Path> {
        let name = self.name.as_deref().or(self.stencil.as_deref())?;
        (self.weights.is_none() && system::is_file(name)).then(|| Path::new(name))
    }

    /// The file that the weights are read from, if one is named.
    pub fn weights(&self) -> Option<&Path> {
        self.weights.as_deref()
    }

    /// What a named stencil, as [`StencilArgs::load`] gave it, is made for, where that is not to be
    /// repeated; `None` where so many steps make sense.
    pub fn misuse(&self, stencil: &Stencil, steps: usize) -> Option<String> {
        if steps < 2 || self.weights.is_some() {
            return None;
        }
        let name = stencil.name();
        let entry = catalogue::entries().iter().find(|entry| entry.name == name)?;
        match entry.kind {
            ApplicationKind::Update | ApplicationKind::Filter => None,
            ApplicationKind::Difference => Some(format!(
                "{name} is a difference, made to be applied once; {steps} steps apply it {steps} \
                 times, which is no step in time"
            )),
            ApplicationKind::FirstStep => Some(format!(
                "{name} is the first step from rest of a scheme with two time levels; {steps} steps \
                 of it compute diffusion, not waves"
            )),
        }
    }
}

/// The stencil of that name, or the one in that file, by its name if there is one.
///
/// # Errors
/// No stencil has that name; the file cannot be read, holds none, or several without a name to
/// choose by; a name beside a file that holds one array.
pub fn load(name: Option<&str>, weights: Option<&Path>) -> Result<Stencil, Failure> {
    let is_toml = |path: &Path| {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
    };
    match (name, weights) {
        (name, Some(path)) if is_toml(path) => choose(path, stencil_file::read(path)?, name),
        (None, Some(path)) => Ok(npy::read_weights(path)?),
        (Some(name), Some(path)) => {
            Err(Failure::TwoStencils { name: name.to_owned(), path: path.to_owned() })
        }
        (name, None) => named(name.unwrap_or_default()),
    }
}

/// One of the stencils of a file.
fn choose(path: &Path, stencils: Vec<Stencil>, name: Option<&str>) -> Result<Stencil, Failure> {
    let names = || stencils.iter().map(|stencil| stencil.name().to_owned()).collect::<Vec<_>>();
    let path = path.to_owned();
    match (name, stencils.as_slice()) {
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(Failure::ManyStencils { path, names: names() }),
        (Some(name), all) => match all.iter().find(|stencil| stencil.name() == name) {
            Some(stencil) => Ok(stencil.clone()),
            None => {
                let near = near(name, all.iter().map(|stencil| (stencil.name(), stencil.name())));
                let name = name.to_owned();
                Err(Failure::NotInFile { path, name, near, names: names() })
            }
        },
    }
}

/// The stencil of that name.
///
/// # Errors
/// There is none.
pub fn named(name: &str) -> Result<Stencil, Failure> {
    catalogue::find(name).ok_or_else(|| match name.parse::<Shape>() {
        // It follows the rule of the shapes, so the number is what is wrong.
        Err(wrong @ (ShapeError::Dims { .. } | ShapeError::Radius { .. })) => Failure::Shape(wrong),
        _ => {
            let near = near(name, catalogue_names());
            Failure::UnknownStencil { name: name.to_owned(), near }
        }
    })
}

/// The names of the catalogue, each with every way to write it.
pub fn catalogue_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    catalogue::entries().iter().flat_map(|entry| {
        let all = std::iter::once(&entry.name).chain(entry.aliases);
        all.map(|name| (entry.name, *name))
    })
}
