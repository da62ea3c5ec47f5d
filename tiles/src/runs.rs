// SPDX-License-Identifier: MIT OR Apache-2.0
//! The neighbours of a point, and the order in which they count in its sum.

use transform::Tap;

/// Lengths of runs, the longest first.
const LENGTHS: [usize; 5] = [7, 5, 3, 2, 1];

/// Neighbours one above the other, at steps of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeighbourRun {
    /// Which of the planes they lie in, from the lowest that the stencil can reach.
    pub plane: usize,
    /// How many.
    pub len: usize,
    /// Where their weights begin.
    pub first: usize,
    /// Offset of the first one.
    dy: isize,
    dx: isize,
}

impl NeighbourRun {
    /// Distance to the first neighbour within its plane, whose rows are so far apart.
    #[inline(always)]
    pub fn distance(&self, pitch: usize) -> isize {
        self.dy * pitch as isize + self.dx
    }
}

/// All neighbours, in runs.
pub struct NeighbourRuns<W> {
    /// In the order in which they count.
    pub all: Vec<NeighbourRun>,
    /// Their weights.
    pub weights: Vec<W>,
}

impl<W> NeighbourRuns<W> {
    /// The neighbours by plane, column, and row, in runs as long as they can be.
    pub fn new(taps: &[Tap], reach: usize, weight: impl Fn(f64) -> W) -> Self {
        let mut taps = taps.to_vec();
        taps.sort_by_key(|tap| {
            let [z, y, x] = tap.offset;
            (z, x, y)
        });
        let (mut all, mut first) = (Vec::new(), 0);
        while first < taps.len() {
            let [z, y, x] = taps[first].offset;
            let is_next = |(steps, tap): (i32, &Tap)| tap.offset == [z, y + steps, x];
            let most = (0..).zip(&taps[first..]).take_while(|&next| is_next(next)).count();
            let len = LENGTHS.into_iter().find(|len| *len <= most).expect("one at least");
            let plane = reach.strict_add_signed(z as isize);
            all.push(NeighbourRun { plane, len, first, dy: y as isize, dx: x as isize });
            first += len;
        }
        Self { all, weights: taps.iter().map(|tap| weight(tap.weight)).collect() }
    }

    /// The weights of a run.
    pub fn weights_of(&self, run: &NeighbourRun) -> &[W] {
        &self.weights[run.first..][..run.len]
    }
}
