// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums along a line for outputs side by side, in registers: output j is the sum of weight t times input j + t.

use super::numbers::SumType;
use super::{GROUP, OUTPUTS, Weights};
use crate::unroll::unroll;
use cuda_std::shared::Shared;

const WIDTH: usize = OUTPUTS as usize;
const WEIGHTS: usize = GROUP as usize;
/// Inputs that are in registers: those of the outputs, and the next ones.
const WINDOW: usize = WIDTH + WEIGHTS;
/// Groups of weights after which the window has gone around once.
const ROUND: u32 = (WINDOW / WEIGHTS) as u32;

/// The sums of outputs side by side, and the inputs that the next weights take, of which input `BASE` is the first in the
/// window, which goes around.
pub struct OutputSums<V, const LINES: usize> {
    /// The sums of each line of outputs.
    pub of: [[V; WIDTH]; LINES],
    window: [V; WINDOW],
}

/// The lines of weights that some lines of outputs take: the first one has the line at `first`, each other one the line before.
pub struct WeightLines<'a> {
    /// All of them.
    pub weights: &'a Weights,
    /// The line of the first.
    pub first: u32,
    /// A bit for each line of outputs that has weights.
    pub has: u32,
}

impl<V: SumType, const LINES: usize> OutputSums<V, LINES> {
    /// Zeros.
    pub const ZERO: Self = Self { of: [[V::ZERO; WIDTH]; LINES], window: [V::ZERO; WINDOW] };

    #[inline(always)]
    fn fill(&mut self, base: usize, values: [V; WEIGHTS]) {
        unroll!(index < WEIGHTS => self.window[(base + index) % WINDOW] = values[index]);
    }

    #[inline(always)]
    unsafe fn add_some<const BASE: usize>(
        &mut self,
        line: usize,
        tap: usize,
        weight: V,
        mask: u32,
    ) {
        if mask >> tap & 1 != 0 {
            // SAFETY: in a kernel, as the caller promises.
            unsafe { self.add_tap::<BASE>(line, tap, weight) };
        }
    }

    #[inline(always)]
    unsafe fn add_tap<const BASE: usize>(&mut self, line: usize, tap: usize, weight: V) {
        // SAFETY: in a kernel, as the caller promises.
        unroll!(output < WIDTH => unsafe { self.add_one::<BASE>(line, tap, output, weight) });
    }

    #[inline(always)]
    unsafe fn add_one<const BASE: usize>(
        &mut self,
        line: usize,
        tap: usize,
        output: usize,
        weight: V,
    ) {
        let input = self.window[(BASE + output + tap) % WINDOW];
        let sum = &mut self.of[line][output];
        // SAFETY: in a kernel, as the caller promises.
        *sum = unsafe { input.multiply_add(weight, *sum) };
    }

    /// Adds the products of the groups of weights at these places, one for each line of outputs that has one; `FULL` ones have no zeros.
    #[inline(always)]
    #[track_caller]
    unsafe fn step<const BASE: usize, const FULL: bool>(
        &mut self,
        taken: &WeightLines,
        at: &[Shared; LINES],
        group: u32,
        fresh: [V; WEIGHTS],
    ) {
        self.fill(BASE + WIDTH, fresh);
        // SAFETY: in a kernel, as the caller promises.
        unroll!(line < LINES => unsafe {
            self.step_line::<BASE, FULL>(taken, at[line].offset(group * GROUP * V::BYTES), line)
        });
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn step_line<const BASE: usize, const FULL: bool>(
        &mut self,
        taken: &WeightLines,
        at: Shared,
        line: usize,
    ) {
        if taken.has >> line & 1 == 0 {
            return;
        }
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            let values = V::load_four(at);
            if FULL {
                unroll!(tap < WEIGHTS => self.add_tap::<BASE>(line, tap, values[tap]));
            } else {
                let mask = taken.weights.mask::<V>(at);
                unroll!(tap < WEIGHTS => self.add_some::<BASE>(line, tap, values[tap], mask));
            }
        }
    }

    /// As [`OutputSums::step`], of groups whose first `count` weights count, at most three.
    #[inline(always)]
    #[track_caller]
    unsafe fn step_tail<const BASE: usize>(
        &mut self,
        taken: &WeightLines,
        at: &[Shared; LINES],
        count: u32,
        fresh: [V; WEIGHTS],
    ) {
        self.fill(BASE + WIDTH, fresh);
        let mut values = [[V::ZERO; WEIGHTS]; LINES];
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            unroll!(line < LINES => {
                if taken.has >> line & 1 != 0 {
                    values[line] = V::load_four(at[line]);
                }
            });
            self.tail_tap::<BASE>(taken, 0, &values);
            if count > 1 {
                self.tail_tap::<BASE>(taken, 1, &values);
            }
            if count > 2 {
                self.tail_tap::<BASE>(taken, 2, &values);
            }
        }
    }

    #[inline(always)]
    unsafe fn tail_tap<const BASE: usize>(
        &mut self,
        taken: &WeightLines,
        tap: usize,
        values: &[[V; WEIGHTS]; LINES],
    ) {
        unroll!(line < LINES => if taken.has >> line & 1 != 0 {
            // SAFETY: in a kernel, as the caller promises.
            unsafe { self.add_tap::<BASE>(line, tap, values[line][tap]) }
        });
    }

    /// As [`OutputSums::step`], whether they are full or not.
    #[inline(always)]
    #[track_caller]
    unsafe fn step_any<const BASE: usize>(
        &mut self,
        taken: &WeightLines,
        at: &[Shared; LINES],
        group: u32,
        fresh: [V; WEIGHTS],
    ) {
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            let counts = taken.weights.counts;
            if group < counts.full {
                self.step::<BASE, true>(taken, at, 0, fresh);
            } else if counts.tail > 0 {
                self.step_tail::<BASE>(taken, at, counts.tail, fresh);
            } else {
                self.step::<BASE, false>(taken, at, 0, fresh);
            }
        }
    }

    /// Adds the products of lines of weights. `next` gives the next four of the inputs, two more times than there are groups.
    ///
    /// # Safety
    /// Only in a kernel; there are such weights, and what `next` does is safe there.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn add_groups(
        &mut self,
        taken: &WeightLines,
        mut next: impl FnMut() -> [V; WEIGHTS],
    ) {
        let weights = taken.weights;
        let line = weights.line::<V>();
        let first = weights.values.0.wrapping_add(taken.first.wrapping_mul(line));
        let mut at = [Shared(first); LINES];
        unroll!(index < LINES => {
            at[index] = Shared(first.wrapping_sub((index as u32).wrapping_mul(line)))
        });
        self.fill(0, next());
        self.fill(WEIGHTS, next());
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            let mut group = 0;
            if taken.has == (1 << LINES) - 1 {
                // What the compiler knows is not asked for.
                let taken = WeightLines { has: (1 << LINES) - 1, ..*taken };
                while group + ROUND <= weights.counts.full {
                    self.step::<0, true>(&taken, &at, 0, next());
                    self.step::<WEIGHTS, true>(&taken, &at, 1, next());
                    self.step::<{ 2 * WEIGHTS }, true>(&taken, &at, 2, next());
                    group += ROUND;
                    advance::<V, LINES>(&mut at, ROUND);
                }
            }
            self.add_rest(taken, at, group, next);
        }
    }

    /// Adds the products of the groups from one on.
    #[inline(always)]
    #[track_caller]
    unsafe fn add_rest(
        &mut self,
        taken: &WeightLines,
        mut at: [Shared; LINES],
        mut group: u32,
        mut next: impl FnMut() -> [V; WEIGHTS],
    ) {
        let weights = taken.weights;
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            while group < weights.groups {
                self.step_any::<0>(taken, &at, group, next());
                advance::<V, LINES>(&mut at, 1);
                group += 1;
                if group == weights.groups {
                    break;
                }
                self.step_any::<WEIGHTS>(taken, &at, group, next());
                advance::<V, LINES>(&mut at, 1);
                group += 1;
                if group == weights.groups {
                    break;
                }
                self.step_any::<{ 2 * WEIGHTS }>(taken, &at, group, next());
                advance::<V, LINES>(&mut at, 1);
                group += 1;
            }
        }
    }
}

/// Goes on by some groups of weights.
#[inline(always)]
fn advance<V: SumType, const LINES: usize>(at: &mut [Shared; LINES], groups: u32) {
    unroll!(line < LINES => at[line] = Shared(at[line].0.wrapping_add(groups * GROUP * V::BYTES)));
}
