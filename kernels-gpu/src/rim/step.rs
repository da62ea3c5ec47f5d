// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of a region: sums of neighbours, dense or from the table.

use super::patch::Walk;
use super::{Block, Box3, NEIGHBOUR_ROWS, ROWS, TABLE_ROWS, column_weights};
use crate::boundary::Range;
use crate::element::{Element, Real};
use crate::unroll::unroll;
use cuda_std::shared::{self, Shared};

impl<E: Element, const PLANES: usize, const WIDTH: usize> Block<'_, E, PLANES, WIDTH> {
    /// One step of the cells of a box, to the other buffer or to the output.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn step(
        &self,
        of: Box3,
        [from, to]: [Shared; 2],
        output: Option<*mut E::Stored>,
    ) {
        // SAFETY: in a kernel.
        let mut walk = unsafe { Walk::new(of, Self::ROWS as i32) };
        while let Some([z, y, x]) = walk.next() {
            // SAFETY: cells of the box, whose neighbours lie in the patch; no other thread has them.
            let sums = unsafe { self.sums(from, of.y, [z, y, x]) };
            // SAFETY: as above; in the last step, points of the grid.
            unsafe {
                match output {
                    Some(output) => self.store_points(output, of.y.high - y, [z, y, x], &sums),
                    None => self.store_cells(to, of.y.high - y, [z, y, x], &sums),
                }
            }
        }
    }

    /// Stores the first sums of a column, at most `rows`, as points of the grid.
    #[inline(always)]
    #[track_caller]
    unsafe fn store_points(
        &self,
        output: *mut E::Stored,
        rows: i32,
        [z, y, x]: [i32; 3],
        sums: &[E::Real; ROWS],
    ) {
        let domain = &self.rim.domain;
        let mut at = output.wrapping_offset(domain.position(z, y, x));
        for row in 0..Self::ROWS {
            if (row as i32) < rows {
                // SAFETY: as the caller promises.
                unsafe { E::store(at, sums[row]) };
            }
            at = at.wrapping_offset(domain.pitch as isize);
        }
    }

    /// Stores them as cells of a buffer.
    #[inline(always)]
    #[track_caller]
    unsafe fn store_cells(
        &self,
        buffer: Shared,
        rows: i32,
        [z, y, x]: [i32; 3],
        sums: &[E::Real; ROWS],
    ) {
        let mut at = self.patch.at(buffer, z, y, x);
        for row in 0..Self::ROWS {
            if (row as i32) < rows {
                // SAFETY: as the caller promises.
                unsafe { E::Real::store_shared(at, sums[row]) };
            }
            at = at.offset(self.patch.pitch as u32);
        }
    }

    /// The sums of [`Self::ROWS`] rows of a column; past the last row, anything.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn sums(&self, from: Shared, rows: Range, at: [i32; 3]) -> [E::Real; ROWS] {
        let mut sums = [E::Real::ZERO; ROWS];
        // SAFETY: as the caller promises.
        unsafe {
            if PLANES == 0 {
                self.add_table(&mut sums, from, rows, at);
            } else {
                unroll!(plane < PLANES => self.add_plane(&mut sums, from, rows, at, plane));
            }
            for row in 0..Self::ROWS {
                sums[row] = sums[row].pin();
            }
        }
        sums
    }

    /// Adds the neighbours in a plane of a dense stencil.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn add_plane(
        &self,
        sums: &mut [E::Real; ROWS],
        from: Shared,
        rows: Range,
        [z, y, x]: [i32; 3],
        plane: usize,
    ) {
        let radius = (WIDTH / 2) as i32;
        let z = z + plane as i32 - (PLANES / 2) as i32;
        // Past the last row's neighbours there may be no cells: the last ones again.
        let last = rows.high - 1 - y + 2 * radius;
        let first = self.patch.at(from, z, y - radius, x - radius);
        let mut cells = [first; NEIGHBOUR_ROWS];
        for row in 1..ROWS + WIDTH - 1 {
            let row_or_last = if (row as i32) < last { row as i32 } else { last };
            cells[row] = first.offset((row_or_last * self.patch.pitch) as u32);
        }
        // SAFETY: as the caller promises.
        unroll!(dx < WIDTH => unsafe { self.add_column(sums, &cells, plane * WIDTH + dx, dx) });
    }

    /// Adds a column of neighbours to all rows of sums.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn add_column(
        &self,
        sums: &mut [E::Real; ROWS],
        cells: &[Shared; NEIGHBOUR_ROWS],
        column: usize,
        dx: usize,
    ) {
        let length = column_weights(WIDTH as u32) as usize;
        let at = self.taps.offset((column * length) as u32 * E::Real::BYTES);
        // SAFETY: the columns are loaded, and the caller has cells with all neighbours.
        unsafe {
            let first = E::Real::load_four(at);
            let second =
                if WIDTH > 4 { E::Real::load_four(at.offset(4 * E::Real::BYTES)) } else { first };
            let weight = |dy: usize| if dy < 4 { first[dy] } else { second[dy - 4] };
            unroll!(row < ROWS + WIDTH - 1 => {
                let cell = Self::cell(cells, row).offset(dx as u32 * E::Real::BYTES);
                add_value::<E::Real, WIDTH>(sums, E::Real::load_shared(cell), row, weight)
            });
        }
    }

    #[inline(always)]
    pub(super) fn cell(cells: &[Shared; NEIGHBOUR_ROWS], row: usize) -> Shared {
        cells[row]
    }

    /// Adds the neighbours in the table.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn add_table(
        &self,
        sums: &mut [E::Real; ROWS],
        from: Shared,
        rows: Range,
        [z, y, x]: [i32; 3],
    ) {
        let mut cells = [from; TABLE_ROWS];
        for row in 0..TABLE_ROWS {
            let y = y + row as i32;
            // Past the last row, that one again.
            let y = if y < rows.high { y } else { rows.high - 1 };
            cells[row] = self.patch.at(from, z, y, x);
        }
        let mut tap = self.taps;
        while tap != self.taps_end {
            // SAFETY: the taps are loaded, and the caller has cells with all neighbours.
            unsafe {
                let offset = shared::load(tap);
                let weight = E::Real::load_shared(tap.offset(E::Real::BYTES));
                for row in 0..TABLE_ROWS {
                    let neighbour = Shared(cells[row].0.wrapping_add(offset));
                    sums[row] = E::Real::load_shared(neighbour).multiply_add(weight, sums[row]);
                }
            }
            tap = tap.offset(Self::TAP_BYTES);
        }
    }
}

/// Adds a value in a row of cells to all rows of sums that it is a neighbour of.
#[inline(always)]
unsafe fn add_value<R: Real, const WIDTH: usize>(
    sums: &mut [R; ROWS],
    value: R,
    row: usize,
    weight: impl Fn(usize) -> R,
) {
    for dy in 0..WIDTH {
        if row >= dy && row - dy < ROWS {
            // SAFETY: in a kernel.
            sums[row - dy] = unsafe { value.multiply_add(weight(dy), sums[row - dy]) };
        }
    }
}
