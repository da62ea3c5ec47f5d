// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speeds of many turns, and how far apart two results are.

use stencil::{Grid, with_values};

/// Of one who computes, of every turn: 10⁹ points a second.
#[derive(Clone, Debug, Default)]
pub struct Speeds(Vec<f64>);

impl Speeds {
    /// Notes that so many points took so long.
    pub fn add(&mut self, points: f64, seconds: f64) {
        self.0.push(points / seconds / 1e9);
    }

    /// The middle one.
    #[must_use]
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// The largest one.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

/// Relative L2 distance of one grid from the other.
#[must_use]
pub fn distance(one: &Grid, other: &Grid) -> f64 {
    let (a, b) = (wide(one), wide(other));
    let (mut difference, mut norm) = (0.0, 0.0);
    for (a, b) in a.into_iter().zip(b) {
        difference += (a - b).powi(2);
        norm += b.powi(2);
    }
    (difference / norm).sqrt()
}

fn wide(grid: &Grid) -> Vec<f64> {
    use stencil::values::Element;
    with_values!(&grid.values, values => values.iter().map(|value| value.to_f64()).collect())
}
