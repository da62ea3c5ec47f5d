// SPDX-License-Identifier: MIT OR Apache-2.0
//! How its steps are taken, and its values looked at.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::totals::SLOTS;
use super::{OnTarget, rows};
use crate::checked::System;
use crate::description::Table;
use crate::evaluate::Values;
use crate::expression::Array;
use crate::gpu::target::LaunchTarget;
use crate::interval::SumRounding;
use crate::parts::Field;
use crate::places::Places;
use crate::session::{self, Copies, StepSession};
use crate::tape::{TapeValues, TapedSession};
use compute::device::{DeviceArray, DeviceGrid, Memory};
use compute::engine::{Session, State};
use problem::observe::PendingCopy;
use problem::{
    Clock, Dtype, Error, Grid, Region, Shape, View, values as grid, with_dtype, with_values,
};

impl<T: LaunchTarget> Session for OnTarget<T> {
    fn device(&self) -> String {
        let device = self.target.describe();
        match &self.ghosts {
            None => device,
            Some((ghosts, _)) => format!("{device}; ghosts by {}", ghosts.describe()),
        }
    }

    fn shape(&self) -> Shape {
        self.system.shape
    }

    fn dtype(&self) -> Dtype {
        self.system.dtype
    }

    fn launch(&self) -> usize {
        self.kernel.tile.map_or(1, |tile| tile.steps)
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        self.target.begin()?;
        let start = Instant::now();
        let most = self.launch();
        for first in (0..steps).step_by(most) {
            self.queue(most.min(steps - first), 0)?;
        }
        self.target.wait()?;
        Ok(start.elapsed())
    }

    fn read(&mut self, array: usize, _: State, region: Region) -> Result<grid::Values, Error> {
        self.box_of(self.system.numbered()[array], region)
    }

    fn write(&mut self, array: usize, region: Region, values: &grid::Values) -> Result<(), Error> {
        let array = self.array(self.system.numbered()[array]);
        let rows = rows(&self.kernel.geometry, self.system.dtype, region);
        // What was before these values is not taken again.
        self.last = None;
        with_values!(values, values => {
            self.target.write(array, rows, bytemuck::cast_slice(values))
        })
    }

    fn capture(
        &mut self,
        array: usize,
        view: &View,
    ) -> Result<Option<Box<dyn PendingCopy>>, Error> {
        let Some(region) = view.region() else { return Ok(None) };
        let (array, dtype) = (self.array(self.system.numbered()[array]), self.system.dtype);
        let rows = rows(&self.kernel.geometry, dtype, region);
        self.target.capture(array, rows, (view.shape(), dtype))
    }

    fn reduce(&mut self, _: Region, known: &[f64]) -> Result<Option<Vec<[f64; 2]>>, Error> {
        if self.totals.is_none() { Ok(None) } else { self.reduce_now(known).map(Some) }
    }

    fn take_totals(&mut self, reduced: &[f64]) {
        self.told = Some(reduced.to_vec());
    }

    fn take_back(&mut self) -> Result<(), Error> {
        let by = |own: &Field| if self.kernel.tile.is_some() { own.levels } else { 1 };
        let fields = self.fields.iter_mut().zip(&self.system.fields);
        fields.for_each(|(levels, own)| levels.rotate_left(by(own)));
        self.done -= 1;
        self.last = None;
        Ok(())
    }

    fn take_step(&mut self, done: usize) -> bool {
        (self.done, self.last) = (done, None);
        true
    }

    /// The numbers of steps are other ones then, and the last launch is not taken again with them.
    fn take_clock(&mut self, clock: Clock) {
        if clock != self.system.clock {
            self.system.clock = clock;
            (self.numbers_of, self.last) = ((0, 0), None);
        }
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        let levels = &self.fields[0];
        let pair = [levels[0], *levels.last().expect("an array to take the next values")];
        let bytes = self.system.shape.points() * self.system.dtype.bytes();
        self.target.time_copies(pair, bytes, count)
    }
}

impl<T: LaunchTarget> OnTarget<T> {
    /// Has rows of records be those after each step, where the kernel notes what was before it.
    fn note_end(
        &mut self,
        points: &[(usize, usize)],
        rows: &mut Vec<Vec<f64>>,
    ) -> Result<(), Error> {
        if self.kernel.notes_before() && !rows.is_empty() {
            rows.push(self.record(points)?);
            rows.remove(0);
        }
        Ok(())
    }
}

impl<T: LaunchTarget> StepSession for OnTarget<T> {
    fn take_array(&mut self, array: usize, from: &DeviceArray) -> Result<bool, Error> {
        if self.ghosts.is_some() {
            return Ok(false);
        }
        let dtype = self.system.dtype;
        self.replace(array, |target, spare, whole| {
            Ok(target.take(from.memory(), spare, whole)? && target.knows_finite(spare, dtype)?)
        })
    }

    fn take_coefficient(&mut self, coefficient: usize, from: &DeviceArray) -> Result<bool, Error> {
        if self.ghosts.is_some() {
            return Ok(false);
        }
        let dtype = self.system.dtype;
        let whole = rows(&self.kernel.geometry, dtype, Region::whole(self.system.shape));
        let own = self.coefficients[coefficient];
        Ok(self.target.take(from.memory(), own, whole)? && self.target.knows_finite(own, dtype)?)
    }

    fn give_array(&mut self, array: usize) -> Result<Option<DeviceGrid>, Error> {
        let array = self.array(self.system.numbered()[array]);
        let (shape, dtype) = (self.system.shape, self.system.dtype);
        if !self.target.knows_finite(array, dtype)? {
            return Ok(None);
        }
        let whole = rows(&self.kernel.geometry, dtype, Region::whole(shape));
        let grid = DeviceGrid::allocate(shape, dtype)?;
        Ok(self.target.give(array, whole, grid.memory())?.then_some(grid))
    }

    fn take_tables(&mut self, tables: &[Table]) -> bool {
        self.system.tables = tables.to_vec();
        (self.numbers_of, self.last) = ((0, 0), None);
        true
    }

    fn advance_from_before(&mut self) -> Result<(), Error> {
        match self.last {
            Some((first, steps)) if first + steps == self.done && steps < self.launch() => {
                let fields = self.fields.iter_mut().zip(&self.system.fields);
                fields.for_each(|(levels, own)| levels.rotate_left(own.levels));
                self.done = first;
                self.queue(steps + 1, 0)?;
            }
            _ => self.queue(1, 0)?,
        }
        self.target.wait()
    }

    fn advance_and_record(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        self.target.begin()?;
        let start = Instant::now();
        let mut rows = Vec::new();
        for first in (0..steps).step_by(self.kept) {
            let count = (steps - first).min(self.kept);
            self.launches(count)?;
            rows.extend(self.noted(count)?);
        }
        let time = start.elapsed();
        self.note_end(points, &mut rows)?;
        Ok((time, rows))
    }

    /// Without a wait between steps: what is reduced stays on the device for some looks.
    fn advance_and_reduce(
        &mut self,
        (system, _): (&System, usize),
        steps: usize,
        (first, every): (usize, usize),
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        self.target.begin()?;
        let start = Instant::now();
        let (mut taken, mut looks, mut all) = (0, 0, Vec::new());
        let unknown = system.totals.unknown();
        for look in (first..=steps).step_by(every) {
            self.launches(look - taken)?;
            taken = look;
            // What is made of other totals waits for them.
            if system.totals.looks() > 1 {
                all.push(self.reduced_now()?);
                continue;
            }
            self.queue_reduction(looks, &unknown)?;
            looks += 1;
            // A step that waits for totals reduces into the first place itself.
            if self.waits || looks == SLOTS || look + every > steps {
                let parts = self.reductions(std::mem::take(&mut looks))?;
                all.extend(parts.into_iter().map(|parts| system.totals.together(&[parts])));
            }
        }
        self.launches(steps - taken)?;
        self.target.wait()?;
        Ok((start.elapsed(), all))
    }

    fn room(&mut self, bytes: usize) -> Result<Option<Rc<Memory>>, Error> {
        Ok(self.target.room(bytes)?.map(Rc::new))
    }

    fn free_room(&self) -> Result<Option<u64>, Error> {
        self.target.free_room()
    }

    fn keep(&mut self, array: usize, to: &mut TapeValues, dtype: Dtype) -> Result<(), Error> {
        let TapeValues::OnDevice(memory, start) = to else {
            return session::keep(self, array, to, dtype);
        };
        let (own, whole) = (self.system.dtype, Region::whole(self.system.shape));
        let rows = rows(&self.kernel.geometry, own, whole);
        self.target.pack(self.array(self.system.numbered()[array]), rows, (memory, *start))
    }

    fn restore_values(&mut self, array: usize, from: &TapeValues) -> Result<(), Error> {
        let TapeValues::OnDevice(memory, start) = from else {
            return session::restore_through_host(self, array, from);
        };
        let (own, whole) = (self.system.dtype, Region::whole(self.system.shape));
        let rows = rows(&self.kernel.geometry, own, whole);
        // What was before these values is not taken again.
        self.last = None;
        self.target.unpack(self.array(self.system.numbered()[array]), rows, (memory, *start))
    }

    fn read_kept(&mut self, from: &TapeValues) -> Result<problem::Values, Error> {
        let TapeValues::OnDevice(memory, start) = from else {
            return Ok(from.values()?.into_owned());
        };
        let own = self.system.dtype.stored();
        let mut bytes = vec![0; self.system.shape.points() * own.bytes()];
        self.target.read_packed((memory, *start), &mut bytes)?;
        Ok(with_dtype!(own, T => <T as grid::Element>::wrap(bytemuck::pod_collect_to_vec(&bytes))))
    }

    fn wait_for_copies(&mut self) -> Result<(), Error> {
        self.target.wait()
    }

    /// Without a wait between steps.
    fn advance_taping(
        &mut self,
        steps: usize,
        points: &[(usize, usize)],
        taping: &mut TapedSession,
    ) -> Result<(Duration, Vec<Vec<f64>>), Error> {
        self.target.begin()?;
        let start = Instant::now();
        let most = if points.is_empty() { steps } else { self.kept };
        let mut rows = Vec::new();
        for first in (0..steps).step_by(most.max(1)) {
            let count = (steps - first).min(most);
            for slot in 0..count {
                self.exchange(taping)?;
                self.queue(1, if points.is_empty() { 0 } else { slot })?;
            }
            if !points.is_empty() {
                rows.extend(self.noted(count)?);
            }
        }
        self.target.wait()?;
        let time = start.elapsed();
        self.note_end(points, &mut rows)?;
        Ok((time, rows))
    }

    fn values(&mut self, places: Option<&Places>) -> Result<Box<dyn Values + '_>, Error> {
        let shape = self.system.shape;
        if let Some(places) = places {
            let read = places.boxes().map(|(array, region)| self.box_of(array, region));
            return Ok(Box::new(places.gather(shape, read)?));
        }
        let grid = |array: Array| {
            Grid::check_memory(shape, self.system.dtype)?;
            Ok(Grid { shape, values: self.box_of(array, Region::whole(shape))? })
        };
        let fields = self.system.fields.iter().enumerate();
        let levels = fields.map(|(field, own)| {
            (0..own.levels).map(|level| grid(Array::Field { field, level })).collect()
        });
        let coefficients = (0..self.coefficients.len()).map(|it| grid(Array::Coefficient(it)));
        let fields = levels.collect::<Result<Vec<Vec<Grid>>, Error>>()?;
        let coefficients = coefficients.map(|grid| grid.map(Arc::new));
        let coefficients = coefficients.collect::<Result<Vec<_>, Error>>()?.into();
        Ok(Box::new(Copies { fields, coefficients }))
    }

    fn transforms(&self) -> Dtype {
        self.target.transforms(self.system.dtype)
    }

    fn sums(&self) -> SumRounding {
        self.sweep.as_ref().map(|(sweep, _)| sweep.sums).unwrap_or_default()
    }

    fn engine(&self) -> &'static str {
        let of_cores = if self.sweep.is_some() { "sparse" } else { "cuda" };
        self.target.engine().unwrap_or(of_cores)
    }

    fn arithmetic(&self) -> String {
        if let Some((sweep, _)) = &self.sweep {
            let (dtype, count) = (self.system.dtype, sweep.kernel.numbers);
            let weights = if count == 1 { "" } else { " of weights in two pieces" };
            return format!("{dtype} values, {dtype} products{weights}, f32 sums and arithmetic");
        }
        let computed = if self.system.dtype == Dtype::F64 { "f64" } else { "f32" };
        let together = match self.launch() {
            1 if self.kernel.tile.is_some() => ", all stages in one launch".into(),
            1 => String::new(),
            steps => format!(", up to {steps} steps a launch"),
        };
        format!("{} values, {computed} arithmetic{together}", self.system.dtype)
    }

    fn value_bytes(&self) -> usize {
        self.system.dtype.bytes()
    }
}
