// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many steps at once of a group of fields.

use std::sync::Mutex;

use compute::at_level;
use fearless_simd::Level;
use num_complex::Complex64;
use rayon::prelude::*;
use transform::spectral::coupled::{Coupled, Levels, Scratch, in_difference};
use transform::spectral::error;

use super::jump_error::{JumpError, JumpFacts, larger};
use super::linear::LinearSum;
use super::source;
use super::stepping::State;
use super::torus::Group;
use crate::checked::System;
use compute::engine::fft::transform::Transform;

/// A group of fields, ready for jumps.
pub struct JumpGroup {
    group: Group,
    levels: Levels,
    transform: Transform,
    /// The constant that is taken off each field of the group.
    lifts: Vec<f64>,
    /// What each step adds: fields of the group, and by how much at each point.
    sources: Vec<(usize, Vec<f64>)>,
    level: Level,
}

impl JumpGroup {
    /// Of a group of a system with these equations and steady sources.
    pub fn new(
        system: &System,
        sums: &[LinearSum],
        group: Group,
        points: &[(usize, [usize; 3], f64)],
    ) -> Self {
        let (lifts, sources) = source::of_group(system, sums, &group, points);
        let levels: Vec<usize> =
            group.fields.iter().map(|&field| system.fields[field].levels).collect();
        let transform = Transform::new(group.axes, system.shape.dims());
        let (levels, level) = (Levels::new(&levels), Level::new());
        Self { group, levels, transform, lifts, sources, level }
    }

    /// Its fields.
    pub fn fields(&self) -> &[usize] {
        &self.group.fields
    }

    /// Points of its torus (z, y, x).
    pub fn lengths(&self) -> [usize; 3] {
        self.group.lengths()
    }

    /// Takes the fields of the group so many steps further, in these spectra.
    pub fn make(
        &self,
        state: &mut State,
        steps: usize,
        spectra: &mut Vec<Vec<Complex64>>,
    ) -> JumpError {
        let Self { group, levels, transform, lifts, sources, .. } = self;
        let n = levels.variables();
        let size = transform.blocks().values();
        spectra.resize_with(n + sources.len(), Vec::new);
        spectra.iter_mut().for_each(|spectrum| spectrum.resize(size, Complex64::ZERO));

        let (mut norms, mut most) = (Vec::new(), 0.0f64);
        for (variable, (own, order)) in levels.all().enumerate() {
            let field = &state[group.fields[own]];
            let [_, _, nx] = group.axes.each_ref().map(|axis| axis.points);
            let read = |row: usize, values: &mut [f64]| {
                let first = if order == 0 { -lifts[own] } else { 0.0 };
                values.fill(first);
                for (level, times) in (0..=order).map(|of| (of, in_difference(order, of))) {
                    let from = &field[level][row * nx..][..nx];
                    values.iter_mut().zip(from).for_each(|(to, from)| *to += times * from);
                }
            };
            norms.push(norm(state[group.fields[own]][0].len(), nx, read));
            most = most.max(largest(&field[order]));
            transform.rows_there(&mut spectra[variable], &read);
        }
        let mut of_sources = Vec::new();
        for (source, (_, values)) in sources.iter().enumerate() {
            let nx = group.axes[2].points;
            let read = |row: usize, to: &mut [f64]| to.copy_from_slice(&values[row * nx..][..nx]);
            of_sources.push(norm(values.len(), nx, read));
            transform.rows_there(&mut spectra[n + source], &read);
        }

        let to: Vec<usize> = sources.iter().map(|(own, _)| *own).collect();
        let (couplings, lengths) = (&group.couplings, group.lengths());
        let odd = group.odd();
        let coupled = Coupled::new(levels.clone(), couplings, lengths, odd, &to, steps);
        let seen = Mutex::new(coupled.largest());
        let mut all: Vec<&mut [Complex64]> = spectra.iter_mut().map(Vec::as_mut_slice).collect();
        transform.on_waves(&mut all, n, &|scratch: &mut Scratch, axis, at, lines| {
            let largest =
                at_level!(self.level, _simd => coupled.multiply(axis, at, lines, scratch));
            seen.lock().expect("nobody panics here").merge(&largest);
        });
        let seen = seen.into_inner().expect("nobody panics here");

        for (variable, (own, level)) in levels.all().enumerate() {
            let first = if level == 0 { lifts[own] } else { 0.0 };
            let out = &mut state[group.fields[own]][level];
            transform.back(&mut spectra[variable], out, |_, from, to| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from + first);
            });
        }
        for &field in &group.fields {
            from_differences(&mut state[field]);
        }
        let after = group.fields.iter().flat_map(|&field| &state[field]);
        let after: Vec<f64> = after.map(|level| largest(level)).collect();
        let most = after.iter().copied().fold(most, larger);
        let known = JumpFacts {
            levels,
            norms: [&norms, &of_sources],
            transforms: error::of_jump(lengths, 0, 1.0, 1.0),
            copies: group.copies(),
            largest: most,
            most,
        };
        JumpError::of(&coupled, &seen, steps, &known).0
    }
}

/// Levels of differences, in place.
fn from_differences(field: &mut [Vec<f64>]) {
    match field {
        [now, before] => {
            before.par_iter_mut().zip(now).for_each(|(before, now)| *before = *now - *before);
        }
        [now, before, first] => {
            let all = now.par_iter().zip(before).zip(first);
            all.for_each(|((now, before), first)| {
                *first += *now - 2.0 * *before;
                *before = *now - *before;
            });
        }
        _ => (),
    }
}

/// The 2-norm of what rows of so many values are filled with.
fn norm(points: usize, nx: usize, read: impl Fn(usize, &mut [f64]) + Sync) -> f64 {
    let squares = |values: &mut Vec<f64>, row: usize| -> f64 {
        read(row, values);
        values.iter().map(|value| value * value).sum()
    };
    let rows = (0..points / nx).into_par_iter();
    rows.map_init(|| vec![0.0; nx], squares).sum::<f64>().sqrt()
}

fn largest(values: &[f64]) -> f64 {
    values.par_iter().map(|value| value.abs()).reduce(|| 0.0, larger)
}
