// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which torus a GPU transforms, how many steps at once, and in 1D how long its tiles are: lines have to fit shared
//! memory.

use kernels_gpu::spectral::line::stages;
use transform::Stencil;
use transform::spectral::axis::{TorusSource, is_symmetric};
use transform::spectral::smooth::is_smooth;
use transform::spectral::{Axis, Lengths, TruncationLimit, WaveDecay, spread};

use super::super::torus::ends_of;
use super::super::torus::{Rim, Slab, is_exact, left_out, rim};
use super::rim::none;
use super::spectra::{LONGEST_COLUMN, Spectra, most_values};
use super::{Abilities, part_bytes, unit};
use crate::families::refusal::Refusal;
use problem::memory::Bytes;
use problem::{Depth, Dtype, Job};

/// The torus of a jump.
#[derive(Clone, Debug, PartialEq)]
pub struct Torus {
    /// Its axes, and where its spectra lie.
    pub spectra: Spectra,
    /// Time steps of the jump.
    pub steps: usize,
    /// In 1D the points that a tile keeps, where one does not hold the grid.
    pub kept: Option<usize>,
    /// What is stepped besides.
    pub slabs: Vec<Slab>,
    /// What may be left out of it.
    pub left_out: TruncationLimit,
}

impl Torus {
    /// For as many steps as a jump takes best, or as are asked for.
    ///
    /// # Errors
    /// [`Refusal::Boundary`] or [`Refusal::Grid`].
    pub fn of(job: &Job, abilities: &Abilities) -> Result<Self, Refusal> {
        let (exact, shared_bytes) = (is_exact(job), abilities.limits.shared_bytes);
        let point = SecondsOfTransform::of(job, abilities);
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
                    let cost = |torus: &Self| jumps(torus) * torus.seconds(&point, step);
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
                "{asked} steps at once are not possible on a grid of {}: a transformed line must be a product of 2, 3, 5 and 7 and fit {} of shared memory, {most} complex values{or}",
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
        let left_out = left_out(job, steps, unit(dtype));
        let axis = |axis: usize, lengths| {
            let far = spread(&job.stencil, axis, steps, left_out);
            Axis::of(extents[axis], far, ends[axis], lengths)
        };
        let row = axis(2, Lengths::Smooth { multiple, most: longest });
        let column =
            |number: usize| axis(number, Lengths::Smooth { multiple: 1, most: LONGEST_COLUMN });
        let with = |row: Axis, kept: Option<usize>| {
            let axes = [column(0)?, column(1)?, row];
            let Rim::Slabs(slabs) = rim(job, &axes, left_out) else { return None };
            let spectra = Spectra::new(axes, dims, dtype, shared_bytes);
            Some(Self { spectra, steps, kept, slabs, left_out })
        };
        if let Some(row) = row {
            return with(row, None);
        }
        let mut row = axis(2, Lengths::Any).filter(|_| dims == 1)?;
        let reached = row.far[0].checked_add(row.far[1])?;
        let fits = |length: &usize| {
            length.is_multiple_of(2) && is_smooth(*length) && (2 * reached).max(4) <= *length
        };
        // Most points for the times that a tile passes shared memory: by its stages, and by its pairs.
        let worth = |length: usize| {
            let passes = 1 + stages(length / 2).map_or(usize::MAX - 1, |stages| stages.len());
            (length - reached) as f64 / passes as f64
        };
        let best = |most: usize| {
            let all = (most / 2..=most).filter(fits);
            all.max_by(|&a, &b| worth(a).total_cmp(&worth(b)))
        };
        // Half of what fits, so that two tiles are under way, if that is long enough.
        let length = [longest / 2, longest].into_iter().find_map(best)?;
        row.length = length;
        // Of whole pairs, in whole pairs.
        let kept = length - row.far[0].next_multiple_of(2) - row.far[1];
        with(row, Some(kept & !1))
    }

    /// Points of a tile before those that it keeps: whole pairs.
    pub fn skipped(&self) -> usize {
        self.spectra.axes[2].far[0].next_multiple_of(2)
    }

    /// Where the points of tiles beside the grid have their values from: of a tile's length after its last point, and of those
    /// that are skipped before its first.
    pub fn beside(&self) -> Vec<TorusSource> {
        let axis = &self.spectra.axes[2];
        let mut after = axis.beyond();
        let before = after.split_off(axis.far[1]);
        let nothing = TorusSource { point: 0, sign: 0.0 };
        after.resize(axis.length, nothing);
        after.resize(axis.length + self.skipped() - before.len(), nothing);
        after.extend(before);
        after
    }

    /// About how many seconds all steps of its job take.
    pub fn seconds_of_all(&self, job: &Job, abilities: &Abilities) -> Option<f64> {
        let point = SecondsOfTransform::of(job, abilities);
        let step = if is_exact(job) { 0.0 } else { seconds_of_point(job, abilities).ok()? };
        Some(job.steps.div_ceil(self.steps) as f64 * self.seconds(&point, step))
    }

    /// Points that are transformed over those of the grid.
    pub fn copies(&self) -> f64 {
        match self.kept {
            Some(kept) => self.spectra.axes[2].length as f64 / kept as f64,
            None => self
                .spectra
                .axes
                .iter()
                .map(|axis| axis.length as f64 / axis.points as f64)
                .product(),
        }
    }

    /// About how many seconds a jump takes, of so many for a point of the torus, and for a step of a point of the rim.
    fn seconds(&self, point: &SecondsOfTransform, step: f64) -> f64 {
        /// Of a launch.
        const LAUNCH: f64 = 5e-6;
        let points: f64 = self.spectra.axes.iter().map(|axis| axis.points as f64).product();
        let steps = self.steps as f64;
        // Slabs become thinner in four parts.
        let mean =
            |slab: &Slab| 0.625 * slab.from.points() as f64 + 0.375 * slab.points.points() as f64;
        let slab = |slab: &Slab| mean(slab) * steps * step + (8.0 + steps / 4.0) * LAUNCH;
        5.0 * LAUNCH
            + self.copies() * points * point.of_point(self)
            + self.slabs.iter().map(slab).sum::<f64>()
    }

    /// Numbers that waves are multiplied by.
    pub fn factors(&self, stencil: &Stencil) -> usize {
        let [z, y, _] = self.spectra.lengths();
        let parts = if is_symmetric(stencil) { 1 } else { 2 };
        z * y * (self.spectra.half() + 1) * parts
    }
}

/// Seconds of a point of the torus in a jump: so many bytes for each of a number as grids of 10240² and 10⁸ points took on an
/// H200, where a copy of the grid takes two.
struct SecondsOfTransform {
    fading: WaveDecay,
    /// Of a byte of a number.
    byte: f64,
}

impl SecondsOfTransform {
    fn of(job: &Job, abilities: &Abilities) -> Self {
        let byte = part_bytes(job.dtype) as f64 / abilities.copy_bytes_per_s;
        Self { fading: WaveDecay::of(&job.stencil), byte }
    }

    /// Of the columns only those waves cost something that do not fade.
    fn of_point(&self, torus: &Torus) -> f64 {
        let [tile, rows, columns] = [10.0, 6.5, 12.0];
        if torus.spectra.dims == 1 {
            return tile * self.byte;
        }
        (rows + columns * self.fading.left(torus.steps, torus.left_out)) * self.byte
    }
}

/// Seconds of a step of a point in f64, by what the planner takes for a job.
fn seconds_of_point(job: &Job, abilities: &Abilities) -> Result<f64, Refusal> {
    let [fuse, chain, jump] = [Depth::Auto; 3];
    let job = Job { dtype: Dtype::F64, fuse, chain, jump, kernel: None, ..job.clone() };
    let stepping = (abilities.step)(&job).ok_or_else(none)?;
    Ok(stepping.seconds_per_step / job.shape.points() as f64)
}
