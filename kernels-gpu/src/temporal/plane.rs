// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several time steps of a 2D stencil in one pass: a warp runs down the rows of a strip of columns.
//!
//! A thread has some columns of every row. A row that has arrived adds to the first step's sums; the row of outputs
//! that it completes adds to the second step's, and so on; what the last step completes is stored. Neighbours in y
//! are sums in registers, neighbours in x come from the lanes on either side ([`super::step`]). Strips overlap by what
//! all steps reach, to either side, because the outermost lanes have no neighbours.
//!
//! **Zeros around the grid**, in every step: beyond the first and the last column of the grid a lane takes zeros for
//! what its neighbour gives; rows beyond it are set to zero after each step, by a loop of its own, because that would
//! cost the others what it takes. So a lane's columns must all be in the grid or none ([`Width::ends_with`]):
//! elsewhere [`crate::rim`] computes what is near the boundary.

use super::send::{self, StoredColumns};
use super::step::{BOX, Ends, MIRRORED, STAR, StepSums};
use super::strips::{Strips, Width};
use super::{load, words};
use crate::boundary::Range;
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::fault::{Fault, planted};
use crate::fetch::{Fetch, Slots};
use crate::overlap;
use crate::unroll::unroll;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{AnyCall, Entry};
use cuda_std::{kernel, shared, thread, warp};

/// Threads of a block: one warp, so that the assembler knows that all threads take the same way. It then has weights
/// and addresses in uniform registers; in ordinary ones, a multiply-add with three of them takes half as long again
/// (`docs/decisions/0025-uniform-registers.md`).
pub const THREADS: u32 = warp::SIZE;

/// What a launch computes. `V` is the type of sums, `N` the number of weights.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct PlaneLaunch<V, const N: usize> {
    /// Where it does so.
    pub strips: Strips,
    /// The dense stencil in C order.
    pub weights: [V; N],
}

/// A warp's ring, for rows of so many bytes.
const fn slots(bytes: u32) -> Slots {
    Slots { count: 8, rows: 1, bytes }
}

/// The kernel: `STEPS` steps of radius `RADIUS`, `RING` = twice that, `VECTOR` columns for a thread, which are `WORDS`.
#[inline(always)]
#[track_caller]
unsafe fn march<
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
>(
    input: *const E::Stored,
    output: *mut E::Stored,
    launch: &PlaneLaunch<E::Real, N>,
) {
    const { assert!(WORDS == words(VECTOR, E::BYTES) && WORDS.is_multiple_of(4), "16 bytes") };
    let strips = &launch.strips;
    let reach = (RADIUS * STEPS) as i32;
    let width = Width::new(warp::SIZE * VECTOR as u32, RADIUS, STEPS, E::BYTES);
    let row_bytes = width.columns as u32 * E::BYTES;
    // SAFETY: the launch is as the kernel's contract says; rows up to the radius outside the grid, and what lies
    // beside a strip's rows, are in the array.
    unsafe {
        let lane = warp::lane_id();
        let fetch = Fetch::new(shared::dynamic(), slots(row_bytes));
        if lane == 0 {
            fetch.init();
        }
        warp::sync();
        overlap::wait_for_previous();
        overlap::start_next();

        let (block, across) = (thread::block_idx_x(), strips.across(width));
        let Range { low: first, high: end } = strips.segment(block / across);
        if first >= end {
            return;
        }
        let strip = strips.strip(block % across, width);
        let x = strip.start + (lane * VECTOR as u32) as i32;
        let to = i64::from(first) * strips.pitch + i64::from(strip.start);
        let mut walk = Walk::<E, FORM, RADIUS, RING, STEPS, VECTOR, WORDS, N> {
            launch,
            weights: launch.weights,
            fetch,
            lane,
            from: input.wrapping_offset(strip.start as isize),
            start: strip.start,
            to: StoredColumns::start::<_, VECTOR, WORDS>(output.wrapping_offset(to as isize), lane),
            sent: StoredColumns::new::<VECTOR, WORDS>(strip.sent(), lane),
            ends: Ends { left: x == 0, right: x + VECTOR as i32 == strips.nx },
            asked: first - reach,
            at: first - reach,
            first: first + reach,
            end: end + reach,
            steps: [const { StepSums::EMPTY }; STEPS],
        };
        let (mut ahead, most) = (0, slots(row_bytes).ahead());
        while ahead < most {
            walk.ask();
            ahead += 1;
        }
        walk.run();
        send::finish(WORDS);
    }
}

/// A warp's way down a strip.
struct Walk<
    'a,
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
> {
    launch: &'a PlaneLaunch<E::Real, N>,
    /// In registers from the start: LLVM takes minutes to find that thousands of loads are the same.
    weights: [E::Real; N],
    fetch: Fetch,
    lane: u32,
    /// The strip's first column in row 0.
    from: *const E::Stored,
    start: i32,
    /// Where the next row of outputs goes, and which of them are stored.
    to: *mut E::Stored,
    sent: StoredColumns,
    /// Where the grid ends.
    ends: Ends,
    /// The next row that is asked for, and the next that is read.
    asked: i32,
    at: i32,
    /// The first row that completes outputs, and one past the last.
    first: i32,
    end: i32,
    steps: [StepSums<E::Real, RADIUS, RING, VECTOR>; STEPS],
}

impl<
    E: Element,
    const FORM: u8,
    const RADIUS: usize,
    const RING: usize,
    const STEPS: usize,
    const VECTOR: usize,
    const WORDS: usize,
    const N: usize,
> Walk<'_, E, FORM, RADIUS, RING, STEPS, VECTOR, WORDS, N>
{
    /// Takes all rows through all steps.
    #[inline(always)]
    #[track_caller]
    unsafe fn run(&mut self) {
        let (reach, ny) = ((RADIUS * STEPS) as i32, self.launch.strips.ny);
        loop {
            // SAFETY: as the caller promises.
            unsafe {
                // Where no step of these rounds computes a row beyond the grid.
                if STEPS == 1 || self.at >= reach && self.at + RING as i32 <= ny {
                    turn!(self, false);
                } else {
                    turn!(self, true);
                }
            }
        }
    }

    /// Asks for the next row: the nearest one that there is, beyond those that outputs depend on.
    #[inline(always)]
    #[track_caller]
    unsafe fn ask(&mut self) {
        let Strips { ny, pitch, .. } = self.launch.strips;
        if self.asked >= self.end {
            return;
        }
        let (low, high) = (-(RADIUS as i32), ny - 1 + RADIUS as i32);
        let row = if self.asked < low { low } else { self.asked };
        let row = if row < high { row } else { high };
        let from = self.from.wrapping_offset((i64::from(row) * pitch) as isize);
        // SAFETY: as the caller promises: a row of the grid or its halo.
        unsafe { self.fetch.ask(|_| from.cast(), self.lane) };
        self.asked += 1;
    }

    /// Takes a row through all steps. `newest` is its number modulo `RING`; `ENDS` says that rows beyond the grid may be
    /// among them.
    #[inline(always)]
    #[track_caller]
    unsafe fn round<const ENDS: bool>(&mut self, newest: usize) {
        // SAFETY: as the caller promises; the lane's part of a row that has arrived.
        unsafe {
            let slot = self.fetch.data();
            let words = load::<WORDS>(slot.offset(self.lane * 4 * WORDS as u32));
            send::wait(WORDS);
            self.ask();
            let mut row = [E::Real::ZERO; VECTOR];
            unroll!(column < VECTOR => row[column] = E::element(&words, column));
            unroll!(step < STEPS => {
                row = self.steps[step].add::<FORM, N>(row, self.ends, newest, &self.weights);
                if ENDS && step + 1 < STEPS && !planted(Fault::RowsBeyond) {
                    let y = self.at - ((step + 1) * RADIUS) as i32;
                    if y < 0 || y >= self.launch.strips.ny {
                        row = [E::Real::ZERO; VECTOR];
                    }
                }
            });
            unroll!(column < VECTOR => row[column] = row[column].pin());
            if self.at >= self.first {
                let Strips { nx, .. } = self.launch.strips;
                // The last 16 bytes of a row may be columns of the grid and of what must stay zero beside it. Of grids with
                // such rows the copy engine stores none ([`Kernel::takes`]).
                if !send::is_for_engine(WORDS) && nx % (VECTOR * 4 / WORDS) as i32 != 0 {
                    unroll!(column < VECTOR => {
                        if self.start + (self.lane as usize * VECTOR + column) as i32 >= nx {
                            row[column] = E::Real::ZERO;
                        }
                    });
                }
                let pitch = self.launch.strips.pitch;
                self.sent.send::<E, VECTOR, WORDS>(self.to, &row, slot, self.lane);
                self.to = self.to.wrapping_offset(pitch as isize);
            }
        }
        self.at += 1;
    }
}

macro_rules! kernels {
    ($($(#[$chip:meta])* $name:ident: $element:ty, $type:literal, $real:ty, $form:ident, $radius:literal, $steps:literal, $vector:literal, $registers:literal;)*) => {
        $(
            /// Some time steps of a 2D stencil.
            ///
            /// # Safety
            /// Launch with [`THREADS`] threads, as many blocks as [`Strips::blocks`] says for [`Kernel::strip`], and the shared memory of
            /// [`Kernel::shared_bytes`]. `input` and `output` point at grid point (0, 0) of two different arrays laid
            /// out as in [`crate::layout`], of which `launch` has the pitch; outputs lie in the grid.
            $(#[$chip])*
            #[kernel(registers = $registers)]
            pub unsafe fn $name(
                input: *const u8,
                output: *mut u8,
                launch: PlaneLaunch<$real, { (2 * $radius + 1) * (2 * $radius + 1) }>,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe {
                    march::<
                        $element,
                        { $form },
                        $radius,
                        { 2 * $radius },
                        $steps,
                        $vector,
                        { words($vector, <$element as Element>::BYTES) },
                        { (2 * $radius + 1) * (2 * $radius + 1) },
                    >(input.cast(), output.cast(), &launch);
                }
            }
        )*

        /// Every kernel of this module.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            element: $type,
            form: super::step::Form::of($form),
            radius: $radius,
            steps: $steps,
            vector: $vector,
            registers: $registers,
            bytes: <$element as Element>::BYTES,
            call: |input, output, strips, weights| {
                let weights = core::array::from_fn(|index| weights[index] as $real);
                Box::new(Entry::of::<$name>().with((input, output, PlaneLaunch { strips, weights })))
            },
        },)*];
    };
}

// Kernel: element, its name, type of sums, form, radius, time steps, columns of a thread, registers.
kernels! {
    temporal2d_f64_star1_t4: F64, "f64", f64, STAR, 1, 4, 4, 128;
    #[cfg(any(target_feature = "sm_90", not(target_arch = "nvptx64")))]
    temporal2d_f64_star1_t8: F64, "f64", f64, STAR, 1, 8, 6, 255;
    temporal2d_f64_star2_t2: F64, "f64", f64, STAR, 2, 2, 4, 128;
    temporal2d_f64_star2_t5: F64, "f64", f64, STAR, 2, 5, 4, 255;
    temporal2d_f64_star3_t2: F64, "f64", f64, STAR, 3, 2, 4, 168;
    temporal2d_f64_star3_t3: F64, "f64", f64, STAR, 3, 3, 4, 255;
    temporal2d_f64_star4_t2: F64, "f64", f64, STAR, 4, 2, 4, 208;
    temporal2d_f64_mirrored1_t3: F64, "f64", f64, MIRRORED, 1, 3, 4, 128;
    temporal2d_f64_mirrored1_t8: F64, "f64", f64, MIRRORED, 1, 8, 4, 224;
    temporal2d_f64_mirrored2_t4: F64, "f64", f64, MIRRORED, 2, 4, 4, 208;
    temporal2d_f64_mirrored3_t1: F64, "f64", f64, MIRRORED, 3, 1, 4, 128;
    temporal2d_f64_mirrored3_t2: F64, "f64", f64, MIRRORED, 3, 2, 4, 208;
    temporal2d_f64_mirrored4_t2: F64, "f64", f64, MIRRORED, 4, 2, 4, 250;
    temporal2d_f64_box1_t3: F64, "f64", f64, BOX, 1, 3, 4, 128;
    temporal2d_f64_box1_t8: F64, "f64", f64, BOX, 1, 8, 4, 255;
    temporal2d_f64_box2_t3: F64, "f64", f64, BOX, 2, 3, 4, 168;
    temporal2d_f64_box3_t1: F64, "f64", f64, BOX, 3, 1, 4, 168;
    temporal2d_f64_box4_t1: F64, "f64", f64, BOX, 4, 1, 4, 255;
    temporal2d_f32_star1_t4: F32, "f32", f32, STAR, 1, 4, 8, 128;
    temporal2d_f32_star1_t8: F32, "f32", f32, STAR, 1, 8, 8, 255;
    temporal2d_f32_star1_t9: F32, "f32", f32, STAR, 1, 9, 8, 255;
    temporal2d_f32_star2_t2: F32, "f32", f32, STAR, 2, 2, 8, 128;
    temporal2d_f32_star2_t5: F32, "f32", f32, STAR, 2, 5, 8, 255;
    temporal2d_f32_star3_t2: F32, "f32", f32, STAR, 3, 2, 8, 168;
    temporal2d_f32_star3_t3: F32, "f32", f32, STAR, 3, 3, 8, 255;
    temporal2d_f32_star4_t3: F32, "f32", f32, STAR, 4, 3, 4, 168;
    temporal2d_f32_mirrored1_t3: F32, "f32", f32, MIRRORED, 1, 3, 8, 128;
    temporal2d_f32_mirrored1_t8: F32, "f32", f32, MIRRORED, 1, 8, 8, 255;
    temporal2d_f32_mirrored2_t4: F32, "f32", f32, MIRRORED, 2, 4, 8, 208;
    temporal2d_f32_mirrored3_t1: F32, "f32", f32, MIRRORED, 3, 1, 8, 128;
    temporal2d_f32_mirrored3_t2: F32, "f32", f32, MIRRORED, 3, 2, 8, 168;
    temporal2d_f32_mirrored4_t2: F32, "f32", f32, MIRRORED, 4, 2, 8, 250;
    temporal2d_f32_box1_t3: F32, "f32", f32, BOX, 1, 3, 8, 128;
    temporal2d_f32_box1_t8: F32, "f32", f32, BOX, 1, 8, 8, 255;
    temporal2d_f32_box2_t3: F32, "f32", f32, BOX, 2, 3, 8, 168;
    temporal2d_f32_box3_t1: F32, "f32", f32, BOX, 3, 1, 4, 96;
    temporal2d_f32_box3_t2: F32, "f32", f32, BOX, 3, 2, 4, 168;
    temporal2d_f32_box4_t1: F32, "f32", f32, BOX, 4, 1, 4, 128;
    temporal2d_f16_star1_t8: F16, "f16", f32, STAR, 1, 8, 8, 255;
    temporal2d_f16_star1_t4: F16, "f16", f32, STAR, 1, 4, 8, 128;
    temporal2d_f16_box1_t6: F16, "f16", f32, BOX, 1, 6, 8, 168;
    temporal2d_f16_box2_t3: F16, "f16", f32, BOX, 2, 3, 8, 168;
    temporal2d_bf16_star1_t8: Bf16, "bf16", f32, STAR, 1, 8, 8, 255;
    temporal2d_bf16_star1_t4: Bf16, "bf16", f32, STAR, 1, 4, 8, 128;
    temporal2d_bf16_box1_t6: Bf16, "bf16", f32, BOX, 1, 6, 8, 168;
    temporal2d_bf16_box2_t3: Bf16, "bf16", f32, BOX, 2, 3, 8, 168;
}

/// A kernel, for those that launch it.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the entry in the PTX.
    pub name: &'static str,
    /// Stored type.
    pub element: &'static str,
    /// What it knows of the weights.
    pub form: super::step::Form,
    /// The largest radius of a stencil.
    pub radius: usize,
    /// Time steps.
    pub steps: usize,
    /// Columns of a thread.
    pub vector: u32,
    /// The most registers of a thread.
    pub registers: u32,
    /// Bytes of an element.
    pub bytes: u32,
    /// The kernel with input, output, where it computes, and the weights in C order, as many as it has, which
    /// it takes in the type of its sums.
    pub call: fn(*const u8, *mut u8, Strips, &[f64]) -> Box<dyn AnyCall>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Kernel {
    /// Columns of a warp.
    #[must_use]
    pub const fn width(&self) -> u32 {
        warp::SIZE * self.vector
    }

    /// Whether the copy engine stores its rows: the kernel is for chips that have one.
    #[must_use]
    pub const fn stores_by_engine(&self) -> bool {
        send::is_for_engine(words(self.vector as usize, self.bytes))
    }

    /// Whether it takes rows of so many columns: where the copy engine stores them, multiples of 16 bytes.
    #[must_use]
    pub const fn takes(&self, nx: u32) -> bool {
        !self.stores_by_engine() || (nx * self.bytes).is_multiple_of(16)
    }

    /// How a strip's columns divide.
    #[must_use]
    pub const fn strip(&self) -> Width {
        Width::new(self.width(), self.radius, self.steps, self.bytes)
    }

    /// Dynamic shared memory of a block.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        slots(self.width() * self.bytes).shared_bytes()
    }
}
