// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums over large boxes by Fourier transforms in f64 of blocks of the array, where those are faster.
//!
//! A transform mixes all values of a block, and so do its rounding errors. Sums term by term are off by no more than a rounding of each
//! term: so a sum whose error may be more than that is computed term by term. Those are the sums of a block that has a value which is not
//! finite, and sums that are small beside the block's values.

mod cost;
#[cfg(test)]
mod tests;
mod transform_buffers;

use std::sync::{Mutex, PoisonError};

use num_complex::Complex64;

pub use self::cost::Blocks;
use self::cost::{BoxSum, Speeds};
use self::transform_buffers::{TransformBuffers, TransformPlans};
use super::Term;
use super::number::Float;
use super::stage::CentredStage;
use super::sums::NeighbourSums;
use super::weights::rounded;
use crate::window::Window;

/// The rounding error of a transformed sum, in units of the last place of the block's mean square times that of the weights, for each factor of 2 of the block's extents.
/// Errors of transforms are like noise (Schatzman, 1996): this is ten times what they come to.
const ERROR: f64 = 4.0 * UNIT;
/// What f64 rounds by.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Values and weights whose squares are in the range of f64.
const RANGE: std::ops::RangeInclusive<f64> = 1e-120..=1e120;
/// The part of a block's sums that are computed again one by one; if there are more all are.
const FEW: usize = 16;

/// Sums of a stage.
pub struct Transformed<C: Float> {
    plan: TransformPlans,
    kernel: Vec<Complex64>,
    reach: [usize; 3],
    /// Term by term.
    window: Window<C>,
    runs: Vec<Run>,
    /// The root of the sum of the weights' squares, and the sum of their magnitudes.
    root: f64,
    magnitudes: f64,
    /// What sums term by term may be off by, as a part of the sum of their terms' magnitudes.
    allowed: f64,
    spare: Mutex<Vec<TransformBuffers>>,
}

/// Weights in a row.
struct Run {
    /// Offset of the first, from the first value that the sum reaches.
    at: [usize; 3],
    weights: Vec<f64>,
}

/// The blocks by whose transforms a stage is faster, of so many arrays of these extents; none if none are.
pub fn blocks<C: Float>(
    stage: &CentredStage,
    extents: [usize; 3],
    arrays: usize,
) -> Option<Blocks> {
    blocks_at::<C>(cost::speeds(), stage, extents, arrays)
}

/// The blocks by whose transforms a stage is faster at these speeds.
fn blocks_at<C: Float>(
    speeds: &Speeds,
    stage: &CentredStage,
    extents: [usize; 3],
    arrays: usize,
) -> Option<Blocks> {
    let is_usual = |term: &Term| term.weight == 0.0 || RANGE.contains(&term.weight.abs());
    if !stage.terms.iter().all(is_usual) {
        return None;
    }
    let terms = stage.terms.iter().filter(|term| term.weight != 0.0).count();
    let (reach, bytes, threads) = (stage.reach, size_of::<C>(), rayon::current_num_threads());
    BoxSum { extents, arrays, reach, terms, bytes, threads }.blocks(speeds)
}

impl<C: Float> Transformed<C> {
    /// By transforms of such blocks.
    pub fn new(stage: &CentredStage, blocks: Blocks) -> Self {
        let reach = stage.reach;
        let plan = TransformPlans::new(blocks.transformed);
        let runs = runs(&stage.terms, reach);
        let planes = 2 * reach[0] + 1;
        let rows = 2 * reach[1] + 1;
        let kernel = plan.kernel([planes, rows], |[z, y], line| {
            line.fill(0.0);
            for run in runs.iter().filter(|run| run.at[..2] == [z, y]) {
                line[run.at[2]..][..run.weights.len()].copy_from_slice(&run.weights);
            }
        });
        let weights = stage.terms.iter().map(|term| term.weight);
        let count = weights.clone().filter(|it| *it != 0.0).count();
        Self {
            plan,
            kernel,
            reach,
            window: Window::new(&rounded::<C>(&stage.terms), reach[0]),
            runs,
            root: weights.clone().map(|it| it * it).sum::<f64>().sqrt(),
            magnitudes: weights.map(f64::abs).sum(),
            // f32 rounds a sum once.
            allowed: if C::UNIT > UNIT { C::UNIT } else { UNIT * count as f64 },
            spare: Mutex::default(),
        }
    }

    /// The sums of a block, of as many planes and rows as are given; false if they have to be computed term by term.
    fn transform(
        &self,
        block: &Block<C>,
        height: usize,
        to: &mut [&mut [C]],
        room: &mut TransformBuffers,
    ) -> bool {
        let [rz, ry, rx] = self.reach;
        let (planes, width) = (to.len() / height, to[0].len());
        let rows = [planes + 2 * rz, height + 2 * ry];
        let size = Size::of(block, rows, width + 2 * rx);
        if size.most == 0.0 {
            to.iter_mut().for_each(|row| row.fill(C::zeroed()));
            return true;
        }
        if !RANGE.contains(&size.most) {
            return false;
        }
        let points: usize = self.plan.extents.iter().product();
        let mean_square = (size.squares / points as f64).sqrt();
        let off = ERROR * (points as f64).log2() * mean_square * self.root;
        // Smaller sums than this may be off by more than sums term by term are.
        let small = if off <= self.allowed * size.least * self.magnitudes {
            -1.0
        } else {
            off / self.allowed
        };
        let mut again = Vec::new();
        let load = |[z, y]: [usize; 2], line: &mut [f64]| {
            let row = block.row(z, y, width + 2 * rx);
            line[row.len()..].fill(0.0);
            line.iter_mut().zip(row).for_each(|(to, from)| *to = from.widen());
        };
        let store = |[z, y]: [usize; 2], line: &[f64]| {
            let row = &mut *to[z * height + y];
            let line = &line[..row.len()];
            row.iter_mut().zip(line).for_each(|(to, sum)| *to = C::cut(*sum));
            if small >= 0.0 && line.iter().fold(false, |any, sum| any | (sum.abs() <= small)) {
                let of_row = line.iter().enumerate().filter(|(_, sum)| sum.abs() <= small);
                again.extend(of_row.map(|(x, _)| [z, y, x]));
            }
        };
        self.plan.convolve(&self.kernel, rows, load, [planes, height], store, room);
        if again.is_empty() {
            return true;
        }
        let zeros = Zeros::of(block, rows, width + 2 * rx);
        let extents = self.reach.map(|it| 2 * it + 1);
        again.retain(|place| {
            let is_zero = zeros.are_all(*place, extents);
            if is_zero {
                to[place[0] * height + place[1]][place[2]] = C::zeroed();
            }
            !is_zero
        });
        if again.len() > planes * height * width / FEW {
            return false;
        }
        for place in again {
            to[place[0] * height + place[1]][place[2]] = C::cut(self.sum(block, place));
        }
        true
    }

    /// A sum term by term, in f64.
    fn sum(&self, block: &Block<C>, [z, y, x]: [usize; 3]) -> f64 {
        let of_run = |run: &Run| {
            let row = block.row(z + run.at[0], y + run.at[1], x + run.at[2] + run.weights.len());
            dot(&run.weights, &row[x + run.at[2]..])
        };
        self.runs.iter().map(of_run).sum()
    }
}

/// Several sums side by side, so that none waits for the one before.
fn dot<C: Float>(weights: &[f64], values: &[C]) -> f64 {
    let ((weights, left), (values, rest)) = (weights.as_chunks::<8>(), values.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (weights, values) in weights.iter().zip(values) {
        for ((sum, weight), value) in sums.iter_mut().zip(weights).zip(values) {
            *sum += weight * value.widen();
        }
    }
    let ends: f64 = left.iter().zip(rest).map(|(weight, value)| weight * value.widen()).sum();
    sums.iter().sum::<f64>() + ends
}

/// The weights row by row, from the first to the last of each.
fn runs(terms: &[Term], reach: [usize; 3]) -> Vec<Run> {
    let place = |term: &Term| -> [usize; 3] {
        std::array::from_fn(|axis| reach[axis].strict_add_signed(term.offset[axis] as isize))
    };
    let mut terms: Vec<_> = terms.iter().map(|term| (place(term), term.weight)).collect();
    terms.sort_by_key(|(at, _)| *at);
    let mut runs: Vec<Run> = Vec::new();
    for (at, weight) in terms {
        match runs.last_mut().filter(|run| run.at[..2] == at[..2]) {
            Some(run) => {
                run.weights.resize(at[2] - run.at[2], 0.0);
                run.weights.push(weight);
            }
            None => runs.push(Run { at, weights: vec![weight] }),
        }
    }
    runs
}

impl<C: Float> NeighbourSums<C> for Transformed<C> {
    fn rows(
        &self,
        planes: &[&[C]],
        pitch: usize,
        origin: usize,
        ahead: usize,
        to: &mut [&mut [C]],
    ) {
        self.window.rows(planes, pitch, origin, ahead, to);
    }

    fn planes(
        &self,
        planes: &[&[C]],
        pitch: usize,
        origin: usize,
        ahead: usize,
        height: usize,
        to: &mut [&mut [C]],
    ) {
        let [rz, ry, _] = self.reach;
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = spare().pop().unwrap_or_else(|| self.plan.room());
        // Along an axis that the sum does not reach along each plane or row is by itself.
        let depth = if rz == 0 { 1 } else { to.len() / height };
        let rows = if ry == 0 { 1 } else { height };
        for (z, to) in to.chunks_mut(depth * height).enumerate() {
            let planes = &planes[z * depth..][..depth + 2 * rz];
            for y in (0..height).step_by(rows) {
                let from = Block { planes, pitch, start: y * pitch };
                let mut to: Vec<&mut [C]> = (to.chunks_mut(height))
                    .flat_map(|plane| plane[y..y + rows].iter_mut().map(|row| &mut **row))
                    .collect();
                if self.transform(&from, rows, &mut to, &mut room) {
                    continue;
                }
                let origin = origin + y * pitch;
                for (z, to) in to.chunks_mut(rows).enumerate() {
                    self.window.rows(&planes[z..=z + 2 * rz], pitch, origin, ahead, to);
                }
            }
        }
        spare().push(room);
    }

    fn is_of_blocks(&self) -> bool {
        true
    }
}

/// Values that sums read.
struct Block<'a, C> {
    planes: &'a [&'a [C]],
    pitch: usize,
    /// Where the first row begins.
    start: usize,
}

impl<'a, C> Block<'a, C> {
    fn row(&self, z: usize, y: usize, width: usize) -> &'a [C] {
        &self.planes[z][self.start + y * self.pitch..][..width]
    }
}

/// How large the values of a block are.
struct Size {
    most: f64,
    least: f64,
    squares: f64,
}

impl Size {
    /// The largest is infinite if one is no number.
    fn of<C: Float>(block: &Block<C>, rows: [usize; 2], width: usize) -> Self {
        let mut size = Self { most: 0.0, least: f64::INFINITY, squares: 0.0 };
        for z in 0..rows[0] {
            for y in 0..rows[1] {
                let (mut most, mut least) = ([0.0f64; 8], [f64::INFINITY; 8]);
                let mut squares = [0.0; 8];
                for values in block.row(z, y, width).chunks(8) {
                    for (at, value) in values.iter().enumerate() {
                        let value = value.widen().abs();
                        most[at] = most[at].max(value);
                        least[at] = least[at].min(value);
                        squares[at] += value * value;
                    }
                }
                size.most = most.into_iter().fold(size.most, f64::max);
                size.least = least.into_iter().fold(size.least, f64::min);
                size.squares += squares.iter().sum::<f64>();
            }
        }
        // Neither `min` nor `max` keeps what is no number.
        if !size.squares.is_finite() {
            size.most = f64::INFINITY;
        }
        size
    }
}

/// Where a block has only zeros: numbers of other values before each place.
struct Zeros {
    counts: Vec<u32>,
    extents: [usize; 3],
}

impl Zeros {
    fn of<C: Float>(block: &Block<C>, rows: [usize; 2], width: usize) -> Self {
        let extents = [rows[0] + 1, rows[1] + 1, width + 1];
        let mut zeros = Self { counts: vec![0; extents.iter().product()], extents };
        for z in 0..rows[0] {
            for y in 0..rows[1] {
                let mut of_row = 0;
                for (x, value) in block.row(z, y, width).iter().enumerate() {
                    of_row += u32::from(*value != C::zeroed());
                    let others = zeros.before([z, y + 1, x + 1]) + zeros.before([z + 1, y, x + 1])
                        - zeros.before([z, y, x + 1]);
                    let at = zeros.index([z + 1, y + 1, x + 1]);
                    zeros.counts[at] = others + of_row;
                }
            }
        }
        zeros
    }

    fn index(&self, [z, y, x]: [usize; 3]) -> usize {
        (z * self.extents[1] + y) * self.extents[2] + x
    }

    fn before(&self, place: [usize; 3]) -> u32 {
        self.counts[self.index(place)]
    }

    /// Whether all values of a box are 0.
    fn are_all(&self, low: [usize; 3], extents: [usize; 3]) -> bool {
        let corner = |number: usize| {
            let is_high = |axis: usize| number >> axis & 1;
            let place = std::array::from_fn(|axis| low[axis] + is_high(axis) * extents[axis]);
            let count = i64::from(self.before(place));
            if number.count_ones() % 2 == 1 { count } else { -count }
        };
        (0..8).map(corner).sum::<i64>() == 0
    }
}
