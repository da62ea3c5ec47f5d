// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structured Sparsity Conversion (SparStencil §3.2): orders of the columns of A' that make it 2:4
//! (or 1:2), with as few zero columns as possible.
//!
//! Columns that never conflict are paired, at most one nonzero a row in each pair; two pairs make a
//! group of four. That is what [`hierarchical`], [`blossom`] and [`swap`] do. 2:4 asks for less than two
//! pairs: [`words`] matches neighbours that one load fetches, and [`groups`] fills groups of four freely.

pub mod blossom;
pub mod groups;
pub mod hierarchical;
pub mod swap;
pub mod words;

use crate::conflict::Pattern;
use crate::sparsify::Granularity;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Two columns that do not conflict, or one and a zero column.
pub type ColumnPair = (usize, Option<usize>);

/// How columns are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Algorithm 1: by position, for staircases.
    Hierarchical,
    /// SPIDER's rule, input row by input row.
    StridedSwap,
    /// Maximum matching, for any pattern.
    Blossom,
    /// Maximum matching of words of two neighbours.
    Words,
    /// Groups of four by bounded search.
    Groups,
}

/// The strategies that order the columns of a pattern.
pub const STRATEGIES: [Strategy; 5] = [
    Strategy::Hierarchical,
    Strategy::StridedSwap,
    Strategy::Words,
    Strategy::Blossom,
    Strategy::Groups,
];

/// Columns of A' in the order of A''.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnOrder {
    /// Slot → column of A'; `None` is a zero column.
    pub slots: Vec<Option<usize>>,
    /// Zero columns that the matching itself needs: p of Problem 1. More may fill the last group.
    pub zero_columns: usize,
}

/// Why a strategy has no order for a pattern.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NoOrder {
    /// Algorithm 1 goes by position.
    #[error("A' is no staircase")]
    NoStaircase,
    /// A maximum matching cannot do better.
    #[error("Algorithm 1 needs as few zero columns as any pairs")]
    Minimal,
    /// More outputs along x than the stride allows.
    #[error("{outputs} outputs along x; rows of {length} weights are swapped for up to {most}")]
    TooWide {
        /// Outputs of a tile along x.
        outputs: usize,
        /// Extent of the stencil along x.
        length: usize,
        /// The most outputs that fit.
        most: usize,
    },
    /// Too many columns to search.
    #[error("{columns} columns; the search takes up to {most}")]
    TooMany {
        /// Columns of A'.
        columns: usize,
        /// The most that are searched.
        most: usize,
    },
    /// tf32 wants pairs, which matching finds.
    #[error("groups of four are for 2:4, this type needs {0}")]
    Pairs(Granularity),
}

impl Strategy {
    /// The order that the strategy finds.
    ///
    /// # Errors
    /// The strategy does not apply.
    pub fn order(
        self,
        pattern: &Pattern,
        granularity: Granularity,
    ) -> Result<ColumnOrder, NoOrder> {
        match self {
            Self::Hierarchical if !pattern.is_staircase() => Err(NoOrder::NoStaircase),
            Self::Hierarchical => {
                Ok(from_pairs(pattern, &hierarchical::pairs(pattern), granularity))
            }
            Self::StridedSwap => swap::order(pattern),
            Self::Blossom if by_rule(pattern) => Err(NoOrder::Minimal),
            Self::Blossom => Ok(from_pairs(pattern, &blossom::pairs(pattern)?, granularity)),
            Self::Words | Self::Groups if granularity == Granularity::OneOfTwo => {
                Err(NoOrder::Pairs(granularity))
            }
            Self::Words => words::order(pattern),
            Self::Groups => groups::order(pattern),
        }
    }
}

/// Whether Algorithm 1 finds pairs with the fewest zero columns.
fn by_rule(pattern: &Pattern) -> bool {
    pattern.is_staircase() && hierarchical::is_minimal(pattern)
}

/// Pairs with the fewest zero columns.
fn fewest_pairs(pattern: &Pattern) -> Result<Vec<ColumnPair>, NoOrder> {
    if by_rule(pattern) { Ok(hierarchical::pairs(pattern)) } else { blossom::pairs(pattern) }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hierarchical => "hierarchical",
            Self::StridedSwap => "strided swap",
            Self::Blossom => "blossom",
            Self::Words => "word pairs",
            Self::Groups => "groups of four",
        })
    }
}

/// Lays pairs out. A group of four takes two pairs whose first columns share a word in memory, where
/// there are such, so that one load fetches both: the first columns of both pairs come first.
#[must_use]
pub fn from_pairs(
    pattern: &Pattern,
    pairs: &[ColumnPair],
    granularity: Granularity,
) -> ColumnOrder {
    let zero_columns = pairs.iter().filter(|(_, second)| second.is_none()).count();
    let slots = match granularity {
        Granularity::OneOfTwo => pairs.iter().flat_map(|&(a, b)| [Some(a), b]).collect(),
        Granularity::TwoOfFour => by_words(pattern, pairs)
            .chunks(2)
            .flat_map(|pairs| match *pairs {
                [(a, b), (c, d)] => [Some(a), Some(c), b, d],
                _ => [Some(pairs[0].0), None, pairs[0].1, None],
            })
            .collect(),
    };
    ColumnOrder { slots, zero_columns }
}

/// The pairs, those first whose first columns are the two halves of a word.
fn by_words(pattern: &Pattern, pairs: &[ColumnPair]) -> Vec<ColumnPair> {
    let first = pattern.first_input()[2];
    let mut pair_of = vec![None; pattern.columns.len() + 1];
    for &pair in pairs {
        pair_of[pair.0] = Some(pair);
    }
    let word = |column: usize| {
        let [z, y, x] = pattern.inputs[column];
        (z, y, (x - first) / 2)
    };
    let mut together = Vec::with_capacity(pairs.len());
    for column in 0..pattern.columns.len() {
        if let (Some(pair), Some(next)) = (pair_of[column], pair_of[column + 1])
            && word(pair.0) == word(next.0)
        {
            together.extend([pair, next]);
            (pair_of[column], pair_of[column + 1]) = (None, None);
        }
    }
    together.extend(pair_of.into_iter().flatten());
    together
}
