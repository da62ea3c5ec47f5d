// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every result is compared with: the plain stencil in f64, one step after the other.

use rayon::prelude::*;
use transform::Stencil;

use crate::engine::Job;
use crate::progress::Progress;
use crate::{Boundary, Error, Grid, Shape};

/// A box of grid points, from `low` to before `high`, as (z, y, x).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first point.
    pub low: [usize; 3],
    /// One past its last point on each axis.
    pub high: [usize; 3],
}

impl Region {
    /// The whole grid.
    #[must_use]
    pub fn whole(shape: Shape) -> Self {
        Self { low: [0; 3], high: shape.extents() }
    }

    /// The grid points that this region depends on, a number of steps earlier.
    #[must_use]
    pub fn before(&self, steps: usize, radii: [usize; 3], shape: Shape) -> Self {
        let reach = radii.map(|radius| radius.saturating_mul(steps));
        let low = std::array::from_fn(|axis| self.low[axis].saturating_sub(reach[axis]));
        let high = |axis: usize| self.high[axis].saturating_add(reach[axis]);
        Self { low, high: std::array::from_fn(|axis| high(axis).min(shape.extents()[axis])) }
    }

    /// Extents (z, y, x).
    #[must_use]
    pub fn extents(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.high[axis] - self.low[axis])
    }

    /// Number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.extents().iter().product()
    }

    /// Where the points of its row `row` lie in an array of `shape`: the place of the first.
    #[must_use]
    pub fn row_in(&self, row: usize, shape: Shape) -> usize {
        let [_, ny, nx] = shape.extents();
        let rows = self.extents()[1];
        let (z, y) = (self.low[0] + row / rows, self.low[1] + row % rows);
        (z * ny + y) * nx + self.low[2]
    }
}

/// The exact values of a region (up to f64 rounding).
pub struct Exact {
    /// The values in C order.
    pub values: Vec<f64>,
    /// Largest absolute value that the region depended on, before the first step and after each.
    pub maxima: Vec<f64>,
}

/// Advances a region of the grid by `steps`, from its domain of dependence.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn advance(
    job: &Job,
    input: &Grid,
    region: Region,
    steps: usize,
    progress: &mut Progress,
) -> Result<Exact, Error> {
    let radii = job.stencil.radii();
    let mut from = region.before(steps, radii, job.shape);
    let mut values = crop(input, from);
    let mut maxima = vec![largest(&values)];
    for step in 1..=steps {
        let to = region.before(steps - step, radii, job.shape);
        values = advance_once(&job.stencil, job.boundary, job.shape, (from, &values), to);
        maxima.push(largest(&values));
        from = to;
        progress.reached(step)?;
    }
    Ok(Exact { values, maxima })
}

fn crop(grid: &Grid, region: Region) -> Vec<f64> {
    let columns = region.extents()[2];
    let mut values = vec![0.0; region.points()];
    values.par_chunks_mut(columns).enumerate().for_each(|(row, to)| {
        let start = region.row_in(row, grid.shape);
        to.iter_mut().enumerate().for_each(|(x, to)| *to = grid.get(start + x));
    });
    values
}

fn largest(values: &[f64]) -> f64 {
    values.par_iter().map(|value| value.abs()).reduce(|| 0.0, f64::max)
}

fn advance_once(
    stencil: &Stencil,
    boundary: Boundary,
    shape: Shape,
    (from, values): (Region, &[f64]),
    to: Region,
) -> Vec<f64> {
    let Boundary::Zero = boundary;
    let [nz, ny, nx] = shape.extents().map(|extent| extent as isize);
    let [_, rows, columns] = to.extents();
    let [_, from_rows, from_columns] = from.extents();
    let mut next = vec![0.0; to.points()];
    next.par_chunks_mut(columns).enumerate().for_each(|(row, next)| {
        let (z, y) = (to.low[0] + row / rows, to.low[1] + row % rows);
        for tap in stencil.taps() {
            let [dz, dy, dx] = tap.offset.map(|offset| offset as isize);
            let (z, y) = (z as isize + dz, y as isize + dy);
            if !(0..nz).contains(&z) || !(0..ny).contains(&y) {
                continue;
            }
            let row = (z as usize - from.low[0]) * from_rows + (y as usize - from.low[1]);
            let low = (to.low[2] as isize).max(-dx);
            let high = (to.high[2] as isize).min(nx - dx);
            for x in low..high {
                let neighbour = row * from_columns + (x + dx) as usize - from.low[2];
                next[x as usize - to.low[2]] += tap.weight * values[neighbour];
            }
        }
    });
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    fn job(stencil: Stencil, size: &str, steps: usize) -> (Job, Grid) {
        let shape: Shape = size.parse().unwrap();
        let input = Grid::random(shape, Dtype::F64, 3).unwrap();
        (Job { stencil, shape, dtype: Dtype::F64, boundary: Boundary::Zero, steps }, input)
    }

    fn run(job: &Job, input: &Grid, region: Region) -> Exact {
        let mut progress = Progress::new("test", job.steps, true);
        advance(job, input, region, job.steps, &mut progress).unwrap()
    }

    #[test]
    fn a_hand_computed_step() {
        let stencil = Stencil::dense("s", &[3], &[1.0, 10.0, 100.0]).unwrap();
        let (job, mut input) = job(stencil, "4", 1);
        input.values = crate::Values::F64(vec![1.0, 2.0, 3.0, 4.0]);
        let exact = run(&job, &input, Region::whole(job.shape));
        // out[x] = in[x-1] + 10 in[x] + 100 in[x+1], zero outside.
        assert_eq!(exact.values, [210.0, 321.0, 432.0, 43.0]);
        assert_eq!(exact.maxima, [4.0, 432.0]);
    }

    #[test]
    fn a_region_equals_its_part_of_the_whole() {
        let weights: Vec<f64> = (0..15).map(|i| f64::from(i - 4) / 32.0).collect();
        let stencil = Stencil::dense("s", &[3, 5], &weights).unwrap();
        let (job, input) = job(stencil, "23x37", 4);
        let whole = run(&job, &input, Region::whole(job.shape)).values;
        for (low, high) in [([0, 0, 0], [1, 1, 1]), ([0, 9, 30], [1, 14, 37])] {
            let region = Region { low, high };
            let part = run(&job, &input, region).values;
            let columns = region.extents()[2];
            for (row, part) in part.chunks(columns).enumerate() {
                let start = region.row_in(row, job.shape);
                assert_eq!(part, &whole[start..start + columns]);
            }
        }
    }
}
