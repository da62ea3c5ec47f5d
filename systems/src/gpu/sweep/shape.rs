// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which systems are a sweep on sparse tensor cores: one field, one sum of neighbours with constant weights, and whatever is
//! made of it and of values at the point itself.

use cuda_mma::fragment::Element;
use kernels_gpu::wide2d::MOST_RADIUS;
use kernels_gpu::wide2d::finished::MOST_PLANES;

use crate::checked::System;
use crate::expression::Array;
use crate::program::{Offset, Operation, Value};
use problem::Dtype;
use problem::job::Depth;

/// What is summed, and what is read beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepShape {
    /// How values are stored.
    pub element: Element,
    /// What is summed.
    pub input: Array,
    /// The weights.
    pub taps: Vec<(Offset, f64)>,
    /// What is read at the point itself.
    pub planes: Vec<Array>,
}

impl SweepShape {
    /// The shape of a system's sweep.
    ///
    /// # Errors
    /// Why it is no sweep.
    pub fn new(system: &System) -> Result<Self, String> {
        let element = match system.dtype {
            Dtype::F16 => Element::F16,
            Dtype::Bf16 => Element::Bf16,
            other => {
                return Err(format!(
                    "sparse tensor cores take systems in f16 and bf16, not in {other}"
                ));
            }
        };
        if system.shape.dims() != 2 {
            return Err("sparse tensor cores take systems of two axes".into());
        }
        system.check_one_stage()?;
        system.check_keeps_no_estimate()?;
        if system.fields.len() != 1 {
            let fields = system.fields.len();
            return Err(format!("a sweep writes one field, this system has {fields}"));
        }
        if matches!(system.chain, Depth::Steps(2..)) {
            return Err("a sweep is one step".into());
        }
        let mut sums = system.program.operations.iter().filter_map(|operation| match operation {
            Operation::Sum(array, taps) => Some((*array, taps)),
            Operation::Call(..) | Operation::Noise(..) => None,
        });
        let Some((input, taps)) = sums.next() else {
            return Err("its equation has no stencil of a field".into());
        };
        if sums.next().is_some() {
            return Err("its equation has more than one sum of neighbours".into());
        }
        let farthest = taps.iter().flat_map(|(offset, _)| offset).map(|at| at.unsigned_abs()).max();
        if let Some(farthest) = farthest.filter(|farthest| *farthest > MOST_RADIUS) {
            return Err(format!(
                "its stencil reaches {farthest} points far; sweeps take up to {MOST_RADIUS}"
            ));
        }
        let mut planes = Vec::new();
        for (array, offset) in system.program.reads_of_calls() {
            if offset != [0; 3] {
                return Err("besides its sum it reads neighbours, in an expression".into());
            }
            if !planes.contains(&array) {
                planes.push(array);
            }
        }
        if planes.len() > MOST_PLANES {
            let count = planes.len();
            return Err(format!(
                "it reads {count} arrays besides its sum; sweeps read at most {MOST_PLANES}"
            ));
        }
        Ok(Self { element, input, taps: taps.clone(), planes })
    }

    /// How far the sum reaches along z, y, x.
    pub fn reach(&self) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let along = self.taps.iter().map(|(offset, _)| offset[axis].unsigned_abs());
            along.max().unwrap_or_default() as usize
        })
    }
}

impl crate::program::Program {
    /// What it reads outside of sums.
    fn reads_of_calls(&self) -> impl Iterator<Item = (Array, Offset)> {
        let values = self.operations.iter().flat_map(|operation| match operation {
            Operation::Call(_, values) => values.as_slice(),
            Operation::Sum(..) | Operation::Noise(..) => &[],
        });
        values.chain(&self.results).filter_map(|value| match value {
            Value::Read(array, offset) => Some((*array, *offset)),
            _ => None,
        })
    }
}
