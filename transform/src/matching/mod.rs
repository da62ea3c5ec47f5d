// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structured Sparsity Conversion (SparStencil §3.2): orders of the columns of A' that make it 2:4
//! (or 1:2), with as few zero columns as possible.
//!
//! Columns that never conflict are paired, at most one nonzero a row in each pair; two pairs make a
//! group of four. That is what [`hierarchical`], [`blossom`] and [`swap`] do. [`groups`] fills groups of
//! four at once: 2:4 asks for less than two pairs.

pub mod blossom;
pub mod groups;
pub mod hierarchical;
pub mod swap;

use crate::conflict::Pattern;
use crate::sparsify::Granularity;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Two columns that do not conflict, or one and a zero column.
pub type Pair = (usize, Option<usize>);

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
    /// Groups of four by bounded search.
    Groups,
}

/// The strategies that order the columns of a pattern.
pub const STRATEGIES: [Strategy; 4] =
    [Strategy::Hierarchical, Strategy::StridedSwap, Strategy::Blossom, Strategy::Groups];

/// Columns of A' in the order of A''.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// Slot → column of A'; `None` is a zero column.
    pub slots: Vec<Option<usize>>,
    /// Zero columns that the matching itself needs: p of Problem 1. More may fill the last group.
    pub zero_columns: usize,
}

/// Why a strategy has no order for a pattern.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Unfit {
    /// Algorithm 1 goes by position.
    #[error("A' is no staircase")]
    NoStaircase,
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
    #[error("groups of four are for 2:4, the type needs {0}")]
    Pairs(Granularity),
}

impl Strategy {
    /// The order that the strategy finds.
    ///
    /// # Errors
    /// The strategy does not apply.
    pub fn order(self, pattern: &Pattern, granularity: Granularity) -> Result<Order, Unfit> {
        match self {
            Self::Hierarchical if !pattern.is_staircase() => Err(Unfit::NoStaircase),
            Self::Hierarchical => Ok(from_pairs(&hierarchical::pairs(pattern), granularity)),
            Self::StridedSwap => swap::order(pattern),
            Self::Blossom => Ok(from_pairs(&blossom::pairs(pattern)?, granularity)),
            Self::Groups if granularity == Granularity::OneOfTwo => Err(Unfit::Pairs(granularity)),
            Self::Groups => groups::order(pattern),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hierarchical => "hierarchical",
            Self::StridedSwap => "strided swap",
            Self::Blossom => "blossom",
            Self::Groups => "groups of four",
        })
    }
}

/// Lays pairs out. In a group of four the first columns of two pairs come first: neighbours in memory
/// then share a word, which one load fetches.
#[must_use]
pub fn from_pairs(pairs: &[Pair], granularity: Granularity) -> Order {
    let zero_columns = pairs.iter().filter(|(_, second)| second.is_none()).count();
    let slots = match granularity {
        Granularity::OneOfTwo => pairs.iter().flat_map(|&(a, b)| [Some(a), b]).collect(),
        Granularity::TwoOfFour => pairs
            .chunks(2)
            .flat_map(|pairs| match *pairs {
                [(a, b), (c, d)] => [Some(a), Some(c), b, d],
                _ => [Some(pairs[0].0), None, pairs[0].1, None],
            })
            .collect(),
    };
    Order { slots, zero_columns }
}
