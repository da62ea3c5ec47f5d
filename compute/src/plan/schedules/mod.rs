// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many time steps a launch takes, fused into one sum and chained on chip: every way through a job, the
//! fastest first.

use super::calibration::Calibration;
use crate::device::Limits;
use crate::families::cost::Cost;
use crate::families::{Family, LaunchRequest, Proposal, Refusal, Unit};
use problem::job::{Depth, Job};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use transform::Stencil;
use transform::machine::Machine;

#[cfg(test)]
mod tests;

/// The launches that take all steps of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The launch that most steps take, and those for what remains, of which the last takes one step.
    pub launches: Vec<Proposal>,
    /// Predicted, the mean of the job's steps.
    pub seconds_per_step: f64,
}

/// Every way through a job, and why others are none.
pub struct Candidates {
    /// The fastest first.
    pub ranked: Vec<Schedule>,
    /// The others.
    pub rejected: Vec<RefusedFamily>,
}

/// A family that does not take a job at some depths.
pub struct RefusedFamily {
    /// The family.
    pub family: &'static dyn Family,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
    /// Why.
    pub refusal: Refusal,
}

impl RefusedFamily {
    /// The steps of a launch, and why there is none.
    pub fn by_steps(&self) -> (usize, &Refusal) {
        (self.fuse * self.chain, &self.refusal)
    }
}

/// Where a way through a job is looked for.
#[derive(Clone, Copy)]
pub struct ScheduleSearch<'a> {
    /// The families.
    pub unit: Unit,
    /// What a launch may take.
    pub limits: Limits,
    /// The speeds that are assumed.
    pub machine: &'a Machine,
}

impl ScheduleSearch<'_> {
    /// All ways through a job.
    #[must_use]
    pub fn candidates(&self, job: &Job) -> Candidates {
        let DepthSchedules { found, mut rejected } = self.explore(job);
        let mut remainders =
            Remainders { search: self, job, found: &found, others: BTreeMap::new() };
        let mut ranked = Vec::new();
        for TimedLaunch { proposal, .. } in &found {
            match remainders.way(proposal) {
                Ok(way) => ranked.push(way),
                Err(refusal) => {
                    let &Proposal { family, fuse, chain, .. } = proposal;
                    rejected.push(RefusedFamily { family, fuse, chain, refusal });
                }
            }
        }
        ranked.sort_by(|a, b| a.seconds_per_step.total_cmp(&b.seconds_per_step));
        Candidates { ranked, rejected }
    }

    /// Predicted seconds of a time step of many.
    fn seconds(&self, job: &Job, proposal: &Proposal) -> f64 {
        Calibration::built_in().seconds_per_step(&proposal.cost(job), self.machine)
    }

    /// All launches that most steps of a job can take, and why others are none.
    fn explore(&self, job: &Job) -> DepthSchedules {
        let wanted = |family: &&dyn Family| job.kernel.is_none_or(|wanted| wanted == family.name());
        let mut families: Vec<_> = self.unit.families().filter(wanted).collect();
        if job.kernel.is_none() {
            let dims = job.stencil.dims();
            families.retain(|family| family.dims().contains(&dims) && !family.only_if_asked());
            // Those that chain so many sweeps, where that is asked for, or else the most: others would only say that
            // they do not.
            if let Depth::Steps(chain) = job.chain {
                let most = families.iter().map(|family| *family.chained().end()).max();
                let takes = |family: &&dyn Family| family.chained().contains(&chain);
                let best = if families.iter().any(takes) { chain } else { most.unwrap_or(1) };
                families.retain(|family| family.chained().contains(&best));
            }
        }
        let most = families.iter().map(|family| *family.fused().end()).max().unwrap_or(1);
        let mut explored = DepthSchedules { found: Vec::new(), rejected: Vec::new() };
        for fuse in depths(job.fuse, 1..=most) {
            let fused = transform::fuse::fuse(&job.stencil, fuse);
            let fused = fused.map_err(|reason| Refusal::Fuse(reason.to_string()));
            let fused = fused.and_then(|fused| rounded(job, fuse, &fused));
            for &family in &families {
                for chain in depths(job.chain, family.chained()) {
                    let asked = [(job.fuse, fuse), (job.chain, chain)];
                    let free =
                        asked.iter().all(|(depth, steps)| *depth == Depth::Auto || *steps == 1);
                    let beyond = job.fuse == Depth::Auto && !family.fused().contains(&fuse);
                    // Nothing is gained by taking more steps than there are.
                    if beyond || free && fuse * chain > job.steps.max(1) {
                        continue;
                    }
                    let proposal = takes_depth(family, fuse, chain).and_then(|()| {
                        let fused = fused.as_ref().map_err(Refusal::clone)?;
                        let asked = LaunchRequest { job, fused, fuse, chain, limits: self.limits };
                        self.may_be_faster(&explored.found, family, &asked)?;
                        Proposal::new(family, &asked)
                    });
                    match proposal {
                        Ok(proposal) => {
                            let seconds = self.seconds(job, &proposal);
                            explored.found.push(TimedLaunch { proposal, seconds });
                        }
                        Err(refusal) => {
                            explored.rejected.push(RefusedFamily { family, fuse, chain, refusal });
                        }
                    }
                }
            }
        }
        if families.is_empty() {
            let mut all: Vec<_> = self.unit.families().collect();
            if all.iter().any(|family| !family.only_if_asked()) {
                all.retain(|family| !family.only_if_asked() || self.takes(*family, job));
            }
            explored.rejected.extend(all.into_iter().map(|family| not_for(family, job)));
        } else if explored.found.is_empty() && explored.rejected.is_empty() {
            explored.rejected.extend(families.iter().map(|family| too_few_steps(*family, job)));
        }
        explored
    }

    /// Whether a family takes a job, with as few steps in a launch as it can.
    fn takes(&self, family: &'static dyn Family, job: &Job) -> bool {
        let [fuse, chain] = [family.fused(), family.chained()].map(|depths| *depths.start());
        let fused = transform::fuse::fuse(&job.stencil, fuse);
        fused.is_ok_and(|fused| {
            let fused = &job.dtype.round_weights(&fused);
            let asked = LaunchRequest { job, fused, fuse, chain, limits: self.limits };
            Proposal::new(family, &asked).is_ok()
        })
    }

    /// Checks whether a family whose layout costs much to find may be faster than what was found.
    ///
    /// # Errors
    /// [`Refusal::Slower`].
    fn may_be_faster(
        &self,
        found: &[TimedLaunch],
        family: &dyn Family,
        asked: &LaunchRequest,
    ) -> Result<(), Refusal> {
        let other = found.iter().map(|one| one.seconds).fold(f64::INFINITY, f64::min);
        let calibration = Calibration::built_in();
        let bounds = family.least(asked).into_iter().map(|bound| {
            let (class, work) = (bound.class, bound.work);
            // Nothing is known of a kernel that was not measured.
            let known = calibration.kernels.contains_key(&class);
            let cost = Cost { class, work, ..Cost::of(asked.job, asked.fuse) };
            known.then(|| calibration.seconds_per_step(&cost, self.machine))
        });
        let bounds: Option<Vec<f64>> = bounds.collect();
        match bounds.into_iter().flatten().min_by(f64::total_cmp) {
            Some(least) if least >= other => Err(Refusal::Slower { least, other }),
            _ => Ok(()),
        }
    }
}

/// The depths to try: what was asked for, or all of a range.
fn depths(asked: Depth, all: RangeInclusive<usize>) -> RangeInclusive<usize> {
    match asked {
        Depth::Auto => all,
        Depth::Steps(steps) => steps..=steps,
    }
}

/// That a family takes other stencils, or is taken only where it is asked for.
fn not_for(family: &'static dyn Family, job: &Job) -> RefusedFamily {
    let refusal =
        Refusal::check_dims(family, job).err().unwrap_or(Refusal::OnlyIfAsked(family.name()));
    RefusedFamily { family, fuse: 1, chain: 1, refusal }
}

/// That a job has fewer steps than any launch of a family takes.
fn too_few_steps(family: &'static dyn Family, job: &Job) -> RefusedFamily {
    let [fuse, chain] = [family.fused(), family.chained()].map(|depths| *depths.start());
    let (least, steps) = (fuse * chain, job.steps);
    let reason =
        format!("{family} takes at least {least} time steps in a launch; this run has {steps}");
    RefusedFamily { family, fuse, chain, refusal: Refusal::Chain(reason) }
}

/// A sum of so many steps with its weights as the element type stores them.
///
/// # Errors
/// [`Refusal::Fuse`]: the type cannot hold them, and the job keeps its weights.
fn rounded(job: &Job, fuse: usize, fused: &Stencil) -> Result<Stencil, Refusal> {
    let rounded = job.dtype.round_weights(fused);
    if job.keeps_weights && rounded.taps() != fused.taps() {
        let (dtype, steps) = (job.dtype, if fuse == 1 { "a step" } else { "so many steps" });
        return Err(Refusal::Fuse(format!(
            "{dtype} cannot hold all weights of {steps} as one sum"
        )));
    }
    Ok(rounded)
}

/// Checks that a family takes so many steps at once.
///
/// # Errors
/// It does not.
fn takes_depth(family: &dyn Family, fuse: usize, chain: usize) -> Result<(), Refusal> {
    let (fused, chained) = (family.fused(), family.chained());
    if fused.contains(&fuse) && chained.contains(&chain) {
        return Ok(());
    }
    if (*fused.end(), *chained.end()) == (1, 1) {
        return Err(Refusal::OneStep);
    }
    let range = |range: RangeInclusive<usize>, what| match (*range.start(), *range.end()) {
        (1, 1) => format!("one {what}"),
        (least, most) if least == most => format!("{least} {what}s"),
        (least, most) => format!("{least} to {most} {what}s"),
    };
    Err(if fused.contains(&fuse) {
        Refusal::Chain(format!(
            "{family} takes {} in a launch, not {chain}",
            range(chained, "sweep")
        ))
    } else {
        Refusal::Fuse(format!("{family} takes {} in a sum, not {fuse}", range(fused, "time step")))
    })
}

/// What was found at some depths.
struct DepthSchedules {
    found: Vec<TimedLaunch>,
    rejected: Vec<RefusedFamily>,
}

/// A launch with the predicted seconds of a step of many.
struct TimedLaunch {
    proposal: Proposal,
    seconds: f64,
}

/// The launches for what remains where most steps take another.
struct Remainders<'a> {
    search: &'a ScheduleSearch<'a>,
    job: &'a Job,
    found: &'a [TimedLaunch],
    /// Launches of one sweep with depths that were not asked for, by fused steps.
    others: BTreeMap<usize, Result<Proposal, Refusal>>,
}

impl Remainders<'_> {
    /// The launches for all steps of a job if most take one.
    ///
    /// # Errors
    /// There is none for the steps that remain.
    fn way(&mut self, first: &Proposal) -> Result<Schedule, Refusal> {
        let mut launches = vec![first.clone()];
        if first.chain > 1 {
            launches.extend(self.between(first));
            launches.extend(self.best(first.fuse).ok());
            launches.dedup();
        } else if first.fuse > 1 {
            launches.extend(self.rest(first));
        }
        if launches.iter().all(|launch| launch.steps() > 1) {
            launches.push(self.best(1)?);
        }
        let seconds_per_step = self.mean_seconds(&launches);
        Ok(Schedule { launches, seconds_per_step })
    }

    /// The fastest launch of a shorter chain for the steps that a chain leaves, if some of them fill one.
    fn between(&self, first: &Proposal) -> Option<Proposal> {
        let left = self.job.steps % first.steps();
        let shorter = |one: &&TimedLaunch| {
            let Proposal { fuse, chain, .. } = one.proposal;
            fuse == first.fuse && chain > 1 && fuse * chain <= left
        };
        fastest(self.found.iter().filter(shorter))
    }

    /// The fastest launch for all the steps that sums leave, as one sum, if that is faster than one step after the
    /// other.
    fn rest(&mut self, first: &Proposal) -> Option<Proposal> {
        let left = self.job.steps % first.fuse;
        if left < 2 {
            return None;
        }
        let [rest, one] = [left, 1].map(|fuse| self.best(fuse).ok());
        let Self { search, job, .. } = self;
        let seconds = |launch: &Proposal| search.seconds(job, launch);
        rest.filter(|rest| one.is_none_or(|one| seconds(rest) < seconds(&one)))
    }

    /// The fastest launch of one sweep of so many fused steps.
    ///
    /// # Errors
    /// There is none.
    fn best(&mut self, fuse: usize) -> Result<Proposal, Refusal> {
        let fits = |one: &&TimedLaunch| (one.proposal.fuse, one.proposal.chain) == (fuse, 1);
        if let Some(known) = fastest(self.found.iter().filter(fits)) {
            return Ok(known);
        }
        let Self { search, job, .. } = *self;
        let other = || {
            let depths = (Depth::Steps(fuse), Depth::Steps(1));
            let of = |kernel| {
                search.explore(&Job { fuse: depths.0, chain: depths.1, kernel, ..job.clone() })
            };
            // A family that was asked for may take no single sweeps: then any of the unit does.
            let mut explored = of(job.kernel);
            if explored.found.is_empty() && job.kernel.is_some() {
                explored = of(None);
            }
            // The unit may have none but those that only who asks for them gets.
            if explored.found.is_empty() && job.kernel.is_some() {
                let named = search.unit.families().filter(|family| family.only_if_asked());
                let mut named = named.map(|family| of(Some(family.name())));
                explored = named.find(|named| !named.found.is_empty()).unwrap_or(explored);
            }
            fastest(explored.found.iter()).ok_or_else(|| explored.nearest())
        };
        self.others.entry(fuse).or_insert_with(other).clone()
    }

    /// Predicted seconds of a step, on average over the steps of the job.
    fn mean_seconds(&self, launches: &[Proposal]) -> f64 {
        let Self { search, job, .. } = self;
        if job.steps == 0 {
            return search.seconds(job, &launches[0]);
        }
        let (mut left, mut seconds) = (job.steps, 0.0);
        for launch in launches {
            let steps = left - left % launch.steps();
            if steps > 0 {
                seconds += steps as f64 * search.seconds(job, launch);
            }
            left -= steps;
        }
        seconds / job.steps as f64
    }
}

/// The fastest of some launches.
fn fastest<'a>(all: impl Iterator<Item = &'a TimedLaunch>) -> Option<Proposal> {
    all.min_by(|a, b| a.seconds.total_cmp(&b.seconds)).map(|one| one.proposal.clone())
}

impl DepthSchedules {
    /// Of those with the fewest steps, why the one that was nearest to being possible is not.
    fn nearest(&self) -> Refusal {
        let nearest = Refusal::nearest(self.rejected.iter().map(RefusedFamily::by_steps));
        nearest.cloned().unwrap_or(Refusal::Family)
    }
}
