// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an engine of systems does.

use std::time::Duration;

use serde::Serialize;

use super::evaluate::Values;
use super::expression::Array;
use super::interval::SumRounding;
use problem::{Dtype, Error, Grid};

/// How many steps were taken at once by Fourier transforms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Jumps {
    /// Steps of the longest jump.
    pub steps: usize,
    /// Points of the torus of each group of fields that depend on each other, slowest axis first.
    pub toruses: Vec<Vec<usize>>,
    /// How many times a wave grew in a jump, at most.
    pub growth: f64,
    /// By how much rounding in the transforms of a jump can have made a value of any field another one, at most.
    pub noise: f64,
}

/// A system with its values, on some device.
pub trait Stepper {
    /// Takes steps, after so many that are done; how long they took.
    ///
    /// # Errors
    /// The device refuses.
    fn advance(&mut self, done: usize, steps: usize) -> Result<Duration, Error>;

    /// How many steps it takes at once where it may.
    fn depth(&self) -> usize {
        1
    }

    /// Takes one step, after so many, to be compared. An engine that takes several at once may compute it as the last
    /// one of those, again from the values before the first: so what is compared is what usually computes.
    ///
    /// # Errors
    /// The device refuses.
    fn advance_from_before(&mut self, done: usize) -> Result<(), Error> {
        self.advance(done, 1).map(|_| ())
    }

    /// The type that [`Stepper::values`] are rounded to, if it is not that of the system.
    fn holds(&self) -> Option<Dtype> {
        None
    }

    /// By how much the step that was compared last may be off at any point of a field, besides what rounding each operation can
    /// make of the values before it.
    fn off(&self, _field: usize) -> f64 {
        0.0
    }

    /// How it sums.
    fn sums(&self) -> SumRounding {
        SumRounding::default()
    }

    /// What its jumps were, if it makes some.
    fn jumps(&self) -> Option<Jumps> {
        None
    }

    /// The same as [`Stepper::advance`], and the values at the receivers of the system, by field and place in C order, after each step.
    ///
    /// # Errors
    /// The device refuses.
    fn advance_and_record(
        &mut self,
        done: usize,
        steps: usize,
        points: &[(usize, usize)],
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        let (mut time, mut rows) = (Duration::ZERO, Vec::new());
        for done in done..done + steps {
            time += self.advance(done, 1)?;
            rows.push(self.record(points)?);
        }
        Ok((time, rows))
    }

    /// A copy of an array, as it is stored.
    ///
    /// # Errors
    /// There is no memory for it, or the device refuses.
    fn grid(&self, array: Array) -> Result<Grid, Error>;

    /// The present values, to look at some of them.
    ///
    /// # Errors
    /// There is no memory for a copy of them, where one is needed, or the device refuses.
    fn values(&self) -> Result<Box<dyn Values + '_>, Error>;

    /// The present values of some fields at some points, given by field and place in C order.
    ///
    /// # Errors
    /// The device refuses.
    fn record(&self, points: &[(usize, usize)]) -> Result<Vec<f64>, Error>;

    /// The name of the engine.
    fn engine(&self) -> &'static str;

    /// What it runs on.
    fn device(&self) -> String;

    /// How it computes.
    fn arithmetic(&self) -> String;

    /// Bytes of a value as it lies in memory.
    fn value_bytes(&self) -> usize;
}
