// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of a system on the cores of this machine.

use std::time::{Duration, Instant};

use super::stored::StoredType;
use super::{Cpu, View, convert};
use crate::description::Table;
use crate::evaluate;
use crate::expression::Array;
use crate::places::Places;
use crate::reduced;
use crate::session::{self, StepSession};
use crate::tape::{TapeValues, check_rounded};
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
        let mut left = steps;
        while left > 0 {
            let steps = left.min(self.cpu.depth);
            self.cpu.pass(steps, self.among.as_ref())?;
            left -= steps;
        }
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

impl<T: StoredType> StepSession for OnCpu<T> {
    fn values(&mut self, _: Option<&Places>) -> Result<Box<dyn evaluate::Values + '_>, Error> {
        Ok(Box::new(View(&self.cpu)))
    }

    /// Into the memory that the values before had, if it is there.
    fn keep(&mut self, array: usize, to: &mut TapeValues, dtype: Dtype) -> Result<(), Error> {
        let TapeValues::Here(own) = to else { return session::keep(self, array, to, dtype) };
        let padded = self.cpu.array(self.cpu.numbered[array]);
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

    fn restore_values(&mut self, array: usize, from: &TapeValues) -> Result<(), Error> {
        let cpu = &mut self.cpu;
        let Array::Field { field, level } = cpu.numbered[array] else {
            unreachable!("coefficients have no number")
        };
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
