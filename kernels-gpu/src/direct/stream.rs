// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dense stencils: a thread runs along an axis and loads every row once.
//!
//! An input row adds to the 2r + 1 outputs along the streaming axis that it is a neighbour of. Their
//! sums stay in registers; the ring's index is a compile-time constant because the loop is unrolled
//! 2r + 1 times. Of radius 1, where input y adds to outputs y - 1, y and y + 1:
//!
//! ```text
//! round, `newest`  0         1         2         0 again
//! input            3         4         5         6
//! sums[0]          4 begins  4         4 ends    7 begins
//! sums[1]          2 ends    5 begins  5         5 ends
//! sums[2]          3         3 ends    6 begins  6
//! stored           2         3         4         5
//! ```
//!
//! Weights are parameters of the launch, which multiply-adds take without a load. A thread
//! loads its own columns up to two rounds ahead, and those on either side, which its neighbours load as
//! theirs, one round.

use super::{Row, Sides, WARPS, WORDS, add, elements, reach, side_words, store, weights};
use crate::element::{Bf16, Element, F16, F32, F64, Real, load_words};
use crate::layout::HALO;
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{AnyCall, Entry};
use cuda_std::{kernel, thread, warp};

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct StreamLaunch<V, const N: usize> {
    /// Where it does so.
    pub lines: StreamLines,
    /// The dense stencil in C order.
    pub weights: [V; N],
}

/// The lines along which warps stream.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct StreamLines {
    /// Columns of the grid.
    pub nx: i32,
    /// Lines side by side: 1 in 2D, where warps run along y; the rows in 3D, where they run along
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

impl StreamLines {
    /// Blocks of a launch, for warps of so many columns and lines.
    #[must_use]
    pub const fn blocks(&self, columns: u32, lines: u32) -> u64 {
        let segments = (self.length as u32).div_ceil(self.segment as u32) as u64;
        (self.side_by_side(columns, lines) * segments).div_ceil(WARPS as u64)
    }

    /// Warps of a segment.
    #[must_use]
    pub const fn side_by_side(&self, columns: u32, lines: u32) -> u64 {
        let across = (self.nx as u32).div_ceil(columns) as u64;
        across * (self.count as u32).div_ceil(lines) as u64
    }

    #[inline(always)]
    fn place(&self, warp: u32, columns: u32, lines: u32) -> Option<Place> {
        let across = (self.nx as u32).div_ceil(columns);
        let down = (self.count as u32).div_ceil(lines);
        let (x, rest) = (warp % across, warp / across);
        let start = (rest / down) as i32 * self.segment;
        let place = Place { x: (x * columns) as i32, line: (rest % down * lines) as i32, start };
        (start < self.length).then_some(place)
    }
}

/// The kernel for stencils of width `WIDTH`. A warp computes `ROWS` lines side by side, which depend on
/// `LINES`. `SIDE` words beside its own and `VECTOR` elements of its own are what a thread has of a row. It
/// loads its own `AHEAD` rows ahead.
#[inline(always)]
#[track_caller]
unsafe fn stream<
    E: Element,
    const WIDTH: usize,
    const ROWS: usize,
    const LINES: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
    const AHEAD: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &StreamLaunch<E::Real, N>,
) {
    const { assert!(VECTOR == elements(WORDS, E::BYTES), "a thread has 16 bytes") };
    const { assert!(SIDE * 4 >= WIDTH / 2 * E::BYTES as usize, "the sides hold the radius") };
    const { assert!(WIDTH / 2 + AHEAD <= HALO as usize, "what is loaded ahead lies in the halo") };
    let radius = (WIDTH / 2) as i32;
    let lines = &launch.lines;
    // SAFETY: the launch is as the kernel's contract says; rows and columns up to the radius outside,
    // those that are loaded ahead, and lines of a warp that reaches out of the grid, lie in the halo.
    unsafe {
        let warp = thread::block_idx_x() * WARPS + thread::thread_idx_x() / warp::SIZE;
        let columns = warp::SIZE * VECTOR as u32;
        let Some(place) = lines.place(warp, columns, ROWS as u32) else { return };
        let x = place.x + (warp::lane_id() * VECTOR as u32) as i32;
        if x >= lines.nx {
            return;
        }
        let end = place.start + lines.segment;
        let end = if end < lines.length { end } else { lines.length };
        let offset = i64::from(place.line) * lines.pitch + i64::from(x);
        let first = i64::from(place.start - radius) * lines.stride + offset;
        let above = ((LINES - ROWS) / 2) as i64 * lines.pitch;
        let from = input.wrapping_offset((first - above) as isize);
        // The output that the row at `from` completes.
        let to = first - i64::from(radius) * lines.stride;
        overlap::wait_for_previous();
        overlap::start_next();

        let mut walk = Walk::<E, WIDTH, ROWS, LINES, SIDE, VECTOR, N, AHEAD> {
            launch,
            columns: lines.nx - x,
            lines: lines.count - place.line,
            start: place.start + radius,
            end: end + radius,
            at: place.start - radius,
            from,
            beside: from,
            to: output.wrapping_offset(to as isize),
            own: [[[0; WORDS]; LINES]; AHEAD],
            sides: [Sides::ZERO; LINES],
            sums: [[[E::Real::ZERO; VECTOR]; ROWS]; WIDTH],
        };
        unroll!(ahead < AHEAD => walk.load(ahead));
        walk.load_sides();
        loop {
            unroll!(newest < WIDTH => {
                if walk.at >= walk.end {
                    return;
                }
                walk.round(newest)
            });
        }
    }
}

/// A thread's way along the streaming axis.
struct Walk<
    'a,
    E: Element,
    const WIDTH: usize,
    const ROWS: usize,
    const LINES: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
    const AHEAD: usize,
> {
    launch: &'a StreamLaunch<E::Real, N>,
    /// Columns and lines of the grid from the thread's first ones on.
    columns: i32,
    lines: i32,
    /// The first row that completes an output, and one past the last.
    start: i32,
    end: i32,
    /// Coordinate of the next input rows.
    at: i32,
    /// What was loaded of these and those after them, and where the next ones lie.
    own: [[[u32; WORDS]; LINES]; AHEAD],
    sides: [Sides<SIDE>; LINES],
    from: *const E::Stored,
    beside: *const E::Stored,
    /// Where the outputs go that the next rows complete.
    to: *mut E::Stored,
    /// The outputs that they add to.
    sums: [[[E::Real; VECTOR]; ROWS]; WIDTH],
}

impl<
    E: Element,
    const WIDTH: usize,
    const ROWS: usize,
    const LINES: usize,
    const SIDE: usize,
    const VECTOR: usize,
    const N: usize,
    const AHEAD: usize,
> Walk<'_, E, WIDTH, ROWS, LINES, SIDE, VECTOR, N, AHEAD>
{
    /// Loads the thread's own of the rows that are `ahead` of the next ones.
    #[inline(always)]
    #[track_caller]
    unsafe fn load(&mut self, ahead: usize) {
        let StreamLines { stride, pitch, .. } = self.launch.lines;
        let mut at = self.from;
        for line in 0..LINES {
            // SAFETY: as the caller promises: rows of the grid or its halo.
            self.own[ahead][line] = unsafe { load_words(at.cast()) };
            at = at.wrapping_offset(pitch as isize);
        }
        self.from = self.from.wrapping_offset(stride as isize);
    }

    /// Loads what is beside the next rows.
    #[inline(always)]
    #[track_caller]
    unsafe fn load_sides(&mut self) {
        let StreamLines { stride, pitch, .. } = self.launch.lines;
        let mut at = self.beside;
        for line in 0..LINES {
            // SAFETY: as the caller promises: rows of the grid or its halo.
            self.sides[line] = unsafe { Sides::load(at.cast()) };
            at = at.wrapping_offset(pitch as isize);
        }
        self.beside = self.beside.wrapping_offset(stride as isize);
    }

    /// Adds the next rows to the outputs, and stores those that they complete.
    #[inline(always)]
    #[track_caller]
    unsafe fn round(&mut self, newest: usize) {
        let (own, sides) = (self.own[0], self.sides);
        for next in 1..AHEAD {
            self.own[next - 1] = self.own[next];
        }
        let completes = self.at >= self.start;
        self.at += 1;
        // SAFETY: rows of the grid or its halo, and outputs that no other thread has.
        unsafe {
            self.load(AHEAD - 1);
            self.load_sides();
            unroll!(line < LINES => {
                self.add_line(&Row { own: own[line], sides: sides[line] }, newest, line)
            });
            self.store((newest + 1) % WIDTH, completes);
        }
        self.to = self.to.wrapping_offset(self.launch.lines.stride as isize);
    }

    /// Ends sums, of which the first lines are outputs, if `completes` says so.
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&mut self, done: usize, completes: bool) {
        let mut sums = self.sums[done];
        // SAFETY: as the caller promises.
        unsafe {
            for sum in sums.as_flattened_mut() {
                *sum = sum.pin();
            }
            if completes {
                let mut to = self.to;
                for line in 0..ROWS {
                    if (line as i32) < self.lines {
                        store::<E, VECTOR>(to, &sums[line], self.columns);
                    }
                    to = to.wrapping_offset(self.launch.lines.pitch as isize);
                }
            }
        }
        self.sums[done] = [[E::Real::ZERO; VECTOR]; ROWS];
    }

    /// Adds a row to all outputs that it is a neighbour of.
    #[inline(always)]
    unsafe fn add_line(&mut self, row: &Row<SIDE>, newest: usize, line: usize) {
        // SAFETY: in a kernel.
        unroll!(dx < WIDTH => unsafe { self.add_shifted(row, newest, line, dx) });
    }

    #[inline(always)]
    unsafe fn add_shifted(&mut self, row: &Row<SIDE>, newest: usize, line: usize, dx: usize) {
        // SAFETY: in a kernel.
        unroll!(output < ROWS => unsafe { self.add_to(row, newest, line, dx, output) });
    }

    #[inline(always)]
    unsafe fn add_to(
        &mut self,
        row: &Row<SIDE>,
        newest: usize,
        line: usize,
        dx: usize,
        output: usize,
    ) {
        let high = LINES - ROWS + 1;
        let first = elements(SIDE, E::BYTES) - WIDTH / 2;
        if line < output || line >= output + high {
            return;
        }
        for along in 0..WIDTH {
            let weight = self.launch.weights[(along * high + line - output) * WIDTH + dx];
            let sums = &mut self.sums[(newest + WIDTH - along) % WIDTH][output];
            // SAFETY: in a kernel.
            unsafe { add::<E, SIDE, VECTOR>(sums, row, first + dx, weight) };
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $real:ty, $dims:literal, $radius:literal, $rows:literal, $ahead:literal, $registers:literal;)*) => {
        $(
            /// One step of a dense stencil of
            #[doc = stringify!($dims)]
            /// dimensions and radius
            #[doc = stringify!($radius)]
            /// on a grid of
            #[doc = stringify!($element)]
            /// .
            ///
            /// # Safety
            /// Launch with [`super::THREADS`] threads, as many blocks as [`StreamLines::blocks`] says. `input`
            /// and `output` point at grid point (0, 0, 0) of two different arrays laid out as in
            /// [`crate::layout`], of which `launch` has the strides.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                launch: StreamLaunch<$real, { weights($dims, $radius) }>,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    stream::<
                        $element,
                        { 2 * $radius + 1 },
                        $rows,
                        { reach($rows, $radius, $dims > 2) },
                        { side_words($radius, <$element as Element>::BYTES) },
                        { elements(WORDS, <$element as Element>::BYTES) },
                        { weights($dims, $radius) },
                        $ahead,
                    >(input.cast(), output.cast(), &launch);
                }
            }
        )*

        /// Every kernel of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            element: $type,
            dims: $dims,
            radius: $radius,
            rows: $rows,
            call: |input, output, lines, weights| {
                let weights = core::array::from_fn(|index| weights[index] as $real);
                let launch = StreamLaunch { lines, weights };
                Box::new(Entry::of::<$name>().with((input, output, launch)))
            },
        },)*];
    };
}

// Kernel: element, its name, type of sums, dimensions, radius, lines of a warp, rows loaded ahead, registers.
kernels! {
    stream2d_f16_r2: F16, "f16", f32, 2, 2, 1, 1, 80;
    stream2d_f16_r3: F16, "f16", f32, 2, 3, 1, 1, 96;
    stream3d_f16_r1: F16, "f16", f32, 3, 1, 3, 1, 128;
    stream2d_bf16_r2: Bf16, "bf16", f32, 2, 2, 1, 1, 80;
    stream2d_bf16_r3: Bf16, "bf16", f32, 2, 3, 1, 1, 96;
    stream3d_bf16_r1: Bf16, "bf16", f32, 3, 1, 3, 1, 128;
    stream2d_f32_r2: F32, "f32", f32, 2, 2, 1, 2, 64;
    stream2d_f32_r3: F32, "f32", f32, 2, 3, 1, 1, 64;
    stream3d_f32_r1: F32, "f32", f32, 3, 1, 4, 1, 128;
    stream2d_f64_r2: F64, "f64", f64, 2, 2, 1, 2, 64;
    stream2d_f64_r3: F64, "f64", f64, 2, 3, 1, 2, 128;
    stream3d_f64_r1: F64, "f64", f64, 3, 1, 4, 1, 128;
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// Dimensions of the grid.
    pub dims: usize,
    /// The largest radius of a stencil.
    pub radius: usize,
    /// Lines of a warp.
    pub rows: u32,
    /// The kernel with input, output, where it computes, and the weights in C order, as many as it has, which
    /// it takes in the type of its sums.
    pub call: fn(*const u8, *mut u8, StreamLines, &[f64]) -> Box<dyn AnyCall>,
}

/// The kernel for such stencils, if there is one.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel(element: &str, dims: usize, radius: usize) -> Option<&'static Kernel> {
    let fits = |kernel: &&Kernel| (kernel.element, kernel.dims) == (element, dims);
    KERNELS.iter().filter(fits).find(|kernel| kernel.radius >= radius)
}
