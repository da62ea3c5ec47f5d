// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of a row of a 2D stencil of radius r: row y adds to the 2r + 1 rows of outputs of which it is a
//! neighbour. It begins the sums of row y + r, and completes those of row y - r, which are the next step's row.
//! A thread keeps 2r rows of sums for each step, in a ring whose index is a compile-time constant, because the
//! loop over rows is unrolled 2r times. Of radius 1:
//!
//! ```text
//! row              3         4         5
//! sums[0]    2 ends, 4 begins   4   4 ends, 6 begins
//! sums[1]          3    3 ends, 5 begins   5
//! ```
//!
//! Only the sums that end are on the way to the next step; a star's need nothing from other lanes.

use crate::element::Real;
use crate::fault::{Fault, planted};
use crate::unroll::unroll;

/// What is known of a stencil's weights when it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Weights on the axes only.
    Star,
    /// Any weights.
    Box,
    /// Weights that are the same at -x and x, and at -y and y: neighbours are added before they are multiplied.
    Mirrored,
}

impl Form {
    /// The form of a code, which constant parameters of functions are.
    #[inline(always)]
    #[must_use]
    pub const fn of(code: u8) -> Self {
        match code {
            STAR => Self::Star,
            BOX => Self::Box,
            _ => Self::Mirrored,
        }
    }
}

/// Code of [`Form::Star`].
pub const STAR: u8 = 0;
/// Code of [`Form::Box`].
pub const BOX: u8 = 1;
/// Code of [`Form::Mirrored`].
pub const MIRRORED: u8 = 2;

/// Whether a thread's columns are the grid's first, and whether they are its last.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) left: bool,
    pub(super) right: bool,
}

/// Columns of a row that a thread has, `VECTOR` of them, and `RADIUS` on either side.
pub(super) struct ThreadRow<R, const RADIUS: usize, const VECTOR: usize> {
    pub(super) own: [R; VECTOR],
    left: [R; RADIUS],
    right: [R; RADIUS],
}

impl<R: Real, const RADIUS: usize, const VECTOR: usize> ThreadRow<R, RADIUS, VECTOR> {
    /// With zeros beyond the ends of the grid.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn new(own: [R; VECTOR], ends: Ends) -> Self {
        const { assert!(RADIUS <= VECTOR, "neighbours are those of the next lane") };
        let (mut left, mut right) = ([R::ZERO; RADIUS], [R::ZERO; RADIUS]);
        unroll!(index < RADIUS => {
            // SAFETY: as the caller promises.
            let (before, after) = unsafe {
                (own[VECTOR - RADIUS + index].of_left_lane(), own[index].of_right_lane())
            };
            let is_planted = planted(Fault::ColumnsBeyond);
            left[index] = if ends.left && !is_planted { R::ZERO } else { before };
            right[index] = if ends.right && !is_planted { R::ZERO } else { after };
        });
        Self { own, left, right }
    }

    /// Column `index - RADIUS` from the thread's first.
    #[inline(always)]
    pub(super) fn at(&self, index: usize) -> R {
        if index < RADIUS {
            self.left[index]
        } else if index < RADIUS + VECTOR {
            self.own[index - RADIUS]
        } else {
            self.right[index - RADIUS - VECTOR]
        }
    }
}

/// The sums of a time step that are under way.
pub struct StepSums<R, const RADIUS: usize, const RING: usize, const VECTOR: usize> {
    sums: [[R; VECTOR]; RING],
}

impl<R: Real, const RADIUS: usize, const RING: usize, const VECTOR: usize>
    StepSums<R, RADIUS, RING, VECTOR>
{
    /// None.
    pub const EMPTY: Self = Self { sums: [[R::ZERO; VECTOR]; RING] };

    /// Adds a row and takes the one that it completes. `newest` is the row's number modulo `RING`; beyond the ends of the
    /// grid are zeros.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn add<const FORM: u8, const N: usize>(
        &mut self,
        own: [R; VECTOR],
        ends: Ends,
        newest: usize,
        weights: &[R; N],
    ) -> [R; VECTOR] {
        const { assert!(RING == 2 * RADIUS && N == (RING + 1) * (RING + 1), "rows of a stencil") };
        // SAFETY: all lanes execute it.
        let row = unsafe { ThreadRow::<R, RADIUS, VECTOR>::new(own, ends) };
        let mut ended = [R::ZERO; VECTOR];
        // SAFETY: in a kernel.
        unsafe {
            match Form::of(FORM) {
                Form::Mirrored => {
                    let mut pairs = [[R::ZERO; VECTOR]; RADIUS];
                    unroll!(dx < RADIUS => pairs[dx] = pair(&row, dx + 1));
                    unroll!(dy < (RADIUS + 1) => {
                        self.add_mirrored(&row, &pairs, dy, newest, weights, &mut ended)
                    });
                }
                Form::Star | Form::Box => unroll!(later < (RING + 1) => {
                    self.add_to::<FORM, N>(&row, later, newest, weights, &mut ended)
                }),
            }
        }
        ended
    }

    /// Adds a row to the sums that end `later` rows after it ended those of the first.
    #[inline(always)]
    unsafe fn add_to<const FORM: u8, const N: usize>(
        &mut self,
        row: &ThreadRow<R, RADIUS, VECTOR>,
        later: usize,
        newest: usize,
        weights: &[R; N],
        ended: &mut [R; VECTOR],
    ) {
        let weight = |dx| weights[(RING - later) * (RING + 1) + dx];
        let (first, end) = match Form::of(FORM) {
            Form::Star if later != RADIUS => (RADIUS, RADIUS + 1),
            _ => (0, RING + 1),
        };
        // `RING` rows on, the sum that begins is in the place of the one that ends.
        let place = (newest + later) % RING;
        unroll!(column < VECTOR => {
            let mut sum = self.sums[place][column];
            unroll!(dx < (RING + 1) => if first <= dx && dx < end {
                // SAFETY: in a kernel.
                unsafe {
                    let value = row.at(column + dx);
                    sum = if later == RING && dx == first {
                        value.times(weight(dx))
                    } else {
                        value.multiply_add(weight(dx), sum)
                    };
                }
            });
            if later == 0 {
                ended[column] = sum;
            } else {
                self.sums[place][column] = sum;
            }
        });
    }

    /// Adds a row to the sums of which it is `dy` rows above or below.
    #[inline(always)]
    unsafe fn add_mirrored<const N: usize>(
        &mut self,
        row: &ThreadRow<R, RADIUS, VECTOR>,
        pairs: &[[R; VECTOR]; RADIUS],
        dy: usize,
        newest: usize,
        weights: &[R; N],
        ended: &mut [R; VECTOR],
    ) {
        let weight = |dx| weights[(RADIUS + dy) * (RING + 1) + RADIUS + dx];
        let (before, after) = (RADIUS - dy, RADIUS + dy);
        // Short loops: written out, they make `ptxas` spill registers of the kernels of most steps in f64.
        for column in 0..VECTOR {
            // SAFETY: in a kernel.
            unsafe {
                let (own, middle) = (row.own[column], (newest + RADIUS) % RING);
                let mut sum = if dy == 0 {
                    own.multiply_add(weight(0), self.sums[middle][column])
                } else {
                    own.times(weight(0))
                };
                for dx in 0..RADIUS {
                    sum = pairs[dx][column].multiply_add(weight(dx + 1), sum);
                }
                if dy == 0 {
                    self.sums[middle][column] = sum;
                    continue;
                }
                let early = sum.plus(self.sums[(newest + before) % RING][column]);
                if before == 0 {
                    ended[column] = early;
                    self.sums[newest % RING][column] = sum;
                } else {
                    self.sums[(newest + before) % RING][column] = early;
                    let late = &mut self.sums[(newest + after) % RING][column];
                    *late = sum.plus(*late);
                }
            }
        }
    }
}

/// The sums of the columns `dx` to the left and to the right.
///
/// # Safety
/// Only in a kernel.
#[inline(always)]
pub(super) unsafe fn pair<R: Real, const RADIUS: usize, const VECTOR: usize>(
    row: &ThreadRow<R, RADIUS, VECTOR>,
    dx: usize,
) -> [R; VECTOR] {
    let mut sums = [R::ZERO; VECTOR];
    unroll!(column < VECTOR => {
        // SAFETY: in a kernel.
        sums[column] = unsafe { row.at(RADIUS + column - dx).plus(row.at(RADIUS + column + dx)) };
    });
    sums
}
