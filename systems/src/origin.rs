// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a system was made of.

use std::path::{Path, PathBuf};

use super::description::Description;
use super::expression::Scope;

/// A description, and what was found out about it.
#[derive(Debug)]
pub struct Origin {
    pub description: Description,
    /// Where files lie that it names.
    pub folder: PathBuf,
    /// The values of its constants, in its order.
    pub constants: Vec<(String, f64)>,
}

impl Origin {
    /// The origin of a system by a description whose names are understood.
    pub fn new(description: &Description, folder: &Path, scope: &Scope) -> Self {
        let names = description.constants.iter().map(|(name, _)| name.as_str());
        let value = |name: &str| Some((name.to_owned(), *scope.constants.get(name)?));
        Self {
            description: description.clone(),
            folder: folder.to_owned(),
            constants: names.filter_map(value).collect(),
        }
    }
}
