// SPDX-License-Identifier: MIT OR Apache-2.0
//! By how much a run can make the values of a system grow, foreseen before its first step.
//!
//! Equations that are sums with constant weights multiply each wave by an amplification matrix
//! ([`transform::amplification`]), whose radius is known. Where coefficients or coordinates vary the weights are
//! frozen as they are at some points. Equations that are not linear are only watched ([`problem::check::field_growth`]).

use rayon::prelude::*;
use transform::amplification::{self, OFF};
use transform::spectral::coupled::{Coupling, Levels};

use super::checked::System;
use super::expression::Node;
use super::fft::linear::{self, FrozenValues, LinearSum};
use problem::check::field_growth::TOLD;
use problem::check::wave_growth::{Overflow, WaveGrowth};
use problem::values::Element;
use problem::{Dtype, with_dtype};

mod initial_values;
#[cfg(test)]
mod tests;

pub(super) use initial_values::InitialValues;

/// Waves of more points are resolved: what makes them grow is taken for the equations' own.
const RESOLVED: f64 = 8.0;

/// The growth in all steps of equations whose weights are the same everywhere and always, of values around 1.
#[must_use]
pub(super) fn of_unit(system: &System) -> Option<WaveGrowth> {
    predict(system, &InitialValues::of_unit(system), 0, system.steps)
}

/// The growth in `steps` time steps after `done`; none where no wave grows, where the growth is too small to be
/// told, where the equations are not linear, or where all values are 0.
#[must_use]
pub(super) fn predict(
    system: &System,
    outset: &InitialValues,
    done: usize,
    steps: usize,
) -> Option<WaveGrowth> {
    // What totals will be is not known, nor how long steps.
    if system.waits_for_totals() || system.varies_steps() {
        return None;
    }
    let largest = outset.largest().max(sources(system, done, steps));
    if steps == 0 || largest == 0.0 {
        return None;
    }
    let all = sums(system, outset, done, steps).ok()?;
    let waves = all.par_iter().map(|(_, sums)| fastest(system, sums));
    let waves: Vec<_> = waves.collect();
    let best = (0..waves.len())
        .reduce(|best, next| if waves[next].growth > waves[best].growth { next } else { best })?;
    let wave = waves[best];
    if wave.growth.is_nan() || wave.growth <= 1.0 + 2.0 * OFF {
        return None;
    }
    let (rate, lengths) = (wave.growth.ln(), wave.lengths());
    let limit = limit(system.dtype);
    let before = ((limit.ln() - largest.ln()) / rate).max(0.0);
    let overflow = (before < steps as f64).then(|| Overflow {
        dtype: system.dtype.to_string(),
        limit,
        step: done + before as usize + 1,
    });
    let short = lengths.iter().flatten().any(|length| *length <= RESOLVED);
    let is_told = overflow.is_some() || short && rate * steps as f64 > TOLD.ln();
    let differs = waves.iter().any(|other| other.growth < wave.growth * (1.0 - OFF));
    let own = 3 - system.shape.dims();
    let at = differs.then(|| all[best].0.point[own..].to_vec());
    let digits = rate * steps as f64 / std::f64::consts::LN_10;
    let factor = wave.growth;
    is_told.then_some(WaveGrowth { factor, lengths, short, at, steps, digits, overflow })
}

/// The largest number of a type.
fn limit(dtype: Dtype) -> f64 {
    with_dtype!(dtype, T => T::MAX.to_f64())
}

/// The largest value that a source adds in some of so many steps.
fn sources(system: &System, done: usize, steps: usize) -> f64 {
    const MOST: usize = 1000;
    let every = steps.div_ceil(MOST).max(1);
    let added = system.sources.iter().flat_map(|source| {
        let steps = (done..done + steps).step_by(every);
        steps.map(|step| linear::in_step(system, &source.add, step as f64).abs())
    });
    added.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// The different equations that there are, with where weights were taken.
fn sums(
    system: &System,
    outset: &InitialValues,
    done: usize,
    steps: usize,
) -> Result<Vec<(FrozenValues, Vec<LinearSum>)>, String> {
    let mut changes = false;
    system.visit(|part| changes |= matches!(part, Node::Time | Node::Step));
    let last = done + steps - 1;
    let moments = if changes { vec![done, done.midpoint(last), last] } else { vec![last] };
    let mut all: Vec<(FrozenValues, Vec<LinearSum>)> = Vec::new();
    for place in outset.places() {
        for &moment in &moments {
            let frozen = FrozenValues { step: moment as f64, ..place.clone() };
            let sums = linear::frozen_sums(system, &frozen)?;
            if !all.iter().any(|(_, known)| *known == sums) {
                all.push((frozen, sums));
            }
        }
    }
    Ok(all)
}

fn fastest(system: &System, sums: &[LinearSum]) -> transform::symbol::Wave {
    let of_field = |(to, sum): (usize, &LinearSum)| {
        let taps = sum.taps.iter();
        let coupling = move |((field, level, offset), weight): (&linear::Read, &_)| {
            let from = (*field, *level);
            Coupling { to, from, offset: *offset, weight: *weight }
        };
        taps.map(coupling).collect::<Vec<_>>()
    };
    let couplings: Vec<Coupling> = sums.iter().enumerate().flat_map(of_field).collect();
    let levels: Vec<usize> = system.fields.iter().map(|field| field.levels).collect();
    amplification::fastest(&couplings, &Levels::new(&levels))
}
