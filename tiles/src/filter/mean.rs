// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of many values in a row, with weights of 1: what neighbouring sums share is added once. No value is subtracted again, so
//! a sum has the rounding of its own values only.

use fearless_simd::Level;

use super::number::SumType;
use super::sums::NeighbourSums;
use crate::at_level;

/// Columns whose sums are in registers.
const COLUMNS: usize = 32;

/// Sums along x or y.
pub struct Mean {
    level: Level,
    reach: usize,
    /// Offset of the first value, and how many columns further right the next one lies; 0 of those in the next row.
    first: [isize; 3],
    columns: usize,
    count: usize,
}

impl Mean {
    /// Of so many neighbours along x or y, that lie at most `reach` planes away.
    pub fn new(first: [i32; 3], delta: [i32; 3], count: usize, reach: usize) -> Self {
        let first = first.map(|it| it as isize);
        let columns = if delta[1] == 0 { delta[2] as usize } else { 0 };
        Self { level: Level::new(), reach, first, columns, count }
    }
}

impl<C: SumType> NeighbourSums<C> for Mean {
    fn rows(&self, planes: &[&[C]], pitch: usize, origin: usize, _: usize, to: &mut [&mut [C]]) {
        let [z, y, x] = self.first;
        let start = origin.strict_add_signed(y * pitch as isize + x);
        let from = &planes[self.reach.strict_add_signed(z)][start..];
        at_level!(self.level, _simd => {
            if self.columns > 0 {
                along_rows(from, pitch, [self.columns, self.count], to);
            } else {
                match self.count.min(to.len()) {
                    8.. => down_rows::<C, 8>(from, pitch, self.count, to),
                    4.. => down_rows::<C, 4>(from, pitch, self.count, to),
                    _ => down_rows::<C, 1>(from, pitch, self.count, to),
                }
            }
        });
    }
}

/// Sums of `count` values below one another, `R` rows at a time. What is below the last of them and above the last value of the first
/// is common to all; what each has besides is added up from there to both sides.
#[inline(always)]
fn down_rows<C: SumType, const R: usize>(
    from: &[C],
    pitch: usize,
    count: usize,
    to: &mut [&mut [C]],
) {
    let mut done = 0;
    while done < to.len() {
        // The last rows may be some of those before, which are computed again.
        let first = done.min(to.len() - R);
        let rows = to[first..].first_chunk_mut::<R>().expect("as many rows are left");
        let (from, width) = (&from[first * pitch..], rows[0].len());
        let mut column = 0;
        while column < width {
            if width < COLUMNS {
                for (number, row) in rows.iter_mut().enumerate() {
                    let value = |at: usize| from[(number + at) * pitch + column];
                    row[column] = (1..count).fold(value(0), |sum, at| sum + value(at));
                }
                column += 1;
                continue;
            }
            let start = column.min(width - COLUMNS);
            block::<C, R>(&from[start..], pitch, count, rows, start);
            column = start + COLUMNS;
        }
        done = first + R;
    }
}

#[inline(always)]
fn block<C: SumType, const R: usize>(
    from: &[C],
    pitch: usize,
    count: usize,
    rows: &mut [&mut [C]; R],
    start: usize,
) {
    let row = |number: usize| -> &[C; COLUMNS] {
        from[number * pitch..].first_chunk().expect("as many as a row has")
    };
    let mut common = *row(R - 1);
    for number in R..count {
        add(&mut common, row(number));
    }
    let mut above = [common; R];
    for number in (0..R - 1).rev() {
        above[number] = above[number + 1];
        add(&mut above[number], row(number));
    }
    let mut below = [C::zeroed(); COLUMNS];
    for number in 0..R {
        if number > 0 {
            add(&mut below, row(count + number - 1));
            add(&mut above[number], &below);
        }
        rows[number][start..][..COLUMNS].copy_from_slice(&above[number]);
    }
}

#[inline(always)]
fn add<C: SumType>(sums: &mut [C; COLUMNS], values: &[C; COLUMNS]) {
    for at in 0..COLUMNS {
        sums[at] = sums[at] + values[at];
    }
}

/// Sums of `count` values that lie `step` columns apart: each of two of half as many, and of one more value if the number is odd.
#[inline(always)]
fn along_rows<C: SumType>(
    from: &[C],
    pitch: usize,
    [step, count]: [usize; 2],
    to: &mut [&mut [C]],
) {
    let width = to.first().map_or(0, |row| row.len());
    // From the first digit of the number to its last.
    let halvings = count.ilog2();
    let room = if halvings > 1 { width + (count - 2) * step } else { 0 };
    let mut buffers = [vec![C::zeroed(); room], vec![C::zeroed(); room]];
    for (number, to) in to.iter_mut().enumerate() {
        let values = &from[number * pitch..][..width + (count - 1) * step];
        if halvings == 0 {
            to.copy_from_slice(values);
        }
        for digit in (0..halvings).rev() {
            let (half, whole) = (count >> (digit + 1), count >> digit);
            let length = width + (count - whole) * step;
            let [now, next] = &mut buffers;
            let now = if half == 1 { values } else { &now[..] };
            let next = if digit == 0 { &mut **to } else { &mut next[..length] };
            let others = &now[half * step..];
            if whole % 2 == 0 {
                added(next, [now, others]);
            } else {
                added(next, [now, others, &values[2 * half * step..]]);
            }
            buffers.swap(0, 1);
        }
    }
}

/// Sums of so many rows.
#[inline(always)]
fn added<C: SumType, const N: usize>(to: &mut [C], rows: [&[C]; N]) {
    let width = to.len();
    let rows = rows.map(|row| &row[..width]);
    let mut column = 0;
    while column < width {
        let start = column.min(width.saturating_sub(COLUMNS));
        let Some(to) = to[start..].first_chunk_mut::<COLUMNS>() else {
            for (at, to) in to.iter_mut().enumerate() {
                *to = rows[1..].iter().fold(rows[0][at], |sum, row| sum + row[at]);
            }
            return;
        };
        let mut sums: [C; COLUMNS] = *rows[0][start..].first_chunk().expect("as many as a row has");
        for row in &rows[1..] {
            add(&mut sums, row[start..].first_chunk().expect("as many as a row has"));
        }
        *to = sums;
        column = start + COLUMNS;
    }
}
