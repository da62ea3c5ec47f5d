// SPDX-License-Identifier: MIT OR Apache-2.0
//! By how much values have grown, as they are seen.

use std::fmt;

use serde::Serialize;

use super::growth::largest;
use crate::Grid;

/// Growth by more than this over a run is told.
pub const TOLD: f64 = 1e3;

/// The largest absolute values of a field before and after the steps of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldGrowth {
    /// Its name.
    pub field: String,
    /// Before them, its earlier levels included.
    pub before: f64,
    /// After them.
    pub after: f64,
    /// Whether the field has grown by more than a thousand times, and neighbours tend to have opposite signs: so
    /// does what unstable steps make.
    pub alternates: bool,
}

impl FieldGrowth {
    /// The growth of a field, from its largest absolute value before the steps and its values after them.
    pub fn of(field: &str, before: f64, grid: &Grid) -> Self {
        let after = largest(grid);
        let grown = before > 0.0 && after > TOLD * before;
        let alternates = grown && alternates(grid, after);
        Self { field: field.to_owned(), before, after, alternates }
    }
}

impl fmt::Display for FieldGrowth {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { field, before, after, .. } = self;
        write!(f, "|{field}| was at most {before:.3e}, is {after:.3e}")?;
        if *before > 0.0 { write!(f, " ({:.1e} times)", after / before) } else { Ok(()) }
    }
}

/// Whether the products of neighbours along an axis sum to less than 0.
fn alternates(grid: &Grid, largest: f64) -> bool {
    let [_, ny, nx] = grid.shape.extents();
    let all = grid.shape.extents().into_iter().zip([ny * nx, nx, 1]);
    let mut axes = all.filter(|(extent, _)| *extent > 1);
    axes.any(|(extent, stride)| {
        let inner = (0..grid.shape.points()).filter(|place| place / stride % extent + 1 < extent);
        let value = |place: usize| grid.get(place) / largest;
        inner.map(|place| value(place) * value(place + stride)).sum::<f64>() < 0.0
    })
}
