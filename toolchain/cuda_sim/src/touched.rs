// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a launch has accessed, for the one after it.

use crate::fault::Access;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a launch has done to a granule; what was written may also have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Nothing,
    Read,
    Written,
}

/// What a launch has accessed in a memory.
#[derive(Debug)]
pub struct AccessRecord {
    /// Bytes of a mark.
    granule: usize,
    marks: Marks,
}

#[derive(Debug)]
enum Marks {
    /// The mark of each granule.
    All(Vec<Mark>),
    /// Of those that have been accessed.
    Sparse(BTreeMap<usize, Mark>),
}

impl AccessRecord {
    /// The marks of all granules.
    pub fn all(granule: usize, marks: impl Iterator<Item = Mark>) -> Self {
        Self { granule, marks: Marks::All(marks.collect()) }
    }

    /// The marks of some granules; nothing was done to the others.
    pub fn sparse(granule: usize, marks: impl Iterator<Item = (usize, Mark)>) -> Self {
        Self { granule, marks: Marks::Sparse(marks.collect()) }
    }

    /// Whether bytes may be accessed at the same time.
    pub fn allows(&self, bytes: Range<usize>, access: Access) -> bool {
        let allows = |mark: &Mark| match mark {
            Mark::Nothing => true,
            Mark::Read => access == Access::Read,
            Mark::Written => false,
        };
        let granules = granules(bytes, self.granule);
        match &self.marks {
            Marks::All(marks) => marks[granules].iter().all(allows),
            Marks::Sparse(marks) => marks.range(granules).all(|(_, mark)| allows(mark)),
        }
    }

    /// Notes a write.
    pub fn write(&mut self, bytes: Range<usize>) {
        for at in granules(bytes, self.granule) {
            match &mut self.marks {
                Marks::All(marks) => marks[at] = Mark::Written,
                Marks::Sparse(marks) => drop(marks.insert(at, Mark::Written)),
            }
        }
    }
}

/// The granules that bytes touch.
pub fn granules(bytes: Range<usize>, granule: usize) -> Range<usize> {
    bytes.start / granule..bytes.end.div_ceil(granule)
}
