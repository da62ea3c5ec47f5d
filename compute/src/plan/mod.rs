// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of all ways to compute a job is the fastest: counted costs, efficiencies as measured, one ranking.
//! `host plan` prints it, `--engine auto` takes what comes first, and `host bench` sets it beside what it
//! measures.

pub mod calibration;
mod candidate;
mod choice;
pub mod cores;
mod forecast;
pub mod scale;
pub mod schedules;
mod shared;
mod target;
mod this_machine;

pub use candidate::{Candidate, Planned, Rejected, depth};
pub use choice::{Choice, WORTH_A_JUMP, abilities, abilities_of, choose, choose_whole, why};
pub use forecast::Forecast;
pub use shared::{Sharing, choose_shared};
pub use target::RunTarget;
pub use this_machine::{forecast_of_cpu, on_cores, on_this_machine};

use crate::engine::on_gpu as grids;
use crate::families::{Refusal, Unit};
use calibration::Calibration;
use problem::{Depth, Job};
use schedules::{RefusedFamily, Schedule, ScheduleSearch};

/// All ways to compute a job on a GPU.
#[must_use]
pub fn on_gpu(target: &RunTarget, job: &Job) -> Planned {
    by_units(&Unit::ALL, target, job)
}

/// The ways of some units to compute a job on a GPU.
#[must_use]
pub fn by_units(units: &[Unit], target: &RunTarget, job: &Job) -> Planned {
    let machine = &target.machine;
    let mut planned = Planned::new(machine.name.clone(), machine.source.clone());
    for &unit in units {
        let engine = unit.engine();
        if let Err(error) = grids::check(engine, machine.memory_bytes, job) {
            planned.reject(engine, Refusal::of(error));
        } else if job.jump != Depth::Auto {
            planned.reject(engine, Refusal::Jump);
        } else if job.kernel.is_some_and(|name| unit.families().all(|family| family.name() != name))
        {
            planned.reject(engine, Refusal::Family);
        } else {
            planned.add(ScheduleSearch { unit, limits: target.limits, machine }, job);
        }
    }
    planned.sort();
    planned
}

impl Planned {
    /// The fastest first; after them those of a scheme that was never measured, of which nothing is known.
    fn sort(&mut self) {
        let known = |one: &Candidate| {
            one.cost.as_ref().is_some_and(|cost| Calibration::built_in().knows_scheme(&cost.class))
        };
        self.ranked.sort_by(|a, b| {
            let faster = a.seconds_per_step.total_cmp(&b.seconds_per_step);
            known(b).cmp(&known(a)).then(faster)
        });
    }

    /// The ways of one unit.
    fn add(&mut self, search: ScheduleSearch, job: &Job) {
        let found = search.candidates(job);
        for Schedule { launches, seconds_per_step } in found.ranked {
            self.ranked.push(Candidate::of_launches(job, launches, seconds_per_step));
        }
        let engine = search.unit.engine();
        for RefusedFamily { family, fuse, chain, refusal } in found.rejected {
            let kernel = Some(family.to_string());
            self.rejected.push(Rejected { engine, kernel, fuse, chain, refusal });
        }
    }
}
