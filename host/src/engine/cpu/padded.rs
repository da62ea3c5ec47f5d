// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid in a frame as wide as the stencil reaches, which holds what lies outside: so that every
//! neighbour of every point can be read at a constant distance, whatever the sizes.

use std::hint::black_box;

use rayon::prelude::*;

use crate::boundary::Place;
use crate::grid::Element;
use crate::region::Region;
use crate::{Boundary, Shape};

/// Rows of a tile: enough that the halo rows above and below are a small part of what is read.
pub const TILE_ROWS: usize = 16;
/// Grids up to this many bytes stay in the caches from step to step.
const CACHED: usize = 1 << 20;
/// The unit in which caches are filled, in bytes.
const CACHE_LINE: usize = 64;

/// Points of a grid and its frame, at most.
pub fn points(shape: Shape, radii: [usize; 3]) -> u128 {
    let [nz, ny, nx] = shape.extents();
    let [rz, ry, rx] = radii;
    let row = nx + 2 * rx + 2 * alignment(nx);
    (nz + 2 * rz) as u128 * (ny + 2 * ry) as u128 * row as u128
}

/// Rows start at a cache line, in bytes, unless they are so short that it would waste memory.
fn alignment(row: usize) -> usize {
    if row < 128 { 8 } else { CACHE_LINE }
}

/// A grid in its frame.
pub struct Padded<T> {
    extents: [usize; 3],
    radii: [usize; 3],
    /// Distance between rows, in points.
    pub pitch: usize,
    /// Distance between planes, in points.
    pub plane: usize,
    /// Index of the first point of the grid.
    origin: usize,
    /// Columns of a tile.
    tile: usize,
    /// The values of grid and frame.
    pub values: Vec<T>,
}

/// Part of a plane, to be written by one thread.
pub struct Tile<'a, T> {
    /// Grid position (z, y, x) of its first point.
    pub at: [usize; 3],
    /// Its rows.
    pub rows: Vec<&'a mut [T]>,
}

impl<T: Element> Padded<T> {
    /// A grid of zeros, to be cut into tiles of `tile` columns.
    pub fn new(shape: Shape, radii: [usize; 3], tile: usize) -> Self {
        let ([nz, ny, nx], [rz, ry, rx]) = (shape.extents(), radii);
        let unit = alignment(nx) / size_of::<T>();
        let left = rx.next_multiple_of(unit);
        let pitch = (left + nx + rx).next_multiple_of(unit);
        let plane = pitch * (ny + 2 * ry);
        let values = vec![T::default(); plane * (nz + 2 * rz) + rx + unit];
        let skipped = values.as_ptr().align_offset(unit * size_of::<T>());
        let origin = skipped + rz * plane + ry * pitch + left;
        Self { extents: shape.extents(), radii, pitch, plane, origin, tile, values }
    }

    /// Index of a grid point.
    pub fn index(&self, [z, y, x]: [usize; 3]) -> usize {
        self.origin + z * self.plane + y * self.pitch + x
    }

    /// Index of the first neighbour of a grid point, in the corner of a box of the stencil's radii.
    pub fn corner(&self, at: [usize; 3]) -> usize {
        let [rz, ry, rx] = self.radii;
        self.index(at) - rz * self.plane - ry * self.pitch - rx
    }

    /// Sets the frame to what lies around the grid; the rule of x comes first, so it is the last.
    pub fn surround(&mut self, boundary: &Boundary) {
        let [nz, ny, nx] = self.extents.map(|extent| extent as isize);
        let [rz, ry, rx] = self.radii.map(|radius| radius as isize);
        let outside = |r: isize, n: isize| (-r..0).chain(n..n + r);
        let index = |z: isize, y: isize, x: isize| {
            let at = z * self.plane as isize + y * self.pitch as isize + x;
            self.origin.wrapping_add_signed(at)
        };
        let place = |axis: usize, at: isize| match boundary.resolve(axis, at, self.extents[axis]) {
            Place::Inside(at) => Ok(at as isize),
            Place::Value(value) => Err(T::from_f64(value)),
        };
        let values = &mut self.values;
        let mut row = |to: usize, from: Result<usize, T>| match from {
            Ok(from) => values.copy_within(from..from + nx as usize, to),
            Err(value) => values[to..to + nx as usize].fill(value),
        };
        for z in outside(rz, nz) {
            for y in 0..ny {
                row(index(z, y, 0), place(0, z).map(|from| index(from, y, 0)));
            }
        }
        for z in -rz..nz + rz {
            for y in outside(ry, ny) {
                row(index(z, y, 0), place(1, y).map(|from| index(z, from, 0)));
            }
        }
        let columns: Vec<_> = outside(rx, nx).map(|x| (x, place(2, x))).collect();
        for (z, y) in (-rz..nz + rz).flat_map(|z| (-ry..ny + ry).map(move |y| (z, y))) {
            for &(x, from) in &columns {
                values[index(z, y, x)] = from.map_or_else(|v| v, |from| values[index(z, y, from)]);
            }
        }
    }

    /// Brings the neighbours of a tile into the cache: it reads one value of each line in quick
    /// succession, so that many are on their way at once. A sweep by itself waits for one after the
    /// other, since it has too much arithmetic to do in between.
    pub fn fetch(&self, at: [usize; 3], rows: usize, columns: usize) {
        if size_of_val(self.values.as_slice()) <= CACHED {
            return;
        }
        let [rz, ry, rx] = self.radii;
        let corner = self.corner(at);
        let rows = (0..=2 * rz).flat_map(|z| (0..rows + 2 * ry).map(move |y| (z, y)));
        for start in rows.map(|(z, y)| corner + z * self.plane + y * self.pitch) {
            let row = &self.values[start..start + columns + 2 * rx];
            row.iter().step_by(CACHE_LINE / size_of::<T>()).for_each(|value| {
                black_box(*value);
            });
        }
    }

    /// The grid in tiles, without its frame.
    pub fn tiles(&mut self) -> Vec<Tile<'_, T>> {
        let ([nz, ny, nx], width) = (self.extents, self.tile);
        let mut tiles = Vec::new();
        for (z, plane) in self.values[self.origin..].chunks_mut(self.plane).take(nz).enumerate() {
            for (y, row) in plane.chunks_mut(self.pitch).take(ny).enumerate() {
                let columns = nx.div_ceil(width);
                if y % TILE_ROWS == 0 {
                    let corner = |column| [z, y, column * width];
                    let rows = || Vec::with_capacity(TILE_ROWS.min(ny - y));
                    tiles.extend((0..columns).map(|c| Tile { at: corner(c), rows: rows() }));
                }
                let open = tiles.len() - columns;
                let segments = row[..nx].chunks_mut(width);
                tiles[open..].iter_mut().zip(segments).for_each(|(tile, s)| tile.rows.push(s));
            }
        }
        tiles
    }

    /// Sets every point of the grid to one value.
    pub fn fill(&mut self, value: T) {
        let fill = |mut tile: Tile<T>| tile.rows.iter_mut().for_each(|row| row.fill(value));
        self.tiles().into_par_iter().for_each(fill);
    }

    /// Takes the values of a grid in C order.
    pub fn set(&mut self, from: &[T]) {
        let [_, ny, nx] = self.extents;
        self.tiles().into_par_iter().for_each(|mut tile| {
            let [z, y, x] = tile.at;
            for (row, to) in tile.rows.iter_mut().enumerate() {
                let start = (z * ny + y + row) * nx + x;
                to.copy_from_slice(&from[start..start + to.len()]);
            }
        });
    }

    /// A box of the grid in C order.
    pub fn get(&self, region: Region) -> Vec<T> {
        let [_, rows, columns] = region.extents();
        let [z, y, x] = region.low.map(|low| low as usize);
        let mut values = vec![T::default(); region.points()];
        values.par_chunks_mut(columns).enumerate().for_each(|(row, to)| {
            let start = self.index([z + row / rows, y + row % rows, x]);
            to.copy_from_slice(&self.values[start..start + columns]);
        });
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_point_once_and_nothing_else() {
        for (size, radii) in [("1", [0, 0, 3]), ("70x2100", [0, 2, 1]), ("3x40x5", [2, 1, 3])] {
            let shape: Shape = size.parse().unwrap();
            let mut grid = Padded::<f32>::new(shape, radii, 512);
            for mut tile in grid.tiles() {
                tile.rows.iter_mut().flat_map(|row| row.iter_mut()).for_each(|v| *v += 1.0);
            }
            assert_eq!(grid.values.iter().sum::<f32>(), shape.points() as f32, "{size}");
            assert!(grid.get(Region::whole(shape)).iter().all(|&value| value == 1.0), "{size}");
        }
    }

    #[test]
    fn a_grid_comes_back_as_it_was_set() {
        let shape: Shape = "2x33x1030".parse().unwrap();
        let values: Vec<f64> = (0..shape.points()).map(|index| index as f64).collect();
        let mut grid = Padded::new(shape, [1, 2, 3], 1000);
        grid.set(&values);
        assert_eq!(grid.get(Region::whole(shape)), values);
        // Element (z, y, x) is 33 · 1030 z + 1030 y + x.
        let region = Region { low: [1, 30, 1027], high: [2, 32, 1029] };
        let row = |y: usize| [1027.0, 1028.0].map(|x| (1030 * (33 + y)) as f64 + x);
        assert_eq!(grid.get(region), [row(30), row(31)].concat());
    }
}
