// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coefficients as they were given, which is what results are held to: an engine has what their type made of them.

use super::checked::System;
use super::evaluate::{Evaluator, PlainF64, Values};
use super::expression::Array;
use super::parts::Start;
use problem::{Dtype, Grid, Region, Shape};

/// An engine's values, with those that were given as expressions beside them.
pub struct UnroundedCoefficients<'a> {
    /// The system that gives them.
    pub system: &'a System,
    /// The engine's.
    pub values: &'a (dyn Values + 'a),
}

impl UnroundedCoefficients<'_> {
    /// The point of a place in C order.
    fn point(&self, index: usize) -> [isize; 3] {
        let [_, ny, nx] = self.system.shape.extents();
        [index / (ny * nx), index / nx % ny, index % nx].map(|at| at as isize)
    }
}

impl Values for UnroundedCoefficients<'_> {
    fn value(&self, array: Array, index: usize) -> f64 {
        self.values.value(array, index)
    }

    fn given(&self, coefficient: usize, index: usize) -> Option<f64> {
        let Self { system, .. } = self;
        match &system.coefficients[coefficient].start {
            Start::Expression(node) if system.dtype != Dtype::F64 => {
                let start = Evaluator::new(system, PlainF64, self, 0.0);
                Some(start.at(node, self.point(index)))
            }
            // Coefficients of a file are given as they are stored, and f64 stores all as they are given.
            _ => None,
        }
    }

    fn random(&self, seed: u64, index: usize) -> f64 {
        let low = self.point(index);
        let region = Region { low, high: low.map(|at| at + 1) };
        let values = Grid::random_region(self.system.shape, Dtype::F64, seed, region);
        let shape = Shape::new(&[1]).expect("one point");
        Grid { shape, values }.get(0)
    }
}
