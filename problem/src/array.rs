// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids as arrays of the crate `ndarray` (feature `ndarray`), and the reverse, without copies where the order of
//! the values allows it. Axes are the grid's, slowest first.

use ndarray::{Array, ArrayD, ArrayViewD, Dimension};

use crate::values::Element;
use crate::{Error, Grid};

/// An array of 1 to 3 axes. One in C order keeps its memory; another (transposed, sliced, in Fortran's order) is
/// copied into C order.
///
/// # Errors
/// [`Error::Size`]: other axes, or an axis without points.
impl<T: Element, D: Dimension> TryFrom<Array<T, D>> for Grid {
    type Error = Error;

    fn try_from(array: Array<T, D>) -> Result<Self, Error> {
        let extents = array.shape().to_vec();
        let is_c_order = array.is_standard_layout();
        let (values, first) = match is_c_order {
            true => array.into_raw_vec_and_offset(),
            false => (array.iter().copied().collect(), Some(0)),
        };
        let (first, points) = (first.unwrap_or(0), extents.iter().product::<usize>());
        // A part of a larger array keeps all of its memory.
        let values = match first == 0 && values.len() == points {
            true => values,
            false => values[first..first + points].to_vec(),
        };
        Self::new(&extents, values)
    }
}

impl Grid {
    /// Its values as an array with the grid's axes, without a copy; none if they are of another type than `T`.
    #[must_use]
    pub fn view<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        let values = self.as_slice()?;
        Some(ArrayViewD::from_shape(self.shape.axes(), values).expect("as many values as points"))
    }

    /// An array with the grid's axes, of numbers of type `T`: with the grid's memory if they are, else each is
    /// rounded to the nearest.
    ///
    /// # Errors
    /// [`Error::Memory`]: there is no room for a copy of another type.
    pub fn into_array<T: Element>(self) -> Result<ArrayD<T>, Error> {
        let shape = self.shape;
        let values = self.into_vec()?;
        Ok(ArrayD::from_shape_vec(shape.axes(), values).expect("as many values as points"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use ndarray::{Array2, Array4, s};

    #[test]
    fn arrays_in_any_order_become_grids_and_come_back() {
        let array = Array2::from_shape_fn((4, 6), |(y, x)| (10 * y + x) as f32);
        let values = |array: Array2<f32>| Grid::try_from(array).unwrap().into_vec::<f32>().unwrap();
        let first = |count| (0..count).map(|index| (10 * (index / 6) + index % 6) as f32);
        assert_eq!(values(array.clone()), first(24).collect::<Vec<_>>());
        let transposed = values(array.clone().reversed_axes());
        assert_eq!(&transposed[..5], [0.0, 10.0, 20.0, 30.0, 1.0]);
        // Parts of an array: rows, which lie together, and columns, which do not.
        assert_eq!(
            values(array.clone().slice_move(s![1..3, ..])),
            first(18).skip(6).collect::<Vec<_>>()
        );
        assert_eq!(values(array.clone().slice_move(s![2.., 4..])), [24.0, 25.0, 34.0, 35.0]);
        assert_eq!(values(array.clone().slice_move(s![..;-1, 0..1])), [30.0, 20.0, 10.0, 0.0]);

        let grid = Grid::try_from(array.clone()).unwrap();
        assert_eq!(grid.view::<f32>().unwrap(), array.view().into_dyn());
        assert!(grid.view::<f64>().is_none());
        let half = grid.into_array::<f16>().unwrap();
        assert_eq!(half.mapv(f32::from), array.into_dyn());
    }

    #[test]
    fn arrays_that_are_no_grids_are_refused() {
        let refused = Grid::try_from(Array4::<f64>::zeros([1; 4])).unwrap_err();
        assert_eq!(refused.to_string(), "size '1x1x1x1': 4 axes; 1, 2 or 3 are supported");
        let refused = Grid::try_from(Array2::<f64>::zeros([0, 3])).unwrap_err();
        assert_eq!(refused.to_string(), "size '0x3': every axis needs at least one point");
    }
}
