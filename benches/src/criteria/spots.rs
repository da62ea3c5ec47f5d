// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sweet spot: for a shape, a number of steps in a sweep and a precision, the unit that the criteria predict to
//! be the fastest, and the one that was measured to be.

use stencil::families::Unit;
use transform::catalogue::{Family, Shape};
use transform::criteria::{FusedCase, Scheme};
use transform::machine::{Machine, Precision};

use super::measurements::{Measured, Measurements, fastest};

/// Units are as fast as each other if their speeds differ by no more than this fraction.
pub const ALIKE: f64 = 0.05;

/// The precisions that have a panel.
pub const PRECISIONS: [Precision; 3] = [Precision::Double, Precision::Single, Precision::Half];

/// Shapes of all radii up to one, at all depths up to one.
pub struct Range {
    /// Stars or boxes; in 1D they are the same.
    pub family: Family,
    /// Axes.
    pub dims: usize,
    /// The largest radius.
    pub radius: usize,
    /// The most steps in a sweep.
    pub steps: usize,
}

/// What the picture shows.
pub const RANGES: [Range; 5] = [
    Range { family: Family::Star, dims: 1, radius: 7, steps: 32 },
    Range { family: Family::Star, dims: 2, radius: 7, steps: 12 },
    Range { family: Family::Box, dims: 2, radius: 7, steps: 12 },
    Range { family: Family::Star, dims: 3, radius: 4, steps: 12 },
    Range { family: Family::Box, dims: 3, radius: 4, steps: 12 },
];

/// A place of the picture.
pub struct Spot<'a> {
    /// The shape, steps and precision.
    pub case: FusedCase,
    /// GStencil/s that the roofs allow each unit that there is.
    pub predicted: Vec<(Unit, f64)>,
    /// The fastest kernel of each unit that was measured; all on one grid.
    pub measured: Vec<&'a Measured>,
}

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionOutcome {
    /// Those predicted to be the fastest are.
    AsPredicted,
    /// Of several that were to be alike some are ahead.
    OneOfThem,
    /// Another is.
    Another,
}

impl Spot<'_> {
    /// The units that are to be the fastest of all.
    pub fn predicted_fastest(&self) -> Vec<Unit> {
        leaders(&self.predicted)
    }

    /// The units that were the fastest of those measured.
    pub fn measured_fastest(&self) -> Vec<Unit> {
        let speeds: Vec<(Unit, f64)> =
            self.measured.iter().map(|one| (one.unit, one.speed)).collect();
        leaders(&speeds)
    }

    /// How those measured to be the fastest stand to those that were to be, of the units that were measured.
    pub fn outcome(&self) -> PredictionOutcome {
        let mut known = self.predicted.clone();
        known.retain(|(unit, _)| self.measured.iter().any(|one| one.unit == *unit));
        let (predicted, measured) = (leaders(&known), self.measured_fastest());
        if predicted == measured {
            PredictionOutcome::AsPredicted
        } else if measured.iter().all(|unit| predicted.contains(unit)) {
            PredictionOutcome::OneOfThem
        } else {
            PredictionOutcome::Another
        }
    }
}

/// The units of the highest speed, but for what counts as alike.
fn leaders(speeds: &[(Unit, f64)]) -> Vec<Unit> {
    let highest = speeds.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
    let is_near = |(_, speed): &&(Unit, f64)| *speed >= highest * (1.0 - ALIKE);
    speeds.iter().filter(is_near).map(|(unit, _)| *unit).collect()
}

/// All shapes of a range.
pub fn shapes(range: &Range) -> impl Iterator<Item = Shape> {
    let &Range { family, dims, radius, .. } = range;
    (1..=radius).map(move |radius| Shape::new(family, dims, radius).expect("a radius in range"))
}

/// A shape at all depths of a range.
pub fn spots<'a>(
    shape: Shape,
    most: usize,
    precision: Precision,
    machine: &Machine,
    measurements: &'a Measurements,
) -> Vec<Spot<'a>> {
    let beside = measurements.side_by_side(&shape.to_string(), precision, |_| true);
    let spot = |steps| {
        let case = FusedCase { shape, steps, precision };
        let of = |unit: Unit| {
            let there = beside.iter().copied().filter(move |one| one.steps() == steps);
            fastest(there.filter(move |one| one.unit == unit))
        };
        let measured = Unit::ALL.into_iter().filter_map(of).collect();
        Spot { case, predicted: predict(case, machine), measured }
    };
    (1..=most).map(spot).collect()
}

/// GStencil/s under the roofs of each unit that computes in the precision.
fn predict(case: FusedCase, machine: &Machine) -> Vec<(Unit, f64)> {
    let rates = machine.rates(case.precision);
    let dense = match (case.precision, case.shape.dims()) {
        (Precision::Double, 1) => Scheme::Toeplitz,
        (Precision::Double, _) => Scheme::ConvStencil,
        _ => Scheme::Spider,
    };
    let speed = |sweeps: f64| sweeps * case.steps as f64 / 1e9;
    let on_dense = case.on_tensor_cores(machine, rates.dense, dense);
    let mut all = Vec::new();
    if let Some(peak) = rates.sparse {
        let on_sparse = case.on_tensor_cores(machine, peak, Scheme::Spider);
        all.push((Unit::SparseTensorCores, speed(on_sparse.tensor.outputs_per_s())));
    }
    all.push((Unit::DenseTensorCores, speed(on_dense.tensor.outputs_per_s())));
    all.push((Unit::CudaCores, speed(on_dense.cuda.outputs_per_s())));
    all
}
