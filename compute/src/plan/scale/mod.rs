// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a job would take on many GPUs, on paper: the geometry of its parts, counted; launches on them, as the planner
//! predicts them; messages, by a [`Network`]'s bandwidths and latencies.
//!
//! A step's time is the mean over those between two exchanges, of which there are `k` launches, each on a part with its
//! ghosts (`T`). After them ghosts are got anew (`X`, and `F` that nothing hides):
//!
//! - **after** a launch: `k T + X + F`;
//! - **beside** one: before the last launch the edges that neighbours wait for are computed by themselves (`E`), and
//!   their messages move while that goes on: `k T + E + max(0, X - T) + F`. That messages take some of the memory's
//!   bandwidth from the launch is neglected.
//!
//! Which of both, and how often, is what the program does with so many GPUs (`plan::shared`).

mod cluster;
mod curve;
mod launch;
mod messages;
mod prediction;
#[cfg(test)]
mod tests;

pub use cluster::Cluster;
pub use curve::{CurvePoint, Curves, MOST_GPUS};
pub use prediction::{GhostExchange, Prediction, ScalingMode, Times};

use super::choice::reasons;
use super::shared::{Shared, UNITS, shared};
use super::{Candidate, Planned, RunTarget, on_gpu};
use crate::engine::on_gpu as grids;
use crate::families::Unit;
use crate::ranks::edges::Band;
use crate::ranks::engine::ExchangeInterval;
use crate::ranks::halo::Transfers;
use crate::ranks::part::RankPart;
use crate::ranks::{Carrier, Partition};
use cluster::NodePlacement;
use launch::SharedLaunch;
use messages::{messages, traffic};
use problem::boundary::Side;
use problem::bytes::Bytes;
use problem::region::Region;
use problem::{Error, Job, Shape};
use transform::machine::Machine;
use transform::network::{Network, Traffic};

/// More bytes than any GPUs have together; of a grid that fits, the points can be counted, with its halo.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// A job that many GPUs are to share.
pub struct Scale<'a> {
    /// Of strong scaling the whole of it, of weak scaling what one GPU would have by itself.
    job: &'a Job,
    mode: ScalingMode,
    target: &'a RunTarget,
    network: &'a Network,
    /// Of strong scaling, where every number of GPUs has the same grid.
    planned: Option<Planned>,
    /// Seconds of a step on one GPU, whether its memory would do or not.
    alone_s: f64,
}

impl<'a> Scale<'a> {
    /// Plans it for one GPU.
    ///
    /// # Errors
    /// No engine of the GPU takes it.
    pub fn new(
        job: &'a Job,
        mode: ScalingMode,
        target: &'a RunTarget,
        network: &'a Network,
    ) -> Result<Self, Error> {
        let mut scale = Self { job, mode, target, network, planned: None, alone_s: f64::NAN };
        let planned = scale.plan(job)?;
        scale.planned = Some(planned);
        let one = scale.predict(Cluster::of_full_nodes(1, 1))?;
        scale.alone_s = one.after.times.seconds_per_step;
        if mode == ScalingMode::Weak {
            scale.planned = None;
        }
        Ok(scale)
    }

    /// What is predicted of so many GPUs.
    ///
    /// # Errors
    /// The grid cannot be cut into so many parts, no engine takes them, or their GPUs have not enough memory.
    pub fn on(&self, cluster: Cluster) -> Result<Prediction, Error> {
        let prediction = self.predict(cluster)?;
        let GhostExchange { held, .. } = prediction.way();
        let (need, total) = (prediction.way().memory(), Bytes(self.target.machine.memory_bytes));
        if need > total {
            let what = format!("parts of {held} {} values", self.job.dtype);
            return Err(Error::GpuMemory { what, need, total });
        }
        Ok(prediction)
    }

    /// The launches for a whole grid. One that is longer than launches can address is planned as the grid of one GPU.
    fn plan(&self, whole: &Job) -> Result<Planned, Error> {
        // What one GPU cannot hold is planned for as if it could: the ideal that others are compared with.
        let machine = Machine { memory_bytes: MOST_BYTES, ..self.target.machine.clone() };
        let target = RunTarget { machine, ..self.target.clone() };
        let planned = match grids::check_extents("cuda", whole.shape) {
            Ok(()) => on_gpu(&target, whole),
            Err(_) => on_gpu(&target, self.job),
        };
        if planned.ranked.is_empty() {
            let refusal = |unit: Unit| planned.refusal(unit.engine()).cloned();
            let named = |unit: Unit| Some((unit.engine(), refusal(unit)?));
            let all: Vec<_> = Unit::ALL.into_iter().filter_map(named).collect();
            return Err(Error::NoEngine { reasons: reasons(&all, ": ") });
        }
        Ok(planned)
    }

    /// As [`Scale::on`], of GPUs with as much memory as that takes.
    fn predict(&self, cluster: Cluster) -> Result<Prediction, Error> {
        let whole = &match self.mode {
            ScalingMode::Strong => self.job.clone(),
            ScalingMode::Weak => {
                Job { shape: grown(self.job.shape, cluster.gpus)?, ..self.job.clone() }
            }
        };
        let partition = Partition::for_ranks(whole.shape, cluster.gpus, UNITS)?;
        let own_plan;
        let planned = match &self.planned {
            Some(planned) => planned,
            None => {
                own_plan = self.plan(whole)?;
                &own_plan
            }
        };
        // The first that the parts can be given, too.
        let mut refused = None;
        for candidate in &planned.ranked {
            match self.by(candidate, whole, &partition, cluster) {
                Ok(prediction) => return Ok(prediction),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.expect("at least one candidate was refused"))
    }

    /// By the launches of one candidate.
    fn by(
        &self,
        candidate: &Candidate,
        whole: &Job,
        partition: &Partition,
        cluster: Cluster,
    ) -> Result<Prediction, Error> {
        let target = self.target;
        let of = |asked| {
            let job = (whole, target.limits);
            shared(candidate, job, partition, Carrier::Auto, (None, asked))
        };
        let Shared { launched, rhythm } = of(None)?;
        let launch = &SharedLaunch { target, whole, launched: &launched[0] };
        let way = |rhythm| self.way(launch, partition, cluster, rhythm);
        let taken = way(rhythm)?;
        let edges = rhythm.edges && cluster.gpus > 1;
        // What the program does, and what else it could.
        let (after, beside) = match cluster.gpus {
            1 => (taken, None),
            _ if edges => (way(of(Some(false))?.rhythm)?, Some(taken)),
            _ => (taken, of(Some(true)).and_then(|other| way(other.rhythm)).ok()),
        };
        let largest = (0..partition.ranks()).map(|rank| partition.own(rank));
        let own = largest.max_by_key(Region::points).expect("a rank");
        let mut prediction = Prediction {
            cluster,
            mode: self.mode,
            grid: whole.shape.to_string(),
            cut: partition.describe(),
            own: launch.job(own, whole.boundary)?.shape.to_string(),
            launch: candidate.to_string(),
            launch_steps: launch.steps(),
            edges,
            after,
            beside,
            gstencils_per_s: f64::NAN,
        };
        let step_s = prediction.way().times.seconds_per_step;
        prediction.gstencils_per_s = whole.shape.points() as f64 / step_s / 1e9;
        Ok(prediction)
    }

    /// With messages that move after a launch, or beside it where edges come first.
    fn way(
        &self,
        launch: &SharedLaunch,
        partition: &Partition,
        cluster: Cluster,
        ExchangeInterval { period, edges }: ExchangeInterval,
    ) -> Result<GhostExchange, Error> {
        let (whole, steps) = (launch.whole, launch.steps());
        let beside = edges && cluster.gpus > 1;
        let reach = whole.stencil.radii().map(|radius| radius * period);
        let part = |rank| RankPart::new(partition, rank, &whole.boundary, reach, UNITS);
        let parts: Vec<RankPart> = (0..partition.ranks()).map(part).collect();
        let largest = parts.iter().max_by_key(|part| part.held.points()).expect("a rank");
        let boundary = largest.boundary(&whole.boundary, Side::Open);
        let own = launch.job(largest.own, boundary)?;
        let held = launch.job(largest.held, boundary)?;
        let (own_s, held_s) = (launch.seconds(&own)?, launch.seconds(&held)?);
        let exchange = self.exchange(whole, partition, &parts, cluster);
        let Exchange { placing, traffic, seconds } = exchange;
        let ideal_s = match self.mode {
            _ if cluster.gpus == 1 => held_s / steps as f64,
            ScalingMode::Strong => self.alone_s / cluster.gpus as f64,
            ScalingMode::Weak => self.alone_s,
        };
        let is_cut = cluster.gpus > 1;
        let fixed_s = if is_cut { self.network.exchange_s } else { 0.0 };
        let bands = match beside {
            true => bands(launch, partition, &parts, &held, largest)?,
            false => Vec::new(),
        };
        let edges_s: f64 =
            bands.iter().map(|band| self.band_s(launch, band)).sum::<Result<_, _>>()?;
        let hidden_s = if beside { held_s } else { 0.0 };
        let computing_s = (period / steps) as f64 * held_s + edges_s;
        let exposed_s = (seconds - hidden_s).max(0.0) + fixed_s;
        let [computing_s, exposed_s] = [computing_s, exposed_s].map(|all| all / period as f64);
        // What is sent, and what comes, in two halves that take turns; of a band two planes.
        let of_bands = bands.iter().map(|band| grids::bytes(band.shape, band.dtype) / 3 * 2);
        let memory = grids::bytes(held.shape, held.dtype)
            + 3 * u128::from(traffic.bytes())
            + of_bands.sum::<u128>();
        Ok(GhostExchange {
            period_steps: is_cut.then_some(period),
            held: held.shape.to_string(),
            traffic,
            node_block: placing.block,
            in_order: placing.in_order,
            exchange_s: seconds + fixed_s,
            memory_bytes: Bytes::saturating(memory).0,
            times: Times::new(computing_s, exposed_s, own_s / steps as f64, ideal_s),
        })
    }

    /// Seconds of a band, which is copied out of the part before.
    fn band_s(&self, launch: &SharedLaunch, band: &Job) -> Result<f64, Error> {
        let machine = &self.target.machine;
        let bytes = 2.0 * (band.shape.points() * band.dtype.bytes()) as f64;
        let copied_s = machine.launch_s + bytes / machine.copy_bytes_per_s;
        Ok(copied_s + launch.seconds(band)?)
    }

    /// The slowest rank's messages, with nodes that have such parts that these are fastest.
    fn exchange(
        &self,
        whole: &Job,
        partition: &Partition,
        parts: &[RankPart],
        cluster: Cluster,
    ) -> Exchange {
        let bytes = whole.dtype.bytes();
        let all: Vec<_> = parts.iter().map(|part| messages(partition, part, bytes)).collect();
        let exchanges = NodePlacement::all(partition, cluster).into_iter().map(|placing| {
            let ranks = all.iter().enumerate().map(|(rank, own)| traffic(rank, own, &placing));
            let seconds = |traffic: Traffic| (traffic, self.network.seconds(&traffic));
            let slowest = ranks.map(seconds).max_by(|a, b| a.1.total_cmp(&b.1));
            let (traffic, seconds) = slowest.expect("a rank");
            Exchange { placing, traffic, seconds }
        });
        // Of equal ones the first, which is that in order.
        exchanges.min_by(|a, b| a.seconds.total_cmp(&b.seconds)).expect("that in order")
    }
}

/// An exchange of ghosts.
struct Exchange {
    placing: NodePlacement,
    traffic: Traffic,
    /// Of the slowest rank.
    seconds: f64,
}

/// What is computed by itself of a part's edges: around each box that it sends.
fn bands(
    launch: &SharedLaunch,
    partition: &Partition,
    parts: &[RankPart],
    held: &Job,
    part: &RankPart,
) -> Result<Vec<Job>, Error> {
    let sends = Transfers::new(partition, parts, part.rank).sends;
    let reach = launch.reach();
    let band = |inner| Band::new(inner, held, &part.seams(), reach, UNITS).job(held);
    sends.into_iter().map(|transfer| band(transfer.region)).collect()
}

/// A grid of so many times as many points, grown along its axes as evenly as that number's factors allow, the slower axes
/// first.
fn grown(shape: Shape, times: usize) -> Result<Shape, Error> {
    let (mut left, mut factor, mut factors) = (times, 2, Vec::new());
    while left > 1 {
        if left.is_multiple_of(factor) {
            factors.push(factor);
            left /= factor;
        } else {
            factor += 1;
        }
    }
    let mut growth = vec![1; shape.dims()];
    for factor in factors.into_iter().rev() {
        *growth.iter_mut().min().expect("an axis") *= factor;
    }
    let extents = shape.axes().iter().zip(growth);
    Shape::new(&extents.map(|(extent, by)| extent.saturating_mul(by)).collect::<Vec<_>>())
}
