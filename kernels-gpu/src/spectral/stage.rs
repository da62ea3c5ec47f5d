// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stages of a transform: butterflies of values in shared memory, of which the first has its values from far away, and the
//! last of a transform back puts them there, so that they pass shared memory once less each.
//!
//! Of a butterfly only the first twiddle is loaded; its powers are products, at most four after each other.

// Indices, because iterators that are cut short keep arrays out of registers.
#![allow(clippy::needless_range_loop)]

use super::batch::each;
use super::butterfly;
use super::complex::{Complex, ComplexPart, WaveFactor};
use super::divisor::Divisor;
use super::line::{STAGE, SharedLines, Stages, load, store, wait};
use crate::unroll::unroll;
use core::marker::PhantomData;
use cuda_std::{global, thread};

/// Radices of first stages whose values come from far away, and go there: as many loads of a thread are under way.
pub const FAR: [u32; 2] = [8, 4];

/// Calls a function of a stage with its radix.
macro_rules! of_radix {
    ($stage:ident.$run:ident::<_ $(, $more:tt)?>($($argument:expr),*)) => {
        match $stage.radix {
            8 => $stage.$run::<8 $(, $more)?>($($argument),*),
            7 => $stage.$run::<7 $(, $more)?>($($argument),*),
            5 => $stage.$run::<5 $(, $more)?>($($argument),*),
            4 => $stage.$run::<4 $(, $more)?>($($argument),*),
            3 => $stage.$run::<3 $(, $more)?>($($argument),*),
            2 => $stage.$run::<2 $(, $more)?>($($argument),*),
            _ => $stage.$run::<1 $(, $more)?>($($argument),*),
        }
    };
}

/// Transforms lines there, but for the last `left` stages, without a scale: `fetch(line, value)` says what they are. They
/// have been waited for; the stage is the next one, if there is one.
///
/// # Safety
/// All threads of the block come here; the lines lie in shared memory. Any thread may fetch a value.
#[inline(always)]
#[track_caller]
pub unsafe fn there<P: ComplexPart>(
    lines: SharedLines,
    stages: &Stages,
    left: u32,
    fetch: impl Fn(u32, u32) -> Complex<P>,
) -> Stage<P> {
    let all = stages.count - left;
    // SAFETY: as the caller promises; each value is put by one thread.
    unsafe {
        let mut next = Stage::of(lines, stages, 0);
        let mut number = 0;
        if all > 0 && next.enter::<false>(&fetch) {
            number = 1;
            next = Stage::of(lines, stages, number);
            wait();
        } else {
            fill(lines, stages, fetch);
        }
        while number < all {
            of_radix!(next.inner::<_, false>());
            number += 1;
            next = Stage::of(lines, stages, number);
            wait();
        }
        next
    }
}

/// The last stage there; `put(line, value, number)` takes what comes out.
///
/// # Safety
/// As [`there`]; the lines have been waited for. Any thread may put a value.
#[inline(always)]
#[track_caller]
pub unsafe fn leave_there<P: ComplexPart>(
    stages: &Stages,
    last: Stage<P>,
    put: impl Fn(u32, u32, Complex<P>),
) {
    // SAFETY: as the caller promises.
    unsafe {
        if !last.leave::<false>(&put) {
            of_radix!(last.inner::<_, false>());
            wait();
            drain(last.lines, stages, put);
        }
    }
}

/// The first stage back: `fetch(line, value)` says of what. The lines have been waited for; the stage is the next one.
///
/// # Safety
/// As [`there`].
#[inline(always)]
#[track_caller]
pub unsafe fn enter_back<P: ComplexPart>(
    lines: SharedLines,
    stages: &Stages,
    fetch: impl Fn(u32, u32) -> Complex<P>,
) -> Stage<P> {
    // SAFETY: as the caller promises.
    unsafe {
        let first = Stage::last(lines, stages);
        if !first.enter::<true>(&fetch) {
            fill(lines, stages, fetch);
            of_radix!(first.inner::<_, true>());
        }
        let next = Stage::of(lines, stages, stages.count.saturating_sub(2));
        wait();
        next
    }
}

/// The reverse of [`there`]: but for the last `left` stages, which are the first ones here. `put(line, value, number)`
/// takes what comes out.
///
/// # Safety
/// As [`leave_there`].
#[inline(always)]
#[track_caller]
pub unsafe fn back<P: ComplexPart>(
    stages: &Stages,
    left: u32,
    first: Stage<P>,
    put: impl Fn(u32, u32, Complex<P>),
) {
    let (mut number, mut next) = (stages.count - left, first);
    // SAFETY: as the caller promises.
    unsafe {
        while number > 1 {
            of_radix!(next.inner::<_, true>());
            number -= 1;
            next = Stage::of(next.lines, stages, number - 1);
            wait();
        }
        let all = number == 0;
        if all || !next.leave::<true>(&put) {
            if !all {
                of_radix!(next.inner::<_, true>());
                wait();
            }
            drain(next.lines, stages, put);
        }
    }
}

/// Puts the values of lines into their places, and waits.
///
/// # Safety
/// As [`there`].
#[inline(always)]
#[track_caller]
unsafe fn fill<P: ComplexPart>(
    lines: SharedLines,
    stages: &Stages,
    fetch: impl Fn(u32, u32) -> Complex<P>,
) {
    let fetch = |turn: u32| {
        let (value, line) = lines.count.split(turn);
        fetch(line, value)
    };
    let put = |turn: u32, number| {
        let (value, line) = lines.count.split(turn);
        // SAFETY: as the caller promises.
        unsafe { store(lines, line, value, number) };
    };
    // SAFETY: as the caller promises; each value is put by one thread.
    unsafe {
        each(lines.count.by() * stages.length, Complex::ZERO, fetch, put);
        wait();
    }
}

/// Takes the values of lines from their places, which have been waited for.
///
/// # Safety
/// As [`leave_there`].
#[inline(always)]
#[track_caller]
unsafe fn drain<P: ComplexPart>(
    lines: SharedLines,
    stages: &Stages,
    put: impl Fn(u32, u32, Complex<P>),
) {
    let fetch = |turn: u32| {
        let (value, line) = lines.count.split(turn);
        // SAFETY: as the caller promises.
        unsafe { load(lines, line, value) }
    };
    let put = |turn: u32, number| {
        let (value, line) = lines.count.split(turn);
        put(line, value, number);
    };
    // SAFETY: as the caller promises; each value is taken by one thread.
    unsafe { each(lines.count.by() * stages.length, Complex::ZERO, fetch, put) };
}

/// The last stage there, its waves times what `factor(line, place)` says, and the first stage back. The lines have been
/// waited for; the stage is the next one back.
///
/// # Safety
/// As [`there`]; the lines have been waited for.
#[inline(always)]
#[track_caller]
pub unsafe fn turn<P: ComplexPart, F: WaveFactor<P>>(
    stages: &Stages,
    last: Stage<P>,
    factor: impl Fn(u32, u32) -> F,
) -> Stage<P> {
    // SAFETY: as the caller promises.
    unsafe {
        of_radix!(last.turn::<_, F>(&factor));
        let next = Stage::of(last.lines, stages, stages.count.saturating_sub(2));
        wait();
        next
    }
}

/// A stage of a transform, and what a thread can know of it before it may touch the lines: it is asked for before the threads
/// wait for each other.
#[derive(Clone, Copy)]
pub struct Stage<P> {
    lines: SharedLines,
    radix: u32,
    /// Values between those of a butterfly.
    span: Divisor,
    twiddles: *const u8,
    /// Where those of this block begin.
    offset: u32,
    /// From the twiddle of a value to that of the next.
    step: u32,
    length: u32,
    part: PhantomData<P>,
}

impl<P: ComplexPart> Stage<P> {
    /// One of a table; of numbers beyond it the last one.
    ///
    /// # Safety
    /// Only in a kernel; the table has a stage.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn of(lines: SharedLines, stages: &Stages, number: u32) -> Self {
        let number = if number < stages.count { number } else { stages.count - 1 };
        let at = stages.stages.wrapping_add(number as usize * STAGE);
        // SAFETY: as the caller promises.
        let word = |i: usize| unsafe { global::load_constant(at.wrapping_add(i)) };
        let (radix, span) = (word(0), Divisor::with(word(1), word(2)));
        let offset = word(3) + stages.shift;
        let Stages { twiddles, length, step, .. } = *stages;
        Self { lines, radix, span, twiddles, offset, step, length, part: PhantomData }
    }

    /// The last one there.
    ///
    /// # Safety
    /// As [`Self::of`].
    #[inline(always)]
    #[track_caller]
    pub unsafe fn last(lines: SharedLines, stages: &Stages) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::of(lines, stages, stages.count) }
    }

    /// The twiddle factor of a butterfly.
    ///
    /// # Safety
    /// Only in a kernel.
    #[inline(always)]
    #[track_caller]
    unsafe fn twiddle(&self, own: u32) -> Complex<P> {
        let (_, first) = self.span.split(own);
        let at = (self.offset + first * self.step) * Complex::<P>::BYTES;
        // SAFETY: the table has a twiddle for each place of the span.
        Complex::of(unsafe { P::load_global(self.twiddles.wrapping_add(at as usize)) })
    }

    /// Of values from far away, if its radix is one of those.
    ///
    /// # Safety
    /// As [`there`].
    #[inline(always)]
    #[track_caller]
    unsafe fn enter<const BACK: bool>(&self, fetch: &impl Fn(u32, u32) -> Complex<P>) -> bool {
        // SAFETY: as the caller promises; each value is put by one thread.
        unsafe {
            self.far::<BACK>(fetch, |line, value, number| store(self.lines, line, value, number))
        }
    }

    /// To places far away, if its radix is one of those.
    ///
    /// # Safety
    /// As [`leave_there`].
    #[inline(always)]
    #[track_caller]
    unsafe fn leave<const BACK: bool>(&self, put: &impl Fn(u32, u32, Complex<P>)) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.far::<BACK>(|line, value| load(self.lines, line, value), put) }
    }

    /// The butterflies of a thread, if the radix is one of those of values far away.
    ///
    /// # Safety
    /// As [`there`].
    #[inline(always)]
    #[track_caller]
    unsafe fn far<const BACK: bool>(
        &self,
        fetch: impl Fn(u32, u32) -> Complex<P>,
        put: impl Fn(u32, u32, Complex<P>),
    ) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            if self.radix == FAR[0] {
                self.run::<{ FAR[0] as usize }, BACK>(fetch, put);
            } else if self.radix == FAR[1] {
                self.run::<{ FAR[1] as usize }, BACK>(fetch, put);
            } else {
                return false;
            }
        }
        true
    }

    /// Within shared memory.
    ///
    /// # Safety
    /// As [`there`].
    #[inline(always)]
    #[track_caller]
    unsafe fn inner<const R: usize, const BACK: bool>(&self) {
        let lines = self.lines;
        // SAFETY: as the caller promises; a butterfly's values are nobody else's.
        unsafe {
            let fetch = |line: u32, value: u32| load(lines, line, value);
            let put = |line: u32, value: u32, number| store(lines, line, value, number);
            self.run::<R, BACK>(fetch, put);
        }
    }

    /// The butterflies of a thread.
    ///
    /// # Safety
    /// As [`there`].
    #[inline(always)]
    #[track_caller]
    unsafe fn run<const R: usize, const BACK: bool>(
        &self,
        fetch: impl Fn(u32, u32) -> Complex<P>,
        put: impl Fn(u32, u32, Complex<P>),
    ) {
        let span = self.span.by();
        self.each::<R>(|line, own, w| {
            let (group, first) = self.span.split(own);
            let value = group * span * R as u32 + first;
            // SAFETY: as the caller promises.
            unsafe {
                let mut x = [Complex::ZERO; R];
                unroll!(i < R => x[i] = fetch(line, value + i as u32 * span));
                if BACK {
                    if span * self.step > 1 {
                        twist::<P, R>(&mut x, w.conjugate());
                    }
                    back_in_registers(&mut x);
                } else {
                    butterfly::transform::<P, R>(&mut x);
                    if span * self.step > 1 {
                        twist::<P, R>(&mut x, w);
                    }
                }
                unroll!(i < R => put(line, value + i as u32 * span, x[i]));
            }
        });
    }

    /// The last stage there, a product, and the first back; neighbours are butterflies.
    ///
    /// # Safety
    /// As [`there`].
    #[inline(always)]
    #[track_caller]
    unsafe fn turn<const R: usize, F: WaveFactor<P>>(&self, factor: &impl Fn(u32, u32) -> F) {
        let lines = self.lines;
        self.each::<R>(|line, own, _| {
            let value = own * R as u32;
            let (mut x, mut factors) = ([Complex::ZERO; R], [F::NONE; R]);
            // SAFETY: as the caller promises; a butterfly's values are nobody else's.
            unsafe {
                // Asked for before the values, which are nearer, as far as registers go.
                unroll!(i < R => if i < F::AHEAD {
                    factors[i] = factor(line, value + i as u32);
                });
                unroll!(i < R => x[i] = load(lines, line, value + i as u32));
                butterfly::transform::<P, R>(&mut x);
                unroll!(i < R => if i >= F::AHEAD {
                    factors[i] = factor(line, value + i as u32);
                });
                unroll!(i < R => x[i] = factors[i].of(x[i]));
                back_in_registers(&mut x);
                unroll!(i < R => store(lines, line, value + i as u32, x[i]));
            }
        });
    }

    /// Calls for each butterfly of a thread: its line, its number in it, and its twiddle. Neighbours are of different lines,
    /// whose values are neighbours far away.
    #[inline(always)]
    fn each<const R: usize>(&self, body: impl Fn(u32, u32, Complex<P>)) {
        let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
        let count = self.lines.count;
        let all = count.by() * (self.length / R as u32);
        let mut turn = thread;
        while turn < all {
            let (own, line) = count.split(turn);
            // SAFETY: in a kernel.
            body(line, own, unsafe { self.twiddle(own) });
            turn += threads;
        }
    }
}

/// The inverse transform, without a scale.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn back_in_registers<P: ComplexPart, const R: usize>(x: &mut [Complex<P>; R]) {
    unroll!(i < R => x[i] = x[i].swapped());
    // SAFETY: as the caller promises.
    unsafe { butterfly::transform::<P, R>(x) };
    unroll!(i < R => x[i] = x[i].swapped());
}

/// Turns values by the powers of a twiddle: those of four and what is left of them, so that few are held at a time.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
unsafe fn twist<P: ComplexPart, const R: usize>(x: &mut [Complex<P>; R], w: Complex<P>) {
    // SAFETY: as the caller promises.
    unsafe {
        let w2 = w.times(w);
        let (w3, w4) = (w2.times(w), w2.times(w2));
        let low = [w, w, w2, w3];
        let mut high = w4;
        unroll!(i < R => {
            let of = i % 4;
            if i > 4 && of == 0 {
                // The 8th power of the 4th, the 12th of both.
                high = if i == 8 { w4.times(w4) } else { high.times(w4) };
            }
            if i > 0 && i < 4 {
                x[i] = x[i].times(low[of]);
            } else if i > 0 {
                x[i] = x[i].times(if of == 0 { high } else { high.times(low[of]) });
            }
        });
    }
}
