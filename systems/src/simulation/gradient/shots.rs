// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gradients of shots: several at the same time where one alone does not fill the cores or the GPU, else one after the other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::{Cotangents, Gradient, GradientBy, TapeStorage};
use crate::adjoint::refused;
use crate::adjoint::schedule::ReversePlan;
use crate::checked::System;
use crate::parts::Start;
use crate::simulation::{Form, Simulation, SystemState};
use compute::engine::EngineRequest;
use compute::engine::cpu::caches;
use problem::control::Control;
use problem::memory::{self, Bytes};
use problem::{Error, Grid};

/// The gradients of shots together.
#[derive(Clone, Debug)]
pub struct ShotGradients {
    /// Their sum, in the order of the shots; but for what sources add.
    pub sum: Gradient,
    /// Of each shot the derivative by what each source adds in each step.
    pub sources: Vec<Vec<Vec<f64>>>,
}

/// What a shot has left.
struct ShotResult {
    gradient: Gradient,
    /// Its last values, of the last shot if another simulation computed it.
    end: Option<SystemState>,
}

/// What is asked of each shot.
struct Task<'a> {
    begin: &'a SystemState,
    shots: &'a [Vec<Vec<f64>>],
    steps: usize,
    by: &'a GradientBy,
    /// What kept states of one shot may take at most, whatever the limit of a gradient is.
    share: Option<Bytes>,
    misfit: &'a (dyn Fn(&mut Simulation, usize) -> Result<Cotangents, Error> + Sync),
}

impl Task<'_> {
    fn of(&self, of: &mut Simulation, number: usize) -> Result<Gradient, Error> {
        of.begin_shot(self.begin, &self.shots[number])?;
        let by = (self.by, self.share);
        of.gradient_within(self.steps, by, |after| (self.misfit)(after, number))
    }
}

impl Simulation {
    /// Takes so many steps once for each shot, each time from the present values and with these numbers for what sources add
    /// ([`Simulation::begin_shot`]), and returns the sum of their gradients ([`Simulation::gradient`]). `misfit` is told the number of
    /// the shot. The simulation is then after the steps of the last one.
    ///
    /// Shots of a grid that is small for the caches are computed at the same time, each by one core. Those of a grid that is small for a GPU
    /// have a stream and a thread each. `misfit` may be asked by several threads, of shots in any order. The sum has the same bits all the
    /// same. They share the memory that kept states may take, and so many are computed at the same time as take the least
    /// time so: each of more has fewer states, and takes more steps again.
    ///
    /// # Errors
    /// As both of these; there are no shots. Then it is as it was before the first shot.
    pub fn gradient_of_shots(
        &mut self,
        (steps, shots): (usize, &[Vec<Vec<f64>>]),
        by: &GradientBy,
        misfit: impl Fn(&mut Self, usize) -> Result<Cotangents, Error> + Sync,
    ) -> Result<ShotGradients, Error> {
        self.check_alone()?;
        let (begin, before) = (self.state()?, self.choices.clone());
        let on_device = match &mut self.form {
            Form::Equations(own) if by.place != TapeStorage::Memory => own.room().free_room()?,
            _ => None,
        };
        let together = match (&by.place, by.memory) {
            (TapeStorage::Folder(_), None) => None,
            (_, asked) => {
                let free = on_device.unwrap_or_else(|| memory::free().0);
                Some(asked.unwrap_or(Bytes(free / 4)))
            }
        };
        let (side_by_side, engine) = self.side_by_side((shots.len(), steps), by, together)?;
        let share = together.filter(|_| side_by_side > 1);
        let share = share.map(|all| Bytes(all.0 / side_by_side as u64));
        let task = Task { begin: &begin, shots, steps, by, share, misfit: &misfit };
        let mut all = Sum::default();
        let taken = match side_by_side {
            0 | 1 => self.one_after_the_other(&task, &mut all),
            _ => {
                // Other simulations take the steps: until they have, this one is as it was.
                let end = self.others((side_by_side, engine), &task, &mut all)?;
                self.end_with(&task, end)
            }
        };
        if let Err(error) = taken {
            self.choices = before;
            self.go_on(begin)?;
            return Err(error);
        }
        all.found()
    }

    fn one_after_the_other(&mut self, task: &Task, all: &mut Sum) -> Result<(), Error> {
        for number in 0..task.shots.len() {
            all.add(task.of(self, number)?);
        }
        Ok(())
    }

    /// Has so many other simulations compute the shots; the values after the last one.
    fn others(
        &self,
        (count, engine): (usize, EngineRequest),
        task: &Task,
        all: &mut Sum,
    ) -> Result<Option<SystemState>, Error> {
        let choices = self.choices.as_ref().expect("they are of a system");
        let (system, control, series) = (&choices.system, &choices.control, choices.series);
        let of = ShotContext { system, engine, control, series };
        all.side_by_side(count, task, &of)
    }

    /// Has the values after the last shot.
    fn end_with(&mut self, task: &Task, end: Option<SystemState>) -> Result<(), Error> {
        let Some(end) = end else { return Ok(()) };
        self.begin_shot(task.begin, task.shots.last().expect("there are some"))?;
        self.begin_with(end)
    }

    /// How many shots are computed at the same time, and by which engine. By one core each, if the arrays of all of them are in the
    /// caches, so that a core waits neither for memory nor for other cores. On a GPU by a stream each, if together they have no more points
    /// than it computes at once. Of these as many as [`at_once`] says. Among ranks one.
    fn side_by_side(
        &mut self,
        (shots, steps): (usize, usize),
        by: &GradientBy,
        together: Option<Bytes>,
    ) -> Result<(usize, EngineRequest), Error> {
        let (cores, one) = (rayon::current_num_threads(), (1, EngineRequest::Auto));
        let Some(choices) = &self.choices else { return Ok(one) };
        let system = &choices.system;
        // Shots begin with a state, but fields whose starts lie on a GPU are copied by one thread.
        let is_given = |start: &Start| matches!(start, Start::OnDevice(_));
        let is_plain = choices.asked.sharing.is_none()
            && choices.asked.family.is_none()
            && choices.asked.inputs.is_empty()
            && choices.portions.is_none()
            && !system.fields.iter().any(|own| is_given(&own.start));
        let bytes = system.arrays() * system.shape().points() * system.dtype().bytes();
        let bytes = (bytes as u64).max(1);
        let Form::Equations(own) = &mut self.form else { return Ok(one) };
        let (asked, free) = (choices.asked.engine, own.room().free_room()?);
        let (engine, fit) = match (own.room().engine(), asked, free) {
            ("cpu", EngineRequest::Auto | EngineRequest::Cpu, None)
                if by.place != TapeStorage::Device =>
            {
                // Forwards and backwards.
                (EngineRequest::Cpu, caches::last_level() as u64 / (2 * bytes))
            }
            ("cuda", EngineRequest::Auto | EngineRequest::Cuda, Some(free)) => {
                let most = (FILL / system.shape().points().max(1)).clamp(1, STREAMS);
                // With their adjoints, of twice as many arrays and some more.
                (EngineRequest::Cuda, (most as u64).min(free / (8 * bytes)))
            }
            ("emulate", EngineRequest::Emulate, _) => (EngineRequest::Emulate, STREAMS as u64),
            _ => return Ok(one),
        };
        let most = cores.min(fit.min(shots as u64) as usize);
        let count = match together {
            Some(all) => at_once(most, (shots, steps), (bytes.into(), all.0.into())),
            None => most,
        };
        Ok(if is_plain { (count, engine) } else { one })
    }
}

/// How many of so many shots are computed at the same time, at most so many, if they share the memory for states of so many bytes, of which
/// the steps between are taken again: those that take the least time; one if more have not a state each.
fn at_once(most: usize, (shots, steps): (usize, usize), (state, together): (u128, u128)) -> usize {
    /// What a step and the way back over it take, in steps.
    const BACK_AND_FORTH: u128 = 4;
    let time = |count: usize| {
        let plan = ReversePlan::within((steps, 0), (state, state), together / count as u128)?;
        let of_a_shot = BACK_AND_FORTH * steps as u128 + plan.cost(steps);
        Some((shots.div_ceil(count) as u128 * of_a_shot, count))
    };
    (1..=most).filter_map(time).min().map_or(1, |(_, count)| count)
}

/// Points that a GPU computes at once, about: a launch of fewer leaves a part of it idle.
const FILL: usize = 1 << 20;
/// Streams of a GPU, at most: launches of more threads wait for each other in the driver.
const STREAMS: usize = 8;

/// What simulations of shots are made of. The engine is the one that takes the steps of the simulation, too: chosen anew it might be another
/// one, as one thread is predicted to take other times than all.
struct ShotContext<'a> {
    system: &'a System,
    engine: EngineRequest,
    control: &'a Control,
    series: Option<usize>,
}

impl ShotContext<'_> {
    /// Computes shots by one core, the next one that nobody has begun, until there is none or something fails.
    fn work(
        &self,
        task: &Task,
        (next, failed): (&AtomicUsize, &AtomicBool),
        to: &Sender<(usize, Result<ShotResult, Error>)>,
    ) {
        let count = task.shots.len();
        let mut own = None;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || failed.load(Ordering::Relaxed) {
                return;
            }
            let shot = self.shot(task, number, &mut own);
            failed.fetch_or(shot.is_err(), Ordering::Relaxed);
            // Nobody waits for it any more if another one has failed.
            let _ = to.send((number, shot));
        }
    }

    fn shot(
        &self,
        task: &Task,
        number: usize,
        own: &mut Option<Simulation>,
    ) -> Result<ShotResult, Error> {
        let simulation = match own {
            Some(own) => own,
            None => {
                let made = Simulation::of(self.system).engine(self.engine);
                let mut made = made.control(self.control.clone()).state(task.begin.clone());
                if let Some(every) = self.series {
                    made = made.series(every);
                }
                own.insert(made.build()?)
            }
        };
        let gradient = task.of(simulation, number)?;
        let is_last = number + 1 == task.shots.len();
        let end = if is_last { Some(simulation.state()?) } else { None };
        Ok(ShotResult { gradient, end })
    }
}

/// The sum of gradients, in the order of the shots.
#[derive(Default)]
struct Sum {
    sum: Option<Gradient>,
    sources: Vec<Vec<Vec<f64>>>,
}

impl Sum {
    fn add(&mut self, mut of_shot: Gradient) {
        self.sources.push(std::mem::take(&mut of_shot.sources));
        let Some(sum) = &mut self.sum else {
            self.sum = Some(of_shot);
            return;
        };
        let pairs = sum.start.iter_mut().map(|(_, grid)| grid);
        let pairs = pairs.chain(sum.coefficients.iter_mut().map(|(_, grid)| grid));
        let own = of_shot.start.iter().map(|(_, grid)| grid);
        let own = own.chain(of_shot.coefficients.iter().map(|(_, grid)| grid));
        pairs.zip(own).for_each(|(sum, own)| *sum = added(sum, own));
        for ((_, sum), (_, own)) in sum.parameters.iter_mut().zip(of_shot.parameters) {
            *sum += own;
        }
        sum.steps_again += of_shot.steps_again;
    }

    /// Computes so many shots at the same time; the values after the last one.
    fn side_by_side(
        &mut self,
        count: usize,
        task: &Task,
        of: &ShotContext,
    ) -> Result<Option<SystemState>, Error> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let (to, from) = channel();
            for _ in 0..count {
                let (to, counts) = (to.clone(), (&next, &failed));
                scope.spawn(move || {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                    let pool = pool.expect("a thread starts");
                    pool.install(|| of.work(task, counts, &to));
                });
            }
            drop(to);
            let (mut waiting, mut added, mut end) = (BTreeMap::new(), 0, None);
            for (number, shot) in from {
                waiting.insert(number, shot);
                while let Some(shot) = waiting.remove(&added) {
                    let shot = shot.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
                    added += 1;
                    self.add(shot.gradient);
                    end = shot.end;
                }
            }
            // The first one of those that failed, if an earlier one was not begun any more.
            match waiting.into_values().find_map(Result::err) {
                Some(error) => Err(error),
                None => Ok(end),
            }
        })
    }

    fn found(self) -> Result<ShotGradients, Error> {
        let sources = self.sources;
        let sum = self.sum.ok_or_else(|| refused("there are no shots".into()))?;
        Ok(ShotGradients { sum, sources })
    }
}

/// The sum of two grids, as they are stored.
fn added(a: &Grid, b: &Grid) -> Grid {
    let sums = (0..a.shape.points()).map(|at| a.get(at) + b.get(at)).collect();
    let sum = problem::Values::F64(sums).cast(a.dtype());
    Grid { shape: a.shape, values: sum }
}

#[cfg(test)]
mod tests {
    use super::at_once;

    #[test]
    fn shots_at_the_same_time_have_enough_states_each() {
        let of = |states: u128| at_once(8, (16, 1000), (100, 100 * states));
        // Eight of a state each would take 499,500 of 1,000 steps again.
        assert_eq!([0, 8, 30, 60, 100, 8800].map(of), [1, 1, 3, 6, 8, 8]);
        // One after the other while the others have nothing to do is no gain.
        assert_eq!(at_once(8, (3, 10), (1, 1 << 20)), 3);
    }
}
