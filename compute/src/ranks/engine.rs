// SPDX-License-Identifier: MIT OR Apache-2.0
//! An engine that ranks run, each on its part.

use super::member::{Member, of_sum, serve};
use super::messenger::Messenger;
use super::partition::Partition;
use super::setup::{GpuStepping, RankEngine, Setup};
use super::team::Team;
use super::threads::Threads;
use crate::engine::fft::on_gpu::Describer;
use crate::engine::{Engine, Input, Session, SumSession, fft};
use problem::{Depth, Error, Job, Shape};
use std::rc::Rc;
use std::thread::{self, JoinHandle};

/// The ranks that share a grid.
#[derive(Clone)]
pub enum Ranks {
    /// So many threads of this process, each with a device of its own or a share of the cores.
    Threads(usize),
    /// Processes, of which this is rank 0.
    Processes(Rc<dyn Messenger>),
}

impl Ranks {
    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Threads(count) => *count,
            Self::Processes(post) => post.ranks(),
        }
    }

    /// Rank 0's post, and the other ranks where they are threads of this process; those make their members of what they are
    /// told first.
    pub fn start(
        &self,
        make: impl Fn(&[u8], &Rc<dyn Messenger>) -> Result<Member<dyn Session>, Error>
        + Clone
        + Send
        + 'static,
    ) -> (Rc<dyn Messenger>, Vec<JoinHandle<()>>) {
        let count = match self {
            Self::Processes(post) => return (Rc::clone(post), Vec::new()),
            Self::Threads(count) => *count,
        };
        let mut ends = Threads::new(count).into_iter();
        let own: Rc<dyn Messenger> = Rc::new(ends.next().expect("at least one rank"));
        let run = |end: Threads| {
            let (name, make) = (format!("rank {}", end.rank()), make.clone());
            let serve = move || {
                let post: Rc<dyn Messenger> = Rc::new(end);
                // Rank 0 has been told what it failed with.
                let _ = serve(&post, &make);
            };
            thread::Builder::new().name(name).spawn(serve).expect("a thread starts")
        };
        (own, ends.map(run).collect())
    }
}

/// The engine that every rank runs on its part.
pub struct RankedEngine {
    /// The engine's name.
    pub name: &'static str,
    /// What each rank computes with.
    pub with: RankEngine,
    /// Who they are.
    pub ranks: Ranks,
    /// How the grid is cut.
    pub partition: Partition,
    /// Cuts and the ends of ghosts lie at multiples of these.
    pub units: [usize; 3],
    /// When ghosts are exchanged.
    pub rhythm: ExchangeInterval,
    /// Says what each rank's GPU has and does, where ranks jump: the planner knows, which is above this module.
    pub describer: Describer,
}

/// What an exchange of ghosts costs, in the bytes that memory moves in that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// Steps of a launch.
    launch: usize,
    /// However little is exchanged.
    latency: f64,
    /// For each byte that is.
    byte: f64,
    /// Launches between exchanges, at most.
    most: usize,
    /// Where edges can be computed first.
    edges: Option<EdgeCost>,
}

/// What it costs instead where edges are computed first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EdgeCost {
    /// However little is exchanged.
    latency: f64,
    /// Ends of what is computed lie at multiples of these.
    units: [usize; 3],
}

/// Of computing thin edges by themselves: so many times what as many points cost in the launch.
const THIN: f64 = 2.5;

/// How exchanges are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeInterval {
    /// Steps between two of them: whole launches.
    pub period: usize,
    /// Whether edges are computed first.
    pub edges: bool,
}

/// How parts are swept: what a launch of them costs, and what its ghosts do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartSweep {
    /// The whole grid.
    pub shape: Shape,
    /// How far a step reads along z, y, x.
    pub reach: [usize; 3],
    /// Bytes of a point that a step reads and writes, halved.
    pub bytes: f64,
    /// Bytes of a ghost that are exchanged after each step, and where there are more steps between two exchanges.
    pub ghost_bytes: [f64; 2],
    /// Steps in all.
    pub steps: usize,
}

impl PartSweep {
    /// A stencil's grid.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        let (shape, reach, steps) = (job.shape, job.stencil.radii(), job.steps);
        let bytes = job.dtype.bytes() as f64;
        Self { shape, reach, bytes, ghost_bytes: [bytes; 2], steps }
    }
}

impl Exchange {
    /// On a GPU, with launches of so many steps: as measured on two H200s that NVLink connects, at 1/10 of the speed of their
    /// memory. Edges that are computed first take 50 microseconds, since a launch that fills the GPU leaves them no room
    /// until it ends; that is worth it only where what carries points is slower.
    #[must_use]
    pub fn of_gpu(launch: usize, units: [usize; 3]) -> Self {
        let edges = Some(EdgeCost { latency: 2e8, units });
        Self { launch, latency: 5e7, byte: 10.0, most: 64, edges }
    }

    /// Sets the costs of messages through the machine's memory instead of between GPUs.
    #[must_use]
    pub fn through_host(self) -> Self {
        Self { latency: 1e9, byte: 1000.0, ..self }
    }

    /// On CPUs, by messages of some 50 microseconds.
    #[must_use]
    pub fn of_cpu(job: &Job) -> Self {
        let launch = if let Depth::Steps(depth) = job.chain { depth } else { 1 };
        Self { launch, latency: 1e6, byte: 4.0, most: 64, edges: None }
    }

    /// What one of so many bytes costs.
    #[must_use]
    pub fn bytes(&self, ghosts: f64) -> f64 {
        self.latency + self.byte * ghosts
    }

    /// The rhythm that is predicted to cost least, or as it is asked for.
    #[must_use]
    pub fn exchange_interval(
        &self,
        sweep: &PartSweep,
        partition: &Partition,
        (period, edges): (Option<usize>, Option<bool>),
    ) -> ExchangeInterval {
        let needed = sweep.steps.div_ceil(self.launch).clamp(1, self.most);
        let launches = match period {
            Some(steps) => steps.div_ceil(self.launch).max(1)..=steps.div_ceil(self.launch).max(1),
            None => 1..=needed,
        };
        let own = CutShare::new(sweep, partition, self.launch);
        let ways = launches.flat_map(|launches| {
            let with = self.edges.filter(|_| edges != Some(false)).map(|with| {
                let (band, part) = (own.edges(launches, with.units), own.part_bytes);
                (launches, true, with.latency / (2.0 * part) + THIN * band)
            });
            let must = with.is_some() && edges == Some(true);
            let bytes = sweep.ghost_bytes[usize::from(launches * self.launch > 1)];
            let sent = own.ghosts(launches) * own.part_points * bytes;
            let exposed = (self.latency + self.byte * sent) / 2.0 / own.part_bytes;
            let without = (!must).then_some((launches, false, exposed));
            with.into_iter().chain(without)
        });
        let cost = |&(launches, _, exchange): &(usize, bool, f64)| {
            own.ghosts(launches) + exchange / launches as f64
        };
        let best = ways.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let (launches, edges, _) = best.expect("one launch at least");
        ExchangeInterval { period: launches.saturating_mul(self.launch), edges }
    }
}

/// What of a part lies near its cuts.
struct CutShare {
    part_points: f64,
    part_bytes: f64,
    /// Of each axis (z, y, x) that is cut: sides with neighbours, points that a launch reaches and that the part has.
    axes: Vec<(usize, f64, f64, f64)>,
}

impl CutShare {
    fn new(sweep: &PartSweep, partition: &Partition, launch: usize) -> Self {
        let counts = partition.counts();
        let axes = (0..3).filter(|&axis| counts[axis] > 1).map(|axis| {
            let length = sweep.shape.extents()[axis] as f64 / counts[axis] as f64;
            let sides = if counts[axis] == 2 { 1.0 } else { 2.0 };
            (axis, sides, (sweep.reach[axis] * launch) as f64, length)
        });
        let points = sweep.shape.points() as f64 / partition.ranks() as f64;
        Self { part_points: points, part_bytes: points * sweep.bytes, axes: axes.collect() }
    }

    /// Ghosts for so many launches, of the part.
    fn ghosts(&self, launches: usize) -> f64 {
        let of_axis = |&(_, sides, reach, length): &(usize, f64, f64, f64)| {
            sides * reach * launches as f64 / length
        };
        self.axes.iter().map(of_axis).sum()
    }

    /// What is computed first of the part.
    fn edges(&self, launches: usize, units: [usize; 3]) -> f64 {
        let of_axis = |&(axis, sides, reach, length): &(usize, f64, f64, f64)| {
            sides * (reach * (launches + 2) as f64 + 2.0 * units[axis] as f64) / length
        };
        self.axes.iter().map(of_axis).sum()
    }
}

impl Engine for RankedEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn host_bytes(&self, job: &Job, input: Input) -> u128 {
        // The bytes of the whole grid: ghosts are few.
        let whole = match self.with {
            RankEngine::Cpu => crate::engine::cpu::Cpu.host_bytes(job, input),
            RankEngine::Fft => fft::Fft.host_bytes(job, input),
            RankEngine::Emulated(GpuStepping::Jumps)
            | RankEngine::Gpu { by: GpuStepping::Jumps, .. } => {
                fft::on_gpu::host_bytes_at_most(job, self.rhythm.period)
            }
            RankEngine::Emulated(_) | RankEngine::Gpu { .. } => 0,
        };
        match self.ranks {
            Ranks::Threads(_) => whole,
            Ranks::Processes(ref post) => whole * post.local_ranks() as u128 / post.ranks() as u128,
        }
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn SumSession>, Error> {
        let Self { partition, units, with, describer, .. } = self;
        let describer = *describer;
        let ExchangeInterval { period, edges } = self.rhythm;
        let setup = Setup::new(job, partition, *units, period, with.clone());
        let setup = setup.with_edges(edges);
        let make = move |message: &[u8], post: &Rc<dyn Messenger>| of_sum(message, post, describer);
        let (post, threads) = self.ranks.start(make);
        Ok(Box::new(Team::of_sum(&setup, post, threads, describer)?))
    }
}
