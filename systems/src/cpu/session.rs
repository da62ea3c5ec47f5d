// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of a system on the cores of this machine.

use std::any::Any;
use std::time::{Duration, Instant};

use super::arrays::convert;
use super::stored::StoredType;
use super::watch::{self, Receivers, Watch};
use super::{Cpu, View};
use crate::checked::System;
use crate::description::Table;
use crate::evaluate;
use crate::expression::Array;
use crate::places::Places;
use crate::reduced;
use crate::session::{self, StepSession};
use crate::tape::{Lay, TapeAction, TapeTransfer, TapeValues, TapedSession, check_rounded};
use compute::engine::cpu::padded::Padded;
use compute::engine::cpu::time_copies;
use compute::engine::{Session, State};
use compute::ranks::Gather;
use problem::region::Region;
use problem::values::Element;
use problem::{Clock, Dtype, Error, Shape, Values, with_dtype, with_values};

/// The system, and of a rank's part what gathers arrays of all ranks.
pub struct OnCpu<T: StoredType> {
    pub cpu: Cpu<T>,
    pub among: Option<Gather>,
}

impl<T: StoredType> Session for OnCpu<T> {
    fn device(&self) -> String {
        compute::engine::cpu::device()
    }

    fn shape(&self) -> Shape {
        self.cpu.system.shape
    }

    fn dtype(&self) -> Dtype {
        self.cpu.system.dtype
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        self.go(steps, &[], None)?;
        Ok(start.elapsed())
    }

    fn read(&mut self, array: usize, _: State, region: Region) -> Result<Values, Error> {
        let padded = self.cpu.array(self.cpu.numbered[array]);
        Ok(T::wrap(padded.get(region)).cast(self.cpu.system.dtype))
    }

    fn write(&mut self, array: usize, region: Region, values: &Values) -> Result<(), Error> {
        let cpu = &mut self.cpu;
        let Array::Field { field, level } = cpu.numbered[array] else {
            unreachable!("coefficients have no number")
        };
        let parallel = cpu.parallel();
        let padded = &mut cpu.arrays.fields[field][level];
        padded.put(region, &convert(values));
        if let Some(halo) = &cpu.halos[field] {
            halo.close(padded, parallel);
        }
        Ok(())
    }

    fn reduce(&mut self, region: Region, known: &[f64]) -> Result<Option<Vec<[f64; 2]>>, Error> {
        let by = (self.cpu.done, known);
        Ok(Some(reduced::reduce(&self.cpu.system, &View(&self.cpu), region, by)))
    }

    fn take_totals(&mut self, reduced: &[f64]) {
        self.cpu.totals = Some(reduced.to_vec());
    }

    fn take_back(&mut self) -> Result<(), Error> {
        self.cpu.arrays.fields.iter_mut().for_each(|levels| levels.rotate_left(1));
        self.cpu.done -= 1;
        Ok(())
    }

    fn take_step(&mut self, done: usize) -> bool {
        self.cpu.done = done;
        true
    }

    fn take_clock(&mut self, clock: Clock) {
        self.cpu.system.clock = clock;
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let mut spare =
            (self.cpu.arrays.fields[0].len() < 2).then(|| Padded::new(self.cpu.layouts.fields[0]));
        let mut arrays = self.cpu.arrays.fields[0].iter_mut().chain(&mut spare);
        let [first, second] = [(); 2].map(|()| arrays.next().expect("two arrays").any_values());
        Ok(time_copies([first, second], count))
    }
}

impl<T: StoredType> OnCpu<T> {
    /// Takes steps, as many together as are worth it, with a tape whose arrays lie as these steps have them, if there is one; what receivers
    /// have after each.
    fn go(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
        mut taping: Option<&mut TapedSession>,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let receivers = Receivers::new(self.cpu.system.shape, points);
        let mut rows = Vec::new();
        let mut left = steps;
        while left > 0 {
            let steps = left.min(self.cpu.depth);
            match taping.as_deref_mut() {
                None => {
                    let watch = Watch::new(steps, &receivers, self.cpu.system.dtype);
                    self.cpu.pass(steps, self.among.as_ref(), &watch)?;
                    rows.extend(watch.records());
                }
                Some(taping) if taping.way == TapeAction::Save => {
                    rows.extend(self.saving(steps, &receivers, taping)?);
                }
                Some(taping) => rows.extend(self.restoring(steps, &receivers, taping)?),
            }
            left -= steps;
        }
        if points.is_empty() {
            rows.clear();
        }
        Ok(rows)
    }

    /// Takes steps together that write what is kept after each, and after the last one.
    fn saving(
        &mut self,
        steps: usize,
        receivers: &Receivers,
        taping: &mut TapedSession,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut all = Vec::new();
        for (number, one) in taping.moves.clone().into_iter().enumerate() {
            for step in 0..steps {
                let time = taping.time(one, step + 1);
                let taken = match &mut taping.tape.at(time)[one.place] {
                    TapeValues::Laid(own) => own.take().expect("it is there between steps"),
                    _ => unreachable!("it was asked whether they are laid"),
                };
                let own: Box<dyn Any> = taken;
                let own = own.downcast::<watch::OnTape<T>>().expect("of this type");
                all.push((number, step, time, own));
            }
        }
        let mut watch = Watch::new(steps, receivers, self.cpu.system.dtype);
        for (number, step, _, own) in &mut all {
            watch.keep(*step, self.field(taping.moves[*number]), own);
        }
        let passed = self.cpu.pass(steps, self.among.as_ref(), &watch);
        let rows = watch.records().collect();
        drop(watch);
        let parallel = self.cpu.parallel();
        for (number, _, time, mut own) in all {
            own.close_around(parallel);
            taping.tape.at(time)[taping.moves[number].place] = TapeValues::Laid(Some(own));
        }
        taping.advance(steps);
        passed.map(|()| rows)
    }

    /// Takes steps together that read what is given before each where it lies.
    fn restoring(
        &mut self,
        steps: usize,
        receivers: &Receivers,
        taping: &mut TapedSession,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut watch = Watch::new(steps, receivers, self.cpu.system.dtype);
        for one in &taping.moves {
            for step in 0..steps {
                let kept = taping.tape.get(taping.time(*one, step), one.place);
                let kept = Self::laid(kept).expect("it was asked whether they are laid");
                watch.give(step, self.field(*one), &kept.values);
            }
        }
        self.cpu.pass(steps, self.among.as_ref(), &watch)?;
        let rows = watch.records().collect();
        drop(watch);
        taping.advance(steps);
        Ok(rows)
    }

    /// The field that a move of a tape is about.
    fn field(&self, one: TapeTransfer) -> usize {
        match self.cpu.numbered[one.array] {
            Array::Field { field, .. } => field,
            _ => unreachable!("coefficients have no number"),
        }
    }

    /// What was kept, if it lies as values of this type do.
    fn laid(kept: &TapeValues) -> Option<&watch::OnTape<T>> {
        let TapeValues::Laid(own) = kept else { return None };
        let own: &dyn Any = &**own.as_ref().expect("it is there between steps");
        own.downcast_ref()
    }

    /// Whether a tape lies as these steps have their arrays.
    fn is_laid(&self, taping: &TapedSession) -> bool {
        let is_own = |one: &TapeTransfer| {
            let (field, level) = match self.cpu.numbered[one.array] {
                Array::Field { field, level } => (field, level),
                _ => return false,
            };
            let kept = Self::laid(taping.tape.get(taping.time(*one, 0), one.place));
            match taping.way {
                TapeAction::Save => kept.is_some() && level == 0 && one.when == 0,
                TapeAction::Restore => {
                    let is_held = self.cpu.system.fields[field].is_held;
                    is_held && kept.is_some_and(|it| it.lies_as(&self.cpu.layouts.fields[field]))
                }
            }
        };
        // Totals of what is given are made of the session's own arrays.
        let finds_it = taping.way == TapeAction::Save || !self.cpu.waits;
        finds_it && taping.moves.iter().all(is_own)
    }
}

impl<T: StoredType> StepSession for OnCpu<T> {
    fn values(&mut self, _: Option<&Places>) -> Result<Box<dyn evaluate::Values + '_>, Error> {
        Ok(Box::new(View(&self.cpu)))
    }

    /// Into the memory that the values before had, if it is there.
    fn keep(&mut self, array: usize, to: &mut TapeValues, dtype: Dtype) -> Result<(), Error> {
        let padded = self.cpu.array(self.cpu.numbered[array]);
        if let TapeValues::Laid(Some(own)) = to {
            let own: &mut dyn Any = &mut **own;
            if let Some(own) = own.downcast_mut::<watch::OnTape<T>>() {
                own.take(padded, self.cpu.layouts.get(self.cpu.numbered[array]));
                return Ok(());
            }
        }
        let TapeValues::Here(own) = to else { return session::keep(self, array, to, dtype) };
        let points = self.cpu.system.shape.points();
        with_dtype!(dtype, E => {
            let before = own.take().and_then(E::take).filter(|before| before.len() == points);
            let mut values: Vec<E> = before.unwrap_or_else(|| bytemuck::zeroed_vec(points));
            padded.give(&mut values, |value| E::from_f64(value.to_f64()));
            check_rounded(&values, self.cpu.system.dtype, dtype)?;
            *own = Some(E::wrap(values));
        });
        Ok(())
    }

    fn lay(&self, of: &System, fields: &[Vec<usize>]) -> Option<Vec<Lay>> {
        let own = &self.cpu.system;
        let is_alike = of.shape == own.shape && super::stored(of) == T::DTYPE && !T::is_narrow();
        let is_alone = self.among.is_none() && self.cpu.notes(&[]);
        let lays = || fields.iter().map(|fields| watch::lay::<T>(of, fields)).collect();
        if is_alike && is_alone { lays() } else { None }
    }

    fn advance_and_record(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        let start = Instant::now();
        let rows = match self.cpu.notes(points) {
            true => self.go(steps, points, None)?,
            false => {
                let one = |session: &mut Self| {
                    session.advance(1)?;
                    session.record(points)
                };
                (0..steps).map(|_| one(self)).collect::<Result<_, _>>()?
            }
        };
        Ok((start.elapsed(), rows))
    }

    fn advance_taping(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
        taping: &mut TapedSession,
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        if steps == 0 || !self.cpu.notes(points) || !self.is_laid(taping) {
            return session::advance_taping(self, steps, points, taping);
        }
        let start = Instant::now();
        if taping.way == TapeAction::Save {
            // What is before the first step; each step writes what it leaves.
            for one in taping.moves.clone() {
                let (kept, dtype) = taping.of(one);
                self.keep(one.array, kept, dtype)?;
            }
        }
        let rows = self.go(steps, points, Some(taping))?;
        Ok((start.elapsed(), rows))
    }

    fn restore_values(&mut self, array: usize, from: &TapeValues) -> Result<(), Error> {
        let Array::Field { field, level } = self.cpu.numbered[array] else {
            unreachable!("coefficients have no number")
        };
        let laid = Self::laid(from).filter(|own| own.lies_as(&self.cpu.layouts.fields[field]));
        let cpu = &mut self.cpu;
        if let Some(laid) = laid {
            laid.give(&mut cpu.arrays.fields[field][level]);
            return Ok(());
        }
        let parallel = cpu.parallel();
        let padded = &mut cpu.arrays.fields[field][level];
        with_values!(&*from.values()?, values => {
            padded.take(values, |value| T::from_f64(Element::to_f64(value)));
        });
        if let Some(halo) = &cpu.halos[field] {
            halo.close(padded, parallel);
        }
        Ok(())
    }

    fn record(&mut self, points: &[(usize, usize)]) -> Result<Vec<f64>, Error> {
        let (view, dtype) = (View(&self.cpu), self.cpu.system.dtype);
        let value = |&(field, index): &(usize, usize)| {
            dtype.round(evaluate::Values::value(&view, Array::Field { field, level: 0 }, index))
        };
        Ok(points.iter().map(value).collect())
    }

    fn take_tables(&mut self, tables: &[Table]) -> bool {
        self.cpu.system.tables = tables.to_vec();
        true
    }

    fn engine(&self) -> &'static str {
        "cpu"
    }

    fn arithmetic(&self) -> String {
        let (dtype, computed) = (self.cpu.system.dtype, T::Computed::DTYPE);
        let kept =
            if T::DTYPE == dtype { String::new() } else { format!(", kept as {}", T::DTYPE) };
        format!("{dtype} values{kept}, {computed} arithmetic")
    }

    fn value_bytes(&self) -> usize {
        size_of::<T>()
    }
}
