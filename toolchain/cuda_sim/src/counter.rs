// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters in global memory, by which blocks wait for each other. A wait acquires what the first
//! additions released that it could have gone on after, however many more there have been.

use crate::clock::{Knowledge, merge};

/// A counter since the launch began.
#[derive(Debug)]
pub(crate) struct Counter {
    start: u32,
    /// The value after each addition, and what all additions up to it released.
    additions: Vec<(u32, Knowledge)>,
}

/// Whether a counter, which wraps around, has come to `value`.
pub fn has_come(found: u32, value: u32) -> bool {
    found.wrapping_sub(value) as i32 >= 0
}

impl Counter {
    pub fn new(start: u32) -> Self {
        Self { start, additions: Vec::new() }
    }

    pub fn value(&self) -> u32 {
        self.additions.last().map_or(self.start, |(value, _)| *value)
    }

    pub fn add(&mut self, value: u32, mut knowledge: Knowledge) -> u32 {
        if let Some((_, before)) = self.additions.last() {
            merge(&mut knowledge, before);
        }
        let sum = self.value().wrapping_add(value);
        self.additions.push((sum, knowledge));
        sum
    }

    /// What one acquires who waits until the counter has come to `value`; none if it has not.
    pub fn acquired(&self, value: u32) -> Option<Knowledge> {
        if has_come(self.start, value) {
            return Some(Knowledge::default());
        }
        let first = self.additions.iter().find(|(sum, _)| has_come(*sum, value));
        first.map(|(_, knowledge)| knowledge.clone())
    }
}
