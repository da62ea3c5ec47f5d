// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of a grid to spectra, and back: a block for each row.

use super::batch::divide;
use super::complex::{Complex, ComplexPart};
use super::divisor::Divisor;
use super::halves::{WavePair, each_pair};
use super::line::{SharedLines, Stages, load, pitch, store, wait};
use super::stage::{self, Stage};
use super::{
    Halves, Lift, NOTHING, Output, Row, columns_of, join, of_spectra, pair_of, split, to_spectra,
};
use crate::element::{Bf16, Element, F16, F32, F64, Real};
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{global, kernel, shared, thread};

/// The rows that a launch transforms.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct RowsLaunch {
    /// Where the points of the torus that come after those of the grid are from: a word for each.
    pub images: *const u32,
    /// What is added to each value that comes back, with the grid's pitches, in the type of the transforms; null for nothing.
    pub added: *const u8,
    /// Taken off and added.
    pub lift: Lift,
    /// Points of a row of the grid.
    pub points: u32,
    /// Rows of a plane of the grid.
    pub rows: u32,
    /// Elements from one row of the grid to the next.
    pub pitch: u32,
    /// Rows from one plane of the grid to the next.
    pub plane_rows: u32,
    /// Complex values from one row of the spectra to the next.
    pub spectra_pitch: u32,
    /// Rows from one plane of the spectra to the next.
    pub spectra_rows: u32,
}

/// Dynamic shared memory for rows of so many complex values of so many bytes.
#[must_use]
pub const fn shared_bytes(half: u32, bytes: u32) -> u32 {
    let swizzle = if bytes == 16 { f64::SWIZZLE } else { f32::SWIZZLE };
    pitch(half + 1, 1, swizzle) * bytes
}

/// The row of a block: z and y, where it begins in the grid, and in the spectra.
#[inline(always)]
fn own(rows: &RowsLaunch, block: u32) -> ([u32; 2], usize, usize) {
    // SAFETY: a launch has a block for each row.
    let (z, y) = unsafe { divide(block, rows.rows) };
    let grid = (z as usize * rows.plane_rows as usize + y as usize) * rows.pitch as usize;
    let row = z as usize * rows.spectra_rows as usize + y as usize;
    ([z, y], grid, row * rows.spectra_pitch as usize)
}

/// A line of M + 1 values in shared memory.
///
/// # Safety
/// The launch gives as much.
#[inline(always)]
pub(super) unsafe fn line<P: ComplexPart>(half: u32) -> SharedLines {
    // SAFETY: as the caller promises.
    let data = unsafe { shared::dynamic() };
    SharedLines { data, count: Divisor::with(1, 0), pitch: pitch(half + 1, 1, P::SWIZZLE) }
}

#[inline(always)]
#[track_caller]
unsafe fn there<E: Element>(
    input: *const E::Stored,
    spectra: *mut u8,
    stages: &Stages,
    pairs: &Halves,
    rows: &RowsLaunch,
) where
    E::Real: ComplexPart,
{
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let ([z, y], from, to) = own(rows, thread::block_idx_x());
        let (first, slope) = rows.lift.of_row(z, y);
        let row = Row::<E> { input: input.wrapping_add(from), points: rows.points, first, slope };
        let half = stages.length;
        let lines = line::<E::Real>(half);
        let value = |x: u32| {
            if x < rows.points {
                return row.point(x);
            }
            let image = rows.images.wrapping_add((x - rows.points) as usize);
            row.image(global::load_constant(image))
        };
        let fetch = |_: u32, place: u32| {
            let x = 2 * place;
            if x + 1 < rows.points {
                row.two(x)
            } else {
                Complex { re: value(x), im: value(x + 1) }
            }
        };
        stage::there(lines, stages, 0, fetch);
        let put = |WavePair { number, places: [first, second], turn, own }: WavePair<E::Real>,
                   ()| {
            let a = load(lines, 0, first);
            let b = if own { a } else { load(lines, 0, second) };
            let [a, b] = split(a, b, turn);
            let [first, second] = columns_of(pairs, number);
            to_spectra(spectra, to + first as usize, a);
            if second != NOTHING {
                to_spectra(spectra, to + second as usize, b);
            }
        };
        each_pair::<_, _, 4>(pairs, pairs.firsts, (), |_, _| (), put);
    }
}

#[inline(always)]
#[track_caller]
unsafe fn back<E: Element>(
    spectra: *const u8,
    output: *mut E::Stored,
    stages: &Stages,
    pairs: &Halves,
    rows: &RowsLaunch,
) where
    E::Real: ComplexPart,
{
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let ([z, y], to, from) = own(rows, thread::block_idx_x());
        let (first, slope) = rows.lift.of_row::<E::Real>(z, y);
        let half = stages.length;
        let lines = line::<E::Real>(half);
        let waves = |pair: u32, [first, second]: [u32; 2]| {
            let of = |column: u32| of_spectra::<E::Real>(spectra, from + column as usize);
            let [a, b] = columns_of(pairs, pair);
            let a = of(a);
            // A wave that is its own partner, or a partner that does not matter.
            let alone = if first == second { a } else { Complex::ZERO };
            [a, if b == NOTHING { alone } else { of(b) }]
        };
        let put = |WavePair { places: [first, second], turn, own, .. }, [a, b]: [_; 2]| {
            let [a, b] = join(a, b, turn);
            store(lines, 0, first, a);
            if !own {
                store(lines, 0, second, b);
            }
        };
        each_pair::<_, _, 4>(pairs, pairs.firsts, [Complex::ZERO; 2], waves, put);
        let mut pair = pairs.firsts + thread::thread_idx_x();
        while pair < pairs.count {
            let [first, second] = pair_of(pairs, pair);
            store(lines, 0, first, Complex::<E::Real>::ZERO);
            store(lines, 0, second, Complex::<E::Real>::ZERO);
            pair += thread::block_dim_x();
        }
        let back = Stage::last(lines, stages);
        wait();
        let added = if rows.added.is_null() {
            rows.added
        } else {
            rows.added.wrapping_add(to * E::Real::BYTES as usize)
        };
        let input = core::ptr::null();
        let row = Row::<E> { input, points: rows.points, first, slope };
        let output = Output { row, output: output.wrapping_add(to), added };
        stage::back(stages, 0, back, |_, place, number| output.put(2 * place, number));
    }
}

macro_rules! kernels {
    ($($there:ident, $back:ident: $element:ident, $stored:ty, $registers:literal;)*) => {
        $(
            /// Rows of the grid `input` to `spectra`, lines of as many complex values as there are waves that matter, in the
            /// order that `pairs` says.
            ///
            /// # Safety
            /// Launch a block for each row of the grid, of any number of threads, with [`shared_bytes`] of dynamic
            /// shared memory. `input` points at grid point (0, 0, 0) of an array whose rows are aligned to two values,
            /// of which `rows` has the extents; `spectra` has the room that `rows` says, aligned to 16 bytes. `rows`
            /// has an image for each of 2 · `stages.length` points but those of the grid; `stages` and `pairs` are
            /// tables for that length.
            #[kernel(registers = $registers)]
            pub unsafe fn $there(
                input: *const $stored,
                spectra: *mut u8,
                stages: Stages,
                pairs: Halves,
                rows: RowsLaunch,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { there::<$element>(input, spectra, &stages, &pairs, &rows) };
            }

            /// The reverse, but for a factor of `stages.length`; only points of the grid.
            ///
            /// # Safety
            /// Launch a block for each row of the grid, of any number of threads, with [`shared_bytes`] of dynamic shared
            /// memory. `output` points at grid point (0, 0, 0) of an array whose rows are aligned to two values, of which
            /// `rows` has the extents; `spectra` has the room that `rows` says, aligned to 16 bytes. `rows` has an image
            /// for each of 2 · `stages.length` points but those of the grid; `stages` and `pairs` are tables for that
            /// length. `rows.added` is null or an array with the pitches of `output`, at its point (0, 0, 0).
            #[kernel(registers = $registers)]
            pub unsafe fn $back(
                spectra: *const u8,
                output: *mut $stored,
                stages: Stages,
                pairs: Halves,
                rows: RowsLaunch,
            ) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { back::<$element>(spectra, output, &stages, &pairs, &rows) };
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl RowKernels for $element {
                const THERE: Entry<ForwardParameters<$stored>> = Entry::of::<$there>();
                const BACK: Entry<InverseParameters<$stored>> = Entry::of::<$back>();
            }
        )*
    };
}

/// The kernels of an element type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait RowKernels: Element {
    /// Rows to spectra.
    const THERE: Entry<ForwardParameters<Self::Stored>>;
    /// Spectra to rows.
    const BACK: Entry<InverseParameters<Self::Stored>>;
}

/// The parameters of the forward transform, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type ForwardParameters<S> = (*const S, *mut u8, Stages, Halves, RowsLaunch);

/// The parameters of the inverse transform, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type InverseParameters<S> = (*const u8, *mut S, Stages, Halves, RowsLaunch);

kernels! {
    spectral_rows_f64, spectral_rows_back_f64: F64, u64, 96;
    spectral_rows_f32, spectral_rows_back_f32: F32, u32, 64;
    spectral_rows_f16, spectral_rows_back_f16: F16, u16, 64;
    spectral_rows_bf16, spectral_rows_back_bf16: Bf16, u16, 64;
}
