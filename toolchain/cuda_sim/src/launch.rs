// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running a grid: blocks one after the other, or in turns where they wait for each other; the lanes of
//! a block as coroutines.

use crate::block::{Block, LaunchState, State};
use crate::config::{LANES, LaunchConfig, Stats};
use crate::fault::{Fault, FaultKind};
use crate::lane::Running;
use crate::memory::Memory;
use crate::site::Site;
use crate::source::SourceLine;
use crate::stack::{LaneStack, Watch};
use corosensei::{Coroutine, CoroutineResult};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

type Lane = Coroutine<(), (), (), LaneStack>;

thread_local!(static ONLY: Cell<Option<(u32, u32)>> = const { Cell::new(None) });

/// Runs something whose launches, by this OS thread, run some of their blocks only, up to an end. The
/// others are left out, as if they had nothing to do.
pub fn only_blocks<T>(range: Range<u32>, run: impl FnOnce() -> T) -> T {
    /// Also when `run` panics.
    struct LaunchGuard(Option<(u32, u32)>);
    impl Drop for LaunchGuard {
        fn drop(&mut self) {
            ONLY.set(self.0);
        }
    }
    let _restore = LaunchGuard(ONLY.replace(Some((range.start, range.end))));
    run()
}

/// Runs a kernel: `kernel` calls it with the arguments of the launch, once for each thread.
///
/// # Errors
/// The driver would refuse the launch, or the first mistake of the kernel.
///
/// # Panics
/// Where the system has no memory for the lanes' stacks.
#[track_caller]
pub fn launch(
    name: &str,
    config: LaunchConfig,
    memory: &mut Memory,
    kernel: impl Fn(),
) -> Result<Stats, Fault> {
    launch_with(name, config, &[], memory, kernel)
}

/// As [`launch`], with static variables at these places of shared memory.
#[track_caller]
pub(crate) fn launch_with(
    name: &str,
    config: LaunchConfig,
    statics: &[Range<u32>],
    memory: &mut Memory,
    kernel: impl Fn(),
) -> Result<Stats, Fault> {
    let LaunchConfig { seed, .. } = config;
    if let Err(refusal) = memory.check_launch(name, &config) {
        let site = Site { block: 0, warp: 0, lane: 0, location: SourceLine::present() };
        return Err(Fault { kernel: name.into(), site, kind: refusal.into() });
    }
    let random = ChaCha8Rng::seed_from_u64(seed);
    let mut common =
        LaunchState { memory: std::mem::take(memory), random, stats: Stats::default() };
    SourceLine::set(None);
    let result = run_blocks(name, config, statics, &mut common, &kernel, SourceLine::present());
    SourceLine::set(None);
    *memory = common.memory;
    result?;
    if let Some(suspect) = memory.suspect.take() {
        return Err(suspect);
    }
    if let Some(kind) = memory.damaged_guards() {
        let site = Site { block: 0, warp: 0, lane: 0, location: SourceLine::present() };
        return Err(Fault { kernel: name.into(), site, kind });
    }
    Ok(common.stats)
}

/// Runs all blocks to their ends. A block starts when those before it have ended or paused.
fn run_blocks(
    name: &str,
    config: LaunchConfig,
    statics: &[Range<u32>],
    common: &mut LaunchState,
    kernel: &impl Fn(),
    place: SourceLine,
) -> Result<(), Fault> {
    let (first, end) = ONLY.get().unwrap_or((0, u32::MAX));
    let mut order: Vec<u32> = (first..end.min(config.blocks_of_grid())).collect();
    order.shuffle(&mut common.random);
    common.memory.begin_launch(config.overlapping);
    let mut to_start = order.into_iter().peekable();
    let mut started: Vec<Started<'_>> = Vec::new();
    let mut stacks = Vec::new();
    let mut has_waited = !common.memory.follows;
    loop {
        let can_start = to_start.peek().is_some();
        let mut able: Vec<usize> = (0..started.len() + usize::from(can_start)).collect();
        able.retain(|&at| started.get(at).is_none_or(|block| block.can_go_on(common)));
        let next = if able.len() > 1 { able.choose(&mut common.random) } else { able.first() };
        let mut block = match next {
            Some(&next) if next < started.len() => started.swap_remove(next),
            Some(_) => {
                let index = to_start.next().expect("it can start");
                let block = Block::new(name, config, statics, index, place);
                Started::new(block, &mut stacks, kernel)
            }
            None => match started.pop() {
                Some(block) => return Err(block.deadlock(common)),
                None => return Ok(()),
            },
        };
        match block.run(common)? {
            TurnEnd::Ended => {
                has_waited |= block.running.block.borrow().has_waited();
                let is_last = started.is_empty() && to_start.peek().is_none();
                if is_last && !has_waited {
                    return Err(block.never_waited());
                }
                stacks.extend(block.into_stacks());
            }
            TurnEnd::Paused => started.push(block),
        }
    }
}

/// How a block's turn ends.
enum TurnEnd {
    Ended,
    /// No thread can go on before another block does, or others may go on first.
    Paused,
}

/// A block that has not ended.
struct Started<'a> {
    /// Those that have not returned are unwound when they are dropped.
    lanes: Vec<Lane>,
    watches: Vec<Watch>,
    running: Rc<Running<'a>>,
}

impl<'a> Started<'a> {
    /// A block's lanes on stacks that other blocks no longer need, or new ones.
    fn new(block: Block<'a>, stacks: &mut Vec<LaneStack>, kernel: &'a impl Fn()) -> Self {
        let running = Rc::new(Running::new(block));
        let threads = running.block.borrow().threads.len();
        if stacks.len() < threads {
            stacks.extend(LaneStack::many(threads - stacks.len()));
        }
        let first = stacks.len() - threads;
        let own: Vec<LaneStack> = stacks.drain(first..).collect();
        let watches = own.iter().map(LaneStack::watch).collect();
        let start = |stack| {
            let running = Rc::clone(&running);
            let body = move |yielder: &corosensei::Yielder<(), ()>, ()| {
                running.start(yielder);
                kernel();
            };
            // SAFETY: the lanes are gone before what they borrow, which lives for 'a as `Self` does.
            unsafe { Lane::with_stack_unchecked(stack, body) }
        };
        let lanes = own.into_iter().map(start).collect();
        Self { lanes, watches, running }
    }

    /// Whether some thread can go on.
    fn can_go_on(&self, common: &mut LaunchState) -> bool {
        let mut block = self.running.block.borrow_mut();
        block.exchange(common);
        block.wake_counting();
        block.exchange(common);
        block.is_ready()
    }

    fn run(&mut self, common: &mut LaunchState) -> Result<TurnEnd, Fault> {
        let Self { lanes, watches, running } = self;
        running.block.borrow_mut().exchange(common);
        let turn = running.enter(|| schedule(running, lanes, watches));
        let mut block = running.block.borrow_mut();
        block.exchange(common);
        block.fault.take().map_or(Ok(turn), Err)
    }

    /// The mistake of blocks of which none can go on.
    fn deadlock(self, common: &mut LaunchState) -> Fault {
        let mut block = self.running.block.borrow_mut();
        block.exchange(common);
        block.deadlock();
        block.exchange(common);
        block.fault.take().expect("a thread waits")
    }

    /// The mistake of a launch that ends without the one before.
    fn never_waited(self) -> Fault {
        let mut block = self.running.block.borrow_mut();
        block.fail(0, FaultKind::EarlyEnd);
        block.fault.take().expect("just reported")
    }

    fn into_stacks(self) -> impl Iterator<Item = LaneStack> {
        self.lanes.into_iter().map(Lane::into_stack)
    }
}

/// Resumes warp after warp until all lanes have returned or wait for counters, or one makes a mistake.
fn schedule(running: &Running<'_>, lanes: &mut [Lane], watches: &[Watch]) -> TurnEnd {
    loop {
        let Some((warp, mut ready)) = next_warp(&mut running.block.borrow_mut()) else { break };
        while ready != 0 {
            let thread = warp * LANES + ready.trailing_zeros() as usize;
            ready &= ready - 1;
            running.thread.set(thread);
            running.limit.set(watches[thread].limit());
            let result = catch_unwind(AssertUnwindSafe(|| lanes[thread].resume(())));
            watches[thread].check();
            let mut block = running.block.borrow_mut();
            match result {
                Ok(CoroutineResult::Yield(())) => {}
                Ok(CoroutineResult::Return(())) => {
                    block.set_state(thread, State::Done);
                    block.check_own_copies(thread);
                    block.check_own_products(thread);
                    block.check_divergence(thread);
                }
                Err(panic) => block.fail(thread, FaultKind::Panic(message(&*panic))),
            }
            if block.fault.is_some() {
                return TurnEnd::Ended;
            }
        }
        let mut block = running.block.borrow_mut();
        if std::mem::take(&mut block.preempted) && block.is_ready() {
            return TurnEnd::Paused;
        }
    }
    if running.block.borrow().is_counting() { TurnEnd::Paused } else { TurnEnd::Ended }
}

/// Chooses a warp that can go on, and which of its lanes; none at the end, after a mistake, or where
/// only another block can bring this one on.
fn next_warp(block: &mut Block<'_>) -> Option<(usize, u32)> {
    block.time += 1;
    loop {
        block.run_copies();
        if block.fault.is_some() {
            return None;
        }
        let warps: Vec<usize> =
            (0..block.ready().len()).filter(|&w| block.ready()[w] != 0).collect();
        if let Some(&warp) = warps.choose(&mut block.random) {
            let ready = block.ready()[warp];
            return Some((warp, some_lanes(ready, &mut block.random)));
        }
        if block.threads.iter().all(|thread| matches!(thread.state, State::Done)) {
            block.check_finished();
            return None;
        }
        if !block.skip_to_next_copy() {
            if !block.is_counting() {
                block.deadlock();
            }
            return None;
        }
    }
}

/// All of the lanes that can go on, or some of them: lanes between collectives are independent.
fn some_lanes(ready: u32, random: &mut ChaCha8Rng) -> u32 {
    let some = ready & random.random::<u32>();
    if some == 0 || random.random_ratio(3, 4) { ready } else { some }
}

fn message(panic: &dyn Any) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
