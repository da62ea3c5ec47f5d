// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sweep before all that makes it fast, to be read first: a block is one warp, which loads what it needs from
//! global memory, multiplies, stores 2 rows × 64 columns, and ends. `docs/explanation/first-kernel.md` tells by which steps the
//! kernels of the folder above grow from it, and what each is worth.

use super::halves::Halves;
use super::{Lane, RowMask};
use crate::half::{F16, Half};
use crate::layout::{CHUNK, SHIFT, STRIP};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, thread, warp};

/// Output rows of a warp.
pub const ROWS: u32 = 2;

/// Bytes of a value.
const BYTES: isize = 2;

/// The pair of output rows and the strip of columns of a block.
#[inline(always)]
unsafe fn naive<const STEPS: usize>(
    input: *const u8,
    output: *mut u8,
    fragments: *const u32,
    [nx, ny, pitch]: [u32; 3],
) {
    let (block, lane) = (thread::block_idx_x(), warp::lane_id());
    let strips = nx.div_ceil(STRIP);
    let (x, y) = ((block % strips * STRIP) as isize, (block / strips * ROWS) as isize);
    let offset = |y: isize, x: isize| (y * pitch as isize + x) * BYTES;
    let place = Halves::<F16>::new(lane, ());
    // SAFETY: the launch gives the words of `STEPS` products.
    let operands = unsafe { Halves::<F16>::operands::<STEPS>(fragments, lane) };

    let mut sum = [0.0; 4];
    for (step, (weights, metadata)) in operands.into_iter().enumerate() {
        // Step s takes input rows 2s and 2s + 1, counted from the first that the outputs need. Of these 16 × 8
        // columns lane 4g + t holds 8 columns of row t / 2: chunk g + t % 2, its halves in the order of K.
        let row = place.pair / 2;
        let from_y = y - (STEPS as isize - 1) + (2 * step + row as usize) as isize;
        let from_x = x - SHIFT as isize + ((place.group + place.pair % 2) * CHUNK) as isize;
        let half = |half: u32| {
            let at = offset(from_y, from_x + (half * CHUNK / 2) as isize);
            // SAFETY: zeros lie around the grid, as far as a stencil of radius 3 reads.
            unsafe { global::load_v2(input.wrapping_offset(at).cast()) }
        };
        let ([a, b], [c, d]) = (half(row), half(1 - row));
        // SAFETY: all lanes execute it; the host's encoder orders the metadata.
        sum = unsafe { F16::product(weights, metadata, [a, b, c, d], sum) };
    }

    let column = x + place.column() as isize;
    let at = output.wrapping_offset(offset(y, column));
    let wanted = RowMask { upper: true, lower: y + 1 < ny as isize };
    let inside = place.inside(column as i32, nx as i32);
    // SAFETY: all lanes execute it; no other warp stores these outputs.
    unsafe { place.store(sum, inside, at, pitch as usize * BYTES as usize, wanted) };
}

macro_rules! kernels {
    ($($name:ident: $radius:literal;)*) => {
        $(
            /// One step of a stencil of this radius, on a grid of `nx` × `ny` points.
            ///
            /// # Safety
            /// Launch one warp for each [`ROWS`] rows and [`STRIP`] columns. `input` and `output` point at grid
            /// point (0, 0) of two different planes in their layout, of rows of `pitch` elements; `fragments`
            /// holds 4 words of A and 1 of metadata for radius + 1 products and 32 lanes.
            #[kernel]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                fragments: *const u32,
                nx: u32,
                ny: u32,
                pitch: u32,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { naive::<{ $radius + 1 }>(input, output, fragments, [nx, ny, pitch]) };
            }
        )*

        /// The kernel for a radius, if there is one.
        #[cfg(not(target_arch = "nvptx64"))]
        #[must_use]
        pub fn kernel(radius: usize) -> Option<Entry<Parameters>> {
            match radius {
                $($radius => Some(Entry::of::<$name>()),)*
                _ => None,
            }
        }
    };
}

kernels! {
    naive2d_f16_r1: 1;
    naive2d_f16_r2: 2;
    naive2d_f16_r3: 3;
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, *const u32, u32, u32, u32);
