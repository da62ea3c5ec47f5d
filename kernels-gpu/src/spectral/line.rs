// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of complex values in shared memory, and the stages that transform them in place ([`super::stage`]).
//!
//! **There** by decimation in frequency: a stage of radix R takes R values that lie a span apart, transforms them in
//! registers, turns them by their twiddles, and puts them back where they were. So one barrier parts two stages, no
//! second buffer is needed, and waves end up in the order of their digits, where they are multiplied. **Back** by
//! decimation in time, the same stages from the last to the first. Nobody sorts: what is looked up by wave lies in the
//! order of the digits, too ([`wave`]).
//!
//! **In two parts**: the first stages of a long line, whose spans are multiples of some number, work on each value of as many, the
//! others on as many values side by side. So each part is a transform of shorter lines, with twiddles of the long one.

use super::complex::{Complex, ComplexPart};
use super::divisor::Divisor;
use crate::fault::{Fault, planted};
use cuda_std::shared::Shared;
use cuda_std::thread;

/// Words of a stage: its radix, its span with its [`super::divisor::reciprocal`], and where its twiddles begin.
pub const STAGE: usize = 4;

/// How lines of one length are transformed.
#[repr(C)]
#[derive(cuda_std::Parameter, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// [`STAGE`] words each, in the order of the transform there.
    pub stages: *const u32,
    /// Of each stage `e^{−2πi j / (R · span)}` for j below its span, complex.
    pub twiddles: *const u8,
    /// How many stages.
    pub count: u32,
    /// Values of a line.
    pub length: u32,
    /// Values of the whole line from one to the next, where these are the first stages of a longer one, else 1.
    pub step: u32,
    /// Which of so many parts of the whole line this is.
    pub shift: u32,
}

/// Lines of a block, one after the other in shared memory.
#[derive(Clone, Copy)]
pub struct SharedLines {
    /// The first value of the first one.
    pub data: Shared,
    /// How many.
    pub count: Divisor,
    /// Values from one to the next.
    pub pitch: u32,
}

/// Values from one line of so many to the next: whole groups of those that the swizzle mixes, and, of a few lines, so many
/// more that the same value of all of them is in different banks.
#[must_use]
pub const fn pitch(values: u32, lines: u32, swizzle: u32) -> u32 {
    let group = 1 << swizzle;
    let apart = if lines > 1 && lines <= group { group / lines } else { 0 };
    values.next_multiple_of(group) + apart
}

/// Where a value of a line lies: neighbours in other banks, and values a power of two apart, too.
#[inline(always)]
pub fn place<P: ComplexPart>(lines: SharedLines, line: u32, value: u32) -> Shared {
    let higher = value >> P::SWIZZLE;
    let mixed = value ^ ((higher ^ higher >> P::SWIZZLE) & ((1 << P::SWIZZLE) - 1));
    lines.data.offset((line * lines.pitch + mixed) * Complex::<P>::BYTES)
}

/// # Safety
/// In bounds, written, waited for.
#[inline(always)]
#[track_caller]
pub unsafe fn load<P: ComplexPart>(lines: SharedLines, line: u32, value: u32) -> Complex<P> {
    // SAFETY: as the caller promises.
    Complex::of(unsafe { P::load_pair(place::<P>(lines, line, value)) })
}

/// # Safety
/// In bounds; nobody else accesses it at the same time.
#[inline(always)]
#[track_caller]
pub unsafe fn store<P: ComplexPart>(lines: SharedLines, line: u32, value: u32, number: Complex<P>) {
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
        thread::sync_threads();
    }
}

/// The stages of lines of so many values, as (radix, span): none where their number has a prime factor above 7.
///
/// As few as there can be, those that have their values from far away ([`super::stage::FAR`]) at the ends; one of radix 1 if
/// there is no other.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn stages(length: usize) -> Option<Vec<(usize, usize)>> {
    let (mut rest, mut odd) = (length.max(1), Vec::new());
    for radix in [7, 5, 3] {
        while rest % radix == 0 {
            odd.push(radix);
            rest /= radix;
        }
    }
    if !rest.is_power_of_two() {
        return None;
    }
    // Of powers of 2 eights first and last, and what is left of them in the middle.
    let bits = rest.trailing_zeros() as usize;
    let left: &[usize] = match bits % 3 {
        1 if bits > 3 => &[4, 4],
        1 => &[2],
        2 => &[4],
        _ => &[],
    };
    let eights = (bits - left.iter().map(|radix| radix.ilog2() as usize).sum::<usize>()) / 3;
    let mut radices = vec![8; eights.div_ceil(2)];
    radices.extend(left);
    radices.append(&mut odd);
    radices.extend(std::iter::repeat_n(8, eights / 2));
    if radices.is_empty() {
        radices.push(1);
    }
    let mut span = length;
    let stage = |radix: usize| {
        span /= radix;
        (radix, span)
    };
    Some(radices.into_iter().map(stage).collect())
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
        assert!(radices(10240).eq([8, 8, 4, 5, 8]));
        assert!(radices(5120).eq([8, 4, 4, 5, 8]));
        assert!(radices(16).eq([4, 4]));
        assert!(radices(32).eq([8, 4]));
        assert!(radices(6000).eq([4, 4, 5, 5, 5, 3]));
    }

    #[test]
    fn values_side_by_side_and_a_power_of_two_apart_are_in_different_banks() {
        let bank = |value: u32, swizzle: u32| {
            let higher = value >> swizzle;
            (value ^ higher ^ higher >> swizzle) % (1 << swizzle)
        };
        for (swizzle, apart) in
            [(3, vec![1, 2, 4, 8, 16, 32, 64]), (4, vec![1, 2, 4, 8, 16, 32, 64, 128, 256])]
        {
            for apart in apart {
                let mut banks: Vec<u32> =
                    (0..1 << swizzle).map(|i| bank(i * apart, swizzle)).collect();
                banks.sort_unstable();
                assert!(banks.into_iter().eq(0..1 << swizzle), "{apart}");
            }
        }
    }
}
