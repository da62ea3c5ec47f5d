// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a time step of a job takes, counted: the cycles of the model by which tiles are chosen.

use crate::tiling::{STAY, Tiling, TilingProblem};
use problem::Job;

/// What a time step takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Time steps of a pass over the grid.
    pub depth: usize,
    /// Threads that share it.
    pub threads: usize,
    /// Cycles of the whole grid on these.
    pub cycles: f64,
    /// Whether the two grids of a pass come from memory and not from caches.
    pub from_memory: bool,
}

/// Counts a time step of a job on all threads of this process.
#[must_use]
pub fn counted(job: &Job) -> Counted {
    let (work, tiling) = (TilingProblem::of(job), Tiling::of_job(job));
    let points = job.shape.points() as f64;
    let threads = tiling.threads(&work);
    let cycles = points * tiling.cycles(&work) / threads as f64;
    let share = 2.0 * points * work.bytes as f64 / work.threads as f64;
    Counted { depth: tiling.depth, threads, cycles, from_memory: share > STAY[0] as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::Dtype;
    use transform::catalogue;

    fn of(stencil: &str, size: &str, dtype: Dtype) -> Counted {
        counted(&Job::new(catalogue::find(stencil).unwrap(), size.parse().unwrap(), dtype, 9))
    }

    #[test]
    fn more_points_neighbours_and_bytes_are_more_cycles() {
        let small = of("star2d1r", "40x50", Dtype::F32);
        let large = of("star2d1r", "8000x9000", Dtype::F32);
        assert!(large.cycles > 20.0 * small.cycles, "{small:?} {large:?}");
        assert!(large.from_memory && !small.from_memory);
        assert!(of("box2d3r", "8000x9000", Dtype::F32).cycles > large.cycles);
        assert!(of("star2d1r", "8000x9000", Dtype::F64).cycles > large.cycles);
    }

    #[test]
    fn grids_that_no_memory_holds_are_counted() {
        let huge = of("star2d1r", "1073741824x536870912", Dtype::F64);
        assert!(huge.cycles.is_finite() && huge.from_memory, "{huge:?}");
    }
}
