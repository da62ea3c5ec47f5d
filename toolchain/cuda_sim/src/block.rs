// SPDX-License-Identifier: MIT OR Apache-2.0
//! A block: its threads, its shared memory, its barriers and the copies under way.

use crate::clock::{Agent, Clock, Space};
use crate::config::{LANES, LaunchConfig, Stats};
use crate::fault::{Fault, FaultKind};
use crate::mbarrier::{Barrier, NamedBarrier};
use crate::memory::Memory;
use crate::pending::{Arrival, Copy, OwnCopies, Store};
use crate::products::{LaneOperand, Warpgroup};
use crate::released::{Handed, Released};
use crate::shadow::{Event, Proxy};
use crate::shared_memory::SharedMemory;
use crate::site::Site;
use crate::source::SourceLine;
use crate::statics::Static;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::ops::Range;

/// The most words that a lane gives to a collective: the largest product of f64 takes 8 + 4 + 4 numbers.
pub(crate) const OPERANDS: usize = 32;

/// What a lane gives to a collective, in words; unused ones are 0.
pub(crate) type LaneOperands = [u32; OPERANDS];

/// What a lane gets from a collective, in words; unused ones are 0.
pub(crate) type LaneResults = [u32; 8];

/// What each lane gets from a collective, or which one makes a mistake.
pub(crate) type CollectiveOutcome = Result<[LaneResults; LANES], (usize, FaultKind)>;

/// Executes a collective of a warp. A mistake names the lane that makes it.
pub(crate) type RunCollective =
    fn(&mut Block<'_>, warp: usize, &[LaneOperands; LANES]) -> CollectiveOutcome;

/// Executes a collective of the lanes that a mask names.
pub(crate) type MaskedRun =
    fn(&mut Block<'_>, warp: usize, &[LaneOperands; LANES], mask: u32) -> CollectiveOutcome;

/// What a thread is doing.
#[derive(Clone, Copy)]
pub(crate) enum State {
    /// Can go on.
    Ready,
    /// Waits for its warp, to execute this collective.
    Collective(&'static str),
    /// Waits for the block.
    BlockBarrier,
    /// Waits for a phase of the barrier at an address.
    Phase { at: u32, phase: i64 },
    /// Waits until its warpgroup has issued products.
    Products,
    /// Waits at the barrier of this number, for some of the block's warps.
    NamedBarrier(u32),
    /// Waits for its own `cp.async` copies, of batches up to this one.
    OwnCopies(u32),
    /// Waits until its own groups of bulk copies to global memory, up to this one, have read their
    /// sources.
    OwnStores(u32),
    /// Waits until the counter at an address of global memory has come to a value.
    Counter { at: usize, value: u32 },
    /// Has returned.
    Done,
}

pub(crate) struct Thread {
    pub state: State,
    pub clock: Clock,
    /// The last device function that it called.
    pub location: SourceLine,
    /// What it gives to the collective that it waits for.
    pub operands: LaneOperands,
    /// The lanes of its warp that execute that together, a bit each.
    pub mask: u32,
    /// Of the last collective.
    pub results: LaneResults,
    /// What it gives to the product of its warpgroup that it waits for.
    pub part: Option<Box<LaneOperand>>,
    /// Its `cp.async` copies.
    pub own_copies: Option<OwnCopies>,
    /// Its bulk copies to global memory as an agent, and how many groups it has committed.
    pub own_stores: Option<(Agent, u32)>,
    /// Whether it has waited for the launch before.
    pub waited_for_previous: bool,
    /// Device functions that it has called, and instructions of PTX.
    pub steps: u64,
    /// What it has read by relaxed atomic instructions: a fence acquires it.
    pub to_acquire: Handed,
    /// What it released by its last fence: relaxed atomic writes hand it on.
    pub released: Option<Handed>,
}

/// What the blocks of a launch have in common.
pub(crate) struct LaunchState {
    pub memory: Memory,
    pub random: ChaCha8Rng,
    pub stats: Stats,
}

pub(crate) struct Block<'a> {
    pub kernel: &'a str,
    pub config: LaunchConfig,
    pub index: u32,
    pub threads: Vec<Thread>,
    pub shared: SharedMemory,
    /// Of the launch, while this block runs: see [`Block::exchange`].
    pub memory: Memory,
    pub barriers: BTreeMap<u32, Barrier>,
    /// Barriers of some warps, by their numbers.
    pub named: BTreeMap<u32, NamedBarrier>,
    pub copies: Vec<Copy>,
    /// Arrivals that wait for copies.
    pub arrivals: Vec<Arrival>,
    pub stores: Vec<Store>,
    /// Those that have issued products, and the ones before them.
    pub warpgroups: Vec<Warpgroup>,
    pub random: ChaCha8Rng,
    pub stats: Stats,
    /// Turns of the scheduler so far.
    pub time: u64,
    /// Whether another block is to run now.
    pub preempted: bool,
    /// The first mistake.
    pub fault: Option<Fault>,
    /// Whether the next launch may start before this one ends.
    pub starts_next: bool,
    /// The first access that did not wait for the launch before: a mistake if launches overlap.
    pub early: Option<(Site, FaultKind)>,
    /// A bit for each lane that can go on.
    ready: Vec<u32>,
    /// A bit for each lane that has arrived at a collective.
    arrived: Vec<u32>,
    /// Threads at the block's barrier, and those that have returned.
    at_barrier: usize,
    done: usize,
    agents: Agent,
    /// Its static shared memory, by the statics' symbols.
    pub statics: BTreeMap<&'static str, Static>,
    /// What was released by atomic writes of words of shared memory.
    pub words: BTreeMap<u32, Released>,
}

/// The lanes that a warp has in a block of so many threads, a bit each.
fn lanes_of(threads: u32, warp: u32) -> u32 {
    match threads - warp * LANES as u32 {
        some @ 1..32 => (1 << some) - 1,
        _ => u32::MAX,
    }
}

impl<'a> Block<'a> {
    /// A block before its first turn; `place` is the launch's.
    pub fn new(
        kernel: &'a str,
        config: LaunchConfig,
        statics: &[Range<u32>],
        index: u32,
        place: SourceLine,
    ) -> Self {
        let thread = |agent| {
            let mut clock = Clock::default();
            clock.tick(agent);
            Thread {
                state: State::Ready,
                clock,
                location: place,
                operands: [0; OPERANDS],
                mask: u32::MAX,
                results: [0; 8],
                part: None,
                own_copies: None,
                own_stores: None,
                waited_for_previous: false,
                steps: 0,
                to_acquire: Handed::default(),
                released: None,
            }
        };
        let threads = config.threads_of_block();
        let warps = threads.div_ceil(LANES as u32);
        Self {
            kernel,
            config,
            index,
            threads: (0..threads).map(thread).collect(),
            shared: SharedMemory::new(config.shared_bytes, statics),
            memory: Memory::default(),
            barriers: BTreeMap::new(),
            named: BTreeMap::new(),
            copies: Vec::new(),
            arrivals: Vec::new(),
            stores: Vec::new(),
            warpgroups: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(0),
            stats: Stats::default(),
            time: 0,
            preempted: false,
            fault: None,
            starts_next: false,
            early: None,
            ready: (0..warps).map(|warp| lanes_of(threads, warp)).collect(),
            arrived: vec![0; warps as usize],
            statics: BTreeMap::new(),
            words: BTreeMap::new(),
            at_barrier: 0,
            done: 0,
            agents: threads,
        }
    }

    /// Takes what the blocks of a launch have in common, or gives it back.
    pub fn exchange(&mut self, common: &mut LaunchState) {
        std::mem::swap(&mut self.memory, &mut common.memory);
        std::mem::swap(&mut self.random, &mut common.random);
        std::mem::swap(&mut self.stats, &mut common.stats);
    }

    /// The lanes of each warp that can go on.
    pub fn ready(&self) -> &[u32] {
        &self.ready
    }

    /// Whether some thread can go on.
    pub fn is_ready(&self) -> bool {
        self.ready.iter().any(|&lanes| lanes != 0)
    }

    pub fn set_state(&mut self, thread: usize, state: State) {
        let (warp, lane) = (thread / LANES, thread % LANES);
        let set = |bits: &mut u32, is_set: bool| {
            *bits = *bits & !(1 << lane) | u32::from(is_set) << lane;
        };
        set(&mut self.ready[warp], matches!(state, State::Ready));
        set(&mut self.arrived[warp], matches!(state, State::Collective(_)));
        let is_at_barrier = |state: &State| usize::from(matches!(state, State::BlockBarrier));
        let is_done = |state: &State| usize::from(matches!(state, State::Done));
        let before = &mut self.threads[thread].state;
        self.at_barrier = self.at_barrier + is_at_barrier(&state) - is_at_barrier(before);
        self.done = self.done + is_done(&state) - is_done(before);
        *before = state;
    }

    /// Lets all threads go on that are in a state.
    pub fn wake(&mut self, waits: impl Fn(&State) -> bool) {
        for thread in 0..self.threads.len() {
            if waits(&self.threads[thread].state) {
                self.set_state(thread, State::Ready);
            }
        }
    }

    /// A number for another agent.
    pub fn new_agent(&mut self) -> Agent {
        self.agents += 1;
        self.agents - 1
    }

    pub fn site(&self, thread: usize) -> Site {
        let (warp, lane) = ((thread / LANES) as u32, (thread % LANES) as u32);
        Site { block: self.index, warp, lane, location: self.threads[thread].location }
    }

    /// An access that a thread makes now.
    pub fn event(&self, thread: usize) -> Event {
        let agent = thread as Agent;
        let epoch = self.threads[thread].clock.at(agent);
        let (site, proxy) = (self.site(thread), Proxy::Generic);
        Event { site, agent, epoch, asynchronous: false, atomic: None, proxy }
    }

    /// Starts a thread's next epoch: what it does from now on is not yet released.
    pub fn tick(&mut self, thread: usize) {
        self.threads[thread].clock.tick(thread as Agent);
    }

    /// Lets copies that come after this see what a thread knows to have been written.
    pub fn fence_proxy(&mut self, thread: usize, space: Space) {
        let index = self.index;
        self.threads[thread].clock.fence(index, space);
        self.tick(thread);
    }

    /// Lets threads know all that any of them knows.
    pub fn synchronise(&mut self, threads: Range<usize>) {
        let mut joined = Clock::default();
        for thread in &self.threads[threads.clone()] {
            joined.join(&thread.clock);
        }
        for thread in threads {
            self.threads[thread].clock.clone_from(&joined);
            self.tick(thread);
        }
    }

    /// Lets lanes of a warp know all that any of them knows.
    pub fn synchronise_lanes(&mut self, warp: usize, mask: u32) {
        let lanes =
            || (0..LANES).filter(|lane| mask >> lane & 1 != 0).map(|lane| warp * LANES + lane);
        let mut joined = Clock::default();
        for thread in lanes() {
            joined.join(&self.threads[thread].clock);
        }
        for thread in lanes() {
            self.threads[thread].clock.clone_from(&joined);
            self.tick(thread);
        }
    }

    /// The lanes that a warp has, a bit each: fewer than 32 in the last one of a block that is not whole warps.
    pub fn lanes(&self, warp: usize) -> u32 {
        lanes_of(self.config.threads_of_block(), warp as u32)
    }

    /// Executes the collective at which a thread has arrived, if all lanes have that it waits for.
    pub fn run_collective(
        &mut self,
        thread: usize,
        run: impl FnOnce(&mut Self, usize, &[LaneOperands; LANES], u32) -> CollectiveOutcome,
    ) {
        let (warp, mask) = (thread / LANES, self.threads[thread].mask);
        if self.fault.is_some() || self.arrived[warp] & mask != mask {
            return;
        }
        let State::Collective(name) = self.threads[thread].state else {
            unreachable!("it has arrived")
        };
        let first = warp * LANES;
        let lanes = |lane: &usize| mask >> lane & 1 != 0;
        // Masks may overlap: a lane that waits in another one comes to this one later.
        if (0..LANES).filter(lanes).any(|lane| self.threads[first + lane].mask != mask) {
            return;
        }
        let mut operands = [[0; OPERANDS]; LANES];
        for lane in (0..LANES).filter(lanes) {
            operands[lane] = self.threads[first + lane].operands;
        }
        match run(self, warp, &operands, mask) {
            Ok(results) => {
                *self.stats.collectives.entry(name).or_default() += 1;
                for lane in (0..LANES).filter(lanes) {
                    self.threads[first + lane].results = results[lane];
                    self.set_state(first + lane, State::Ready);
                }
            }
            Err((lane, kind)) => self.fail(first + lane, kind),
        }
    }

    /// Looks for collectives that the lanes of a thread's warp, or the threads of its block, can no
    /// longer execute together. To be called when a thread arrives at one, and when it returns.
    pub fn check_divergence(&mut self, thread: usize) {
        let stopped = |state: &State| {
            matches!(state, State::Collective(_) | State::BlockBarrier | State::Done)
        };
        // The lanes that stopped before agree with each other: one stands for all, unless they are in groups.
        let (warp, first) = (thread / LANES, thread / LANES * LANES);
        let all = self.lanes(warp);
        let mut lanes = first..(first + LANES).min(self.threads.len());
        let in_groups = lanes.clone().any(|other| self.threads[other].mask & all != all);
        while let Some(other) = lanes.find(|&o| o != thread && stopped(&self.threads[o].state)) {
            self.check_pair(thread, other, "warp");
            self.check_pair(other, thread, "warp");
            if !in_groups {
                break;
            }
        }
        // Of a block, only who has returned misses a barrier.
        let misses = match self.threads[thread].state {
            State::BlockBarrier => self.done > 0,
            State::Done => self.at_barrier > 0,
            _ => false,
        };
        if misses {
            for other in 0..self.threads.len() {
                self.check_pair(thread, other, "block");
                self.check_pair(other, thread, "block");
            }
        }
    }

    /// Whether `other` can still join the collective that `thread` waits in.
    fn check_pair(&mut self, thread: usize, other: usize, scope: &'static str) {
        let (waiting, late) = (&self.threads[thread], &self.threads[other]);
        let is_collective = matches!(waiting.state, State::Collective(_));
        if scope == "warp" && is_collective && waiting.mask >> (other % LANES) & 1 == 0 {
            return;
        }
        let is_apart = late.mask >> (thread % LANES) & 1 == 0;
        if scope == "warp" && matches!(late.state, State::Collective(_)) && is_apart {
            // It is among others, and may come later.
            return;
        }
        let same_line = waiting.location == late.location;
        let (operation, meets) = match (&waiting.state, &late.state) {
            (State::Collective(mine), State::Collective(theirs)) if scope == "warp" => {
                (*mine, mine == theirs && same_line && waiting.mask == late.mask)
            }
            (State::Collective(mine), State::BlockBarrier | State::Done) if scope == "warp" => {
                (*mine, false)
            }
            (State::BlockBarrier, State::BlockBarrier) => {
                ("sync_threads", scope == "block" || same_line)
            }
            (State::BlockBarrier, State::Done) => ("sync_threads", false),
            _ => return,
        };
        if meets {
            return;
        }
        let location = late.location;
        let instead = match &late.state {
            State::Collective(operation) if late.mask != waiting.mask => {
                format!("is at {operation} with the mask {:#010x}, {location}", late.mask)
            }
            State::Collective(operation) => format!("is at {operation}, {location}"),
            State::BlockBarrier => format!("is at sync_threads, {location}"),
            _ => format!("has returned, after {location}"),
        };
        let (warp, lane) = ((other / LANES) as u32, (other % LANES) as u32);
        self.fail(thread, FaultKind::Divergence { operation, scope, warp, lane, instead });
    }

    /// Whether a thread waits for a counter, which another block may bring on.
    pub fn is_counting(&self) -> bool {
        self.threads.iter().any(|thread| matches!(thread.state, State::Counter { .. }))
    }
}
