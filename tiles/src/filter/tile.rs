// SPDX-License-Identifier: MIT OR Apache-2.0
//! Into which blocks an array is cut.

use super::block::OutputBlock;
use crate::storage::ROWS;

/// Bytes of a loaded block: it and what is made of it stay in the second-level cache of a core.
const BLOCK: usize = 3 << 17;
/// Products up to which one block is all of the array.
const SERIAL: usize = 1 << 18;
/// Blocks for each thread, so that a thread that is held up can be helped out.
const PARTS: usize = 4;
/// Columns of a block, and bytes of its rows, at least.
const COLUMNS: usize = 512;
const ROW: usize = 2048;

/// Extents of the blocks of an array, whose sums reach so far together and have so many terms.
pub fn tile(extents: [usize; 3], reach: [usize; 3], bytes: usize, taps: usize) -> [usize; 3] {
    let points = extents.iter().fold(taps.max(1), |product, it| product.saturating_mul(*it));
    if points <= SERIAL {
        return extents;
    }
    let [nz, ny, nx] = extents;
    let [rz, ry, rx] = reach;
    let values = BLOCK / bytes;
    let bx =
        even(nx, COLUMNS.max(ROW / bytes).max(4 * rx).max(if ny == 1 { values } else { 0 }), 64);
    let rows = (values / (bx + 2 * rx)).max(1);
    let (mut bz, mut by) = if rz == 0 {
        let by = even(ny, rows.saturating_sub(2 * ry).max(2 * ry).max(2 * ROWS), ROWS);
        (if by == ny { (rows / (ny + 2 * ry)).clamp(1, nz) } else { 1 }, by)
    } else {
        let side = rows.isqrt();
        let by = even(ny, side.saturating_sub(2 * ry).max(2 * ry).max(2 * ROWS), ROWS);
        let planes = rows / (by + 2 * ry);
        (even(nz, planes.saturating_sub(2 * rz).max(2 * rz).max(4), 1), by)
    };
    // Enough of them for all threads.
    let threads = rayon::current_num_threads();
    let wanted = if threads == 1 { 1 } else { PARTS * threads };
    let count = |bz: usize, by: usize| nz.div_ceil(bz) * ny.div_ceil(by) * nx.div_ceil(bx);
    if count(bz, by) < wanted && rz == 0 {
        bz = bz.min(nz.div_ceil(wanted)).max(1);
    }
    if count(bz, by) < wanted {
        let least = (2 * ROWS).max(ry);
        by = by.min((ny * count(bz, by)).div_ceil(wanted * ny.div_ceil(by)).max(least)).max(1);
    }
    let lone = nx.div_ceil(bx) == 1 && nz * ny == 1;
    [bz, by, if lone { even(nx, nx.div_ceil(wanted).max(64), 64) } else { bx }]
}

/// An extent in equal parts of at most so many points, or one unit.
fn even(extent: usize, most: usize, unit: usize) -> usize {
    let parts = extent.div_ceil(most.max(unit));
    if parts <= 1 { extent } else { extent.div_ceil(parts).next_multiple_of(unit).min(extent) }
}

/// The blocks of an array.
pub fn parts<O>(
    output: &mut [O],
    extents: [usize; 3],
    tile: [usize; 3],
) -> Vec<OutputBlock<'_, O>> {
    let [_, ny, nx] = extents;
    let counts: [usize; 3] = std::array::from_fn(|axis| extents[axis].div_ceil(tile[axis]));
    let mut parts: Vec<OutputBlock<O>> = (0..counts.iter().product())
        .map(|number: usize| {
            let place = [
                number / (counts[1] * counts[2]),
                number / counts[2] % counts[1],
                number % counts[2],
            ];
            let low: [usize; 3] = std::array::from_fn(|axis| place[axis] * tile[axis]);
            let high: [usize; 3] =
                std::array::from_fn(|axis| (low[axis] + tile[axis]).min(extents[axis]));
            let rows = Vec::with_capacity((high[0] - low[0]) * (high[1] - low[1]));
            OutputBlock { low, high, rows }
        })
        .collect();
    for (number, row) in output.chunks_mut(nx).enumerate() {
        let (z, y) = (number / ny, number % ny);
        let first = ((z / tile[0]) * counts[1] + y / tile[1]) * counts[2];
        for (piece, part) in row.chunks_mut(tile[2]).zip(&mut parts[first..]) {
            part.rows.push(piece);
        }
    }
    parts
}
