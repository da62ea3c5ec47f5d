// SPDX-License-Identifier: MIT OR Apache-2.0
//! The element types: their products, and how the sums of a group of tiles get to the grid.

use crate::half::{Bf16, F16, Half};
use crate::row_window::{kept, outputs};
use cuda_std::{global, math, matrix, mma};

/// Where a lane stores the sums of a group of tiles.
#[derive(Clone, Copy)]
pub(super) struct StorePlace {
    /// The lane's first output.
    pub at: *mut u8,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Rows of the grid from the first output's on, and columns; none where they are negative.
    pub rows: i32,
    pub columns: i32,
}

/// A type of factors.
pub(super) trait FactorType: Copy {
    /// Bytes of an element of the grid.
    const BYTES: u32;

    /// First column of a lane's outputs in a group of tiles of `ROWS` rows.
    fn column<const ROWS: u32>(lane: u32) -> u32;

    /// Sum plus A times what a lane has loaded.
    ///
    /// # Safety
    /// All 32 lanes execute it; the metadata is ordered.
    unsafe fn product(a: [u32; 4], metadata: u32, b: [u32; 4], sum: [f32; 4]) -> [f32; 4];

    /// Stores what lies in the grid of a group of tiles of `ROWS` rows.
    ///
    /// # Safety
    /// All 32 lanes execute it. The place is that of [`FactorType::column`]; rows and columns that it has are
    /// in the array, and no other lane's.
    unsafe fn store<const ROWS: u32>(sum: [f32; 4], place: StorePlace);
}

macro_rules! of_16_bits {
    ($($ty:ident)*) => {$(
        impl FactorType for $ty {
            const BYTES: u32 = 2;

            /// After the transposition a quad has the outputs of a tile.
            #[inline(always)]
            fn column<const ROWS: u32>(lane: u32) -> u32 {
                let (group, pair) = (lane / 4, lane % 4);
                group * (16 / ROWS) + pair * (4 / ROWS)
            }

            #[inline(always)]
            unsafe fn product(a: [u32; 4], metadata: u32, b: [u32; 4], sum: [f32; 4]) -> [f32; 4] {
                // SAFETY: as the caller promises.
                unsafe { <$ty as Half>::product(a, metadata, b, sum) }
            }

            /// Words of two outputs: neighbours in tiles of one row, below each other in tiles of two.
            #[inline(always)]
            unsafe fn store<const ROWS: u32>(sum: [f32; 4], place: StorePlace) {
                let [keep, keep_next] = kept(place.columns);
                // SAFETY: as the caller promises: rows of the sum are columns of the grid. A word whose
                // second column is outside, where zeros must stay, has a zero there.
                unsafe {
                    let [low, high] = if ROWS == 1 {
                        outputs::<$ty>(sum)
                    } else {
                        let low = matrix::transpose(<$ty as Half>::pack(sum[0], sum[1]));
                        [low, matrix::transpose(<$ty as Half>::pack(sum[2], sum[3]))]
                    };
                    let rows = if keep == 0 { 0 } else { place.rows };
                    if ROWS == 1 {
                        if rows > 0 {
                            global::store_v2(place.at.cast(), [low & keep, high & keep_next]);
                        }
                    } else {
                        if rows > 0 {
                            global::store(place.at.cast(), low & keep);
                        }
                        if rows > 1 {
                            global::store(place.at.wrapping_add(place.pitch).cast(), high & keep);
                        }
                    }
                }
            }
        }
    )*};
}

of_16_bits!(F16 Bf16);

/// f32, of which products take 11 bits of precision: each value is rounded when it is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tf32;

impl FactorType for Tf32 {
    const BYTES: u32 = 4;

    /// A lane has outputs of two neighbouring tiles.
    #[inline(always)]
    fn column<const ROWS: u32>(lane: u32) -> u32 {
        let (group, pair) = (lane / 4, lane % 4);
        2 * pair * (16 / ROWS) + group
    }

    #[inline(always)]
    unsafe fn product(a: [u32; 4], metadata: u32, b: [u32; 4], sum: [f32; 4]) -> [f32; 4] {
        // SAFETY: as the caller promises.
        unsafe {
            let b = b.map(|word| math::round_tf32(f32::from_bits(word)));
            mma::sp_m16n8k16_tf32_f32(a, metadata, b, sum)
        }
    }

    /// 8 lanes store 32 consecutive bytes.
    #[inline(always)]
    unsafe fn store<const ROWS: u32>(sum: [f32; 4], place: StorePlace) {
        let tile = 16 / ROWS as i32;
        // Rows 8 to 15 of the sum: the right half of a row, or the lower row.
        let (row, column) = if ROWS == 1 { (0, 8) } else { (1, 0) };
        let store = |value: f32, row: i32, column: i32| {
            if place.rows > row && place.columns > column {
                let bytes = row as usize * place.pitch + (column * Self::BYTES as i32) as usize;
                // SAFETY: as the caller promises.
                unsafe { global::store(place.at.wrapping_add(bytes).cast(), value.to_bits()) };
            }
        };
        store(sum[0], 0, 0);
        store(sum[1], 0, tile);
        store(sum[2], row, column);
        store(sum[3], row, column + tile);
    }
}
