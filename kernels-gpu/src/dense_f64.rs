// SPDX-License-Identifier: MIT OR Apache-2.0
//! Products of f64 on dense tensor cores, 16 × 8 outputs with K = 16: one instruction on sm_90 and later, eight of
//! 8 × 4 before, with the same registers.

use crate::element::{Real, to_words};
use crate::unroll::unroll;
use cuda_std::{chip, global, mma, warp};

/// A lane's part of A.
pub type A = [f64; 8];

/// A lane's part of B.
pub type B = [f64; 4];

/// A lane's part of C.
pub type C = [f64; 4];

/// Numbers of a product's A: 8 for each lane.
pub const OPERAND: usize = 8 * warp::SIZE as usize;

/// The part of A of product `k`.
///
/// # Safety
/// The operand has it, and stays as it is.
#[inline(always)]
pub(crate) unsafe fn load_a(operand: *const u32, k: usize, lane: u32) -> A {
    core::array::from_fn(|i| {
        let number = k * OPERAND + i * warp::SIZE as usize + lane as usize;
        // SAFETY: as the caller promises.
        unsafe { f64::load_constant(operand.wrapping_add(2 * number)) }
    })
}

/// C + A·B.
///
/// # Safety
/// The whole warp calls it.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(crate) unsafe fn multiply_add(a: A, b: B, c: C) -> C {
    if chip::is_sm_90() {
        // SAFETY: all lanes execute it.
        return unsafe { mma::m16n8k16_f64(a, b, c) };
    }
    // Rows 0 to 7 and rows 8 to 15.
    let (mut upper, mut lower) = ([c[0], c[1]], [c[2], c[3]]);
    unroll!(i < 4 => {
        // SAFETY: all lanes execute it.
        upper = unsafe { mma::m8n8k4_f64(a[2 * i], b[i], upper) }
    });
    unroll!(i < 4 => {
        // SAFETY: all lanes execute it.
        lower = unsafe { mma::m8n8k4_f64(a[2 * i + 1], b[i], lower) }
    });
    [upper[0], upper[1], lower[0], lower[1]]
}

/// Stores two neighbours, or of them what is left of a row.
///
/// # Safety
/// `to` is aligned to 16 bytes; as many as are left are valid, and no other lane stores them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(crate) unsafe fn store_two(to: *mut f64, left: i32, values: [f64; 2]) {
    let [[a, b], [c, d]] = values.map(to_words);
    // SAFETY: as the caller promises.
    unsafe {
        if left > 1 {
            global::store_v4(to.cast(), [a, b, c, d]);
        } else if left > 0 {
            global::store_v2(to.cast(), [a, b]);
        }
    }
}
