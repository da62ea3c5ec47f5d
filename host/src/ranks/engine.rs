// SPDX-License-Identifier: MIT OR Apache-2.0
//! An engine that ranks run, each on its part.

use super::member::serve;
use super::partition::Partition;
use super::post::Post;
use super::setup::{Setup, With};
use super::team::Team;
use super::threads::Threads;
use crate::engine::{Engine, Input, Session};
use crate::{Depth, Error, Job};
use std::rc::Rc;
use std::thread;

/// Who shares a grid.
#[derive(Clone)]
pub enum Ranks {
    /// So many threads of this process, each with a device of its own or a share of the cores.
    Threads(usize),
    /// Processes, of which this is rank 0.
    Processes(Rc<dyn Post>),
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
}

/// What every rank runs.
pub struct RankedEngine {
    /// The engine's name.
    pub name: &'static str,
    /// What each rank computes with.
    pub with: With,
    /// Who they are.
    pub ranks: Ranks,
    /// How the grid is cut.
    pub partition: Partition,
    /// Cuts and the ends of ghosts lie at multiples of these.
    pub units: [usize; 3],
    /// Steps between two exchanges.
    pub period: usize,
    /// Whether devices compute edges by themselves first.
    pub edges: bool,
}

/// How much an exchange of ghosts costs beside a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rarity {
    /// Steps of a launch.
    launch: usize,
    /// What an exchange costs besides the points that it moves: as long as memory takes for so many bytes.
    bytes: f64,
    /// Launches between exchanges, at most.
    most: usize,
}

impl Rarity {
    /// On a GPU, with launches of so many steps: some 20 microseconds, or 6 where edges are computed first.
    #[must_use]
    pub fn of_gpu(launch: usize, edges: bool) -> Self {
        Self { launch, bytes: if edges { 2.5e7 } else { 8e7 }, most: 64 }
    }

    /// On CPUs, by messages of some 50 microseconds.
    #[must_use]
    pub fn of_cpu(job: &Job) -> Self {
        let launch = if let Depth::Steps(depth) = job.chain { depth } else { 1 };
        Self { launch, bytes: 1e6, most: 64 }
    }

    /// So many steps or more, as whole launches.
    #[must_use]
    pub fn whole_launches(&self, steps: usize) -> usize {
        steps.max(1).next_multiple_of(self.launch)
    }

    /// Of jumps, which take as long however far they go.
    #[must_use]
    pub fn of_jumps(job: &Job) -> Self {
        let launch = if let Depth::Steps(steps) = job.jump { steps } else { 1 };
        let points = job.shape.points() * job.dtype.bytes();
        Self { launch, bytes: 2.0 * points as f64, most: usize::MAX }
    }
}

/// Steps between exchanges: whole launches, of such a number that what an exchange costs, shared among them, and the ghosts
/// that are computed in vain, which are the more the deeper they are, cost least together.
#[must_use]
pub fn period(job: &Job, partition: &Partition, rarity: Rarity) -> usize {
    let Rarity { launch, bytes, most } = rarity;
    let part = job.shape.points() as f64 / partition.ranks() as f64;
    let exchange = bytes / (2.0 * part * job.dtype.bytes() as f64);
    // Of the points of a part, those that a launch's ghosts are.
    let ghosts = (0..3).filter(|&axis| partition.counts()[axis] > 1).map(|axis| {
        let length = job.shape.extents()[axis] as f64 / partition.counts()[axis] as f64;
        let sides = if partition.counts()[axis] == 2 { 1.0 } else { 2.0 };
        sides * (job.stencil.radii()[axis] * launch) as f64 / length
    });
    let ghosts: f64 = ghosts.sum();
    let best = if ghosts > 0.0 { (exchange / ghosts).sqrt().round() as usize } else { most };
    let needed = job.steps.div_ceil(launch).max(1);
    best.clamp(1, most).min(needed) * launch
}

impl Engine for RankedEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn host_bytes(&self, job: &Job, input: Input) -> u128 {
        // Those of the whole grid: ghosts are few.
        let whole = match self.with {
            With::Cpu => crate::engine::cpu::Cpu.host_bytes(job, input),
            With::Fft => crate::engine::fft::Fft.host_bytes(job, input),
            With::Emulated(_) | With::Gpu { .. } => 0,
        };
        match self.ranks {
            Ranks::Threads(_) => whole,
            Ranks::Processes(ref post) => whole * post.local_ranks() as u128 / post.ranks() as u128,
        }
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let Self { partition, units, period, with, .. } = self;
        let setup = Setup::new(job, partition, *units, *period, with.clone());
        let setup = setup.with_edges(self.edges);
        let (post, threads) = match &self.ranks {
            Ranks::Processes(post) => (Rc::clone(post), Vec::new()),
            Ranks::Threads(count) => {
                let mut ends = Threads::new(*count).into_iter();
                let own = ends.next().expect("at least one rank");
                let run = |end: Threads| {
                    let name = format!("rank {}", end.rank());
                    let serve = move || {
                        let post: Rc<dyn Post> = Rc::new(end);
                        // Rank 0 has been told what it failed with.
                        let _ = serve(&post);
                    };
                    thread::Builder::new().name(name).spawn(serve).expect("a thread starts")
                };
                let post: Rc<dyn Post> = Rc::new(own);
                (post, ends.map(run).collect())
            }
        };
        Ok(Box::new(Team::new(&setup, post, threads)?))
    }
}
