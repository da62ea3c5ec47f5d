// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense stencils of small radius: a thread marches along an axis and loads every row once.
//!
//! An input row adds to the 2r + 1 outputs along the marching axis that it is a neighbour of. Their
//! sums stay in registers; the ring's index is a compile-time constant because the loop is unrolled
//! 2r + 1 times. Weights are parameters of the launch, which multiply-adds take from constant memory
//! without a load. Rows are loaded one round ahead.

use super::{Row, WARPS, store};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use cuda_std::{grid, kernel, thread, warp};

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct March<V, const N: usize> {
    /// Columns of the grid.
    pub nx: i32,
    /// Lines of outputs side by side: 1 in 2D, where warps march along y; the rows in 3D, where they
    /// march along z.
    pub lines: i32,
    /// Outputs along the marching axis.
    pub length: i32,
    /// Of these, how many a warp computes.
    pub segment: i32,
    /// Elements from one output to the next along the marching axis.
    pub stride: i64,
    /// Elements from one line to the next.
    pub line: i64,
    /// The dense stencil in C order.
    pub weights: [V; N],
}

/// The warp's place: columns first, then lines, then segments.
struct Place {
    x: i32,
    line: i32,
    start: i32,
}

/// Warps of a launch side by side, and how many there are: of a line, and together.
#[must_use]
pub const fn warps(columns: u32, nx: u32, lines: u32, segments: u32) -> u64 {
    nx.div_ceil(columns) as u64 * lines as u64 * segments as u64
}

impl<V, const N: usize> March<V, N> {
    /// In 2D warps of a block lie side by side, in 3D one below the other: there they share rows.
    #[inline(always)]
    fn place(&self, warp: u32, columns: u32) -> Option<Place> {
        let across = (self.nx as u32).div_ceil(columns);
        let lines = self.lines as u32;
        let (x, line, segment) = if lines == 1 {
            (warp % across, 0, warp / across)
        } else {
            let rest = warp / lines;
            (rest % across, warp % lines, rest / across)
        };
        let start = segment as i32 * self.segment;
        let place = Place { x: (x * columns) as i32, line: line as i32, start };
        (start < self.length).then_some(place)
    }
}

/// The kernel for stencils of radius (`LINES` - 1) / 2 across lines and (`WIDTH` - 1) / 2 on the other
/// axes. `WORDS`, `SIDE` and `VECTOR` are what a thread has of a row.
#[inline(always)]
#[track_caller]
unsafe fn march<
    E: Element,
    const LINES: usize,
    const WIDTH: usize,
    const WORDS: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &March<E::Real, N>,
) {
    const { assert!(WORDS == super::words(E::BYTES) && VECTOR == super::vector(WORDS, E::BYTES)) };
    const { assert!(SIDE * 4 >= WIDTH / 2 * E::BYTES as usize, "the sides hold the radius") };
    const { assert!(N == LINES * WIDTH * WIDTH, "the stencil is dense") };
    let radius = (WIDTH / 2) as i32;
    // SAFETY: the launch is as the kernel's contract says; rows and columns up to the radius outside
    // lie in the frame.
    unsafe {
        grid::start_next();
        let warp = thread::block_idx_x() * WARPS + thread::thread_idx_x() / warp::SIZE;
        let lane = warp::lane_id() as i32;
        let Some(place) = launch.place(warp, warp::SIZE * VECTOR as u32) else { return };
        let x = place.x + lane * VECTOR as i32;
        if x >= launch.nx {
            return;
        }
        let end = place.start + launch.segment;
        let end = if end < launch.length { end } else { launch.length };
        let mut at = place.start - radius;
        let offset = i64::from(at) * launch.stride + i64::from(place.line) * launch.line;
        let mut from = input.wrapping_offset((offset + i64::from(x)) as isize);
        // The output that the row at `from` completes.
        let behind = i64::from(radius) * launch.stride;
        let mut to = output.wrapping_offset((offset - behind + i64::from(x)) as isize);
        let stride = launch.stride as isize;
        grid::wait_for_previous();

        let mut sums = [[E::Real::ZERO; VECTOR]; WIDTH];
        let mut rows = load_lines::<E, LINES, WORDS, SIDE>(from, launch.line);
        while at < end + radius {
            for newest in 0..WIDTH {
                let now = rows;
                // Past the last row that is needed there may be no array: that one again.
                if at + 1 < end + radius {
                    from = from.wrapping_offset(stride);
                }
                rows = load_lines::<E, LINES, WORDS, SIDE>(from, launch.line);
                for line in 0..LINES {
                    add_row::<E, LINES, WIDTH, WORDS, SIDE, VECTOR>(
                        &mut sums,
                        &now[line],
                        &launch.weights,
                        newest,
                        line,
                    );
                }
                let done = (newest + 1) % WIDTH;
                let output = at - radius;
                if output >= place.start && output < end {
                    store::<E, WORDS, VECTOR>(to, &sums[done], launch.nx - x);
                }
                sums[done] = [E::Real::ZERO; VECTOR];
                to = to.wrapping_offset(stride);
                at += 1;
            }
        }
    }
}

/// The rows of a place along the marching axis: one in 2D, those of the neighbouring lines in 3D.
#[inline(always)]
#[track_caller]
unsafe fn load_lines<E: Element, const LINES: usize, const WORDS: usize, const SIDE: usize>(
    from: *const E::Stored,
    line: i64,
) -> [Row<WORDS, SIDE>; LINES] {
    let mut rows = [Row::ZERO; LINES];
    for index in 0..LINES {
        let offset = (index as i64 - (LINES / 2) as i64) * line;
        // SAFETY: as the caller promises: rows of the grid or its frame.
        rows[index] = unsafe { Row::load(from.wrapping_offset(offset as isize).cast()) };
    }
    rows
}

/// Adds a row to all outputs along the marching axis that it is a neighbour of.
#[inline(always)]
unsafe fn add_row<
    E: Element,
    const LINES: usize,
    const WIDTH: usize,
    const WORDS: usize,
    const SIDE: usize,
    const VECTOR: usize,
>(
    sums: &mut [[E::Real; VECTOR]; WIDTH],
    row: &Row<WORDS, SIDE>,
    weights: &[E::Real],
    newest: usize,
    line: usize,
) {
    let first = super::vector(SIDE, E::BYTES) - WIDTH / 2;
    for dx in 0..WIDTH {
        for column in 0..VECTOR {
            // SAFETY: in a kernel.
            let value = unsafe { row.element::<E>(first + dx + column) };
            for along in 0..WIDTH {
                let weight = weights[(along * LINES + line) * WIDTH + dx];
                let sum = &mut sums[(newest + WIDTH - along) % WIDTH][column];
                // SAFETY: in a kernel.
                *sum = unsafe { value.multiply_add(weight, *sum) };
            }
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $stored:ty, $real:ty, $lines:literal, $width:literal, $words:literal, $side:literal, $vector:literal, $n:literal;)*) => {$(
        /// One step of a dense stencil of
        #[doc = stringify!($n)]
        /// weights on a grid of
        #[doc = stringify!($element)]
        /// .
        ///
        /// # Safety
        /// Launch with [`super::THREADS`] threads, as many warps as [`warps`] says or more. `input`
        /// and `output` point at grid point (0, 0, 0) of two different arrays laid out as in
        /// [`crate::layout`], of which `launch` has the strides.
        #[kernel]
        pub unsafe fn $name(
            input: *const $stored,
            output: *mut $stored,
            launch: March<$real, $n>,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                march::<$element, $lines, $width, $words, $side, $vector, $n>(
                    input, output, &launch,
                );
            }
        }
    )*};
}

kernels! {
    march_2d_f16_r1: F16, u16, f32, 1, 3, 4, 1, 8, 9;
    march_2d_f16_r2: F16, u16, f32, 1, 5, 4, 1, 8, 25;
    march_2d_f16_r3: F16, u16, f32, 1, 7, 4, 2, 8, 49;
    march_3d_f16_r1: F16, u16, f32, 3, 3, 4, 1, 8, 27;
    march_2d_bf16_r1: Bf16, u16, f32, 1, 3, 4, 1, 8, 9;
    march_2d_bf16_r2: Bf16, u16, f32, 1, 5, 4, 1, 8, 25;
    march_2d_bf16_r3: Bf16, u16, f32, 1, 7, 4, 2, 8, 49;
    march_3d_bf16_r1: Bf16, u16, f32, 3, 3, 4, 1, 8, 27;
    march_2d_f32_r1: F32, u32, f32, 1, 3, 4, 1, 4, 9;
    march_2d_f32_r2: F32, u32, f32, 1, 5, 4, 2, 4, 25;
    march_2d_f32_r3: F32, u32, f32, 1, 7, 4, 4, 4, 49;
    march_3d_f32_r1: F32, u32, f32, 3, 3, 4, 1, 4, 27;
    march_2d_f64_r1: F64, u64, f64, 1, 3, 8, 2, 4, 9;
    march_2d_f64_r2: F64, u64, f64, 1, 5, 8, 4, 4, 25;
    march_2d_f64_r3: F64, u64, f64, 1, 7, 8, 8, 4, 49;
    march_3d_f64_r1: F64, u64, f64, 3, 3, 8, 2, 4, 27;
}
