// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stacks of lanes. The blocks of a cooperative launch are all alive at once, on an H200 some 80,000 lanes; a
//! stack with a guard page of its own takes two mappings, of which a process has 65,530 (Linux). So many
//! stacks share one mapping and its guard page.

use corosensei::stack::{DefaultStack, STACK_ALIGNMENT, Stack, StackPointer};
use std::io::{self, Write as _};
use std::ptr;
use std::rc::Rc;

/// Bytes of a stack: enough for a panic's message with a backtrace.
const BYTES: usize = 256 << 10;

/// What lies at the end of a stack as long as the lane of the one above stays in its own.
const CANARY: u64 = 0x5ca1_ab1e_0b5e_55ed;

/// Bytes of a stack that its lane does not use.
const RESERVED: usize = STACK_ALIGNMENT.next_multiple_of(size_of::<u64>());

/// One of the stacks of a mapping.
pub struct LaneStack {
    mapping: Rc<DefaultStack>,
    end: usize,
    /// Whether there is another one below, not the guard page.
    is_above_another: bool,
}

/// What tells whether a lane has left its stack for that of another.
pub struct Watch {
    _mapping: Rc<DefaultStack>,
    /// The lowest address of its stack.
    limit: usize,
    canary: Option<*const u64>,
}

impl LaneStack {
    /// So many stacks in a mapping of their own.
    ///
    /// # Panics
    /// Where the system has no memory for them.
    pub fn many(count: usize) -> impl Iterator<Item = Self> {
        let mapping = DefaultStack::new(count * BYTES).expect("memory for the lanes' stacks");
        let (end, mapping) = (mapping.base().get(), Rc::new(mapping));
        (0..count).map(move |index| {
            let (mapping, end) = (Rc::clone(&mapping), end - index * BYTES);
            // SAFETY: the mapping has these bytes below `end`, which belong to this stack and which no lane
            // uses.
            unsafe { canary(end).write(CANARY) };
            Self { mapping, end, is_above_another: index + 1 < count }
        })
    }

    /// What to look at whenever its lane has had a turn.
    pub fn watch(&self) -> Watch {
        let canary = self.is_above_another.then(|| canary(self.end - BYTES).cast_const());
        Watch { _mapping: Rc::clone(&self.mapping), limit: self.end - BYTES, canary }
    }
}

fn canary(end: usize) -> *mut u64 {
    ptr::with_exposed_provenance_mut(end - RESERVED)
}

impl Watch {
    /// The lowest address of the stack: for [`check_depth`].
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Ends the process where the lane has written over the bytes below its stack.
    pub fn check(&self) {
        // SAFETY: the mapping has these bytes, as in `LaneStack::many`, and lives as long as `self`.
        if self.canary.is_some_and(|canary| unsafe { canary.read() } != CANARY) {
            overflow();
        }
    }
}

/// Ends the process where a variable of the running lane lies below its stack.
pub fn check_depth<T>(variable: &T, limit: usize) {
    if ptr::from_ref(variable).addr() < limit {
        overflow();
    }
}

/// The stack of another lane may have been written over: nothing can be relied on.
fn overflow() -> ! {
    // Not by `eprintln`: a test harness would keep it to itself. Nothing is lost where nobody reads it.
    let _ =
        writeln!(io::stderr(), "a kernel in the emulator takes more than {BYTES} bytes of stack");
    std::process::abort();
}

// SAFETY: the bytes between base and limit are this stack's. A lane that leaves them downwards is found out, and
// the process ended before another lane goes on: where it calls a device function from there (`check_depth`),
// where it writes the first word below (`Watch::check`), and where it comes to the guard page at the end of the
// mapping. What none of the three sees: a large frame that leaves out that word and calls no device function
// before it returns. It is the kernels that must have none: a device function has frames of some KiB at most.
unsafe impl Stack for LaneStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.end - RESERVED).expect("an address")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.end - BYTES).expect("an address")
    }
}
