// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 1D stencil in one pass: a warp takes pieces of the line, one after the other.
//!
//! A lane has some neighbouring columns of a piece, which stay in its registers for all steps; what a step needs of
//! other lanes' comes by shuffle ([`super::step`]). Pieces overlap by what all steps reach, to either side, because
//! the outermost lanes have no neighbours. How many steps there are is known only at the launch: a step leaves its
//! sums where its inputs were, so that a loop takes any number of them.
//!
//! A lane's columns are an odd number of 16 bytes: lanes that load 16 bytes each then meet in no bank.
//!
//! **Zeros around the grid**, in every step: pieces that reach beyond the grid take their steps in a loop of its own,
//! which sets columns beyond it to zero, because that would cost the others what it takes.

#[cfg(not(target_arch = "nvptx64"))]
use super::margin;
use super::send::{self, StoredColumns};
use super::step::{Ends, ThreadRow};
use super::{load, words};
use crate::boundary::Range;
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::fault::{Fault, planted};
use crate::fetch::{Fetch, Slots};
#[cfg(not(target_arch = "nvptx64"))]
use crate::layout::{LEFT, Layout};
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{AnyCall, Entry};
use cuda_std::{kernel, shared, thread, warp};

/// Threads of a block: one warp, as in [`super::plane`], whose weights are then in uniform registers.
pub const THREADS: u32 = warp::SIZE;

/// Bytes that a lane loads or stores at a time.
const PART: u32 = 16;

/// Such parts of a lane's columns.
const PARTS: usize = 5;

/// A warp's ring, for pieces of the line.
const SLOTS: Slots = Slots { count: 4, rows: 1, bytes: warp::SIZE * PARTS as u32 * PART };

const _: () = assert!(PARTS % 2 == 1, "lanes meet in no bank");

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct LineLaunch<V, const N: usize> {
    /// Where it does so.
    pub cut: LineCut,
    /// The dense stencil.
    pub weights: [V; N],
}

/// How the line is cut into pieces. Threads need not work it out: parameters take no registers.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCut {
    /// Columns of the grid.
    nx: i32,
    /// The columns of outputs; the first is one at which 16 bytes start.
    columns: Range,
    /// Time steps.
    steps: u32,
    /// Columns of a piece.
    width: i32,
    /// Columns by which its outputs start after it, and end before it.
    margin: i32,
    /// Columns of outputs of a piece.
    outputs: i32,
    /// The last column at which a piece may start, so that it ends in the array.
    last_start: i32,
    /// How many pieces the line is.
    count: u32,
    /// Pieces of a warp.
    run: u32,
}

impl LineCut {
    /// The pieces of a warp: as many as it takes for no more than so many blocks.
    #[must_use]
    pub const fn spread(self, blocks: u32) -> Self {
        let run = self.count.div_ceil(blocks);
        Self { run: if run == 0 { 1 } else { run }, ..self }
    }

    /// Blocks of a launch.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.count.div_ceil(self.run)
    }

    /// How many pieces the line is.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Columns of outputs of a piece.
    #[must_use]
    pub const fn outputs(&self) -> u32 {
        self.outputs as u32
    }

    /// The columns that a piece stores.
    #[inline(always)]
    const fn own(&self, piece: u32) -> Range {
        let low = self.columns.low + piece as i32 * self.outputs;
        let (high, end) = (low + self.outputs, self.columns.high);
        Range { low, high: if high < end { high } else { end } }
    }

    /// Where a piece starts; where it would reach behind the array, further left: it computes columns again that
    /// are another's, and stores none of them.
    #[inline(always)]
    const fn start(&self, piece: u32) -> i32 {
        let (start, last) = (self.own(piece).low - self.margin, self.last_start);
        if start < last { start } else { last }
    }

    /// Whether a piece that starts at a column reaches beyond the grid.
    #[inline(always)]
    const fn ends(&self, start: i32) -> bool {
        start < 0 || start + self.width > self.nx
    }
}

/// The kernel: steps of radius `RADIUS`, `VECTOR` columns for a thread, which are `WORDS`, and `COLUMNS` of them 16
/// bytes.
#[inline(always)]
#[track_caller]
unsafe fn march<
    E: Element,
    const RADIUS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const COLUMNS: usize,
    const N: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &LineLaunch<E::Real, N>,
) {
    let cut = &launch.cut;
    // SAFETY: the launch is as the kernel's contract says: pieces lie in the array.
    unsafe {
        let lane = warp::lane_id();
        let mut fetch = Fetch::new(shared::dynamic(), SLOTS);
        if lane == 0 {
            fetch.init();
        }
        warp::sync();
        overlap::wait_for_previous();
        overlap::start_next();

        let first = thread::block_idx_x() * cut.run;
        let end = first + cut.run;
        let end = if end < cut.count { end } else { cut.count };
        let from = |piece: u32| input.wrapping_offset(cut.start(piece) as isize).cast();
        let (mut asked, most) = (first, first + SLOTS.ahead());
        while asked < most && asked < end {
            fetch.ask(|_| from(asked), lane);
            asked += 1;
        }
        let mut piece = first;
        while piece < end {
            let slot = fetch.data();
            let words = load::<WORDS>(slot.offset(lane * 4 * WORDS as u32));
            if asked < end {
                send::wait(WORDS);
                fetch.ask(|_| from(asked), lane);
                asked += 1;
            }
            let mut row = [E::Real::ZERO; VECTOR];
            unroll!(part < PARTS => for column in part * COLUMNS..(part + 1) * COLUMNS {
                row[column] = E::element(&words, column);
            });
            let start = cut.start(piece);
            let x = start + (lane * VECTOR as u32) as i32;
            if cut.ends(start) {
                row = steps::<E::Real, true, RADIUS, VECTOR, COLUMNS, N>(row, x, launch);
            } else {
                row = steps::<E::Real, false, RADIUS, VECTOR, COLUMNS, N>(row, x, launch);
            }
            let own = cut.own(piece);
            let columns = Range { low: own.low - start, high: own.high - start };
            let to = StoredColumns::start::<_, VECTOR, WORDS>(
                output.wrapping_offset(start as isize),
                lane,
            );
            StoredColumns::new::<VECTOR, WORDS>(columns, lane)
                .send::<E, VECTOR, WORDS>(to, &row, slot, lane);
            piece += 1;
        }
        send::finish(WORDS);
    }
}

/// Takes a lane's columns, of which `x` is the first, through all steps; `ENDS` says that some of the piece may lie
/// beyond the grid. Columns of the outermost lanes come to depend on what is not there, `RADIUS` more of them in
/// each step.
///
/// # Safety
/// All 32 lanes execute it.
#[inline(always)]
#[track_caller]
unsafe fn steps<
    R: Real,
    const ENDS: bool,
    const RADIUS: usize,
    const VECTOR: usize,
    const COLUMNS: usize,
    const N: usize,
>(
    mut own: [R; VECTOR],
    x: i32,
    launch: &LineLaunch<R, N>,
) -> [R; VECTOR] {
    const { assert!(N == 2 * RADIUS + 1 && VECTOR == PARTS * COLUMNS, "columns of a stencil") };
    let LineCut { nx, steps, .. } = launch.cut;
    let ends = Ends { left: false, right: false };
    let mut step = 0;
    while step < steps {
        // SAFETY: as the caller promises; they take as many steps.
        let row = unsafe { ThreadRow::<R, RADIUS, VECTOR>::new(own, ends) };
        unroll!(part < PARTS => unroll!(index < COLUMNS => {
            let column = part * COLUMNS + index;
            // SAFETY: in a kernel.
            own[column] = unsafe { sum(&row, column, &launch.weights) };
            let x = x + column as i32;
            if ENDS && !planted(Fault::ColumnsBeyond) && (x < 0 || x >= nx) {
                own[column] = R::ZERO;
            }
        }));
        step += 1;
    }
    own
}

/// The stencil's sum at a column.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn sum<R: Real, const RADIUS: usize, const VECTOR: usize, const N: usize>(
    row: &ThreadRow<R, RADIUS, VECTOR>,
    column: usize,
    weights: &[R; N],
) -> R {
    // SAFETY: in a kernel.
    unsafe {
        let mut sum = row.at(column).times(weights[0]);
        for dx in 1..N {
            sum = row.at(column + dx).multiply_add(weights[dx], sum);
        }
        sum
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ty, $type:literal, $real:ty, $radius:literal, $registers:literal;)*) => {
        $(
            /// Some time steps of a 1D stencil.
            ///
            /// # Safety
            /// Launch with [`THREADS`] threads, as many blocks as [`LineCut::blocks`] says, and the shared memory of
            /// [`Kernel::shared_bytes`]. `input` and `output` point at grid point 0 of two different arrays laid out
            /// as in [`crate::layout`]; `launch` has what [`Kernel::cut`] makes of the grid.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                launch: LineLaunch<$real, { 2 * $radius + 1 }>,
            ) {
                const BYTES: u32 = <$element as Element>::BYTES;
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    march::<
                        $element,
                        $radius,
                        { vector(BYTES) as usize },
                        { words(vector(BYTES) as usize, BYTES) },
                        { (PART / BYTES) as usize },
                        { 2 * $radius + 1 },
                    >(input.cast(), output.cast(), &launch);
                }
            }
        )*

        /// Every kernel of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            element: $type,
            radius: $radius,
            registers: $registers,
            bytes: <$element as Element>::BYTES,
            call: |input, output, cut, weights| {
                let weights = core::array::from_fn(|index| weights[index] as $real);
                Box::new(Entry::of::<$name>().with((input, output, LineLaunch { cut, weights })))
            },
        },)*];
    };
}

// Kernel: element, its name, type of sums, radius, registers.
kernels! {
    temporal1d_f64_r1: F64, "f64", f64, 1, 72;
    temporal1d_f64_r2: F64, "f64", f64, 2, 72;
    temporal1d_f64_r3: F64, "f64", f64, 3, 72;
    temporal1d_f64_r4: F64, "f64", f64, 4, 80;
    temporal1d_f32_r1: F32, "f32", f32, 1, 72;
    temporal1d_f32_r2: F32, "f32", f32, 2, 72;
    temporal1d_f32_r3: F32, "f32", f32, 3, 72;
    temporal1d_f32_r4: F32, "f32", f32, 4, 72;
    temporal1d_f16_r1: F16, "f16", f32, 1, 96;
    temporal1d_f16_r2: F16, "f16", f32, 2, 96;
    temporal1d_f16_r3: F16, "f16", f32, 3, 128;
    temporal1d_f16_r4: F16, "f16", f32, 4, 128;
    temporal1d_bf16_r1: Bf16, "bf16", f32, 1, 96;
    temporal1d_bf16_r2: Bf16, "bf16", f32, 2, 96;
    temporal1d_bf16_r3: Bf16, "bf16", f32, 3, 128;
    temporal1d_bf16_r4: Bf16, "bf16", f32, 4, 128;
}

/// Columns of a lane.
const fn vector(bytes: u32) -> u32 {
    PARTS as u32 * PART / bytes
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// The largest radius of a stencil.
    pub radius: usize,
    /// The most registers of a thread.
    pub registers: u32,
    /// Bytes of an element.
    pub bytes: u32,
    /// The kernel with input, output, where it computes, and the weights, as many as it has, which it takes in the
    /// type of its sums.
    pub call: fn(*const u8, *mut u8, LineCut, &[f64]) -> Box<dyn AnyCall>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Kernel {
    /// Columns of a piece.
    #[must_use]
    pub const fn width(&self) -> u32 {
        warp::SIZE * vector(self.bytes)
    }

    /// The most steps of a launch: what they reach lies in the array beside the grid.
    #[must_use]
    pub const fn most_steps(&self) -> usize {
        LEFT as usize / self.radius
    }

    /// Whether the array of a grid of so many columns holds a piece.
    #[must_use]
    pub const fn fits(&self, nx: u32) -> bool {
        last_start(nx, self.width()) >= -(LEFT as i32)
    }

    /// The shortest grid that does.
    #[must_use]
    pub const fn least_columns(&self) -> u32 {
        let mut nx = 1;
        while !self.fits(nx) {
            nx += 1;
        }
        nx
    }

    /// Columns by which a piece's outputs start after it: what all steps reach, in whole pieces of 16 bytes.
    const fn margin(&self, steps: usize) -> u32 {
        margin((self.radius * steps) as u32, PART / self.bytes)
    }

    /// Columns of outputs of a piece.
    #[must_use]
    pub const fn outputs(&self, steps: usize) -> u32 {
        self.width() - 2 * self.margin(steps)
    }

    /// How outputs in some columns of a grid are cut into pieces, each of a warp. The first column is rounded down to
    /// one at which 16 bytes start.
    ///
    /// # Panics
    /// The grid does not fit ([`Kernel::fits`]), or there are more than [`Kernel::most_steps`].
    #[must_use]
    pub const fn cut(&self, nx: u32, columns: Range, steps: usize) -> LineCut {
        assert!(self.fits(nx) && steps <= self.most_steps(), "a piece lies in the array");
        let (part, width) = ((PART / self.bytes) as i32, self.width() as i32);
        let (margin, outputs) = (self.margin(steps) as i32, self.outputs(steps) as i32);
        let columns = Range { low: columns.low - columns.low % part, ..columns };
        let count = if columns.is_empty() { 0 } else { columns.len() as u32 };
        LineCut {
            nx: nx as i32,
            columns,
            steps: steps as u32,
            width,
            margin,
            outputs,
            last_start: last_start(nx, self.width()),
            count: count.div_ceil(outputs as u32),
            run: 1,
        }
    }

    /// Dynamic shared memory of a block.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        SLOTS.shared_bytes()
    }
}

/// The last column at which a piece may start: the array ends as many columns behind its pitch as it starts before
/// column 0.
#[cfg(not(target_arch = "nvptx64"))]
const fn last_start(nx: u32, width: u32) -> i32 {
    Layout { dims: 1, extents: [1, 1, nx] }.pitch() as i32 - width as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grids of every kernel, and the steps of a launch on each.
    fn each(check: impl Fn(&Kernel, u32, usize)) {
        for kernel in KERNELS {
            for nx in [1, 64, 65, 449, 640, 1024, 1025, 5000, 9973] {
                for steps in [1, 2, 5, kernel.most_steps()] {
                    if kernel.fits(nx) {
                        check(kernel, nx, steps);
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_meet_in_no_bank() {
        for kernel in KERNELS {
            let bytes = vector(kernel.bytes) * kernel.bytes;
            let banks: Vec<u32> = (0..8).map(|lane| lane * bytes / PART % 8).collect();
            assert!((0..8).all(|bank| banks.contains(&bank)), "{}", kernel.name);
        }
    }

    #[test]
    fn a_grid_is_too_short_only_for_less_than_a_piece() {
        for kernel in KERNELS {
            let least = kernel.least_columns();
            let all = [("f64", 65), ("f32", 385), ("f16", 1025), ("bf16", 1025)];
            assert!(all.contains(&(kernel.element, least)), "{}: {least}", kernel.name);
            assert!((least..5000).all(|nx| kernel.fits(nx)) && least <= kernel.width());
        }
    }

    #[test]
    fn pieces_own_every_column_once_and_lie_in_the_array() {
        each(|kernel, nx, steps| {
            let elements = Layout { dims: 1, extents: [1, 1, nx] }.elements() as i32;
            let part = (PART / kernel.bytes) as i32;
            for columns in
                [Range { low: 0, high: nx as i32 }, Range { low: 9, high: nx as i32 - 7 }]
            {
                if columns.is_empty() {
                    continue;
                }
                let cut = kernel.cut(nx, columns, steps);
                let mut next = columns.low - columns.low % part;
                for piece in 0..cut.count() {
                    let (own, start) = (cut.own(piece), cut.start(piece));
                    assert!(own.low == next && !own.is_empty(), "{cut:?}");
                    assert!(own.low % part == 0 && start % part == 0, "{cut:?}");
                    let end = start + cut.width;
                    assert!(start >= -(LEFT as i32) && end <= elements - LEFT as i32, "{cut:?}");
                    // What it depends on is in the piece.
                    let reach = (kernel.radius * steps) as i32;
                    assert!(own.low - start >= reach && end - own.high >= reach, "{cut:?}");
                    assert_eq!(cut.ends(start), start < 0 || end > nx as i32);
                    next = own.high;
                }
                assert_eq!(next, columns.high, "{cut:?}");
            }
        });
    }

    #[test]
    fn warps_share_the_pieces() {
        each(|kernel, nx, steps| {
            let cut = kernel.cut(nx, Range { low: 0, high: nx as i32 }, steps);
            for blocks in [1, 2, 3, 1000] {
                let spread = cut.spread(blocks);
                assert!(spread.blocks() <= blocks && spread.blocks() * spread.run >= cut.count);
                assert!((spread.blocks() - 1) * spread.run < cut.count, "{spread:?}");
            }
            let none = kernel.cut(nx, Range { low: 0, high: 0 }, steps).spread(5);
            assert_eq!(none.blocks(), 0);
        });
    }
}
