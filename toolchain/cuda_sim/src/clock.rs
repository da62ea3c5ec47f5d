// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector clocks: what an agent knows to have happened before.
//!
//! An *agent* is a thread, or the asynchronous copies of one `mbarrier`, or those of one thread's
//! `cp.async`. Each agent counts *epochs*; a clock holds, for every agent, the last epoch known to
//! be over or, for a thread's own entry, the current one.

/// Index of an agent in a block.
pub type Agent = u32;

/// The last known epoch of each agent; 0 where nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// The last known epoch of an agent.
    pub fn at(&self, agent: Agent) -> u32 {
        self.0.get(agent as usize).copied().unwrap_or(0)
    }

    /// Learns that an agent has come at least to `epoch`.
    pub fn raise(&mut self, agent: Agent, epoch: u32) {
        let agent = agent as usize;
        if self.0.len() <= agent {
            self.0.resize(agent + 1, 0);
        }
        self.0[agent] = self.0[agent].max(epoch);
    }

    /// Starts an agent's next epoch.
    pub fn tick(&mut self, agent: Agent) {
        self.raise(agent, self.at(agent) + 1);
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}
