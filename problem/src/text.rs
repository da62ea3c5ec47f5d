// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions as they were written, each with its place, so that a mistake in it can be shown there.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Mistake;

/// An expression in the text that it is part of.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Which text: a file, or what the expression is for.
    place: Arc<str>,
    whole: Arc<str>,
    /// The bytes of the expression.
    range: Range<usize>,
}

impl Text {
    /// An expression by itself; `place` says what it is for, as in `the equation of 'u'`.
    #[must_use]
    pub fn new(place: &str, expression: &str) -> Self {
        Self { place: place.into(), whole: expression.into(), range: 0..expression.len() }
    }

    /// A part of this text, in bytes of the whole.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self { range, ..self.clone() }
    }

    /// The expression.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.whole[self.range.clone()]
    }

    /// The whole text, in which places are counted.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// The bytes of the expression in the whole text.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// A mistake at these bytes of the whole text.
    pub fn mistake(&self, at: Range<usize>, what: impl Into<String>) -> Mistake {
        Mistake::new(&self.place, &self.whole, at, what.into())
    }

    /// A mistake of the whole expression.
    pub fn wrong(&self, what: impl Into<String>) -> Mistake {
        self.mistake(self.range(), what)
    }
}
