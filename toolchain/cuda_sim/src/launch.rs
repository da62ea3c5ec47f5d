// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running a grid: blocks one after the other, the lanes of a block as coroutines.

use crate::block::{Block, LANES, State};
use crate::fault::{Fault, FaultKind};
use crate::lane::Running;
use crate::memory::Memory;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes of a lane's stack: enough for a panic's message with a backtrace.
const STACK_BYTES: usize = 256 << 10;

/// The most shared memory of a block (compute capability 9.0).
const MAX_SHARED_BYTES: u32 = 227 << 10;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block: whole warps, up to 1024.
    pub threads: u32,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Chooses the interleaving.
    pub seed: u64,
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often a warp executed each collective, by name, such as `warp::sync`.
    pub collectives: BTreeMap<&'static str, u64>,
    /// Asynchronous copies.
    pub copies: u64,
    /// Bytes that they wrote to shared memory.
    pub copied_bytes: u64,
}

type Lane = Coroutine<(), (), (), DefaultStack>;

/// Runs a kernel: `kernel` calls it with the arguments of the launch, once for each thread.
///
/// # Errors
/// The first mistake of the kernel.
///
/// # Panics
/// With a shape that no GPU takes, or where the system has no memory for the lanes' stacks.
pub fn launch(
    name: &str,
    config: Config,
    memory: &mut Memory,
    kernel: impl Fn(),
) -> Result<Stats, Fault> {
    let Config { blocks, threads, shared_bytes, seed } = config;
    assert!(blocks > 0, "a grid has at least one block");
    assert!(
        threads.is_multiple_of(LANES as u32) && (1..=1024).contains(&threads),
        "a block has 32 to 1024 threads in whole warps; {threads} were asked for"
    );
    assert!(
        shared_bytes <= MAX_SHARED_BYTES,
        "a block has at most {MAX_SHARED_BYTES} bytes of shared memory; {shared_bytes} were asked for"
    );
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut stats = Stats::default();
    let mut order: Vec<u32> = (0..blocks).collect();
    order.shuffle(&mut random);
    memory.begin_launch();
    let new_stack = |_| DefaultStack::new(STACK_BYTES).expect("memory for the lanes' stacks");
    let mut stacks: Vec<DefaultStack> = (0..threads).map(new_stack).collect();
    for index in order {
        let block = Block::new(name, config, index, memory, &mut random, &mut stats);
        stacks = run_block(block, stacks, &kernel)?;
    }
    Ok(stats)
}

/// Runs a block to its end; gives the stacks back.
fn run_block(
    block: Block<'_>,
    stacks: Vec<DefaultStack>,
    kernel: &impl Fn(),
) -> Result<Vec<DefaultStack>, Fault> {
    let running = &Running::new(block);
    let start = |stack| {
        let body = |yielder: &corosensei::Yielder<(), ()>, ()| {
            running.start(yielder);
            kernel();
        };
        // SAFETY: the lanes are gone before what they borrow: both live in this function.
        unsafe { Lane::with_stack_unchecked(stack, body) }
    };
    let mut lanes: Vec<Lane> = stacks.into_iter().map(start).collect();
    running.enter(|| schedule(running, &mut lanes));
    let fault = running.block.borrow_mut().fault.take();
    match fault {
        // The lanes that have not returned are unwound when they are dropped.
        Some(fault) => Err(fault),
        None => Ok(lanes.into_iter().map(Lane::into_stack).collect()),
    }
}

/// Resumes warp after warp until all lanes have returned or one makes a mistake.
fn schedule(running: &Running<'_>, lanes: &mut [Lane]) {
    loop {
        let Some((warp, mut ready)) = next_warp(&mut running.block.borrow_mut()) else { return };
        while ready != 0 {
            let thread = warp * LANES + ready.trailing_zeros() as usize;
            ready &= ready - 1;
            running.thread.set(thread);
            let result = catch_unwind(AssertUnwindSafe(|| lanes[thread].resume(())));
            let mut block = running.block.borrow_mut();
            match result {
                Ok(CoroutineResult::Yield(())) => {}
                Ok(CoroutineResult::Return(())) => {
                    block.set_state(thread, State::Done);
                    block.check_own_copies(thread);
                    block.check_divergence(thread);
                }
                Err(panic) => block.fail(thread, FaultKind::Panic(message(&*panic))),
            }
            if block.fault.is_some() {
                return;
            }
        }
    }
}

/// Chooses a warp that can go on, and which of its lanes; none at the end or after a mistake.
fn next_warp(block: &mut Block<'_>) -> Option<(usize, u32)> {
    block.time += 1;
    loop {
        block.run_copies();
        if block.fault.is_some() {
            return None;
        }
        let warps: Vec<usize> =
            (0..block.ready().len()).filter(|&w| block.ready()[w] != 0).collect();
        if let Some(&warp) = warps.choose(block.random) {
            return Some((warp, some_lanes(block.ready()[warp], block.random)));
        }
        if block.threads.iter().all(|thread| matches!(thread.state, State::Done)) {
            block.check_finished();
            return None;
        }
        if !block.skip_to_next_copy() {
            block.deadlock();
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
