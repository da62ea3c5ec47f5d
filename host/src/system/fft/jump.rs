// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many steps at once of a group of fields.

use std::sync::Mutex;

use fearless_simd::{Level, dispatch};
use num_complex::Complex64;
use rayon::prelude::*;
use transform::spectral::coupled::{Coupled, Largest, Levels, Scratch, in_difference};
use transform::spectral::error;

use super::linear::Sum;
use super::source;
use super::torus::{Group, lift};
use crate::engine::fft::transform::Transform;
use crate::system::checked::System;

/// The fields of a system, in f64: of each its levels, the present one first.
pub type State = Vec<Vec<Vec<f64>>>;

/// A group of fields, ready for jumps.
pub struct Jumper {
    group: Group,
    levels: Levels,
    transform: Transform,
    /// The constant that is taken off each field of the group.
    lifts: Vec<f64>,
    /// What each step adds: fields of the group, and by how much at each point.
    sources: Vec<(usize, Vec<f64>)>,
    level: Level,
}

/// By how much a jump can be off.
#[derive(Clone, Debug, PartialEq)]
pub struct Off {
    /// At any point, of each level of each field of the group.
    pub values: Vec<Vec<f64>>,
    /// The largest value of the group before or after it.
    pub largest: f64,
    /// How many times a wave has grown, at most.
    pub growth: f64,
}

impl Jumper {
    /// Of a group of a system with these equations and steady sources.
    pub fn new(
        system: &System,
        sums: &[Sum],
        group: Group,
        points: &[(usize, [usize; 3], f64)],
    ) -> Self {
        let of_field = |field: &usize| lift(&system.fields[*field].boundary, &group.axes);
        let lifts: Vec<f64> = group.fields.iter().map(of_field).collect();
        let mut all = vec![0.0; sums.len()];
        group.fields.iter().zip(&lifts).for_each(|(field, lift)| all[*field] = *lift);
        let of_field = |(own, &field): (usize, &usize)| {
            Some((own, source::field(system, &sums[field], field, &all, points)?))
        };
        let sources = group.fields.iter().enumerate().filter_map(of_field).collect();
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

    /// Takes the fields of the group so many steps further, in these spectra.
    pub fn make(&self, state: &mut State, steps: usize, spectra: &mut Vec<Vec<Complex64>>) -> Off {
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
            transform.rows_there(&mut spectra[variable], read);
        }
        let mut of_sources = Vec::new();
        for (source, (_, values)) in sources.iter().enumerate() {
            let nx = group.axes[2].points;
            let read = |row: usize, to: &mut [f64]| to.copy_from_slice(&values[row * nx..][..nx]);
            of_sources.push(norm(values.len(), nx, read));
            transform.rows_there(&mut spectra[n + source], read);
        }

        let to: Vec<usize> = sources.iter().map(|(own, _)| *own).collect();
        let (couplings, lengths) = (&group.couplings, group.lengths());
        let odd = group.odd();
        let coupled = Coupled::new(levels.clone(), couplings, lengths, odd, &to, steps);
        let seen = Mutex::new(coupled.largest());
        let mut all: Vec<&mut [Complex64]> = spectra.iter_mut().map(Vec::as_mut_slice).collect();
        transform.on_waves(&mut all, n, |scratch: &mut Scratch, axis, at, lines| {
            let largest =
                dispatch!(self.level, _simd => coupled.multiply(axis, at, lines, scratch));
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
        self.off(&coupled, &seen, steps, [&norms, &of_sources], most)
    }

    /// By how much transforms, with rounding in f64, can be off at any point: the norms of what is transformed, times what is
    /// made of it (`transform::spectral::error`).
    fn off(
        &self,
        coupled: &Coupled,
        seen: &Largest,
        steps: usize,
        [norms, sources]: [&[f64]; 2],
        most: f64,
    ) -> Off {
        /// Of a product of double-double matrices, for each of their products.
        const SQUARING: f64 = 1e-30;
        let n = self.levels.variables();
        let transforms = error::of_jump(self.group.lengths(), 0, 1.0, 1.0);
        // Sums over n differences and their sources, and levels of differences.
        let relative = transforms + 8.0 * (n + sources.len()) as f64 * f64::EPSILON;
        let copies = self.group.copies().sqrt();
        let growth = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        let growth = growth.map(|(to, from)| coupled.of_power(seen, to, from)).fold(0.0, larger);
        let powers = SQUARING * steps as f64 * n as f64 * (1.0 + growth).powi(2);
        let of_difference = |to: usize| {
            let states = norms.iter().enumerate().map(|(from, norm)| {
                // What is nothing stays so, however much it would grow.
                if *norm == 0.0 { 0.0 } else { norm * (coupled.of_power(seen, to, from) + powers) }
            });
            let steady = sources.iter().enumerate().map(|(from, norm)| {
                norm * (coupled.of_sum(seen, to, from) + steps as f64 * powers)
            });
            copies * relative * (states.sum::<f64>() + steady.sum::<f64>())
        };
        let of: Vec<f64> = (0..n).map(of_difference).collect();
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); self.group.fields.len()];
        for (own, level) in self.levels.all() {
            let parts = (0..=level)
                .map(|order| in_difference(level, order).abs() * of[self.levels.place(own, order)]);
            values[own].push(parts.sum::<f64>() + 8.0 * f64::EPSILON * most);
        }
        Off { values, largest: most, growth }
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

/// The larger one; infinity for what is no number.
fn larger(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}
