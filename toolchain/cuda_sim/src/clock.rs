// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector clocks: what an agent knows to have happened before.
//!
//! An *agent* is a thread, or the asynchronous copies of one `mbarrier`, or those of one thread's
//! `cp.async`. Each agent counts *epochs*; a clock holds, for every agent, the last epoch known to
//! be over or, for a thread's own entry, the current one. Of other blocks an agent knows nothing, but
//! what it acquired from a word of global memory; all who know the same share it.
//!
//! Copy engines reach memory on a way of their own, the *async proxy*. They see what ordinary instructions
//! wrote only if a proxy fence came after it and before the copy, in the copy's block: a clock also holds
//! what was known at such fences.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Index of an agent in a block.
pub type Agent = u32;

/// The last known epoch of each agent; 0 where nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clock {
    /// Of the own block.
    own: Epochs,
    others: Option<Knowledge>,
    /// What was known at proxy fences of this block, for shared and for global memory.
    fenced: [Option<Knowledge>; 2],
}

/// A memory that proxy fences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A block's shared memory.
    Shared,
    /// Global memory.
    Global,
}

/// What is known of several blocks. Copies share what is known of a block.
pub type Knowledge = Rc<BTreeMap<u32, Rc<Epochs>>>;

/// The last known epochs of a block's agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Epochs(Vec<u32>);

impl Epochs {
    fn at(&self, agent: Agent) -> u32 {
        self.0.get(agent as usize).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn meet(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).min(*theirs);
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let mine = self.0.iter().copied().chain(std::iter::repeat(0));
        other.0.iter().zip(mine).all(|(theirs, mine)| *theirs <= mine)
    }
}

/// Ordinary stores have replaced what was released with words.
pub(crate) fn forget<At: Copy + Ord, Of>(words: &mut BTreeMap<At, Of>, stored: Range<At>) {
    while let Some((&at, _)) = words.range(stored.start..stored.end).next() {
        words.remove(&at);
    }
}

/// Adds what `other` knows.
pub fn merge(known: &mut Knowledge, other: &Knowledge) {
    let covers = |one: &Knowledge, other: &Knowledge| {
        other.iter().all(|(block, epochs)| {
            one.get(block).is_some_and(|mine| Rc::ptr_eq(mine, epochs) || mine.covers(epochs))
        })
    };
    if Rc::ptr_eq(known, other) || covers(known, other) {
        return;
    }
    if covers(other, known) {
        known.clone_from(other);
        return;
    }
    let known = Rc::make_mut(known);
    for (block, epochs) in &**other {
        match known.get_mut(block) {
            None => drop(known.insert(*block, Rc::clone(epochs))),
            Some(mine) if Rc::ptr_eq(mine, epochs) || mine.covers(epochs) => {}
            Some(mine) if epochs.covers(mine) => mine.clone_from(epochs),
            Some(mine) => Rc::make_mut(mine).join(epochs),
        }
    }
}

impl Clock {
    /// The last known epoch of an agent.
    pub fn at(&self, agent: Agent) -> u32 {
        self.own.at(agent)
    }

    /// The last known epoch of another block's agent.
    pub fn at_other(&self, block: u32, agent: Agent) -> u32 {
        let epochs = self.others.as_ref().and_then(|others| others.get(&block));
        epochs.map_or(0, |epochs| epochs.at(agent))
    }

    /// All that an agent of `block` with this clock knows.
    pub fn knowledge(&self, block: u32) -> Knowledge {
        let mut known = self.others.clone().unwrap_or_default();
        Rc::make_mut(&mut known).insert(block, Rc::new(self.own.clone()));
        known
    }

    /// Learns, as an agent of `block`.
    pub fn acquire(&mut self, block: u32, knowledge: &Knowledge) {
        if let Some(own) = knowledge.get(&block) {
            self.own.join(own);
        }
        merge(self.others.get_or_insert_default(), knowledge);
    }

    /// Notes a proxy fence by an agent of `block`: all that it knows is now fenced.
    pub fn fence(&mut self, block: u32, space: Space) {
        let known = self.knowledge(block);
        merge(self.fenced[space as usize].get_or_insert_default(), &known);
    }

    /// The last epoch of an agent that a proxy fence came after.
    pub fn fenced_at(&self, space: Space, block: u32, agent: Agent) -> u32 {
        let known = self.fenced[space as usize].as_ref();
        known.and_then(|known| known.get(&block)).map_or(0, |epochs| epochs.at(agent))
    }

    /// Learns that an agent has come at least to `epoch`.
    pub fn raise(&mut self, agent: Agent, epoch: u32) {
        let (agent, own) = (agent as usize, &mut self.own.0);
        if own.len() <= agent {
            own.resize(agent + 1, 0);
        }
        own[agent] = own[agent].max(epoch);
    }

    /// Starts an agent's next epoch.
    pub fn tick(&mut self, agent: Agent) {
        self.raise(agent, self.at(agent) + 1);
    }

    /// Forgets, as an agent of `block`, what `other` does not know of this block and its shared memory, and
    /// all about others.
    pub fn meet(&mut self, block: u32, other: &Self) {
        self.own.meet(&other.own);
        self.others = None;
        let fenced = |clock: &Self| {
            let known = clock.fenced[Space::Shared as usize].as_ref()?;
            known.get(&block).map(Rc::clone)
        };
        let both = fenced(self).zip(fenced(other)).map(|(mut mine, theirs)| {
            if !Rc::ptr_eq(&mine, &theirs) {
                Rc::make_mut(&mut mine).meet(&theirs);
            }
            Rc::new(BTreeMap::from([(block, mine)]))
        });
        self.fenced = [both, None];
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Self) {
        self.own.join(&other.own);
        learn_if_any(&mut self.others, &other.others);
        for (mine, theirs) in self.fenced.iter_mut().zip(&other.fenced) {
            learn_if_any(mine, theirs);
        }
    }
}

fn learn_if_any(mine: &mut Option<Knowledge>, theirs: &Option<Knowledge>) {
    match (mine, theirs) {
        (_, None) => {}
        (mine @ None, theirs) => mine.clone_from(theirs),
        (Some(mine), Some(theirs)) => merge(mine, theirs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_replaces_the_words_that_begin_in_it() {
        let mut words: BTreeMap<u32, Knowledge> = BTreeMap::new();
        for at in [0, 4, 8, 12] {
            words.insert(at, Knowledge::default());
        }
        forget(&mut words, 4..12);
        assert!(words.into_keys().eq([0, 12]));
    }
}
