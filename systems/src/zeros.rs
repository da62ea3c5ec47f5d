// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of fields that vanish at most points, from whoever sets them.

use std::borrow::Cow;

use rayon::prelude::*;

use super::checked::System;
use super::expression::Array;
use super::vanishing::Vanishing;
use problem::values::Element;
use problem::{Grid, with_values};

impl System {
    /// Whether some values of a field are 0 whoever sets them.
    pub(super) fn has_zeros(&self, field: usize) -> bool {
        let array = Array::Field { field, level: 0 };
        self.vanishing.iter().any(|known| known.is_of(array))
    }

    /// Values for a field, with 0 where it vanishes, whatever is given there.
    pub(super) fn with_zeros<'g>(&self, field: usize, values: &'g Grid) -> Cow<'g, Grid> {
        let array = Array::Field { field, level: 0 };
        let [_, ny, nx] = self.shape.extents();
        let mut values = Cow::Borrowed(values);
        for known in self.vanishing.iter().filter(|known| known.is_of(array)) {
            let vanishes = |index: usize| {
                let place = [index / (ny * nx), index / nx % ny, index % nx][known.axis];
                let place = place as i64 + self.origin[known.axis] as i64;
                (known.from..known.to).contains(&place)
            };
            let points = 0..self.shape.points();
            if points.into_par_iter().all(|index| !vanishes(index) || values.get(index) == 0.0) {
                continue;
            }
            with_values!(&mut values.to_mut().values, values => {
                let own = values.par_iter_mut().enumerate().filter(|(index, _)| vanishes(*index));
                own.for_each(|(_, own)| *own = Element::from_f64(0.0));
            });
        }
        values
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
