// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sessions of all parts as one: each part takes its steps by itself, one part after the other.

use std::sync::Arc;
use std::time::Duration;

use compute::engine::{Session, State};
use problem::observe::PendingCopy;
use problem::{Dtype, Error, Grid, Region, Shape, View, values as grid};

use super::SystemPart;
use crate::checked::System;
use crate::evaluate::Values;
use crate::expression::Array;
use crate::places::Places;
use crate::session::{Copies, StepSession};
use crate::start::StartValues;

/// A part of a system on its engine.
struct PartSession {
    part: SystemPart,
    session: Box<dyn StepSession>,
}

/// The receivers of a part.
#[derive(Clone, Default)]
struct PartReceivers {
    /// Their places among those of the system.
    columns: Vec<usize>,
    /// Their fields and points, by the numbers of the part.
    points: Vec<(usize, usize)>,
}

/// A system whose parts are computed apart.
pub struct SplitSession {
    system: System,
    parts: Vec<PartSession>,
    /// Of each array of the system its part, and its number there.
    arrays: Vec<(usize, usize)>,
    coefficients: Vec<Arc<Grid>>,
    engine: &'static str,
}

impl SplitSession {
    /// A system whose parts are opened by `open`, all on one engine.
    ///
    /// # Errors
    /// `open` fails.
    pub fn new(
        system: System,
        parts: Vec<SystemPart>,
        engine: &'static str,
        mut beginning: StartValues,
        open: impl Fn(&SystemPart, StartValues) -> Result<Box<dyn StepSession>, Error>,
    ) -> Result<Self, Error> {
        let with_session = |part: SystemPart| {
            let own = part.beginning(&mut beginning);
            Ok(PartSession { session: open(&part, own)?, part })
        };
        let parts =
            parts.into_iter().map(with_session).collect::<Result<Vec<PartSession>, Error>>()?;
        let place = |array: Array| {
            let Array::Field { field, level } = array else {
                unreachable!("coefficients have no numbers")
            };
            let (number, local) = place(&parts, field);
            let own = Array::Field { field: local, level };
            let of_part = parts[number].part.system.numbered();
            (number, of_part.iter().position(|it| *it == own).expect("its part has all its levels"))
        };
        let arrays = system.numbered().into_iter().map(place).collect();
        Ok(Self { system, parts, arrays, coefficients: beginning.coefficients, engine })
    }

    /// The session that has an array, and its number there.
    fn of_array(&mut self, array: usize) -> (&mut dyn StepSession, usize) {
        let (part, own) = self.arrays[array];
        (&mut *self.parts[part].session, own)
    }

    /// The values of a box of points of an array.
    fn box_of(&mut self, array: Array, region: Region) -> Result<grid::Values, Error> {
        if let Array::Coefficient(number) = array {
            return Ok(self.coefficients[number].read(region));
        }
        let number = self.system.numbered().iter().position(|it| *it == array);
        self.read(number.expect("an array of the system"), State::Now, region)
    }

    /// The receivers of each part among some points.
    fn of_parts(&self, points: &[(usize, usize)]) -> Vec<PartReceivers> {
        let mut all = vec![PartReceivers::default(); self.parts.len()];
        for (column, (field, index)) in points.iter().enumerate() {
            let (part, local) = place(&self.parts, *field);
            all[part].columns.push(column);
            all[part].points.push((local, *index));
        }
        all
    }
}

/// The part of a field, and its number there.
fn place(parts: &[PartSession], field: usize) -> (usize, usize) {
    let local = |own: &PartSession| own.part.fields.iter().position(|it| *it == field);
    let found = parts.iter().enumerate().find_map(|(part, own)| Some((part, local(own)?)));
    found.expect("each field is in a part")
}

impl Session for SplitSession {
    fn device(&self) -> String {
        self.parts[0].session.device()
    }

    fn shape(&self) -> Shape {
        self.system.shape
    }

    fn dtype(&self) -> Dtype {
        self.system.dtype
    }

    fn launch(&self) -> usize {
        self.parts.iter().map(|own| own.session.launch()).max().unwrap_or(1)
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        self.parts.iter_mut().map(|own| own.session.advance(steps)).sum()
    }

    fn read(&mut self, array: usize, state: State, region: Region) -> Result<grid::Values, Error> {
        let (session, own) = self.of_array(array);
        session.read(own, state, region)
    }

    fn write(&mut self, array: usize, region: Region, values: &grid::Values) -> Result<(), Error> {
        let (session, own) = self.of_array(array);
        session.write(own, region, values)
    }

    fn capture(
        &mut self,
        array: usize,
        view: &View,
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        let (session, own) = self.of_array(array);
        session.capture(own, view)
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        self.parts[0].session.copy(count)
    }
}

impl StepSession for SplitSession {
    fn advance_from_before(&mut self) -> Result<(), Error> {
        self.parts.iter_mut().try_for_each(|own| own.session.advance_from_before())
    }

    fn off(&self, field: usize) -> f64 {
        let (part, local) = place(&self.parts, field);
        self.parts[part].session.off(local)
    }

    fn advance_and_record(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        let (mut time, mut rows) = (Duration::ZERO, vec![vec![0.0; points.len()]; steps]);
        let received = self.of_parts(points);
        for (PartReceivers { columns, points }, own) in received.into_iter().zip(&mut self.parts) {
            if points.is_empty() {
                time += own.session.advance(steps)?;
                continue;
            }
            let (took, of_part) = own.session.advance_and_record(steps, &points)?;
            time += took;
            for (row, values) in rows.iter_mut().zip(of_part) {
                columns.iter().zip(values).for_each(|(column, value)| row[*column] = value);
            }
        }
        Ok((time, rows))
    }

    fn values(&mut self, places: Option<&Places>) -> Result<Box<dyn Values + '_>, Error> {
        let shape = self.system.shape;
        if let Some(places) = places {
            let read = places.boxes().map(|(array, region)| self.box_of(array, region));
            return Ok(Box::new(places.gather(shape, read)?));
        }
        let mut fields: Vec<Vec<Grid>> = vec![Vec::new(); self.system.fields.len()];
        // The present values come first, then those of each earlier level.
        for (number, array) in self.system.numbered().into_iter().enumerate() {
            if let Array::Field { field, .. } = array {
                fields[field].push(self.grid(number)?);
            }
        }
        Ok(Box::new(Copies { fields, coefficients: (&self.coefficients).into() }))
    }

    fn engine(&self) -> &'static str {
        self.engine
    }

    fn arithmetic(&self) -> String {
        let mut all: Vec<String> = Vec::new();
        for own in &self.parts {
            let text = own.session.arithmetic();
            if !all.contains(&text) {
                all.push(text);
            }
        }
        format!("{} parts apart: {}", self.parts.len(), all.join("; "))
    }

    fn value_bytes(&self) -> usize {
        self.system.dtype.bytes()
    }
}
