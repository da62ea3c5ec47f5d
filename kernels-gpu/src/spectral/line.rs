// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of complex values in shared memory, transformed in place by all threads of a block.
//!
//! **There** by decimation in frequency: a stage of radix R takes R values that lie a span apart, transforms them in
//! registers, turns them by their twiddles, and puts them back where they were. So one barrier parts two stages, no
//! second buffer is needed, and waves end up in the order of their digits, where they are multiplied. **Back** by
//! decimation in time, the same stages from the last to the first. Nobody sorts: what is looked up by wave lies in the
//! order of the digits, too ([`wave`]).
//!
//! Of a butterfly only the first twiddle is loaded; its powers are products, at most three after each other.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

use super::batch::divide;
use super::butterfly;
use super::complex::{Complex, Part};
use crate::fault::{Fault, planted};
use crate::unroll::unroll;
use cuda_std::shared::Shared;
use cuda_std::{global, thread};

/// Words of a stage: its radix, its span, and where its twiddles begin.
pub const STAGE: usize = 3;

/// How lines of one length are transformed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// [`STAGE`] words each, in the order of the transform there.
    pub stages: *const u32,
    /// Of each stage `e^{−2πi j / (R · span)}` for j below its span, complex.
    pub twiddles: *const u8,
    /// How many stages.
    pub count: u32,
    /// Values of a line.
    pub length: u32,
}

/// Lines of a block, one after the other in shared memory.
#[derive(Clone, Copy)]
pub struct Lines {
    /// The first value of the first one.
    pub data: Shared,
    /// How many.
    pub count: u32,
    /// Values from one to the next.
    pub pitch: u32,
}

/// Values from one line of so many to the next: whole groups of those that the swizzle mixes.
#[must_use]
pub const fn pitch(values: u32, swizzle: u32) -> u32 {
    values.next_multiple_of(1 << swizzle)
}

/// Where a value of a line lies: neighbours in other banks, and values a power of two apart, too.
#[inline(always)]
pub fn place<P: Part>(lines: Lines, line: u32, value: u32) -> Shared {
    let mixed = value ^ (value >> P::SWIZZLE & ((1 << P::SWIZZLE) - 1));
    lines.data.offset((line * lines.pitch + mixed) * Complex::<P>::BYTES)
}

/// # Safety
/// In bounds, written, waited for.
#[inline(always)]
#[track_caller]
pub unsafe fn load<P: Part>(lines: Lines, line: u32, value: u32) -> Complex<P> {
    // SAFETY: as the caller promises.
    Complex::of(unsafe { P::load_pair(place::<P>(lines, line, value)) })
}

/// # Safety
/// In bounds; nobody else accesses it at the same time.
#[inline(always)]
#[track_caller]
pub unsafe fn store<P: Part>(lines: Lines, line: u32, value: u32, number: Complex<P>) {
    // SAFETY: as the caller promises.
    unsafe { P::store_pair(place::<P>(lines, line, value), [number.re, number.im]) };
}

/// Waits for all threads of the block.
///
/// # Safety
/// All of them come here.
#[inline(always)]
#[track_caller]
pub unsafe fn wait() {
    if !planted(Fault::NoSyncOfPoints) {
        // SAFETY: as the caller promises.
        unsafe { thread::sync_threads() };
    }
}

/// Transforms lines, there or back, without a scale; they have been waited for, before and after.
///
/// # Safety
/// All threads of the block come here; the lines lie in shared memory.
#[inline(always)]
#[track_caller]
pub unsafe fn transform<P: Part, const BACK: bool>(lines: Lines, stages: &Stages) {
    for number in 0..stages.count {
        let number = if BACK { stages.count - 1 - number } else { number };
        // SAFETY: the table has as many stages; each has the values of its radix.
        unsafe {
            let word = |i: usize| {
                global::load_constant(stages.stages.wrapping_add(number as usize * STAGE + i))
            };
            let (radix, span) = (word(0), word(1));
            let twiddles = stages.twiddles.wrapping_add((word(2) * Complex::<P>::BYTES) as usize);
            let stage = Stage { lines, span, twiddles, length: stages.length };
            match radix {
                8 => stage.run::<P, 8, BACK>(),
                7 => stage.run::<P, 7, BACK>(),
                5 => stage.run::<P, 5, BACK>(),
                4 => stage.run::<P, 4, BACK>(),
                3 => stage.run::<P, 3, BACK>(),
                _ => stage.run::<P, 2, BACK>(),
            }
            wait();
        }
    }
}

/// A stage of a transform.
struct Stage {
    lines: Lines,
    /// Values between those of a butterfly.
    span: u32,
    twiddles: *const u8,
    length: u32,
}

impl Stage {
    /// The butterflies of a thread.
    ///
    /// # Safety
    /// As [`transform`].
    #[inline(always)]
    #[track_caller]
    unsafe fn run<P: Part, const R: usize, const BACK: bool>(&self) {
        let Self { lines, span, twiddles, length } = *self;
        let butterflies = length / R as u32;
        // SAFETY: as the caller promises; a butterfly's values are nobody else's.
        unsafe {
            let mut turn = thread::thread_idx_x();
            let threads = thread::block_dim_x();
            while turn < lines.count * butterflies {
                let (line, own) = divide(turn, butterflies);
                let (group, first) = divide(own, span);
                let first_value = group * span * R as u32 + first;
                // Asked for before the values, which are nearer.
                let at = twiddles.wrapping_add((first * Complex::<P>::BYTES) as usize);
                let w = Complex::of(P::load_global(at));
                let mut x = [Complex::ZERO; R];
                unroll!(i < R => x[i] = load::<P>(lines, line, first_value + i as u32 * span));
                let w = powers::<P, R>(w);
                if BACK {
                    if span > 1 {
                        unroll!(i < R - 1 => x[i + 1] = x[i + 1].times(w[i + 1].conjugate()));
                    }
                    unroll!(i < R => x[i] = x[i].swapped());
                    butterfly::transform::<P, R>(&mut x);
                    unroll!(i < R => x[i] = x[i].swapped());
                } else {
                    butterfly::transform::<P, R>(&mut x);
                    if span > 1 {
                        unroll!(i < R - 1 => x[i + 1] = x[i + 1].times(w[i + 1]));
                    }
                }
                unroll!(i < R => store::<P>(lines, line, first_value + i as u32 * span, x[i]));
                turn += threads;
            }
        }
    }
}

/// The powers of a twiddle.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn powers<P: Part, const R: usize>(first: Complex<P>) -> [Complex<P>; R] {
    let mut w = [first; R];
    unroll!(i < R - 2 => {
        let power = i + 2;
        // SAFETY: as the caller promises.
        w[power] = unsafe { w[power / 2].times(w[power - power / 2]) };
    });
    w
}

/// The stages of lines of so many values, as (radix, span): none where their number has a prime factor above 7.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn stages(length: usize) -> Option<Vec<(usize, usize)>> {
    let (mut rest, mut found) = (length.max(1), Vec::new());
    for radix in [7, 5, 3] {
        while rest % radix == 0 {
            found.push(radix);
            rest /= radix;
        }
    }
    // Of powers of 2 as few stages as there can be, and none of 2 if 4 and 4 will do.
    while rest % 8 == 0 && rest != 16 {
        found.push(8);
        rest /= 8;
    }
    for radix in [4, 2] {
        while rest % radix == 0 {
            found.push(radix);
            rest /= radix;
        }
    }
    if rest > 1 {
        return None;
    }
    let mut span = length;
    let stage = |radix: usize| {
        span /= radix;
        (radix, span)
    };
    Some(found.into_iter().map(stage).collect())
}

/// Which wave is in which place after a transform there by these stages.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn wave(stages: &[(usize, usize)], mut place: usize) -> usize {
    let (mut wave, mut weight) = (0, 1);
    for &(radix, span) in stages {
        wave += place / span * weight;
        place %= span;
        weight *= radix;
    }
    wave
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_products_of_radices_and_waves_are_all_there() {
        for length in 1..3000 {
            let smooth = {
                let mut rest = length;
                [2, 3, 5, 7].iter().for_each(|prime| {
                    while rest % prime == 0 {
                        rest /= prime
                    }
                });
                rest == 1
            };
            let Some(stages) = stages(length) else {
                assert!(!smooth, "{length}");
                continue;
            };
            assert!(smooth);
            let mut waves: Vec<usize> = (0..length).map(|place| wave(&stages, place)).collect();
            waves.sort_unstable();
            assert!(waves.into_iter().eq(0..length), "{length}");
        }
        let radices = |length| stages(length).unwrap().into_iter().map(|(radix, _)| radix);
        assert!(radices(10240).eq([5, 8, 8, 8, 4]));
        assert!(radices(16).eq([4, 4]));
        assert!(radices(128).eq([8, 4, 4]));
    }
}
