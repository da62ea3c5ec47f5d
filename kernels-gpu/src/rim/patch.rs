// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a block's cells lie in shared memory, and which thread takes which of them.

use super::{Box3, THREADS};
use cuda_std::shared::Shared;
use cuda_std::thread;

/// Where the cells of the patch lie in a buffer.
#[derive(Clone, Copy)]
pub(super) struct Patch {
    z: i32,
    y: i32,
    x: i32,
    plane: i32,
    pub(super) pitch: i32,
    cell_bytes: i32,
}

impl Patch {
    #[inline(always)]
    pub(super) fn new(of: Box3, cell_bytes: u32) -> Self {
        let pitch = of.x.len() * cell_bytes as i32;
        let plane = of.y.len() * pitch;
        Self { z: of.z.low, y: of.y.low, x: of.x.low, plane, pitch, cell_bytes: cell_bytes as i32 }
    }

    #[inline(always)]
    pub(super) fn offset(&self, [z, y, x]: [i32; 3]) -> i32 {
        z * self.plane + y * self.pitch + x * self.cell_bytes
    }

    #[inline(always)]
    pub(super) fn at(&self, buffer: Shared, z: i32, y: i32, x: i32) -> Shared {
        buffer.offset(self.offset([z - self.z, y - self.y, x - self.x]) as u32)
    }
}

/// A thread's way through a box, a column of some rows at a time: they are dealt out to the threads in
/// C order.
pub(super) struct Walk {
    of: Box3,
    rows: i32,
    /// Groups of rows.
    groups: Divisor,
    columns: Divisor,
    index: u32,
    count: u32,
}

impl Walk {
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn new(of: Box3, rows: i32) -> Self {
        let empty = of.z.is_empty() || of.y.is_empty() || of.x.is_empty();
        let groups = if empty { 1 } else { (of.y.len() + rows - 1) / rows };
        let columns = if empty { 1 } else { of.x.len() };
        let count = if empty { 0 } else { (of.z.len() * groups * columns) as u32 };
        let (groups, columns) = (Divisor::new(groups as u32), Divisor::new(columns as u32));
        let index = thread::thread_idx_x();
        Self { of, rows, groups, columns, index, count }
    }

    /// The next plane, first row and column.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<[i32; 3]> {
        if self.index >= self.count {
            return None;
        }
        let (rest, column) = self.columns.divide(self.index);
        let (plane, group) = self.groups.divide(rest);
        self.index += THREADS;
        let Box3 { z, y, x } = self.of;
        Some([z.low + plane as i32, y.low + group as i32 * self.rows, x.low + column as i32])
    }
}

/// A number to divide by several times.
#[derive(Clone, Copy)]
pub(super) struct Divisor {
    number: u32,
    /// 2^32 / number, rounded up.
    inverse: u64,
}

impl Divisor {
    #[inline(always)]
    pub(super) fn new(number: u32) -> Self {
        Self { number, inverse: u64::from(u32::MAX / number) + 1 }
    }

    /// Quotient and rest. Exact, as a patch has fewer than 2^16 cells: the product exceeds the
    /// quotient by less than index / 2^32, which is less than 1 / number.
    #[inline(always)]
    pub(super) fn divide(self, index: u32) -> (u32, u32) {
        let quotient = ((u64::from(index) * self.inverse) >> 32) as u32;
        (quotient, index - quotient * self.number)
    }
}
