// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid in a halo, which holds what lies outside: so that every neighbour of every point can be read at a
//! constant distance, whatever the sizes.

use rayon::prelude::*;

use problem::Shape;
use problem::region::Region;
use problem::values::Element;

/// The unit in which caches are filled, in bytes.
pub const CACHE_LINE: usize = 64;

/// Values behind the last plane that may be read: blocks of vectors may end behind a row.
const BEHIND: usize = 128;

/// Points of a grid and its halo, at most.
pub fn points(shape: Shape, margins: [usize; 3]) -> u128 {
    let [nz, ny, nx] = shape.extents();
    let [mz, my, mx] = margins;
    let row = nx + 2 * mx + 2 * alignment(nx);
    (nz + 2 * mz) as u128 * (ny + 2 * my) as u128 * row as u128 + BEHIND as u128
}

/// Rows start at a cache line, in bytes, unless they are so short that it would waste memory.
fn alignment(row: usize) -> usize {
    if row < 128 { 8 } else { CACHE_LINE }
}

/// Where the points of a grid and its halo lie in memory.
///
/// Rows are numbered from the grid's first one, through all planes: those of the halo above and
/// below a plane of the grid have numbers too, those before the first row have not.
#[derive(Clone, Copy)]
pub struct PaddedLayout {
    /// Extents of the grid, as (z, y, x).
    pub extents: [usize; 3],
    /// The width of the halo along each axis.
    pub margins: [usize; 3],
    /// The grid's first point in a row; the halo's points lie just before it.
    pub left: usize,
    /// Distance between rows.
    pub pitch: usize,
}

impl PaddedLayout {
    /// The layout of a grid of values of `bytes` bytes each.
    pub fn new(shape: Shape, margins: [usize; 3], bytes: usize) -> Self {
        let ([_, _, nx], [_, _, mx]) = (shape.extents(), margins);
        let unit = alignment(nx) / bytes;
        let left = mx.next_multiple_of(unit);
        let pitch = (left + nx + mx).next_multiple_of(unit);
        Self { extents: shape.extents(), margins, left, pitch }
    }

    /// The layout with at least so many values between a row's halo and the next row, each of `bytes` bytes.
    #[must_use]
    pub fn apart(mut self, values: usize, bytes: usize) -> Self {
        let [_, _, nx] = self.extents;
        let used = self.left + nx + self.margins[2] + values;
        self.pitch = used.next_multiple_of(alignment(nx) / bytes);
        self
    }

    /// Planes, with those of the halo.
    pub fn planes(&self) -> usize {
        self.extents[0] + 2 * self.margins[0]
    }

    /// Where a point of the grid or its halo lies in its plane.
    pub fn at(&self, y: isize, x: isize) -> usize {
        let [_, my, _] = self.margins;
        my.strict_add_signed(y) * self.pitch + self.left.strict_add_signed(x)
    }

    /// Rows of a plane, with those of its halo.
    pub fn plane_rows(&self) -> usize {
        self.extents[1] + 2 * self.margins[1]
    }

    /// Distance between planes.
    pub fn plane(&self) -> usize {
        self.plane_rows() * self.pitch
    }

    /// The number of the row at (z, y) in the grid.
    pub fn number(&self, z: usize, y: usize) -> usize {
        z * self.plane_rows() + y
    }

    /// Whether a row is of the grid, not of the halo.
    pub fn is_inside(&self, number: usize) -> bool {
        number % self.plane_rows() < self.extents[1]
    }

    /// Rows from the grid's first to its last.
    pub fn rows(&self) -> usize {
        self.number(self.extents[0] - 1, self.extents[1])
    }
}

/// A grid in its halo.
pub struct Padded<T> {
    layout: PaddedLayout,
    /// Values before the first that lies at a multiple of the alignment.
    skipped: usize,
    /// The values of grid and halo.
    values: Vec<T>,
}

impl<T: Element> Padded<T> {
    /// A grid of zeros in a halo of zeros.
    pub fn new(layout: PaddedLayout) -> Self {
        Self::staggered(layout, 0)
    }

    /// One that begins so many lines of the cache after a place that arrays begin at. Where many arrays are read at the same
    /// point, lines of a first-level cache would all have to hold what begins at one place of a page.
    pub fn staggered(layout: PaddedLayout, lines: usize) -> Self {
        let unit = alignment(layout.extents[2]) / size_of::<T>();
        let more = lines * CACHE_LINE / size_of::<T>();
        let length = layout.planes() * layout.plane() + unit + more + BEHIND;
        // Not touched before the threads do, each its part.
        let values: Vec<T> = bytemuck::zeroed_vec(length);
        let skipped = values.as_ptr().align_offset(unit * size_of::<T>()) + more;
        Self { layout, skipped, values }
    }

    /// All planes, with those of the halo.
    pub fn planes(&self) -> &[T] {
        &self.values[self.skipped..][..self.layout.planes() * self.layout.plane()]
    }

    /// All values from a place on, counted from the first plane's first: those behind the last plane are any.
    pub fn from(&self, place: usize) -> &[T] {
        &self.values[self.skipped + place..]
    }

    /// All values from the first plane's first on: those behind the last plane are any.
    pub fn all_mut(&mut self) -> &mut [T] {
        &mut self.values[self.skipped..]
    }

    /// As many values as the grid has points, for a copy to be timed.
    pub fn any_values(&mut self) -> &mut [T] {
        let points = self.layout.extents.iter().product();
        &mut self.values[..points]
    }

    /// Index of a row's first value, which belongs to the halo or lies before it.
    fn start(&self, number: usize) -> usize {
        let [mz, my, _] = self.layout.margins;
        self.skipped + (mz * self.layout.plane_rows() + my + number) * self.layout.pitch
    }

    /// The rows from the grid's first to its last, with the halo on their left and right.
    pub fn rows_mut(&mut self) -> &mut [T] {
        let (start, end) = (self.start(0), self.start(self.layout.rows()));
        &mut self.values[start..end]
    }

    /// All planes, with those of the halo.
    pub fn planes_mut(&mut self) -> &mut [T] {
        &mut self.values[self.skipped..][..self.layout.planes() * self.layout.plane()]
    }

    /// Runs `apply` on the rows of the grid, each with its number and with the halo on its left and
    /// right.
    pub fn for_rows(&mut self, apply: impl Fn(usize, &mut [T]) + Sync + Send) {
        let layout = self.layout;
        let rows = self.rows_mut().par_chunks_mut(layout.pitch).enumerate();
        rows.filter(|(number, _)| layout.is_inside(*number)).for_each(|(n, row)| apply(n, row));
    }

    /// Sets every point of the grid to one value.
    pub fn fill(&mut self, value: T) {
        let PaddedLayout { left, extents: [_, _, nx], .. } = self.layout;
        self.for_rows(|_, row| row[left..left + nx].fill(value));
    }

    /// Takes the values of a grid in C order.
    pub fn set(&mut self, from: &[T]) {
        self.take(from, |value| value);
    }

    /// Takes the values of a grid in C order, each made one of this type.
    pub fn take<E: Element>(&mut self, from: &[E], made: impl Fn(E) -> T + Sync + Send) {
        let PaddedLayout { left, extents: [_, ny, nx], .. } = self.layout;
        let plane_rows = self.layout.plane_rows();
        self.for_rows(|number, row| {
            let (z, y) = (number / plane_rows, number % plane_rows);
            let from = &from[(z * ny + y) * nx..][..nx];
            row[left..left + nx].iter_mut().zip(from).for_each(|(to, from)| *to = made(*from));
        });
    }

    /// Gives the values of the grid in C order, each made one of another type.
    pub fn give<E: Element>(&self, to: &mut [E], made: impl Fn(T) -> E + Sync + Send) {
        let PaddedLayout { left, extents: [_, ny, nx], .. } = self.layout;
        to.par_chunks_mut(nx).enumerate().for_each(|(number, to)| {
            let from = self.start(self.layout.number(number / ny, number % ny)) + left;
            let from = &self.values[from..from + nx];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = made(*from));
        });
    }

    /// Takes over the whole of another of the same layout.
    pub fn clone_from(&mut self, other: &Self) {
        self.planes_mut().copy_from_slice(other.planes());
    }

    /// Takes the values of a box of the grid in C order.
    pub fn put(&mut self, region: Region, values: &[T]) {
        let [_, rows, columns] = region.extents();
        let [z, y, x] = region.low.map(|low| low as usize);
        for (row, from) in values.chunks(columns).enumerate() {
            let start = self.start(self.layout.number(z + row / rows, y + row % rows));
            let start = start + self.layout.left + x;
            self.values[start..start + columns].copy_from_slice(from);
        }
    }

    /// A box of the grid in C order.
    pub fn get(&self, region: Region) -> Vec<T> {
        let [_, rows, columns] = region.extents();
        let [z, y, x] = region.low.map(|low| low as usize);
        let mut values = bytemuck::zeroed_vec(region.points());
        values.par_chunks_mut(columns).enumerate().for_each(|(row, to): (_, &mut [T])| {
            let start = self.start(self.layout.number(z + row / rows, y + row % rows));
            let start = start + self.layout.left + x;
            to.copy_from_slice(&self.values[start..start + columns]);
        });
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [(&str, [usize; 3]); 4] =
        [("1", [0, 0, 3]), ("70x2100", [0, 2, 1]), ("3x40x5", [2, 1, 3]), ("2x3x130", [1, 0, 0])];

    #[test]
    fn rows_cover_every_point_once_and_nothing_else() {
        for (size, radii) in CASES {
            let shape: Shape = size.parse().unwrap();
            let layout = PaddedLayout::new(shape, radii, size_of::<f32>());
            let mut grid = Padded::<f32>::new(layout);
            grid.fill(1.0);
            assert_eq!(grid.values.iter().sum::<f32>(), shape.points() as f32, "{size}");
            assert!(grid.get(Region::whole(shape)).iter().all(|&value| value == 1.0), "{size}");
        }
    }

    #[test]
    fn a_grid_comes_back_as_it_was_set() {
        for (size, radii) in CASES {
            let shape: Shape = size.parse().unwrap();
            let values: Vec<f64> = (0..shape.points()).map(|index| index as f64).collect();
            let mut grid = Padded::new(PaddedLayout::new(shape, radii, size_of::<f64>()));
            grid.set(&values);
            assert_eq!(grid.get(Region::whole(shape)), values);
        }
    }

    #[test]
    fn a_box_of_a_grid_is_read() {
        let shape: Shape = "2x33x1030".parse().unwrap();
        let values: Vec<f64> = (0..shape.points()).map(|index| index as f64).collect();
        let mut grid = Padded::new(PaddedLayout::new(shape, [1, 2, 3], size_of::<f64>()));
        grid.set(&values);
        // Element (z, y, x) is 33 · 1030 z + 1030 y + x.
        let region = Region { low: [1, 30, 1027], high: [2, 32, 1029] };
        let row = |y: usize| [1027.0, 1028.0].map(|x| (1030 * (33 + y)) as f64 + x);
        assert_eq!(grid.get(region), [row(30), row(31)].concat());
    }

    #[test]
    fn no_buffer_is_larger_than_what_is_checked() {
        for (size, radii) in CASES {
            let shape: Shape = size.parse().unwrap();
            let grid = Padded::<half::f16>::new(PaddedLayout::new(shape, radii, 2));
            assert!(grid.values.len() as u128 <= points(shape, radii), "{size}");
        }
    }
}
