// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast this machine's cores take a job: a short timed run of it, on a slab of its grid if that is large.

use super::{Cpu, tiling};
use crate::Job;
use crate::engine::{Engine, Input, Session};
use crate::problem::job::Depth;
use crate::values::Element;
use crate::{Error, Grid, Shape, memory, with_dtype};
use std::time::Duration;

/// Points of the first slab, which tells how large the next can be, times neighbours.
const LEAST_WORK: usize = 1 << 21;
/// Its points, at most and at least.
const FIRST_POINTS: [usize; 2] = [1 << 15, 1 << 10];
/// Bytes of a slab that are touched for the first time in a second, about; there are three grids of it.
const TOUCHED_PER_S: f64 = 256e6;
/// Planes or rows that a slab has at least, and points of a row.
const LEAST_EXTENTS: [usize; 2] = [8, 256];
/// Parts of the time that a sample takes at most.
const PARTS: u32 = 16;
/// Samples, of which the median counts.
const SAMPLES: usize = 5;
/// Steps of a sample at most: values that fade away in more are slower to compute with.
const MOST_STEPS: usize = 100;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// The part of the grid that it was measured on.
    pub slab: Shape,
    /// Seconds of a time step of the whole grid.
    pub seconds_per_step: f64,
    /// Time steps of a pass over the grid.
    pub depth: usize,
}

/// Runs a job for about so long, with as many steps in a pass as on the whole grid. On a part of the grid, a pass
/// over the whole is no faster than a copy of it.
///
/// # Errors
/// The engine does not take the job, or not even a small slab fits in memory.
pub fn measure(job: &Job, time: Duration) -> Result<Speed, Error> {
    let (sample, bytes) = (time / PARTS, job.dtype.bytes());
    let [most, least] = FIRST_POINTS;
    let few = (LEAST_WORK / job.stencil.taps().len()).clamp(least, most);
    let first = slab(job.shape, few);
    let depth = tiling(job).depth;
    let job = &Job { chain: Depth::Steps(depth), ..job.clone() };
    let mut session = prepare(job, first)?;
    let mut whole = first;
    if first != job.shape {
        let per_point = step(session.as_mut(), depth)? / first.points() as f64;
        let quick = sample.as_secs_f64() / per_point.max(1e-12);
        let touched = time.as_secs_f64() * TOUCHED_PER_S / bytes as f64;
        let larger = slab(job.shape, (quick.min(touched) as usize).max(few));
        // Other programs want some, too.
        let on_slab = Job { shape: larger, ..job.clone() };
        if Cpu.host_bytes(&on_slab, Input::Kept) <= u128::from(memory::free().0) / 4 {
            session = prepare(job, larger)?;
            whole = larger;
        }
    }
    let session = session.as_mut();
    let once = step(session, depth)?.max(1e-7);
    let steps = ((sample.as_secs_f64() / once) as usize).clamp(1, MOST_STEPS);
    // Runs of the job's length, or whole passes of one that is too long.
    let portion = job.steps.max(1).min(steps.next_multiple_of(depth));
    let portions = (steps / portion).max(1);
    let (mut sweeps, mut copies) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        session.restart()?;
        let mut time = Duration::ZERO;
        for _ in 0..portions {
            time += session.advance(portion)?;
        }
        sweeps.push(time.as_secs_f64() / (portions * portion) as f64);
    }
    for _ in 0..SAMPLES {
        copies.push(session.copy(steps.div_ceil(depth).max(2))?.as_secs_f64());
    }
    let (sweep, copy) = (median(sweeps), median(copies) / depth as f64);
    let slowest = if whole == job.shape { sweep } else { sweep.max(copy) };
    let points = whole.points() as f64;
    let seconds_per_step = slowest * job.shape.points() as f64 / points;
    Ok(Speed { slab: whole, seconds_per_step, depth })
}

/// Seconds on one core of a step of a point, and of each of its neighbours, as fast as cores and caches can.
const FASTEST: [f64; 2] = [0.1e-9, 0.05e-9];
/// A job that takes less needs no other engine, and by how much faster that has to be.
const SHORT: f64 = 0.1;
const FASTER: f64 = 1.5;
/// To measure a job that may be another engine's.
const QUICK: Duration = Duration::from_millis(20);

/// How many times as long a job takes as `seconds` on one core, if it is clearly more: measured, where it can be.
#[must_use]
pub fn slower_than(job: &Job, seconds: f64) -> Option<f64> {
    let threads = rayon::current_num_threads() as f64;
    let steps = job.shape.points() as f64 * job.steps as f64;
    let per_point = |of: [f64; 2]| of[0] + of[1] * job.stencil.taps().len() as f64;
    // 20 times as slow as that is unusual: most jobs need no measurement.
    if steps * 20.0 * per_point(FASTEST) < seconds.max(SHORT * threads) {
        return None;
    }
    is_slower(job, measure(job, QUICK).ok()?.seconds_per_step, seconds)
}

/// The same with the seconds of a step.
#[must_use]
pub fn is_slower(job: &Job, seconds_per_step: f64, seconds: f64) -> Option<f64> {
    let took = seconds_per_step * job.steps as f64;
    let times = took * rayon::current_num_threads() as f64 / seconds;
    (took > SHORT && times > FASTER).then_some(times)
}

/// The job on a slab, loaded with a constant.
fn prepare(job: &Job, slab: Shape) -> Result<Box<dyn Session>, Error> {
    let job = Job { shape: slab, ..job.clone() };
    let mut session = Cpu.prepare(&job)?;
    Grid::check_memory(slab, job.dtype)?;
    let values = with_dtype!(job.dtype, T => T::wrap(vec![T::from_f64(0.5); slab.points()]));
    session.load(&Grid { shape: slab, values })?;
    Ok(session)
}

/// Seconds of a step, from a pass of so many after one that warms up.
fn step(session: &mut dyn Session, depth: usize) -> Result<f64, Error> {
    session.advance(depth)?;
    Ok(session.advance(depth)?.as_secs_f64() / depth as f64)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// A part of the grid of about so many points, or all of it: rows stay whole as long as they can, since how
/// they share a cache decides the speed.
fn slab(shape: Shape, points: usize) -> Shape {
    let mut extents = shape.axes().to_vec();
    let mut left = points.max(1);
    for axis in 0..extents.len() {
        let inner: usize = extents[axis + 1..].iter().product();
        let [outer, row] = LEAST_EXTENTS;
        let least = if axis + 1 == extents.len() { row } else { outer };
        extents[axis] = extents[axis].min((left / inner).max(least));
        left = (left / extents[axis]).max(1);
    }
    Shape::new(&extents).expect("a part of a grid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use transform::catalogue;

    #[test]
    fn slabs_keep_whole_rows() {
        let cut = |size: &str, points| slab(size.parse().unwrap(), points).to_string();
        assert_eq!(cut("1000", 2000), "1000");
        assert_eq!(cut("1000000", 2000), "2000");
        assert_eq!(cut("4096x4096", 409_600), "100x4096");
        assert_eq!(cut("1024x1024x1024", 1 << 22), "8x512x1024");
        assert_eq!(cut("3x1000000", 3000), "3x1000");
        assert_eq!(cut("70x80", 1 << 15), "70x80");
    }

    #[test]
    fn a_step_takes_longer_on_a_larger_grid() {
        let stencil = catalogue::find("star2d1r").unwrap();
        let job = |size: &str| Job::new(stencil.clone(), size.parse().unwrap(), Dtype::F32, 9);
        let time = Duration::from_millis(50);
        let [small, large] = ["40x50", "8000x9000"].map(|size| measure(&job(size), time).unwrap());
        assert_eq!(small.slab.to_string(), "40x50");
        assert!(large.slab.points() < 8000 * 9000, "{large:?}");
        assert!(large.seconds_per_step > 20.0 * small.seconds_per_step, "{small:?} {large:?}");
    }
}
