// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hierarchical two-level matching: Algorithm 1 of SparStencil, one level for each axis.
//!
//! The columns of A' form blocks, one for each input row. Blocks i and i + s1, s1 = max(⌊m/2⌋, L),
//! never conflict (Theorem 5), so their columns are matched one to one. A block that is left over is
//! matched within itself by the same rule, columns u and u + s2, s2 = max(⌊g/2⌋, L), or with a zero
//! column. In 3D there is a level of planes above. Linear time.
//!
//! Theorem 6 calls the number of zero columns minimal. It is, unless some level has an odd number
//! m > 2L of blocks and more than one zero column results: then the columns that such a level leaves
//! over do not conflict with all others, and a maximum matching across blocks needs 0 or 1 (the tests
//! establish both by exhaustion, [`is_minimal`] tells). [`super::blossom`] takes those.

use super::ColumnPair;
use crate::conflict::Pattern;

/// Pairs the columns of a staircase.
#[must_use]
pub fn pairs(pattern: &Pattern) -> Vec<ColumnPair> {
    let mut pairs = Vec::with_capacity(pattern.columns.len().div_ceil(2));
    match_level(&levels(pattern), 0, &mut pairs);
    pairs
}

/// Whether no matching of a staircase's columns needs fewer zero columns than [`pairs`].
#[must_use]
pub fn is_minimal(pattern: &Pattern) -> bool {
    let levels = levels(pattern);
    let zero_columns: usize = levels.iter().map(Level::left_over).product();
    zero_columns <= 1 || levels.iter().all(|l| l.blocks % 2 == 0 || l.blocks <= 2 * l.length)
}

/// One axis of the staircase.
struct Level {
    blocks: usize,
    length: usize,
}

impl Level {
    /// Blocks that the rule leaves unmatched.
    fn left_over(&self) -> usize {
        match (2 * self.length).checked_sub(self.blocks) {
            Some(unmatched) => unmatched,
            None => self.blocks % 2,
        }
    }
}

fn levels(pattern: &Pattern) -> [Level; 3] {
    std::array::from_fn(|axis| Level {
        blocks: pattern.lengths[axis] + pattern.factors[axis] - 1,
        length: pattern.lengths[axis],
    })
}

/// Matches the columns from `first` on that the levels span.
fn match_level(levels: &[Level], first: usize, pairs: &mut Vec<ColumnPair>) {
    let [level, inner @ ..] = levels else {
        pairs.push((first, None));
        return;
    };
    let size: usize = inner.iter().map(|level| level.blocks).product();
    let stride = (level.blocks / 2).max(level.length);
    let mut matched = vec![false; level.blocks];
    for block in 0..level.blocks {
        let other = block + stride;
        if !matched[block] && other < level.blocks {
            (matched[block], matched[other]) = (true, true);
            let columns = (0..size).map(|column| first + block * size + column);
            pairs.extend(columns.map(|column| (column, Some(column + stride * size))));
        }
    }
    for block in (0..level.blocks).filter(|&block| !matched[block]) {
        match_level(inner, first + block * size, pairs);
    }
}
