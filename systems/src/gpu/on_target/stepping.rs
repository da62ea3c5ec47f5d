// SPDX-License-Identifier: MIT OR Apache-2.0
//! How its steps are taken, and its values looked at.

use std::time::{Duration, Instant};

use super::{OnTarget, rows};
use crate::evaluate::Values;
use crate::expression::Array;
use crate::gpu::choice::Cores;
use crate::gpu::geometry::Geometry;
use crate::gpu::target::Target;
use crate::interval::SumRounding;
use crate::stepper::Stepper;
use compute::device::Rows;
use problem::values::Element;
use problem::{Dtype, Error, Grid, with_dtype};

impl<T: Target> Stepper for OnTarget<T> {
    fn advance(&mut self, done: usize, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        let most = self.depth();
        for first in (0..steps).step_by(most) {
            self.launch(done + first, most.min(steps - first), 0)?;
        }
        self.target.wait()?;
        Ok(start.elapsed())
    }

    fn depth(&self) -> usize {
        self.kernel.tile.map_or(1, |tile| tile.steps)
    }

    fn advance_from_before(&mut self, done: usize) -> Result<(), Error> {
        match self.last {
            Some((first, steps)) if first + steps == done && steps < self.depth() => {
                let fields = self.fields.iter_mut().zip(&self.system.fields);
                fields.for_each(|(levels, own)| levels.rotate_left(own.levels));
                self.launch(first, steps + 1, 0)?;
            }
            _ => self.launch(done, 1, 0)?,
        }
        self.target.wait()
    }

    fn advance_and_record(
        &mut self,
        done: usize,
        steps: usize,
        points: &[(usize, usize)],
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        let start = Instant::now();
        let mut rows = Vec::new();
        for first in (done..done + steps).step_by(self.kept) {
            let count = (done + steps - first).min(self.kept);
            self.launches(first, count, 0)?;
            rows.extend(self.noted(count)?);
        }
        let time = start.elapsed();
        if self.kernel.notes_before() {
            rows.push(self.record(points)?);
            rows.remove(0);
        }
        Ok((time, rows))
    }

    fn grid(&self, array: Array) -> Result<Grid, Error> {
        let (shape, dtype) = (self.system.shape, self.system.dtype);
        Grid::check_memory(shape, dtype)?;
        with_dtype!(dtype, E => {
            let mut values = vec![E::default(); shape.points()];
            let bytes = bytemuck::cast_slice_mut(&mut values);
            self.target.read(self.array(array), rows(&self.kernel, dtype), bytes)?;
            Ok(Grid { shape, values: E::wrap(values) })
        })
    }

    fn values(&self) -> Result<Box<dyn Values + '_>, Error> {
        let fields = self.system.fields.iter().enumerate();
        let levels = fields.map(|(field, own)| {
            (0..own.levels).map(|level| self.grid(Array::Field { field, level })).collect()
        });
        let coefficients = 0..self.coefficients.len();
        let coefficients = coefficients.map(|it| self.grid(Array::Coefficient(it)));
        let fields = levels.collect::<Result<Vec<Vec<Grid>>, Error>>()?;
        Ok(Box::new(Copies { fields, coefficients: coefficients.collect::<Result<_, _>>()? }))
    }

    fn record(&self, points: &[(usize, usize)]) -> Result<Vec<f64>, Error> {
        let dtype = self.system.dtype;
        let [_, ny, nx] = self.kernel.geometry.extents;
        let of_point = |&(field, index): &(usize, usize)| {
            let [z, y, x] = [index / (ny * nx), index / nx % ny, index % nx];
            let Geometry { lead, pitch, .. } = self.kernel.geometry;
            let start = (lead + (z * ny + y) * pitch + x) * dtype.bytes();
            let rows = Rows { start, ..Rows::first(dtype.bytes()) };
            with_dtype!(dtype, E => {
                let mut value = [E::default()];
                let bytes = bytemuck::cast_slice_mut(&mut value);
                self.target.read(self.array(Array::Field { field, level: 0 }), rows, bytes)?;
                Ok(value[0].to_f64())
            })
        };
        points.iter().map(of_point).collect()
    }

    fn sums(&self) -> SumRounding {
        self.swept.as_ref().map(|(swept, _)| swept.sums).unwrap_or_default()
    }

    fn engine(&self) -> &'static str {
        let cores = if self.swept.is_some() { Cores::Sparse } else { Cores::Cuda };
        self.target.engine().unwrap_or(cores.engine())
    }

    fn device(&self) -> String {
        self.target.describe()
    }

    fn arithmetic(&self) -> String {
        if let Some((swept, _)) = &self.swept {
            let (dtype, count) = (self.system.dtype, swept.kernel.numbers);
            let weights = if count == 1 { "" } else { " of weights in two pieces" };
            return format!("{dtype} values, {dtype} products{weights}, f32 sums and arithmetic");
        }
        let computed = if self.system.dtype == Dtype::F64 { "f64" } else { "f32" };
        let together = match self.depth() {
            1 => String::new(),
            steps => format!(", up to {steps} steps a launch"),
        };
        format!("{} values, {computed} arithmetic{together}", self.system.dtype)
    }

    fn value_bytes(&self) -> usize {
        self.system.dtype.bytes()
    }
}

/// Copies of all arrays.
struct Copies {
    fields: Vec<Vec<Grid>>,
    coefficients: Vec<Grid>,
}

impl Values for Copies {
    fn value(&self, array: Array, index: usize) -> f64 {
        match array {
            Array::Field { field, level } => self.fields[field][level].get(index),
            Array::Coefficient(coefficient) => self.coefficients[coefficient].get(index),
        }
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers")
    }
}
