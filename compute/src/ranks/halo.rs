// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose points a rank's ghosts are copies of: boxes, one for each rank and each copy of the grid that they lie in.

use super::part::{RankPart, common, shifted};
use super::partition::Partition;
use problem::region::Region;

/// A box of points that goes from one rank to another's ghosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The other rank, which may be the rank itself.
    pub with: usize,
    /// The points in the coordinates of what the rank holds.
    pub region: Region,
    /// The arrays whose points are exchanged, counted among all that ranks exchange.
    pub arrays: Vec<usize>,
}

/// What a rank gets, and what it gives. What two ranks exchange is in the same order for both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Into its ghosts.
    pub receives: Vec<Transfer>,
    /// Out of its own points.
    pub sends: Vec<Transfer>,
}

impl Transfers {
    /// What a rank exchanges of one array, given everybody's parts. A transfer that begins and ends with the rank itself is in
    /// both lists.
    #[must_use]
    pub fn new(partition: &Partition, parts: &[RankPart], rank: usize) -> Self {
        Self::of_arrays(partition, parts, rank, &|_, _| vec![0])
    }

    /// What a rank exchanges of several arrays: `read` says which ones a part reads in a box of its ghosts, both in
    /// coordinates of the whole grid.
    ///
    /// Ranks that get something of each other also give something, for a message back tells who gave that it has arrived.
    #[must_use]
    pub fn of_arrays(
        partition: &Partition,
        parts: &[RankPart],
        rank: usize,
        read: &dyn Fn(&RankPart, Region) -> Vec<usize>,
    ) -> Self {
        let mine = &parts[rank];
        let receives = (0..partition.ranks()).flat_map(|from| {
            between(partition, mine, from).map(move |(_, held)| Transfer {
                with: from,
                region: mine.local(held),
                arrays: read(mine, held),
            })
        });
        let sends = parts.iter().flat_map(|other| {
            between(partition, other, rank).map(|(own, held)| Transfer {
                with: other.rank,
                region: mine.local(own),
                arrays: read(other, held),
            })
        });
        let (mut receives, mut sends): (Vec<_>, Vec<_>) = (receives.collect(), sends.collect());
        answer(&receives, &mut sends);
        answer(&sends, &mut receives);
        for list in [&mut receives, &mut sends] {
            list.retain(|transfer| !transfer.arrays.is_empty());
        }
        Self { receives, sends }
    }
}

/// Has ranks of whom something comes, and to whom nothing goes, get one array; and the other way round.
fn answer(these: &[Transfer], others: &mut [Transfer]) {
    let is_any = |list: &[Transfer], with: usize| {
        list.iter().any(|transfer| transfer.with == with && !transfer.arrays.is_empty())
    };
    for number in 0..others.len() {
        let with = others[number].with;
        if is_any(these, with) && !is_any(others, with) {
            others[number].arrays.push(0);
        }
    }
}

/// The boxes of another's own points of which a part holds copies: in the whole grid, and as the part holds them.
fn between(
    partition: &Partition,
    part: &RankPart,
    from: usize,
) -> impl Iterator<Item = (Region, Region)> {
    let (own, rank, held) = (partition.own(from), part.rank, part.held);
    part.copies().filter(move |copy| from != rank || *copy != [0; 3]).filter_map(move |copy| {
        let found = common(held, shifted(own, copy))?;
        Some((shifted(found, copy.map(|by| -by)), found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::{Boundary, Shape};

    /// Every ghost comes from exactly one rank, and what is sent is what is received.
    #[test]
    fn every_ghost_is_somebodys_point() {
        for (size, boundary, counts, reach) in [
            ("10", "periodic", [1, 1, 3], [0, 0, 4]),
            ("10", "periodic", [1, 1, 2], [0, 0, 23]),
            ("10", "zero", [1, 1, 10], [0, 0, 4]),
            ("9x11", "periodic", [1, 2, 3], [0, 3, 2]),
            ("9x11", "x:periodic,y:reflect", [1, 3, 3], [0, 3, 5]),
            ("4x5x6", "periodic", [2, 2, 2], [1, 2, 1]),
            ("4x5x6", "z:periodic", [2, 1, 3], [3, 0, 0]),
        ] {
            let shape: Shape = size.parse().unwrap();
            let partition = Partition::new(shape, counts, [1; 3]).unwrap();
            let boundary = Boundary::parse(boundary, shape.dims()).unwrap();
            let part = |rank| RankPart::new(&partition, rank, &boundary, reach, [1; 3]);
            let parts: Vec<RankPart> = (0..partition.ranks()).map(part).collect();
            let all: Vec<_> =
                (0..parts.len()).map(|rank| Transfers::new(&partition, &parts, rank)).collect();
            for part in &parts {
                let held = part.shape().unwrap();
                let mut filled = vec![0; held.points()];
                let own =
                    Transfer { with: part.rank, region: part.local(part.own), arrays: vec![0] };
                for transfer in all[part.rank].receives.iter().chain([&own]) {
                    let region = transfer.region;
                    for row in 0..region.extents()[0] * region.extents()[1] {
                        let start = region.row_in(row, held);
                        filled[start..start + region.extents()[2]].iter_mut().for_each(|n| *n += 1);
                    }
                }
                assert!(filled.iter().all(|&count| count == 1), "{size} {}", part.rank);
                for other in &parts {
                    let extents = |list: &[Transfer], with: usize| -> Vec<[usize; 3]> {
                        let of = list.iter().filter(|transfer| transfer.with == with);
                        of.map(|transfer| transfer.region.extents()).collect()
                    };
                    let sent = extents(&all[other.rank].sends, part.rank);
                    assert_eq!(sent, extents(&all[part.rank].receives, other.rank), "{size}");
                }
            }
        }
    }
}
