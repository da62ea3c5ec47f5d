// SPDX-License-Identifier: MIT OR Apache-2.0
//! Seconds of a launch on a part of a grid, by the planner's own prediction.

use super::MOST_BYTES;
use crate::engine::on_gpu as grids;
use crate::plan::RunTarget;
use crate::plan::calibration::Calibration;
use crate::ranks::{Launched, propose};
use problem::region::Region;
use problem::{Boundary, Error, Job, Shape};

/// The launch that most steps of a whole grid take, to be taken by its parts.
pub struct SharedLaunch<'a> {
    /// The GPU.
    pub target: &'a RunTarget,
    /// The whole grid.
    pub whole: &'a Job,
    /// As it was planned for that.
    pub launched: &'a Launched,
}

impl SharedLaunch<'_> {
    /// Time steps that it takes.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.launched.fuse * self.launched.chain
    }

    /// How far on each axis (z, y, x) what is wrong gets in it.
    #[must_use]
    pub fn reach(&self) -> [usize; 3] {
        self.whole.stencil.radii().map(|radius| radius * self.steps())
    }

    /// What is computed of a box by itself.
    ///
    /// # Errors
    /// It has more points than can be addressed.
    pub fn job(&self, region: Region, boundary: Boundary) -> Result<Job, Error> {
        let shape = Shape::new(&region.extents()[3 - self.whole.shape.dims()..])?;
        Ok(Job { shape, boundary, ..self.whole.clone() })
    }

    /// Seconds of it on such a job.
    ///
    /// # Errors
    /// [`Error::Split`]: its family has no kernel for that, or another one than for the whole grid.
    pub fn seconds(&self, job: &Job) -> Result<f64, Error> {
        let RunTarget { machine, limits, .. } = self.target;
        grids::check(self.launched.family()?.unit().engine(), MOST_BYTES, job)?;
        let cost = propose(self.launched, job, *limits)?.cost(job);
        let seconds_per_step = Calibration::built_in().seconds_per_step(&cost, machine);
        Ok(seconds_per_step * self.steps() as f64)
    }
}
