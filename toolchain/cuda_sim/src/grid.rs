// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbouring launches. Here each runs by itself; but one that may have started before the launch before
//! has ended ([`crate::LaunchConfig::overlapping`]) has to wait for that one before it accesses what that one
//! accesses, unless both only read. What that one did access is known; where it is not, as of the first
//! launch, a kernel that lets the next one start must have waited before it accesses anything that kernels
//! write.
//!
//! A kernel lets the next launch start only when it has waited itself: then launches further back have ended
//! for that one, too. Otherwise ([`start_waiting_next`]) the next one waits before all else. And the end of a
//! launch must imply that of the one before, for whoever waits for the second only.

use crate::block::Block;
use crate::fault::{Access, FaultKind};
use crate::lane::with;
use crate::{Chip, OnChip as _};

impl Block<'_> {
    /// Checks that a thread may access a place of global memory that the launch before may still use.
    pub fn check_previous(
        &mut self,
        thread: usize,
        address: usize,
        bytes: usize,
        access: Access,
    ) -> Result<(), FaultKind> {
        if self.threads[thread].waited_for_previous {
            return Ok(());
        }
        let Some(place) = self.memory.writable_place(address) else { return Ok(()) };
        let kind = FaultKind::NoWaitForPrevious(place);
        if self.memory.started_early {
            return Err(kind);
        }
        match self.memory.is_left_alone(address, bytes, access) {
            Some(true) => return Ok(()),
            Some(false) => return Err(kind),
            None if self.starts_next => return Err(kind),
            None => {}
        }
        let site = self.site(thread);
        self.early.get_or_insert((site, kind));
        Ok(())
    }
}

impl Block<'_> {
    /// Whether a thread has waited for the launch before.
    pub fn has_waited(&self) -> bool {
        self.threads.iter().any(|thread| thread.waited_for_previous)
    }
}

/// `griddepcontrol.wait`.
#[track_caller]
pub fn wait_for_previous() {
    with(|block, thread| {
        block.threads[thread].waited_for_previous = true;
        Ok(())
    });
}

/// `griddepcontrol.launch_dependents` before this launch has waited: the next one must wait before all
/// else.
#[track_caller]
pub fn start_waiting_next() {
    with(|block, _| {
        block.memory.starts_early = true;
        Ok(())
    });
}

/// `griddepcontrol.launch_dependents`; nothing on chips that do not have it, where launches never
/// overlap.
#[track_caller]
pub fn start_next() {
    with(|block, thread| {
        if Chip::current() < Chip::Sm90 {
            return Ok(());
        }
        if !block.threads[thread].waited_for_previous {
            return Err(FaultKind::EarlyStart);
        }
        block.starts_next = true;
        if let Some((site, kind)) = block.early.take() {
            block.fail_at(site, kind);
        }
        Ok(())
    });
}
