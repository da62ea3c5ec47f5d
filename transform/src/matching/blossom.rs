// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maximum matching on the complement of the conflict graph, for whatever Algorithm 1 does not match
//! best (SparStencil §3.2, after Theorem 6). What stays unmatched gets a zero column: as few as pairs
//! can do with.

use super::{Pair, Unfit};
use crate::conflict::{Pattern, Rows};
use petgraph::algo::maximum_matching;
use petgraph::graph::{NodeIndex, UnGraph};

/// The most columns that are searched: their complement graph has up to half a million edges.
pub const MAX_COLUMNS: usize = 1024;

/// Pairs as many columns as possible; in the order of their first columns, so that plans are
/// reproducible.
///
/// # Errors
/// More than [`MAX_COLUMNS`] columns.
pub fn pairs(pattern: &Pattern) -> Result<Vec<Pair>, Unfit> {
    let columns = pattern.columns.len();
    if columns > MAX_COLUMNS {
        return Err(Unfit::TooMany { columns, most: MAX_COLUMNS });
    }
    let mates = mates(&pattern.columns);
    let first = |&column: &usize| mates[column].is_none_or(|mate| column < mate);
    Ok((0..columns).filter(first).map(|column| (column, mates[column])).collect())
}

/// Column → the column that it is matched with.
fn mates(columns: &[Rows]) -> Vec<Option<usize>> {
    let apart = (0..columns.len()).flat_map(|a| {
        let others = a + 1..columns.len();
        others.filter(move |&b| columns[a] & columns[b] == 0).map(move |b| (a as u32, b as u32))
    });
    let mut graph = UnGraph::<(), (), u32>::with_capacity(columns.len(), columns.len());
    for _ in columns {
        graph.add_node(());
    }
    for (a, b) in apart {
        graph.add_edge(a.into(), b.into(), ());
    }
    let matching = maximum_matching(&graph);
    let mate = |column| matching.mate(NodeIndex::new(column)).map(NodeIndex::index);
    (0..columns.len()).map(mate).collect()
}
