// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 1D stencil in f64, as one product on dense tensor cores: `T` steps of radius `r` are one
//! sum of radius `R = T·r`, and 16 neighbouring outputs are a Toeplitz matrix of 16 × (16 + 2R) times the inputs
//! below them.
//!
//! **Product.** A is the Toeplitz matrix, which every lane keeps in registers, B are 16 + 2H inputs of 8 segments of
//! the line, C their outputs; H is R rounded up to 8, so that K is a multiple of 16. Rows of A and slots of K are in
//! an order of our own ([`output_of_row`], [`input_of_slot`]): a lane then loads and stores 16 bytes at a time, of
//! which 8 lanes store a whole 128-byte line.
//!
//! **Window.** The next 16 outputs of a segment need one new fragment of B, and the others shifted by one. A warp
//! takes [`TILES`] tiles of 16 outputs of each of the 8 segments, so that it loads `TILES + K/16 - 1` fragments.
//!
//! **Ring.** A stage holds the 8 segments, side by side in the grid, each a row with its halo, at a pitch with which
//! the quarters of a warp meet in no bank. A producer warp fills it by bulk copies ([`crate::fill`]).
//!
//! The inputs of a tile are columns of zeros where the grid ends ([`crate::layout`]); what is wrong there after the
//! first of several steps, [`crate::rim`] computes again.
//!
//! On chips before sm_90 eight products of 8 × 4 are one of ours ([`crate::dense_f64`]).

mod compute;
mod load;

use crate::fill;
use crate::layout::{CHUNK, LEFT, Layout};
use crate::ring::{self, Ring};
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{kernel, shared, thread, warp};

/// Segments of a stage: columns of B.
pub const SEGMENTS: u32 = 8;

/// Outputs of a tile: rows of A.
pub const TILE: u32 = 16;

/// Tiles of a warp in each segment of a stage.
pub const TILES: usize = 4;

/// Columns of a warp in each segment of a stage.
pub const WARP_COLUMNS: u32 = TILES as u32 * TILE;

/// The most warps that multiply.
pub const MOST_WARPS: u32 = 8;

/// Bytes of a number.
const BYTES: u32 = 8;

/// The fewest products that a kernel takes for a tile, K/16.
pub const LEAST_PRODUCTS: usize = 2;

/// The most products that a kernel takes for a tile.
pub const MOST_PRODUCTS: usize = 5;

/// The products that a tile takes for a sum of some radius, at least the fewest that there is a kernel for.
#[must_use]
pub const fn products(radius: u32) -> usize {
    let products = 1 + radius.div_ceil(8) as usize;
    if products < LEAST_PRODUCTS { LEAST_PRODUCTS } else { products }
}

/// Columns of a segment's halo on either side.
#[inline(always)]
#[must_use]
pub const fn halo(products: usize) -> u32 {
    TILE / 2 * (products as u32 - 1)
}

/// Which output of a tile is a row of A: rows g and g + 8, which a lane has of C, are neighbours.
#[must_use]
pub const fn output_of_row(row: usize) -> usize {
    2 * (row % 8) + row / 8
}

/// Which of a product's 16 inputs of a segment is a row of B: of rows t, t + 4, t + 8 and t + 12, which a lane has,
/// two and two are neighbours.
#[must_use]
pub const fn input_of_slot(slot: usize) -> usize {
    2 * (slot % 4) + slot / 4 % 2 + 8 * (slot / 8)
}

/// How the line is cut up. Threads need not work it out: parameters take no registers.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCut {
    /// Columns of the grid.
    pub nx: u32,
    /// Warps that multiply.
    pub warps: u32,
    /// Columns of a segment's halo on either side.
    pub halo: u32,
    /// Columns of a segment.
    pub segment: u32,
    /// Columns of a stage.
    pub columns: u32,
    /// How many stages the line is.
    pub count: u32,
    /// The last column at which a segment may start, so that its halo ends in the array.
    last_start: i32,
    /// Bytes of a segment with its halo.
    row_bytes: u32,
    /// Bytes from a segment to the next in shared memory: an odd number of half lines, so that the lanes of two
    /// segments that load 64 bytes each meet in no bank.
    pitch: u32,
    /// Bytes of a stage.
    stage_bytes: u32,
}

impl LineCut {
    /// For so many warps that multiply, and products of a tile.
    #[must_use]
    pub const fn new(nx: u32, warps: u32, products: usize) -> Self {
        let (halo, segment) = (halo(products), warps * WARP_COLUMNS);
        let row_bytes = (segment + 2 * halo) * BYTES;
        let pitch = row_bytes + 64;
        let columns = SEGMENTS * segment;
        let layout = Layout { dims: 1, extents: [1, 1, nx] };
        Self {
            nx,
            warps,
            halo,
            segment,
            columns,
            count: nx.div_ceil(columns),
            // The array ends as many columns behind its pitch as it starts before column 0.
            last_start: layout.pitch() as i32 - (halo + segment) as i32,
            row_bytes,
            pitch,
            stage_bytes: SEGMENTS * pitch,
        }
    }

    /// Dynamic shared memory of a block with so many stages, in bytes.
    #[must_use]
    pub const fn shared_bytes(&self, stages: u32) -> u32 {
        ring::HEADER_BYTES + stages * self.stage_bytes
    }

    /// Whether a segment with its halo fits the array.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.last_start >= self.halo as i32 - LEFT as i32
    }

    /// Where a segment of a stage starts in the grid; where it would reach behind the array, further left: it
    /// computes columns again that are others', and stores none of them.
    #[inline(always)]
    #[must_use]
    pub const fn start(&self, stage: u32, segment: u32) -> i32 {
        let (start, last) = (self.own(stage, segment), self.last_start);
        if start < last { start } else { last }
    }

    /// The first column that a segment stores.
    #[inline(always)]
    #[must_use]
    pub const fn own(&self, stage: u32, segment: u32) -> i32 {
        (stage * self.columns + segment * self.segment) as i32
    }
}

const _: () = assert!(TILE.is_multiple_of(CHUNK), "segments start at whole chunks");

/// The kernel of so many products for a tile.
#[inline(always)]
unsafe fn toeplitz<const K: usize>(
    input: *const f64,
    output: *mut f64,
    operand: *const u32,
    cut: &LineCut,
    stages: u32,
) {
    // SAFETY: all threads of the block come here, and thread 0 alone sets up the barriers; the launch gives
    // `shared_bytes` of dynamic shared memory.
    let (warp, ring) = unsafe {
        let start = shared::dynamic();
        let data = start.offset(ring::HEADER_BYTES);
        let ring = Ring::new(start, data, cut.stage_bytes, stages);
        if thread::thread_idx_x() == 0 {
            ring.init(fill::arrivals(), cut.warps);
        }
        thread::sync_threads();
        (thread::thread_idx_x() / warp::SIZE, ring)
    };
    // SAFETY: the launch's pointers are valid for the layout; each role is taken by whole warps.
    unsafe {
        if warp == cut.warps {
            load::load(input, cut, ring);
        } else {
            compute::compute::<K>(output, operand, cut, ring, warp);
        }
    }
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const f64, *mut f64, *const u32, LineCut, u32);

macro_rules! kernels {
    ($($name:ident: $products:literal;)*) => {
    $(
        #[doc = concat!("A sum in f64, ", stringify!($products), " products for a tile:")]
        /// `output` = sum of `input`, on a grid of `cut.nx` columns.
        ///
        /// # Safety
        /// `cut` is for so many products and 1 to [`MOST_WARPS`] warps, and [`LineCut::fits`]. Launch with so many
        /// warps and one more, and [`LineCut::shared_bytes`] of dynamic shared memory for `stages` stages, 1 to
        /// [`ring::MAX_STAGES`]. `input` and `output` point at grid point 0 of two different arrays laid out as in
        /// [`crate::layout`]; `nx` < 2³¹ less the columns of a stage. `operand` holds
        /// [`crate::dense_f64::OPERAND`] numbers of 2 words for each product.
        // One block of 9 warps on a multiprocessor.
        #[kernel(registers = 168)]
        pub unsafe fn $name(
            input: *const f64,
            output: *mut f64,
            operand: *const u32,
            cut: LineCut,
            stages: u32,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe { toeplitz::<$products>(input, output, operand, &cut, stages) };
        }
    )*

    /// The kernel of so many products for a tile, if there is one.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn kernel(products: usize) -> Option<Entry<Parameters>> {
        match products {
            $($products => Some(Entry::of::<$name>()),)*
            _ => None,
        }
    }
    };
}

// Kernel, by its K: products.
kernels! {
    toeplitz1d_f64_k32: 2;
    toeplitz1d_f64_k48: 3;
    toeplitz1d_f64_k64: 4;
    toeplitz1d_f64_k80: 5;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_is_an_output_and_every_slot_an_input() {
        for of in [output_of_row, input_of_slot] {
            let all: BTreeSet<usize> = (0..16).map(of).collect();
            assert!(all.into_iter().eq(0..16));
        }
    }

    #[test]
    fn segments_with_their_halo_lie_in_the_array_and_own_every_column() {
        for (nx, warps) in [(1, 1), (64, 1), (65, 2), (5000, 8), (4096, 8), (9999, 4)] {
            for products in LEAST_PRODUCTS..=MOST_PRODUCTS {
                let cut = LineCut::new(nx, warps, products);
                assert!(cut.pitch % 128 == 64, "{cut:?}");
                if !cut.fits() {
                    assert!(warps > 1, "{cut:?}");
                    continue;
                }
                let elements = Layout { dims: 1, extents: [1, 1, nx] }.elements() as i32;
                let mut next = 0;
                for stage in 0..cut.count {
                    for segment in 0..SEGMENTS {
                        let (start, halo) = (cut.start(stage, segment), cut.halo as i32);
                        assert!(start - halo >= -(LEFT as i32) && start % 8 == 0, "{cut:?}");
                        let end = start + cut.segment as i32 + halo;
                        assert!(end <= elements - LEFT as i32, "{cut:?}");
                        assert_eq!(cut.own(stage, segment), next);
                        next += cut.segment as i32;
                        // What it owns of the grid it computes.
                        let last = next.min(nx as i32);
                        assert!(cut.own(stage, segment) >= last || end - halo >= last, "{cut:?}");
                    }
                }
                assert!(next >= nx as i32, "{cut:?}");
            }
        }
    }
}
