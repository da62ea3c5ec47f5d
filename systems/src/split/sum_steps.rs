// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part that is a stencil, by what computes stencils, each step of it a sum.

use std::time::Duration;

use compute::engine::{Engine, Session, State, SumSession};
use problem::observe::PendingCopy;
use problem::{Dtype, Error, Grid, Job, Region, Shape, View, values as grid};

use crate::evaluate::Values;
use crate::expression::Array;
use crate::places::Places;
use crate::session::{Copies, StepSession};

/// A stencil whose single steps are compared.
pub struct SumSteps {
    session: Box<dyn SumSession>,
    engine: &'static str,
    /// The values before the last steps, where these were one less than a launch takes.
    before: Option<Grid>,
}

impl SumSteps {
    /// A job, whose steps are not fused, on an engine, from a grid.
    ///
    /// # Errors
    /// The device refuses.
    pub fn new(job: &Job, engine: &dyn Engine, grid: &Grid) -> Result<Self, Error> {
        let mut session = engine.prepare(job)?;
        session.load(grid)?;
        session.drop_input();
        Ok(Self { session, engine: engine.name(), before: None })
    }

    fn box_of(&mut self, array: Array, region: Region) -> Result<grid::Values, Error> {
        match array {
            Array::Field { field: 0, level: 0 } => self.session.read(0, State::Now, region),
            other => unreachable!("a stencil has no {other:?}"),
        }
    }
}

impl Session for SumSteps {
    fn device(&self) -> String {
        self.session.device()
    }

    fn shape(&self) -> Shape {
        self.session.shape()
    }

    fn dtype(&self) -> Dtype {
        self.session.dtype()
    }

    fn launch(&self) -> usize {
        self.session.launch()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let may_be_compared = steps + 1 == self.session.launch();
        self.before = may_be_compared.then(|| self.session.store()).transpose()?;
        self.session.advance(steps)
    }

    fn read(&mut self, array: usize, state: State, region: Region) -> Result<grid::Values, Error> {
        self.session.read(array, state, region)
    }

    fn write(&mut self, array: usize, region: Region, values: &grid::Values) -> Result<(), Error> {
        self.before = None;
        self.session.write(array, region, values)
    }

    fn capture(
        &mut self,
        array: usize,
        view: &View,
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        self.session.capture(array, view)
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        self.session.copy(count)
    }
}

impl StepSession for SumSteps {
    fn advance_from_before(&mut self) -> Result<(), Error> {
        let steps = match self.before.take() {
            Some(before) => {
                self.session.load(&before)?;
                self.session.drop_input();
                self.session.launch()
            }
            None => 1,
        };
        self.session.advance(steps).map(|_| ())
    }

    fn values(&mut self, places: Option<&Places>) -> Result<Box<dyn Values + '_>, Error> {
        let shape = self.session.shape();
        if let Some(places) = places {
            let read = places.boxes().map(|(array, region)| self.box_of(array, region));
            return Ok(Box::new(places.gather(shape, read)?));
        }
        let fields = vec![vec![self.session.store()?]];
        Ok(Box::new(Copies { fields, coefficients: Vec::new().into() }))
    }

    fn engine(&self) -> &'static str {
        self.engine
    }

    fn arithmetic(&self) -> String {
        self.session.arithmetic().to_string()
    }

    fn value_bytes(&self) -> usize {
        self.session.dtype().bytes()
    }
}
