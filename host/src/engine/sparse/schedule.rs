// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many time steps a launch takes: fused into one sum, and chained on chip.

use super::kernels::{self, Family, Kernel};
use crate::Error;
use crate::device::frame::{Plan, Room};
use crate::device::{Chip, Limits};
use crate::engine::{Depth, Job};
use crate::memory::Bytes;
use transform::Stencil;

/// Seconds that a launch takes at least.
pub const LAUNCH: f64 = 3e-6;

/// Multiplications per second of the kernel that computes points near the boundary again, in up to 2
/// dimensions and in 3.
const FRAME_SPEED: [f64; 2] = [1.5e12, 2e11];

/// Steps of one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums in a row, on chip.
    pub chain: usize,
    /// What computes them.
    pub kernel: Kernel,
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

    /// Predicted seconds of a time step.
    #[must_use]
    pub fn seconds(&self, job: &Job) -> f64 {
        let sweep = job.shape.points() as f64 / (self.kernel.speed() * 1e9);
        let speed = FRAME_SPEED[usize::from(job.stencil.dims() == 3)];
        let taps = job.stencil.taps().len() as f64;
        let frame = frame_points(job, self.frame_steps(job)) as f64 * self.steps() as f64;
        (LAUNCH + sweep + frame * taps / speed) / self.steps() as f64
    }
}

/// [`schedules_for`] an H200.
///
/// # Errors
/// As there.
pub fn schedules(engine: &'static str, job: &Job) -> Result<Vec<Schedule>, Error> {
    schedules_for(Limits::H200, engine, job)
}

/// The launches for a job on a GPU with such limits: the one that most steps take, and those for what
/// remains, of which the last takes one step. The extents are those of a grid that launches can address.
///
/// # Errors
/// No kernel takes the stencil, or as many steps at once as were asked for, within the limits.
pub fn schedules_for(
    limits: Limits,
    engine: &'static str,
    job: &Job,
) -> Result<Vec<Schedule>, Error> {
    let schedule = |fuse, chain| schedule(limits, engine, job, fuse, chain);
    let single = schedule(1, 1)?;
    let first = best(job, schedule)?;
    let fused = schedule(first.fuse, 1);
    let mut all = vec![first];
    all.extend(fused.ok().filter(|fused| fused.steps() < first.steps()));
    all.extend((all.iter().all(|other| other.steps() > 1)).then_some(single));
    Ok(all)
}

/// The fastest by prediction of those that were not ruled out.
fn best(
    job: &Job,
    schedule: impl Fn(usize, usize) -> Result<Schedule, Error>,
) -> Result<Schedule, Error> {
    if let (Depth::Steps(fuse), Depth::Steps(chain)) = (job.fuse, job.chain) {
        return schedule(fuse, chain);
    }
    let candidates = |depth, most| match depth {
        Depth::Auto => 1..=most,
        Depth::Steps(steps) => steps..=steps,
    };
    let mut best: Option<Schedule> = None;
    let mut refusal = None;
    for fuse in candidates(job.fuse, kernels::MOST_FUSED) {
        for chain in candidates(job.chain, kernels::MOST_CHAINED) {
            let asked = [(job.fuse, fuse), (job.chain, chain)];
            let free = asked.iter().all(|(depth, steps)| *depth == Depth::Auto || *steps == 1);
            // Nothing is gained by taking more steps than there are.
            if free && fuse * chain > job.steps.max(1) {
                continue;
            }
            match schedule(fuse, chain) {
                Ok(found) => {
                    let faster = |than: &Schedule| found.seconds(job) < than.seconds(job);
                    if best.as_ref().is_none_or(faster) {
                        best = Some(found);
                    }
                }
                Err(reason) => refusal = refusal.or(Some(reason)),
            }
        }
    }
    best.ok_or_else(|| refusal.expect("a candidate was refused"))
}

fn schedule(
    limits: Limits,
    engine: &'static str,
    job: &Job,
    fuse: usize,
    chain: usize,
) -> Result<Schedule, Error> {
    let unsupported = |reason| Error::Unsupported { engine, reason };
    let fused = transform::fuse::fuse(&job.stencil, fuse)
        .map_err(|reason| unsupported(reason.to_string()))?;
    let wanted = match limits.chip {
        // The other kernels for 3D need a later chip.
        Chip::Sm80 if fused.dims() == 3 => job.kernel.or(Some(Family::Gather)),
        _ => job.kernel,
    };
    let kernel = kernels::kernel(&fused, job.dtype, chain, wanted).map_err(unsupported)?;
    if limits.chip == Chip::Sm80 && !kernel.runs_on_sm_80() {
        return Err(unsupported("the kernel for it needs sm_90 or later".into()));
    }
    let needed = kernel.shared_bytes(job.shape);
    if needed > limits.shared_bytes {
        let [needed, most] = [needed, limits.shared_bytes].map(|bytes| Bytes(bytes.into()));
        return Err(unsupported(format!(
            "a block of the kernel for it needs {needed} of shared memory; the GPU has {most}"
        )));
    }
    if let Some(reason) = kernel.refusal(job.shape) {
        return Err(unsupported(reason));
    }
    let stencil = job.dtype.round_weights(&job.stencil);
    let steps = frame_steps(job, kernel, fuse * chain);
    let room = kernel.room(job.shape, limits.shared_bytes);
    Plan::check(&stencil, &job.boundary, job.shape, job.dtype, steps, room).map_err(unsupported)?;
    Ok(Schedule { fuse, chain, kernel })
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

fn frame_points(job: &Job, steps: usize) -> usize {
    let depths = frame_depths(job, steps);
    let inner = (0..3).map(|axis| job.shape.extents()[axis].saturating_sub(2 * depths[axis]));
    job.shape.points() - inner.product::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use transform::catalogue;

    fn job(name: &str, size: &str, steps: usize) -> Job {
        let stencil = catalogue::find(name).unwrap();
        Job::new(stencil, size.parse().unwrap(), Dtype::F16, steps)
    }

    fn depths(job: &Job) -> Vec<(usize, usize)> {
        let schedules = schedules("sparse", job).unwrap();
        schedules.iter().map(|schedule| (schedule.fuse, schedule.chain)).collect()
    }

    #[test]
    fn long_runs_are_fused_and_chained() {
        assert_eq!(depths(&job("box2d1r", "10240x10240", 1000)), [(3, 4), (3, 1), (1, 1)]);
        assert_eq!(depths(&job("box2d3r", "10240x10240", 1000)), [(1, 4), (1, 1)]);
        let of = |dtype| Job { dtype, ..job("box2d1r", "10240x10240", 1000) };
        assert_eq!(depths(&of(Dtype::Bf16)), [(3, 4), (3, 1), (1, 1)]);
        assert_eq!(depths(&of(Dtype::Tf32)), [(3, 3), (3, 1), (1, 1)]);
    }

    #[test]
    fn stars_in_3d_are_chained_and_need_no_frame_beside_zeros() {
        let mut job = job("star3d1r", "1024x1024x1024", 24);
        assert_eq!(depths(&job), [(1, 3), (1, 1)]);
        let first = |job: &Job| schedules("sparse", job).unwrap()[0];
        assert_eq!(first(&job).frame_steps(&job), 1);
        assert_eq!(frame_points(&job, 1), 0);
        job.boundary = crate::Boundary::parse("periodic", 3).unwrap();
        job.chain = Depth::Steps(3);
        assert_eq!(first(&job).frame_steps(&job), 3);
        // A tile has at least the rows of a warp.
        job.shape = "8x11x8".parse().unwrap();
        let refused = schedules("sparse", &job).unwrap_err().to_string();
        assert!(refused.ends_with("at least 12 rows; this grid has 11"), "{refused}");
    }

    #[test]
    fn chips_before_sm_90_fuse_but_do_not_chain() {
        let mut job = job("box2d1r", "10240x10240", 1000);
        let limits = Limits { chip: Chip::Sm80, ..Limits::H200 };
        let found = schedules_for(limits, "sparse", &job).unwrap();
        assert!(found[0].fuse > 1 && found.iter().all(|one| one.chain == 1), "{found:?}");
        job.chain = Depth::Steps(2);
        let refused = schedules_for(limits, "sparse", &job).unwrap_err().to_string();
        assert!(refused.ends_with("the kernel for it needs sm_90 or later"), "{refused}");
    }

    #[test]
    fn chips_before_sm_90_gather_in_3d() {
        let job = job("star3d1r", "100x100x100", 1);
        let name = |limits| schedules_for(limits, "sparse", &job).unwrap()[0].kernel.to_string();
        assert_eq!(name(Limits::H200), "sweep3d_f16_r1");
        assert_eq!(name(Limits { chip: Chip::Sm80, ..Limits::H200 }), "gather_f16_2x8");
    }

    #[test]
    fn chains_take_no_more_shared_memory_than_a_block_can_have() {
        // What consumer GPUs have.
        let limits = Limits { shared_bytes: 99 << 10, ..Limits::H200 };
        let mut job = job("box2d3r", "10240x10240", 1000);
        assert_eq!(depths(&job)[0], (1, 4));
        let found = schedules_for(limits, "sparse", &job).unwrap();
        assert!(found.iter().all(|one| one.chain == 1), "{found:?}");
        for (name, chain, fits) in
            [("box2d1r", 4, true), ("box2d2r", 3, true), ("box2d3r", 4, false)]
        {
            job.stencil = catalogue::find(name).unwrap();
            (job.fuse, job.chain) = (Depth::Steps(1), Depth::Steps(chain));
            let found = schedules_for(limits, "sparse", &job);
            assert_eq!(found.is_ok(), fits, "{name} {chain}");
            let Err(refused) = found else { continue };
            assert!(matches!(refused, Error::Unsupported { engine: "sparse", .. }));
            let reason = "needs 136.6 KiB of shared memory; the GPU has 99.0 KiB";
            assert!(refused.to_string().ends_with(reason), "{refused}");
        }
    }

    #[test]
    fn as_many_steps_are_fused_as_the_points_near_the_boundary_leave_room_for() {
        // The kernel for 1D needs no shared memory itself.
        let mut job = job("star1d1r", "100000", 700);
        job.boundary = crate::Boundary::parse("periodic", 1).unwrap();
        let fused = |shared_bytes| {
            let limits = Limits { shared_bytes, ..Limits::H200 };
            schedules_for(limits, "sparse", &job).map(|found| found[0].fuse)
        };
        let most = fused(Limits::H200.shared_bytes).unwrap();
        assert!(most > 1);
        let mut fits = (0..10_000).step_by(40).map(|shared_bytes| fused(shared_bytes).unwrap_or(0));
        assert!(fits.clone().is_sorted() && fits.any(|fuse| 0 < fuse && fuse < most));
        let refused = fused(0).unwrap_err().to_string();
        assert!(refused.ends_with("depend on does not fit shared memory"), "{refused}");
    }

    #[test]
    fn no_more_steps_are_taken_than_there_are() {
        for steps in 0..20 {
            let depths = depths(&job("box2d1r", "10240x10240", steps));
            let (fuse, chain) = depths[0];
            assert!(fuse * chain <= steps.max(1), "{steps}: {depths:?}");
            assert!(depths.last().is_some_and(|last| *last == (1, 1)));
        }
    }

    #[test]
    fn what_was_asked_for_is_done_or_refused() {
        let mut job = job("box2d1r", "1000x1000", 7);
        (job.fuse, job.chain) = (Depth::Steps(2), Depth::Steps(4));
        assert_eq!(depths(&job), [(2, 4), (2, 1), (1, 1)]);
        job.chain = Depth::Steps(1);
        assert_eq!(depths(&job), [(2, 1), (1, 1)]);
        job.fuse = Depth::Steps(9);
        assert!(matches!(schedules("sparse", &job), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn the_frame_is_as_deep_as_wrong_values_reach() {
        let mut job = job("box2d3r", "100x200", 4);
        assert_eq!(frame_depths(&job, 4), [0, 9, 9]);
        assert_eq!(frame_points(&job, 1), 0);
        job.boundary = crate::Boundary::parse("periodic", 2).unwrap();
        assert_eq!(frame_depths(&job, 4), [0, 12, 12]);
        assert_eq!(frame_points(&job, 1), 100 * 200 - 94 * 194);
        assert_eq!(frame_points(&job, 40), 100 * 200);
    }
}
