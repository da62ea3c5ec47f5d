// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of the types of 16 bits: what a few rows are computed from becomes f32 in the first-level cache, each value
//! once, and the loops of f32 do the rest.

use std::cell::RefCell;

use fearless_simd::Level;

use super::super::runs::Hull;
use super::MOST_LANES;
use super::Storage;
use super::block::{ROWS, Source, prefetch_lines, prefetch_rows};
use super::half_types::Half;

/// Columns that are computed together.
const STRIP: usize = 512;
/// Rows that are computed together, at most.
const BAND: usize = 32;
/// Bytes of the f32 values of a strip, with its sums: they stay in the first-level cache.
const STAY: usize = 32 << 10;

thread_local! {
    /// The f32 values of one strip after the other.
    static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Where the values of a strip lie in the scratch: planes of this pitch, each with room for the reach, then the sums.
struct Stage {
    /// Rows that are computed together.
    band: usize,
    /// Rows and columns before the first point.
    above: usize,
    left: usize,
    pitch: usize,
    /// Values of a plane.
    plane: usize,
}

impl Stage {
    fn new(hulls: &[Option<Hull>], columns: usize) -> Self {
        let all = || hulls.iter().flatten();
        let [above, beside] = [0, 1].map(|axis: usize| {
            let low = all().map(|hull| hull.low[axis]).min().unwrap_or_default();
            low.min(0).unsigned_abs()
        });
        let [below, behind] = [0, 1].map(|axis: usize| {
            let high = all().map(|hull| hull.high[axis]).max().unwrap_or_default();
            high.max(0).unsigned_abs()
        });
        let left = beside.next_multiple_of(MOST_LANES);
        let pitch = (left + columns.min(STRIP) + behind).next_multiple_of(MOST_LANES);
        let touched = |band: usize| {
            let rows = all().map(|hull| band + hull.low[0].abs_diff(hull.high[0]));
            (rows.sum::<usize>() + band) * pitch * size_of::<f32>()
        };
        let bands = (ROWS..=BAND).step_by(ROWS);
        let band = bands.take_while(|band| touched(*band) <= STAY).last().unwrap_or(ROWS);
        Self { band, above, left, pitch, plane: (above + band + below) * pitch }
    }
}

/// Computes rows of equal length, from the origin of the source on.
pub fn compute<T: Half>(level: Level, source: &Source<T>, rows: &mut [&mut [T]]) {
    let columns = rows.first().map_or(0, |row| row.len());
    let stage = Stage::new(&source.runs.hulls, columns);
    SCRATCH.with_borrow_mut(|scratch| {
        let sums = stage.band * stage.pitch;
        let needed = source.planes.len() * stage.plane + sums;
        if scratch.len() < needed {
            scratch.resize(needed, 0.0);
        }
        let (planes, sums) = scratch[..needed].split_at_mut(needed - sums);
        for first in (0..rows.len()).step_by(stage.band) {
            let count = stage.band.min(rows.len() - first);
            let (rows, later) = rows[first..].split_at_mut(count);
            for column in (0..columns).step_by(STRIP) {
                let width = STRIP.min(columns - column);
                let origin = source.origin + first * source.pitch + column;
                if source.ahead > 0 {
                    // The source is asked for as if so many rows were computed as a block has.
                    let at = origin + source.ahead + (stage.band - ROWS) * source.pitch;
                    prefetch_lines(source, at, stage.band, width);
                    prefetch_rows(later, stage.band, column, width);
                }
                widen(level, source, &stage, origin, [count, width], planes);
                let planes: Vec<&[f32]> = planes.chunks(stage.plane).collect();
                let wide = Source {
                    runs: source.runs,
                    planes: &planes,
                    pitch: stage.pitch,
                    origin: stage.above * stage.pitch + stage.left,
                    ahead: 0,
                };
                let mut to: Vec<&mut [f32]> =
                    sums.chunks_mut(stage.pitch).take(count).map(|row| &mut row[..width]).collect();
                f32::compute(level, &wide, &mut to);
                for (row, sums) in rows.iter_mut().zip(&to) {
                    T::round(level, sums, &mut row[column..][..width]);
                }
            }
        }
    });
}

/// Widens what so many rows and columns of points from the origin on are computed from.
fn widen<T: Half>(
    level: Level,
    source: &Source<T>,
    stage: &Stage,
    origin: usize,
    [rows, columns]: [usize; 2],
    planes: &mut [f32],
) {
    let all = source.runs.hulls.iter().zip(source.planes).zip(planes.chunks_mut(stage.plane));
    for ((hull, from), to) in all {
        let Some(Hull { low, high }) = hull else { continue };
        let count = columns + low[1].abs_diff(high[1]);
        for row in low[0]..rows as isize + high[0] {
            let at =
                |start: usize, pitch: usize| start.strict_add_signed(row * pitch as isize + low[1]);
            let from = &from[at(origin, source.pitch)..][..count];
            let start = stage.above * stage.pitch + stage.left;
            T::widen(level, from, &mut to[at(start, stage.pitch)..][..count]);
        }
    }
}
