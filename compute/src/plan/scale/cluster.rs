// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs in nodes, and which part of a grid goes to which node.

use crate::ranks::Partition;
use problem::Error;
use serde::Serialize;

/// GPUs in nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// All GPUs.
    pub gpus: usize,
    /// Their nodes.
    pub nodes: usize,
    /// GPUs of a node; the last one may have fewer.
    pub gpus_per_node: usize,
}

impl Cluster {
    /// GPUs of the usual node.
    pub const USUAL: usize = 8;

    /// GPUs that fill so many nodes.
    ///
    /// # Errors
    /// [`Error::Nodes`]: they do not.
    pub fn of_nodes(gpus: usize, nodes: usize) -> Result<Self, Error> {
        if gpus == 0 || nodes == 0 || !gpus.is_multiple_of(nodes) {
            return Err(Error::Nodes { gpus, nodes });
        }
        Ok(Self { gpus, nodes, gpus_per_node: gpus / nodes })
    }

    /// GPUs that fill nodes of so many each, but for the last.
    #[must_use]
    pub fn of_full_nodes(gpus: usize, per_node: usize) -> Self {
        let gpus_per_node = per_node.clamp(1, gpus.max(1));
        Self { gpus, nodes: gpus.div_ceil(gpus_per_node), gpus_per_node }
    }
}

/// Which node each part is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlacement {
    /// Slices of each axis (z, y, x) whose parts share a node; none where a node has parts that are no box.
    pub block: Option<[usize; 3]>,
    /// Whether nodes have the parts in the order of their ranks, as launchers fill them.
    pub in_order: bool,
    /// The node of each rank.
    nodes: Vec<usize>,
}

impl NodePlacement {
    /// All that there are: in the order of the ranks, and then boxes of neighbouring parts, where these fill the grid.
    #[must_use]
    pub fn all(partition: &Partition, cluster: Cluster) -> Vec<Self> {
        let (counts, per_node) = (partition.counts(), cluster.gpus_per_node);
        let nodes: Vec<usize> = (0..partition.ranks()).map(|rank| rank / per_node).collect();
        let divisors = |of: usize| (1..=of).filter(move |count| of.is_multiple_of(*count));
        let blocks = divisors(per_node)
            .flat_map(|z| divisors(per_node / z).map(move |y| [z, y, per_node / z / y]))
            .filter(|block| (0..3).all(|axis| counts[axis].is_multiple_of(block[axis])));
        let boxes: Vec<Self> = blocks.map(|block| Self::of_block(partition, block)).collect();
        let block = boxes.iter().find(|boxes| boxes.nodes == nodes).and_then(|boxes| boxes.block);
        let others = boxes.into_iter().filter(|boxes| boxes.nodes != nodes);
        let in_order = Self { block, in_order: true, nodes: nodes.clone() };
        std::iter::once(in_order).chain(others).collect()
    }

    /// Boxes of so many slices of each axis.
    fn of_block(partition: &Partition, block: [usize; 3]) -> Self {
        let [_, ny, nx] = partition.counts();
        let [z, y, x] = block;
        let node = |rank: usize| {
            let at = [rank / (ny * nx) / z, rank / nx % ny / y, rank % nx / x];
            (at[0] * (ny / y) + at[1]) * (nx / x) + at[2]
        };
        let nodes = (0..partition.ranks()).map(node).collect();
        Self { block: Some(block), in_order: false, nodes }
    }

    /// Whether two ranks share a node.
    #[must_use]
    pub fn together(&self, a: usize, b: usize) -> bool {
        self.nodes[a] == self.nodes[b]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_fill_nodes_or_are_refused() {
        let cluster = Cluster::of_nodes(1024, 256).unwrap();
        assert_eq!((cluster.nodes, cluster.gpus_per_node), (256, 4));
        for (gpus, nodes) in [(1000, 256), (2, 4), (0, 1), (1, 0)] {
            let error = Cluster::of_nodes(gpus, nodes).unwrap_err().to_string();
            let text = format!("{gpus} GPUs cannot be spread evenly over {nodes} nodes");
            assert_eq!(error, text);
        }
        let of = |gpus| Cluster::of_full_nodes(gpus, 8);
        assert_eq!([of(2).nodes, of(8).nodes, of(12).nodes], [1, 1, 2]);
        assert_eq!(of(2).gpus_per_node, 2);
    }

    #[test]
    fn boxes_fill_nodes_with_neighbours() {
        let partition = Partition::new("64x64".parse().unwrap(), [1, 4, 4], [1; 3]).unwrap();
        let all = NodePlacement::all(&partition, Cluster::of_full_nodes(16, 4));
        let blocks: Vec<_> = all.iter().map(|placing| placing.block.unwrap()).collect();
        assert_eq!(blocks, [[1, 1, 4], [1, 2, 2], [1, 4, 1]]);
        assert_eq!(all.iter().filter(|placing| placing.in_order).count(), 1);
        assert!(all[0].together(0, 3) && !all[0].together(3, 4));
        assert!(all[1].together(0, 5) && !all[1].together(1, 2));
        assert!(all[2].together(1, 13) && !all[2].together(0, 1));
        for placing in &all {
            for node in 0..4 {
                assert_eq!(placing.nodes.iter().filter(|of| **of == node).count(), 4);
            }
        }
        // Nodes of 3 fill no rows of 4.
        let all = NodePlacement::all(&partition, Cluster::of_full_nodes(16, 3));
        assert_eq!((all.len(), all[0].block, all[0].in_order), (1, None, true));
    }
}
