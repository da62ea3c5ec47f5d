// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies above each other, or behind each other, in the spectra of rows: transformed there, multiplied, and
//! transformed back, in place; or one of the two only.

use super::batch::divide;
use super::complex::{Complex, ComplexPart, Scale};
use super::divisor::{Divisor, reciprocal};
use super::line::{SharedLines, Stages, pitch};
use super::{NEGATIVE, NOTHING, of_spectra, stage, to_spectra};
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, shared, thread};

/// The columns that a launch transforms.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnsLaunch {
    /// Where the values of the torus that come after those that are read are from: a word for each.
    pub images: *const u32,
    /// By what waves are multiplied: for each column those of its places, real numbers or complex ones.
    pub factors: *const u8,
    /// Complex values from one of a column to the next.
    pub stride: u64,
    /// Complex values from one plane of columns to the next.
    pub plane: u64,
    /// Columns of a plane.
    pub count: u32,
    /// Columns of a block.
    pub width: u32,
    /// Values of a column that are read.
    pub read: u32,
    /// Values of a column that are written.
    pub written: u32,
    /// Values of a column in all.
    pub length: u32,
    /// Which of them a block has.
    pub share: Share,
    /// What is done, in [`THERE`], [`BACK`], [`REAL`] and [`COMPLEX`].
    pub what: u32,
}

/// Which values of a column a block has.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Blocks that share a column.
    pub count: u32,
    /// Values from the first of one block to that of the next.
    pub apart: u32,
    /// Values from one of a block to the next.
    pub step: u32,
}

/// A transform there.
pub const THERE: u32 = 1;
/// A transform back, without a scale.
pub const BACK: u32 = 2;
/// Waves are multiplied by real numbers, between both.
pub const REAL: u32 = 4;
/// Waves are multiplied by complex numbers, between both.
pub const COMPLEX: u32 = 8;

impl ColumnsLaunch {
    /// Blocks of a plane.
    #[inline(always)]
    #[must_use]
    pub const fn across(&self) -> u32 {
        self.count.div_ceil(self.width)
    }
}

/// Dynamic shared memory for so many columns of so many complex values of so many bytes.
#[must_use]
pub const fn shared_bytes(width: u32, length: u32, bytes: u32) -> u32 {
    let swizzle = if bytes == 16 { f64::SWIZZLE } else { f32::SWIZZLE };
    width * pitch(length, width, swizzle) * bytes
}

#[inline(always)]
#[track_caller]
unsafe fn columns<P: ComplexPart>(
    from: *const u8,
    to: *mut u8,
    stages: &Stages,
    columns: &ColumnsLaunch,
) {
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let (across, _) = divide(columns.count + columns.width - 1, columns.width);
        let block = thread::block_idx_x();
        // Neighbours in memory are those of blocks side by side.
        let (rest, group) = divide(block, across);
        let (plane, part) = divide(rest, columns.share.count);
        let first = group * columns.width;
        let width = columns.count - first;
        let width = if width < columns.width { width } else { columns.width };
        let stages = &Stages { shift: if columns.share.step > 1 { part } else { 0 }, ..*stages };
        let count = Divisor::with(width, reciprocal(width));
        let pitch = pitch(stages.length, columns.width, P::SWIZZLE);
        let lines = SharedLines { data: shared::dynamic(), count, pitch };
        // Of a value of the block that of the column.
        let whole = |value: u32| part * columns.share.apart + value * columns.share.step;
        let index = |line: u32, value: u32| {
            let row = u64::from(plane) * columns.plane + u64::from(value) * columns.stride;
            (row + u64::from(first + line)) as usize
        };
        let fetch = |line: u32, value: u32| {
            let value = whole(value);
            if value < columns.read {
                return of_spectra::<P>(from, index(line, value));
            }
            let image = columns.images.wrapping_add((value - columns.read) as usize);
            let word = global::load_constant(image);
            if word == NOTHING {
                return Complex::ZERO;
            }
            let number = of_spectra(from, index(line, word & !NEGATIVE));
            if word & NEGATIVE == 0 { number } else { Complex::ZERO.minus(number) }
        };
        let put = |line: u32, value: u32, number| {
            let value = whole(value);
            if value < columns.written {
                to_spectra::<P>(to, index(line, value), number);
            }
        };
        let factors = u64::from(plane) * u64::from(columns.count) + u64::from(first);
        let factor = |line: u32, place: u32, bytes: u32| {
            let index = (factors + u64::from(line)) * u64::from(columns.length);
            let index = (index + u64::from(whole(place))) as usize;
            columns.factors.wrapping_add(index * bytes as usize)
        };
        let is = |what: u32| columns.what & what != 0;
        let mut stage = if is(THERE) {
            stage::there(lines, stages, 1, fetch)
        } else {
            stage::enter_back(lines, stages, fetch)
        };
        if is(REAL) {
            let of = |line: u32, place: u32| {
                Scale(P::load_constant(factor(line, place, P::BYTES).cast()))
            };
            stage = stage::turn(stages, stage, of);
        } else if is(COMPLEX) {
            let of = |line: u32, place: u32| {
                Complex::of(P::load_global(factor(line, place, Complex::<P>::BYTES)))
            };
            stage = stage::turn(stages, stage, of);
        }
        if is(BACK) {
            stage::back(stages, 1, stage, put);
        } else {
            stage::leave_there(stages, stage, put);
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $part:ty, $registers:literal;)*) => {
        $(
            /// Columns of spectra `from`, to spectra `to`, which may be the same.
            ///
            /// # Safety
            /// Launch a block of any number of threads for each part of each [`ColumnsLaunch::across`] of each plane, with
            /// [`shared_bytes`] of dynamic shared memory. `from` has what is read and `to` what is written, aligned to 16
            /// bytes; they are the same only if all that is read is, or if a block has whole columns. `columns` has an
            /// image for each value of a column that is not read, and the factors of all columns of all planes, if waves
            /// are multiplied, between a transform there and one back; `stages` are tables for the length of a part.
            #[kernel(registers = $registers)]
            pub unsafe fn $name(from: *const u8, to: *mut u8, stages: Stages, columns: ColumnsLaunch) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { self::columns::<$part>(from, to, &stages, &columns) };
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl ColumnKernels for $part {
                const COLUMNS: Entry<Parameters> = Entry::of::<$name>();
            }
        )*
    };
}

/// The kernel of a type of transforms.
#[cfg(not(target_arch = "nvptx64"))]
pub trait ColumnKernels: ComplexPart {
    /// Columns there, multiplied, and back.
    const COLUMNS: Entry<Parameters>;
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u8, *mut u8, Stages, ColumnsLaunch);

kernels! {
    spectral_columns_f64: f64, 80;
    spectral_columns_f32: f32, 64;
}
