// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many time steps a launch takes: fused into one sum, and chained on chip.

use super::kernels::{self, Family, Kernel};
use super::refusal::Refusal;
use crate::Error;
use crate::device::frame::{Plan, Room};
use crate::device::{Chip, Limits};
use crate::engine::cost::{Cost, Rim};
use crate::engine::{Depth, Job};
use crate::plan::Calibration;
use transform::Stencil;
use transform::factors::Factors;
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

/// The launches for a job on a GPU with such limits: the one that most steps take, and those for what
/// remains, of which the last takes one step. The extents are those of a grid that launches can address.
///
/// # Errors
/// No kernel takes the stencil, or as many steps at once as were asked for, within the limits.
pub fn schedules_for(
    limits: Limits,
    machine: &Machine,
    engine: &'static str,
    job: &Job,
) -> Result<Vec<Schedule>, Error> {
    let unsupported = |reason: Refusal| Error::Unsupported { engine, reason: reason.to_string() };
    let best = |fuse, chain| {
        let job = Job { fuse: Depth::Steps(fuse), chain: Depth::Steps(chain), ..job.clone() };
        candidates(limits, machine, &job).best()
    };
    let single = best(1, 1).map_err(unsupported)?;
    let first = candidates(limits, machine, job).best().map_err(unsupported)?;
    let fused = best(first.fuse, 1);
    let mut all = vec![first];
    all.extend(fused.ok().filter(|fused| fused.steps() < first.steps()));
    all.extend((all.iter().all(|other| other.steps() > 1)).then_some(single));
    Ok(all)
}

/// Every schedule for most steps of a job, and why others are none.
pub struct Candidates {
    /// With the predicted seconds of a step, the fastest first.
    pub ranked: Vec<(Schedule, f64)>,
    /// Family, fused steps and chained sweeps, and the reason.
    pub rejected: Vec<(Family, usize, usize, Refusal)>,
}

impl Candidates {
    /// The fastest.
    ///
    /// # Errors
    /// Of those with the fewest steps, why the one that was nearest to being possible is not.
    fn best(mut self) -> Result<Schedule, Refusal> {
        if let Some((best, _)) = self.ranked.first() {
            return Ok(*best);
        }
        let steps = |&(_, fuse, chain, _): &(Family, usize, usize, Refusal)| fuse * chain;
        let least = self.rejected.iter().map(steps).min().expect("a candidate was refused");
        self.rejected.retain(|one| steps(one) == least);
        // Of equals the last one's counts: the family that comes last takes the most stencils.
        let refusals = self.rejected.into_iter().map(|(.., refusal)| refusal);
        Err(refusals.max_by_key(Refusal::passed).expect("one takes the least"))
    }
}

/// All schedules that a job allows, on a GPU with such limits.
pub fn candidates(limits: Limits, machine: &Machine, job: &Job) -> Candidates {
    let depths = |asked, most| match asked {
        Depth::Auto => 1..=most,
        Depth::Steps(steps) => steps..=steps,
    };
    let mut all = Candidates { ranked: Vec::new(), rejected: Vec::new() };
    for fuse in depths(job.fuse, kernels::MOST_FUSED) {
        let fused = transform::fuse::fuse(&job.stencil, fuse);
        for family in kernels::families(job.stencil.dims(), job.kernel) {
            for chain in depths(job.chain, kernels::MOST_CHAINED) {
                let asked = [(job.fuse, fuse), (job.chain, chain)];
                let free = asked.iter().all(|(depth, steps)| *depth == Depth::Auto || *steps == 1);
                // Nothing is gained by taking more steps than there are.
                if free && fuse * chain > job.steps.max(1) {
                    continue;
                }
                let found = match &fused {
                    Err(reason) => Err(Refusal::Kernel(reason.to_string())),
                    Ok(fused) => all
                        .may_be_faster(machine, job, family, fused, fuse)
                        .and_then(|()| schedule(limits, job, fused, [fuse, chain], family)),
                };
                match found {
                    Ok(schedule) => {
                        let seconds = schedule.seconds(machine, job);
                        all.ranked.push((schedule, seconds));
                    }
                    Err(reason) => all.rejected.push((family, fuse, chain, reason)),
                }
            }
        }
    }
    all.ranked.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    all
}

impl Candidates {
    /// Whether the gather, which costs the most to lay out, may be faster than what was found: it takes at
    /// least as many products as its weights fill.
    fn may_be_faster(
        &self,
        machine: &Machine,
        job: &Job,
        family: Family,
        fused: &Stencil,
        fuse: usize,
    ) -> Result<(), Refusal> {
        let fastest = self.ranked.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
        if family != Family::Gather || fastest == f64::INFINITY {
            return Ok(());
        }
        let Some(element) = job.dtype.factors().and_then(Factors::element) else { return Ok(()) };
        let points = job.shape.points() as f64;
        let bytes = 2.0 * job.dtype.bytes() as f64 * points;
        let (kernel, class, work) = kernels::least_gather(fused, element);
        let dims = job.shape.dims();
        let cost = Cost {
            kernel,
            class,
            dims,
            steps: fuse,
            points,
            bytes,
            work,
            launches: 1.0,
            rim: None,
        };
        let seconds = Calibration::built_in().seconds_per_step(&cost, machine);
        if seconds < fastest {
            return Ok(());
        }
        Err(Refusal::Slower { least: seconds, other: fastest })
    }
}

/// That of one family, for a stencil that takes `fuse` steps at once.
fn schedule(
    limits: Limits,
    job: &Job,
    fused: &Stencil,
    [fuse, chain]: [usize; 2],
    family: Family,
) -> Result<Schedule, Refusal> {
    let kernel = kernels::kernel(fused, job.dtype, chain, family).map_err(Refusal::Kernel)?;
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
        .map_err(Refusal::Frame)?;
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
    use crate::Dtype;
    use transform::catalogue;

    /// Those for an H200.
    fn schedules(engine: &'static str, job: &Job) -> Result<Vec<Schedule>, Error> {
        schedules_for(Limits::H200, &Machine::h200(), engine, job)
    }

    fn job(name: &str, size: &str, steps: usize) -> Job {
        let stencil = catalogue::find(name).unwrap();
        Job::new(stencil, size.parse().unwrap(), Dtype::F16, steps)
    }

    fn depths(job: &Job) -> Vec<(usize, usize)> {
        let schedules = schedules("sparse", job).unwrap();
        schedules.iter().map(|schedule| (schedule.fuse, schedule.chain)).collect()
    }

    #[test]
    fn the_gather_is_taken_where_it_is_faster_or_nothing_else_fits() {
        let name = |stencil: &str, dtype| {
            let stencil = catalogue::find(stencil).unwrap();
            let size = ["100000000", "10240x10240", "512x512x512"][stencil.dims() - 1];
            let job = Job::new(stencil, size.parse().unwrap(), dtype, 1);
            schedules("sparse", &job).unwrap()[0].kernel.to_string()
        };
        for (stencil, taken) in [
            ("star1d7r", "line1d_f16"),
            ("star1d8r", "gather_f16_1x16"),
            ("box2d3r", "sweep2d_f16_r3"),
            ("star2d4r", "wide2d_f16_r4"),
            ("box2d7r", "wide2d_f16_r7"),
            ("box2d8r", "gather_f16_2x8"),
            ("star3d1r", "sweep3d_f16_r1"),
            ("star3d4r", "gather_f16_2x8_more"),
        ] {
            assert_eq!(name(stencil, Dtype::F16), taken, "{stencil}");
        }
        assert_eq!(name("star2d3r", Dtype::Tf32), "sweep2d_tf32_r3");
        assert_eq!(name("star2d4r", Dtype::Tf32), "gather_tf32_2x8_more");
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
        let found = schedules_for(limits, &Machine::h200(), "sparse", &job).unwrap();
        assert!(found[0].fuse > 1 && found.iter().all(|one| one.chain == 1), "{found:?}");
        job.chain = Depth::Steps(2);
        let refused =
            schedules_for(limits, &Machine::h200(), "sparse", &job).unwrap_err().to_string();
        assert!(refused.ends_with("the kernel for it needs sm_90 or later"), "{refused}");
    }

    #[test]
    fn chips_before_sm_90_gather_in_3d() {
        let job = job("star3d1r", "100x100x100", 1);
        let name = |limits| {
            schedules_for(limits, &Machine::h200(), "sparse", &job).unwrap()[0].kernel.to_string()
        };
        assert_eq!(name(Limits::H200), "sweep3d_f16_r1");
        assert_eq!(name(Limits { chip: Chip::Sm80, ..Limits::H200 }), "gather_f16_2x8");
    }

    #[test]
    fn chains_take_no_more_shared_memory_than_a_block_can_have() {
        // What consumer GPUs have.
        let limits = Limits { shared_bytes: 99 << 10, ..Limits::H200 };
        let mut job = job("box2d3r", "10240x10240", 1000);
        assert_eq!(depths(&job)[0], (1, 4));
        let found = schedules_for(limits, &Machine::h200(), "sparse", &job).unwrap();
        assert!(found.iter().all(|one| one.chain == 1), "{found:?}");
        for (name, chain, fits) in
            [("box2d1r", 4, true), ("box2d2r", 3, true), ("box2d3r", 4, false)]
        {
            job.stencil = catalogue::find(name).unwrap();
            (job.fuse, job.chain) = (Depth::Steps(1), Depth::Steps(chain));
            let found = schedules_for(limits, &Machine::h200(), "sparse", &job);
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
            schedules_for(limits, &Machine::h200(), "sparse", &job).map(|found| found[0].fuse)
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
