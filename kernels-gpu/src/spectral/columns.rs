// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies above each other, or behind each other, in the spectra of rows: transformed there, multiplied, and
//! transformed back, in place; or one of the two only.

use super::batch::{divide, each};
use super::complex::{Complex, Part};
use super::line::{Lines, Stages, load, pitch, store, transform, wait};
use super::{NEGATIVE, NOTHING};
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, shared, thread};

/// Which columns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
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
    /// What is done, in [`THERE`], [`BACK`], [`REAL`] and [`COMPLEX`].
    pub what: u32,
}

/// A transform there.
pub const THERE: u32 = 1;
/// A transform back, without a scale.
pub const BACK: u32 = 2;
/// Waves are multiplied by real numbers.
pub const REAL: u32 = 4;
/// Waves are multiplied by complex numbers.
pub const COMPLEX: u32 = 8;

impl Columns {
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
    width * pitch(length, swizzle) * bytes
}

#[inline(always)]
#[track_caller]
unsafe fn columns<P: Part>(spectra: *mut u8, stages: &Stages, columns: &Columns) {
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let (across, _) = divide(columns.count + columns.width - 1, columns.width);
        let block = thread::block_idx_x();
        let (plane, group) = divide(block, across);
        let first = group * columns.width;
        let width = columns.count - first;
        let width = if width < columns.width { width } else { columns.width };
        let length = stages.length;
        let data = shared::dynamic();
        let lines = Lines { data, count: width, pitch: pitch(length, P::SWIZZLE) };
        let own = u64::from(plane) * columns.plane + u64::from(first);
        let at = |value: u32, line: u32| {
            let at = own + u64::from(value) * columns.stride + u64::from(line);
            spectra.wrapping_add(at as usize * Complex::<P>::BYTES as usize)
        };

        let number = |turn: u32| {
            let (value, line) = divide(turn, width);
            Complex::of(P::load_global(at(value, line)))
        };
        let put = |turn: u32, number| {
            let (value, line) = divide(turn, width);
            store(lines, line, value, number);
        };
        each(width * columns.read, Complex::ZERO, number, put);
        let image = |turn: u32| {
            let (value, line) = divide(turn, width);
            let image = columns.images.wrapping_add(value as usize);
            let word = global::load_constant(image);
            if word == NOTHING {
                return Complex::ZERO;
            }
            let number = Complex::of(P::load_global(at(word & !NEGATIVE, line)));
            if word & NEGATIVE == 0 { number } else { Complex::ZERO.minus(number) }
        };
        let put = |turn: u32, number| {
            let (value, line) = divide(turn, width);
            store(lines, line, columns.read + value, number);
        };
        each(width * (length - columns.read), Complex::ZERO, image, put);
        wait();
        if columns.what & THERE != 0 {
            transform::<P, false>(lines, stages);
        }
        if columns.what & (REAL | COMPLEX) != 0 {
            let factors = u64::from(plane) * u64::from(columns.count) + u64::from(first);
            let factors = factors as usize * length as usize;
            let fetch = |turn: u32| {
                let index = factors + turn as usize;
                if columns.what & REAL != 0 {
                    let at = columns.factors.wrapping_add(index * P::BYTES as usize);
                    Complex { re: P::load_constant(at.cast()), im: P::ZERO }
                } else {
                    let at = columns.factors.wrapping_add(index * Complex::<P>::BYTES as usize);
                    Complex::of(P::load_global(at))
                }
            };
            let put = |turn: u32, factor| {
                let (line, value) = divide(turn, length);
                let number = load::<P>(lines, line, value);
                store(lines, line, value, number.times(factor));
            };
            each(width * length, Complex::ZERO, fetch, put);
            wait();
        }
        if columns.what & BACK != 0 {
            transform::<P, true>(lines, stages);
        }
        let fetch = |turn: u32| {
            let (value, line) = divide(turn, width);
            load::<P>(lines, line, value)
        };
        let put = |turn: u32, Complex { re, im }| {
            let (value, line) = divide(turn, width);
            P::store_global(at(value, line), [re, im]);
        };
        each(width * columns.written, Complex::ZERO, fetch, put);
    }
}

macro_rules! kernels {
    ($($name:ident: $part:ty;)*) => {
        $(
            /// Columns of `spectra`, in place.
            ///
            /// # Safety
            /// Launch a block of any number of threads for each [`Columns::across`] of each plane, with
            /// [`shared_bytes`] of dynamic shared memory. `spectra` has what is read and written, aligned to 16 bytes,
            /// `columns` an image for each value that is not read, and the factors of all columns of all planes, if
            /// waves are multiplied; `stages` are tables for the length of the torus.
            #[kernel]
            pub unsafe fn $name(spectra: *mut u8, stages: Stages, columns: Columns) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { self::columns::<$part>(spectra, &stages, &columns) };
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl Kernels for $part {
                const COLUMNS: Entry<Parameters> = Entry::of::<$name>();
            }
        )*
    };
}

/// The kernel of a type of transforms.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Kernels: Part {
    /// Columns there, multiplied, and back.
    const COLUMNS: Entry<Parameters>;
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*mut u8, Stages, Columns);

kernels! {
    spectral_columns_f64: f64;
    spectral_columns_f32: f32;
}
