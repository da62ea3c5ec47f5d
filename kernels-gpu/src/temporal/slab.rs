// SPDX-License-Identifier: MIT OR Apache-2.0
//! One time step of a plane of a 3D stencil of radius r, of which a thread has some rows and columns: plane z adds to
//! the 2r + 1 planes of outputs of which it is a neighbour, as rows do in 2D ([`super::step`]).
//!
//! A plane waits one round before it adds, so that other warps can see its outermost rows; then all steps are
//! independent of each other. A star needs these rows only for the outputs in the plane itself: the plane that it
//! completes is the next step's in the same round, which saves a plane of registers for each step.

use super::step::{Ends, Form, ThreadRow, pair};
use crate::element::Real;
use crate::unroll::unroll;

/// Some rows of a thread's columns.
pub type ThreadRows<R, const ROWS: usize, const VECTOR: usize> = [[R; VECTOR]; ROWS];

/// A time step: the plane that waits, and the sums that are under way.
pub struct Slab<R, const RADIUS: usize, const RING: usize, const ROWS: usize, const VECTOR: usize> {
    /// The plane that waits.
    pub waiting: ThreadRows<R, ROWS, VECTOR>,
    sums: [ThreadRows<R, ROWS, VECTOR>; RING],
}

/// What is beside a thread's own rows and columns: the rows of other warps, above and below, and where the grid ends.
pub(super) struct NeighbourRows<R, const RADIUS: usize, const VECTOR: usize> {
    /// With smaller y.
    pub(super) above: ThreadRows<R, RADIUS, VECTOR>,
    /// With larger y.
    pub(super) below: ThreadRows<R, RADIUS, VECTOR>,
    /// Along x.
    pub(super) ends: Ends,
}

impl<R: Real, const RADIUS: usize, const RING: usize, const ROWS: usize, const VECTOR: usize>
    Slab<R, RADIUS, RING, ROWS, VECTOR>
{
    /// Zeros.
    pub const EMPTY: Self =
        Self { waiting: [[R::ZERO; VECTOR]; ROWS], sums: [[[R::ZERO; VECTOR]; ROWS]; RING] };

    /// Row `index - RADIUS` from the thread's first, of the plane that waits.
    #[inline(always)]
    fn row(&self, beside: &NeighbourRows<R, RADIUS, VECTOR>, index: usize) -> [R; VECTOR] {
        if index < RADIUS {
            beside.above[index]
        } else if index < RADIUS + ROWS {
            self.waiting[index - RADIUS]
        } else {
            beside.below[index - RADIUS - ROWS]
        }
    }

    /// Adds the plane that waits and takes the one that it completes. `newest` is the plane's number modulo `RING`.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn add<const FORM: u8, const N: usize>(
        &mut self,
        beside: &NeighbourRows<R, RADIUS, VECTOR>,
        newest: usize,
        weights: &[R; N],
    ) -> ThreadRows<R, ROWS, VECTOR> {
        const { assert!(RING == 2 * RADIUS && N == (RING + 1).pow(3), "planes of a stencil") };
        let mut ended = [[R::ZERO; VECTOR]; ROWS];
        // SAFETY: as the caller promises.
        unsafe {
            match Form::of(FORM) {
                Form::Star => unreachable!(),
                Form::Box => unroll!(from < (ROWS + RING) => {
                    self.add_box(beside, from, newest, weights, &mut ended)
                }),
                Form::Mirrored => {
                    let mut lines = [Line::ZERO; 17];
                    unroll!(from < (ROWS + RING) => {
                        lines[from] = Line::new::<RADIUS>(self.row(beside, from), beside.ends)
                    });
                    unroll!(row < ROWS => {
                        self.add_mirrored(&lines, row, newest, weights, &mut ended)
                    });
                }
            }
        }
        ended
    }

    /// Adds a plane of a star of radius 1 and takes the one that it completes: the plane before it, which has waited
    /// for what is beside it. Of the sums only the first are used.
    ///
    /// # Safety
    /// All 32 lanes execute it.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn add_star<const N: usize>(
        &mut self,
        plane: ThreadRows<R, ROWS, VECTOR>,
        beside: &NeighbourRows<R, RADIUS, VECTOR>,
        weights: &[R; N],
    ) -> ThreadRows<R, ROWS, VECTOR> {
        const { assert!(RADIUS == 1, "one plane on either side") };
        let mut ended = [[R::ZERO; VECTOR]; ROWS];
        // SAFETY: as the caller promises.
        unroll!(row < ROWS => ended[row] = unsafe { self.end_star(row, beside, weights) });
        let mut row = 0;
        while row < ROWS {
            for column in 0..VECTOR {
                // SAFETY: in a kernel.
                unsafe {
                    let (before, own) = (self.waiting[row][column], plane[row][column]);
                    ended[row][column] = own.multiply_add(weights[22], ended[row][column]);
                    self.sums[0][row][column] = before.times(weights[4]);
                }
            }
            row += 1;
        }
        self.waiting = plane;
        ended
    }

    /// A row of the plane that has waited, with all but the plane after it.
    #[inline(always)]
    #[track_caller]
    unsafe fn end_star<const N: usize>(
        &self,
        row: usize,
        beside: &NeighbourRows<R, RADIUS, VECTOR>,
        weights: &[R; N],
    ) -> [R; VECTOR] {
        let own = self.waiting[row];
        let (above, below) = (self.row(beside, row), self.row(beside, row + 2));
        let mut sum = self.sums[0][row];
        // SAFETY: all lanes execute it.
        unsafe {
            let across = ThreadRow::<R, RADIUS, VECTOR>::new(own, beside.ends);
            for column in 0..VECTOR {
                let terms = [
                    (own[column], 13),
                    (above[column], 10),
                    (below[column], 16),
                    (across.at(column), 12),
                    (across.at(column + 2), 14),
                ];
                for (value, weight) in terms {
                    sum[column] = value.multiply_add(weights[weight], sum[column]);
                }
            }
        }
        sum
    }

    /// Adds row `from - RADIUS` to all outputs of which it is a neighbour.
    #[inline(always)]
    #[track_caller]
    unsafe fn add_box<const N: usize>(
        &mut self,
        beside: &NeighbourRows<R, RADIUS, VECTOR>,
        from: usize,
        newest: usize,
        weights: &[R; N],
        ended: &mut ThreadRows<R, ROWS, VECTOR>,
    ) {
        // SAFETY: all lanes execute it.
        unsafe {
            let line = ThreadRow::<R, RADIUS, VECTOR>::new(self.row(beside, from), beside.ends);
            unroll!(row < ROWS => {
                if from >= row && from <= row + RING {
                    unroll!(later < (RING + 1) => {
                        self.add_line(&line, row, from - row, later, newest, weights, ended)
                    });
                }
            });
        }
    }

    /// Adds a row that is `dy - RADIUS` rows below an output, which ends `later` planes after the first.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    unsafe fn add_line<const N: usize>(
        &mut self,
        line: &ThreadRow<R, RADIUS, VECTOR>,
        row: usize,
        dy: usize,
        later: usize,
        newest: usize,
        weights: &[R; N],
        ended: &mut ThreadRows<R, ROWS, VECTOR>,
    ) {
        let side = RING + 1;
        let place = (newest + later) % RING;
        for column in 0..VECTOR {
            // The first row to come finds the sum that the plane before left; one that begins finds none.
            let mut sum = match (later == 0, dy == 0) {
                (true, false) => ended[row][column],
                _ => self.sums[place][row][column],
            };
            let mut dx = 0;
            while dx < side {
                let weight = weights[((RING - later) * side + dy) * side + dx];
                // SAFETY: in a kernel.
                unsafe {
                    let value = line.at(column + dx);
                    sum = if later == RING && dy == 0 && dx == 0 {
                        value.times(weight)
                    } else {
                        value.multiply_add(weight, sum)
                    };
                }
                dx += 1;
            }
            if later == 0 {
                ended[row][column] = sum;
            } else {
                self.sums[place][row][column] = sum;
            }
        }
    }

    /// Adds what an output row has of the plane, of which `lines` are the rows.
    #[inline(always)]
    unsafe fn add_mirrored<const N: usize>(
        &mut self,
        lines: &[Line<R, VECTOR>; 17],
        row: usize,
        newest: usize,
        weights: &[R; N],
        ended: &mut ThreadRows<R, ROWS, VECTOR>,
    ) {
        const { assert!(RADIUS == 1, "two lines beside an output") };
        let side = RING + 1;
        let (middle, other) = ((newest + 1) % RING, newest % RING);
        let [above, own, below] = [&lines[row], &lines[row + 1], &lines[row + 2]];
        for column in 0..VECTOR {
            // SAFETY: in a kernel.
            unsafe {
                let center = above.center[column].plus(below.center[column]);
                let pairs = above.pairs[column].plus(below.pairs[column]);
                let terms = [own.center[column], own.pairs[column], center, pairs];
                let weight = |dz: usize, term: usize| {
                    weights[((1 + dz) * side + 1 + term / 2) * side + 1 + term % 2]
                };
                let (mut near, mut far) =
                    (self.sums[middle][row][column], terms[0].times(weight(1, 0)));
                near = terms[0].multiply_add(weight(0, 0), near);
                let mut term = 1;
                while term < 4 {
                    near = terms[term].multiply_add(weight(0, term), near);
                    far = terms[term].multiply_add(weight(1, term), far);
                    term += 1;
                }
                ended[row][column] = far.plus(self.sums[other][row][column]);
                self.sums[middle][row][column] = near;
                self.sums[other][row][column] = far;
            }
        }
    }
}

/// A row, and the sums of what is left and right of its columns.
#[derive(Clone, Copy)]
struct Line<R, const VECTOR: usize> {
    center: [R; VECTOR],
    pairs: [R; VECTOR],
}

impl<R: Real, const VECTOR: usize> Line<R, VECTOR> {
    const ZERO: Self = Self { center: [R::ZERO; VECTOR], pairs: [R::ZERO; VECTOR] };

    /// # Safety
    /// All 32 lanes execute it.
    #[inline(always)]
    #[track_caller]
    unsafe fn new<const RADIUS: usize>(center: [R; VECTOR], ends: Ends) -> Self {
        // SAFETY: as the caller promises.
        let pairs = unsafe { pair(&ThreadRow::<R, RADIUS, VECTOR>::new(center, ends), 1) };
        Self { center, pairs }
    }
}
