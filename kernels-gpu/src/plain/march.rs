// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense stencils of small radius: a thread marches along an axis and loads every row once.
//!
//! An input row adds to the 2r + 1 outputs along the marching axis that it is a neighbour of. Their
//! sums stay in registers; the ring's index is a compile-time constant because the loop is unrolled
//! 2r + 1 times. Weights are parameters of the launch, which multiply-adds take from constant memory
//! without a load. Rows are loaded one round ahead.

use super::{Row, WARPS, WORDS, elements, store};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::unroll::unroll;
use cuda_std::{grid, kernel, thread, warp};

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct March<V, const N: usize> {
    /// Where it does so.
    pub lines: Lines,
    /// The dense stencil in C order.
    pub weights: [V; N],
}

/// The lines along which warps march.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lines {
    /// Columns of the grid.
    pub nx: i32,
    /// Lines side by side: 1 in 2D, where warps march along y; the rows in 3D, where they march along
    /// z.
    pub count: i32,
    /// Outputs of a line.
    pub length: i32,
    /// Of these, how many a warp computes.
    pub segment: i32,
    /// Elements from one output of a line to the next.
    pub stride: i64,
    /// Elements from one line to the next.
    pub pitch: i64,
}

/// The warp's place: columns first, then lines, then segments.
struct Place {
    x: i32,
    line: i32,
    start: i32,
}

impl Lines {
    /// Blocks of a launch, for warps of so many columns.
    #[must_use]
    pub const fn blocks(&self, columns: u32) -> u64 {
        let across = (self.nx as u32).div_ceil(columns) as u64;
        let segments = (self.length as u32).div_ceil(self.segment as u32) as u64;
        (across * self.count as u64 * segments).div_ceil(WARPS as u64)
    }

    /// In 2D warps of a block lie side by side, in 3D one below the other: there they share rows.
    #[inline(always)]
    fn place(&self, warp: u32, columns: u32) -> Option<Place> {
        let across = (self.nx as u32).div_ceil(columns);
        let lines = self.count as u32;
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
/// axes. `SIDE` words beside its own and `VECTOR` elements of its own are what a thread has of a row. It
/// loads `AHEAD` rows ahead.
#[inline(always)]
#[track_caller]
unsafe fn march<
    E: Element,
    const LINES: usize,
    const WIDTH: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
    const AHEAD: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &March<E::Real, N>,
) {
    const { assert!(VECTOR == elements(WORDS, E::BYTES), "a thread has 16 bytes") };
    const { assert!(SIDE * 4 >= WIDTH / 2 * E::BYTES as usize, "the sides hold the radius") };
    const { assert!(N == LINES * WIDTH * WIDTH, "the stencil is dense") };
    let radius = (WIDTH / 2) as i32;
    let lines = &launch.lines;
    // SAFETY: the launch is as the kernel's contract says; rows and columns up to the radius outside
    // lie in the frame.
    unsafe {
        let warp = thread::block_idx_x() * WARPS + thread::thread_idx_x() / warp::SIZE;
        let lane = warp::lane_id() as i32;
        let Some(place) = lines.place(warp, warp::SIZE * VECTOR as u32) else { return };
        let x = place.x + lane * VECTOR as i32;
        if x >= lines.nx {
            return;
        }
        let end = place.start + lines.segment;
        let end = if end < lines.length { end } else { lines.length };
        let at = place.start - radius;
        let offset = i64::from(at) * lines.stride + i64::from(place.line) * lines.pitch;
        let from = input.wrapping_offset((offset + i64::from(x)) as isize);
        // The output that the row at `from` completes.
        let behind = i64::from(radius) * lines.stride;
        let to = output.wrapping_offset((offset - behind + i64::from(x)) as isize);
        grid::wait_for_previous();
        grid::start_next();

        let mut walk = Walk::<E, LINES, WIDTH, SIDE, VECTOR, N, AHEAD> {
            launch,
            columns: lines.nx - x,
            start: place.start,
            end,
            at,
            from,
            to,
            rows: [[Row::ZERO; LINES]; AHEAD],
            sums: [[E::Real::ZERO; VECTOR]; WIDTH],
        };
        unroll!(ahead < AHEAD => walk.load(ahead));
        while walk.at < end + radius {
            unroll!(newest < WIDTH => walk.round(newest));
        }
    }
}

/// A thread's way along the marching axis.
struct Walk<
    'a,
    E: Element,
    const LINES: usize,
    const WIDTH: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
    const AHEAD: usize,
> {
    launch: &'a March<E::Real, N>,
    /// Columns of the grid from the thread's first one on.
    columns: i32,
    /// The outputs.
    start: i32,
    end: i32,
    /// Coordinate of the next input rows, these and those after them, and where the last ones lie.
    at: i32,
    rows: [[Row<SIDE>; LINES]; AHEAD],
    from: *const E::Stored,
    /// Where the output goes that these rows complete.
    to: *mut E::Stored,
    /// The outputs that these rows add to.
    sums: [[E::Real; VECTOR]; WIDTH],
}

impl<
    E: Element,
    const LINES: usize,
    const WIDTH: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
    const AHEAD: usize,
> Walk<'_, E, LINES, WIDTH, SIDE, VECTOR, N, AHEAD>
{
    /// Loads the rows that are `ahead` of the next ones.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(&mut self, ahead: usize) {
        // SAFETY: as the caller promises.
        self.rows[ahead] = unsafe { load_lines(self.from, self.launch.lines.pitch) };
        let read = self.at + ahead as i32 + 1;
        // Past the last row that is needed there may be no array: that one again.
        if read < self.end + (WIDTH / 2) as i32 {
            self.from = self.from.wrapping_offset(self.launch.lines.stride as isize);
        }
    }

    /// Adds the next rows to the outputs, and stores the one that they complete.
    #[inline(always)]
    #[track_caller]
    unsafe fn round(&mut self, newest: usize) {
        let radius = (WIDTH / 2) as i32;
        let stride = self.launch.lines.stride as isize;
        let now = self.rows[0];
        for next in 1..AHEAD {
            self.rows[next - 1] = self.rows[next];
        }
        let output = self.at - radius;
        self.at += 1;
        // SAFETY: rows of the grid or its frame, and an output that no other thread has.
        unsafe {
            self.load(AHEAD - 1);
            unroll!(line < LINES => self.add_row(&now[line], newest, line));
            let done = (newest + 1) % WIDTH;
            let mut sums = self.sums[done];
            for sum in &mut sums {
                *sum = sum.pin();
            }
            if output >= self.start && output < self.end {
                store::<E, VECTOR>(self.to, &sums, self.columns);
            }
            self.sums[done] = [E::Real::ZERO; VECTOR];
        }
        self.to = self.to.wrapping_offset(stride);
    }

    /// Adds a row to all outputs along the marching axis that it is a neighbour of.
    #[inline(always)]
    unsafe fn add_row(&mut self, row: &Row<SIDE>, newest: usize, line: usize) {
        // SAFETY: in a kernel.
        unroll!(dx < WIDTH => unsafe { self.add_shifted(row, newest, line, dx) });
    }

    #[inline(always)]
    unsafe fn add_shifted(&mut self, row: &Row<SIDE>, newest: usize, line: usize, dx: usize) {
        let first = elements(SIDE, E::BYTES) - WIDTH / 2;
        for along in 0..WIDTH {
            let weight = self.launch.weights[(along * LINES + line) * WIDTH + dx];
            let sums = &mut self.sums[(newest + WIDTH - along) % WIDTH];
            // SAFETY: in a kernel.
            unsafe { super::add::<E, SIDE, VECTOR>(sums, row, first + dx, weight) };
        }
    }
}

/// The rows of a place along the marching axis: one in 2D, those of the neighbouring lines in 3D.
#[inline(always)]
#[track_caller]
unsafe fn load_lines<S, const LINES: usize, const SIDE: usize>(
    from: *const S,
    pitch: i64,
) -> [Row<SIDE>; LINES] {
    let mut rows = [Row::ZERO; LINES];
    for index in 0..LINES {
        let offset = (index as i64 - (LINES / 2) as i64) * pitch;
        // SAFETY: as the caller promises: rows of the grid or its frame.
        rows[index] = unsafe { Row::load(from.wrapping_offset(offset as isize).cast()) };
    }
    rows
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $stored:ty, $real:ty, $lines:literal, $width:literal, $side:literal, $vector:literal, $n:literal, $ahead:literal, $registers:literal;)*) => {$(
        /// One step of a dense stencil of
        #[doc = stringify!($n)]
        /// weights on a grid of
        #[doc = stringify!($element)]
        /// .
        ///
        /// # Safety
        /// Launch with [`super::THREADS`] threads, as many blocks as [`Lines::blocks`] says. `input`
        /// and `output` point at grid point (0, 0, 0) of two different arrays laid out as in
        /// [`crate::layout`], of which `launch` has the strides.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(
            input: *const $stored,
            output: *mut $stored,
            launch: March<$real, $n>,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                march::<$element, $lines, $width, $side, $vector, $n, $ahead>(
                    input, output, &launch,
                );
            }
        }
    )*};
}

kernels! {
    march_2d_f16_r1: F16, u16, f32, 1, 3, 1, 8, 9, 2, 96;
    march_2d_f16_r2: F16, u16, f32, 1, 5, 1, 8, 25, 1, 96;
    march_2d_f16_r3: F16, u16, f32, 1, 7, 2, 8, 49, 1, 96;
    march_3d_f16_r1: F16, u16, f32, 3, 3, 1, 8, 27, 1, 96;
    march_2d_bf16_r1: Bf16, u16, f32, 1, 3, 1, 8, 9, 2, 96;
    march_2d_bf16_r2: Bf16, u16, f32, 1, 5, 1, 8, 25, 1, 96;
    march_2d_bf16_r3: Bf16, u16, f32, 1, 7, 2, 8, 49, 1, 96;
    march_3d_bf16_r1: Bf16, u16, f32, 3, 3, 1, 8, 27, 1, 96;
    march_2d_f32_r1: F32, u32, f32, 1, 3, 1, 4, 9, 2, 96;
    march_2d_f32_r2: F32, u32, f32, 1, 5, 2, 4, 25, 1, 96;
    march_2d_f32_r3: F32, u32, f32, 1, 7, 4, 4, 49, 1, 96;
    march_3d_f32_r1: F32, u32, f32, 3, 3, 1, 4, 27, 1, 96;
    march_2d_f64_r1: F64, u64, f64, 1, 3, 2, 2, 9, 2, 96;
    march_2d_f64_r2: F64, u64, f64, 1, 5, 4, 2, 25, 1, 96;
    march_2d_f64_r3: F64, u64, f64, 1, 7, 8, 2, 49, 1, 128;
    march_3d_f64_r1: F64, u64, f64, 3, 3, 2, 2, 27, 1, 96;
}
