// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a grid is cut into tiles, and how many time steps each takes while it is in the caches.
//!
//! A tile computes what its points need of the steps in between by itself, also beyond its edges: points there
//! are computed by several tiles, and tiles need not wait for each other.

use crate::storage::ROWS;
use problem::boundary::Side;
use problem::{Boundary, Depth, Job};

/// What a core keeps of a single step, in bytes of its second-level cache: the rows and planes that are in use.
const ONE_STEP: usize = 1 << 18;
/// And of several steps, where a step is a plane by itself, and where it streams through the planes.
const PLANE: usize = 1 << 19;
const PLANES: usize = 3 << 18;
/// And of a tile of one row: in the first-level cache.
const ROW: usize = 1 << 15;
/// Columns of a tile that takes several steps, in bytes and in points, at most.
const COLUMNS: [usize; 2] = [1 << 11, 1 << 8];
/// Rows of a tile of a single step, at most.
const BAND: usize = 64;
/// Tiles for each thread, at least, so that a thread that is held up can be helped out.
const PARTS: usize = 4;
/// Products of a time step up to which one thread is faster than several that have to meet.
const SERIAL: usize = 1 << 18;
/// Products that are worth being handed to another thread.
const PART: usize = 1 << 15;
const _: () = assert!(PART <= SERIAL, "a step that is split has at least one part");
/// Steps of a pass that are considered.
const DEPTHS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 32];
/// And that can be asked for: beyond these a tile is mostly what lies around it.
pub const MOST_STEPS: usize = 1024;

/// Bytes that a core moves in a cycle from and to memory, its share of the last-level cache, and the second
/// level: roughly, of servers of these years.
const BYTES_PER_CYCLE: [f64; 3] = [6.0, 12.0, 40.0];
/// Bytes of grids that stay in these, for each core.
pub const STAY: [usize; 2] = [1 << 22, 1 << 20];
/// Cycles of a product and of what else a point takes, for each byte of a value.
const PRODUCT: f64 = 1.0 / 160.0;
const POINT: f64 = 8.0 / 160.0;
/// Cycles that threads wait for each other at the end of a pass.
const MEET: f64 = 2e4;

/// What a tiling is chosen for.
#[derive(Clone, Copy, Debug)]
pub struct TilingProblem {
    /// Extents of the grid, as (z, y, x).
    pub extents: [usize; 3],
    /// Reach of the stencil, as (z, y, x).
    pub reach: [usize; 3],
    /// Neighbours of a point.
    pub taps: usize,
    /// Bytes of a value.
    pub bytes: usize,
    /// Threads that share the work.
    pub threads: usize,
}

impl TilingProblem {
    /// Of a job on all threads of this process.
    pub fn of(job: &Job) -> Self {
        Self {
            extents: job.shape.extents(),
            reach: job.stencil.radii(),
            taps: job.stencil.taps().len(),
            bytes: job.dtype.bytes(),
            threads: rayon::current_num_threads(),
        }
    }

    /// Of a time step. Grids that no memory holds are planned, too: then as many as can be counted.
    fn products(&self) -> usize {
        self.extents.iter().fold(self.taps, |product, extent| product.saturating_mul(*extent))
    }
}

/// Tiles, and steps in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Time steps of a pass over the grid, at most.
    pub depth: usize,
    /// Extents of a tile, as (z, y, x).
    pub tile: [usize; 3],
}

impl Tiling {
    /// The tiling of a job, with as many steps at once as are asked for, at most [`MOST_STEPS`].
    #[must_use]
    pub fn of_job(job: &Job) -> Self {
        let work = TilingProblem::of(job);
        match job.chain {
            Depth::Auto => Self::fastest(&work, job.steps),
            // What is refused is looked at, too: for the memory it would take.
            Depth::Steps(depth) => Self::of(&work, depth.min(MOST_STEPS)),
        }
    }

    /// The one that is expected to be the fastest, of at most so many steps in a pass.
    pub fn fastest(work: &TilingProblem, most: usize) -> Self {
        // One thread's grid stays in its caches by itself.
        let most = if work.products() <= SERIAL { 1 } else { most.max(1) };
        let depths = DEPTHS.into_iter().filter(|depth| *depth <= most);
        let tilings = depths.map(|depth| Self::of(work, depth));
        tilings.min_by(|a, b| a.cycles(work).total_cmp(&b.cycles(work))).expect("one step")
    }

    /// The tiles for so many steps in a pass.
    pub fn of(work: &TilingProblem, depth: usize) -> Self {
        let TilingProblem { extents, threads, .. } = *work;
        let products = work.products();
        let tile = match depth {
            1 if products <= SERIAL => extents,
            1 => Self::tile_of_one_step(work),
            _ => Self::tile_of_several(work, depth),
        };
        let parts = match products <= SERIAL || threads == 1 {
            true => 1,
            false => (PARTS * threads).min(products.saturating_mul(depth) / PART),
        };
        Self { depth, tile: split(tile, extents, parts) }
    }

    fn tile_of_one_step(work: &TilingProblem) -> [usize; 3] {
        let TilingProblem { extents, reach, bytes, .. } = *work;
        let [nz, ny, nx] = extents;
        let planes = (2 * reach[0] + 1).min(nz);
        let values = ONE_STEP / bytes / planes;
        let columns = even(nx, values / (ROWS + 2 * reach[1]), 64 / bytes);
        // Rows that are in use again in the next plane.
        let rows = if planes == 1 { BAND } else { (values / columns).clamp(2 * ROWS, BAND) };
        [nz, even(ny, rows, ROWS), columns]
    }

    fn tile_of_several(work: &TilingProblem, depth: usize) -> [usize; 3] {
        let TilingProblem { extents, reach, bytes, .. } = *work;
        let [nz, ny, nx] = extents;
        let [_, above, beside] = reach.map(|reach| depth * reach);
        let (steps, planes) = (depth - 1, 2 * reach[0] + 1);
        let values = match planes {
            _ if ny == 1 && nz == 1 => return [1, 1, even(nx, ROW / 2 / bytes, 64 / bytes)],
            1 => PLANE / bytes / steps.min(2),
            _ => PLANES / bytes / steps / planes,
        };
        let [in_bytes, in_points] = COLUMNS;
        let most = if planes == 1 { in_bytes / bytes } else { in_points };
        let columns = even(nx, most, 64 / bytes);
        let rows = (values / (columns + 2 * beside)).saturating_sub(2 * above).max(ROWS);
        [nz, even(ny, rows, ROWS), columns]
    }

    /// Threads that have a tile each.
    pub fn threads(&self, work: &TilingProblem) -> usize {
        let tiles = |axis: usize| work.extents[axis].div_ceil(self.tile[axis]);
        let tiles = (0..3).fold(1usize, |product, axis| product.saturating_mul(tiles(axis)));
        work.threads.min(tiles).max(1)
    }

    /// Cycles of a core for a point and step, roughly.
    pub fn cycles(&self, work: &TilingProblem) -> f64 {
        let TilingProblem { extents, reach, taps, bytes, threads } = *work;
        let depth = self.depth as f64;
        let bytes = bytes as f64;
        // Points of a tile and around it, over those of the tile.
        let spread = |steps: f64| -> f64 {
            let axis = |axis: usize| match self.tile[axis] < extents[axis] {
                true => 1.0 + 2.0 * steps * reach[axis] as f64 / self.tile[axis] as f64,
                false => 1.0,
            };
            (0..3).map(axis).product()
        };
        let points: f64 = extents.iter().map(|extent| *extent as f64).product();
        let grids = 2.0 * points * bytes / threads as f64;
        let level = STAY.iter().take_while(|stay| grids <= **stay as f64).count();
        // Written values are read first; what is read for several tiles counts each time.
        let moved = (spread(depth) + 2.0) * bytes / depth / BYTES_PER_CYCLE[level];
        let computed = (PRODUCT * taps as f64 + POINT) * bytes * spread((depth - 1.0) / 2.0);
        let met = if self.tile == extents { 0.0 } else { MEET * threads as f64 / points / depth };
        moved + computed + met
    }

    /// Width of the halo that the grid in memory needs: a periodic grid goes on for all steps of a pass, since
    /// tiles do not know of the points on its other side.
    pub fn margins(&self, boundary: &Boundary, reach: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let steps = if is_periodic(boundary, axis) { self.depth } else { 1 };
            steps * reach[axis]
        })
    }
}

/// Whether a grid goes on beyond the ends of an axis.
pub fn is_periodic(boundary: &Boundary, axis: usize) -> bool {
    boundary.sides[axis] == [Side::Periodic; 2]
}

/// An extent in equal parts of at most so many points: a multiple of the unit, if there are several.
fn even(extent: usize, most: usize, unit: usize) -> usize {
    let parts = extent.div_ceil(most.max(unit));
    if parts == 1 { extent } else { extent.div_ceil(parts).next_multiple_of(unit).min(extent) }
}

/// Tiles, cut smaller until there are so many parts or tiles would be slivers: along z first, where they
/// stream, then y, then x.
fn split(mut tile: [usize; 3], extents: [usize; 3], parts: usize) -> [usize; 3] {
    let count = |tile: &[usize; 3], axis: usize| extents[axis].div_ceil(tile[axis]);
    for (axis, (least, unit)) in [(8, 1), (ROWS, ROWS), (64, 64)].into_iter().enumerate() {
        let others: usize =
            (0..3).filter(|other| *other != axis).map(|a| count(&tile, a)).product();
        let wanted = parts.div_ceil(others).max(count(&tile, axis));
        let size = extents[axis].div_ceil(wanted).next_multiple_of(unit).max(least);
        tile[axis] = tile[axis].min(size);
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(extents: [usize; 3], reach: [usize; 3], taps: usize, bytes: usize) -> TilingProblem {
        TilingProblem { extents, reach, taps, bytes, threads: 2 }
    }

    fn parts(work: &TilingProblem, tiling: &Tiling) -> usize {
        (0..3).map(|axis| work.extents[axis].div_ceil(tiling.tile[axis])).product()
    }

    #[test]
    fn grids_that_no_memory_holds_have_tiles() {
        let extents = [1 << 20; 3];
        let work = TilingProblem { extents, reach: [8; 3], taps: 17, bytes: 8, threads: 64 };
        let tiling = Tiling::fastest(&work, 1000);
        assert!(tiling.tile.iter().all(|extent| (1..=1 << 20).contains(extent)), "{tiling:?}");
    }

    #[test]
    fn small_grids_stay_on_one_thread_and_others_have_parts_for_all() {
        for (extents, several) in [
            ([1, 32, 32], false),
            ([1, 256, 512], true),
            ([1, 4096, 4096], true),
            ([2, 30, 4000], true),
            ([1, 1, 100_000_000], true),
            ([1, 3, 10_000_000], true),
            ([256, 256, 256], true),
        ] {
            for threads in [2, 64] {
                let work = TilingProblem { threads, ..work(extents, [0, 1, 1], 5, 4) };
                let tiling = Tiling::fastest(&work, 100);
                let parts = parts(&work, &tiling);
                assert_eq!(parts > 1, several, "{work:?}: {tiling:?}");
                let products = 5 * extents.iter().product::<usize>();
                assert!(
                    parts >= threads || products < threads * PART * PARTS,
                    "{work:?} {tiling:?}"
                );
            }
            let alone = TilingProblem { threads: 1, ..work(extents, [0, 1, 1], 5, 4) };
            assert!(Tiling::fastest(&alone, 100).tile.iter().all(|&extent| extent > 0));
        }
    }

    #[test]
    fn no_more_steps_are_taken_at_once_than_there_are() {
        let work = work([1, 4096, 4096], [0, 1, 1], 5, 4);
        for most in [0, 1, 2, 5, 100] {
            let depth = Tiling::fastest(&work, most).depth;
            assert!((1..=most.max(1)).contains(&depth), "{most}: {depth}");
        }
        assert!(Tiling::fastest(&work, 100).depth > 2);
    }

    #[test]
    fn tiles_are_even_and_whole_units() {
        assert_eq!(even(100, 100, 16), 100);
        assert_eq!(even(100, 99, 16), 64);
        assert_eq!(even(100, 3, 16), 16);
        assert_eq!(even(7, 100, 16), 7);
        assert_eq!(even(5, 4, 4), 4);
        assert_eq!(split([256, 64, 256], [256; 3], 8), [128, 64, 256]);
        assert_eq!(split([1, 64, 4096], [1, 64, 4096], 4), [1, 16, 4096]);
        assert_eq!(split([1, 1, 4096], [1, 1, 4096], 8), [1, 1, 512]);
        assert_eq!(split([1, 1, 40], [1, 1, 40], 8), [1, 1, 40]);
    }

    #[test]
    fn only_periodic_grids_need_a_halo_for_all_steps() {
        let boundary = Boundary::parse("x:periodic,y:reflect", 2).unwrap();
        let tiling = Tiling { depth: 5, tile: [1, 2, 3] };
        assert_eq!(tiling.margins(&boundary, [0, 2, 3]), [0, 2, 15]);
    }
}
