// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temporal blocking on CUDA cores: several time steps in one pass over the grid, which stay on chip in between.
//!
//! | module | what is there |
//! | --- | --- |
//! | [`mod@line`] | 1D: a warp takes pieces of the line, one after the other |
//! | [`plane`] | 2D: a warp runs down the rows of a strip of columns |
//! | [`step`] | one time step of a row: which sums it adds to |
//! | [`volume`] | 3D: a block runs through the planes of a tile of rows and columns |
//! | [`slab`] | one time step of a plane |
//! | [`strips`] | how a 2D grid is cut into strips |
//! | `send` | how a row of outputs goes to memory |
//!
//! Beside zeros a launch computes all points; beside other boundaries those in the middle, whose values depend on none
//! beyond, and [`crate::rim`] the others.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

/// Rounds of a walk, until each place of its ring has been the newest or the way ends, and with it the caller; `ENDS`
/// says what [`plane`] and [`volume`] do beyond the grid. No function: `ptxas` then spills more for sm_80.
macro_rules! turn {
    ($walk:ident, $ends:literal) => {
        unroll!(newest < RING => {
            if $walk.at >= $walk.end {
                return;
            }
            $walk.round::<$ends>(newest)
        })
    };
}

#[cfg(feature = "temporal1d")]
pub mod line;
#[cfg(feature = "temporal2d")]
pub mod plane;
mod send;
pub mod slab;
pub mod step;
pub mod strips;
#[cfg(feature = "temporal3d")]
pub mod volume;

use crate::element::Element;
use cuda_std::global;
use cuda_std::shared::{self, Shared};

/// Columns by which the outputs of a strip start after it: what `reach` columns on either side take, as whole
/// threads.
#[must_use]
pub const fn margin(reach: u32, vector: u32) -> u32 {
    reach.next_multiple_of(vector)
}

/// Words of a row that a thread has.
const fn words(vector: usize, bytes: u32) -> usize {
    vector * bytes as usize / 4
}

/// # Safety
/// The words are in bounds, written, and aligned to 16 bytes; whoever wrote them has been waited for.
#[inline(always)]
#[track_caller]
unsafe fn load<const WORDS: usize>(at: Shared) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    for part in 0..WORDS / 4 {
        // SAFETY: as the caller promises.
        let four = unsafe { shared::load_v4(at.offset(16 * part as u32)) };
        words[4 * part] = four[0];
        words[4 * part + 1] = four[1];
        words[4 * part + 2] = four[2];
        words[4 * part + 3] = four[3];
    }
    words
}

/// Stores a thread's outputs of a row, of which the first `columns` lie in the grid: what is beside it must stay zero.
///
/// # Safety
/// `to` is aligned to 16 bytes, the columns are in bounds, and no other thread has them.
#[inline(always)]
#[track_caller]
unsafe fn store<E: Element, const VECTOR: usize, const WORDS: usize>(
    to: *mut E::Stored,
    row: &[E::Real; VECTOR],
    columns: i32,
) {
    // SAFETY: as the caller promises.
    unsafe {
        if columns >= VECTOR as i32 {
            for part in 0..WORDS / 4 {
                let word = |index| E::word(row, 4 * part + index);
                let at = to.cast::<u32>().wrapping_add(4 * part);
                global::store_v4(at, [word(0), word(1), word(2), word(3)]);
            }
        } else {
            for column in 0..VECTOR {
                if (column as i32) < columns {
                    E::store(to.wrapping_add(column), row[column]);
                }
            }
        }
    }
}
