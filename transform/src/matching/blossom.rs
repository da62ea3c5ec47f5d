// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maximum matching on the complement of the conflict graph, for whatever Algorithm 1 does not match
//! best (SparStencil §3.2, after Theorem 6). What stays unmatched gets a zero column: as few as pairs
//! can do with.

use super::{ColumnPair, NoOrder};
use crate::conflict::Pattern;
use petgraph::algo::maximum_matching;
use petgraph::graph::{NodeIndex, UnGraph};

/// The most columns that are searched: their complement graph has up to half a million edges.
pub const MAX_COLUMNS: usize = 1024;

/// Pairs as many columns as possible; in the order of their first columns, so that plans are
/// reproducible.
///
/// # Errors
/// More than [`MAX_COLUMNS`] columns.
pub fn pairs(pattern: &Pattern) -> Result<Vec<ColumnPair>, NoOrder> {
    let columns = &pattern.columns;
    check(columns.len())?;
    Ok(maximum_matching_of(columns.len(), |a, b| columns[a] & columns[b] == 0))
}

/// Refuses what would take long.
pub(super) fn check(columns: usize) -> Result<(), NoOrder> {
    if columns > MAX_COLUMNS {
        return Err(NoOrder::TooMany { columns, most: MAX_COLUMNS });
    }
    Ok(())
}

/// Partners of a node that are tried at first.
const FEW: usize = 16;

/// A maximum matching of `nodes` nodes, of which any two that fit may be matched; those left over come
/// alone. Nodes and edges are added in a fixed order, so the result is always the same.
///
/// Most columns fit most others. So a graph with a few partners for each node is tried first: where it
/// matches all nodes that have a partner at all (but one, if they are odd), no other does better.
pub(crate) fn maximum_matching_of(
    nodes: usize,
    fit: impl Fn(usize, usize) -> bool,
) -> Vec<ColumnPair> {
    let partners = |a: usize| (0..nodes).filter(move |&b| b != a);
    let matchable = (0..nodes).filter(|&a| partners(a).any(|b| fit(a, b))).count();
    let few = matched(nodes, FEW, &fit);
    let pairs = few.iter().filter(|(_, mate)| mate.is_some()).count();
    if pairs == matchable / 2 { few } else { matched(nodes, nodes, &fit) }
}

/// A maximum matching, with at most `degree` later partners for each node.
fn matched(nodes: usize, degree: usize, fit: impl Fn(usize, usize) -> bool) -> Vec<ColumnPair> {
    let mut graph = UnGraph::<(), (), u32>::with_capacity(nodes, nodes * degree.min(FEW));
    for _ in 0..nodes {
        graph.add_node(());
    }
    for a in 0..nodes {
        for b in (a + 1..nodes).filter(|&b| fit(a, b)).take(degree) {
            graph.add_edge(NodeIndex::new(a), NodeIndex::new(b), ());
        }
    }
    let matching = maximum_matching(&graph);
    let mate = |node| matching.mate(NodeIndex::new(node)).map(NodeIndex::index);
    let first = (0..nodes).filter(|&node| mate(node).is_none_or(|mate| node < mate));
    first.map(|node| (node, mate(node))).collect()
}
