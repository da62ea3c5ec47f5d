// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stencil: a weighted sum over a set of neighbours, `out[p] = Σ weight · in[p + offset]`.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest radius on any axis.
pub const MAX_RADIUS: usize = 16;

/// One neighbour and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tap {
    /// Where the neighbour lies, relative to the output point, as (z, y, x).
    pub offset: [i32; 3],
    /// Its weight; may be zero or negative, never infinite or not-a-number.
    pub weight: f64,
}

/// A stencil of 1, 2 or 3 dimensions; unused leading axes have offset 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stencil {
    name: String,
    dims: usize,
    taps: Vec<Tap>,
}

/// Why a set of weights is no stencil.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StencilError {
    /// No neighbour at all, or none with a weight.
    #[error("the stencil has no weight other than 0")]
    Empty,
    /// Dense weights need a centre, so every extent must be odd.
    #[error("the weights have shape {0}; every extent must be odd, so that there is a centre")]
    EvenExtent(String),
    /// Dense weights must have one extent per axis.
    #[error("the weights have {0} axes; 1, 2 or 3 are supported")]
    Rank(usize),
    /// The number of weights is not the product of the extents.
    #[error("{found} weights given, the shape needs {expected}")]
    Count {
        /// Product of the extents.
        expected: usize,
        /// Number of weights.
        found: usize,
    },
    /// A weight that is infinite or not a number.
    #[error("weight {index} is {value}; weights must be finite")]
    NotFinite {
        /// Position in the order given.
        index: usize,
        /// The weight.
        value: f64,
    },
    /// A neighbour too far away.
    #[error("offset {} is farther than the largest radius, {MAX_RADIUS}", named(offset, *dims))]
    TooFar {
        /// The offending offset.
        offset: [i32; 3],
        /// Number of axes.
        dims: usize,
    },
    /// A neighbour off the axes of the stencil.
    #[error("offset {offset:?} (z, y, x) leaves the {dims} last axes; give more dimensions or 0")]
    OffAxes {
        /// The offending offset.
        offset: [i32; 3],
        /// Number of axes.
        dims: usize,
    },
    /// A neighbour that is given twice.
    #[error("offset {} is given twice", named(offset, *dims))]
    Repeated {
        /// The offending offset.
        offset: [i32; 3],
        /// Number of axes.
        dims: usize,
    },
}

/// An offset on the axes that a stencil has, with their names.
fn named(offset: &[i32; 3], dims: usize) -> String {
    let axes = &["z", "y", "x"][3 - dims..];
    format!("{:?} ({})", &offset[3 - dims..], axes.join(", "))
}

impl Stencil {
    /// A stencil from its neighbours, in any order; those of weight 0 are left out.
    ///
    /// # Errors
    /// No neighbour with a weight, one given twice, one off the axes or farther than [`MAX_RADIUS`], or a weight
    /// that is not finite.
    pub fn new(name: &str, dims: usize, taps: Vec<Tap>) -> Result<Self, StencilError> {
        Self::within(MAX_RADIUS, name, dims, taps)
    }

    /// A stencil from its neighbours, as [`Stencil::new`] makes it, with another largest radius.
    pub(crate) fn within(
        radius: usize,
        name: &str,
        dims: usize,
        taps: Vec<Tap>,
    ) -> Result<Self, StencilError> {
        if !(1..=3).contains(&dims) {
            return Err(StencilError::Rank(dims));
        }
        for (index, tap) in taps.iter().enumerate() {
            let offset = tap.offset;
            if !tap.weight.is_finite() {
                return Err(StencilError::NotFinite { index, value: tap.weight });
            }
            if offset[..3 - dims].iter().any(|&o| o != 0) {
                return Err(StencilError::OffAxes { offset, dims });
            }
            if offset.iter().any(|o| o.unsigned_abs() as usize > radius) {
                return Err(StencilError::TooFar { offset, dims });
            }
        }
        let mut taps = taps;
        taps.sort_by_key(|tap| tap.offset);
        if let Some(pair) = taps.windows(2).find(|pair| pair[0].offset == pair[1].offset) {
            return Err(StencilError::Repeated { offset: pair[0].offset, dims });
        }
        taps.retain(|tap| tap.weight != 0.0);
        if taps.is_empty() {
            return Err(StencilError::Empty);
        }
        Ok(Self { name: name.to_owned(), dims, taps })
    }

    /// A stencil from a dense array of weights in C order; zeros are left out.
    ///
    /// In 2D `out[y, x] = Σ w[j, i] · in[y + j − r, x + i − r]`; in 1D and 3D with one index less or more.
    ///
    /// # Errors
    /// An even extent, a rank other than 1 to 3, the wrong number of weights, all weights zero, or
    /// those of [`Stencil::new`].
    pub fn dense(name: &str, extents: &[usize], weights: &[f64]) -> Result<Self, StencilError> {
        let dims = extents.len();
        if !(1..=3).contains(&dims) {
            return Err(StencilError::Rank(dims));
        }
        if extents.iter().any(|extent| extent % 2 == 0) {
            let shape: Vec<String> = extents.iter().map(usize::to_string).collect();
            return Err(StencilError::EvenExtent(shape.join("x")));
        }
        let mut shape = [1; 3];
        shape[3 - dims..].copy_from_slice(extents);
        let expected = shape.iter().product();
        if weights.len() != expected {
            return Err(StencilError::Count { expected, found: weights.len() });
        }
        // Checked before zeros are left out, so that the index is the caller's.
        if let Some(index) = weights.iter().position(|weight| !weight.is_finite()) {
            return Err(StencilError::NotFinite { index, value: weights[index] });
        }
        let position = |index: usize| {
            let [_, ny, nx] = shape;
            [index / (ny * nx), index / nx % ny, index % nx]
        };
        let taps = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        let taps = taps.map(|(index, &weight)| {
            let at = position(index);
            let offset = std::array::from_fn(|axis| at[axis] as i32 - (shape[axis] / 2) as i32);
            Tap { offset, weight }
        });
        Self::new(name, dims, taps.collect())
    }

    /// The name it goes by in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of axes: 1, 2 or 3.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The neighbours, sorted by (z, y, x).
    #[must_use]
    pub fn taps(&self) -> &[Tap] {
        &self.taps
    }

    /// Radius on each axis (z, y, x): the farthest neighbour.
    #[must_use]
    pub fn radii(&self) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let far = self.taps.iter().map(|tap| tap.offset[axis].unsigned_abs() as usize);
            far.max().unwrap_or(0)
        })
    }

    /// The largest radius of all axes.
    #[must_use]
    pub fn radius(&self) -> usize {
        self.radii().into_iter().max().unwrap_or(0)
    }

    /// The weight at an offset (z, y, x); 0 where there is no neighbour.
    #[must_use]
    pub fn weight(&self, offset: [i32; 3]) -> f64 {
        let found = self.taps.binary_search_by_key(&offset, |tap| tap.offset);
        found.map_or(0.0, |index| self.taps[index].weight)
    }

    /// `Σ |weight|`: by how much one step can grow the largest value; stable where ≤ 1.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.taps.iter().map(|tap| tap.weight.abs()).sum()
    }

    /// A copy of the stencil with every weight passed through `map`; weights that become 0 stay.
    #[must_use]
    pub fn map_weights(&self, mut map: impl FnMut(f64) -> f64) -> Self {
        let taps = self.taps.iter().map(|tap| Tap { weight: map(tap.weight), ..*tap });
        Self { name: self.name.clone(), dims: self.dims, taps: taps.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_weights_are_centred_and_zeros_left_out() {
        let stencil = Stencil::dense("s", &[3, 3], &[0., 1., 0., 2., 3., 4., 0., 5., 0.]).unwrap();
        assert_eq!(stencil.taps().len(), 5);
        assert_eq!(stencil.weight([0, -1, 0]), 1.0);
        assert_eq!(stencil.weight([0, 0, 1]), 4.0);
        assert_eq!(stencil.weight([0, 1, 1]), 0.0);
        assert_eq!(stencil.radii(), [0, 1, 1]);
        assert_eq!(stencil.gain(), 15.0);
    }

    #[test]
    fn bad_weights_are_refused_with_the_reason() {
        let dense = |extents: &[usize], weights: &[f64]| Stencil::dense("s", extents, weights);
        assert_eq!(dense(&[2, 3], &[1.0; 6]), Err(StencilError::EvenExtent("2x3".into())));
        assert_eq!(dense(&[3], &[1.0; 2]), Err(StencilError::Count { expected: 3, found: 2 }));
        assert_eq!(dense(&[3], &[0.0; 3]), Err(StencilError::Empty));
        assert_eq!(dense(&[1; 4], &[1.0]), Err(StencilError::Rank(4)));
        let weights = [0.0, f64::NAN, 1.0];
        assert!(matches!(dense(&[3], &weights), Err(StencilError::NotFinite { index: 1, .. })));
        let far = Tap { offset: [0, 0, 17], weight: 1.0 };
        assert!(matches!(Stencil::new("s", 1, vec![far]), Err(StencilError::TooFar { .. })));
        let off = Tap { offset: [0, 1, 0], weight: 1.0 };
        assert!(matches!(Stencil::new("s", 1, vec![off]), Err(StencilError::OffAxes { .. })));
        let twice = Tap { offset: [0, 0, 1], weight: 1.0 };
        assert!(matches!(Stencil::new("s", 1, vec![twice; 2]), Err(StencilError::Repeated { .. })));
        let nothing = Tap { offset: [0, 0, 1], weight: 0.0 };
        assert_eq!(Stencil::new("s", 1, vec![nothing]), Err(StencilError::Empty));
    }
}
