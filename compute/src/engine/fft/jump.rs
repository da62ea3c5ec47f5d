// SPDX-License-Identifier: MIT OR Apache-2.0
//! A jump of so many steps, with all that stays the same from one to the next.

use num_complex::Complex64;
use rayon::prelude::*;
use transform::spectral::{Axis, Powers, error};
use transform::symbol;

use super::rim;
use super::source::{ConstantSource, Field, Lift};
use super::torus::{self, Rim};
use super::transform::{Transform, WaveFactor};
use super::value_bounds::{ValueBounds, extremes};
use problem::boundary::Side;
use problem::values::Element;
use problem::{Error, Job};

/// Many steps at once of a job.
pub struct Jump {
    job: Job,
    steps: usize,
    rim: Rim,
    /// None where all of the grid is stepped.
    torus: Option<Torus>,
}

/// The torus of a jump.
struct Torus {
    transform: Transform,
    powers: Powers,
    lift: Lift,
    /// What the source adds in all steps.
    added: Option<Vec<f64>>,
    /// The points of the torus over those of the grid.
    copies: f64,
    /// The largest factor by which a step grows a wave, or more.
    growth: f64,
    /// What the source's own transform can be off by.
    source_error: f64,
}

/// Numbers of grids that a jump needs memory for: see [`super::bytes`].
pub fn has_source(job: &Job) -> bool {
    ConstantSource::may_be_needed(&job.boundary)
}

/// By how much a step grows a wave, at most; `Σ|weight|` where no smaller bound is known.
pub fn growth(job: &Job) -> f64 {
    let gain = job.stencil.gain();
    // Mirror images of an asymmetric stencil are none of a wave, nor are points that are repeated.
    let follows =
        |side: &Side| !matches!(side, Side::Zero | Side::Constant(_) | Side::Periodic | Side::Open);
    let follows = job.boundary.sides.iter().flatten().any(follows);
    if gain <= 1.0 || (follows && !torus::is_exact(job)) {
        return gain;
    }
    gain.min(symbol::fastest(&job.stencil).growth * (1.0 + 1e-9))
}

/// What is done about constants around a grid in a jump on a torus of these axes: the field that is taken off, what is
/// added, if anything, and by how much that can be off. `spectra` is what it transforms in.
pub fn constants(
    job: &Job,
    axes: [Axis; 3],
    steps: usize,
    growth: f64,
    spectra: &mut Vec<Complex64>,
) -> (Lift, Option<Vec<f64>>, f64) {
    let Torus { lift, added, source_error, .. } = Torus::new(job, axes, steps, growth, spectra);
    (lift, added, source_error)
}

impl Jump {
    /// Of so many steps; `spectra` is what it transforms in, and made large enough.
    pub fn new(job: &Job, steps: usize, growth: f64, spectra: &mut Vec<Complex64>) -> Self {
        let axes = torus::axes(job, steps);
        let rim = torus::rim(job, &axes, torus::left_out(job, steps, f64::EPSILON / 2.0));
        let torus = (rim != Rim::Whole).then(|| Torus::new(job, axes, steps, growth, spectra));
        Self { job: job.clone(), steps, rim, torus }
    }

    /// Its steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Takes a grid over its steps. Returns by how much the transforms can be off at any point.
    pub fn make<T: Element>(
        &self,
        grid: &mut [T],
        spectra: &mut [Complex64],
    ) -> Result<f64, Error> {
        let Self { job, steps, rim, torus } = self;
        let slabs = match (rim, torus) {
            (Rim::Slabs(slabs), Some(_)) => slabs,
            _ => {
                let values = rim::whole(job, grid, *steps)?;
                grid.par_iter_mut().zip(values).for_each(|(to, from)| *to = T::from_f64(from));
                return Ok(0.0);
            }
        };
        let torus = torus.as_ref().expect("matched above");
        let within = ValueBounds::after(job, *steps, extremes(grid));
        let stepped: Result<Vec<Vec<f64>>, Error> =
            slabs.iter().map(|slab| rim::slab(job, grid, slab, *steps)).collect();
        let stepped = stepped?;
        let norm = torus.make(job, *steps, within, grid, spectra);
        for (slab, values) in slabs.iter().zip(stepped) {
            let columns = slab.points.extents()[2];
            for (row, values) in values.chunks(columns).enumerate() {
                let to = &mut grid[slab.points.row_in(row, job.shape)..][..columns];
                to.iter_mut()
                    .zip(values)
                    .for_each(|(to, from)| *to = T::from_f64(within.keep(*from)));
            }
        }
        Ok(norm)
    }
}

impl Torus {
    fn new(
        job: &Job,
        axes: [Axis; 3],
        steps: usize,
        growth: f64,
        spectra: &mut Vec<Complex64>,
    ) -> Self {
        let source = ConstantSource::new(job, &axes);
        let lengths = axes.each_ref().map(|axis| axis.length);
        let copies = axes.iter().map(|axis| axis.length as f64 / axis.points as f64).product();
        let transform = Transform::new(axes, job.shape.dims());
        let powers = Powers::new(&job.stencil, lengths, steps);
        spectra.resize(transform.blocks().values(), Complex64::ZERO);
        let lift = source.lift;
        let (added, norm) = match source.field {
            None => (None, 0.0),
            Some(field) => {
                let (added, norm) = sum_of(job, &transform, &powers, lift, &field, spectra);
                (Some(added), norm)
            }
        };
        let gain = job.stencil.gain();
        let relative = error::of_sum(lengths, steps, gain, growth);
        let source_error = if norm == 0.0 { 0.0 } else { f64::sqrt(copies) * norm * relative };
        Self { transform, powers, lift, added, copies, growth, source_error }
    }

    /// Takes the grid over the steps, but for its rim, to values within these bounds, and returns the bound of the error:
    /// right values lie within the bounds, so what is moved there comes nearer to them.
    fn make<T: Element>(
        &self,
        job: &Job,
        steps: usize,
        within: ValueBounds,
        grid: &mut [T],
        spectra: &mut [Complex64],
    ) -> f64 {
        let Self { transform, powers, lift, added, .. } = self;
        let [_, ny, nx] = job.shape.extents();
        let before = &*grid;
        let squares: f64 = before.par_chunks(nx).map(|row| square_of(row)).sum();
        let lifted = lift.is_zero();
        let of_row = |row: usize| lift.of_row(row / ny, row % ny);
        let read = |row: usize, values: &mut [f64]| {
            let from = &before[row * nx..][..nx];
            values.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f64());
            if !lifted {
                let (first, slope) = of_row(row);
                let taken = values.iter_mut().enumerate();
                taken.for_each(|(x, value)| *value -= first + slope * x as f64);
            }
        };
        let write = |row: usize, values: &[f64], to: &mut [T]| {
            if lifted && added.is_none() {
                to.iter_mut()
                    .zip(values)
                    .for_each(|(to, value)| *to = T::from_f64(within.keep(*value)));
                return;
            }
            let (first, slope) = of_row(row);
            for (x, (to, value)) in to.iter_mut().zip(values).enumerate() {
                let more = added.as_ref().map_or(0.0, |added| added[row * nx + x]);
                *to = T::from_f64(within.keep(value + (first + slope * x as f64) + more));
            }
        };
        transform.there(spectra, powers, WaveFactor::Power, &read);
        transform.back(spectra, grid, write);
        let gain = job.stencil.gain();
        let relative = error::of_jump(transform.lengths(), steps, gain, self.growth);
        let points = grid.len() as f64;
        let norm = squares.sqrt() + job.boundary.largest() * points.sqrt();
        // Of what is taken off and added again at each point, too.
        let lifts = 8.0 * f64::EPSILON * job.boundary.largest();
        // A grid of zeros stays one, however much its waves would grow.
        let transforms = if norm == 0.0 { 0.0 } else { self.copies.sqrt() * norm * relative };
        transforms + self.source_error + lifts
    }
}

/// What a source adds in so many steps, and its 2-norm.
fn sum_of(
    job: &Job,
    transform: &Transform,
    powers: &Powers,
    lift: Lift,
    field: &Field,
    spectra: &mut [Complex64],
) -> (Vec<f64>, f64) {
    let [_, ny, nx] = job.shape.extents();
    let read = |row: usize, values: &mut [f64]| match field {
        Field::Values(all) => values.copy_from_slice(&all[row * nx..][..nx]),
        Field::OfLift(times) => {
            let (first, slope) = lift.of_row(row / ny, row % ny);
            let values = values.iter_mut().enumerate();
            values.for_each(|(x, value)| *value = times * (first + slope * x as f64));
        }
    };
    let rows = job.shape.points() / nx;
    let squares = |row: usize| {
        let mut values = vec![0.0; nx];
        read(row, &mut values);
        square_of(&values)
    };
    let norm = (0..rows).into_par_iter().map(squares).sum::<f64>().sqrt();
    let mut added = vec![0.0; job.shape.points()];
    transform.there(spectra, powers, WaveFactor::Sum, &read);
    transform.back(spectra, &mut added, |_, from, to| to.copy_from_slice(from));
    (added, norm)
}

fn square_of<T: Element>(values: &[T]) -> f64 {
    values.iter().map(|value| value.to_f64() * value.to_f64()).sum()
}
