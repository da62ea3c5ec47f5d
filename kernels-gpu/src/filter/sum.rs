// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums along a line for outputs side by side, in registers: output j is the sum of weight t times input j + t.

use super::numbers::Number;
use super::{GROUP, OUTPUTS, Weights};
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

    /// Adds the products of a group of weights to each line: of all of them if it is one of the first `full`.
    #[inline(always)]
    unsafe fn step<const BASE: usize>(
        &mut self,
        weights: &Weights,
        group: u32,
        fresh: [V; WEIGHTS],
        row: &impl Fn(usize) -> Option<u32>,
    ) {
        self.fill(BASE + WIDTH, fresh);
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            if group < weights.full {
                unroll!(line < LINES => self.step_line::<BASE, true>(weights, group, line, row));
            } else {
                unroll!(line < LINES => self.step_line::<BASE, false>(weights, group, line, row));
            }
        }
    }

    #[inline(always)]
    unsafe fn step_line<const BASE: usize, const IS_FULL: bool>(
        &mut self,
        weights: &Weights,
        group: u32,
        line: usize,
        row: &impl Fn(usize) -> Option<u32>,
    ) {
        let Some(row) = row(line) else { return };
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            let values = weights.group::<V>(row, group);
            if IS_FULL {
                unroll!(tap < WEIGHTS => self.add_tap::<BASE>(line, tap, values[tap]));
            } else {
                let mask = weights.mask(row, group);
                unroll!(tap < WEIGHTS => self.add_some::<BASE>(line, tap, values[tap], mask));
            }
        }
    }

    /// Adds the products of rows of weights: `row` says which a line has, or none. `inputs` gives four of the inputs by their
    /// number, of which two more than groups are asked for.
    ///
    /// # Safety
    /// Only in a kernel; there are such weights, and what the two do is safe there.
    #[inline(always)]
    pub unsafe fn add_groups(
        &mut self,
        weights: &Weights,
        inputs: impl Fn(u32) -> [V; WEIGHTS],
        row: impl Fn(usize) -> Option<u32>,
    ) {
        self.fill(0, inputs(0));
        self.fill(WEIGHTS, inputs(1));
        let mut group = 0;
        // SAFETY: in a kernel, as the caller promises.
        unsafe {
            while group < weights.groups {
                self.step::<0>(weights, group, inputs(group + 2), &row);
                group += 1;
                if group == weights.groups {
                    break;
                }
                self.step::<WEIGHTS>(weights, group, inputs(group + 2), &row);
                group += 1;
                if group == weights.groups {
                    break;
                }
                self.step::<{ 2 * WEIGHTS }>(weights, group, inputs(group + 2), &row);
                group += 1;
            }
        }
    }
}
