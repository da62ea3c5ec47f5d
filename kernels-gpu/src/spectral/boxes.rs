// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes of points from a grid to one of f64 of its own, in which they are stepped, and back.

use super::batch::divide;
use super::complex::ComplexPart;
use crate::element::{Bf16, Element, F16, F32, F64};
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{kernel, thread};

/// The box that a launch copies.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxLaunch {
    /// Rows of a plane of it.
    pub rows: u32,
    /// Points of a row.
    pub columns: u32,
    /// Elements from one row to the next, there and here.
    pub pitches: [u32; 2],
    /// Rows from one plane to the next, there and here.
    pub plane_rows: [u32; 2],
}

#[inline(always)]
#[track_caller]
unsafe fn copy<A: Element, B: Element>(
    from: *const A::Stored,
    to: *mut B::Stored,
    points: &BoxLaunch,
) where
    A::Real: ComplexPart,
    B::Real: ComplexPart,
{
    // SAFETY: the launch is as the kernel's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let block = thread::block_idx_x();
        let (z, y) = divide(block, points.rows);
        let row = |side: usize| {
            let row = z as usize * points.plane_rows[side] as usize + y as usize;
            row * points.pitches[side] as usize
        };
        let mut x = thread::thread_idx_x();
        while x < points.columns {
            let value = A::widen(A::load(from.wrapping_add(row(0) + x as usize)));
            B::store(to.wrapping_add(row(1) + x as usize), B::Real::of(value.wide()));
            x += thread::block_dim_x();
        }
    }
}

macro_rules! kernels {
    ($($out:ident, $back:ident: $element:ident, $stored:ty;)*) => {
        $(
            /// A box of a grid to one of f64.
            ///
            /// # Safety
            /// Launch a block for each row of the box, of any number of threads. `from` and `to` point at its first
            /// point in different arrays, of which `points` has the pitches.
            #[kernel]
            pub unsafe fn $out(from: *const $stored, to: *mut u64, points: BoxLaunch) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { copy::<$element, F64>(from, to, &points) };
            }

            /// The reverse; values are rounded.
            ///
            /// # Safety
            /// Launch a block for each row of the box, of any number of threads. `from` and `to` point at its first
            /// point in different arrays, of which `points` has the pitches.
            #[kernel]
            pub unsafe fn $back(from: *const u64, to: *mut $stored, points: BoxLaunch) {
                // SAFETY: the launch is as this function's contract says.
                unsafe { copy::<F64, $element>(from, to, &points) };
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl BoxKernels for $element {
                const OUT: Entry<Parameters<$stored, u64>> = Entry::of::<$out>();
                const BACK: Entry<Parameters<u64, $stored>> = Entry::of::<$back>();
            }
        )*
    };
}

/// The kernels of an element type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait BoxKernels: Element {
    /// To f64.
    const OUT: Entry<Parameters<Self::Stored, u64>>;
    /// From f64.
    const BACK: Entry<Parameters<u64, Self::Stored>>;
}

/// From f64 to f64.
#[cfg(not(target_arch = "nvptx64"))]
pub const COPY: Entry<Parameters<u64, u64>> = Entry::of::<spectral_box_f64>();

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters<A, B> = (*const A, *mut B, BoxLaunch);

kernels! {
    spectral_box_f64, spectral_box_back_f64: F64, u64;
    spectral_box_f32, spectral_box_back_f32: F32, u32;
    spectral_box_f16, spectral_box_back_f16: F16, u16;
    spectral_box_bf16, spectral_box_back_bf16: Bf16, u16;
}
