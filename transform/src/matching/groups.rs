// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups of four at once. 2:4 asks for at most 2 nonzeros a row in 4 columns, which is less than two
//! pairs free of conflict: three columns that conflict pairwise, each time in another row, make a group
//! but no pair.
//!
//! Starts from the best pairs and searches, depth first, for an arrangement with fewer groups, until it
//! finds none or reaches the lower bound. Deterministic; [`MAX_NODES`] steps for each number of groups,
//! each O(groups): O(k'·groups + nodes·groups) in all. Never worse than the pairs.

use super::{ColumnOrder, NoOrder, fewest_pairs, from_pairs};
use crate::conflict::{Pattern, RowMask};
use crate::sparsify::{GROUP, Granularity, KEPT};

/// The most columns that are searched.
pub const MAX_COLUMNS: usize = 256;

/// Steps of the search for one number of groups. Where that is not enough the pairs stay.
pub const MAX_NODES: usize = 5_000;

/// Orders the columns in as few groups of four as the search finds.
///
/// # Errors
/// More than [`MAX_COLUMNS`] columns.
pub fn order(pattern: &Pattern) -> Result<ColumnOrder, NoOrder> {
    let columns = pattern.columns.len();
    if columns > MAX_COLUMNS {
        return Err(NoOrder::TooMany { columns, most: MAX_COLUMNS });
    }
    let mut best = from_pairs(pattern, &fewest_pairs(pattern)?, Granularity::TwoOfFour);
    while let Some(groups) = (best.slots.len() / GROUP).checked_sub(1) {
        if groups < fewest(pattern) {
            break;
        }
        let Some(found) = Search::new(&pattern.columns, groups).run() else { break };
        best = ColumnOrder { zero_columns: GROUP * groups - columns, slots: found };
    }
    Ok(best)
}

/// Groups that no arrangement can do without: for the columns, and for the nonzeros of a row.
#[must_use]
pub fn fewest(pattern: &Pattern) -> usize {
    pattern.columns.len().div_ceil(GROUP).max(pattern.fullest_row().div_ceil(KEPT))
}

/// A group that is being filled.
#[derive(Clone, Copy, Default)]
struct Group {
    /// Rows with at least one nonzero.
    once: RowMask,
    /// Rows with two.
    twice: RowMask,
    columns: usize,
}

impl Group {
    fn takes(self, rows: RowMask) -> bool {
        self.columns < GROUP && self.twice & rows == 0
    }

    fn with(self, rows: RowMask) -> Self {
        let twice = self.twice | self.once & rows;
        Self { once: self.once | rows, twice, columns: self.columns + 1 }
    }
}

/// Depth-first search for a given number of groups; the fullest columns first, as they fit least.
struct Search<'a> {
    columns: &'a [RowMask],
    /// Depth → column.
    sequence: Vec<usize>,
    /// Depth → group.
    chosen: Vec<usize>,
    groups: Vec<Group>,
    nodes: usize,
}

impl<'a> Search<'a> {
    fn new(columns: &'a [RowMask], groups: usize) -> Self {
        let mut sequence: Vec<usize> = (0..columns.len()).collect();
        sequence
            .sort_by_key(|&column| (16 - columns[column].count_ones(), columns[column], column));
        let groups = vec![Group::default(); groups];
        Self { columns, sequence, chosen: Vec::new(), groups, nodes: MAX_NODES }
    }

    /// The slots, if the columns fit.
    fn run(mut self) -> Option<Vec<Option<usize>>> {
        self.place(0)?;
        let mut slots = vec![None; GROUP * self.groups.len()];
        let mut filled = vec![0; self.groups.len()];
        for (&column, &group) in self.sequence.iter().zip(&self.chosen) {
            slots[GROUP * group + filled[group]] = Some(column);
            filled[group] += 1;
        }
        Some(slots)
    }

    /// Places the columns from a depth on; `None` where they do not fit or the steps are used up.
    fn place(&mut self, depth: usize) -> Option<()> {
        let Some(&column) = self.sequence.get(depth) else { return Some(()) };
        let rows = self.columns[column];
        // Equal columns are interchangeable, so they go into groups in increasing order.
        let same = depth > 0 && self.columns[self.sequence[depth - 1]] == rows;
        let first = if same { self.chosen[depth - 1] } else { 0 };
        for group in first..self.groups.len() {
            let before = self.groups[group];
            if !before.takes(rows) {
                continue;
            }
            self.nodes = self.nodes.checked_sub(1)?;
            self.groups[group] = before.with(rows);
            self.chosen.push(group);
            if self.place(depth + 1).is_some() {
                return Some(());
            }
            self.chosen.pop();
            self.groups[group] = before;
            // Empty groups are interchangeable: the others would fail too.
            if before.columns == 0 {
                return None;
            }
        }
        None
    }
}
