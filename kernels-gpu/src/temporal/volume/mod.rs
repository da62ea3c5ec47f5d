// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 3D stencil in one pass: a block runs through the planes of a tile of rows and columns.
//!
//! A thread has some rows and columns of every plane ([`super::slab`]). Neighbours in z are sums in registers, those
//! in x come from the lanes on either side. Neighbours in y come from the thread's own rows or, through shared
//! memory, from the warps above and below. There is one barrier for a plane of every step. Tiles overlap by what all
//! steps reach, because their
//! outermost rows and columns lack neighbours.
//!
//! **Zeros around the grid**, in every step: beyond the first and the last column of the grid a lane takes zeros for
//! what its neighbour gives, above a tile's first row and below its last one lie zeros, and no tile goes beyond the
//! grid; planes beyond it are set to zero after each step, by a loop of its own, because that would cost the others
//! what it takes. So a lane's columns must all be in the grid or none, and the grid must have the rows of a tile:
//! elsewhere [`crate::rim`] computes what is near the boundary.

mod kernels;
mod walk;

use self::walk::{EDGES, Walk, slots};
use super::slab::Slab;
use super::step::{Ends, STAR};
use super::{margin, words};
use crate::boundary::Range;
use crate::element::{Element, Real};
use crate::fetch::Fetch;
use crate::overlap;
use crate::unroll::unroll;
use cuda_std::{shared, thread, warp};
#[cfg(not(target_arch = "nvptx64"))]
pub use kernels::{KERNELS, Kernel};

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct VolumeLaunch<V, const N: usize> {
    /// Where it does so.
    pub tiles: Tiles,
    /// The dense stencil in C order.
    pub weights: [V; N],
}

/// The tiles through which blocks run.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Extents (z, y, x) of the grid.
    pub extents: [i32; 3],
    /// The planes of outputs.
    pub planes: Range,
    /// The rows of outputs.
    pub rows: Range,
    /// The columns of outputs; the first is one at which 16 bytes start.
    pub columns: Range,
    /// Planes of outputs of a block.
    pub segment: i32,
    /// Elements from one row to the next.
    pub pitch: i64,
    /// Elements from one plane to the next.
    pub plane: i64,
}

impl Tiles {
    /// Tiles below each other and side by side, of so many rows and columns of outputs, to which the steps reach from
    /// so many rows on either side. The first and the last tile end with the grid.
    #[inline(always)]
    #[must_use]
    pub const fn across(&self, [rows, columns]: [u32; 2], reach: u32) -> [u32; 2] {
        let [_, ny, _] = self.extents;
        let down = (ny as u32).saturating_sub(2 * reach).div_ceil(rows);
        [if down > 1 { down } else { 1 }, (self.columns.len() as u32).div_ceil(columns)]
    }

    /// Blocks of a launch.
    #[must_use]
    pub const fn blocks(&self, tile: [u32; 2], reach: u32) -> u32 {
        let [down, across] = self.across(tile, reach);
        down * across * (self.planes.len() as u32).div_ceil(self.segment as u32)
    }
}

/// The kernel: `STEPS` steps of radius `RADIUS`, `RING` = twice that; `ROWS` rows of `VECTOR` columns for a thread, which
/// are `WORDS`.
#[inline(always)]
#[track_caller]
unsafe fn march<
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const WARPS: u32,
    const ROWS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &VolumeLaunch<E::Real, N>,
) {
    const { assert!(WORDS == words(VECTOR, E::BYTES) && WORDS.is_multiple_of(4), "16 bytes") };
    const { assert!(ROWS >= RADIUS, "neighbours are those of the next warp") };
    let tiles = &launch.tiles;
    let reach = (RADIUS * STEPS) as i32;
    let beside = margin(reach as u32, VECTOR as u32) as i32;
    let (width, height) = (warp::SIZE as i32 * VECTOR as i32, WARPS as i32 * ROWS as i32);
    let (columns, rows) = (width - 2 * beside, height - 2 * reach);
    let bytes = width as u32 * E::BYTES;
    // A step of a star gives the next one its plane at once.
    let delay = if FORM == STAR { 0 } else { STEPS as i32 };
    // SAFETY: the launch is as the kernel's contract says; planes and rows up to the radius outside the grid, and what
    // lies beside a tile's rows, are in the array.
    unsafe {
        let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
        // The assembler knows that what lane 0 gives is the same for all lanes.
        let warp = warp::shuffle(thread / warp::SIZE, 0);
        let slots = slots(WARPS, ROWS as u32, bytes);
        let (start, ring) = (shared::dynamic(), slots.shared_bytes());
        let fetch = Fetch::new(start.offset(warp * ring), slots);
        if lane == 0 {
            fetch.init();
        }
        overlap::wait_for_previous();
        overlap::start_next();

        let [down, across] = tiles.across([rows as u32, columns as u32], reach as u32);
        let block = thread::block_idx_x();
        let first = tiles.planes.low + (block / (down * across)) as i32 * tiles.segment;
        if first >= tiles.planes.high {
            return;
        }
        let end = least(first + tiles.segment, tiles.planes.high);
        let [nz, ny, nx] = tiles.extents;
        let tile = (block / across % down) as i32;
        let is_last = tile == down as i32 - 1;
        let top = if is_last && ny > height { ny - height } else { tile * rows };
        let left = tiles.columns.low + (block % across) as i32 * columns - beside;
        let (own, y) = ((lane * VECTOR as u32) as i32, top + warp as i32 * ROWS as i32);
        let x = left + own;
        let is_inner = own >= beside && own < width - beside;
        let to = i64::from(first) * tiles.plane + i64::from(y) * tiles.pitch;
        let low = if tile == 0 { 0 } else { tile * rows + reach };
        let high = if is_last { ny } else { (tile + 1) * rows + reach };
        let low = if low > tiles.rows.low { low } else { tiles.rows.low };
        let outputs = Range { low: low - y, high: least(high, tiles.rows.high) - y };
        let mut walk = Walk::<E, FORM, RADIUS, RING, STEPS, ROWS, VECTOR, WORDS, N> {
            launch,
            fetch,
            edges: start.offset(WARPS * ring),
            edge_bytes: WARPS * EDGES * RADIUS as u32 * width as u32 * E::Real::BYTES,
            warp,
            last: WARPS - 1,
            ends: Ends { left: x == 0, right: x + VECTOR as i32 == nx },
            lane,
            left,
            y,
            input,
            to: output.wrapping_offset((to + i64::from(x)) as isize),
            rows: outputs,
            stored: if is_inner { tiles.columns.high - x } else { 0 },
            asked: first - reach,
            at: first - reach,
            first: first + reach + delay,
            end: end + reach + delay,
            steps: [const { Slab::EMPTY }; STEPS],
            parity: 0,
        };
        walk.show_all();
        walk.show_zeros();
        let mut ahead = 0;
        // What was set up, and the zeros, must be seen.
        thread::sync_threads();
        while ahead < slots.ahead() {
            walk.ask();
            ahead += 1;
        }
        loop {
            let at = walk.at;
            // Where no step of these rounds computes a plane beyond the grid.
            if at >= reach + delay && at + RING as i32 <= nz {
                turn!(walk, false);
            } else {
                turn!(walk, true);
            }
        }
    }
}

#[inline(always)]
const fn least(a: i32, b: i32) -> i32 {
    if a < b { a } else { b }
}
