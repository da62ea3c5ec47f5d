// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many time steps a launch takes, fused into one sum and chained on chip: every way through a job, the
//! fastest first.

use super::kernels::{self, Family};
use crate::device::Limits;
use crate::engine::calibration::Calibration;
use crate::engine::cost::Cost;
use crate::engine::{Depth, Job, Refusal};
use transform::Stencil;
use transform::factors::Factors;
use transform::machine::Machine;

mod launch;
#[cfg(test)]
mod tests;

pub use launch::{Schedule, frame_points, rim};

use launch::schedule;

/// A way through all steps of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The launch that most steps take, and those for what remains, of which the last takes one step.
    pub launches: Vec<Schedule>,
    /// Predicted, the mean of the job's steps.
    pub seconds_per_step: f64,
}

/// Every way through a job, and why others are none.
pub struct Candidates {
    /// The fastest first.
    pub ranked: Vec<Way>,
    /// The others.
    pub rejected: Vec<Refused>,
}

/// A family that does not take a job at some depths.
pub struct Refused {
    /// The family.
    pub family: Family,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
    /// Why.
    pub refusal: Refusal,
}

impl Refused {
    /// The steps of a launch, and why there is none.
    pub fn by_steps(&self) -> (usize, &Refusal) {
        (self.fuse * self.chain, &self.refusal)
    }
}

impl Candidates {
    /// The fastest.
    ///
    /// # Errors
    /// Of those with the fewest steps, why the one that was nearest to being possible is not.
    fn best(mut self) -> Result<Way, Refusal> {
        if self.ranked.is_empty() {
            let nearest = Refusal::nearest(self.rejected.iter().map(Refused::by_steps));
            return Err(nearest.expect("a candidate was refused").clone());
        }
        Ok(self.ranked.swap_remove(0))
    }
}

/// All ways through a job on a GPU with such limits.
pub fn candidates(limits: Limits, machine: &Machine, job: &Job) -> Candidates {
    let (found, mut rejected) = schedules_of_all(limits, machine, job);
    let mut ranked = Vec::new();
    for Timed { schedule, .. } in &found {
        match way(limits, machine, job, &found, *schedule) {
            Ok(way) => ranked.push(way),
            Err(refusal) => {
                let Schedule { family, fuse, chain, .. } = *schedule;
                rejected.push(Refused { family, fuse, chain, refusal });
            }
        }
    }
    ranked.sort_by(|a, b| a.seconds_per_step.total_cmp(&b.seconds_per_step));
    Candidates { ranked, rejected }
}

/// The launches for all steps of a job if most take a schedule, out of those that were found.
///
/// # Errors
/// There is none for the steps that remain.
fn way(
    limits: Limits,
    machine: &Machine,
    job: &Job,
    found: &[Timed],
    first: Schedule,
) -> Result<Way, Refusal> {
    let best = |fuse, chain| {
        let fits = |one: &&Timed| (one.schedule.fuse, one.schedule.chain) == (fuse, chain);
        let known = found.iter().filter(fits).min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        match known {
            Some(known) => Ok(known.schedule),
            // Other depths were asked for.
            None => {
                let (fuse, chain) = (Depth::Steps(fuse), Depth::Steps(chain));
                let job = Job { fuse, chain, ..job.clone() };
                candidates(limits, machine, &job).best().map(|way| way.launches[0])
            }
        }
    };
    let mut launches = vec![first];
    if first.chain > 1 {
        launches.extend(best(first.fuse, 1).ok());
    }
    if launches.iter().all(|launch| launch.steps() > 1) {
        launches.push(best(1, 1)?);
    }
    let seconds_per_step = mean_seconds(&launches, machine, job);
    Ok(Way { launches, seconds_per_step })
}

/// Predicted seconds of a step, on average over the steps of a job.
fn mean_seconds(launches: &[Schedule], machine: &Machine, job: &Job) -> f64 {
    if job.steps == 0 {
        return launches[0].seconds(machine, job);
    }
    let (mut left, mut seconds) = (job.steps, 0.0);
    for launch in launches {
        let steps = left - left % launch.steps();
        if steps > 0 {
            seconds += steps as f64 * launch.seconds(machine, job);
        }
        left -= steps;
    }
    seconds / job.steps as f64
}

/// A schedule with the predicted seconds of a step of many.
struct Timed {
    schedule: Schedule,
    seconds: f64,
}

/// All schedules that most steps of a job can take, and why others are none.
fn schedules_of_all(limits: Limits, machine: &Machine, job: &Job) -> (Vec<Timed>, Vec<Refused>) {
    let depths = |asked, most| match asked {
        Depth::Auto => 1..=most,
        Depth::Steps(steps) => steps..=steps,
    };
    let (mut found, mut rejected) = (Vec::new(), Vec::new());
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
                let schedule = match &fused {
                    Err(reason) => Err(Refusal::Fuse(reason.to_string())),
                    Ok(fused) => may_be_faster(&found, machine, job, family, fused, fuse)
                        .and_then(|()| schedule(limits, job, fused, [fuse, chain], family)),
                };
                match schedule {
                    Ok(schedule) => {
                        let seconds = schedule.seconds(machine, job);
                        found.push(Timed { schedule, seconds });
                    }
                    Err(refusal) => rejected.push(Refused { family, fuse, chain, refusal }),
                }
            }
        }
    }
    (found, rejected)
}

/// Checks whether the gather, which costs the most to lay out, may be faster than what was found: it takes at
/// least as many products as its weights fill.
///
/// # Errors
/// [`Refusal::Slower`].
fn may_be_faster(
    found: &[Timed],
    machine: &Machine,
    job: &Job,
    family: Family,
    fused: &Stencil,
    fuse: usize,
) -> Result<(), Refusal> {
    let fastest = found.iter().map(|one| one.seconds).fold(f64::INFINITY, f64::min);
    if family != Family::Gather || fastest == f64::INFINITY {
        return Ok(());
    }
    let Some(element) = job.dtype.factors().and_then(Factors::element) else { return Ok(()) };
    let points = job.shape.points() as f64;
    let bytes = 2.0 * job.dtype.bytes() as f64 * points;
    let (kernel, class, work) = kernels::least_gather(fused, element);
    let dims = job.shape.dims();
    let cost =
        Cost { kernel, class, dims, steps: fuse, points, bytes, work, launches: 1.0, rim: None };
    let seconds = Calibration::built_in().seconds_per_step(&cost, machine);
    if seconds < fastest {
        return Ok(());
    }
    Err(Refusal::Slower { least: seconds, other: fastest })
}
