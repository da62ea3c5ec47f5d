// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every result is compared with: the plain stencil in f64, one step after the other.

use crate::boundary::{Place, Side};
use crate::engine::Job;
use crate::progress::Progress;
use crate::{Error, Grid, Shape};
use rayon::prelude::*;

/// A box of points, from `low` to before `high`, as (z, y, x). Its points lie in the grid or, along
/// periodic axes, in the copies of it on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first point.
    pub low: [isize; 3],
    /// One past its last point on each axis.
    pub high: [isize; 3],
}

impl Region {
    /// The whole grid.
    #[must_use]
    pub fn whole(shape: Shape) -> Self {
        Self { low: [0; 3], high: shape.extents().map(|extent| extent as isize) }
    }

    /// The points that this region depends on, a number of steps earlier.
    #[must_use]
    pub fn before(&self, steps: usize, job: &Job) -> Self {
        let mut before = *self;
        for axis in 0..3 {
            let extent = job.shape.extents()[axis] as isize;
            let reach =
                job.stencil.radii()[axis].saturating_mul(steps).min(isize::MAX as usize / 4);
            let low = self.low[axis] - reach as isize;
            let high = self.high[axis] + reach as isize;
            let periodic = job.boundary.sides[axis][0] == Side::Periodic;
            (before.low[axis], before.high[axis]) = if periodic && high - low < extent {
                (low, high)
            } else {
                (low.max(0), high.min(extent))
            };
            if periodic && high - low >= extent {
                (before.low[axis], before.high[axis]) = (0, extent);
            }
        }
        before
    }

    /// Extents (z, y, x).
    #[must_use]
    pub fn extents(&self) -> [usize; 3] {
        std::array::from_fn(|axis| (self.high[axis] - self.low[axis]) as usize)
    }

    /// Number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.extents().iter().product()
    }

    /// Where the points of its row `row` lie in an array of `shape`: the place of the first. For a
    /// region in the grid.
    #[must_use]
    pub fn row_in(&self, row: usize, shape: Shape) -> usize {
        let [_, ny, nx] = shape.extents();
        let rows = self.extents()[1];
        let [z, y, x] = self.low.map(|low| low as usize);
        ((z + row / rows) * ny + y + row % rows) * nx + x
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
    let mut from = region.before(steps, job);
    let mut values = crop(input, from);
    let mut maxima = vec![largest(&values).max(job.boundary.largest())];
    for step in 1..=steps {
        let to = region.before(steps - step, job);
        values = advance_once(job, (from, &values), to);
        maxima.push(largest(&values).max(job.boundary.largest()));
        from = to;
        progress.reached(step)?;
    }
    Ok(Exact { values, maxima })
}

fn crop(grid: &Grid, region: Region) -> Vec<f64> {
    let [_, rows, columns] = region.extents();
    let [nz, ny, nx] = grid.shape.extents();
    let wrap = |low: isize, offset: usize, n: usize| {
        (low + offset as isize).rem_euclid(n as isize) as usize
    };
    let mut values = vec![0.0; region.points()];
    values.par_chunks_mut(columns).enumerate().for_each(|(row, to)| {
        let z = wrap(region.low[0], row / rows, nz);
        let y = wrap(region.low[1], row % rows, ny);
        let at = |x| grid.get((z * ny + y) * nx + wrap(region.low[2], x, nx));
        to.iter_mut().enumerate().for_each(|(x, to)| *to = at(x));
    });
    values
}

fn largest(values: &[f64]) -> f64 {
    values.par_iter().map(|value| value.abs()).reduce(|| 0.0, f64::max)
}

/// Where the coordinates of an axis that a step may read lie in the region that it reads.
struct Axis {
    /// The first coordinate.
    low: isize,
    places: Vec<Place>,
}

impl Axis {
    fn new(job: &Job, axis: usize, from: Region, to: Region) -> Self {
        let radius = job.stencil.radii()[axis] as isize;
        let extent = job.shape.extents()[axis];
        let (first, end) = (from.low[axis], from.high[axis]);
        let find = |at: isize| {
            if (first..end).contains(&at) {
                return Place::Inside((at - first) as usize);
            }
            match job.boundary.resolve(axis, at, extent) {
                // Of a periodic axis the region may hold another copy of the point.
                Place::Inside(point) => {
                    let copy = (point as isize - first).rem_euclid(extent as isize);
                    Place::Inside(copy as usize)
                }
                value => value,
            }
        };
        let low = to.low[axis] - radius;
        Self { low, places: (low..to.high[axis] + radius).map(find).collect() }
    }

    fn place(&self, at: isize) -> Place {
        self.places[(at - self.low) as usize]
    }
}

fn advance_once(job: &Job, (from, values): (Region, &[f64]), to: Region) -> Vec<f64> {
    let [zs, ys, xs] = std::array::from_fn(|axis| Axis::new(job, axis, from, to));
    let [_, rows, columns] = to.extents();
    let [_, from_rows, from_columns] = from.extents();
    let mut next = vec![0.0; to.points()];
    next.par_chunks_mut(columns).enumerate().for_each(|(row, next)| {
        let (z, y) = (to.low[0] + (row / rows) as isize, to.low[1] + (row % rows) as isize);
        for tap in job.stencil.taps() {
            let [dz, dy, dx] = tap.offset.map(|offset| offset as isize);
            let (z, y) = (zs.place(z + dz), ys.place(y + dy));
            // The row of the neighbours, where it has one value: along x the rule comes first.
            let row = match (z, y) {
                (_, Place::Value(value)) | (Place::Value(value), _) => Err(value),
                (Place::Inside(z), Place::Inside(y)) => {
                    Ok(&values[(z * from_rows + y) * from_columns..][..from_columns])
                }
            };
            let add = |next: &mut [f64], x: isize| {
                let value = match (xs.place(x + dx), row) {
                    (Place::Value(value), _) | (_, Err(value)) => value,
                    (Place::Inside(x), Ok(row)) => row[x],
                };
                next[(x - to.low[2]) as usize] += tap.weight * value;
            };
            let Ok(row) = row else {
                (to.low[2]..to.high[2]).for_each(|x| add(next, x));
                continue;
            };
            // Most neighbours are read in a row.
            let low = to.low[2].max(from.low[2] - dx).min(to.high[2]);
            let high = to.high[2].min(from.high[2] - dx).max(low);
            (to.low[2]..low).chain(high..to.high[2]).for_each(|x| add(next, x));
            let (start, count) = ((low - to.low[2]) as usize, (high - low) as usize);
            if count > 0 {
                let row = &row[(low + dx - from.low[2]) as usize..][..count];
                let sums = next[start..start + count].iter_mut();
                sums.zip(row).for_each(|(sum, value)| *sum += tap.weight * value);
            }
        }
    });
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundary, Dtype};
    use transform::Stencil;

    fn job(stencil: Stencil, size: &str, steps: usize) -> (Job, Grid) {
        let shape: Shape = size.parse().unwrap();
        let input = Grid::random(shape, Dtype::F64, 3).unwrap();
        (Job::new(stencil, shape, Dtype::F64, steps), input)
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
        let (mut job, input) = job(stencil, "23x37", 4);
        for (boundary, (low, high)) in [
            ("zero", ([0, 0, 0], [1, 1, 1])),
            ("zero", ([0, 9, 30], [1, 14, 37])),
            ("periodic", ([0, 0, 30], [1, 3, 37])),
            ("x:periodic,y-:reflect,y+:constant=2", ([0, 18, 0], [1, 23, 5])),
            ("reflect", ([0, 0, 35], [1, 1, 37])),
        ] {
            job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
            let whole = run(&job, &input, Region::whole(job.shape)).values;
            let region = Region { low, high };
            let part = run(&job, &input, region).values;
            let columns = region.extents()[2];
            for (row, part) in part.chunks(columns).enumerate() {
                let start = region.row_in(row, job.shape);
                assert_eq!(part, &whole[start..start + columns]);
            }
        }
    }

    /// Two steps of 1, 10, 100 on three points, by hand for each kind.
    #[test]
    fn hand_computed_boundaries() {
        let stencil = Stencil::dense("s", &[3], &[1.0, 10.0, 100.0]).unwrap();
        let (mut job, mut input) = job(stencil, "3", 1);
        input.values = crate::Values::F64(vec![1.0, 2.0, 3.0]);
        for (boundary, expected) in [
            ("periodic", [213.0, 321.0, 132.0]),
            ("reflect", [212.0, 321.0, 232.0]),
            ("x-:constant=5,x+:constant=7", [215.0, 321.0, 732.0]),
        ] {
            job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
            assert_eq!(run(&job, &input, Region::whole(job.shape)).values, expected, "{boundary}");
        }
    }

    /// The corner rule: x first.
    #[test]
    fn a_corner_follows_the_rule_of_x() {
        let taps = vec![transform::Tap { offset: [0, -1, -1], weight: 1.0 }];
        let stencil = Stencil::new("corner", 2, taps).unwrap();
        let (mut job, mut input) = job(stencil, "2x2", 1);
        input.values = crate::Values::F64(vec![1.0, 2.0, 3.0, 4.0]);
        for (boundary, expected) in [
            ("x:constant=5,y:constant=6", [5.0, 6.0, 5.0, 1.0]),
            ("x:periodic,y:constant=6", [6.0, 6.0, 2.0, 1.0]),
            ("x:constant=5,y:reflect", [5.0, 3.0, 5.0, 1.0]),
            ("reflect", [4.0, 3.0, 2.0, 1.0]),
        ] {
            job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
            assert_eq!(run(&job, &input, Region::whole(job.shape)).values, expected, "{boundary}");
        }
    }
}
