// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of the values of a choice, such as `f16` of an element type: printed, read, and listed.

use std::fmt::Display;

use strum::VariantArray;
use thiserror::Error;

/// A name that no value of a choice has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{name}' is none of {}", known.join(", "))]
pub struct UnknownName {
    /// What was to be read.
    pub name: String,
    /// The names of all values.
    pub known: Vec<String>,
}

/// The error of a name that no value of the choice `T` has.
pub fn unknown<T: VariantArray + Display>(name: &str) -> UnknownName {
    let known = T::VARIANTS.iter().map(ToString::to_string).collect();
    UnknownName { name: name.to_owned(), known }
}
