// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step whose sums somebody finishes who is not known when this is compiled: the equations of a system of fields.
//!
//! As [`super`], and beside each input row come rows of other grids, of earlier values and coefficients, for the
//! outputs that the input row completes. Before those are stored there is a place for instructions
//! ([`cuda_std::splice`]): their results are the new values, their operands the sums, y and x of the first point, and
//! where in shared memory the first plane has its value. The other points are [`POINTS`] beside it, the other planes'
//! values [`DISTANCE`] farther. Without instructions the sums are stored.
//!
//! Weights may be sums of two numbers, of which the products take both: with 16 bits, a laplacian's weights would not
//! sum to zero.

use super::{Epilogue, PLANE_BYTES, Sweep, Wide2dLaunch, sweep};
use crate::half::{Bf16, F16};
use crate::pointwise::Point;
#[cfg(not(target_arch = "nvptx64"))]
use crate::product::Product;
use crate::ring::HEADER_BYTES;
use crate::row_window::HALF;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_mma::fragment::Element;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::kernel;
use cuda_std::shared::Shared;
#[cfg(not(target_arch = "nvptx64"))]
pub use cuda_std::splice::spliced;

/// The most other grids.
pub const MOST_PLANES: usize = 6;

/// How many columns right of the first point the points of the results are, in their order.
pub const POINTS: [u32; 4] = [0, HALF, 1, HALF + 1];

/// Bytes in shared memory from the value of one plane to that of the next.
pub const DISTANCE: u32 = PLANE_BYTES;

/// Which parameter of a kernel is the [`EpilogueInputs`], from 0.
pub const PARAMETER: usize = 4;

/// Dynamic shared memory of a block, in bytes, with rows of so many other grids.
#[must_use]
pub const fn shared_bytes(stages: u32, planes: u32) -> u32 {
    HEADER_BYTES + stages * (1 + planes) * PLANE_BYTES
}

/// What finishes sums in the emulator, which executes no PTX: of the sums, their first point, and of each plane the words
/// with the first two points and the others.
#[cfg(not(target_arch = "nvptx64"))]
pub type Emulated = dyn Fn([f32; 4], Point, &[[u32; 2]]) -> [f32; 4];

/// What a launch is given besides.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[derive(cuda_std::Parameter)]
pub struct EpilogueInputs {
    /// Grid point (0, 0) of each of the other grids.
    pub planes: [*const u16; MOST_PLANES],
    /// How many of them there are.
    pub count: u32,
    /// Addresses for the instructions that are put in.
    pub addresses: [u64; 3],
    /// In the emulator the address of a reference to an [`Emulated`].
    pub emulated: u64,
}

/// Registers for instructions that are put in.
const WORDS: usize = 16;

/// It for weights that are sums of so many numbers.
#[derive(Clone, Copy)]
struct Weights<const NUMBERS: usize>(EpilogueInputs);

impl<const NUMBERS: usize> Epilogue for Weights<NUMBERS> {
    const IS_THERE: bool = true;

    const NUMBERS: usize = NUMBERS;

    const WORDS: usize = WORDS;

    #[inline(always)]
    fn planes(self) -> u32 {
        self.0.count
    }

    #[inline(always)]
    fn plane(self, plane: u32) -> *const u16 {
        // Parameters have no places that a register could name.
        let [mut found, rest @ ..] = self.0.planes;
        for (other, at) in (1..).zip(rest) {
            if plane >= other {
                found = at;
            }
        }
        found
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn finish(self, sums: [f32; 4], at: Point, planes: Shared) -> [f32; 4] {
        // SAFETY: as the caller promises, and whoever launches.
        unsafe { cuda_std::splice::splice(sums, [at.y as u32, at.x as u32, planes.0]) }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn finish(self, sums: [f32; 4], at: Point, planes: Shared) -> [f32; 4] {
        let word = |plane: u32, column: u32| {
            let place = planes.offset(plane * DISTANCE + column * super::ELEMENT);
            // SAFETY: as the caller promises.
            unsafe { cuda_std::shared::load(place) }
        };
        let words: Vec<[u32; 2]> =
            (0..self.0.count).map(|plane| [word(plane, 0), word(plane, HALF)]).collect();
        if self.0.emulated == 0 {
            return sums;
        }
        // SAFETY: whoever launches in the emulator gives such an address.
        let emulated =
            unsafe { *core::ptr::with_exposed_provenance::<&Emulated>(self.0.emulated as usize) };
        emulated(sums, at, &words)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Finished {
    /// Threads of a block.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        super::threads_of(F16::WORDS * self.numbers * (2 * self.radius as usize + 1) + WORDS)
    }
}

/// A kernel's parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u16, *mut u16, *const u32, Wide2dLaunch, EpilogueInputs);

/// A kernel, and for which stencils it is.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// The type of values and weights.
    pub element: Element,
    /// Rows to either side.
    pub radius: u32,
    /// Numbers that a weight is the sum of.
    pub numbers: usize,
    /// The kernel.
    pub entry: Entry<Parameters>,
}

macro_rules! kernels {
    ($($name:ident, $registers:tt: $element:ident, $radius:literal, $numbers:literal;)*) => {
    $(
        #[doc = concat!("One step of up to ", stringify!($radius), " rows to either side, with weights of ", stringify!($numbers), ":")]
        /// `output` = what is made of the stencil of `input`.
        ///
        /// # Safety
        /// As the kernels of [`super`], with [`shared_bytes`] of dynamic shared memory. `words` holds the operand of
        /// the first numbers of all weights, then of the second ones. The planes that are `given` are
        /// laid out as `input`, and nobody writes them.
        #[kernel(registers = $registers)]
        pub unsafe fn $name(
            input: *const u16,
            output: *mut u16,
            words: *const u32,
            launch: Wide2dLaunch,
            given: EpilogueInputs,
        ) {
            // SAFETY: the launch is as this function's contract says.
            unsafe {
                sweep::<$element, Weights<$numbers>, $radius, { 2 * $radius + 1 }, { 2 * $radius }>(
                    &Sweep::new(input, output, &launch), words, launch.stages, Weights(given),
                );
            }
        }
    )*

    /// All of them, those of fewer rows and numbers first.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const KERNELS: &[Finished] = &[$(Finished {
        element: Element::$element,
        radius: $radius,
        numbers: $numbers,
        entry: Entry::of::<$name>(),
    }),*];
    };
}

// Registers: as in `super`, of which blocks of 8 warps may have all. The type, rows to either side, numbers of a weight. In between there would be little to gain: rows of zeros take a product
// each, and up to radius 5 memory takes longer.
kernels! {
    finished2d_f16_r3_of1, 168: F16, 3, 1;
    finished2d_f16_r3_of2, 168: F16, 3, 2;
    finished2d_f16_r5_of1, 168: F16, 5, 1;
    finished2d_f16_r5_of2, 255: F16, 5, 2;
    finished2d_f16_r7_of1, 255: F16, 7, 1;
    finished2d_f16_r7_of2, 255: F16, 7, 2;
    finished2d_bf16_r3_of1, 168: Bf16, 3, 1;
    finished2d_bf16_r3_of2, 168: Bf16, 3, 2;
    finished2d_bf16_r5_of1, 168: Bf16, 5, 1;
    finished2d_bf16_r5_of2, 255: Bf16, 5, 2;
    finished2d_bf16_r7_of1, 255: Bf16, 7, 1;
    finished2d_bf16_r7_of2, 255: Bf16, 7, 2;
}
