// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans for this machine: its GPU, if there is one, and its CPU.

use super::cores::{self, Cores};
use super::{Candidate, Forecast, Planned, RunTarget, on_gpu};
use crate::engine::cpu::{self, Cpu};
use crate::engine::fft::{self, Fft};
use crate::engine::{Engine, Input};
use crate::families::Unit;
use crate::families::cost::Cost;
use crate::families::refusal::Refusal;
use problem::{Error, Job, memory};

/// All ways to compute a job on this machine, in the order in which `--engine auto` takes them: those on its
/// GPU, if there is one, and then the CPU.
#[must_use]
pub fn on_this_machine(gpu: Result<RunTarget, Refusal>, job: &Job) -> Planned {
    with_cores(gpu, cores::here(), job)
}

/// The plan of a job on a GPU, if there is one, and on cores of these speeds: nothing is measured.
fn with_cores(gpu: Result<RunTarget, Refusal>, cores: &Cores, job: &Job) -> Planned {
    let mut planned = match gpu {
        Ok(target) => on_gpu(&target, job),
        Err(refusal) => {
            let mut planned = Planned::new(cpu::device(), cores.source.clone());
            Unit::ALL.iter().for_each(|unit| planned.reject(unit.engine(), refusal.clone()));
            planned
        }
    };
    let has_gpu = !planned.ranked.is_empty();
    match on_cpu(job, cores) {
        Ok(candidate) => {
            planned.ranked.extend((!has_gpu).then(|| by_jumps(job, cores)).flatten());
            planned.ranked.push(candidate);
        }
        Err(refusal) => planned.reject(Cpu.name(), refusal),
    }
    planned
}

/// Jumps of many steps, where a run of all of them takes those instead of steps.
fn by_jumps(job: &Job, cores: &Cores) -> Option<Candidate> {
    takes_jumps(job, || cores)?;
    let cost = Cost {
        kernel: fft::KERNELS[0].into(),
        class: Fft.name().into(),
        work: 0.0,
        launches: 0.0,
        ..Cost::of(job, 1)
    };
    let per_step = cores.jumped(job) / job.steps.max(1) as f64;
    Some(Candidate::of_one_step(Fft.name(), job, cost, per_step))
}

/// How many times as long a run of all steps is expected to take one after the other, where the CPU takes jumps
/// instead. Nobody asks for the speeds of the cores for a small job.
pub(super) fn takes_jumps<'a>(job: &Job, cores: impl FnOnce() -> &'a Cores) -> Option<f64> {
    if fft::check(job).is_err() || cores::is_small(job) {
        return None;
    }
    let times = cores().worth_a_jump(job)?;
    let fits = Fft.host_bytes(job, Input::Kept) <= u128::from(memory::free().0) / 4 * 3;
    fits.then_some(times)
}

/// What is expected of the CPU where it is taken whatever its speed.
#[must_use]
pub fn forecast_of_cpu(job: &Job) -> Forecast {
    let cores = cores::here();
    let predicted_seconds = Some(cores.stepped(job).seconds_per_step * job.steps as f64);
    Forecast { predicted_seconds, figures: Some(cores.source.clone()), ..Forecast::default() }
}

/// The CPU, step by step.
///
/// # Errors
/// Why it cannot compute the job.
pub fn on_cores(job: &Job) -> Result<Candidate, Refusal> {
    on_cpu(job, cores::here())
}

/// The CPU, by its speeds.
fn on_cpu(job: &Job, cores: &Cores) -> Result<Candidate, Refusal> {
    cpu::check(job)?;
    let short = |error: Error| Refusal::HostMemory(error.to_string());
    let need = Cpu.host_bytes(job, Input::Dropped);
    memory::require(&format!("a run on {} {} values", job.shape, job.dtype), need)
        .map_err(short)?;
    let stepped = cores.stepped(job);
    let cost = Cost {
        kernel: cpu::kernel(),
        class: Cpu.name().into(),
        work: job.stencil.taps().len() as f64,
        launches: 0.0,
        ..Cost::of(job, stepped.depth)
    };
    let candidate = Candidate::of_one_step(Cpu.name(), job, cost, stepped.seconds_per_step);
    Ok(Candidate { chain: stepped.depth, ..candidate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::Dtype;
    use problem::job::Depth;
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
    fn without_a_gpu_the_cpu_is_ranked_and_the_others_say_why() {
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
        let job = Job { boundary: problem::Boundary::parse("periodic", 2).unwrap(), ..job };
        let planned = on_this_machine(Err(no_driver()), &job);
        let [fft, cpu] = planned.ranked.as_slice() else { panic!("{planned:?}") };
        assert_eq!((fft.engine, cpu.engine), ("fft", "cpu"));
        assert!(cpu.seconds_per_step > 10.0 * fft.seconds_per_step);
    }

    #[test]
    fn a_job_has_one_plan_on_one_machine() {
        let slow = Cores { jump: 1e9, ..Cores::built_in() };
        for steps in [1, 10, 1000, 1_000_000] {
            for dtype in Dtype::ALL {
                let job = Job { steps, dtype: *dtype, ..job() };
                let plan = |cores| with_cores(Err(no_driver()), cores, &job);
                let first = plan(cores::here());
                assert!((0..20).all(|_| plan(cores::here()) == first), "{steps} {dtype}");
                // The speeds decide, and nothing else does.
                assert_eq!(plan(&slow).ranked[0].engine, "cpu", "{steps} {dtype}");
            }
        }
    }

    #[test]
    fn small_jobs_ask_for_no_speeds() {
        let asked = |steps, shape: &str| {
            let job = Job { steps, shape: shape.parse().unwrap(), ..job() };
            let mut asked = false;
            takes_jumps(&job, || {
                asked = true;
                cores::here()
            });
            asked
        };
        // A blur, and a step.
        assert!(!asked(1, "2048x2048") && !asked(1, "64x64") && !asked(100, "64x64"));
        assert!(asked(1_000_000, "64x64"));
    }

    #[test]
    fn with_a_gpu_the_cpu_comes_last_whatever_its_speed() {
        let target = RunTarget::described(Machine::h200());
        // The fewest points, on which it is the fastest.
        let job = Job { shape: "3x4".parse().unwrap(), steps: 1, ..job() };
        let planned = on_this_machine(Ok(target), &job);
        let [first, .., last] = planned.ranked.as_slice() else { panic!("{planned:?}") };
        assert_eq!(last.engine, "cpu");
        assert!(first.seconds_per_step > last.seconds_per_step);
    }
}
