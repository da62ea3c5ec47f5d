// SPDX-License-Identifier: MIT OR Apache-2.0
//! An engine that ranks run, each on its part.

use super::member::serve;
use super::partition::Partition;
use super::post::Post;
use super::setup::{Setup, With};
use super::team::Team;
use super::threads::Threads;
use crate::engine::{Engine, Input, Session};
use crate::{Error, Job};
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
}

/// Steps between exchanges: whole launches of so many, as many as keep ghosts small beside the parts.
#[must_use]
pub fn period(job: &Job, partition: &Partition, launch: usize) -> usize {
    /// Points of a part for each of its ghosts, along an axis.
    const SHARE: usize = 32;
    /// What an exchange costs is then shared by so many launches.
    const MOST: usize = 16;
    let cut = (0..3).filter(|&axis| partition.counts()[axis] > 1);
    let launches = cut.filter_map(|axis| {
        let length = job.shape.extents()[axis] / partition.counts()[axis];
        (length / SHARE).checked_div(job.stencil.radii()[axis] * launch)
    });
    let needed = job.steps.div_ceil(launch).max(1);
    launches.min().unwrap_or(MOST).clamp(1, MOST).min(needed) * launch
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
            Ranks::Processes(_) => whole / self.ranks.count() as u128,
        }
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let Self { partition, units, period, with, .. } = self;
        let setup = Setup::new(job, partition, *units, *period, with.clone());
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
