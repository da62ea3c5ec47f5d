// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rank gets from others when its ghosts are got anew, from the geometry of its part.

use super::cluster::NodePlacement;
use crate::ranks::Partition;
use crate::ranks::part::RankPart;
use transform::network::Traffic;

/// Bytes that a part gets from each of the other ranks, which have a message each for it. As
/// [`Transfers`](crate::ranks::halo::Transfers) has them, without looking at every rank: of thousands each has few
/// neighbours.
#[must_use]
pub fn messages(
    partition: &Partition,
    part: &RankPart,
    bytes_per_point: usize,
) -> Vec<(usize, u64)> {
    let [nz, ny, nx] = partition.counts();
    let at = [part.rank / (ny * nx), part.rank / nx % ny, part.rank % nx];
    let [z, y, x] = std::array::from_fn(|axis| slices(partition, part, axis, at[axis]));
    let mut messages: Vec<(usize, u64)> = Vec::new();
    for &(z, planes) in &z {
        for &(y, rows) in &y {
            for &(x, columns) in &x {
                let with = (z * ny + y) * nx + x;
                let bytes = (planes * rows * columns * bytes_per_point) as u64;
                // What a rank has more than once goes in one message, and its own points in none.
                match messages.iter_mut().find(|(rank, _)| *rank == with) {
                    _ if with == part.rank => {}
                    Some((_, total)) => *total += bytes,
                    None => messages.push((with, bytes)),
                }
            }
        }
    }
    debug_assert!(messages.iter().all(|&(with, _)| with < nz * ny * nx));
    messages
}

/// The slices of an axis of which a part holds points, and of each how many; a slice whose copies it holds comes again.
fn slices(partition: &Partition, part: &RankPart, axis: usize, at: usize) -> Vec<(usize, usize)> {
    let [_, ny, nx] = partition.counts();
    let stride = [ny * nx, nx, 1][axis];
    let count = partition.counts()[axis] as isize;
    let extent = partition.shape().extents()[axis] as isize;
    let held = [part.held.low[axis], part.held.high[axis]];
    // On and on along the axis, beyond its ends in copies of the grid.
    let common = |index: isize| {
        let slice = index.rem_euclid(count) as usize;
        let (own, shift) = (partition.own(slice * stride), index.div_euclid(count) * extent);
        let low = (own.low[axis] + shift).max(held[0]);
        let high = (own.high[axis] + shift).min(held[1]);
        (low < high).then(|| (slice, (high - low) as usize))
    };
    let at = at as isize;
    let up = (at..).map_while(common);
    let down = (1..).map_while(|far| common(at - far));
    up.chain(down).collect()
}

/// What a rank gets, by where it comes from.
#[must_use]
pub fn traffic(rank: usize, messages: &[(usize, u64)], placing: &NodePlacement) -> Traffic {
    let mut traffic = Traffic::default();
    for &(with, bytes) in messages {
        if placing.together(rank, with) {
            traffic.link_messages += 1;
            traffic.link_bytes += bytes;
        } else {
            traffic.fabric_messages += 1;
            traffic.fabric_bytes += bytes;
        }
    }
    traffic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::scale::Cluster;
    use crate::ranks::halo::Transfers;
    use problem::{Boundary, Shape};
    use std::collections::BTreeMap;

    fn parts(partition: &Partition, boundary: &str, reach: [usize; 3]) -> Vec<RankPart> {
        let boundary = Boundary::parse(boundary, partition.shape().dims()).unwrap();
        let part = |rank| RankPart::new(partition, rank, &boundary, reach, [1; 3]);
        (0..partition.ranks()).map(part).collect()
    }

    #[test]
    fn bytes_are_those_that_ranks_exchange() {
        for (size, boundary, counts, reach) in [
            ("10", "periodic", [1, 1, 3], [0, 0, 4]),
            ("10", "periodic", [1, 1, 2], [0, 0, 23]),
            ("10", "zero", [1, 1, 10], [0, 0, 4]),
            ("9x11", "periodic", [1, 2, 3], [0, 3, 2]),
            ("9x11", "x:periodic,y:reflect", [1, 3, 3], [0, 3, 5]),
            ("4x5x6", "periodic", [2, 2, 2], [1, 2, 1]),
            ("4x5x6", "z:periodic", [2, 1, 3], [3, 0, 0]),
            ("12x9x8", "zero", [4, 3, 2], [1, 1, 1]),
        ] {
            let shape: Shape = size.parse().unwrap();
            let partition = Partition::new(shape, counts, [1; 3]).unwrap();
            let parts = parts(&partition, boundary, reach);
            for part in &parts {
                let mut expected = BTreeMap::new();
                for transfer in Transfers::new(&partition, &parts, part.rank).receives {
                    if transfer.with != part.rank {
                        let bytes = 4 * transfer.region.points() as u64;
                        *expected.entry(transfer.with).or_default() += bytes;
                    }
                }
                let found = messages(&partition, part, 4);
                let count = found.len();
                let found: BTreeMap<usize, u64> = found.into_iter().collect();
                assert_eq!((found.len(), &found), (count, &expected), "{size} {}", part.rank);
            }
        }
    }

    #[test]
    fn the_bytes_of_a_face_are_its_points_times_the_depth() {
        let partition = Partition::new("64x48x32".parse().unwrap(), [4, 3, 1], [1; 3]).unwrap();
        let parts = parts(&partition, "zero", [2, 3, 5]);
        // In the middle: two faces of each axis that is cut, and four edges.
        let (z, y) = (2 * 16 * 32 * 8, 3 * 16 * 32 * 8);
        let edge = 2 * 3 * 32 * 8;
        let mut found = messages(&partition, &parts[4], 8);
        found.sort_unstable();
        let expected = [(0, edge), (1, z), (2, edge), (3, y), (5, y), (6, edge), (7, z), (8, edge)];
        assert_eq!(found, expected);

        let placing = &NodePlacement::all(&partition, Cluster::of_full_nodes(12, 3))[0];
        let found = traffic(4, &found, placing);
        assert_eq!((found.link_messages, found.link_bytes), (2, 2 * y));
        assert_eq!((found.fabric_messages, found.fabric_bytes), (6, 2 * z + 4 * edge));
    }
}
