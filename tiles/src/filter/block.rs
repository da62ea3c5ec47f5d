// SPDX-License-Identifier: MIT OR Apache-2.0
//! All sums of one block.

use fearless_simd::Level;
use prefetch_index::prefetch_index;

use super::axis::Axis;
use super::number::SumType;
use super::sums::NeighbourSums;
use super::values::{Value, reinterpret, reinterpret_mut};
use crate::at_level;
use crate::padded::CACHE_LINE;
use crate::storage::ROWS;

/// Rows whose values stay in the first-level cache between the stages.
const STRIP: usize = 2 * ROWS;

/// Rows that a sum reaches up to which they all have room in the caches, if their distance is a multiple of so many bytes.
const FAR: usize = 16;
const CROWDED: usize = 4096;
/// Rows that are asked for before they are loaded.
const AHEAD: usize = 4;

/// The values of an array as factors.
pub trait FactorRows<C>: Sync {
    /// Those from a place on.
    fn read(&self, at: usize, to: &mut [C], level: Level);
    fn value(&self, at: usize) -> C;
    /// Asks memory for so many values.
    fn ask(&self, at: usize, count: usize);
    /// The array itself, if it has the type of the factors.
    fn plain(&self) -> Option<&[C]>;
}

impl<C: SumType, I: Value> FactorRows<C> for &[I] {
    fn read(&self, at: usize, to: &mut [C], level: Level) {
        let from = &self[at..at + to.len()];
        match reinterpret::<I, C>(from) {
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

    fn ask(&self, at: usize, count: usize) {
        ask(self, at, count);
    }

    fn plain(&self) -> Option<&[C]> {
        reinterpret(self)
    }
}

/// Values of an array from a place on.
pub struct PartRows<'a, C> {
    pub all: &'a dyn FactorRows<C>,
    pub first: usize,
    pub size: usize,
}

impl<C: Sync> FactorRows<C> for PartRows<'_, C> {
    fn read(&self, at: usize, to: &mut [C], level: Level) {
        self.all.read(self.first + at, to, level);
    }

    fn value(&self, at: usize) -> C {
        self.all.value(self.first + at)
    }

    fn ask(&self, at: usize, count: usize) {
        self.all.ask(self.first + at, count);
    }

    fn plain(&self) -> Option<&[C]> {
        Some(&self.all.plain()?[self.first..][..self.size])
    }
}

/// Asks memory for so many values.
fn ask<T>(values: &[T], at: usize, count: usize) {
    for line in (0..count).step_by(CACHE_LINE / size_of::<T>()) {
        prefetch_index(values, at + line);
    }
}

/// A block of the output.
pub struct OutputBlock<'a, O> {
    pub low: [usize; 3],
    pub high: [usize; 3],
    pub rows: Vec<&'a mut [O]>,
}

/// A stage, ready to be computed.
pub struct Shaped<C: SumType> {
    pub sum: Box<dyn NeighbourSums<C>>,
    /// How far it reaches to both sides of a point that lies so far away.
    pub reach: [usize; 3],
    pub shift: [isize; 3],
    pub divisor: Option<C::Divisor>,
}

impl<C: SumType> Shaped<C> {
    /// The sums of a region, in planes of `height` rows.
    fn compute(
        &self,
        from: View<C>,
        region: Region,
        height: usize,
        to: &mut [&mut [C]],
        level: Level,
    ) {
        let [nz, _, _] = region.extents();
        let planes: Vec<&[C]> = (0..nz).map(|z| &from.values[z * from.plane..]).collect();
        let [_, ry, rx] = self.reach;
        let origin = ry * from.pitch + rx;
        self.sum.planes(&planes, from.pitch, origin, from.ahead, height, to);
        if let Some(divisor) = &self.divisor {
            for row in to {
                let values = &mut **row;
                at_level!(level, _simd => C::divide(values, divisor));
            }
        }
    }
}

/// All stages of a filter, one after the other.
pub struct StageChain<C: SumType> {
    pub extents: [usize; 3],
    pub axes: [Axis; 3],
    /// Of all stages together.
    pub reach: [usize; 3],
    pub shift: [isize; 3],
    pub stages: Vec<Shaped<C>>,
}

/// Values of a block, and of a strip before a stage and behind it.
pub struct Scratch<C> {
    block: Vec<C>,
    from: Vec<C>,
    to: Vec<C>,
}

impl<C> Default for Scratch<C> {
    fn default() -> Self {
        Self { block: Vec::new(), from: Vec::new(), to: Vec::new() }
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

    /// Its values, one row after the other.
    fn view<'a, C>(&self, values: &'a [C]) -> View<'a, C> {
        let [_, ny, nx] = self.extents();
        View { values, pitch: nx, plane: ny * nx, ahead: 0 }
    }

    /// What a stage makes of it.
    fn after<C: SumType>(&self, stage: &Shaped<C>) -> Self {
        let moved = |from: [isize; 3], sign: isize| {
            std::array::from_fn(|axis| {
                from[axis] + sign * stage.reach[axis] as isize - stage.shift[axis]
            })
        };
        Self { low: moved(self.low, 1), high: moved(self.high, -1) }
    }
}

/// Values of a region where they lie.
#[derive(Clone, Copy)]
struct View<'a, C> {
    values: &'a [C],
    /// Distances between rows and planes.
    pitch: usize,
    plane: usize,
    /// See [`NeighbourSums::rows`].
    ahead: usize,
}

impl<C: SumType> StageChain<C> {
    /// Computes a block.
    pub fn part<O: Value>(
        &self,
        source: &dyn FactorRows<C>,
        mut part: OutputBlock<O>,
        scratch: &mut Scratch<C>,
    ) {
        let level = Level::new();
        let whole = self.read_by(part.low, part.high);
        let is_inside = (0..3)
            .all(|axis| whole.low[axis] >= 0 && whole.high[axis] <= self.extents[axis] as isize);
        // Rows at such distances would drive one another out of the caches.
        let is_crowded =
            self.reach[1] > FAR && (self.extents[2] * size_of::<C>()).is_multiple_of(CROWDED);
        let direct = source.plain().filter(|_| is_inside && !is_crowded);
        let mut block = std::mem::take(&mut scratch.block);
        if direct.is_none() {
            self.load(source, whole, &mut block, level);
        }
        let [_, py, px] = self.extents;
        let [_, ny, nx] = whole.extents();
        let mut rows = &mut part.rows[..];
        for (low, high) in self.strips(part.low, part.high) {
            let region = self.read_by(low, high);
            let from = |origin: [isize; 3], plane: usize, pitch: usize| {
                let [z, y, x]: [usize; 3] =
                    std::array::from_fn(|axis| (region.low[axis] - origin[axis]) as usize);
                z * plane + y * pitch + x
            };
            let view = match direct {
                Some(values) => {
                    let (plane, pitch) = (py * px, px);
                    let ahead = (ROWS + self.stages[0].reach[1]) * px;
                    View { values: &values[from([0; 3], plane, pitch)..], pitch, plane, ahead }
                }
                None => {
                    let (plane, pitch) = (ny * nx, nx);
                    let values = &block[from(whole.low, plane, pitch)..];
                    View { values, pitch, plane, ahead: 0 }
                }
            };
            let (now, later) = rows.split_at_mut((high[0] - low[0]) * (high[1] - low[1]));
            // Memory is read before it is written.
            later.iter().take(STRIP).for_each(|row| ask(row, 0, row.len()));
            self.strip(view, region, now, scratch, level);
            rows = later;
        }
        scratch.block = block;
    }

    /// What the sums of a box of points read.
    fn read_by(&self, low: [usize; 3], high: [usize; 3]) -> Region {
        let reached = |from: [usize; 3], sign: isize| {
            std::array::from_fn(|axis| {
                from[axis] as isize + self.shift[axis] + sign * self.reach[axis] as isize
            })
        };
        Region { low: reached(low, -1), high: reached(high, 1) }
    }

    /// A box in parts whose values between the stages stay in the first-level cache: a few rows, if only the first stage reads
    /// others.
    fn strips(&self, low: [usize; 3], high: [usize; 3]) -> Vec<([usize; 3], [usize; 3])> {
        let is_of_blocks = self.stages[0].sum.is_of_blocks();
        if is_of_blocks || self.stages[1..].iter().any(|stage| stage.reach[..2] != [0; 2]) {
            return vec![(low, high)];
        }
        let [z, y] = [low[0]..high[0], low[1]..high[1]];
        let strip =
            |z: usize, y: usize| ([z, y, low[2]], [z + 1, (y + STRIP).min(high[1]), high[2]]);
        z.flat_map(|z| y.clone().step_by(STRIP).map(move |y| strip(z, y))).collect()
    }

    /// Computes the rows whose sums read a region.
    fn strip<O: Value>(
        &self,
        view: View<C>,
        mut region: Region,
        rows: &mut [&mut [O]],
        scratch: &mut Scratch<C>,
        level: Level,
    ) {
        let (last, others) = self.stages.split_last().expect("a stage at least");
        let mut first = Some(view);
        for stage in others {
            let after = region.after(stage);
            let [_, wy, wx] = after.extents();
            scratch.to.resize(after.extents().iter().product(), C::zeroed());
            let mut to: Vec<&mut [C]> = scratch.to.chunks_mut(wx).collect();
            let view = first.take().unwrap_or_else(|| region.view(&scratch.from));
            stage.compute(view, region, wy, &mut to, level);
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
        let [_, wy, wx] = region.after(last).extents();
        let view = first.take().unwrap_or_else(|| region.view(&scratch.from));
        if let Some(mut rows) = same_rows(rows) {
            last.compute(view, region, wy, &mut rows, level);
            return;
        }
        scratch.to.resize(rows.len() * wx, C::zeroed());
        let mut sums: Vec<&mut [C]> = scratch.to.chunks_mut(wx).collect();
        last.compute(view, region, wy, &mut sums, level);
        for (to, from) in rows.iter_mut().zip(sums) {
            let (to, from) = (&mut **to, &*from);
            at_level!(level, _simd => {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.cut_to();
                }
            });
        }
    }

    /// Loads the values of a region.
    fn load(&self, source: &dyn FactorRows<C>, region: Region, to: &mut Vec<C>, level: Level) {
        let [nz, ny, nx] = region.extents();
        let [_, py, px] = self.extents;
        to.resize(nz * ny * nx, C::zeroed());
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
                    row.fill(C::cut(value));
                    continue;
                }
            };
            if left < right {
                let first = start.strict_add_signed(low + left as isize);
                // The processor does not foresee short rows.
                source.ask(first + AHEAD * px, right - left);
                source.read(first, &mut row[left..right], level);
            }
            for column in (0..left).chain(right..nx) {
                row[column] = match place(2, column) {
                    Ok(x) => source.value(start + x),
                    Err(value) => C::cut(value),
                };
            }
        }
    }

    /// Sets points outside the array whose values are constants.
    fn set_constants(&self, region: Region, values: &mut [C]) {
        let [nz, ny, nx] = region.extents();
        let constants = |axis: usize| -> Vec<(usize, C)> {
            let (low, high) = (region.low[axis], region.high[axis]);
            let extent = self.extents[axis] as isize;
            let outside = (low..high.min(0)).chain(low.max(extent)..high);
            let constant = |at: isize| {
                let value = self.axes[axis].place(at).err()?;
                Some(((at - low) as usize, C::cut(value)))
            };
            outside.filter_map(constant).collect()
        };
        for (z, value) in constants(0) {
            values[z * ny * nx..][..ny * nx].fill(value);
        }
        for (y, value) in constants(1) {
            (0..nz).for_each(|z| values[(z * ny + y) * nx..][..nx].fill(value));
        }
        for (x, value) in constants(2) {
            values.chunks_mut(nx).for_each(|row| row[x] = value);
        }
    }
}

/// The rows of a block of the output, if they have the type of the sums.
fn same_rows<'a, C: Value, O: Value>(rows: &'a mut [&mut [O]]) -> Option<Vec<&'a mut [C]>> {
    rows.iter_mut().map(|row| reinterpret_mut::<O, C>(row)).collect()
}
