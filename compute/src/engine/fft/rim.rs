// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of a part of the grid by the stepping engine, in f64, so that they round no more than a jump does.

use super::torus::Slab;
use crate::engine::cpu::Cpu;
use crate::engine::{Engine, State};
use problem::region::Region;
use problem::values::Element;
use problem::{Boundary, Depth, Dtype, Error, Grid, Job, Shape, Values};

/// Takes so many steps of a grid of these extents, and returns the values of a region of it.
fn step(
    job: &Job,
    shape: Shape,
    boundary: Boundary,
    values: Vec<f64>,
    steps: usize,
    wanted: Region,
) -> Result<Vec<f64>, Error> {
    let (dtype, chain, jump) = (Dtype::F64, Depth::Auto, Depth::Auto);
    let job = Job { shape, dtype, boundary, steps, chain, jump, ..job.clone() };
    let mut session = Cpu.prepare(&job)?;
    session.load(&Grid { shape, values: Values::F64(values) })?;
    session.drop_input();
    session.advance(steps)?;
    let values = session.read(0, State::Now, wanted)?;
    Ok(f64::unwrap(&values).expect("what was loaded").to_vec())
}

/// The whole grid after so many steps.
pub fn whole<T: Element>(job: &Job, grid: &[T], steps: usize) -> Result<Vec<f64>, Error> {
    let values = grid.iter().map(|value| value.to_f64()).collect();
    step(job, job.shape, job.boundary, values, steps, Region::whole(job.shape))
}

/// In how many parts steps of a slab are taken, each of a thinner one than the one before; and the fewest of a part.
const PARTS: usize = 4;
const FEWEST: usize = 4;

/// The points of a slab after so many steps.
pub fn slab<T: Element>(
    job: &Job,
    grid: &[T],
    slab: &Slab,
    steps: usize,
) -> Result<Vec<f64>, Error> {
    let mut from = slab.from;
    let mut values: Vec<f64> =
        from.of(grid, job.shape).iter().map(|value| value.to_f64()).collect();
    let boundary = slab.boundary(&job.boundary);
    let part = steps.div_ceil(PARTS).max(FEWEST);
    let mut left = steps;
    while left > 0 {
        let count = part.min(left);
        left -= count;
        let right = slab.right(job, left, from);
        let shape = Shape::new(&from.extents()[3 - job.shape.dims()..])?;
        let wanted = Region {
            low: std::array::from_fn(|axis| right.low[axis] - from.low[axis]),
            high: std::array::from_fn(|axis| right.high[axis] - from.low[axis]),
        };
        values = step(job, shape, boundary, values, count, wanted)?;
        from = right;
    }
    Ok(values)
}
