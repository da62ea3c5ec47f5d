// SPDX-License-Identifier: MIT OR Apache-2.0
//! How values become factors of products on tensor cores.

use cuda_mma::fragment::Element;
use std::fmt;

/// How values become factors of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factors {
    /// Each is one, of this type.
    One(Element),
    /// f32 values, each the sum of three bf16 numbers ([`crate::split`]).
    Split,
}

impl Factors {
    /// The type, where values are factors themselves.
    #[must_use]
    pub const fn element(self) -> Option<Element> {
        match self {
            Self::One(element) => Some(element),
            Self::Split => None,
        }
    }

    /// Bytes of a value in memory.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::One(element) => element.bytes(),
            Self::Split => 4,
        }
    }
}

/// The name of the values' type.
impl fmt::Display for Factors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(element) => element.fmt(f),
            Self::Split => f.write_str("f32"),
        }
    }
}
