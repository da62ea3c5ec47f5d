// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole computations by an engine, every point compared with the plain stencil in f64: the catalogue, and
//! random stencils. `gpu-suite` runs them on a GPU; a few also run in the emulator.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use stencil::check::reference;
use stencil::check::verify;
use stencil::engine::EngineRequest;
use stencil::plan::choose;
use stencil::problem::boundary::Side;
use stencil::problem::region::Region;
use stencil::{Boundary, Dtype, Error, Grid, Shape};
use stencil::{Depth, Job};
use transform::{Stencil, Tap, catalogue};

/// A computation: what, by which engine, from which random values.
#[derive(Clone, Debug)]
pub struct Computation {
    /// What to compute.
    pub job: Job,
    /// By what.
    pub engine: EngineRequest,
    /// Of the input's values.
    pub seed: u64,
}

/// The outcome of a computation.
#[derive(Clone, Debug, PartialEq)]
pub enum ComputationOutcome {
    /// The largest error, over what rounding explains; the kernel, if it has a name.
    Compared(f64, Option<String>),
    /// The engine says that it does not take this.
    Refused(String),
    /// Exact values exceed the element type.
    Outgrown,
}

impl fmt::Display for Computation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { job, engine, seed } = self;
        let Job { stencil, shape, dtype, boundary, steps, fuse, chain, .. } = job;
        write!(
            f,
            "{} (radii {:?}, {} neighbours) on {shape}, {dtype}, {}, {steps} steps, --fuse {fuse} --chain \
             {chain}, {engine:?}, seed {seed}",
            stencil.name(),
            stencil.radii(),
            stencil.taps().len(),
            boundary.describe(shape.dims()),
        )
    }
}

impl Computation {
    /// Computes and compares.
    ///
    /// # Errors
    /// The engine fails after it took the job, or its values are not finite where exact ones are.
    pub fn run(&self) -> Result<ComputationOutcome, Error> {
        let Self { job, engine, seed } = self;
        let input = Grid::random(job.shape, job.dtype, *seed)?;
        let holds = |tap: &Tap| job.dtype.round(tap.weight).is_finite();
        if !job.stencil.taps().iter().all(holds) {
            return Ok(ComputationOutcome::Outgrown);
        }
        let mut session = match choose(*engine, job).and_then(|choice| choice.engine.prepare(job)) {
            Err(Error::Unsupported { reason, .. } | Error::NoEngine { reasons: reason }) => {
                return Ok(ComputationOutcome::Refused(reason));
            }
            session => session?,
        };
        session.load(&input)?;
        session.advance(job.steps)?;
        let output = session.store()?;
        if let Err(error) = output.check_finite(stencil::ValueLocation::Result) {
            return if self.outgrows(&input)? {
                Ok(ComputationOutcome::Outgrown)
            } else {
                Err(error)
            };
        }
        let comparison =
            verify::whole(job, (session.arithmetic(), session.jumped()), &input, &output)?;
        Ok(ComputationOutcome::Compared(comparison.used(), session.kernel()))
    }

    /// Whether exact values come near the largest number of the element type.
    fn outgrows(&self, input: &Grid) -> Result<bool, Error> {
        let job = &self.job;
        let whole = Region::whole(job.shape);
        let values = reference::gather(job.shape, whole, |region| Ok(input.read(region)))?;
        let mut largest = 0.0f64;
        reference::advance(job, whole, job.steps, values, |_, of_step| {
            largest = largest.max(of_step);
            Ok(())
        })?;
        Ok(!job.dtype.round(4.0 * largest).is_finite())
    }
}

/// Every stencil of the catalogue in every element type, at every kind of boundary, for 1, 2 and 13 steps, by
/// what `auto` takes and on CUDA cores, each on a grid of its own.
#[must_use]
pub fn catalogue(seed: u64) -> Vec<Computation> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut all = Vec::new();
    for entry in catalogue::entries() {
        let stencil = entry.stencil();
        for &dtype in Dtype::ALL {
            for kind in 0..3 {
                for steps in [1, 2, 13] {
                    let boundary = match kind {
                        0 => Boundary::default(),
                        1 => Boundary { sides: [[Side::Periodic; 2]; 3] },
                        _ => random_boundary(&mut random),
                    };
                    let shape = random_shape(&mut random, &stencil);
                    let job = Job {
                        boundary: boundary.map_constants(|value| dtype.round(value)),
                        ..Job::new(stencil.clone(), shape, dtype, steps)
                    };
                    let seed = random.next_u64();
                    for engine in [EngineRequest::Auto, EngineRequest::Cuda] {
                        all.push(Computation { job: job.clone(), engine, seed });
                    }
                }
            }
        }
    }
    all
}

/// Random stencils on random grids: everything is drawn.
#[must_use]
pub fn random(count: usize, seed: u64) -> Vec<Computation> {
    let draw = |number: usize| {
        let mut random = ChaCha8Rng::seed_from_u64(seed.wrapping_add(number as u64));
        let stencil = random_stencil(&mut random);
        let dtype = Dtype::ALL[random.random_range(0..Dtype::ALL.len())];
        let shape = random_shape(&mut random, &stencil);
        let mut depth = |most| match random.random_range(0..4 * most) {
            some if some < most => Depth::Steps(some + 1),
            _ => Depth::Auto,
        };
        let (fuse, chain) = (depth(4), depth(4));
        let steps = random.random_range(0..=25);
        let boundary = random_boundary(&mut random).map_constants(|value| dtype.round(value));
        let engines = [EngineRequest::Auto, EngineRequest::Sparse, EngineRequest::Cuda];
        let engine = engines[random.random_range(0..engines.len())];
        // CUDA cores take one step at a time.
        let one = engine == EngineRequest::Cuda;
        let [fuse, chain] = [fuse, chain].map(|depth| if one { Depth::Auto } else { depth });
        let job = Job { boundary, fuse, chain, ..Job::new(stencil, shape, dtype, steps) };
        Computation { job, engine, seed: random.next_u64() }
    };
    (0..count).map(draw).collect()
}

/// A stencil of 1 to 3 axes that reaches as far as it likes on each, and not at all on some: a star, a box or
/// scattered points, off-centre now and then, with or without holes; `Σ|w| ≤ 1`.
#[must_use]
pub fn random_stencil(random: &mut impl Rng) -> Stencil {
    let dims = random.random_range(1..=3);
    let most = [8, 5, 3][dims - 1];
    let off_centre = random.random_ratio(1, 4);
    let reach: [[i32; 2]; 3] = std::array::from_fn(|axis| {
        if axis < 3 - dims {
            return [0, 0];
        }
        let radius = random.random_range(0..=most);
        let other = if off_centre { random.random_range(-radius..=radius) } else { radius };
        if random.random() { [-radius, other] } else { [-other, radius] }
    });
    let mut offsets: Vec<[i32; 3]> = Vec::new();
    let along = |axis: usize| reach[axis][0]..=reach[axis][1];
    for z in along(0) {
        offsets.extend(along(1).flat_map(|y| along(2).map(move |x| [z, y, x])));
    }
    match random.random_range(0..4) {
        // A box.
        0 => {}
        // On the axes only, if any are.
        1 => {
            let on_axis = |offset: &[i32; 3]| offset.iter().filter(|at| **at != 0).count() < 2;
            if offsets.iter().any(on_axis) {
                offsets.retain(on_axis);
            }
        }
        kind => {
            let least = if kind == 2 { 0.3 } else { 0.85 };
            let ends = [offsets[0], offsets[offsets.len() - 1]];
            offsets.retain(|offset| ends.contains(offset) || random.random_range(0.0..1.0) > least);
        }
    }
    let positive = random.random();
    let mut weights: Vec<f64> = Vec::new();
    for _ in &offsets {
        let weight = random.random_range(0.05..1.0);
        weights.push(if positive || random.random() { weight } else { -weight });
    }
    let gain: f64 = weights.iter().map(|weight| weight.abs()).sum();
    let taps = offsets.into_iter().zip(weights);
    let taps = taps.map(|(offset, weight)| Tap { offset, weight: weight / gain }).collect();
    Stencil::new("random", dims, taps).expect("finite weights")
}

/// Any kind on any side.
#[must_use]
pub fn random_boundary(random: &mut impl Rng) -> Boundary {
    let mut axis = |_| {
        if random.random_ratio(1, 4) {
            return [Side::Periodic; 2];
        }
        let mut side = || match random.random_range(0..6) {
            0 => Side::Zero,
            1 => Side::Symmetric,
            2 => Side::Constant(random.random_range(-1.0..1.0)),
            3 => Side::Edge,
            4 => Side::Flux(random.random_range(-0.2..0.2)),
            _ => Side::Reflect,
        };
        [side(), side()]
    };
    Boundary { sides: [0; 3].map(&mut axis) }
}

/// Extents that are 1, smaller than the radius, prime, around those of tiles, or anything.
///
/// # Panics
/// Never: extents are at least 1.
#[must_use]
pub fn random_shape(random: &mut impl Rng, stencil: &Stencil) -> Shape {
    let dims = stencil.dims();
    let most: &[usize] = match dims {
        1 => &[6000],
        2 => &[300, 700],
        _ => &[24, 40, 150],
    };
    let radii = stencil.radii();
    let mut extent = |axis: usize| {
        let (most, radius) = (most[axis], radii[3 - dims + axis]);
        let drawn = match random.random_range(0..12) {
            0 => 1,
            1 => random.random_range(1..=radius.max(1)),
            2 => [2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 251, 509][random.random_range(0..12)],
            3 => {
                let tile = [8, 16, 32, 64, 128, 256, 512][random.random_range(0..7)];
                tile + random.random_range(0..3) - 1
            }
            _ => random.random_range(1..=most),
        };
        drawn.min(most)
    };
    let extents: Vec<usize> = (0..dims).map(&mut extent).collect();
    Shape::new(&extents).expect("extents are at least 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_stencils_reach_differently_on_each_axis() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let all: Vec<Stencil> = (0..300).map(|_| random_stencil(&mut random)).collect();
        let of = |holds: &dyn Fn(&Stencil, [usize; 3]) -> bool| {
            all.iter().filter(|stencil| holds(stencil, stencil.radii())).count()
        };
        assert!(of(&|one, [_, y, x]| one.dims() == 2 && y < x) > 20);
        assert!(of(&|one, [_, y, x]| one.dims() == 2 && y > x) > 20);
        assert!(of(&|one, [_, y, x]| one.dims() == 2 && (y == 0) != (x == 0)) > 5);
        assert!(of(&|one, [z, y, x]| one.dims() == 3 && z != y && y != x) > 20);
        assert!(all.iter().all(|one| one.gain() < 1.0 + 1e-9));
    }
}
