// SPDX-License-Identifier: MIT OR Apache-2.0
//! What connects the kernel's code, which runs on a lane's own stack, to its block.

use crate::block::{
    Block, CollectiveOutcome, LaneOperands, LaneResults, MaskedRun, RunCollective, State,
};
use crate::config::LANES;
use crate::fault::FaultKind;
use crate::source::SourceLine;
use crate::stack::check_depth;
use corosensei::Yielder;
use rand::RngExt;
use std::cell::{Cell, RefCell};
use std::ptr;

/// The steps that a thread pays for letting others go on.
const TURN: u64 = 63;

thread_local! {
    /// The block that runs on this OS thread; null outside of a launch.
    static RUNNING: Cell<*const Running<'static>> = const { Cell::new(ptr::null()) };
}

/// A block, and which of its threads runs at the moment.
pub(crate) struct Running<'a> {
    pub block: RefCell<Block<'a>>,
    pub thread: Cell<usize>,
    /// The lowest address of that thread's stack.
    pub limit: Cell<usize>,
    /// What suspends each thread; set when the thread starts.
    yielders: Vec<Cell<*const Yielder<(), ()>>>,
}

impl<'a> Running<'a> {
    pub fn new(block: Block<'a>) -> Self {
        let yielders = vec![Cell::new(ptr::null()); block.threads.len()];
        let (thread, limit) = (Cell::new(0), Cell::new(0));
        Self { block: RefCell::new(block), thread, limit, yielders }
    }

    /// Makes this the running block while `run` runs.
    pub fn enter<T>(&self, run: impl FnOnce() -> T) -> T {
        /// Leaves also when `run` panics.
        struct LeaveGuard;
        impl Drop for LeaveGuard {
            fn drop(&mut self) {
                RUNNING.set(ptr::null());
            }
        }
        assert!(RUNNING.get().is_null(), "a kernel cannot launch another one");
        RUNNING.set(ptr::from_ref(self).cast());
        let _leave = LeaveGuard;
        run()
    }

    /// The first thing that a thread does.
    pub fn start(&self, yielder: &Yielder<(), ()>) {
        self.yielders[self.thread.get()].set(yielder);
    }

    /// Hands control to the scheduler until it resumes the running thread.
    fn suspend(&self) {
        let yielder = self.yielders[self.thread.get()].get();
        // SAFETY: the thread runs, so it has started, and its yielder lives until it ends.
        unsafe { (*yielder).suspend(()) };
    }
}

/// Whether this OS thread runs a block.
pub(crate) fn is_running() -> bool {
    !RUNNING.get().is_null()
}

#[track_caller]
fn running<T>(use_it: impl FnOnce(&Running<'_>) -> T) -> T {
    let running = RUNNING.get();
    assert!(!running.is_null(), "device functions run only on a GPU or in cuda_sim::launch");
    // SAFETY: `enter` set it, and resets it before the block ends.
    use_it(unsafe { &*running })
}

/// Does something as the running thread. A mistake ends the launch: this thread never goes on.
#[track_caller]
pub(crate) fn with<T>(act: impl FnMut(&mut Block<'_>, usize) -> Result<T, FaultKind>) -> T {
    with_at(SourceLine::present(), act)
}

/// Does something as the running thread in this line.
#[track_caller]
fn with_at<T>(
    location: SourceLine,
    mut act: impl FnMut(&mut Block<'_>, usize) -> Result<T, FaultKind>,
) -> T {
    running(|running| {
        check_depth(&location, running.limit.get());
        let thread = running.thread.get();
        let result = {
            let mut block = running.block.borrow_mut();
            block.threads[thread].location = location;
            let result = block.count(thread, 1).and_then(|()| match act(&mut block, thread) {
                Err(kind @ FaultKind::Unwritten(_)) if !block.shared.is_lenient => {
                    block.suspect(thread, kind);
                    act(&mut block, thread)
                }
                result => result,
            });
            result.map_err(|kind| block.fail(thread, kind))
        };
        result.unwrap_or_else(|()| {
            loop {
                running.suspend();
            }
        })
    })
}

/// Does something as soon as it can be done: `None` makes the thread wait in the state it has set.
#[track_caller]
pub(crate) fn when<T>(
    mut act: impl FnMut(&mut Block<'_>, usize) -> Result<Option<T>, FaultKind>,
) -> T {
    let location = SourceLine::present();
    loop {
        if let Some(done) = with_at(location, &mut act) {
            return done;
        }
        running(|running| running.suspend());
    }
}

/// Lets other threads, and other blocks, go on.
#[track_caller]
pub(crate) fn give_way() {
    with(|block, thread| {
        block.preempted |= block.random.random_ratio(1, 4);
        // A turn of a loop that waits costs more than its instructions.
        block.count(thread, TURN)
    });
    running(|running| running.suspend());
}

/// Executes a warp's collective as soon as all lanes have arrived.
#[track_caller]
pub(crate) fn collective(
    operation: &'static str,
    operands: LaneOperands,
    run: RunCollective,
) -> LaneResults {
    let whole = |block: &mut Block<'_>, thread: usize| {
        let lanes = block.lanes(thread / LANES);
        // Shuffles and barriers leave out lanes that are not there; all else is defined for 32.
        if lanes == u32::MAX || operation.starts_with("warp::") {
            return Ok(lanes);
        }
        Err(FaultKind::PartialWarp { operation, lanes: lanes.count_ones() })
    };
    together(operation, operands, whole, |block, warp, words, _| run(block, warp, words))
}

/// Executes a collective of some lanes of a warp as soon as they have arrived.
#[track_caller]
pub(crate) fn masked(
    operation: &'static str,
    mask: u32,
    operands: LaneOperands,
    run: MaskedRun,
) -> LaneResults {
    let named = |block: &mut Block<'_>, thread: usize| {
        let lane = thread % LANES;
        if mask >> lane & 1 == 0 {
            return Err(FaultKind::NotInMask { lane: lane as u32, mask });
        }
        Ok(mask & block.lanes(thread / LANES))
    };
    together(operation, operands, named, run)
}

/// Executes a collective as soon as the lanes have arrived that `mask` finds to be meant.
#[track_caller]
fn together(
    operation: &'static str,
    operands: LaneOperands,
    mask: impl Fn(&mut Block<'_>, usize) -> Result<u32, FaultKind>,
    run: impl Fn(&mut Block<'_>, usize, &[LaneOperands; LANES], u32) -> CollectiveOutcome,
) -> LaneResults {
    let mut arrived = false;
    when(|block, thread| {
        if !arrived {
            arrived = true;
            let mask = mask(block, thread)?;
            block.threads[thread].operands = operands;
            block.threads[thread].mask = mask;
            block.set_state(thread, State::Collective(operation));
            block.check_divergence(thread);
            block.run_collective(thread, &run);
        }
        let thread = &block.threads[thread];
        Ok(matches!(thread.state, State::Ready).then_some(thread.results))
    })
}
