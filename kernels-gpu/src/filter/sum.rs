// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums along a line for outputs side by side, in registers: output j is the sum of weight t times input j + t.

use super::numbers::Number;
use super::{FULL, GROUP, OUTPUTS};
use crate::unroll::unroll;

const WIDTH: usize = OUTPUTS as usize;
const WEIGHTS: usize = GROUP as usize;
/// Inputs that are in registers: those of the outputs, and the next ones.
const WINDOW: usize = WIDTH + WEIGHTS;

/// The sums of outputs side by side, and the inputs that the next weights take, of which input `BASE` is the first in the
/// window, which goes around.
pub struct Sums<V, const LINES: usize> {
    /// The sums of each line of outputs.
    pub of: [[V; WIDTH]; LINES],
    window: [V; WINDOW],
}

impl<V: Number, const LINES: usize> Sums<V, LINES> {
    /// Zeros.
    pub const ZERO: Self = Self { of: [[V::ZERO; WIDTH]; LINES], window: [V::ZERO; WINDOW] };

    #[inline(always)]
    fn fill(&mut self, base: usize, values: [V; WEIGHTS]) {
        unroll!(index < WEIGHTS => self.window[(base + index) % WINDOW] = values[index]);
    }

    /// Adds the products of a group of weights to a line.
    #[inline(always)]
    unsafe fn add<const BASE: usize>(&mut self, line: usize, (weights, mask): ([V; WEIGHTS], u32)) {
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            if mask == FULL {
                unroll!(tap < WEIGHTS => self.add_tap::<BASE>(line, tap, weights[tap]));
            } else {
                unroll!(tap < WEIGHTS => self.add_some::<BASE>(line, tap, weights[tap], mask));
            }
        }
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

    /// Adds the products of a group.
    #[inline(always)]
    unsafe fn step<const BASE: usize>(
        &mut self,
        fresh: [V; WEIGHTS],
        weights: &impl Fn(usize) -> Option<([V; WEIGHTS], u32)>,
    ) {
        self.fill(BASE + WIDTH, fresh);
        // SAFETY: in a kernel, as the caller promises.
        unroll!(line < LINES => unsafe { self.step_line::<BASE>(line, weights) });
    }

    #[inline(always)]
    unsafe fn step_line<const BASE: usize>(
        &mut self,
        line: usize,
        weights: &impl Fn(usize) -> Option<([V; WEIGHTS], u32)>,
    ) {
        if let Some(group) = weights(line) {
            // SAFETY: in a kernel, as the caller promises.
            unsafe { self.add::<BASE>(line, group) };
        }
    }

    /// Adds the products of so many groups of weights. `inputs` gives four of the inputs by their number, of which two more
    /// than groups are asked for, `weights` a group by the line and its number, or none.
    ///
    /// # Safety
    /// Only in a kernel; what the two do is safe there.
    #[inline(always)]
    pub unsafe fn add_groups(
        &mut self,
        groups: u32,
        inputs: impl Fn(u32) -> [V; WEIGHTS],
        weights: impl Fn(usize, u32) -> Option<([V; WEIGHTS], u32)>,
    ) {
        self.fill(0, inputs(0));
        self.fill(WEIGHTS, inputs(1));
        let mut group = 0;
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            while group < groups {
                self.step::<0>(inputs(group + 2), &|line| weights(line, group));
                group += 1;
                if group == groups {
                    break;
                }
                self.step::<WEIGHTS>(inputs(group + 2), &|line| weights(line, group));
                group += 1;
                if group == groups {
                    break;
                }
                self.step::<{ 2 * WEIGHTS }>(inputs(group + 2), &|line| weights(line, group));
                group += 1;
            }
        }
    }
}
