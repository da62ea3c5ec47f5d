// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which points of a grid are looked at: all of them, those of a slice, or every k-th along each axis.

use std::fmt;
use std::str::FromStr;

use super::region::Region;
use crate::{Dtype, Error, Shape, Values, with_values};

/// The plane of a 3D grid at a place of an axis, or the line of a 2D one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// 0 for z, 1 for y, 2 for x.
    pub axis: usize,
    /// The place; the middle, if there is none.
    pub at: Option<usize>,
}

const AXES: [&str; 3] = ["z", "y", "x"];

impl FromStr for Slice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (axis, at) = match text.split_once('=') {
            None => (text, None),
            Some((axis, at)) => (axis, Some(at.trim().parse::<usize>())),
        };
        let axis = AXES.iter().position(|name| *name == axis.trim());
        match (axis, at) {
            (Some(axis), None) => Ok(Self { axis, at: None }),
            (Some(axis), Some(Ok(at))) => Ok(Self { axis, at: Some(at) }),
            _ => Err("give an axis and a place on it, such as z=16, or an axis, such as z, for its middle".into()),
        }
    }
}

/// Some points of a grid, which are a grid themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The grid.
    of: Shape,
    /// Its points.
    shape: Shape,
    slice: Option<(usize, usize)>,
    stride: usize,
}

/// Where the points of a view lie in space, along each axis as (z, y, x).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewLayout {
    /// How many points: 1 of an axis that a slice cuts, or that the grid lacks.
    pub extents: [usize; 3],
    /// From a point to the next.
    pub spacing: [f64; 3],
    /// The first point, as seen from that of the grid.
    pub origin: [f64; 3],
    /// Which axes the view has.
    pub seen: [bool; 3],
    /// The axis that a slice cuts.
    pub cut: Option<usize>,
}

impl ViewLayout {
    /// All points, as a box.
    #[must_use]
    pub fn region(&self) -> Region {
        Region { low: [0; 3], high: self.extents.map(|extent| extent as isize) }
    }

    /// The axes that the view has, slowest first: their places.
    pub fn axes(&self) -> impl Iterator<Item = usize> {
        let seen = self.seen;
        (0..3).filter(move |axis| seen[*axis])
    }

    /// The name of an axis.
    #[must_use]
    pub fn name(axis: usize) -> &'static str {
        AXES[axis]
    }
}

impl View {
    /// All points of a grid.
    #[must_use]
    pub fn whole(of: Shape) -> Self {
        Self { of, shape: of, slice: None, stride: 1 }
    }

    /// The points of a slice, if one is given, and of these every `stride`-th along each axis, from the first on.
    ///
    /// # Errors
    /// [`Error::Slice`]: the grid has no such axis or place, or only one axis.
    pub fn new(of: Shape, slice: Option<Slice>, stride: usize) -> Result<Self, Error> {
        let (stride, dims) = (stride.max(1), of.dims());
        let mut axes: Vec<usize> = (3 - dims..3).collect();
        let slice = match slice {
            None => None,
            Some(Slice { axis, at }) => {
                let extent = of.extents()[axis];
                let at = at.unwrap_or(extent / 2);
                let wrong = |reason: String| Error::Slice {
                    slice: format!("{}={at}", AXES[axis]),
                    grid: of.to_string(),
                    reason,
                };
                if dims == 1 || !axes.contains(&axis) {
                    let names = if dims == 1 {
                        "its only axis is x".into()
                    } else {
                        "it has no axis z".into()
                    };
                    return Err(wrong(names));
                }
                if at >= extent {
                    return Err(wrong(format!("its points there are 0 to {}", extent - 1)));
                }
                axes.retain(|other| *other != axis);
                Some((axis, at))
            }
        };
        let extents: Vec<usize> =
            axes.iter().map(|axis| of.extents()[*axis].div_ceil(stride)).collect();
        Ok(Self { of, shape: Shape::new(&extents)?, slice, stride })
    }

    /// The extents of what is seen.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The first point that is seen, as (z, y, x) of the grid.
    #[must_use]
    pub fn first(&self) -> [usize; 3] {
        let mut first = [0; 3];
        if let Some((axis, at)) = self.slice {
            first[axis] = at;
        }
        first
    }

    /// The box of the grid that is seen, in whose order its values are; none if points in it are left out.
    #[must_use]
    pub fn region(&self) -> Option<Region> {
        let low = self.first().map(|at| at as isize);
        let cut = self.slice.map(|(axis, _)| axis);
        let high = std::array::from_fn(|axis| match cut == Some(axis) {
            true => low[axis] + 1,
            false => self.of.extents()[axis] as isize,
        });
        (self.stride == 1).then_some(Region { low, high })
    }

    /// Where its points lie, in a grid with these ways from a point to the next along (z, y, x).
    #[must_use]
    pub fn layout(&self, spacing: [f64; 3]) -> ViewLayout {
        let (cut, first) = (self.slice.map(|(axis, _)| axis), self.first());
        let seen = std::array::from_fn(|axis| axis + self.of.dims() >= 3 && cut != Some(axis));
        let extents = self.of.extents();
        let of_axis = |axis: usize| match seen[axis] {
            true => (extents[axis].div_ceil(self.stride), spacing[axis] * self.stride as f64),
            false => (1, spacing[axis]),
        };
        ViewLayout {
            extents: std::array::from_fn(|axis| of_axis(axis).0),
            spacing: std::array::from_fn(|axis| of_axis(axis).1),
            origin: std::array::from_fn(|axis| first[axis] as f64 * spacing[axis]),
            seen,
            cut,
        }
    }

    /// From a point that is seen to the next along each of its axes, as (z, y, x) of the grid.
    #[must_use]
    pub fn steps(&self) -> [[usize; 3]; 3] {
        let mut steps = [[0; 3]; 3];
        let own = (0..3).rev().filter(|axis| self.slice.is_none_or(|(cut, _)| cut != *axis));
        for (axis, own) in (0..3).rev().zip(own) {
            steps[axis][own] = self.stride;
        }
        steps
    }

    /// Hands on the values that are seen, in C order, in parts that `most_bytes` of the grid hold, or a single
    /// row. `read` gives the values of parts of the grid.
    ///
    /// # Errors
    /// `read` or `visit` fails.
    pub fn pieces<E>(
        &self,
        dtype: Dtype,
        most_bytes: usize,
        mut read: impl FnMut(Region) -> Result<Values, E>,
        mut visit: impl FnMut(Values) -> Result<(), E>,
    ) -> Result<(), E> {
        let spread = self.stride.saturating_pow(self.shape.dims() as u32);
        let most = (most_bytes / dtype.bytes() / spread).max(1);
        for piece in Region::pieces(self.shape, most) {
            let from = self.behind(piece);
            let values = read(from)?;
            visit(if self.stride == 1 { values } else { self.thinned(&values, from) })?;
        }
        Ok(())
    }

    /// The least box of the grid that holds the points of a box that is seen.
    fn behind(&self, seen: Region) -> Region {
        let stride = self.stride as isize;
        let mut from = Region { low: [0; 3], high: [1; 3] };
        let own = (0..3).filter(|axis| self.slice.is_none_or(|(cut, _)| cut != *axis));
        // The axes that are left, from the last one on: leading ones of both have one point.
        for (axis, own) in (0..3).rev().zip(own.collect::<Vec<_>>().into_iter().rev()) {
            from.low[own] = seen.low[axis] * stride;
            from.high[own] = (seen.high[axis] - 1) * stride + 1;
        }
        if let Some((axis, at)) = self.slice {
            (from.low[axis], from.high[axis]) = (at as isize, at as isize + 1);
        }
        from
    }

    /// Of the values of a box every k-th along each axis.
    fn thinned(&self, values: &Values, of: Region) -> Values {
        let ([nz, ny, nx], step) = (of.extents(), self.stride);
        let rows =
            (0..nz).step_by(step).flat_map(|z| (0..ny).step_by(step).map(move |y| z * ny + y));
        with_values!(values, values => {
            let row = |row: usize| values[row * nx..(row + 1) * nx].iter().step_by(step).copied();
            crate::values::Element::wrap(rows.flat_map(row).collect())
        })
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} of {}", self.shape, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    /// Of a grid of 3x5x7 whose values are their places 100 z + 10 y + x.
    fn seen(slice: Option<&str>, stride: usize, most_bytes: usize) -> (String, Vec<f64>) {
        let place = |i: usize| (i / 35 * 100 + i / 7 % 5 * 10 + i % 7) as f64;
        let grid = Grid::new(&[3, 5, 7], (0..105).map(place).collect::<Vec<f64>>()).unwrap();
        let slice = slice.map(|slice| slice.parse().unwrap());
        let view = View::new(grid.shape, slice, stride).unwrap();
        let mut all = Vec::new();
        let read = |region| Ok::<_, Error>(grid.read(region));
        let collect = |values| {
            let Values::F64(values) = values else { unreachable!("f64") };
            all.extend(values);
            Ok(())
        };
        view.pieces(Dtype::F64, most_bytes, read, collect).unwrap();
        let own = view.region().map(|region| grid.read(region));
        let seen = (stride == 1).then(|| Values::F64(all.clone()));
        assert_eq!(own, seen, "{slice:?}, {stride}");
        (view.shape().to_string(), all)
    }

    #[test]
    fn slices_and_strides_see_the_points_that_they_name() {
        for most in [1, 100, 1 << 20] {
            let (shape, values) = seen(None, 1, most);
            assert_eq!((shape.as_str(), values.len(), values[104]), ("3x5x7", 105, 246.0));
            let (shape, values) = seen(Some("z=2"), 3, most);
            assert_eq!(shape, "2x3");
            assert_eq!(values, [200.0, 203.0, 206.0, 230.0, 233.0, 236.0]);
            let (shape, values) = seen(Some("y"), 2, most);
            assert_eq!(shape, "2x4");
            assert_eq!(values, [20.0, 22.0, 24.0, 26.0, 220.0, 222.0, 224.0, 226.0]);
            let (shape, values) = seen(Some("x=6"), 2, most);
            assert_eq!((shape.as_str(), values), ("2x3", vec![6., 26., 46., 206., 226., 246.]));
            let (shape, values) = seen(None, 4, most);
            assert_eq!((shape.as_str(), values), ("1x2x2", vec![0.0, 4.0, 40.0, 44.0]));
        }
    }

    /// The value of a point of [`seen`] is its place, where a step along z is 100, along y 10.
    #[test]
    fn layouts_say_where_points_lie() {
        let grid = Shape::new(&[3, 5, 7]).unwrap();
        let slices = [None, Some("z"), Some("z=2"), Some("y=0"), Some("y=3"), Some("x=6")];
        for (slice, stride) in slices.into_iter().flat_map(|s| (1..=8).map(move |k| (s, k))) {
            let (shape, values) = seen(slice, stride, 1 << 20);
            let view = View::new(grid, slice.map(|slice| slice.parse().unwrap()), stride).unwrap();
            let ViewLayout { extents, spacing, origin, .. } = view.layout([100.0, 10.0, 1.0]);
            let at = |axis: usize, place: usize| origin[axis] + place as f64 * spacing[axis];
            let [nz, ny, nx] = extents;
            let places =
                (0..nz * ny * nx).map(|i| at(0, i / nx / ny) + at(1, i / nx % ny) + at(2, i % nx));
            assert_eq!(places.collect::<Vec<_>>(), values, "{slice:?}, stride {stride}");
            let own: Vec<String> =
                view.layout([1.0; 3]).axes().map(|axis| extents[axis].to_string()).collect();
            assert_eq!(own.join("x"), shape, "{slice:?}, stride {stride}");
        }
        // An axis that a grid lacks has one point, and is no axis of a view.
        let flat = View::new(Shape::new(&[5, 7]).unwrap(), None, 2).unwrap().layout([3.0; 3]);
        assert_eq!((flat.extents, flat.spacing), ([1, 3, 4], [3.0, 6.0, 6.0]));
        assert_eq!(flat.seen, [false, true, true]);
    }

    #[test]
    fn what_is_no_slice_is_refused() {
        let refused = |size: &str, slice: &str| {
            let slice = Some(slice.parse().unwrap());
            View::new(size.parse().unwrap(), slice, 1).unwrap_err().to_string()
        };
        let text = "slice z=9 of a grid of 9x9x9: its points there are 0 to 8";
        assert_eq!(refused("9x9x9", "z=9"), text);
        assert_eq!(refused("9x9", "z=0"), "slice z=0 of a grid of 9x9: it has no axis z");
        assert_eq!(refused("9", "x=1"), "slice x=1 of a grid of 9: its only axis is x");
        for wrong in ["", "4", "z=", "z=-1", "w=1"] {
            assert!(wrong.parse::<Slice>().unwrap_err().starts_with("give an axis"), "{wrong}");
        }
    }
}
