// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of boxes as they lie in memory: out of whole grids, into what a part holds.

use super::part::{RankPart, common, shifted};
use problem::region::Region;
use problem::{Grid, with_values};

/// The values of all that a part holds, as they lie in memory.
pub fn held(grid: &Grid, part: &RankPart) -> Vec<u8> {
    let bytes = grid.dtype().bytes();
    let mut result = vec![0; part.held.points() * bytes];
    with_values!(&grid.values, values => {
        let values: &[u8] = bytemuck::cast_slice(values);
        let whole = Region::whole(grid.shape);
        for copy in part.copies() {
            let Some(found) = common(part.held, shifted(whole, copy)) else { continue };
            let from = shifted(found, copy.map(|by| -by));
            let rows = rows(found, part.held, bytes).zip(rows(from, whole, bytes));
            for (to, from) in rows {
                result[to].copy_from_slice(&values[from]);
            }
        }
    });
    result
}

/// Puts the values of a piece of a region where they belong in it.
pub fn put(result: &mut [u8], region: Region, values: &[u8], piece: Region, bytes: usize) {
    let row = piece.extents()[2] * bytes;
    for (to, from) in rows(piece, region, bytes).zip(values.chunks(row)) {
        result[to].copy_from_slice(from);
    }
}

/// Where the bytes of a box's rows lie in an array of the values of a region around it.
fn rows(
    inner: Region,
    outer: Region,
    bytes: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    let ([_, ny, nx], [_, _, width]) = (outer.extents(), inner.extents());
    let at = move |axis: usize, of: isize| (of - outer.low[axis]) as usize;
    (inner.low[0]..inner.high[0]).flat_map(move |z| {
        (inner.low[1]..inner.high[1]).map(move |y| {
            let start = ((at(0, z) * ny + at(1, y)) * nx + at(2, inner.low[2])) * bytes;
            start..start + width * bytes
        })
    })
}
