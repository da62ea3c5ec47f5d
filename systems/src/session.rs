// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an engine of systems does.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::checked::System;
use super::description::Table;
use super::evaluate::Values;
use super::expression::Array;
use super::interval::SumRounding;
use super::places::{Places, one_point};
use super::reduced;
use super::tape::{Lay, TapeAction, TapeValues, TapedSession, check_rounded};
use compute::device::{DeviceArray, DeviceGrid, Memory};
use compute::engine::{Session, State};
use problem::{Clock, Dtype, Error, Grid, JumpReport, Region, Shape, with_values};

/// How many steps were taken at once by Fourier transforms.
#[derive(Clone, Debug, PartialEq)]
pub struct Jumps {
    /// The longest one.
    pub jump: JumpReport,
    /// By how much rounding in the transforms of a jump can have made a value of any field another one, at most.
    pub noise: f64,
}

/// A session of a system, each step of which may be anything: single steps are compared.
pub trait StepSession: Session {
    /// Takes one step, to be compared. An engine that takes several at once may compute it as the last
    /// one of those, again from the values before the first: so what is compared is what usually computes.
    ///
    /// # Errors
    /// The device refuses.
    fn advance_from_before(&mut self) -> Result<(), Error> {
        self.advance(1).map(|_| ())
    }

    /// The type that [`StepSession::values`] are rounded to, if it is not that of the system.
    fn holds(&self) -> Option<Dtype> {
        None
    }

    /// By how much the step that was compared last may be off at any point of a field, besides what rounding each operation can
    /// make of the values before it.
    fn off(&self, _field: usize) -> f64 {
        0.0
    }

    /// Takes when the next steps are, and how long.
    ///
    /// # Errors
    /// A rank failed.
    fn tell_clock(&mut self, clock: Clock) -> Result<(), Error> {
        self.take_clock(clock);
        Ok(())
    }

    /// Takes other values of the system's tables, of which single numbers of a step are made. False if it does not.
    fn take_tables(&mut self, _tables: &[Table]) -> bool {
        false
    }

    /// Takes the values of an array of the device's memory, of the grid's shape and the system's type, if all of them are finite, without
    /// this machine's memory. False where it does not; then nothing is changed.
    ///
    /// # Errors
    /// The device refuses.
    fn take_array(&mut self, _array: usize, _from: &DeviceArray) -> Result<bool, Error> {
        Ok(false)
    }

    /// Takes the values of a coefficient as [`StepSession::take_array`] takes those of a field. Where it returns false they may
    /// have been written all the same: then the session is of no more use.
    ///
    /// # Errors
    /// The device refuses.
    fn take_coefficient(
        &mut self,
        _coefficient: usize,
        _from: &DeviceArray,
    ) -> Result<bool, Error> {
        Ok(false)
    }

    /// A copy of an array in the memory of the device, for others, if all values are known to be finite. None where that is not
    /// done without this machine's memory.
    ///
    /// # Errors
    /// The device refuses, or has no room for it.
    fn give_array(&mut self, _array: usize) -> Result<Option<DeviceGrid>, Error> {
        Ok(None)
    }

    /// The type in which it makes the transforms of solves.
    fn transforms(&self) -> Dtype {
        Dtype::F64
    }

    /// How it sums.
    fn sums(&self) -> SumRounding {
        SumRounding::default()
    }

    /// What its jumps were, if it makes some.
    fn jumps(&self) -> Option<Jumps> {
        None
    }

    /// Takes steps; how long they took, and the values at the receivers of the system, by field and place in C order, after
    /// each step.
    ///
    /// # Errors
    /// The device refuses.
    fn advance_and_record(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        let (mut time, mut rows) = (Duration::ZERO, Vec::new());
        for _ in 0..steps {
            time += self.advance(1)?;
            rows.push(self.record(points)?);
        }
        Ok((time, rows))
    }

    /// The present values, to look at all of them or at those of some places.
    ///
    /// # Errors
    /// There is no memory for a copy of them, where one is needed, or the device refuses.
    fn values(&mut self, places: Option<&Places>) -> Result<Box<dyn Values + '_>, Error>;

    /// What the reductions of a system's totals are of the present values, after so many steps.
    ///
    /// # Errors
    /// There is no memory for a copy of the values, where one is needed, or the device refuses.
    fn reduced(&mut self, system: &System, step: usize) -> Result<Vec<f64>, Error> {
        let whole = system.whole();
        system.totals.find(|known| {
            Ok(vec![match self.reduce(whole, known)? {
                Some(parts) => parts,
                None => reduced::reduce(system, &*self.values(None)?, whole, (step, known)),
            }])
        })
    }

    /// Takes steps, and what the reductions of a system's totals are after the first so many, and after each so many more; how
    /// long it all took.
    ///
    /// # Errors
    /// As [`StepSession::reduced`].
    fn advance_and_reduce(
        &mut self,
        (system, done): (&System, usize),
        steps: usize,
        (first, every): (usize, usize),
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        let start = Instant::now();
        let (mut taken, mut all) = (0, Vec::new());
        for look in (first..=steps).step_by(every) {
            self.advance(look - taken)?;
            taken = look;
            all.push(self.reduced(system, done + look)?);
        }
        if taken < steps {
            self.advance(steps - taken)?;
        }
        Ok((start.elapsed(), all))
    }

    /// The present values of some fields at some points, given by field and place in C order.
    ///
    /// # Errors
    /// The device refuses.
    fn record(&mut self, points: &[(usize, usize)]) -> Result<Vec<f64>, Error> {
        let shape = self.shape();
        let value = |&(field, index): &(usize, usize)| {
            let values = self.read(field, State::Now, one_point(shape, index))?;
            Ok(Grid { shape: Shape::new(&[1])?, values }.get(0))
        };
        points.iter().map(value).collect()
    }

    /// A copy of an array.
    ///
    /// # Errors
    /// There is no memory for it, or the device refuses.
    fn grid(&mut self, array: usize) -> Result<Grid, Error> {
        let shape = self.shape();
        Grid::check_memory(shape, self.dtype())?;
        Ok(Grid { shape, values: self.read(array, State::Now, Region::whole(shape))? })
    }

    /// So many bytes of the memory of its device, for values that are kept; none of sessions whose values lie in this machine's memory.
    ///
    /// # Errors
    /// There is no room for them.
    fn room(&mut self, _bytes: usize) -> Result<Option<Rc<Memory>>, Error> {
        Ok(None)
    }

    /// How many bytes of the memory of its device are free, if it has one.
    ///
    /// # Errors
    /// The device refuses.
    fn free_room(&self) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// How values lie best in this machine's memory that the steps of another system will read, each as some of the fields that it holds;
    /// none of sessions that do not write them so.
    fn lay(&self, _of: &System, _fields: &[Vec<usize>]) -> Option<Vec<Lay>> {
        None
    }

    /// Keeps the present values of an array as values of a type; on a device they are there after [`StepSession::wait_for_copies`].
    ///
    /// # Errors
    /// The device refuses, or a file cannot be written.
    fn keep(&mut self, array: usize, to: &mut TapeValues, dtype: Dtype) -> Result<(), Error> {
        keep(self, array, to, dtype)
    }

    /// Takes values that were kept into an array.
    ///
    /// # Errors
    /// The device refuses, or a file cannot be read; [`Error::Unsupported`] of sessions that take no values.
    fn restore_values(&mut self, array: usize, from: &TapeValues) -> Result<(), Error> {
        restore_through_host(self, array, from)
    }

    /// A copy of values that it kept, in this machine's memory.
    ///
    /// # Errors
    /// The device refuses, or a file cannot be read.
    fn read_kept(&mut self, from: &TapeValues) -> Result<problem::Values, Error> {
        Ok(from.values()?.into_owned())
    }

    /// Waits until all that was kept is there.
    ///
    /// # Errors
    /// The device refuses.
    fn wait_for_copies(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Does what a tape is for before the next step.
    ///
    /// # Errors
    /// As [`StepSession::keep`] and [`StepSession::restore_values`].
    fn exchange(&mut self, taping: &mut TapedSession) -> Result<(), Error> {
        for number in 0..taping.moves.len() {
            let (one, way) = (taping.moves[number], taping.way);
            let (kept, dtype) = taping.of(one);
            match way {
                TapeAction::Save => self.keep(one.array, kept, dtype)?,
                TapeAction::Restore => self.restore_values(one.array, kept)?,
            }
        }
        taping.advance(1);
        Ok(())
    }

    /// Takes steps with a tape that goes along; how long they took, and the values at the receivers, if there are some, as
    /// [`StepSession::advance_and_record`].
    ///
    /// # Errors
    /// As there, and of [`StepSession::exchange`].
    fn advance_taping(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
        taping: &mut TapedSession,
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        advance_taping(self, steps, points, taping)
    }

    /// The name of the engine.
    fn engine(&self) -> &'static str;

    /// How it computes.
    fn arithmetic(&self) -> String;

    /// Bytes of a value as it lies in memory.
    fn value_bytes(&self) -> usize;
}

/// Takes single steps with a tape that goes along: see [`StepSession::advance_taping`].
pub fn advance_taping<S: StepSession + ?Sized>(
    session: &mut S,
    steps: usize,
    points: &[(usize, usize)],
    taping: &mut TapedSession,
) -> Result<(Duration, Vec<Vec<f64>>), Error> {
    let start = Instant::now();
    let mut rows = Vec::new();
    for _ in 0..steps {
        session.exchange(taping)?;
        session.advance(1)?;
        if !points.is_empty() {
            rows.push(session.record(points)?);
        }
    }
    Ok((start.elapsed(), rows))
}

/// Keeps the present values of an array by way of this machine's memory.
pub fn keep<S: StepSession + ?Sized>(
    session: &mut S,
    array: usize,
    to: &mut TapeValues,
    dtype: Dtype,
) -> Result<(), Error> {
    let whole = Region::whole(session.shape());
    let rounded = session.read(array, State::Now, whole)?.cast(dtype);
    with_values!(&rounded, values => check_rounded(values, session.dtype(), dtype))?;
    to.put(rounded)
}

/// Takes values that were kept by way of this machine's memory.
pub fn restore_through_host<S: StepSession + ?Sized>(
    session: &mut S,
    array: usize,
    from: &TapeValues,
) -> Result<(), Error> {
    let whole = Region::whole(session.shape());
    let values = from.values()?;
    match values.dtype() == session.dtype().stored() {
        true => session.write(array, whole, &values),
        false => session.write(array, whole, &values.into_owned().cast(session.dtype())),
    }
}

impl System {
    /// The arrays of a session, by their numbers: the present values of all fields, then those of each earlier level.
    pub(super) fn numbered(&self) -> Vec<Array> {
        let most = self.fields.iter().map(|field| field.levels).max().unwrap_or_default();
        let of_level = |level: usize| {
            let fields = self.fields.iter().enumerate();
            let has = fields.filter(move |(_, field)| level < field.levels);
            has.map(move |(field, _)| Array::Field { field, level })
        };
        (0..most).flat_map(of_level).collect()
    }
}

/// Copies of all arrays.
pub struct Copies<'a> {
    /// Of each field its levels, the present one first.
    pub fields: Vec<Vec<Grid>>,
    /// The coefficients.
    pub coefficients: Cow<'a, [Arc<Grid>]>,
}

impl Values for Copies<'_> {
    fn value(&self, array: Array, index: usize) -> f64 {
        match array {
            Array::Field { field, level } => self.fields[field][level].get(index),
            Array::Coefficient(coefficient) => self.coefficients[coefficient].get(index),
            _ => unreachable!("what a step computes is no value before it"),
        }
    }

    fn random(&self, _: u64, _: usize) -> f64 {
        unreachable!("equations hold no random numbers")
    }
}
