// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps of a 1D grid in one pass: each block takes a part of it with what the steps reach beside it, and keeps the
//! points that come out right (overlap-save). FlashFFTStencil §3.1, but with tiles as long as shared memory holds, and
//! without atomics.

use super::batch::each;
use super::complex::{Complex, Part};
use super::line::{Stages, load, store, wait};
use super::{Halves, Lift, NOTHING, Row, halves, rows};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, thread};

/// Which tiles.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tiles {
    /// Where points beside the grid are from: first those after its last point, then those before its first.
    pub images: *const u32,
    /// As of [`super::rows::Rows`].
    pub added: *const u8,
    /// By what waves are multiplied, in the order of places, real numbers or complex ones.
    pub factors: *const u8,
    /// Taken off and added.
    pub lift: Lift,
    /// Points of the grid.
    pub points: u32,
    /// Images before the first point and after the last one.
    pub before: u32,
    /// After the last one.
    pub after: u32,
    /// Points of a tile that come out right, after those that the steps reach before them.
    pub kept: u32,
    /// Points of a tile before those.
    pub skipped: u32,
    /// Whether factors are complex.
    pub complex: u32,
}

impl Tiles {
    /// Blocks of a launch.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.points.div_ceil(self.kept)
    }
}

#[inline(always)]
#[track_caller]
unsafe fn tile<E: Element>(
    input: *const E::Stored,
    output: *mut E::Stored,
    stages: &Stages,
    pairs: &Halves,
    tiles: &Tiles,
) where
    E::Real: Part,
{
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let start = (thread::block_idx_x() * tiles.kept) as i32 - tiles.skipped as i32;
        let (first, slope) = tiles.lift.of_row(0, 0);
        let row = Row::<E> { input, points: tiles.points, first, slope };
        let half = stages.length;
        let lines = rows::line::<E::Real>(half);
        let fetch = |place: u32| {
            let x = start + place as i32;
            if x >= 0 && (x as u32) < tiles.points {
                return row.point(x as u32);
            }
            let beyond = x - tiles.points as i32;
            let image = if x < 0 { x + (tiles.after + tiles.before) as i32 } else { beyond };
            let word = if x < 0 || (beyond as u32) < tiles.after {
                global::load_constant(tiles.images.wrapping_add(image as usize))
            } else {
                NOTHING
            };
            row.image(word)
        };
        let put = |place: u32, value| halves::put(lines, place, value);
        each(2 * half, E::Real::ZERO, fetch, put);
        wait();
        halves::there::<E::Real>(lines, stages, pairs);
        let fetch = |wave: u32| {
            let factor = |bytes: u32| tiles.factors.wrapping_add((wave * bytes) as usize);
            if tiles.complex == 0 {
                let re = E::Real::load_constant(factor(E::Real::BYTES).cast());
                Complex { re, im: E::Real::ZERO }
            } else {
                Complex::of(E::Real::load_global(factor(Complex::<E::Real>::BYTES)))
            }
        };
        let put = |wave: u32, factor| {
            store(lines, 0, wave, load::<E::Real>(lines, 0, wave).times(factor));
        };
        each(half + 1, Complex::ZERO, fetch, put);
        wait();
        halves::back::<E::Real>(lines, stages, pairs);
        let first_x = (start + tiles.skipped as i32) as u32;
        let left = tiles.points - first_x;
        let fetch = |place: u32| {
            let x = first_x + place;
            let lift = E::Real::of(f64::from(x)).multiply_add(slope, first);
            let value = halves::get::<E::Real>(lines, tiles.skipped + place) + lift;
            if tiles.added.is_null() {
                return value;
            }
            let at = tiles.added.wrapping_add(x as usize * E::Real::BYTES as usize);
            value + E::Real::load_constant(at.cast())
        };
        let put = |place: u32, value| {
            E::store(output.wrapping_add((first_x + place) as usize), value);
        };
        let kept = if left < tiles.kept { left } else { tiles.kept };
        each(kept, E::Real::ZERO, fetch, put);
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ident, $stored:ty;)*) => {
        $(
            /// `output` = many steps of `input`.
            ///
            /// # Safety
            /// Launch [`Tiles::blocks`] of any number of threads, with [`super::rows::shared_bytes`] of dynamic shared
            /// memory. `input` and `output` point at grid point 0 of two different arrays laid out as in
            /// [`crate::layout`]. `tiles` has the images that it says, and a factor for each of `stages.length` + 1
            /// places; `stages` and `pairs` are tables for that length.
            #[kernel]
            pub unsafe fn $name(
                input: *const $stored,
                output: *mut $stored,
                stages: Stages,
                pairs: Halves,
                tiles: Tiles,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { tile::<$element>(input, output, &stages, &pairs, &tiles) };
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl Kernels for $element {
                const TILES: Entry<Parameters<$stored>> = Entry::of::<$name>();
            }
        )*
    };
}

/// The kernel of an element type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Kernels: Element {
    /// Tiles there, multiplied, and back.
    const TILES: Entry<Parameters<Self::Stored>>;
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<S> = (*const S, *mut S, Stages, Halves, Tiles);

kernels! {
    spectral_tiles_f64: F64, u64;
    spectral_tiles_f32: F32, u32;
    spectral_tiles_f16: F16, u16;
    spectral_tiles_bf16: Bf16, u16;
}
