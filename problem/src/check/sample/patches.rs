// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a sample looks.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Shape;
use crate::check::seams::Seams;
use crate::region::Region;

/// Extents of patches to try, and of how many only one is taken.
pub const CHOICES: [(usize, usize); 10] =
    [(64, 1), (32, 1), (16, 1), (8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8)];

/// Patches at random places.
const RANDOM: usize = 16;

/// Patches of that extent at every corner, edge and face, in the middle, around seams of tiles, each
/// of them and where they cross, and at random places.
#[must_use]
pub fn patches(shape: Shape, seams: &Seams, extent: usize) -> Vec<Region> {
    let extents = shape.extents();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut centres = landmarks(extents);
    centres.extend(crossings(extents, seams, &mut rng));
    centres.extend((0..RANDOM).map(|_| extents.map(|n| rng.random_range(0..n))));
    let mut regions: Vec<Region> =
        centres.into_iter().map(|centre| around(centre, extents, extent)).collect();
    regions.sort_by_key(|region| region.low);
    regions.dedup();
    regions
}

/// A patch centred there, moved so that it lies in the grid. A single point is the one before the centre,
/// or the centre itself, by turns.
fn around(centre: [usize; 3], extents: [usize; 3], extent: usize) -> Region {
    let size = extents.map(|n| n.min(extent));
    let low = |axis: usize| {
        let half = if extent == 1 { centre.iter().sum::<usize>() % 2 } else { size[axis] / 2 };
        centre[axis].saturating_sub(half).min(extents[axis] - size[axis])
    };
    let low: [isize; 3] = std::array::from_fn(|axis| low(axis) as isize);
    Region { low, high: std::array::from_fn(|axis| low[axis] + size[axis] as isize) }
}

/// Corners, the middles of edges and faces, and the middle.
fn landmarks(extents: [usize; 3]) -> Vec<[usize; 3]> {
    let ends = |n: usize| [0, n / 2, n - 1];
    let [z, y, x] = extents.map(ends);
    let rows = z.iter().flat_map(|&z| y.iter().map(move |&y| [z, y]));
    rows.flat_map(|[z, y]| x.iter().map(move |&x| [z, y, x])).collect()
}

/// Where seams of all axes cross, each seam twice at least; and each seam away from others.
fn crossings(extents: [usize; 3], seams: &Seams, rng: &mut ChaCha8Rng) -> Vec<[usize; 3]> {
    let along: [&[usize]; 3] = std::array::from_fn(|axis| seams.along(axis));
    let most = along.iter().map(|seams| seams.len()).max().unwrap_or(0);
    let mut centres = Vec::new();
    for turn in 0..2 * most {
        // Seams of the other axes move on when one axis has come round.
        centres.push(std::array::from_fn(|axis| match along[axis] {
            [] => rng.random_range(0..extents[axis]),
            seams => seams[(turn + axis * (turn / most)) % seams.len()],
        }));
    }
    for axis in 0..3 {
        for &seam in along[axis] {
            let mut centre = extents.map(|n| rng.random_range(0..n));
            centre[axis] = seam;
            centres.push(centre);
        }
    }
    centres
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(regions: &[Region], at: [isize; 3]) -> bool {
        let inside =
            |region: &Region| (0..3).all(|a| (region.low[a]..region.high[a]).contains(&at[a]));
        regions.iter().any(inside)
    }

    #[test]
    fn patches_hold_corners_and_edges() {
        let patches = patches("20000x30000".parse().unwrap(), &Seams::none(), 64);
        for at in [[0, 0, 0], [0, 0, 29999], [0, 19999, 0], [0, 19999, 29999], [0, 10000, 0]] {
            assert!(contains(&patches, at), "{at:?}");
        }
    }

    /// Both sides of each seam along each axis, in one patch.
    #[test]
    fn patches_hold_both_sides_of_every_seam() {
        let shape: Shape = "300x2000x3000".parse().unwrap();
        let seams = Seams::none()
            .every(0, 7, 300)
            .every(1, 18, 2000)
            .at(1, 1983, 2000)
            .every(2, 488, 3000)
            .every(2, 64, 3000);
        for extent in [64, 8, 4, 2] {
            let patches = patches(shape, &seams, extent);
            for axis in 0..3 {
                assert!(seams.along(axis).len() >= 3);
                for &seam in seams.along(axis) {
                    let both = |region: &&Region| {
                        region.low[axis] < seam as isize && (seam as isize) < region.high[axis]
                    };
                    let places = patches.iter().filter(both).count();
                    assert!(places >= 2, "axis {axis}: {places} patches of {extent} at {seam}");
                }
            }
        }
    }

    /// A seam that moves takes its patches with it.
    #[test]
    fn every_seam_has_a_patch_of_its_own() {
        let shape: Shape = "2000x30000".parse().unwrap();
        for seam in [64, 488, 512, 1024, 4096, 29_999] {
            let patches = patches(shape, &Seams::none().at(2, seam, 30_000), 8);
            assert!(contains_across(&patches, seam as isize), "{seam}");
        }
        let without = patches(shape, &Seams::none(), 8);
        assert!(!contains_across(&without, 488) && !contains_across(&without, 512));
    }

    fn contains_across(regions: &[Region], x: isize) -> bool {
        regions.iter().any(|region| region.low[2] < x && x < region.high[2])
    }

    #[test]
    fn patches_of_small_grids_lie_in_them() {
        for size in ["1", "1x1", "2x3x1", "5x64"] {
            let shape: Shape = size.parse().unwrap();
            let seams = Seams::none().every(1, 1, shape.extents()[1]);
            for extent in [64, 3, 1] {
                for Region { low, high } in patches(shape, &seams, extent) {
                    let extents = shape.extents();
                    assert!((0..3).all(|a| 0 <= low[a] && low[a] < high[a]));
                    assert!((0..3).all(|a| high[a] as usize <= extents[a]));
                }
            }
        }
    }
}
