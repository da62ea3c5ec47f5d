// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps between the first and the last one of a pass, of one tile, in buffers that stay in the caches.
//!
//! The steps follow each other through the planes: step 2 computes a plane as soon as step 1 has the planes
//! that it needs, and so on. So of each step only as many planes are kept as the stencil reaches.
//!
//! Of the points beyond the tile a step computes those that later steps need: the fewer, the later it is. At an
//! end of the grid there are none, but the halo; where the grid is periodic, it simply goes on.

use std::ops::Range;

use crate::halo::{Edges, Window, copy};
use crate::padded::CACHE_LINE;
use crate::tiling::{Tiling, is_periodic};
use problem::Boundary;
use problem::boundary::{Image, NeighbourPlace};
use problem::values::Element;

/// Where a tile's points and those around it lie in buffers.
#[derive(Clone, Copy, Debug)]
pub struct TileBuffers {
    /// Extents of the grid, as (z, y, x).
    pub extents: [usize; 3],
    /// Reach of the stencil, as (z, y, x).
    pub reach: [usize; 3],
    /// Rows above and below the tile, and columns beside it, that steps need.
    above: usize,
    beside: usize,
    /// Columns before the tile's first one.
    left: usize,
    pitch: usize,
    /// Values of a plane.
    plane: usize,
    /// Planes of a step that are kept.
    planes: usize,
    /// And of those that are the same as one of them but for what is added.
    images: usize,
    /// Buffers that take turns.
    buffers: usize,
}

impl TileBuffers {
    /// For tiles of values of so many bytes each.
    pub fn new(
        boundary: &Boundary,
        extents: [usize; 3],
        reach: [usize; 3],
        tiling: &Tiling,
        bytes: usize,
    ) -> Self {
        let ([_, ty, tx], [rz, ry, rx]) = (tiling.tile, reach);
        let unit = CACHE_LINE / bytes;
        let (above, beside) = (tiling.depth * ry, tiling.depth * rx);
        let left = beside.next_multiple_of(unit);
        let pitch = (left + tx + beside).next_multiple_of(unit);
        let between = tiling.depth - 1;
        // Without planes to wait for, a step is needed by the next one only.
        let buffers = if rz == 0 { between.min(2) } else { between };
        let plane = (ty + 2 * above) * pitch;
        let images = beyond(extents[0], rz)
            .filter(|z| matches!(boundary.resolve(0, *z, extents[0]), NeighbourPlace::Inside(_, image) if !image.is_same()))
            .count();
        let planes = 2 * rz + 1;
        Self { extents, reach, above, beside, left, pitch, plane, planes, images, buffers }
    }

    /// Values that [`Steps`] holds at most.
    pub fn values(&self) -> usize {
        if self.buffers == 0 {
            return 0;
        }
        // What lies behind the ends of z has one value on each side.
        let constants = if self.planes == 1 { 0 } else { 2 };
        (self.buffers * (self.planes + self.images) + constants) * self.plane
            + (self.buffers + constants) * CACHE_LINE
    }
}

/// The coordinates beyond both ends of an axis of so many points, as far as a stencil reaches.
fn beyond(extent: usize, reach: usize) -> impl Iterator<Item = isize> {
    let (n, r) = (extent as isize, reach as isize);
    (-r..0).chain(n..n + r)
}

/// A plane behind an end of the grid.
enum PlaneBeyond {
    /// It is the same as this one of the grid.
    Plane(usize),
    /// It is the one of this number of those that are made of one of the grid.
    Image(usize),
    /// It is the constant plane of this number.
    Constant(usize),
}

/// Planes in a buffer, the first one at a cache line.
#[derive(Default)]
struct Planes<T> {
    skipped: usize,
    values: Vec<T>,
}

impl<T: Element> Planes<T> {
    /// With no numbers in them, so that points that are forgotten cannot pass for results.
    fn new(values: usize) -> Self {
        let unit = CACHE_LINE / size_of::<T>();
        let values = vec![T::from_f64(f64::NAN); values + unit];
        let skipped = values.as_ptr().align_offset(CACHE_LINE);
        Self { skipped, values }
    }

    fn get(&self, number: usize, size: usize) -> &[T] {
        &self.values[self.skipped + number * size..][..size]
    }

    fn get_mut(&mut self, number: usize, size: usize) -> &mut [T] {
        &mut self.values[self.skipped + number * size..][..size]
    }
}

/// The buffers of the steps in between; used for one tile after the other.
pub struct Steps<T> {
    room: TileBuffers,
    /// Of each step, or of every second one.
    buffers: Vec<Planes<T>>,
    constants: Vec<Planes<T>>,
}

/// A tile in its place.
pub struct PlacedTile<T> {
    low: [usize; 3],
    /// The part of its halo that follows its points.
    edges: Edges<T>,
    /// The other part.
    fixed: Edges<T>,
    /// The planes before the first of the grid, as far as the stencil reaches, and those behind the last; a
    /// periodic grid goes on.
    ends: Option<[Vec<PlaneBeyond>; 2]>,
    /// Of each plane that is made of one of the grid, that one, and what becomes of its values.
    images: Vec<(isize, Image)>,
}

impl<T: Element> Steps<T> {
    /// Of tiles that fit the room.
    pub fn new(room: TileBuffers) -> Self {
        let values = (room.planes + room.images) * room.plane;
        let buffers = (0..room.buffers).map(|_| Planes::new(values)).collect();
        Self { room, buffers, constants: Vec::new() }
    }

    /// Values that it holds.
    #[cfg(test)]
    pub fn values(&self) -> usize {
        self.buffers.iter().chain(&self.constants).map(|planes| planes.values.len()).sum()
    }

    /// Prepares them for a tile.
    pub fn place(
        &mut self,
        boundary: &Boundary,
        low: [usize; 3],
        high: [usize; 3],
    ) -> PlacedTile<T> {
        let TileBuffers { extents, reach, above, beside, left, pitch, plane, planes, .. } =
            self.room;
        let window = |axis: usize, around: usize, at: usize| {
            let (n, r) = (extents[axis] as isize, reach[axis] as isize);
            let ends = if is_periodic(boundary, axis) { 0..n } else { -r..n + r };
            let start = low[axis] as isize - around as isize;
            let coordinates = start.max(ends.start)..ends.end.min((high[axis] + around) as isize);
            let at = at.strict_add_signed(coordinates.start - low[axis] as isize);
            Window { coordinates, at }
        };
        let windows = [window(1, above, above), window(2, beside, left)];
        let edges = Edges::new(boundary, extents, pitch, &windows);
        let (nz, rz) = (extents[0] as isize, reach[0] as isize);
        let (mut values, mut images) = (Vec::<f64>::new(), Vec::new());
        let mut beyond = |z: isize| match boundary.resolve(0, z, extents[0]) {
            NeighbourPlace::Inside(z, image) if image.is_same() => PlaneBeyond::Plane(z),
            NeighbourPlace::Inside(z, image) => {
                images.push((z as isize, image));
                PlaneBeyond::Image(images.len() - 1)
            }
            NeighbourPlace::Value(value) => {
                let known = values.iter().position(|known| known.to_bits() == value.to_bits());
                PlaneBeyond::Constant(known.unwrap_or_else(|| {
                    values.push(value);
                    values.len() - 1
                }))
            }
        };
        let mut all = |range: Range<isize>| range.map(&mut beyond).collect();
        let ends = (!is_periodic(boundary, 0)).then(|| [all(-rz..0), all(nz..nz + rz)]);
        while self.constants.len() < values.len() {
            self.constants.push(Planes::new(plane));
        }
        for (constant, value) in self.constants.iter_mut().zip(values) {
            edges.fill_plane(constant.get_mut(0, plane), T::from_f64(value));
        }
        let [fixed, edges] = edges.split();
        for buffer in &mut self.buffers {
            (0..planes).for_each(|number| fixed.close_all(buffer.get_mut(number, plane)));
        }
        PlacedTile { low, edges, fixed, ends, images }
    }

    /// Where a point lies in its plane.
    pub fn at(&self, tile: &PlacedTile<T>, y: isize, x: isize) -> usize {
        let [_, y0, x0] = tile.low.map(|low| low as isize);
        let row = self.room.above.strict_add_signed(y - y0);
        row * self.room.pitch + self.room.left.strict_add_signed(x - x0)
    }

    /// Distance between rows.
    pub fn pitch(&self) -> usize {
        self.room.pitch
    }

    /// Step `step` in one plane: `compute` fills its rows from the planes of the step before, which there are
    /// none of before the first.
    pub fn step(
        &mut self,
        tile: &PlacedTile<T>,
        step: usize,
        z: isize,
        [rows, columns]: [&Range<isize>; 2],
        compute: impl FnOnce(&[&[T]], &mut [&mut [T]]),
    ) {
        let TileBuffers { pitch, plane: size, above, planes, .. } = self.room;
        let first = self.at(tile, rows.start, columns.start);
        let slot = z.rem_euclid(planes as isize) as usize;
        let number = (step - 1) % self.buffers.len();
        let mut buffer = std::mem::take(&mut self.buffers[number]);
        let plane = buffer.get_mut(slot, size);
        {
            let width = columns.len();
            let mut to: Vec<&mut [T]> = plane[first..]
                .chunks_mut(pitch)
                .take(rows.len())
                .map(|row| &mut row[..width])
                .collect();
            let before = if step == 1 { Vec::new() } else { self.planes(tile, step - 1, z) };
            compute(&before, &mut to);
        }
        let first = above.strict_add_signed(rows.start - tile.low[1] as isize);
        if tile.edges.has_columns() {
            for row in plane[first * pitch..].chunks_mut(pitch).take(rows.len()) {
                tile.edges.close_row(row);
            }
        }
        tile.edges.close_plane(plane);
        for (place, (_, image)) in tile.images.iter().enumerate().filter(|(_, (of, _))| *of == z) {
            let values = buffer.get_mut(0, (planes + self.room.images) * size);
            copy(values, slot * size..(slot + 1) * size, (planes + place) * size, *image);
            let plane = buffer.get_mut(planes + place, size);
            tile.fixed.close_all(plane);
            tile.edges.close_all(plane);
        }
        self.buffers[number] = buffer;
    }

    /// The planes of a step that the next one computes a plane from.
    pub fn planes<'a>(&'a self, tile: &PlacedTile<T>, step: usize, z: isize) -> Vec<&'a [T]> {
        let TileBuffers { extents, reach, plane: size, planes, .. } = self.room;
        let (nz, rz) = (extents[0] as isize, reach[0] as isize);
        let buffer = &self.buffers[(step - 1) % self.buffers.len()];
        let kept = |z: isize| buffer.get(z.rem_euclid(planes as isize) as usize, size);
        let beyond = |beyond: &PlaneBeyond| match beyond {
            PlaneBeyond::Plane(z) => kept(*z as isize),
            PlaneBeyond::Image(number) => buffer.get(planes + number, size),
            PlaneBeyond::Constant(number) => self.constants[*number].get(0, size),
        };
        let plane = |z: isize| match &tile.ends {
            Some([before, _]) if z < 0 => beyond(&before[(z + rz) as usize]),
            Some([_, behind]) if z >= nz => beyond(&behind[(z - nz) as usize]),
            _ => kept(z),
        };
        (z - rz..=z + rz).map(plane).collect()
    }
}
