// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way back over steps: what is kept of the way there, and how what is not is computed again.
//!
//! Steps are gone back over in units, each of so many steps that the values which the adjoint reads have room on a tape: before each
//! step of the unit. States at the beginnings of units are kept as the binomial schedule says ([`crate::adjoint::schedule`]), and the
//! tape is written again from the nearest one. Where the tape has room for all steps, none is taken again.

use super::place::{checked_rounding, laid, most_bytes, room, settled};
use crate::adjoint::schedule::{ReversePlan, first_kept};
use crate::adjoint::{Adjoint, ForwardField};
use crate::checked::System;
use crate::expression::Array;
use crate::simulation::equations::{StepRecords, SystemSimulation};
use crate::simulation::{Form, GradientBy, Simulation, SystemState};
use crate::tape::{
    Lay, Tape, TapeAction, TapeMemory, TapeStorage, TapeTransfer, TapedSession, check_rounded,
};
use problem::memory::{self, Bytes};
use problem::observe::ArrayName;
use problem::{Clock, Dtype, Error, Grid, with_values};

#[cfg(test)]
mod tests;

/// A state that is kept.
#[derive(Clone, Copy)]
struct State {
    /// The unit that begins with it.
    unit: usize,
    step: usize,
    clock: Option<Clock>,
    /// Its place on the tape of states.
    place: usize,
}

/// What tapes are made for: a gradient that is asked for in the same way has the same plan, and tapes of the same form.
#[derive(PartialEq)]
struct TapeKey {
    by: GradientBy,
    share: Option<Bytes>,
    steps: usize,
    given: Vec<ForwardField>,
    lag: usize,
}

/// Tapes in this machine's memory, which stay for the next gradient of a simulation: the system would clear the pages of new ones.
pub struct KeptTapes {
    key: TapeKey,
    plan: ReversePlan,
    values: Tape,
    states: Tape,
}

/// The way back over some steps.
pub struct ReversePath {
    key: TapeKey,
    /// Whether its tapes may stay.
    stays: bool,
    /// What the adjoint reads.
    given: Vec<ForwardField>,
    /// The forward fields that this is of, each once.
    fields: Vec<String>,
    /// How many steps before a step it is of, at most: so many times before a unit are on the tape, too.
    lag: usize,
    plan: ReversePlan,
    steps: usize,
    /// Values of the fields before each step of a unit, after its last one, and earlier ones before its first.
    values: Option<Tape>,
    /// States; the last place is for that after all steps.
    states: Tape,
    kept: Vec<State>,
    free: Vec<usize>,
    end: Option<State>,
    /// Steps that were taken again.
    pub steps_again: usize,
}

impl ReversePath {
    /// One over so many steps from the present one on, of a simulation that has this adjoint.
    ///
    /// # Errors
    /// Not one state fits; there is no room where states are to be kept; what is asked for makes no sense.
    pub fn new(
        of: &mut Simulation,
        Adjoint { given, system: adjoint, completes, .. }: &Adjoint,
        steps: usize,
        (by, share): (&GradientBy, Option<Bytes>),
    ) -> Result<Self, Error> {
        let mut fields: Vec<String> = given.iter().map(|given| given.field.clone()).collect();
        fields.sort_unstable();
        fields.dedup();
        let lag = given.iter().map(|given| (-given.when).max(0) as usize).max().unwrap_or(0);
        // The step that completes reads all of them a step earlier.
        let lag = lag + usize::from(*completes);
        let key = TapeKey { by: by.clone(), share, steps, given: given.clone(), lag };
        // Others are given back before more is taken.
        if let Some(kept) = of.tapes.take().filter(|kept| kept.key == key) {
            return Ok(Self::with(fields, *kept, true));
        }
        let system = of.system().expect("gradients are of systems").clone();
        let dtype = system.dtype().stored();
        let rounded = checked_rounding(by.rounded, dtype)?;
        let points = system.shape().points();
        let bytes =
            |count: usize, dtype: Dtype| count as u128 * points as u128 * dtype.bytes() as u128;
        // On a device nothing is made of another type.
        let stays = rounded == dtype && adjoint.dtype().stored() == dtype;
        let place = settled(of, &by.place, stays)?;
        // Fields of the adjoint that are given values of each field.
        let read_as = |field: &String| {
            let own = given.iter().filter(|given| given.field == *field);
            own.map(|given| adjoint.find(&given.name)).collect::<Result<Vec<_>, _>>()
        };
        let read_as = fields.iter().map(read_as).collect::<Result<Vec<_>, _>>()?;
        let of_field = |array: &Array| match array {
            Array::Field { field, .. } => vec![*field],
            _ => unreachable!("levels of fields alone have numbers"),
        };
        let own: Vec<Vec<usize>> = system.numbered().iter().map(of_field).collect();
        let lays = [
            laid(of, &place, &system, &own),
            if stays { laid(of, &place, adjoint, &read_as) } else { None },
        ];
        let in_order = [bytes(system.arrays(), dtype), bytes(fields.len(), rounded)];
        let as_laid = [0, 1].map(|number| match &lays[number] {
            Some(lays) => lays.iter().map(|lay| lay.bytes).sum(),
            None => in_order[number],
        });
        let beside = bytes(adjoint.arrays() + adjoint.coefficients.len(), adjoint.dtype().stored());
        let mut fitting = |[one, of_step]: [u128; 2]| {
            let one_run = ReversePlan::bytes_of_one_run(steps, (one, of_step));
            let one_run = one_run + ReversePlan::bytes_besides(lag, (one, of_step));
            let most = most_bytes(of, (by.memory, &place), (one_run, beside))?;
            let most = share.map_or(most, |share| most.min(share));
            let plan = ReversePlan::within((steps, lag), (one, of_step), u128::from(most.0));
            plan.ok_or_else(|| {
                memory::short("a state of the system, which a gradient keeps,", one, most)
            })
        };
        // Where a state with what lies around it does not fit, values in C order may.
        let (plan, [states, values]) = match fitting(as_laid) {
            Ok(plan) => (plan, lays),
            Err(_) => (fitting(in_order)?, [None, None]),
        };
        let [one, of_step] = in_order;
        let (times, count) = (plan.times(steps, lag), plan.places());
        let mut room = |lays: Option<Vec<Lay>>, bytes: u128| match lays {
            Some(lays) => Ok(TapeMemory::Laid(lays)),
            None => room(of, &place, bytes),
        };
        let (values, states) =
            (room(values, times as u128 * of_step)?, room(states, count as u128 * one)?);
        let values = Tape::new(values, (points, rounded), (times, fields.len()));
        let states = Tape::new(states, (points, dtype), (count, system.arrays()));
        let stays = place == TapeStorage::Memory;
        Ok(Self::with(fields, KeptTapes { key, plan, values, states }, stays))
    }

    /// One with these tapes of these fields.
    fn with(fields: Vec<String>, tapes: KeptTapes, stays: bool) -> Self {
        let KeptTapes { key, plan, values, states } = tapes;
        Self {
            given: key.given.clone(),
            fields,
            lag: key.lag,
            plan,
            steps: key.steps,
            values: Some(values),
            states,
            kept: Vec::new(),
            free: (0..plan.states).rev().collect(),
            end: None,
            steps_again: 0,
            key,
            stays,
        }
    }

    /// Its tapes, if they are to stay for the next gradient.
    pub fn leave(self) -> Option<Box<KeptTapes>> {
        let Self { key, plan, values, states, .. } = self;
        let values = values.filter(|_| self.stays)?;
        Some(Box::new(KeptTapes { key, plan, values, states }))
    }

    /// Which of the values are given.
    pub fn give(&mut self, given: &[ForwardField]) {
        self.given = given.to_vec();
    }

    /// How many units there are.
    fn units(&self) -> usize {
        self.steps.div_ceil(self.plan.unit)
    }

    /// Takes the steps, and keeps what the way back begins with.
    ///
    /// # Errors
    /// As [`Simulation::step`]; what is kept finds no room.
    pub fn forward(&mut self, of: &mut Simulation) -> Result<(), Error> {
        let (mut left, unit) = (self.units(), self.plan.unit);
        if left > 1 {
            self.keep(of, 0)?;
            while !self.free.is_empty() && left > 1 {
                let more = first_kept(left, self.free.len());
                of.step(more * unit)?;
                left -= more;
                self.keep(of, self.units() - left)?;
            }
            of.step((left - 1) * unit)?;
        }
        let last = self.last();
        self.tape(of, last)?;
        self.tape_one(of, self.lag + last)?;
        if self.units() > 1 {
            let place = self.plan.states;
            self.end = Some(self.state(of, self.units(), place)?);
        }
        Ok(())
    }

    /// Gives the adjoint the values after the last step.
    ///
    /// # Errors
    /// The device refuses.
    pub fn give_end(&mut self, of: &mut Simulation, back: &mut Simulation) -> Result<(), Error> {
        self.bring(of, back)?;
        let last = self.last();
        self.restore(back, 1, self.lag + last)
    }

    /// Has values lie in this machine's memory where they were kept on a device and the adjoint is computed elsewhere.
    fn bring(&mut self, of: &mut Simulation, back: &mut Simulation) -> Result<(), Error> {
        let tape = self.values.as_mut().expect("it is here between steps");
        let (Form::Equations(of), Form::Equations(back)) = (&mut of.form, &mut back.form) else {
            return Ok(());
        };
        if tape.is_on_device() && back.room().free_room()?.is_none() {
            tape.bring(|kept| of.room().read_kept(kept))?;
        }
        Ok(())
    }

    /// Goes back over all steps; the simulation is then after them again. The adjoint takes a step more if the last one completes it.
    ///
    /// # Errors
    /// As [`Simulation::step`], of both.
    pub fn back(
        &mut self,
        of: &mut Simulation,
        back: &mut Simulation,
        completes: bool,
    ) -> Result<(), Error> {
        self.bring(of, back)?;
        if self.steps > 0 {
            self.back_over_all(of, back)?;
        }
        if completes { self.complete(of, back) } else { Ok(()) }
    }

    fn back_over_all(&mut self, of: &mut Simulation, back: &mut Simulation) -> Result<(), Error> {
        let last = self.last();
        self.restore(back, last, self.lag + last - 1)?;
        let Some(end) = self.end else { return Ok(()) };
        let passed = match &mut of.form {
            Form::Equations(system) => Some(system.passed()),
            Form::Sum(_) => None,
        };
        let gone = self.go_all(of, back);
        let is_back = self.return_to(of, end);
        if let (Some(passed), Form::Equations(system)) = (passed, &mut of.form) {
            let passed: StepRecords = passed;
            system.restore_records(passed);
        }
        // Why going back failed says more than why the way to the end did then.
        gone.and(is_back)
    }

    fn go_all(&mut self, of: &mut Simulation, back: &mut Simulation) -> Result<(), Error> {
        let mut end = self.units() - 1;
        while let Some(state) = self.kept.pop() {
            self.go(of, back, (state, end))?;
            self.free.push(state.place);
            end = state.unit;
        }
        Ok(())
    }

    /// Goes back over the units from a state up to this one.
    fn go(
        &mut self,
        of: &mut Simulation,
        back: &mut Simulation,
        (begin, end): (State, usize),
    ) -> Result<(), Error> {
        let (mut end, unit) = (end, self.plan.unit);
        while end > begin.unit {
            let units = end - begin.unit;
            self.return_to(of, begin)?;
            if units == 1 || self.free.is_empty() {
                self.take(of, (units - 1) * unit)?;
                // What comes after its last step is what came before the first one of the unit that was gone back over.
                self.values
                    .as_mut()
                    .expect("it is here between steps")
                    .swap(self.lag, self.lag + unit);
                self.tape(of, unit - 1)?;
                self.steps_again += unit - 1;
                self.tape_one(of, self.lag + unit - 1)?;
                self.restore(back, unit, self.lag + unit - 1)?;
                end -= 1;
                continue;
            }
            let more = first_kept(units, self.free.len());
            self.take(of, more * unit)?;
            let place = self.free.pop().expect("some are free");
            let middle = self.state(of, begin.unit + more, place)?;
            self.go(of, back, (middle, end))?;
            self.free.push(place);
            end = middle.unit;
        }
        Ok(())
    }

    fn take(&mut self, of: &mut Simulation, steps: usize) -> Result<(), Error> {
        self.steps_again += steps;
        if steps > 0 { of.step(steps) } else { Ok(()) }
    }

    /// Keeps the present state, which begins a unit.
    fn keep(&mut self, of: &mut Simulation, unit: usize) -> Result<(), Error> {
        let place = self.free.pop().expect("some are free");
        let state = self.state(of, unit, place)?;
        self.kept.push(state);
        Ok(())
    }

    fn state(&mut self, of: &mut Simulation, unit: usize, place: usize) -> Result<State, Error> {
        let (dtype, to) = (self.states.dtype, self.states.at(place));
        let step = of.steps();
        let clock = match &mut of.form {
            Form::Equations(system) => {
                system.keep(0..to.len(), (to, dtype))?;
                Some(system.present_clock())
            }
            Form::Sum(sum) => {
                let name = sum.name().to_owned();
                to[0].put(sum.field(&name)?.values)?;
                of.clock_of_a_sum()
            }
        };
        Ok(State { unit, step, clock, place })
    }

    /// Has the simulation be in a state that was kept.
    fn return_to(&mut self, of: &mut Simulation, state: State) -> Result<(), Error> {
        let kept = self.states.at(state.place);
        if let (Form::Equations(system), Some(clock)) = (&mut of.form, state.clock)
            && system.return_to((state.step, clock), kept)?
        {
            return Ok(());
        }
        let system = of.system().expect("gradients are of systems");
        let shape = system.shape();
        let names = names(system);
        let arrays = names.into_iter().zip(kept.iter());
        let arrays = arrays
            .map(|(name, kept)| Ok((name, Grid { shape, values: kept.values()?.into_owned() })));
        let (records, series, rows_of) = Default::default();
        let arrays = arrays.collect::<Result<_, Error>>()?;
        let State { step, clock, .. } = state;
        of.begin_with(SystemState { step, arrays, records, series, rows_of, clock })
    }

    /// Takes the first steps of a unit, with earlier values and those before each step on the tape.
    fn tape(&mut self, of: &mut Simulation, steps: usize) -> Result<(), Error> {
        for level in 1..=self.lag {
            self.tape_level(of, level, self.lag - level)?;
        }
        if let Form::Equations(system) = &mut of.form {
            if steps == 0 {
                return Ok(());
            }
            let fields = self.fields.iter().enumerate();
            let moves = fields.map(|(place, field)| {
                Ok(TapeTransfer { array: number(system, field, 0)?, place, when: 0 })
            });
            let moves = moves.collect::<Result<_, Error>>()?;
            let tape = self.values.take().expect("it is here between steps");
            let taping = TapedSession { tape, moves, way: TapeAction::Save, next: self.lag };
            self.values = Some(system.step_taping(steps, taping)?);
            return Ok(());
        }
        for step in 0..steps {
            self.tape_one(of, self.lag + step)?;
            of.step(1)?;
        }
        Ok(())
    }

    /// Has the present values be on the tape, at this time.
    fn tape_one(&mut self, of: &mut Simulation, time: usize) -> Result<(), Error> {
        self.tape_level(of, 0, time)
    }

    /// Has values so many steps before now be on the tape, at this time.
    fn tape_level(&mut self, of: &mut Simulation, level: usize, time: usize) -> Result<(), Error> {
        let tape = self.values.as_mut().expect("it is here between steps");
        let (dtype, to) = (tape.dtype, tape.at(time));
        match &mut of.form {
            Form::Equations(system) => {
                for (field, kept) in self.fields.iter().zip(to) {
                    // A field without so early a level is read at no such time.
                    if let Some(array) = system.number(field, level)? {
                        system.keep([array].into_iter(), (std::slice::from_mut(kept), dtype))?;
                    }
                }
                Ok(())
            }
            Form::Sum(sum) => {
                let name = sum.name().to_owned();
                let values = sum.field(&name)?.values;
                let (own, rounded) = (values.dtype(), values.cast(dtype));
                with_values!(&rounded, values => check_rounded(values, own, dtype))?;
                to[0].put(rounded)
            }
        }
    }

    /// Takes so many steps of the adjoint, from this time on the tape backwards.
    fn restore(&mut self, back: &mut Simulation, steps: usize, time: usize) -> Result<(), Error> {
        // Nothing comes after the last values, where the first step of the adjoint looks at them alone.
        let most = if time == self.lag + self.last() && steps == 1 { 0 } else { isize::MAX };
        self.step_back(back, (steps, time), |given| given.when.min(most))
    }

    /// Takes the step of the adjoint that completes it, with the values before the first step in the places of those after one.
    fn complete(&mut self, of: &Simulation, back: &mut Simulation) -> Result<(), Error> {
        let system = of.system().expect("gradients are of systems");
        let levels = |name: &str| system.find(name).map_or(0, |field| system.fields[field].levels);
        let when = |given: &ForwardField| {
            let is_of_state = 1 - given.when < levels(&given.field) as isize;
            // What reads a still earlier one does not count in that step.
            if is_of_state { given.when - 1 } else { 0 }
        };
        self.step_back(back, (1, self.lag), when)
    }

    /// Takes steps of the adjoint, from a time on the tape backwards, with values of the times that `when` says.
    fn step_back(
        &mut self,
        back: &mut Simulation,
        (steps, time): (usize, usize),
        when: impl Fn(&ForwardField) -> isize,
    ) -> Result<(), Error> {
        let Form::Equations(system) = &mut back.form else {
            unreachable!("what reads other fields is no stencil")
        };
        let tape = self.values.take().expect("it is here between steps");
        let moves = self.given.iter().map(|given| {
            let place = self.fields.iter().position(|field| *field == given.field);
            let place = place.expect("each field is among them");
            Ok(TapeTransfer { array: number(system, &given.name, 0)?, place, when: when(given) })
        });
        let moves = moves.collect::<Result<_, Error>>()?;
        let taping = TapedSession { tape, moves, way: TapeAction::Restore, next: time };
        self.values = Some(system.step_taping(steps, taping)?);
        Ok(())
    }

    /// Steps of the last unit; none of no steps.
    fn last(&self) -> usize {
        self.steps - self.units().saturating_sub(1) * self.plan.unit
    }
}

/// The number of an array that there is.
fn number(system: &SystemSimulation, name: &str, level: usize) -> Result<usize, Error> {
    Ok(system.number(name, level)?.expect("an array that equations read"))
}

/// The arrays of a system, in the order of their numbers.
fn names(system: &System) -> Vec<ArrayName> {
    let name = |array| match array {
        Array::Field { field, level } => {
            ArrayName { field: system.fields[field].name.clone(), level }
        }
        _ => unreachable!("levels of fields alone have numbers"),
    };
    system.numbered().into_iter().map(name).collect()
}
