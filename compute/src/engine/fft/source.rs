// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants around the grid, which a torus with negative mirror images lacks.
//!
//! A step of a grid u with constants around it is `A u + s`, where A is the step with zeros instead. With a field v
//! taken off, T steps are `v + A^T (u − v) + (1 + A + … + A^(T−1)) (A v + s − v)`. Where v fits the constants and is
//! straight in between, the last source is `(Σw − 1) v`, mostly 0 and always smooth; with v = 0 it is what the
//! constants alone make of a grid of zeros.

use transform::spectral::power::exact_sum;
use transform::spectral::{Axis, End};

use problem::boundary::Side;
use problem::check::reference;
use problem::region::Region;
use problem::{Boundary, Job};

/// The field v: straight along one axis, constant along the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lift {
    axis: usize,
    /// At the first point outside, and from one point to the next.
    first: f64,
    slope: f64,
}

impl Lift {
    /// Whether it is 0 everywhere.
    pub fn is_zero(&self) -> bool {
        self.first == 0.0 && self.slope == 0.0
    }

    /// Its value at the first point outside, from one point to the next, and along which axis.
    pub fn parts(&self) -> (f64, f64, usize) {
        (self.first, self.slope, self.axis)
    }

    /// Its values in a row of a plane: of the first point, and from one to the next.
    pub fn of_row(&self, z: usize, y: usize) -> (f64, f64) {
        let at = |place: usize| self.first + self.slope * (place + 1) as f64;
        match self.axis {
            0 => (at(z), 0.0),
            1 => (at(y), 0.0),
            _ => (at(0), self.slope),
        }
    }
}

/// What is done about a job's constants.
pub struct ConstantSource {
    /// The field that is taken off.
    pub lift: Lift,
    /// The source that is left, if any.
    pub field: Option<Field>,
}

/// The source that is added in each step.
pub enum Field {
    /// So many times the lift.
    OfLift(f64),
    /// By point.
    Values(Vec<f64>),
}

impl ConstantSource {
    /// For the boundary of a job that these axes imitate.
    pub fn new(job: &Job, axes: &[Axis; 3]) -> Self {
        let value = |side| if let Side::Constant(value) = side { value } else { 0.0 };
        let mut fixed = Vec::new();
        for (axis, Axis { ends, .. }) in axes.iter().enumerate() {
            let sides = job.boundary.sides[axis].map(value);
            let own = [0, 1].map(|end| (ends[end] == End::Odd).then_some(sides[end]));
            if own != [None; 2] {
                fixed.push((axis, own));
            }
        }
        let values: Vec<f64> = fixed.iter().flat_map(|(_, own)| own).flatten().copied().collect();
        if values.iter().all(|&value| value == 0.0) {
            return Self { lift: Lift::default(), field: None };
        }
        let lift = match fixed.as_slice() {
            [(axis, [Some(low), Some(high)])] => {
                let slope = (high - low) / (axes[*axis].points + 1) as f64;
                Lift { axis: *axis, first: *low, slope }
            }
            _ if values.iter().all(|value| *value == values[0]) => {
                Lift { axis: 2, first: values[0], slope: 0.0 }
            }
            _ => return Self { lift: Lift::default(), field: Some(Field::Values(of_zeros(job))) },
        };
        let weights = job.stencil.taps().iter().map(|tap| tap.weight);
        let excess = exact_sum(weights.chain([-1.0]).collect());
        Self { lift, field: (excess != 0.0).then_some(Field::OfLift(excess)) }
    }

    /// Whether there is one for a boundary.
    pub fn may_be_needed(boundary: &Boundary) -> bool {
        boundary.largest() > 0.0
    }
}

/// What a step makes of a grid of zeros.
fn of_zeros(job: &Job) -> Vec<f64> {
    let (whole, zeros) = (Region::whole(job.shape), vec![0.0; job.shape.points()]);
    reference::advance(job, whole, 1, zeros, |_, _| Ok(())).expect("nobody ends it")
}
