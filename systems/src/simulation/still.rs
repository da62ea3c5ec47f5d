// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system as those see it who look at it between its steps.

use super::SystemSimulation;
use crate::expression::Array;
use problem::observe::{ArrayName, By, Standing};
use problem::{Error, Grid, Region, Shape, Values};

/// A system between two steps. A field is copied as a whole, and kept for as long as it is asked for.
pub struct Still<'a> {
    simulation: &'a mut SystemSimulation,
    arrays: Vec<Array>,
    held: Option<(usize, Grid)>,
}

impl<'a> Still<'a> {
    /// One that stands still as long as this lives.
    pub fn of(simulation: &'a mut SystemSimulation) -> Self {
        let levels: Vec<usize> =
            simulation.system.fields.iter().map(|field| field.levels).collect();
        let most = levels.iter().max().copied().unwrap_or_default();
        let has = |level: usize| {
            let fields = levels.iter().enumerate().filter(move |(_, levels)| level < **levels);
            fields.map(move |(field, _)| Array::Field { field, level })
        };
        let arrays = (0..most).flat_map(has).collect();
        Self { simulation, arrays, held: None }
    }
}

impl Standing for Still<'_> {
    fn shape(&self) -> Shape {
        self.simulation.system.shape
    }

    fn arrays(&self) -> Vec<ArrayName> {
        let name = |array: &Array| match *array {
            Array::Field { field, level } => {
                ArrayName { field: self.simulation.system.fields[field].name.clone(), level }
            }
            Array::Coefficient(_) => unreachable!("coefficients do not change"),
        };
        self.arrays.iter().map(name).collect()
    }

    fn by(&self) -> By {
        By { engine: self.simulation.stepper.engine().to_owned(), how: String::new() }
    }

    fn read(&mut self, array: usize, region: Region) -> Result<Values, Error> {
        if self.held.as_ref().is_none_or(|(held, _)| *held != array) {
            self.held = Some((array, self.simulation.stepper.grid(self.arrays[array])?));
        }
        let (_, grid) = self.held.as_ref().expect("it has just been copied");
        Ok(grid.read(region))
    }

    fn check_finite(&mut self) -> Result<(), Error> {
        self.simulation.check_finite()
    }

    fn records(&self) -> &[Vec<f64>] {
        self.simulation.records()
    }
}
