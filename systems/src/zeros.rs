// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of fields that vanish at most points, from whoever sets them.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::checked::System;
use super::expression::Array;
use super::vanishing::Vanishing;
use problem::values::Element;
use problem::{Grid, with_values};

/// An axis, and indices along it.
pub type Zeros = (usize, Range<usize>);

impl System {
    /// Along which axis, and between which indices of the part of the grid that this system has, a field is 0 whoever sets it.
    pub(super) fn zeros(&self, field: usize) -> Option<Zeros> {
        let array = Array::Field { field, level: 0 };
        let known = self.vanishing.iter().find(|known| known.is_of(array))?;
        let extent = self.shape.extents()[known.axis] as i64;
        let own = |at: i64| at.saturating_sub(self.origin[known.axis] as i64).clamp(0, extent);
        let [from, to] = [known.from, known.to].map(|at| own(at) as usize);
        Some((known.axis, from..to.max(from)))
    }

    /// Values for a field, with 0 where it vanishes, whatever is given there.
    pub(super) fn with_zeros<'g>(&self, field: usize, values: &'g Grid) -> Cow<'g, Grid> {
        let Some((axis, zeros)) = self.zeros(field) else { return Cow::Borrowed(values) };
        let [_, ny, nx] = self.shape.extents();
        let vanishes =
            |index: usize| zeros.contains(&[index / (ny * nx), index / nx % ny, index % nx][axis]);
        let points = 0..self.shape.points();
        if points.into_par_iter().all(|index| !vanishes(index) || values.get(index) == 0.0) {
            return Cow::Borrowed(values);
        }
        let mut own = values.clone();
        with_values!(&mut own.values, values => {
            let own = values.par_iter_mut().enumerate().filter(|(index, _)| vanishes(*index));
            own.for_each(|(_, own)| *own = Element::from_f64(0.0));
        });
        Cow::Owned(own)
    }

    /// Says of arrays by their names that they vanish.
    pub(super) fn vanish(&mut self, named: &[(String, Vanishing)]) {
        for (name, vanishing) in named {
            let fields = self.fields.iter().position(|field| field.name == *name);
            let fields = fields.map(|field| Array::Field { field, level: 0 });
            let works = self.works.iter().position(|work| work.name == *name).map(Array::Work);
            let coefficients = self.coefficients.iter().position(|it| it.name == *name);
            let found = fields.or(works).or(coefficients.map(Array::Coefficient));
            let own = found.map(|array| Vanishing { array, ..*vanishing });
            self.vanishing.extend(own);
        }
    }
}
