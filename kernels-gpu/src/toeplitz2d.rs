// SPDX-License-Identifier: MIT OR Apache-2.0
//! A 2D stencil in f64 as a product on dense tensor cores: tiles of 4 × 4 outputs, each a column of C, are a block
//! Toeplitz matrix times the (4 + 2R) × (4 + 2R) inputs around them. Several time steps are one sum of larger R.
//!
//! **Product.** A is the matrix of weights, 16 × K, the same everywhere, which every lane keeps in registers; B are the
//! inputs of 8 tiles side by side. K is in groups of 4, one for each lane of a quad ([`input`]): 4 columns of a row, or,
//! of the 2 columns that are left where R is odd, those of 2 rows. So a group of all tiles are 32 inputs side by side,
//! which the lanes load without meeting in a bank. Of the order of tiles in B and of outputs in A ([`tile`], [`output`])
//! follows that a lane stores 16 bytes, and 8 lanes a whole 128-byte line.
//!
//! **Walk.** A warp, which is a block, runs down a strip of [`WIDTH`] columns, four rows at a time, with a ring of its
//! own ([`crate::fetch`]).
//!
//! On chips before sm_90 eight products of 8 × 4 are one of ours ([`crate::dense_f64`]).

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

use crate::dense_f64::{A, B, C, load_a, multiply_add, store_two};
use crate::element::Real;
use crate::fetch::{Fetch, Slots};
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::shared::{self, Shared};
use cuda_std::{kernel, thread, warp};

/// Rows and columns of a tile of outputs.
pub const SIDE: usize = 4;

/// Tiles of a product: columns of B.
const TILES: u32 = 8;

/// Columns of the outputs of a product.
const PRODUCT_COLUMNS: u32 = TILES * SIDE as u32;

/// Products side by side.
const PRODUCTS: usize = 4;

/// Columns of outputs of a strip.
pub const WIDTH: u32 = PRODUCT_COLUMNS * PRODUCTS as u32;

/// Threads of a block: one warp.
pub const THREADS: u32 = warp::SIZE;

/// Bytes of a number.
const BYTES: u32 = 8;

/// The largest radius.
pub const MOST_RADIUS: usize = 4;

/// Groups of K in a product of the hardware.
const GROUPS: usize = 4;

/// The most slots, of four rows each, that a product takes its inputs from.
const MOST_READ: usize = slots_read(MOST_RADIUS);

/// Slots that a product takes its inputs from.
#[inline(always)]
const fn slots_read(radius: usize) -> usize {
    (SIDE + 2 * radius).div_ceil(SIDE)
}

/// Slots of a ring: those that are read, and as many under way.
const COUNT: u32 = 2 * MOST_READ as u32;

/// Products of the hardware, one after the other, that make one of ours.
#[must_use]
pub const fn depth(radius: usize) -> usize {
    let side = SIDE + 2 * radius;
    (side * (side / 4) + side / 2 * (side % 4 / 2)).div_ceil(GROUPS)
}

/// Which input is slot `k` of K: its row and column in the window of (4 + 2R)², or none, where K is longer.
#[must_use]
pub const fn input(radius: usize, k: usize) -> Option<(usize, usize)> {
    let side = SIDE + 2 * radius;
    let (group, lane) = (k / 4, k % 4);
    let quads = side / 4;
    if group < side * quads {
        return Some((group / quads, group % quads * 4 + lane));
    }
    let pair = group - side * quads;
    if side.is_multiple_of(4) || pair >= side / 2 {
        return None;
    }
    Some((2 * pair + lane / 2, side - 2 + lane % 2))
}

/// Which output of a tile is a row of A, its row and column: rows g and g + 8, which a lane has of C, are neighbours.
#[must_use]
pub const fn output(row: usize) -> (usize, usize) {
    (row % 8 / 2, row % 2 * 2 + row / 8)
}

/// Which tile is a column of B: of columns 2t and 2t + 1, which a lane has of C, one is in the left half.
#[inline(always)]
#[must_use]
pub const fn tile(column: u32) -> u32 {
    column / 2 + column % 2 * (TILES / 2)
}

/// Columns of a row of a slot on either side of the outputs: 16 bytes more or less.
#[inline(always)]
const fn beside(radius: usize) -> u32 {
    radius.next_multiple_of(2) as u32
}

/// A warp's ring.
#[inline(always)]
const fn slots(radius: usize) -> Slots {
    Slots { count: COUNT, rows: SIDE as u32, bytes: (WIDTH + 2 * beside(radius)) * BYTES }
}

/// Dynamic shared memory of a block.
#[must_use]
pub const fn shared_bytes(radius: usize) -> u32 {
    slots(radius).shared_bytes()
}

/// What a launch computes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// Rows of the grid.
    pub ny: i32,
    /// Columns of the grid.
    pub nx: i32,
    /// Rows of outputs of a warp, a multiple of [`SIDE`].
    pub segment: i32,
    /// Elements from one row to the next.
    pub pitch: i64,
}

impl Strips {
    /// Strips side by side.
    #[inline(always)]
    #[must_use]
    pub const fn across(&self) -> u32 {
        (self.nx as u32).div_ceil(WIDTH)
    }

    /// Blocks of a launch.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.across() * (self.ny as u32).div_ceil(self.segment as u32)
    }
}

/// The kernel: a sum of radius `RADIUS`, of `DEPTH` products.
#[inline(always)]
#[track_caller]
unsafe fn march<const RADIUS: usize, const DEPTH: usize>(
    input: *const f64,
    output: *mut f64,
    operand: *const u32,
    strips: &Strips,
) {
    const { assert!(DEPTH == depth(RADIUS) && RADIUS <= MOST_RADIUS) };
    // SAFETY: the launch is as the kernel's contract says; rows up to the radius outside the grid, and what lies beside a
    // strip's rows, are in the array.
    unsafe {
        let lane = warp::lane_id();
        let fetch = Fetch::new(shared::dynamic(), slots(RADIUS));
        if lane == 0 {
            fetch.init();
        }
        warp::sync();
        let mut a = [[0.0; 8]; DEPTH];
        unroll!(k < DEPTH => a[k] = load_a(operand, k, lane));
        overlap::wait_for_previous();
        overlap::start_next();

        let (block, across) = (thread::block_idx_x(), strips.across());
        let mut y = (block / across) as i32 * strips.segment;
        let end = y + strips.segment;
        let end = if end < strips.ny { end } else { strips.ny };
        let x = (block % across * WIDTH) as i32;
        let rounds = (end - y + SIDE as i32 - 1) / SIDE as i32;
        let mut walk = Walk::<RADIUS, DEPTH> {
            strips,
            fetch,
            lane,
            a,
            from: input.wrapping_offset(x as isize - beside(RADIUS) as isize),
            asked: y - RADIUS as i32,
            last: end - 1 + RADIUS as i32,
            left: rounds + slots_read(RADIUS) as i32 - 1,
        };
        unroll!(_slot < (COUNT as usize - 1) => walk.ask());
        let mut read = [shared::dynamic(); MOST_READ];
        for slot in &mut read[..slots_read(RADIUS) - 1] {
            *slot = walk.fetch.data();
        }
        let (quad, pair) = (lane / 4, lane % 4);
        let column = x + (4 * pair + 2 * (quad % 2)) as i32;
        y += (quad / 2) as i32;
        let to = i64::from(y) * strips.pitch + i64::from(column);
        let mut to = output.wrapping_offset(to as isize);
        for _ in 0..rounds {
            read[slots_read(RADIUS) - 1] = walk.fetch.data();
            walk.ask();
            let left = if y < end { strips.nx - column } else { 0 };
            unroll!(product < PRODUCTS => {
                let c = walk.product(&read, product);
                let (first, half) = (product as i32 * PRODUCT_COLUMNS as i32, 16);
                store_two(to.wrapping_offset(first as isize), left - first, [c[0], c[2]]);
                let second = first + half;
                store_two(to.wrapping_offset(second as isize), left - second, [c[1], c[3]]);
            });
            read = [read[1], read[2], read[2]];
            y += SIDE as i32;
            to = to.wrapping_offset(SIDE as isize * strips.pitch as isize);
        }
    }
}

/// A warp's way down a strip.
struct Walk<'a, const RADIUS: usize, const DEPTH: usize> {
    strips: &'a Strips,
    fetch: Fetch,
    lane: u32,
    a: [A; DEPTH],
    /// The first column of a slot's rows in row 0.
    from: *const f64,
    /// The next row that is asked for.
    asked: i32,
    /// The last row that outputs depend on.
    last: i32,
    /// Slots that are still to be asked for.
    left: i32,
}

impl<const RADIUS: usize, const DEPTH: usize> Walk<'_, RADIUS, DEPTH> {
    /// Asks for the next rows; for those beyond the last one that outputs depend on, that one again.
    #[inline(always)]
    #[track_caller]
    unsafe fn ask(&mut self) {
        if self.left == 0 {
            return;
        }
        let row = |index: u32| {
            let row = self.asked + index as i32;
            let row = if row < self.last { row } else { self.last };
            self.from.wrapping_offset((i64::from(row) * self.strips.pitch) as isize).cast()
        };
        // SAFETY: as the caller promises: rows of the grid or its halo.
        unsafe { self.fetch.ask(row, self.lane) };
        self.asked += SIDE as i32;
        self.left -= 1;
    }

    /// The outputs of 8 tiles.
    #[inline(always)]
    #[track_caller]
    unsafe fn product(&self, read: &[Shared; MOST_READ], product: usize) -> C {
        let mut c = [0.0; 4];
        // SAFETY: all lanes execute it; the rows have arrived.
        unroll!(k < DEPTH => unsafe { c = multiply_add(self.a[k], self.load_b(read, product, k), c) });
        c
    }

    /// The inputs of a product of the hardware.
    #[inline(always)]
    #[track_caller]
    unsafe fn load_b(&self, read: &[Shared; MOST_READ], product: usize, k: usize) -> B {
        let mut b = [0.0; GROUPS];
        let (quad, pair) = (self.lane / 4, self.lane % 4);
        let bytes = slots(RADIUS).bytes;
        let own = PRODUCT_COLUMNS * product as u32 + SIDE as u32 * tile(quad);
        for group in 0..GROUPS {
            let first = 4 * (GROUPS * k + group);
            // A group beyond the last one is multiplied by zeros.
            if let Some((row, column)) = input(RADIUS, first) {
                let is_pair = matches!(input(RADIUS, first + 2), Some((other, _)) if other != row);
                let slot = read[row / SIDE].offset((row % SIDE) as u32 * bytes);
                let column = own + beside(RADIUS) - RADIUS as u32 + column as u32;
                let at = if is_pair {
                    slot.offset(pair / 2 * bytes + (column + pair % 2) * BYTES)
                } else {
                    slot.offset((column + pair) * BYTES)
                };
                // SAFETY: as the caller promises.
                b[group] = unsafe { f64::load_shared(at) };
            }
        }
        b
    }
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const f64, *mut f64, *const u32, Strips);

macro_rules! kernels {
    ($($name:ident: $radius:literal, $depth:literal, $registers:literal;)*) => {
    $(
        #[doc = concat!("A sum in f64 of radius ", stringify!($radius), ":")]
        /// `output` = sum of `input`.
        ///
        /// # Safety
        /// Launch with [`THREADS`] threads, as many blocks as [`Strips::blocks`] says, and [`shared_bytes`] of dynamic
        /// shared memory. `input` and `output` point at grid point (0, 0) of two different arrays laid out as in
        /// [`crate::layout`], of which `strips` has the extents and the pitch. `operand` holds
        /// [`crate::dense_f64::OPERAND`] numbers of 2 words for each of [`depth`] products.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(
            input: *const f64,
            output: *mut f64,
            operand: *const u32,
            strips: Strips,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe { march::<$radius, $depth>(input, output, operand, &strips) };
        }
    )*

    /// The kernel of a radius, if there is one, and the registers of a thread.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn kernel(radius: usize) -> Option<(Entry<Parameters>, u32)> {
        match radius {
            $($radius => Some((Entry::of::<$name>(), $registers)),)*
            _ => None,
        }
    }
    };
}

// Kernel: radius, products, registers.
kernels! {
    toeplitz2d_f64_r1: 1, 3, 96;
    toeplitz2d_f64_r2: 2, 4, 128;
    toeplitz2d_f64_r3: 3, 7, 168;
    toeplitz2d_f64_r4: 4, 9, 208;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_input_of_a_window_is_a_slot_once() {
        for radius in 1..=MOST_RADIUS {
            let side = SIDE + 2 * radius;
            let all: Vec<_> = (0..16 * depth(radius)).filter_map(|k| input(radius, k)).collect();
            let once: BTreeSet<_> = all.iter().copied().collect();
            assert_eq!((all.len(), once.len()), (side * side, side * side), "{radius}");
            assert!(once.iter().all(|&(row, column)| row < side && column < side));
        }
        assert_eq!([1, 2, 3, 4].map(depth), [3, 4, 7, 9]);
    }

    #[test]
    fn every_row_is_an_output_and_every_column_a_tile() {
        let outputs: BTreeSet<_> = (0..16).map(output).collect();
        assert_eq!(outputs.len(), 16);
        let tiles: BTreeSet<_> = (0..8).map(tile).collect();
        assert!(tiles.into_iter().eq(0..8));
    }
}
