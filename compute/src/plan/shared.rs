// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ranks that share a grid compute it with: the first candidate for the whole grid whose kernels take every part, so
//! that the result has the bits of one rank.

mod jumps;

use super::choice::{self, Choice};
use super::{Candidate, Forecast, Planned, RunTarget, by_units, on_gpu};
use crate::device::Limits;
use crate::engine::cpu::{self, Cpu};
use crate::engine::{Engine, EngineRequest, emulate};
use crate::families::{Proposal, Unit};
use crate::ranks::engine::{Exchange, ExchangeInterval, PartSweep, RankedEngine, Ranks};
use crate::ranks::part::RankPart;
use crate::ranks::{Carrier, GpuStepping, Launched, Partition, RankEngine, propose};
use problem::boundary::Side;
use problem::{Depth, Error, Job, Shape};
use transform::machine::Machine;

/// Who shares a grid, and how.
#[derive(Clone)]
pub struct Sharing {
    /// Who.
    pub ranks: Ranks,
    /// Slices of the axes (z, y, x), if that is asked for.
    pub split: Option<[usize; 3]>,
    /// The number of each rank's GPU; none where each takes the one of its number on its machine.
    pub devices: Option<Vec<usize>>,
    /// What carries ghosts from GPU to GPU.
    pub carrier: Carrier,
    /// Steps between two exchanges of ghosts, if that is asked for: as many launches as take about as many.
    pub period: Option<usize>,
    /// Whether GPUs compute the edges of their parts first, if that is asked for.
    pub edges: Option<bool>,
}

impl Sharing {
    /// Among these, cut as is best.
    #[must_use]
    pub fn among(ranks: Ranks) -> Self {
        let (split, devices, carrier, period, edges) = Default::default();
        Self { ranks, split, devices, carrier, period, edges }
    }

    /// Of so many bytes of a whole grid those of the parts that ranks of this machine have.
    #[must_use]
    pub fn here(&self, bytes: u128) -> u128 {
        match &self.ranks {
            Ranks::Threads(_) => bytes,
            Ranks::Processes(post) => {
                (bytes * post.local_ranks() as u128).div_ceil(post.ranks() as u128)
            }
        }
    }

    /// How a grid is cut, at multiples of units.
    ///
    /// # Errors
    /// [`Error::Split`].
    pub fn partition(&self, shape: Shape, units: [usize; 3]) -> Result<Partition, Error> {
        let count = self.ranks.count();
        let Some(split) = self.split else { return Partition::for_ranks(shape, count, units) };
        let parts: usize = split.iter().product();
        if parts != count {
            let reason = format!("{count} ranks cannot share a grid cut into {parts} parts");
            return Err(Error::Split { reason });
        }
        Partition::new(shape, split, units)
    }

    /// The choice of an engine whose parts may end anywhere.
    fn anywhere(
        &self,
        (name, with): (&'static str, RankEngine),
        partition: Partition,
        rhythm: ExchangeInterval,
        why: String,
    ) -> Choice {
        let (ranks, units, describer) = (self.ranks.clone(), [1; 3], choice::abilities_of as _);
        let engine = RankedEngine { name, with, ranks, partition, units, rhythm, describer };
        Choice::only(engine, why)
    }

    /// An engine of ranks for the first of a GPU's candidates that can be shared.
    fn on_devices(
        &self,
        planned: &Planned,
        (job, limits): (&Job, Limits),
        with: impl Fn(GpuStepping) -> RankEngine,
    ) -> Result<Option<RankedEngine>, Error> {
        let partition = self.partition(job.shape, UNITS)?;
        let mut refused = None;
        let asked = (self.period, self.edges);
        for candidate in &planned.ranked {
            match shared(candidate, (job, limits), &partition, self.carrier, asked) {
                Ok(Shared { launched, rhythm }) => {
                    return Ok(Some(RankedEngine {
                        name: candidate.engine,
                        with: with(GpuStepping::Launches(launched)),
                        ranks: self.ranks.clone(),
                        partition,
                        units: UNITS,
                        rhythm,
                        describer: choice::abilities_of,
                    }));
                }
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        refused.map_or(Ok(None), Err)
    }
}

/// How GPUs share what a candidate for the whole grid computes.
pub(super) struct Shared {
    /// Its launches, for each part to be proposed again.
    pub launched: Vec<Launched>,
    /// When ghosts are exchanged.
    pub rhythm: ExchangeInterval,
}

/// How the parts share a candidate that each of them can take, with the best rhythm or the one that is asked for.
///
/// # Errors
/// [`Error::Split`]: one does not.
pub(super) fn shared(
    Candidate { launches, .. }: &Candidate,
    (job, limits): (&Job, Limits),
    partition: &Partition,
    carrier: Carrier,
    asked: (Option<usize>, Option<bool>),
) -> Result<Shared, Error> {
    let steps = launches.iter().map(Proposal::steps).max().unwrap_or(1);
    let launched: Vec<_> = launches.iter().map(|one| Launched::new(one, job)).collect();
    let exchange = Exchange::of_gpu(steps, UNITS);
    let exchange = match carrier {
        Carrier::Host => exchange.through_host(),
        _ => exchange,
    };
    let rhythm = exchange.exchange_interval(&PartSweep::of(job), partition, asked);
    takes_all(&launched, (job, limits), partition, rhythm.period)?;
    Ok(Shared { launched, rhythm })
}

/// On a GPU parts and their ghosts end with whole tiles of every kernel, so that each own point is computed as in the whole
/// grid: on each axis (z, y, x) at multiples of so many points. Ghosts beyond the ends of a periodic axis that is no whole
/// number of tiles lie elsewhere in tiles, see [`Setup::rounds_otherwise`](crate::ranks::Setup::rounds_otherwise).
pub const UNITS: [usize; 3] = [1, 16, 64];

/// That kernels take all parts of a grid.
///
/// # Errors
/// [`Error::Split`]: one does not.
fn takes_all(
    launched: &[Launched],
    (job, limits): (&Job, Limits),
    partition: &Partition,
    period: usize,
) -> Result<(), Error> {
    let reach = job.stencil.radii().map(|radius| radius * period);
    let mut seen: Vec<Job> = Vec::new();
    for rank in 0..partition.ranks() {
        let part = RankPart::new(partition, rank, &job.boundary, reach, UNITS);
        let boundary = part.boundary(&job.boundary, Side::Open);
        let own = Job { shape: part.shape()?, boundary, steps: period, ..job.clone() };
        if !seen.contains(&own) {
            launched.iter().try_for_each(|one| propose(one, &own, limits).map(drop))?;
            seen.push(own);
        }
    }
    Ok(())
}

/// Plans a job that ranks share.
///
/// # Errors
/// The engine that was asked for cannot run it, or it cannot be cut.
pub fn choose_shared(
    request: EngineRequest,
    job: &Job,
    sharing: &Sharing,
) -> Result<Choice, Error> {
    let among = |units: &[Unit]| by_gpus(units, job, sharing);
    match request {
        EngineRequest::Cpu => by_cpu(job, sharing),
        EngineRequest::Fft => jumps::choose(job, sharing),
        EngineRequest::Auto if job.jump != Depth::Auto => jumps::choose(job, sharing),
        EngineRequest::Emulate => emulated(job, sharing),
        EngineRequest::Sparse => among(&[Unit::SparseTensorCores]),
        EngineRequest::Dense => among(&[Unit::DenseTensorCores]),
        EngineRequest::Cuda => among(&[Unit::CudaCores]),
        EngineRequest::Auto => match RunTarget::here() {
            Ok(_) => among(&Unit::ALL),
            Err(error) if sharing.devices.is_some() => Err(error),
            Err(_) => by_cpu(job, sharing),
        },
    }
}

fn by_cpu(job: &Job, sharing: &Sharing) -> Result<Choice, Error> {
    cpu::check(job).map_err(|refusal| refusal.error(Cpu.name()))?;
    let partition = sharing.partition(job.shape, [1; 3])?;
    let asked = (sharing.period, sharing.edges);
    let rhythm = Exchange::of_cpu(job).exchange_interval(&PartSweep::of(job), &partition, asked);
    Ok(sharing.anywhere((Cpu.name(), RankEngine::Cpu), partition, rhythm, "asked for".into()))
}

fn by_gpus(units: &[Unit], job: &Job, sharing: &Sharing) -> Result<Choice, Error> {
    let mut target = RunTarget::here()?;
    // Together they have so much.
    target.machine.memory_bytes *= sharing.ranks.count() as u64;
    let planned = by_units(units, &target, job);
    let with = |by| {
        let (devices, carrier) = (sharing.devices.clone(), sharing.carrier);
        RankEngine::Gpu { by, devices, carrier }
    };
    let Some(engine) = sharing.on_devices(&planned, (job, target.limits), with)? else {
        let engine = units[0].engine();
        return Err(planned.refusal(engine).expect("no engine takes it").error(engine));
    };
    let forecast = Forecast::default();
    let why = "the fastest that can be shared".into();
    Ok(Choice { forecast, stale_speeds: target.stale_speeds, ..Choice::only(engine, why) })
}

fn emulated(job: &Job, sharing: &Sharing) -> Result<Choice, Error> {
    emulate::Emulate::check(job)?;
    let planned = on_gpu(&RunTarget::described(Machine::h200()), job);
    let engine = sharing.on_devices(&planned, (job, Limits::H200), RankEngine::Emulated)?;
    match engine {
        Some(engine) => {
            Ok(Choice::only(RankedEngine { name: emulate::NAME, ..engine }, "asked for".into()))
        }
        // It says why there is none.
        None => choice::choose(EngineRequest::Emulate, job),
    }
}

#[cfg(test)]
mod tests;
