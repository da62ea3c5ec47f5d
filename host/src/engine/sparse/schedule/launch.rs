// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch: how many time steps it takes, what it costs, and the points near the boundary that it leaves.

use super::super::kernels::{Family, Kernel, kernel};
use crate::device::frame::{Plan, Room};
use crate::device::{Chip, Limits};
use crate::engine::calibration::Calibration;
use crate::engine::cost::{Cost, Rim};
use crate::engine::{Job, Refusal};
use transform::Stencil;
use transform::machine::Machine;

/// Steps of one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums in a row, on chip.
    pub chain: usize,
    /// What computes them.
    pub kernel: Kernel,
    /// The family of the kernel.
    pub family: Family,
}

impl Schedule {
    /// Time steps of a launch.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.fuse * self.chain
    }

    /// Time steps of which points near the boundary must be computed again; one where there are none.
    #[must_use]
    pub fn frame_steps(&self, job: &Job) -> usize {
        frame_steps(job, self.kernel, self.steps())
    }

    /// The points that the launch gets wrong.
    ///
    /// # Errors
    /// Why they cannot be computed.
    pub fn frame(&self, stencil: &Stencil, job: &Job, room: Room) -> Result<Option<Plan>, String> {
        Plan::new(stencil, &job.boundary, job.shape, job.dtype, self.frame_steps(job), room)
    }

    /// What an advance takes.
    #[must_use]
    pub fn cost(&self, job: &Job) -> Cost {
        let (points, steps) = (job.shape.points() as f64, self.steps());
        let rim_steps = self.frame_steps(job);
        let near = frame_points(job, rim_steps);
        let beside = matches!(self.kernel, Kernel::Chain2d { .. });
        let many = near == 0 && self.kernel.takes_many(job.shape);
        Cost {
            kernel: self.kernel.to_string(),
            class: self.kernel.class() + if many { "_many" } else { "" },
            dims: job.shape.dims(),
            steps,
            points,
            bytes: 2.0 * job.dtype.bytes() as f64 * points,
            work: self.kernel.work(),
            launches: match near {
                _ if many => 0.0,
                0 => 1.0,
                _ => 2.0,
            },
            rim: (near > 0).then(|| rim(job, near, rim_steps, beside)),
        }
    }

    /// Predicted seconds of a time step.
    #[must_use]
    pub fn seconds(&self, machine: &Machine, job: &Job) -> f64 {
        Calibration::built_in().seconds_per_step(&self.cost(job), machine)
    }
}

/// That of one family, for a stencil that takes `fuse` steps at once.
///
/// # Errors
/// It does not take the job.
pub fn schedule(
    limits: Limits,
    job: &Job,
    fused: &Stencil,
    [fuse, chain]: [usize; 2],
    family: Family,
) -> Result<Schedule, Refusal> {
    let kernel = kernel(fused, job.dtype, chain, family)?;
    if limits.chip == Chip::Sm80 && !kernel.runs_on_sm_80() {
        return Err(Refusal::Chip);
    }
    let (needed, has) = (kernel.shared_bytes(job.shape), limits.shared_bytes);
    if needed > has {
        return Err(Refusal::SharedMemory { needed, has });
    }
    if let Some(reason) = kernel.refusal(job.shape) {
        return Err(Refusal::Grid(reason));
    }
    let stencil = job.dtype.round_weights(&job.stencil);
    let steps = frame_steps(job, kernel, fuse * chain);
    let room = kernel.room(job.shape, limits.shared_bytes);
    Plan::check(&stencil, &job.boundary, job.shape, job.dtype, steps, room)
        .map_err(Refusal::Boundary)?;
    Ok(Schedule { fuse, chain, kernel, family })
}

/// [`Schedule::frame_steps`] of a kernel that takes so many steps.
fn frame_steps(job: &Job, kernel: Kernel, steps: usize) -> usize {
    if kernel.keeps_zeros() && job.boundary.is_zero() { 1 } else { steps }
}

/// How near to the boundary, on each axis (z, y, x), points must be computed again after a launch of
/// so many steps. Zeros lie around the grid in memory, so the first step is right there.
#[must_use]
fn frame_depths(job: &Job, steps: usize) -> [usize; 3] {
    let wrong = if job.boundary.is_zero() { steps - 1 } else { steps };
    job.stencil.radii().map(|radius| radius * wrong)
}

/// What computing so many points near the boundary again takes.
pub fn rim(job: &Job, points: usize, steps: usize, beside: bool) -> Rim {
    Rim {
        kernel: Plan::kernel_for(&job.stencil, job.dtype).into(),
        steps,
        multiply_adds: (points * steps * job.stencil.taps().len()) as f64,
        beside,
    }
}

/// Points nearer to the boundary than what so many steps get wrong.
pub fn frame_points(job: &Job, steps: usize) -> usize {
    let depths = frame_depths(job, steps);
    let inner = (0..3).map(|axis| job.shape.extents()[axis].saturating_sub(2 * depths[axis]));
    job.shape.points() - inner.product::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundary, Dtype};
    use transform::catalogue;

    #[test]
    fn the_frame_is_as_deep_as_wrong_values_reach() {
        let stencil = catalogue::find("box2d3r").unwrap();
        let mut job = Job::new(stencil, "100x200".parse().unwrap(), Dtype::F16, 4);
        assert_eq!(frame_depths(&job, 4), [0, 9, 9]);
        assert_eq!(frame_points(&job, 1), 0);
        job.boundary = Boundary::parse("periodic", 2).unwrap();
        assert_eq!(frame_depths(&job, 4), [0, 12, 12]);
        assert_eq!(frame_points(&job, 1), 100 * 200 - 94 * 194);
        assert_eq!(frame_points(&job, 40), 100 * 200);
    }
}
