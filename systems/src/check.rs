// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step of an engine, compared with the same step in f64, from the engine's own values before it: whatever the
//! equations are, what rounding can make of one step is known (`interval.rs`).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::checked::System;
use super::common_subexpressions::CommonSubexpressions;
use super::digits::Digits;
use super::evaluate::{Evaluator, PlainF64, Values};
use super::expression::Array;
use super::interval::{Interval, Rounding};
use super::places::Places;
use super::session::StepSession;
use super::unrounded::UnroundedCoefficients;
use problem::check::verify::{Comparison, StepDigits};
use problem::{Dtype, Error, memory};

/// Grids up to so many points are compared at every point, larger ones at a sample of so many.
const POINTS: usize = 2048;
/// Points that are computed one after the other.
const TOGETHER: usize = 64;

/// Where a step is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedPoints {
    /// Everywhere on a small grid, else at a sample.
    Sample,
    /// At an eighth of a sample.
    Few,
    /// Everywhere.
    All,
}

/// What a value must be.
struct Expected {
    field: usize,
    index: usize,
    before: f64,
    exact: f64,
    /// As the engine may have it.
    within: Interval,
}

/// Takes one step, after so many, and compares it.
///
/// # Errors
/// The engine's errors; [`Error::Memory`] if there is no room for the exact values of all points. A difference is no
/// error: [`Comparison::holds`] tells.
pub fn step(
    system: &System,
    session: &mut dyn StepSession,
    done: usize,
    points: ComparedPoints,
) -> Result<Comparison, Error> {
    let indices = match points {
        ComparedPoints::Sample => sample(system, done as u64, drawn(system, POINTS)),
        ComparedPoints::Few => sample(system, done as u64, drawn(system, POINTS / 8)),
        ComparedPoints::All => all(system)?,
    };
    let dtype = session.holds().unwrap_or(system.dtype);
    let rounding = Rounding::of(dtype).with_sums(session.sums());
    let rounding = rounding.with_transforms(session.transforms());
    let before = Places::before(system, done, &indices);
    // The totals as the engine has them: the totals themselves are compared by other means.
    let reduced = match system.waits_for_totals() {
        true => session.reduced(system, done)?,
        false => Vec::new(),
    };
    let expected = {
        let values = session.values(before.as_ref())?;
        let given = UnroundedCoefficients { system, values: &*values };
        expect(system, (dtype, rounding), &given, (done, &reduced), &indices)?
    };
    session.advance_from_before()?;
    let off: Vec<f64> = (0..system.fields.len()).map(|field| session.off(field)).collect();
    let after = Places::at(system, &indices);
    let values = session.values(after.as_ref())?;
    let (points, mut undecided, mut used) = (expected.len(), 0, 0.0f64);
    let (mut max_abs_err, mut bound) = (0.0, 0.0);
    let (mut error2, mut exact2) = (0.0, 0.0);
    let mut digits = vec![Digits::default(); system.fields.len()];
    for Expected { field, index, before, exact, within } in expected {
        if !(within.low.is_finite() && within.high.is_finite()) {
            undecided += 1;
            continue;
        }
        let value = values.value(Array::Field { field, level: 0 }, index);
        let error = (value - exact).abs();
        (error2, exact2) = (error2 + error * error, exact2 + exact * exact);
        digits[field].add(before, exact, value);
        let rounding = if value < exact { exact - within.low } else { within.high - exact };
        let allowed = rounding + off[field];
        let takes = match error {
            0.0 => 0.0,
            error if error <= allowed => error / allowed,
            // Also what is not a number.
            _ => f64::INFINITY,
        };
        let worse = takes > used || takes == used && error > max_abs_err;
        if worse || used <= 1.0 && error > max_abs_err {
            (max_abs_err, bound) = (error, allowed);
        }
        used = used.max(takes);
    }
    let largest = digits.iter().map(|field| field.largest()).fold(0.0, f64::max);
    let lost = digits.iter().map(|field| field.lost(dtype, largest)).fold(0.0, f64::max);
    let stalled = digits.iter().map(|field| field.stalled()).fold(0.0, f64::max);
    Ok(Comparison {
        from_step: done,
        to_step: done + 1,
        points,
        undecided,
        max_abs_err,
        bound,
        rel_l2_err: if error2 == 0.0 { 0.0 } else { (error2 / exact2).sqrt() },
        largest,
        digits: Some(StepDigits { used, lost, stalled, steps: 1 }),
        of_grid: 0.0,
        whole: points == system.shape.points() * system.fields.len(),
        floor: 0.0,
    })
}

/// What evaluates with numbers of a kind.
type CheckEvaluator<'a, 'b, N> = Evaluator<'a, N, dyn Values + 'b>;

/// The values of the next step, computed in f64, and what rounding can make of them.
fn expect(
    system: &System,
    (dtype, rounding): (Dtype, Rounding),
    values: &(dyn Values + '_),
    (done, reduced): (usize, &[f64]),
    indices: &[usize],
) -> Result<Vec<Expected>, Error> {
    let [_, ny, nx] = system.shape.extents();
    let step = done as f64;
    let solvers = system.solvers()?;
    let plain_solved = system.solved(&PlainF64, values, (step, reduced), &solvers);
    let solved = system.solved(&rounding, values, (step, reduced), &solvers);
    let next = CommonSubexpressions::new(system.fields.iter().map(|field| &field.next));
    let of_point =
        |plain: &CheckEvaluator<PlainF64>, rounded: &CheckEvaluator<Rounding>, index: usize| {
            let place = [index / (ny * nx), index / nx % ny, index % nx].map(|at| at as isize);
            let expected = next.at(plain, place).into_iter().zip(next.at(rounded, place));
            let one = expected.enumerate().map(|(number, (exact, within))| {
                let exact = plain.with_sources(number, place, exact);
                let within = rounded.with_sources(number, place, within);
                // Rounding keeps the order. What f64 itself has lost of the exact value lies within, too.
                let within = Interval {
                    low: dtype.round(within.low).min(exact),
                    high: dtype.round(within.high).max(exact),
                };
                let before = values.value(Array::Field { field: number, level: 0 }, index);
                Expected { field: number, index, before, exact, within }
            });
            one.collect::<Vec<Expected>>()
        };
    // What stages compute for one point is there for those beside it.
    let of_some = |indices: &[usize]| {
        let plain = Evaluator::new(system, PlainF64, values, step).with_totals(reduced);
        let plain = plain.with_solved(&plain_solved);
        let rounded = Evaluator::new(system, rounding, values, step).with_totals(reduced);
        let rounded = rounded.with_solved(&solved);
        let all = indices.iter().flat_map(|index| of_point(&plain, &rounded, *index));
        all.collect::<Vec<Expected>>()
    };
    Ok(indices.par_chunks(TOGETHER).flat_map_iter(of_some).collect())
}

/// All points, if there is memory for what is known of them.
fn all(system: &System) -> Result<Vec<usize>, Error> {
    let points = system.shape.points();
    let each = size_of::<usize>() + system.fields.len() * size_of::<Expected>();
    memory::require("comparing every point", points as u128 * each as u128)?;
    Ok((0..points).collect())
}

/// Of so many points those of a sample of a large grid: what stages compute around each of them is computed for it alone, in
/// a box that grows with the number of stages.
fn drawn(system: &System, most: usize) -> usize {
    let after = system.stages.len().saturating_sub(1).max(1);
    if system.shape.points() <= most || system.has_solves() {
        return most;
    }
    (most / (after * after)).max(most / 16)
}

/// Which points are compared: all of a small grid; else corners, sources, receivers, some beside walls, and random ones.
fn sample(system: &System, seed: u64, most: usize) -> Vec<usize> {
    let points = system.shape.points();
    if points <= most {
        return (0..points).collect();
    }
    let [nz, ny, nx] = system.shape.extents();
    let index = |[z, y, x]: [usize; 3]| (z * ny + y) * nx + x;
    let mut indices = Vec::new();
    for corner in 0..8 {
        let end = |axis: usize, extent: usize| if corner >> axis & 1 == 1 { extent - 1 } else { 0 };
        indices.push(index([end(2, nz), end(1, ny), end(0, nx)]));
    }
    indices.extend(system.sources.iter().map(|source| index(source.at)));
    indices.extend(system.receivers.iter().map(|receiver| index(receiver.at)));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    indices.extend(system.beside_walls(most / 4, |points| random.random_range(0..points)));
    // Half of them near a side, where what lies around the grid counts.
    while indices.len() < most {
        let mut point = [nz, ny, nx].map(|extent| random.random_range(0..extent));
        if indices.len() % 2 == 0 {
            let axis = random.random_range(3 - system.shape.dims()..3);
            let extent = [nz, ny, nx][axis];
            let depth = random.random_range(0..extent.min(20));
            point[axis] = if random.random() { depth } else { extent - 1 - depth };
        }
        indices.push(index(point));
    }
    indices.sort_unstable();
    indices.dedup();
    indices
}
