// SPDX-License-Identifier: MIT OR Apache-2.0
//! What atomic instructions and fences order, as the PTX memory model has it: a release is acquired by who reads the word
//! that it wrote, or what later atomic instructions made of it. Relaxed ones hand on what a fence before them released, and
//! a fence after them acquires it.

use crate::block::Block;
use crate::clock::{Knowledge, merge};
use crate::fault::FaultKind;

/// What an atomic access is, and what it orders.
#[derive(Clone, Copy)]
pub(crate) struct Ordering {
    pub acquires: bool,
    pub releases: bool,
    pub reads: bool,
    pub writes: bool,
}

/// A word of shared memory or of global memory.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    Shared(u32),
    Global(usize),
}

impl Block<'_> {
    /// What was released by who wrote a word.
    fn word(&mut self, word: Word) -> &mut Knowledge {
        match word {
            Word::Shared(at) => self.words.entry(at).or_default(),
            Word::Global(at) => self.memory.words.entry(at).or_default(),
        }
    }

    /// Orders a thread's atomic access of a word.
    pub fn order(&mut self, thread: usize, word: Word, ordering: Ordering) {
        let Ordering { acquires, releases, reads, writes } = ordering;
        let index = self.index;
        if reads {
            let known = self.word(word).clone();
            if known.is_empty() {
                // Nobody has released anything.
            } else if acquires {
                self.threads[thread].clock.acquire(index, &known);
            } else {
                merge(&mut self.threads[thread].to_acquire, &known);
            }
        }
        if writes {
            let released = match releases {
                true => Some(self.threads[thread].clock.knowledge(index)),
                false => self.threads[thread].released.clone(),
            };
            let known = self.word(word);
            if !reads {
                *known = Knowledge::default();
            }
            if let Some(released) = released {
                merge(known, &released);
            }
            if releases {
                self.tick(thread);
            }
        }
    }

    /// A thread's fence.
    pub fn fence(&mut self, thread: usize, acquires: bool, releases: bool) {
        let index = self.index;
        let own = &mut self.threads[thread];
        if acquires {
            let known = std::mem::take(&mut own.to_acquire);
            if !known.is_empty() {
                own.clock.acquire(index, &known);
            }
        }
        if releases {
            own.released = Some(own.clock.knowledge(index));
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
