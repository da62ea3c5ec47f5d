// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every result is compared with: the plain stencil in f64, one step after the other.

use rayon::prelude::*;

use crate::boundary::{Image, NeighbourPlace, Side};
use crate::region::Region;
use crate::values::Element;
use crate::{Error, Job, Shape, Values, with_values};

/// Multiplications of a step below which threads would take longer to start than to compute.
const SERIAL: usize = 1 << 15;

/// The points that a region depends on, a number of steps earlier.
#[must_use]
pub fn before(region: Region, steps: usize, job: &Job) -> Region {
    let mut before = region;
    for axis in 0..3 {
        let extent = job.shape.extents()[axis] as isize;
        let reach = job.stencil.radii()[axis].saturating_mul(steps).min(isize::MAX as usize / 4);
        let low = region.low[axis] - reach as isize;
        let high = region.high[axis] + reach as isize;
        let periodic = job.boundary.sides[axis][0] == Side::Periodic;
        (before.low[axis], before.high[axis]) = if !periodic {
            (low.max(0), high.min(extent))
        } else if high - low < extent {
            (low, high)
        } else {
            (0, extent)
        };
    }
    before
}

/// The values of a region that may lie in copies of the grid of `shape`, from a source of those of
/// regions in the grid.
///
/// # Errors
/// `read` fails.
pub fn gather(
    shape: Shape,
    region: Region,
    mut read: impl FnMut(Region) -> Result<Values, Error>,
) -> Result<Vec<f64>, Error> {
    let extents = shape.extents();
    if (0..3).all(|a| region.low[a] >= 0 && region.high[a] as usize <= extents[a]) {
        return Ok(match read(region)? {
            Values::F64(values) => values,
            narrow => with_values!(narrow, values => {
                values.into_par_iter().map(Element::to_f64).collect()
            }),
        });
    }
    let [zs, ys, xs] = std::array::from_fn(|a| in_grid(region.low[a], region.high[a], extents[a]));
    let mut values = vec![0.0; region.points()];
    for z in &zs {
        for y in &ys {
            for x in &xs {
                let parts = [z, y, x];
                let low = parts.map(|part| part.from as isize);
                let high = parts.map(|part| (part.from + part.count) as isize);
                let piece = read(Region { low, high })?;
                with_values!(piece, piece => copy(parts, &piece, region, &mut values));
            }
        }
    }
    Ok(values)
}

/// Copies a box of the grid to its place in a region.
fn copy<T: Element>(parts: [&Part; 3], from: &[T], region: Region, to: &mut [f64]) {
    let [_, rows, columns] = region.extents();
    let [z, y, x] = parts;
    for (row, from) in from.chunks(x.count).enumerate() {
        let (z, y) = (z.at + row / y.count, y.at + row % y.count);
        let start = (z * rows + y) * columns + x.at;
        let to = &mut to[start..start + x.count];
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f64());
    }
}

/// A part of a range of coordinates that lies in the grid.
struct Part {
    /// Its place in the range.
    at: usize,
    /// Its first coordinate.
    from: usize,
    count: usize,
}

/// A range of coordinates of a periodic axis in parts that lie in the grid.
fn in_grid(low: isize, high: isize, extent: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = low;
    while at < high {
        let from = at.rem_euclid(extent as isize) as usize;
        let count = (extent - from).min((high - at) as usize);
        parts.push(Part { at: (at - low) as usize, from, count });
        at += count as isize;
    }
    parts
}

/// Advances a region by `steps`, from the values of what it depends on ([`before`]). `each` is given
/// the number of steps done, from 0 on, and the largest absolute value, boundary included, that the rest
/// depends on.
///
/// # Errors
/// `each` fails.
pub fn advance(
    job: &Job,
    region: Region,
    steps: usize,
    mut values: Vec<f64>,
    mut each: impl FnMut(usize, f64) -> Result<(), Error>,
) -> Result<Vec<f64>, Error> {
    let (outside, rise) = (job.boundary.largest(), job.boundary.rise(job.stencil.radii()));
    let most = |values: &[f64]| largest(values).max(outside) + rise;
    each(0, most(&values))?;
    let mut step: Option<Step> = None;
    let mut next = Vec::new();
    for done in 1..=steps {
        let ends = [before(region, steps + 1 - done, job), before(region, steps - done, job)];
        // From some step on backwards it is the whole grid each time.
        let step = match &mut step {
            Some(step) if step.ends == ends => step,
            other => other.insert(Step::new(job, ends)),
        };
        next.resize(step.ends[1].points(), 0.0);
        step.apply(job, &values, &mut next);
        std::mem::swap(&mut values, &mut next);
        each(done, most(&values))?;
    }
    Ok(values)
}

fn largest(values: &[f64]) -> f64 {
    if values.len() < SERIAL {
        return values.iter().fold(0.0, |most, value| value.abs().max(most));
    }
    values.par_iter().map(|value| value.abs()).reduce(|| 0.0, f64::max)
}

/// Where the coordinates of an axis that a step may read lie in the region that it reads.
struct Axis {
    /// The first coordinate.
    low: isize,
    places: Vec<NeighbourPlace>,
}

impl Axis {
    fn new(job: &Job, axis: usize, from: Region, to: Region) -> Self {
        let radius = job.stencil.radii()[axis] as isize;
        let extent = job.shape.extents()[axis];
        let (first, end) = (from.low[axis], from.high[axis]);
        let find = |at: isize| {
            if (first..end).contains(&at) {
                return NeighbourPlace::Inside((at - first) as usize, Image::SAME);
            }
            match job.boundary.resolve(axis, at, extent) {
                // Of a periodic axis the region may hold another copy of the point.
                NeighbourPlace::Inside(point, image) => {
                    let copy = (point as isize - first).rem_euclid(extent as isize);
                    NeighbourPlace::Inside(copy as usize, image)
                }
                value => value,
            }
        };
        let low = to.low[axis] - radius;
        Self { low, places: (low..to.high[axis] + radius).map(find).collect() }
    }

    fn place(&self, at: isize) -> NeighbourPlace {
        self.places[(at - self.low) as usize]
    }
}

/// One step, from the values of a region to those of another.
struct Step {
    /// The one and the other.
    ends: [Region; 2],
    axes: [Axis; 3],
}

impl Step {
    fn new(job: &Job, ends: [Region; 2]) -> Self {
        let [from, to] = ends;
        Self { ends, axes: std::array::from_fn(|axis| Axis::new(job, axis, from, to)) }
    }

    fn apply(&self, job: &Job, values: &[f64], next: &mut [f64]) {
        let columns = self.ends[1].extents()[2];
        let row = |(row, next): (usize, &mut [f64])| self.row(job, values, row, next);
        if next.len() * job.stencil.taps().len() < SERIAL {
            next.chunks_mut(columns).enumerate().for_each(row);
        } else {
            next.par_chunks_mut(columns).enumerate().for_each(row);
        }
    }

    /// Computes one row.
    fn row(&self, job: &Job, values: &[f64], row: usize, next: &mut [f64]) {
        let ([from, to], [zs, ys, xs]) = (self.ends, &self.axes);
        let [_, rows, _] = to.extents();
        let [_, from_rows, from_columns] = from.extents();
        let (z, y) = (to.low[0] + (row / rows) as isize, to.low[1] + (row % rows) as isize);
        next.fill(0.0);
        for tap in job.stencil.taps() {
            let [dz, dy, dx] = tap.offset.map(|offset| offset as isize);
            let (z, y) = (zs.place(z + dz), ys.place(y + dy));
            // The row of the neighbours and what becomes of it, or the one value that it has: along x the
            // rule comes first.
            let row = match (z, y) {
                (_, NeighbourPlace::Value(value)) => Err(value),
                (NeighbourPlace::Value(value), NeighbourPlace::Inside(_, down)) => {
                    Err(down.of(value))
                }
                (NeighbourPlace::Inside(z, deep), NeighbourPlace::Inside(y, down)) => {
                    let row = &values[(z * from_rows + y) * from_columns..][..from_columns];
                    Ok((row, down.after(deep)))
                }
            };
            let add = |next: &mut [f64], x: isize| {
                let value = match (xs.place(x + dx), row) {
                    (NeighbourPlace::Value(value), _) => value,
                    (NeighbourPlace::Inside(_, beside), Err(value)) => beside.of(value),
                    (NeighbourPlace::Inside(x, beside), Ok((row, image))) => {
                        beside.after(image).of(row[x])
                    }
                };
                next[(x - to.low[2]) as usize] += tap.weight * value;
            };
            let Ok((row, image)) = row else {
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
                let Image { factor, added } = image;
                sums.zip(row)
                    .for_each(|(sum, value)| *sum += tap.weight * (factor * value + added));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Boundary, Dtype, Grid};
    use transform::Stencil;

    fn job(stencil: Stencil, size: &str, steps: usize) -> (Job, Grid) {
        let shape: Shape = size.parse().unwrap();
        let input = Grid::random(shape, Dtype::F64, 3).unwrap();
        (Job::new(stencil, shape, Dtype::F64, steps), input)
    }

    fn run(job: &Job, input: &Grid, region: Region) -> Vec<f64> {
        let from = before(region, job.steps, job);
        let values = gather(job.shape, from, |region| Ok(input.read(region))).unwrap();
        advance(job, region, job.steps, values, |_, _| Ok(())).unwrap()
    }

    #[test]
    fn a_hand_computed_step() {
        let stencil = Stencil::dense("s", &[3], &[1.0, 10.0, 100.0]).unwrap();
        let (job, mut input) = job(stencil, "4", 1);
        input.values = crate::Values::F64(vec![1.0, 2.0, 3.0, 4.0]);
        let mut maxima = Vec::new();
        let whole = Region::whole(job.shape);
        let values = gather(job.shape, whole, |region| Ok(input.read(region))).unwrap();
        let exact = advance(&job, whole, 1, values, |step, largest| {
            maxima.push((step, largest));
            Ok(())
        });
        // out[x] = in[x-1] + 10 in[x] + 100 in[x+1], zero outside.
        assert_eq!(exact.unwrap(), [210.0, 321.0, 432.0, 43.0]);
        assert_eq!(maxima, [(0, 4.0), (1, 432.0)]);
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
            ("edge", ([0, 0, 35], [1, 2, 37])),
            ("x:flux=0.5,y-:edge,y+:flux=-2", ([0, 18, 0], [1, 23, 5])),
        ] {
            job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
            let whole = run(&job, &input, Region::whole(job.shape));
            let region = Region { low, high };
            let part = run(&job, &input, region);
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
            ("edge", [211.0, 321.0, 332.0]),
            ("x-:flux=4,x+:flux=-1", [215.0, 321.0, 232.0]),
        ] {
            job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
            assert_eq!(run(&job, &input, Region::whole(job.shape)), expected, "{boundary}");
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
            ("edge", [1.0, 1.0, 1.0, 1.0]),
            ("x:flux=10,y:flux=100", [111.0, 101.0, 11.0, 1.0]),
            ("x:flux=10,y:constant=6", [16.0, 6.0, 11.0, 1.0]),
            ("x:constant=5,y:flux=100", [5.0, 101.0, 5.0, 1.0]),
        ] {
            job.boundary = Boundary::parse(boundary, job.shape.dims()).unwrap();
            assert_eq!(run(&job, &input, Region::whole(job.shape)), expected, "{boundary}");
        }
    }
}
