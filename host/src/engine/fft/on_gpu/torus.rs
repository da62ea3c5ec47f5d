// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which torus a GPU transforms, how many steps at once, and in 1D how long its tiles are: lines have to fit shared
//! memory.

use kernels_gpu::spectral::complex::Part;
use kernels_gpu::spectral::line::pitch;
use transform::Stencil;
use transform::spectral::axis::{is_symmetric, reach};
use transform::spectral::smooth::is_smooth;
use transform::spectral::{Axis, Lengths};

use super::super::torus::ends_of;
use super::super::torus::{Rim, Slab, is_exact, rim};
use super::rim::none;
use super::{Abilities, part_bytes};
use crate::families::refusal::Refusal;
use crate::memory::Bytes;
use crate::{Depth, Dtype, Job};

/// The torus of a jump.
#[derive(Clone, Debug, PartialEq)]
pub struct Torus {
    /// Its axes (z, y, x); that of tiles has the points of the grid and the length of a tile.
    pub axes: [Axis; 3],
    /// Time steps of the jump.
    pub steps: usize,
    /// In 1D the points that a tile keeps, where one does not hold the grid.
    pub kept: Option<usize>,
    /// What is stepped besides.
    pub slabs: Vec<Slab>,
    dims: usize,
    dtype: Dtype,
}

/// Complex values that lines of a type can have in so many bytes of shared memory.
fn most_values(dtype: Dtype, shared_bytes: u32) -> usize {
    let values = shared_bytes as usize / (2 * part_bytes(dtype));
    values >> swizzle(dtype) << swizzle(dtype)
}

fn swizzle(dtype: Dtype) -> u32 {
    if dtype == Dtype::F64 { f64::SWIZZLE } else { f32::SWIZZLE }
}

impl Torus {
    /// For as many steps as a jump takes best, or as are asked for.
    ///
    /// # Errors
    /// [`Refusal::Boundary`] or [`Refusal::Grid`].
    pub fn of(job: &Job, abilities: &Abilities) -> Result<Self, Refusal> {
        let (exact, shared_bytes) = (is_exact(job), abilities.limits.shared_bytes);
        let point = seconds_of_transform(job, abilities);
        let step = if exact { 0.0 } else { seconds_of_point(job, abilities)? };
        let (steps, with) = (job.steps.max(1), |steps| Self::with(job, steps, shared_bytes));
        let found = match job.jump {
            Depth::Steps(asked) => with(asked.min(steps)),
            Depth::Auto => {
                let mut tried = vec![steps];
                let mut next = 1.0f64;
                while (next as usize) < steps.min(1 << 24) {
                    tried.push(next as usize);
                    next = (next * 1.1).max(next + 1.0);
                }
                let all = tried.into_iter().filter_map(with);
                let jumps = |torus: &Self| steps.div_ceil(torus.steps) as f64;
                all.min_by(|a, b| {
                    let cost = |torus: &Self| jumps(torus) * torus.seconds(point, step);
                    cost(a).total_cmp(&cost(b)).then(jumps(a).total_cmp(&jumps(b)))
                })
            }
        };
        found.ok_or_else(|| {
            let asked = match job.jump {
                Depth::Steps(asked) => asked.min(steps),
                Depth::Auto => 1,
            };
            let most = most_values(job.dtype, shared_bytes);
            let or = if exact { "" } else { ", or all of it would be rim" };
            Refusal::Grid(format!(
                "for {asked} steps at once, no torus of a grid of {} has a length of factors 2, 3, 5 and 7 along each \
                 axis for which a line fits {} of shared memory, {most} complex values{or}",
                job.shape,
                Bytes(shared_bytes.into())
            ))
        })
    }

    /// For jumps of so many steps; none where lines are too long.
    pub fn with(job: &Job, steps: usize, shared_bytes: u32) -> Option<Self> {
        let (dims, dtype, ends) = (job.shape.dims(), job.dtype, ends_of(job));
        let most = most_values(dtype, shared_bytes);
        let extents = job.shape.extents();
        // Of a row one wave more.
        let (multiple, longest) = (2, 2 * (most - 1));
        let axis = |axis: usize, lengths| {
            Axis::of(extents[axis], reach(&job.stencil, axis), ends[axis], steps, lengths)
        };
        let row = axis(2, Lengths::Smooth { multiple, most: longest });
        let column = |number: usize| axis(number, Lengths::Smooth { multiple: 1, most });
        let with = |row: Axis, kept: Option<usize>| {
            let axes = [column(0)?, column(1)?, row];
            let Rim::Slabs(slabs) = rim(job, &axes) else { return None };
            Some(Self { axes, steps, kept, slabs, dims, dtype })
        };
        if let Some(row) = row {
            return with(row, None);
        }
        let mut row = axis(2, Lengths::Any).filter(|_| dims == 1)?;
        let reached = row.far[0].checked_add(row.far[1])?;
        // Half of what fits, so that two tiles are under way, if that is long enough.
        let fits =
            |most: usize| (2..=most).rev().find(|&length| length % 2 == 0 && is_smooth(length));
        let length = [longest / 2, longest]
            .into_iter()
            .filter_map(fits)
            .find(|length| 2 * reached <= *length)?;
        row.length = length;
        with(row, Some(length - reached))
    }

    /// About how many seconds all steps of its job take.
    pub fn seconds_of_all(&self, job: &Job, abilities: &Abilities) -> Option<f64> {
        let point = seconds_of_transform(job, abilities);
        let step = if is_exact(job) { 0.0 } else { seconds_of_point(job, abilities).ok()? };
        Some(job.steps.div_ceil(self.steps) as f64 * self.seconds(point, step))
    }

    /// Its lengths (z, y, x).
    pub fn lengths(&self) -> [usize; 3] {
        self.axes.each_ref().map(|axis| axis.length)
    }

    /// Complex values of a row of the torus, two real ones each.
    pub fn half(&self) -> usize {
        self.axes[2].length / 2
    }

    /// Points that are transformed over those of the grid.
    pub fn copies(&self) -> f64 {
        match self.kept {
            Some(kept) => self.axes[2].length as f64 / kept as f64,
            None => self.axes.iter().map(|axis| axis.length as f64 / axis.points as f64).product(),
        }
    }

    /// About how many seconds a jump takes, of so many for a point of the torus, and for a step of a point of the rim.
    fn seconds(&self, point: f64, step: f64) -> f64 {
        /// Of a launch.
        const LAUNCH: f64 = 5e-6;
        let points: f64 = self.axes.iter().map(|axis| axis.points as f64).product();
        let steps = self.steps as f64;
        // Slabs become thinner in four parts.
        let mean =
            |slab: &Slab| 0.625 * slab.from.points() as f64 + 0.375 * slab.points.points() as f64;
        let slab = |slab: &Slab| mean(slab) * steps * step + (8.0 + steps / 4.0) * LAUNCH;
        5.0 * LAUNCH + self.copies() * points * point + self.slabs.iter().map(slab).sum::<f64>()
    }

    /// Complex values from one row of the spectra to the next: whole lines of 128 bytes.
    pub fn spectra_pitch(&self) -> usize {
        pitch(self.half() as u32 + 1, swizzle(self.dtype)) as usize
    }

    /// Rows of a plane of the spectra: of the torus where planes are transformed, too, else of the grid.
    pub fn spectra_rows(&self) -> usize {
        if self.dims == 3 { self.axes[1].length } else { self.axes[1].points }
    }

    /// Complex values of the spectra; none of tiles.
    pub fn spectra(&self) -> usize {
        if self.dims == 1 {
            0
        } else {
            self.axes[0].points * self.spectra_rows() * self.spectra_pitch()
        }
    }

    /// Numbers that waves are multiplied by.
    pub fn factors(&self, stencil: &Stencil) -> usize {
        let [z, y, _] = self.lengths();
        let parts = if is_symmetric(stencil) { 1 } else { 2 };
        z * y * (self.half() + 1) * parts
    }
}

/// Seconds of a point of the torus in a jump: so many bytes for each of a number as 10240² took on an H200, where a copy of
/// the grid takes two.
fn seconds_of_transform(job: &Job, abilities: &Abilities) -> f64 {
    let numbers = if job.dtype == Dtype::F64 { 21.0 } else { 27.0 };
    numbers * part_bytes(job.dtype) as f64 / abilities.copy_bytes_per_s
}

/// Seconds of a step of a point in f64, by what the planner takes for a job.
fn seconds_of_point(job: &Job, abilities: &Abilities) -> Result<f64, Refusal> {
    let [fuse, chain, jump] = [Depth::Auto; 3];
    let job = Job { dtype: Dtype::F64, fuse, chain, jump, kernel: None, ..job.clone() };
    let stepping = (abilities.step)(&job).ok_or_else(none)?;
    Ok(stepping.seconds_per_step / job.shape.points() as f64)
}
