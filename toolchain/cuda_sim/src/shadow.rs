// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who last wrote and who since read each piece of a memory: finds accesses that nothing orders.

use crate::clock::{Agent, Clock, Space};
use crate::fault::{Access, FaultKind, MemoryBytes};
use crate::site::Site;
use crate::touched::{AccessRecord, Mark, granules};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes with one history, until there is an access of a single byte: the smallest element of a grid.
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
    /// Whether it is done some time after it was issued.
    pub asynchronous: bool,
    /// Whether others may access the same bytes in the same way at the same time.
    pub is_atomic: bool,
    /// By which way it reaches memory.
    pub proxy: Proxy,
}

/// A way to memory. What is written by one is not seen by the other before a fence between them; copies of
/// the async proxy end with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// Of ordinary instructions, and of `cp.async`.
    Generic,
    /// Of bulk copies and tensor copies.
    Async,
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

    /// Whether a copy by `reader` with this clock misses what this wrote, for want of a proxy fence.
    fn is_unfenced(&self, reader: &Event, space: Space, clock: &Clock) -> bool {
        (self.proxy, reader.proxy) == (Proxy::Generic, Proxy::Async)
            && clock.fenced_at(space, self.site.block, self.agent) < self.epoch
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
    /// The memory for which a proxy fence is missing: otherwise nothing orders them.
    pub unfenced: Option<Space>,
}

impl Conflict {
    /// The report of the later access; `place` says where an offset is.
    pub fn into_fault(self, access: Access, place: impl FnOnce(usize) -> MemoryBytes) -> FaultKind {
        let (place, other) = (place(self.offset), self.other.site);
        if let Some(space) = self.unfenced {
            let fence = match space {
                Space::Shared => "fence_shared",
                Space::Global => "fence_global",
            };
            return FaultKind::Unfenced { access, place, other, fence };
        }
        if self.other.asynchronous {
            FaultKind::MissingWait { access, place, copy: other }
        } else {
            let other_access = if self.other_writes { Access::Write } else { Access::Read };
            FaultKind::Race { access, place, other_access, other }
        }
    }
}

/// The history of a memory.
#[derive(Debug)]
pub struct Shadow {
    space: Space,
    /// Bytes with one history: [`GRANULE`], or 1.
    granule: usize,
    cells: Cells,
    /// Cells name events by their index plus 1.
    events: Vec<Event>,
    /// Readers of the cells that have more than one; cells name them by their index plus 1.
    crowds: Vec<GranuleReaders>,
    /// Atomic writes of granules since the last ordinary one.
    atomics: BTreeMap<usize, GranuleReaders>,
}

/// Reads of a granule since the last write.
#[derive(Clone, Debug, Default)]
struct GranuleReaders {
    readers: Vec<u32>,
    /// How many there may be before those are left out that a later read has come after: to look at all of them at each
    /// read would take long where all threads read, such as a table of weights.
    room: usize,
}

impl GranuleReaders {
    /// Readers among which later ones are looked for at each read.
    const LATEST: usize = 4;

    /// Adds a reader, and leaves out those before it: of the latest, or of all if there are many.
    fn add(&mut self, id: u32, before: impl Fn(u32) -> bool) {
        let is_full = self.readers.len() >= self.room;
        let looked_at = if is_full { self.readers.len() } else { Self::LATEST };
        let first = self.readers.len().saturating_sub(looked_at);
        let mut kept = first;
        for at in first..self.readers.len() {
            let reader = self.readers[at];
            if reader != id && !before(reader) {
                self.readers[kept] = reader;
                kept += 1;
            }
        }
        self.readers.truncate(kept);
        if is_full {
            self.room = (2 * kept).max(2 * Self::LATEST);
        }
        self.readers.push(id);
    }
}

/// The history of each granule.
#[derive(Debug)]
enum Cells {
    All(Vec<Cell>),
    /// Of those that have been accessed.
    Sparse(BTreeMap<usize, Cell>),
}

impl Cells {
    fn at(&mut self, granule: usize) -> &mut Cell {
        match self {
            Self::All(cells) => &mut cells[granule],
            Self::Sparse(cells) => cells.entry(granule).or_default(),
        }
    }

    fn each(&mut self) -> Box<dyn Iterator<Item = &mut Cell> + '_> {
        match self {
            Self::All(cells) => Box::new(cells.iter_mut()),
            Self::Sparse(cells) => Box::new(cells.values_mut()),
        }
    }

    /// Of a history for so many bytes one for each.
    fn refined(&self) -> Self {
        match self {
            Self::All(cells) => Self::All(cells.iter().flat_map(|cell| [*cell; GRANULE]).collect()),
            Self::Sparse(cells) => {
                let each = |(at, cell): (&usize, &Cell)| {
                    let (at, cell) = (*at, *cell);
                    (0..GRANULE).map(move |byte| (at * GRANULE + byte, cell))
                };
                Self::Sparse(cells.iter().flat_map(each).collect())
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    writer: u32,
    /// A read since the last write that no later read has come after.
    reader: u32,
    /// More such reads, where there are several at a time.
    crowd: u32,
}

impl Cell {
    fn mark(&self) -> Mark {
        match self {
            Self { writer: 0, reader: 0, .. } => Mark::Nothing,
            Self { writer: 0, .. } => Mark::Read,
            _ => Mark::Written,
        }
    }
}

impl Shadow {
    /// An empty history of `bytes` bytes.
    pub fn new(space: Space, bytes: usize) -> Self {
        let cells = Cells::All(vec![Cell::default(); bytes.div_ceil(GRANULE)]);
        Self::of(space, cells)
    }

    fn of(space: Space, cells: Cells) -> Self {
        let (events, crowds, atomics) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { space, granule: GRANULE, cells, events, crowds, atomics }
    }

    /// An empty history of any number of bytes, of which few are accessed.
    pub fn sparse(space: Space) -> Self {
        let cells = Cells::Sparse(BTreeMap::new());
        Self::of(space, cells)
    }

    /// Gives each byte a history of its own, once one is accessed alone.
    fn refine_for(&mut self, bytes: &Range<usize>) {
        if bytes.start.is_multiple_of(self.granule) && bytes.end.is_multiple_of(self.granule) {
            return;
        }
        self.granule = 1;
        self.cells = self.cells.refined();
        let atomics = std::mem::take(&mut self.atomics).into_iter();
        let each = |(at, crowd): (usize, GranuleReaders)| {
            (0..GRANULE).map(move |byte| (at * GRANULE + byte, crowd.clone()))
        };
        self.atomics = atomics.flat_map(each).collect();
        // Bytes that had readers in common have them twice from now on.
        for (number, cell) in self.cells.each().filter(|cell| cell.crowd != 0).enumerate() {
            if number % GRANULE != 0 {
                self.crowds.push(self.crowds[cell.crowd as usize - 1].clone());
                cell.crowd = self.crowds.len() as u32;
            }
        }
    }

    /// Records a read by an agent with this clock.
    pub fn read(
        &mut self,
        bytes: Range<usize>,
        event: Event,
        clock: &Clock,
    ) -> Result<(), Conflict> {
        self.refine_for(&bytes);
        let granule = self.granule;
        let id = self.record(event);
        let before =
            |events: &[Event], id: u32| events[id as usize - 1].is_before(event.site.block, clock);
        for at in granules(bytes, granule) {
            let cell = self.cells.at(at);
            if cell.writer != 0 {
                let writer = &self.events[cell.writer as usize - 1];
                if !writer.is_before(event.site.block, clock) {
                    return Err(conflict(at * granule, *writer, true));
                }
                if writer.is_unfenced(&event, self.space, clock) {
                    return Err(unfenced(at * granule, *writer, self.space));
                }
            }
            if !event.is_atomic
                && let Some(crowd) = self.atomics.get(&at)
                && let Some(writer) = crowd.readers.iter().find(|it| !before(&self.events, **it))
            {
                return Err(conflict(at * granule, self.events[*writer as usize - 1], true));
            }
            if cell.reader == 0 || before(&self.events, cell.reader) {
                cell.reader = id;
            } else if cell.reader != id {
                if cell.crowd == 0 {
                    self.crowds.push(GranuleReaders::default());
                    cell.crowd = self.crowds.len() as u32;
                }
                let crowd = &mut self.crowds[cell.crowd as usize - 1];
                crowd.add(id, |reader| before(&self.events, reader));
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
        self.refine_for(&bytes);
        let granule = self.granule;
        let id = self.record(event);
        let events = &self.events;
        let before =
            |id: u32| id == 0 || events[id as usize - 1].is_before(event.site.block, clock);
        for at in granules(bytes, granule) {
            let cell = self.cells.at(at);
            if cell.writer != 0 {
                let writer = &events[cell.writer as usize - 1];
                if !writer.is_before(event.site.block, clock) {
                    return Err(conflict(at * granule, *writer, true));
                }
                if writer.is_unfenced(&event, self.space, clock) {
                    return Err(unfenced(at * granule, *writer, self.space));
                }
            }
            let mut nobody = Vec::new();
            let crowd = match cell.crowd {
                0 => &mut nobody,
                crowd => &mut self.crowds[crowd as usize - 1].readers,
            };
            let mut readers = crowd.iter().copied().chain([cell.reader]);
            if let Some(reader) = readers.find(|&reader| !before(reader)) {
                return Err(conflict(at * granule, events[reader as usize - 1], false));
            }
            if let Some(crowd) = self.atomics.get(&at)
                && let Some(writer) = crowd.readers.iter().find(|it| !before(**it))
            {
                return Err(conflict(at * granule, events[*writer as usize - 1], true));
            }
            crowd.clear();
            self.atomics.remove(&at);
            cell.writer = id;
            cell.reader = 0;
        }
        Ok(())
    }

    /// Records an atomic write by an agent with this clock: it conflicts with ordinary accesses only.
    pub fn update(
        &mut self,
        bytes: Range<usize>,
        event: Event,
        clock: &Clock,
    ) -> Result<(), Conflict> {
        self.refine_for(&bytes);
        let granule = self.granule;
        let id = self.record(event);
        let events = &self.events;
        let of = |id: u32| &events[id as usize - 1];
        let before = |id: u32| id == 0 || of(id).is_before(event.site.block, clock);
        for at in granules(bytes, granule) {
            let cell = self.cells.at(at);
            if !before(cell.writer) {
                return Err(conflict(at * granule, *of(cell.writer), true));
            }
            let crowd = match cell.crowd {
                0 => &[][..],
                crowd => &self.crowds[crowd as usize - 1].readers,
            };
            let mut readers = crowd.iter().copied().chain([cell.reader]);
            if let Some(reader) = readers.find(|&it| !before(it) && !of(it).is_atomic) {
                return Err(conflict(at * granule, *of(reader), false));
            }
            self.atomics.entry(at).or_default().add(id, before);
        }
        Ok(())
    }

    /// Whether nobody has accessed these bytes.
    pub fn is_untouched(&self, bytes: Range<usize>) -> bool {
        let is_untouched = |cell: &Cell| cell.writer == 0 && cell.reader == 0;
        let granules = granules(bytes, self.granule);
        if self.atomics.range(granules.clone()).next().is_some() {
            return false;
        }
        match &self.cells {
            Cells::All(cells) => cells[granules].iter().all(is_untouched),
            Cells::Sparse(cells) => cells.range(granules).all(|(_, cell)| is_untouched(cell)),
        }
    }

    /// What was accessed, whoever did it.
    pub fn touched(&self) -> AccessRecord {
        let mut touched = match &self.cells {
            Cells::All(cells) => AccessRecord::all(self.granule, cells.iter().map(Cell::mark)),
            Cells::Sparse(cells) => AccessRecord::sparse(
                self.granule,
                cells.iter().map(|(&at, cell)| (at, cell.mark())),
            ),
        };
        for at in self.atomics.keys() {
            touched.write(at * self.granule..(at + 1) * self.granule);
        }
        touched
    }

    fn record(&mut self, event: Event) -> u32 {
        if self.events.last() != Some(&event) {
            self.events.push(event);
        }
        u32::try_from(self.events.len()).expect("a launch makes fewer than 2^32 accesses")
    }
}

fn conflict(offset: usize, other: Event, other_writes: bool) -> Conflict {
    Conflict { offset, other, other_writes, unfenced: None }
}

fn unfenced(offset: usize, writer: Event, space: Space) -> Conflict {
    Conflict { unfenced: Some(space), ..conflict(offset, writer, true) }
}
