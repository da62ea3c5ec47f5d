// SPDX-License-Identifier: MIT OR Apache-2.0
//! How mistakes become the one that a launch reports.

use crate::block::{Block, State};
use crate::fault::{Access, Fault, FaultKind};
use crate::site::Site;

impl Block<'_> {
    /// Notes the first mistake.
    pub fn fail(&mut self, thread: usize, kind: FaultKind) {
        self.fail_at(self.site(thread), kind);
    }

    pub fn fail_at(&mut self, site: Site, kind: FaultKind) {
        let fault = Fault { kernel: self.kernel.into(), site, kind };
        let Some(suspect) = self.memory.suspect.take() else {
            self.fault.get_or_insert(fault);
            return;
        };
        // What was read too early is written now: the barrier between the two is missing.
        self.fault.get_or_insert(match fault.kind {
            FaultKind::Race { place, other, access: Access::Write, .. }
                if other.location == suspect.site.location =>
            {
                let (site, other) = (other, fault.site);
                let (access, other_access) = (Access::Read, Access::Write);
                let kind = FaultKind::Race { access, place, other_access, other };
                Fault { site, kind, ..suspect }
            }
            FaultKind::Race { .. } if fault.site.location == suspect.site.location => fault,
            _ => suspect,
        });
    }

    /// Notes a read of what nothing has written: the launch goes on, to see whether another thread was to write it.
    pub fn suspect(&mut self, thread: usize, kind: FaultKind) {
        let (kernel, site) = (self.kernel.into(), self.site(thread));
        self.memory.suspect.get_or_insert(Fault { kernel, site, kind });
        self.memory.is_lenient = true;
        self.shared.is_lenient = true;
    }

    /// The mistake of a block in which no thread can go on.
    pub fn deadlock(&mut self) {
        let counting = |state: &State| matches!(state, State::Counter { .. });
        let waits = |state: &State| matches!(state, State::Phase { .. });
        let blocked = |state: &State| !matches!(state, State::Ready | State::Done);
        let find = |wanted: &dyn Fn(&State) -> bool| {
            self.threads.iter().position(|thread| wanted(&thread.state))
        };
        let found = find(&counting).or_else(|| find(&waits)).or_else(|| find(&blocked));
        let Some(thread) = found else { return };
        let waits_for = match self.threads[thread].state {
            State::Phase { at, phase } => self.barriers[&at].describe(at, phase),
            State::Counter { at, value } => self.describe_counter(at, value),
            State::NamedBarrier(number) => self.named[&number].describe(number),
            State::Products => {
                "a product that not all four warps of the warpgroup issue".to_owned()
            }
            _ => "the rest of its warp or block".to_owned(),
        };
        self.fail(thread, FaultKind::Deadlock { waits_for });
    }
}
