// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system as those see it who look at it between its steps.

use super::SystemSimulation;
use crate::expression::Array;
use compute::engine::State;
use problem::observe::{ArrayName, ComputedBy, PendingCopy, Snapshot, copied};
use problem::{Clock, Error, Region, Shape, Values, View};

/// A system between two steps.
pub struct SystemSnapshot<'a> {
    simulation: &'a mut SystemSimulation,
    arrays: Vec<Array>,
}

impl<'a> SystemSnapshot<'a> {
    /// One that stands still as long as this lives.
    pub fn of(simulation: &'a mut SystemSimulation) -> Self {
        let arrays = simulation.system.numbered();
        Self { simulation, arrays }
    }
}

impl Snapshot for SystemSnapshot<'_> {
    fn shape(&self) -> Shape {
        self.simulation.system.shape
    }

    fn arrays(&self) -> Vec<ArrayName> {
        let name = |array: &Array| match *array {
            Array::Field { field, level } => {
                ArrayName { field: self.simulation.system.fields[field].name.clone(), level }
            }
            _ => unreachable!("levels of fields alone have numbers"),
        };
        self.arrays.iter().map(name).collect()
    }

    fn by(&self) -> ComputedBy {
        ComputedBy { engine: self.simulation.session.engine().to_owned(), how: String::new() }
    }

    fn read(&mut self, array: usize, region: Region) -> Result<Values, Error> {
        self.simulation.session.read(array, State::Now, region)
    }

    fn capture(&mut self, array: usize, view: &View) -> Result<Box<dyn PendingCopy>, Error> {
        match self.simulation.session.capture(array, view)? {
            Some(coming) => Ok(coming),
            None => copied(self, array, view),
        }
    }

    fn check_finite(&mut self) -> Result<(), Error> {
        self.simulation.check_finite()
    }

    fn records(&self) -> &[Vec<f64>] {
        self.simulation.records()
    }

    fn series(&self) -> &[Vec<f64>] {
        self.simulation.series()
    }

    fn rows_of(&self) -> String {
        self.simulation.rows_of.clone()
    }

    fn clock(&self) -> Option<Clock> {
        self.simulation.clock()
    }

    fn has_ended(&mut self) -> Result<bool, Error> {
        self.simulation.has_ended()
    }
}
