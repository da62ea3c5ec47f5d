// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans for this machine: its GPU, if there is one, and its CPU, whose speed is measured.

use super::{Candidate, Forecast, Planned, Target, on_gpu};
use crate::engine::cpu::{self, Cpu, speed};
use crate::engine::fft::{self, Fft};
use crate::engine::{Engine, Input};
use crate::families::Unit;
use crate::families::cost::Cost;
use crate::families::refusal::Refusal;
use crate::{Error, Job, memory};
use std::time::Duration;

/// To measure a candidate of the CPU that is to be ranked.
const PATIENT: Duration = Duration::from_millis(300);
/// To measure one that is taken anyway, at least.
const QUICK: Duration = Duration::from_millis(20);

/// All ways to compute a job on this machine, in the order in which `--engine auto` takes them: those on its
/// GPU, if there is one, and then the CPU, which is measured in less than a second.
#[must_use]
pub fn on_this_machine(gpu: Result<Target, Refusal>, job: &Job) -> Planned {
    let mut planned = match gpu {
        Ok(target) => on_gpu(&target, job),
        Err(refusal) => {
            let mut planned = Planned::new(cpu::device(), FIGURES.into());
            Unit::ALL.iter().for_each(|unit| planned.reject(unit.engine(), refusal.clone()));
            planned
        }
    };
    let has_gpu = !planned.ranked.is_empty();
    match on_cpu(job, PATIENT) {
        Ok(candidate) => {
            planned.ranked.extend((!has_gpu).then(|| by_jumps(job, &candidate)).flatten());
            planned.ranked.push(candidate);
        }
        Err(refusal) => planned.reject(Cpu.name(), refusal),
    }
    planned
}

/// Jumps of many steps, where a run of all of them takes those instead of steps.
fn by_jumps(job: &Job, steps: &Candidate) -> Option<Candidate> {
    let seconds = fft::seconds(job);
    let taken = fft::check(job).is_ok()
        && speed::is_slower(job, steps.seconds_per_step, seconds).is_some()
        && Fft.host_bytes(job, Input::Kept) <= u128::from(memory::free().0) / 4 * 3;
    let cost = Cost {
        kernel: fft::KERNELS[0].into(),
        class: Fft.name().into(),
        work: 0.0,
        launches: 0.0,
        ..Cost::of(job, 1)
    };
    let per_step = seconds / rayon::current_num_threads() as f64 / job.steps.max(1) as f64;
    taken.then(|| Candidate::of_one_step(Fft.name(), job, cost, per_step))
}

/// Where the speeds of the CPU come from.
const FIGURES: &str =
    "measured by a short run of this very job, on a part of its grid if that is large";

/// What is expected of the CPU where it is taken whatever its speed: measured in about the time that the run
/// itself took, but for the copy of the whole grid, which is known. Nothing where there is too little memory.
#[must_use]
pub fn forecast_of_cpu(job: &Job, run: Duration, copy: Duration) -> Option<Forecast> {
    let speed = speed::measure(job, run.clamp(QUICK, PATIENT)).ok()?;
    // A pass reads and writes what a copy does.
    let copy = if speed.slab == job.shape { 0.0 } else { copy.as_secs_f64() / speed.depth as f64 };
    let predicted_seconds = Some(speed.seconds_per_step.max(copy) * job.steps as f64);
    Some(Forecast { predicted_seconds, figures: Some(FIGURES.into()), ..Forecast::default() })
}

/// The CPU, measured in about so long.
fn on_cpu(job: &Job, time: Duration) -> Result<Candidate, Refusal> {
    cpu::check(job)?;
    let short = |error: Error| Refusal::HostMemory(error.to_string());
    let need = Cpu.host_bytes(job, Input::Dropped);
    memory::require(&format!("a run on {} {} values", job.shape, job.dtype), need)
        .map_err(short)?;
    let speed = speed::measure(job, time).map_err(short)?;
    let cost = Cost {
        kernel: cpu::kernel(),
        class: Cpu.name().into(),
        work: job.stencil.taps().len() as f64,
        launches: 0.0,
        ..Cost::of(job, speed.depth)
    };
    let candidate = Candidate::of_one_step(Cpu.name(), job, cost, speed.seconds_per_step);
    Ok(Candidate { chain: speed.depth, ..candidate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use crate::problem::job::Depth;
    use transform::catalogue;
    use transform::machine::Machine;

    fn job() -> Job {
        let stencil = catalogue::find("star2d1r").unwrap();
        Job::new(stencil, "300x400".parse().unwrap(), Dtype::F32, 10)
    }

    fn no_driver() -> Refusal {
        Refusal::of(Error::NoDriver { reason: "not found".into() })
    }

    #[test]
    fn without_a_gpu_the_cpu_is_measured_and_the_others_say_why() {
        let planned = on_this_machine(Err(no_driver()), &job());
        assert!(planned.machine.starts_with("CPU, "), "{}", planned.machine);
        let [cpu] = planned.ranked.as_slice() else { panic!("{planned:?}") };
        assert_eq!((cpu.engine, cpu.fuse), ("cpu", 1));
        assert!((1..=10).contains(&cpu.chain), "{cpu:?}");
        assert!(cpu.seconds_per_step > 0.0 && cpu.gstencils_per_s > 0.0);
        for unit in Unit::ALL {
            assert_eq!(planned.refusal(unit.engine()).unwrap().kind(), "no-driver");
        }
        let fused = Job { fuse: Depth::Steps(2), ..job() };
        let planned = on_this_machine(Err(no_driver()), &fused);
        assert_eq!(planned.ranked, []);
        assert_eq!(planned.refusal("cpu").unwrap().kind(), "fuse");
        let huge = Job { shape: "1073741824x536870912".parse().unwrap(), ..job() };
        let planned = on_this_machine(Err(no_driver()), &huge);
        assert_eq!(planned.refusal("cpu").unwrap().kind(), "host-memory");
    }

    #[test]
    fn long_runs_are_planned_by_jumps() {
        let job = Job { steps: 1_000_000, ..job() };
        let job = Job { boundary: crate::Boundary::parse("periodic", 2).unwrap(), ..job };
        let planned = on_this_machine(Err(no_driver()), &job);
        let [fft, cpu] = planned.ranked.as_slice() else { panic!("{planned:?}") };
        assert_eq!((fft.engine, cpu.engine), ("fft", "cpu"));
        assert!(cpu.seconds_per_step > 10.0 * fft.seconds_per_step);
    }

    #[test]
    fn with_a_gpu_the_cpu_comes_last_whatever_its_speed() {
        let target = Target::described(Machine::h200());
        // The fewest points, on which it is the fastest.
        let job = Job { shape: "3x4".parse().unwrap(), steps: 1, ..job() };
        let planned = on_this_machine(Ok(target), &job);
        let [first, .., last] = planned.ranked.as_slice() else { panic!("{planned:?}") };
        assert_eq!(last.engine, "cpu");
        assert!(first.seconds_per_step > last.seconds_per_step);
    }
}
