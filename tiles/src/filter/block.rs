// SPDX-License-Identifier: MIT OR Apache-2.0
//! All sums of one block.

use fearless_simd::Level;

use super::axis::Axis;
use super::values::{Value, as_same, as_same_mut};
use super::{Number, Sums};
use crate::at_level;
use crate::storage::ROWS;

/// The values of an array as factors.
pub trait Rows<C>: Sync {
    /// Those from a place on.
    fn read(&self, at: usize, to: &mut [C], level: Level);
    fn value(&self, at: usize) -> C;
    /// The array itself, if it has the type of the factors.
    fn plain(&self) -> Option<&[C]>;
}

impl<C: Number, I: Value> Rows<C> for &[I] {
    fn read(&self, at: usize, to: &mut [C], level: Level) {
        let from = &self[at..at + to.len()];
        match as_same::<I, C>(from) {
            Some(from) => to.copy_from_slice(from),
            None => at_level!(level, _simd => {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = C::of(*from);
                }
            }),
        }
    }

    fn value(&self, at: usize) -> C {
        C::of(self[at])
    }

    fn plain(&self) -> Option<&[C]> {
        as_same(self)
    }
}

/// A block of the output.
pub struct Part<'a, O> {
    pub low: [usize; 3],
    pub high: [usize; 3],
    pub rows: Vec<&'a mut [O]>,
}

/// A stage, ready to be computed.
pub struct Shaped<C> {
    pub sum: Box<dyn Sums<C>>,
    /// How far it reaches to both sides of a point that lies so far away.
    pub reach: [usize; 3],
    pub shift: [isize; 3],
    pub divisor: f64,
}

/// All stages.
pub struct Chain<C> {
    pub extents: [usize; 3],
    pub axes: [Axis; 3],
    /// Of all stages together.
    pub reach: [usize; 3],
    pub shift: [isize; 3],
    pub stages: Vec<Shaped<C>>,
}

/// Values of a block, before a stage and behind it.
pub struct Scratch<C> {
    from: Vec<C>,
    to: Vec<C>,
}

impl<C> Default for Scratch<C> {
    fn default() -> Self {
        Self { from: Vec::new(), to: Vec::new() }
    }
}

/// A box of coordinates, which may be outside the array.
#[derive(Clone, Copy)]
struct Region {
    low: [isize; 3],
    high: [isize; 3],
}

impl Region {
    fn extents(&self) -> [usize; 3] {
        std::array::from_fn(|axis| (self.high[axis] - self.low[axis]) as usize)
    }

    /// What a stage makes of it.
    fn after<C>(&self, stage: &Shaped<C>) -> Self {
        let moved = |from: [isize; 3], sign: isize| {
            std::array::from_fn(|axis| {
                from[axis] + sign * stage.reach[axis] as isize - stage.shift[axis]
            })
        };
        Self { low: moved(self.low, 1), high: moved(self.high, -1) }
    }
}

impl<C: Number> Chain<C> {
    /// Computes a block.
    pub fn part<O: Value>(
        &self,
        source: &dyn Rows<C>,
        mut part: Part<O>,
        scratch: &mut Scratch<C>,
    ) {
        let reached = |from: [usize; 3], sign: isize| {
            std::array::from_fn(|axis| {
                from[axis] as isize + self.shift[axis] + sign * self.reach[axis] as isize
            })
        };
        let mut region = Region { low: reached(part.low, -1), high: reached(part.high, 1) };
        let level = Level::new();
        let is_inside = (0..3)
            .all(|axis| region.low[axis] >= 0 && region.high[axis] <= self.extents[axis] as isize);
        let mut direct = source.plain().filter(|_| is_inside);
        if direct.is_none() {
            self.load(source, region, &mut scratch.from, level);
        }
        for (number, stage) in self.stages.iter().enumerate() {
            let after = region.after(stage);
            let ([nz, ny, nx], [_, wy, wx]) = (region.extents(), after.extents());
            let (values, pitch, plane, first, ahead) = match direct.take() {
                Some(values) => {
                    let [_, py, px] = self.extents;
                    let [z, y, x] = region.low.map(|it| it as usize);
                    let ahead = (ROWS + stage.reach[1]) * px;
                    (values, px, py * px, (z * py + y) * px + x, ahead)
                }
                None => (&scratch.from[..], nx, ny * nx, 0, 0),
            };
            let planes: Vec<&[C]> = (0..nz).map(|z| &values[first + z * plane..]).collect();
            let [rz, ry, rx] = stage.reach;
            let origin = ry * pitch + rx;
            let compute = |to: &mut [&mut [C]]| {
                for (z, to) in to.chunks_mut(wy).enumerate() {
                    stage.sum.rows(&planes[z..=z + 2 * rz], pitch, origin, ahead, to);
                }
                if stage.divisor != 1.0 {
                    for row in to {
                        let values = &mut **row;
                        at_level!(level, _simd => {
                            for value in values.iter_mut() {
                                *value = value.divide(stage.divisor);
                            }
                        });
                    }
                }
            };
            let is_last = number + 1 == self.stages.len();
            if is_last {
                if let Some(mut rows) = same_rows(&mut part.rows) {
                    compute(&mut rows);
                    return;
                }
                scratch.to.resize(after.extents().iter().product(), C::default());
                let mut rows: Vec<&mut [C]> = scratch.to.chunks_mut(wx).collect();
                compute(&mut rows);
                for (to, from) in part.rows.iter_mut().zip(rows) {
                    let (to, from) = (&mut **to, &*from);
                    at_level!(level, _simd => {
                        for (to, from) in to.iter_mut().zip(from) {
                            *to = from.cut_to();
                        }
                    });
                }
                return;
            }
            scratch.to.resize(after.extents().iter().product(), C::default());
            let mut rows: Vec<&mut [C]> = scratch.to.chunks_mut(wx).collect();
            compute(&mut rows);
            if O::LARGEST.is_some() {
                // What the array would hold between the stages.
                let values = &mut scratch.to[..];
                at_level!(level, _simd => {
                    for value in values.iter_mut() {
                        *value = C::of(value.cut_to::<O>());
                    }
                });
            }
            std::mem::swap(&mut scratch.from, &mut scratch.to);
            region = after;
            self.set_constants(region, &mut scratch.from);
        }
    }

    /// Loads the values of a region.
    fn load(&self, source: &dyn Rows<C>, region: Region, to: &mut Vec<C>, level: Level) {
        let [nz, ny, nx] = region.extents();
        let [_, py, px] = self.extents;
        to.resize(nz * ny * nx, C::default());
        let place = |axis: usize, at: usize| self.axes[axis].place(region.low[axis] + at as isize);
        let (low, high) = (region.low[2], region.high[2]);
        // Columns that are in the array.
        let left = (-low).clamp(0, nx as isize) as usize;
        let right = (high.min(px as isize) - low).clamp(left as isize, nx as isize) as usize;
        for (number, row) in to.chunks_mut(nx).enumerate() {
            let start = place(0, number / ny)
                .and_then(|z| place(1, number % ny).map(|y| (z * py + y) * px));
            let start = match start {
                Ok(start) => start,
                Err(value) => {
                    row.fill(C::from_f64(value));
                    continue;
                }
            };
            if left < right {
                let first = start.strict_add_signed(low + left as isize);
                source.read(first, &mut row[left..right], level);
            }
            for column in (0..left).chain(right..nx) {
                row[column] = match place(2, column) {
                    Ok(x) => source.value(start + x),
                    Err(value) => C::from_f64(value),
                };
            }
        }
    }

    /// Sets points outside the array whose values are constants.
    fn set_constants(&self, region: Region, values: &mut [C]) {
        let [nz, ny, nx] = region.extents();
        let constants = |axis: usize, count: usize| -> Vec<(usize, C)> {
            let is_outside = |at: &usize| {
                let coordinate = region.low[axis] + *at as isize;
                coordinate < 0 || coordinate >= self.extents[axis] as isize
            };
            let constant = |at: usize| {
                let place = self.axes[axis].place(region.low[axis] + at as isize);
                place.err().map(|value| (at, C::from_f64(value)))
            };
            (0..count).filter(is_outside).filter_map(constant).collect()
        };
        for (z, value) in constants(0, nz) {
            values[z * ny * nx..][..ny * nx].fill(value);
        }
        for (y, value) in constants(1, ny) {
            (0..nz).for_each(|z| values[(z * ny + y) * nx..][..nx].fill(value));
        }
        for (x, value) in constants(2, nx) {
            values.chunks_mut(nx).for_each(|row| row[x] = value);
        }
    }
}

/// The rows of a block of the output, if they have the type of the sums.
fn same_rows<'a, C: Value, O: Value>(rows: &'a mut [&mut [O]]) -> Option<Vec<&'a mut [C]>> {
    rows.iter_mut().map(|row| as_same_mut::<O, C>(row)).collect()
}
