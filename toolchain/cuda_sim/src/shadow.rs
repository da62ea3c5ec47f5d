// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who last wrote and who since read each piece of a memory: finds accesses that nothing orders.

use crate::clock::{Agent, Clock, Space};
use crate::fault::{Access, FaultKind, MemoryBytes};
use crate::site::Site;
use crate::touched::{AccessRecord, Mark, granules};
use ptx_sim::Scope;
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
    /// Which threads may access the same bytes in the same way at the same time, if any.
    pub atomic: Option<Scope>,
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

    /// Whether this and another one are atomic to each other: both name a scope that the other's thread is in.
    fn is_atomic_with(&self, other: &Event) -> bool {
        let (Some(mine), Some(theirs)) = (self.atomic, other.atomic) else { return false };
        let is_wide = mine != Scope::Block && theirs != Scope::Block;
        is_wide || self.site.block == other.site.block
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
    /// Whether both are atomic, one of them for another block's threads only.
    pub narrow: bool,
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
        if self.narrow {
            FaultKind::NarrowScope { access, place, other }
        } else if self.other.asynchronous {
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
    /// Whether there are atomic accesses that are so for a block only.
    is_narrow: bool,
}

/// Accesses of a granule of one kind since the last ordinary write.
#[derive(Clone, Debug, Default)]
struct GranuleReaders {
    ids: Vec<u32>,
    /// How many there may be before those are left out that a later read has come after: to look at all of them at each
    /// read would take long where all threads read, such as a table of weights.
    room: usize,
}

impl GranuleReaders {
    /// Readers among which later ones are looked for at each read.
    const LATEST: usize = 4;

    /// Adds a reader, and leaves out those before it: of the latest, or of all if there are many.
    fn add(&mut self, id: u32, before: impl Fn(u32) -> bool) {
        let is_full = self.ids.len() >= self.room;
        let looked_at = if is_full { self.ids.len() } else { Self::LATEST };
        let first = self.ids.len().saturating_sub(looked_at);
        let mut kept = first;
        for at in first..self.ids.len() {
            let reader = self.ids[at];
            if reader != id && !before(reader) {
                self.ids[kept] = reader;
                kept += 1;
            }
        }
        self.ids.truncate(kept);
        if is_full {
            self.room = (2 * kept).max(2 * Self::LATEST);
        }
        self.ids.push(id);
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
        Self { space, granule: GRANULE, cells, events, crowds, atomics, is_narrow: false }
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
        let id = self.record(event);
        for at in granules(bytes, self.granule) {
            let cell = self.cells.at(at);
            let late = Late { events: &self.events, event, clock, offset: at * self.granule };
            late.check_writer(cell.writer, self.space)?;
            if let Some(crowd) = self.atomics.get(&at).filter(|_| late.may_meet(self.is_narrow)) {
                late.check(&crowd.ids, true)?;
            }
            if late.is_after(cell.reader) {
                cell.reader = id;
            } else if cell.reader != id {
                if cell.crowd == 0 {
                    self.crowds.push(GranuleReaders::default());
                    cell.crowd = self.crowds.len() as u32;
                }
                let crowd = &mut self.crowds[cell.crowd as usize - 1];
                crowd.add(id, |reader| late.is_after(reader));
            }
        }
        Ok(())
    }

    /// Records a write by an agent with this clock. An atomic one conflicts with ordinary accesses only.
    pub fn write(
        &mut self,
        bytes: Range<usize>,
        event: Event,
        clock: &Clock,
    ) -> Result<(), Conflict> {
        self.refine_for(&bytes);
        let id = self.record(event);
        for at in granules(bytes, self.granule) {
            let cell = self.cells.at(at);
            let late = Late { events: &self.events, event, clock, offset: at * self.granule };
            late.check_writer(cell.writer, self.space)?;
            let crowd = cell.crowd.checked_sub(1).map(|crowd| &mut self.crowds[crowd as usize].ids);
            late.check(crowd.as_deref().map_or(&[], |ids| ids), false)?;
            late.check(&[cell.reader], false)?;
            if let Some(crowd) = self.atomics.get(&at).filter(|_| late.may_meet(self.is_narrow)) {
                late.check(&crowd.ids, true)?;
            }
            if event.atomic.is_some() {
                self.atomics.entry(at).or_default().add(id, |other| late.is_after(other));
                continue;
            }
            if let Some(crowd) = crowd {
                crowd.clear();
            }
            self.atomics.remove(&at);
            cell.writer = id;
            cell.reader = 0;
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
        self.is_narrow |= event.atomic == Some(Scope::Block);
        if self.events.last() != Some(&event) {
            self.events.push(event);
        }
        u32::try_from(self.events.len()).expect("a launch makes fewer than 2^32 accesses")
    }
}

/// An access of a granule beside those before it.
struct Late<'a> {
    events: &'a [Event],
    event: Event,
    clock: &'a Clock,
    offset: usize,
}

impl Late<'_> {
    fn of(&self, id: u32) -> &Event {
        &self.events[id as usize - 1]
    }

    /// Whether this comes after another access, or there is none.
    fn is_after(&self, id: u32) -> bool {
        id == 0 || self.of(id).is_before(self.event.site.block, self.clock)
    }

    /// Whether it may conflict with atomic writes, where there are such for a block only.
    fn may_meet(&self, is_narrow: bool) -> bool {
        self.event.atomic.is_none() || is_narrow
    }

    /// Refuses that nothing orders it after the last ordinary write, or no proxy fence comes between.
    fn check_writer(&self, id: u32, space: Space) -> Result<(), Conflict> {
        if !self.is_after(id) {
            return Err(conflict(self.offset, *self.of(id), true));
        }
        if id != 0 && self.of(id).is_unfenced(&self.event, space, self.clock) {
            return Err(unfenced(self.offset, *self.of(id), space));
        }
        Ok(())
    }

    /// Refuses that nothing orders it after one of these accesses, to which it is not atomic.
    fn check(&self, others: &[u32], write: bool) -> Result<(), Conflict> {
        let meets = |id: &&u32| !self.is_after(**id) && !self.event.is_atomic_with(self.of(**id));
        match others.iter().find(meets) {
            None => Ok(()),
            Some(&id) => {
                let narrow = self.event.atomic.is_some() && self.of(id).atomic.is_some();
                Err(Conflict { narrow, ..conflict(self.offset, *self.of(id), write) })
            }
        }
    }
}

fn conflict(offset: usize, other: Event, other_writes: bool) -> Conflict {
    Conflict { offset, other, other_writes, unfenced: None, narrow: false }
}

fn unfenced(offset: usize, writer: Event, space: Space) -> Conflict {
    Conflict { unfenced: Some(space), ..conflict(offset, writer, true) }
}
