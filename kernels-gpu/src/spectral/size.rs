// SPDX-License-Identifier: MIT OR Apache-2.0
//! How large the values of a grid of f64 are.

use super::batch::divide;
use super::coupled::store_words;
use crate::element::{Element, F64, Real};
use crate::overlap;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::Entry;
use cuda_std::{kernel, shared, thread};

/// The grid of which a launch finds the sizes.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq)]
pub struct SizesLaunch {
    /// Points of a row.
    pub points: u32,
    /// Rows of a plane.
    pub rows: u32,
    /// Planes.
    pub planes: u32,
    /// Elements from one row to the next.
    pub pitch: u32,
    /// Rows from one plane to the next.
    pub plane_rows: u32,
    /// What is taken off each value before it is squared.
    pub taken: f64,
}

/// Threads of a block: a power of two.
pub const THREADS: u32 = 256;

/// Dynamic shared memory.
pub const SHARED_BYTES: u32 = 2 * f64::BYTES * THREADS;

/// Of each block the sum of the squares, and the largest absolute value: infinity if one is no number.
///
/// # Safety
/// Launch any number of blocks of [`THREADS`], with [`SHARED_BYTES`] of dynamic shared memory. `input` points at grid point
/// (0, 0, 0) of an array laid out as in [`crate::layout`], of which `sizes` has the extents; `out` has room for two f64s of each
/// block, aligned to 8 bytes.
#[kernel]
pub unsafe fn spectral_size_f64(input: *const u64, out: *mut u8, sizes: SizesLaunch) {
    // SAFETY: the launch is as this function's contract says.
    unsafe {
        overlap::wait_for_previous();
        overlap::start_next();
        let (thread, block) = (thread::thread_idx_x(), thread::block_idx_x());
        let (mut squares, mut largest) = (0.0f64, 0.0f64);
        let mut number = block;
        while number < sizes.rows * sizes.planes {
            let (z, y) = divide(number, sizes.rows);
            let row = (z as usize * sizes.plane_rows as usize + y as usize) * sizes.pitch as usize;
            let mut x = thread;
            while x < sizes.points {
                let value = F64::widen(F64::load(input.wrapping_add(row + x as usize)));
                let rest = value - sizes.taken;
                squares = rest.multiply_add(rest, squares);
                largest = larger(largest, value);
                x += THREADS;
            }
            number += thread::grid_dim_x();
        }
        let at = |thread: u32| shared::dynamic().offset(2 * f64::BYTES * thread);
        f64::store_shared(at(thread), squares);
        f64::store_shared(at(thread).offset(f64::BYTES), largest);
        thread::sync_threads();
        let mut half = THREADS / 2;
        while half > 0 {
            if thread < half {
                squares += f64::load_shared(at(thread + half));
                largest = larger(largest, f64::load_shared(at(thread + half).offset(f64::BYTES)));
                f64::store_shared(at(thread), squares);
                f64::store_shared(at(thread).offset(f64::BYTES), largest);
            }
            thread::sync_threads();
            half /= 2;
        }
        if thread == 0 {
            let to = out.wrapping_add((2 * f64::BYTES * block) as usize);
            store_words(to, squares);
            store_words(to.wrapping_add(f64::BYTES as usize), largest);
        }
    }
}

/// The larger absolute value; infinity for what is no number.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    let b = if b < 0.0 { -b } else { b };
    if b.is_nan() {
        f64::INFINITY
    } else if b > a {
        b
    } else {
        a
    }
}

/// Parameters, in order.
#[cfg(not(target_arch = "nvptx64"))]
pub type Parameters = (*const u64, *mut u8, SizesLaunch);

/// The kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub const SIZE: Entry<Parameters> = Entry::of::<spectral_size_f64>();
