// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the tiles of a kernel meet: the points most likely to be wrong.

/// Coordinates at which one tile ends and the next begins, of each axis (z, y, x): those of the first
/// points behind the seams. Of many equal tiles it holds the first seam, one in the middle and the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seams {
    axes: [Vec<usize>; 3],
}

impl Seams {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// And those of tiles of `size` points along an axis of `extent` points, from its start on.
    #[must_use]
    pub fn every(self, axis: usize, size: usize, extent: usize) -> Self {
        self.spaced(axis, size, size, extent)
    }

    /// And `first`, and from there on every so many points, along an axis of `extent` points.
    #[must_use]
    pub fn spaced(self, axis: usize, first: usize, distance: usize, extent: usize) -> Self {
        if first >= extent || distance == 0 {
            return self;
        }
        let last = (extent - 1 - first) / distance;
        let chosen = [0, last / 2, last].map(|tile| first + tile * distance);
        chosen.into_iter().fold(self, |seams, seam| seams.at(axis, seam, extent))
    }

    /// And one in front of a coordinate of an axis of `extent` points, if both sides lie in the grid.
    #[must_use]
    pub fn at(mut self, axis: usize, coordinate: usize, extent: usize) -> Self {
        let known = &mut self.axes[axis];
        let place = known.binary_search(&coordinate);
        if let (true, Err(place)) = ((1..extent).contains(&coordinate), place) {
            known.insert(place, coordinate);
        }
        self
    }

    /// These and others.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (own, others) in self.axes.iter_mut().zip(&other.axes) {
            own.extend(others);
            own.sort_unstable();
            own.dedup();
        }
        self
    }

    /// The coordinates of the seams along an axis, in order.
    #[must_use]
    pub fn along(&self, axis: usize) -> &[usize] {
        &self.axes[axis]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_tiles_the_first_the_middle_and_the_last_seam_count() {
        let along_x = |size, extent| Seams::none().every(2, size, extent).along(2).to_vec();
        assert_eq!(along_x(512, 10240), [512, 5120, 9728]);
        assert_eq!(along_x(512, 10241), [512, 5120, 10240]);
        assert_eq!(Seams::none().spaced(1, 11, 10, 33).along(1), [11, 21, 31]);
        assert_eq!(Seams::none().spaced(1, 11, 10, 11).along(1), [0; 0]);
        assert_eq!(along_x(512, 1024), [512]);
        assert_eq!(along_x(512, 1025), [512, 1024]);
        assert_eq!(along_x(512, 512), [0; 0]);
        assert_eq!(along_x(1, 1), [0; 0]);
        assert_eq!(along_x(0, 100), [0; 0]);
    }

    #[test]
    fn seams_of_several_launches_are_those_of_each() {
        let one = Seams::none().every(1, 18, 40).at(2, 488, 1000).at(2, 0, 1000);
        let both = one.and(&Seams::none().every(1, 26, 40).at(2, 488, 1000).at(0, 3, 3));
        assert_eq!(both.along(1), [18, 26, 36]);
        assert_eq!((both.along(2), both.along(0)), ([488].as_slice(), [0; 0].as_slice()));
    }
}
