// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system that ranks share, as the session of rank 0.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::checked::System;
use crate::evaluate;
use crate::expression::Array;
use crate::places::{Places, one_point};
use crate::session::{Copies, StepSession};
use crate::totals::Totals;
use compute::engine::{Session, State};
use compute::ranks::{Ghosted, Team};
use problem::{Clock, Dtype, Error, Grid, Region, Shape, Values, memory};

impl StepSession for Ghosted<dyn StepSession> {
    fn values(&mut self, places: Option<&Places>) -> Result<Box<dyn evaluate::Values + '_>, Error> {
        self.ready()?.values(places)
    }

    fn engine(&self) -> &'static str {
        self.inner().engine()
    }

    fn arithmetic(&self) -> String {
        self.inner().arithmetic()
    }

    fn value_bytes(&self) -> usize {
        self.inner().value_bytes()
    }

    fn transforms(&self) -> Dtype {
        self.inner().transforms()
    }
}

/// All ranks, and what rank 0 compares with.
pub struct SystemTeam {
    team: Team<dyn StepSession>,
    /// Of each field how many levels it has.
    levels: Vec<usize>,
    numbered: Vec<Array>,
    /// As they are stored, of the whole grid.
    coefficients: Vec<Arc<Grid>>,
    /// Steps between two exchanges, where no device tells them.
    period: Option<usize>,
    totals: Totals,
    /// Whether each step waits for what they are made of.
    waits: bool,
}

impl SystemTeam {
    /// Of a system with these coefficients, whose ranks exchange points after so many steps.
    pub fn new(
        team: Team<dyn StepSession>,
        system: &System,
        coefficients: Vec<Arc<Grid>>,
        period: Option<usize>,
    ) -> Self {
        let levels = system.fields.iter().map(|field| field.levels).collect();
        let (numbered, totals) = (system.numbered(), system.totals.clone());
        let waits = system.waits_for_totals();
        Self { team, levels, numbered, coefficients, period, totals, waits }
    }
}

impl Session for SystemTeam {
    fn device(&self) -> String {
        let device = self.team.device();
        match self.period {
            None => device,
            Some(1) => format!("{device}; ghosts through this machine's memory each step"),
            Some(steps) => {
                format!("{device}; ghosts through this machine's memory every {steps} steps")
            }
        }
    }

    fn shape(&self) -> Shape {
        self.team.shape()
    }

    fn dtype(&self) -> Dtype {
        self.team.dtype()
    }

    fn launch(&self) -> usize {
        self.team.launch()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        if !self.waits {
            return self.team.advance(steps);
        }
        let start = Instant::now();
        for _ in 0..steps {
            let reduced = self.totals.find(|known| self.team.reduce_all(known))?;
            self.team.tell_totals(&reduced)?;
            self.team.advance(1)?;
        }
        Ok(start.elapsed())
    }

    fn reduce(&mut self, _: Region, known: &[f64]) -> Result<Option<Vec<[f64; 2]>>, Error> {
        let parts = self.team.reduce_all(known)?;
        Ok(Some(self.totals.in_one(parts.iter().map(Vec::as_slice))))
    }

    fn take_back(&mut self) -> Result<(), Error> {
        self.team.take_back()
    }

    fn read(&mut self, array: usize, state: State, region: Region) -> Result<Values, Error> {
        self.team.read(array, state, region)
    }

    fn write(&mut self, array: usize, region: Region, values: &Values) -> Result<(), Error> {
        let shape = self.team.shape();
        if region != Region::whole(shape) {
            let reason = "ranks take whole arrays only".into();
            return Err(Error::Unsupported { engine: "of several ranks", reason });
        }
        self.team.put(array, &Grid { shape, values: values.clone() })
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        self.team.copy(count)
    }
}

impl StepSession for SystemTeam {
    /// Copies on rank 0.
    fn values(&mut self, places: Option<&Places>) -> Result<Box<dyn evaluate::Values + '_>, Error> {
        let (shape, dtype) = (self.team.shape(), self.team.dtype());
        if let Some(places) = places {
            let number = |array| self.numbered.iter().position(|known| *known == array);
            let of_fields: Vec<_> = places
                .boxes()
                .filter_map(|(array, region)| number(array).map(|number| (number, region)))
                .collect();
            let mut of_fields = self.team.read_all(&of_fields, State::Now)?.into_iter();
            let read = places.boxes().map(|(array, region)| match array {
                Array::Coefficient(own) => Ok(self.coefficients[own].read(region)),
                _ => Ok(of_fields.next().expect("one for each that is asked for")),
            });
            return Ok(Box::new(places.gather(shape, read)?));
        }
        let bytes = shape.points() as u128 * dtype.bytes() as u128;
        memory::require("comparing a step of all ranks", bytes * self.numbered.len() as u128)?;
        let whole = Region::whole(shape);
        let wanted: Vec<_> = (0..self.numbered.len()).map(|array| (array, whole)).collect();
        let mut fields: Vec<Vec<Grid>> = self.levels.iter().map(|_| Vec::new()).collect();
        let all = self.team.read_all(&wanted, State::Now)?;
        // Of each field the present values come first, then those of earlier levels in their order.
        for (array, values) in self.numbered.iter().zip(all) {
            let &Array::Field { field, .. } = array else { unreachable!("fields have numbers") };
            fields[field].push(Grid { shape, values });
        }
        Ok(Box::new(Copies { fields, coefficients: Cow::Borrowed(&self.coefficients) }))
    }

    fn tell_clock(&mut self, clock: Clock) -> Result<(), Error> {
        self.team.tell_clock(clock)
    }

    fn record(&mut self, points: &[(usize, usize)]) -> Result<Vec<f64>, Error> {
        let shape = self.team.shape();
        let wanted: Vec<_> =
            points.iter().map(|&(field, index)| (field, one_point(shape, index))).collect();
        let all = self.team.read_all(&wanted, State::Now)?;
        let one = Shape::new(&[1])?;
        Ok(all.into_iter().map(|values| Grid { shape: one, values }.get(0)).collect())
    }

    fn engine(&self) -> &'static str {
        self.team.own().engine()
    }

    fn arithmetic(&self) -> String {
        self.team.own().arithmetic()
    }

    fn value_bytes(&self) -> usize {
        self.team.own().value_bytes()
    }

    fn transforms(&self) -> Dtype {
        self.team.own().transforms()
    }
}
