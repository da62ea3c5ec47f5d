// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who last wrote and who since read each piece of a memory: finds accesses that nothing orders.

use crate::clock::{Agent, Clock};
use crate::fault::{Access, FaultKind, Place, Site};
use std::ops::Range;

/// Bytes with one history: the smallest element. Smaller accesses count as touching all of it.
const GRANULE: usize = 2;

/// One access, as later ones see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Where it was issued.
    pub site: Site,
    /// Who does it.
    pub agent: Agent,
    /// In which epoch of the agent.
    pub epoch: u32,
    /// Whether a copy engine does it, some time after it was issued.
    pub asynchronous: bool,
}

impl Event {
    /// Whether this has happened before whatever an agent of `block` with this clock does now.
    pub fn is_before(&self, block: u32, clock: &Clock) -> bool {
        let known = if self.site.block == block {
            clock.at(self.agent)
        } else {
            clock.at_other(self.site.block, self.agent)
        };
        known >= self.epoch
    }
}

/// Two accesses that nothing orders, of which at least one writes.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    /// First byte where they meet.
    pub offset: usize,
    /// The earlier one.
    pub other: Event,
    /// Whether the earlier one writes.
    pub other_writes: bool,
}

impl Conflict {
    /// The report of the later access; `place` says where an offset is.
    pub fn into_fault(self, access: Access, place: impl FnOnce(usize) -> Place) -> FaultKind {
        let (place, other) = (place(self.offset), self.other.site);
        if self.other.asynchronous {
            FaultKind::MissingWait { access, place, copy: other }
        } else {
            let other_access = if self.other_writes { Access::Write } else { Access::Read };
            FaultKind::Race { access, place, other_access, other }
        }
    }
}

/// The history of a memory.
#[derive(Debug, Default)]
pub struct Shadow {
    cells: Vec<Cell>,
    /// Cells name events by their index plus 1.
    events: Vec<Event>,
    /// Readers of the cells that have more than one; cells name them by their index plus 1.
    crowds: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    writer: u32,
    /// A read since the last write that no later read has come after.
    reader: u32,
    /// More such reads, where there are several at a time.
    crowd: u32,
}

impl Shadow {
    /// An empty history of `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { cells: vec![Cell::default(); bytes.div_ceil(GRANULE)], ..Self::default() }
    }

    /// Records a read by an agent with this clock.
    pub fn read(
        &mut self,
        bytes: Range<usize>,
        event: Event,
        clock: &Clock,
    ) -> Result<(), Conflict> {
        let id = self.record(event);
        let before =
            |events: &[Event], id: u32| events[id as usize - 1].is_before(event.site.block, clock);
        for at in granules(bytes) {
            let cell = &mut self.cells[at];
            if cell.writer != 0 && !before(&self.events, cell.writer) {
                return Err(conflict(&self.events, at, cell.writer, true));
            }
            if cell.reader == 0 || before(&self.events, cell.reader) {
                cell.reader = id;
            } else if cell.reader != id {
                if cell.crowd == 0 {
                    self.crowds.push(Vec::new());
                    cell.crowd = self.crowds.len() as u32;
                }
                let crowd = &mut self.crowds[cell.crowd as usize - 1];
                crowd.retain(|&reader| reader != id && !before(&self.events, reader));
                crowd.push(id);
            }
        }
        Ok(())
    }

    /// Records a write by an agent with this clock.
    pub fn write(
        &mut self,
        bytes: Range<usize>,
        event: Event,
        clock: &Clock,
    ) -> Result<(), Conflict> {
        let id = self.record(event);
        let events = &self.events;
        let before =
            |id: u32| id == 0 || events[id as usize - 1].is_before(event.site.block, clock);
        for at in granules(bytes) {
            let cell = &mut self.cells[at];
            if !before(cell.writer) {
                return Err(conflict(events, at, cell.writer, true));
            }
            let mut nobody = Vec::new();
            let crowd = match cell.crowd {
                0 => &mut nobody,
                crowd => &mut self.crowds[crowd as usize - 1],
            };
            let mut readers = crowd.iter().copied().chain([cell.reader]);
            if let Some(reader) = readers.find(|&reader| !before(reader)) {
                return Err(conflict(events, at, reader, false));
            }
            crowd.clear();
            cell.writer = id;
            cell.reader = 0;
        }
        Ok(())
    }

    /// Whether nobody has accessed these bytes.
    pub fn is_untouched(&self, bytes: Range<usize>) -> bool {
        self.cells[granules(bytes)].iter().all(|cell| cell.writer == 0 && cell.reader == 0)
    }

    fn record(&mut self, event: Event) -> u32 {
        if self.events.last() != Some(&event) {
            self.events.push(event);
        }
        u32::try_from(self.events.len()).expect("a launch makes fewer than 2^32 accesses")
    }
}

fn conflict(events: &[Event], at: usize, id: u32, other_writes: bool) -> Conflict {
    Conflict { offset: at * GRANULE, other: events[id as usize - 1], other_writes }
}

fn granules(bytes: Range<usize>) -> Range<usize> {
    bytes.start / GRANULE..bytes.end.div_ceil(GRANULE)
}
