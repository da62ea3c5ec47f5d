// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps of a 1D grid in one pass: each block takes a part of it with what the steps reach beside it, and keeps the
//! points that come out right (overlap-save). FlashFFTStencil §3.1, but with tiles as long as shared memory holds, and
//! without atomics.

use super::complex::{Complex, ComplexPart};
use super::halves::{WavePair, each_pair};
use super::line::{Stages, load, store, wait};
use super::stage::{self, Stage};
use super::{Halves, Lift, Output, Row, join, rows, split};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, thread};

/// The tiles that a launch transforms.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct TilesLaunch {
    /// Where points of tiles beside the grid are from: first those after its last point, then as many before its first as are
    /// skipped.
    pub images: *const u32,
    /// What is added to each value that comes back, with the grid's pitches, in the type of the transforms; null for nothing.
    pub added: *const u8,
    /// By what waves are multiplied, in the order of places, real numbers or complex ones.
    pub factors: *const u8,
    /// Taken off and added.
    pub lift: Lift,
    /// Points of the grid.
    pub points: u32,
    /// Images after the last point.
    pub after: u32,
    /// Points of a tile that come out right, after those that the steps reach before them: even.
    pub kept: u32,
    /// Points of a tile before those: even.
    pub skipped: u32,
    /// Whether factors are complex.
    pub complex: u32,
}

impl TilesLaunch {
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
    tiles: &TilesLaunch,
) where
    E::Real: ComplexPart,
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
        let value = |x: i32| {
            if x >= 0 && (x as u32) < tiles.points {
                return row.point(x as u32);
            }
            let first =
                if x < 0 { (tiles.after + tiles.skipped) as i32 } else { -(tiles.points as i32) };
            let word = global::load_constant(tiles.images.wrapping_offset((x + first) as isize));
            row.image(word)
        };
        let fetch = |_: u32, place: u32| {
            let x = start + 2 * place as i32;
            if x >= 0 && (x as u32) + 1 < tiles.points {
                row.two(x as u32)
            } else {
                Complex { re: value(x), im: value(x + 1) }
            }
        };
        stage::there(lines, stages, 0, fetch);
        let factor = |wave: u32| {
            let factor = |bytes: u32| tiles.factors.wrapping_add((wave * bytes) as usize);
            if tiles.complex == 0 {
                let re = E::Real::load_constant(factor(E::Real::BYTES).cast());
                Complex { re, im: E::Real::ZERO }
            } else {
                Complex::of(E::Real::load_global(factor(Complex::<E::Real>::BYTES)))
            }
        };
        let fetch = |_: u32, [first, second]: [u32; 2]| [factor(first), factor(second)];
        let put = |WavePair { places: [first, second], turn, own, .. }, [c, d]: [_; 2]| {
            let a = load(lines, 0, first);
            let b = if own { a } else { load(lines, 0, second) };
            let [a, b] = split(a, b, turn);
            let [a, b] = join(a.times(c), b.times(d), turn);
            store(lines, 0, first, a);
            if !own {
                store(lines, 0, second, b);
            }
        };
        each_pair::<_, _, 2>(pairs, pairs.count, [Complex::ZERO; 2], fetch, put);
        let back = Stage::last(lines, stages);
        wait();
        let output = Output { row, output, added: tiles.added };
        let [begin, end] = [tiles.skipped, tiles.skipped + tiles.kept];
        let put = |_: u32, place: u32, number| {
            // Both of two points or none.
            if (begin..end).contains(&(2 * place)) {
                output.put((start + 2 * place as i32) as u32, number);
            }
        };
        stage::back(stages, 0, back, put);
    }
}

macro_rules! kernels {
    ($($name:ident: $element:ident, $stored:ty, $registers:literal;)*) => {
        $(
            /// `output` = many steps of `input`.
            ///
            /// # Safety
            /// Launch [`TilesLaunch::blocks`] of any number of threads, with [`super::rows::shared_bytes`] of dynamic shared
            /// memory. `input` and `output` point at grid point 0 of two different arrays, aligned to two
            /// values. `tiles` has the images that it says, and a factor for each of `stages.length` + 1
            /// places; `stages` and `pairs` are tables for that length.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(
                input: *const $stored,
                output: *mut $stored,
                stages: Stages,
                pairs: Halves,
                tiles: TilesLaunch,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { tile::<$element>(input, output, &stages, &pairs, &tiles) };
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl TileKernels for $element {
                const TILES: Entry<Parameters<$stored>> = Entry::of::<$name>();
            }
        )*
    };
}

/// The kernel of an element type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait TileKernels: Element {
    /// Tiles there, multiplied, and back.
    const TILES: Entry<Parameters<Self::Stored>>;
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<S> = (*const S, *mut S, Stages, Halves, TilesLaunch);

kernels! {
    spectral_tiles_f64: F64, u64, 168;
    spectral_tiles_f32: F32, u32, 80;
    spectral_tiles_f16: F16, u16, 80;
    spectral_tiles_bf16: Bf16, u16, 80;
}
