// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of a value of the grid at a place outside of it.

/// A value beyond a side, of one of the grid: `factor` times that, and `added` to the product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image {
    /// What the value is multiplied by; -1 where only its sign changes.
    pub factor: f64,
    /// What is added then.
    pub added: f64,
}

impl Image {
    /// The value itself.
    pub const SAME: Self = Self { factor: 1.0, added: 0.0 };

    /// Whether it is the value itself.
    #[must_use]
    pub fn is_same(self) -> bool {
        self == Self::SAME
    }

    /// What becomes of a value.
    #[must_use]
    pub fn of(self, value: f64) -> f64 {
        if self.is_same() { value } else { self.factor * value + self.added }
    }

    /// What this makes of what another one makes of a value.
    #[must_use]
    pub fn after(self, other: Self) -> Self {
        let Self { factor, added } = other;
        Self { factor: self.factor * factor, added: self.factor * added + self.added }
    }
}
