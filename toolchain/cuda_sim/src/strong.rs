// SPDX-License-Identifier: MIT OR Apache-2.0
//! What atomic instructions and fences order, as the PTX memory model has it: a release is acquired by who reads the word
//! that it wrote, or what later atomic instructions made of it. Relaxed ones hand on what a fence before them released, and
//! a fence after them acquires it. Both sides have to name a scope that has both threads in it.

use crate::block::Block;
use crate::clock::merge;
use crate::fault::{Access as Doing, FaultKind, aligned};
use crate::released::Released;
use crate::shadow::Event;
use ptx_sim::{MemoryOrder, Scope};

/// What an atomic access orders, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Strength {
    pub order: MemoryOrder,
    pub scope: Scope,
}

/// A word of shared memory or of global memory.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    Shared(u32),
    Global(usize),
}

fn acquires(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Acquire | MemoryOrder::AcquireRelease)
}

fn releases(order: MemoryOrder) -> bool {
    matches!(order, MemoryOrder::Release | MemoryOrder::AcquireRelease)
}

fn is_wide(scope: Scope) -> bool {
    scope != Scope::Block
}

impl Block<'_> {
    /// What was released by who wrote a word.
    fn word(&mut self, word: Word) -> &mut Released {
        match word {
            Word::Shared(at) => self.words.entry(at).or_default(),
            Word::Global(at) => self.memory.words.entry(at).or_default(),
        }
    }

    /// Refuses an address that is not a multiple of the bytes that are accessed together.
    pub fn check_alignment(&self, at: Word, bytes: usize) -> Result<(), FaultKind> {
        let bytes = bytes as u32;
        match at {
            Word::Shared(at) => aligned("the shared address of an access", at.into(), bytes),
            Word::Global(at) => self.memory.aligned("the address of an access", at, bytes),
        }
    }

    fn atomic_event(&self, thread: usize, scope: Scope) -> Event {
        Event { atomic: Some(scope), ..self.event(thread) }
    }

    /// A thread's atomic load.
    pub fn atomic_load(
        &mut self,
        thread: usize,
        at: Word,
        to: &mut [u8],
        strength: Strength,
    ) -> Result<(), FaultKind> {
        self.check_alignment(at, to.len())?;
        let event = self.atomic_event(thread, strength.scope);
        let clock = &self.threads[thread].clock;
        match at {
            Word::Shared(at) => self.shared.read_into(at, to, event, clock)?,
            Word::Global(at) => {
                self.memory.load(at, to, event, clock)?;
                self.check_previous(thread, at, to.len(), Doing::Read)?;
            }
        }
        self.order_read(thread, at, strength);
        Ok(())
    }

    /// A thread's atomic store.
    pub fn atomic_store(
        &mut self,
        thread: usize,
        at: Word,
        from: &[u8],
        strength: Strength,
    ) -> Result<(), FaultKind> {
        self.check_alignment(at, from.len())?;
        let (event, bytes) = (self.atomic_event(thread, strength.scope), from.len());
        if let Word::Global(at) = at {
            self.check_previous(thread, at, bytes, Doing::Write)?;
        }
        let clock = &self.threads[thread].clock;
        match at {
            Word::Shared(at) => {
                self.shared.reserve(at, bytes as u32, event, clock)?;
                self.shared.fill(at, from);
            }
            Word::Global(at) => {
                self.memory.reserve(at, bytes, event, clock)?;
                self.memory.fill(at, from);
            }
        }
        *self.word(at) = Released::default();
        self.order_write(thread, at, strength);
        Ok(())
    }

    /// A thread's atomic change of a value, if the function gives a new one; returns the one before.
    pub fn atomic_update(
        &mut self,
        thread: usize,
        at: Word,
        bytes: usize,
        strength: Strength,
        new: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<u64, FaultKind> {
        self.check_alignment(at, bytes)?;
        let event = self.atomic_event(thread, strength.scope);
        if let Word::Global(at) = at {
            self.check_previous(thread, at, bytes, Doing::Write)?;
        }
        let clock = &self.threads[thread].clock;
        let before = match at {
            Word::Shared(at) => self.shared.update(at, bytes as u32, event, clock)?,
            Word::Global(at) => self.memory.update(at, bytes, event, clock)?,
        };
        let new = new(before);
        if let Some(new) = new.map(u64::to_le_bytes) {
            match at {
                Word::Shared(at) => self.shared.fill(at, &new[..bytes]),
                Word::Global(at) => self.memory.fill(at, &new[..bytes]),
            }
        }
        self.order_read(thread, at, strength);
        if new.is_some() {
            self.order_write(thread, at, strength);
        }
        Ok(before)
    }

    /// Orders a thread's atomic read of a word.
    fn order_read(&mut self, thread: usize, word: Word, Strength { order, scope }: Strength) {
        let index = self.index;
        let known = self.word(word);
        let (all, own) = (known.to_all.clone(), known.within.get(&index).cloned());
        let own = own.unwrap_or_default();
        if all.is_empty() && own.is_empty() {
            return;
        }
        let thread = &mut self.threads[thread];
        if acquires(order) {
            thread.clock.acquire(index, &own);
            if is_wide(scope) {
                thread.clock.acquire(index, &all);
                return;
            }
        }
        merge(&mut thread.to_acquire.narrow, &own);
        merge(&mut thread.to_acquire.wide, &own);
        merge(&mut thread.to_acquire.wide, &all);
    }

    /// Orders a thread's atomic write of a word.
    fn order_write(&mut self, thread: usize, word: Word, Strength { order, scope }: Strength) {
        let index = self.index;
        let mut released = self.threads[thread].released.clone().unwrap_or_default();
        if releases(order) {
            released.narrow = self.threads[thread].clock.knowledge(index);
            if is_wide(scope) {
                released.wide.clone_from(&released.narrow);
            }
        }
        if !released.narrow.is_empty() {
            let known = self.word(word);
            merge(&mut known.to_all, &released.wide);
            merge(known.within.entry(index).or_default(), &released.narrow);
        }
        if releases(order) {
            self.tick(thread);
        }
    }

    /// A thread's fence.
    pub fn fence(&mut self, thread: usize, Strength { order, scope }: Strength) {
        let index = self.index;
        let own = &mut self.threads[thread];
        if acquires(order) {
            let mut known = std::mem::take(&mut own.to_acquire.narrow);
            if is_wide(scope) {
                known = std::mem::take(&mut own.to_acquire.wide);
            }
            if !known.is_empty() {
                own.clock.acquire(index, &known);
            }
        }
        if releases(order) {
            let known = own.clock.knowledge(index);
            let released = own.released.get_or_insert_default();
            released.narrow.clone_from(&known);
            if is_wide(scope) {
                released.wide = known;
            }
            self.tick(thread);
        }
    }

    /// So many more steps of a thread.
    pub fn count(&mut self, thread: usize, steps: u64) -> Result<(), FaultKind> {
        let own = &mut self.threads[thread].steps;
        *own += steps;
        match *own > self.config.steps {
            true => Err(FaultKind::Endless(self.config.steps)),
            false => Ok(()),
        }
    }
}
