// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the cores of this machine are, and what a job takes on them by that. They are measured once and kept
//! ([`here`]), so a job has one plan on a machine, and no plan waits for a measurement of the job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::{cpu, fft};
use problem::{Dtype, Job};

mod measure;
mod speed_cache;

pub use speed_cache::here;

/// Speeds of the cores, all of them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// Seconds that a pass over a grid takes at least.
    pub pass_s: f64,
    /// Seconds of a cycle that was counted, by element type: with `NEIGHBOURS` so many neighbours, few and many.
    pub cycle_s: BTreeMap<String, [f64; 2]>,
    /// Bytes that a copy from memory to memory reads and writes in a second.
    pub copy_bytes_per_s: f64,
    /// Seconds of jumps over those that are counted for them.
    pub jump: f64,
    /// Where these come from.
    #[serde(skip)]
    pub source: String,
}

/// Neighbours at which [`Cores::cycle_s`] is measured: those of `star2d1r` and of `box2d3r`.
const NEIGHBOURS: [f64; 2] = [5.0, 49.0];

/// What is expected of a job's steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// Seconds of a time step of the whole grid.
    pub seconds_per_step: f64,
    /// Time steps of a pass over the grid.
    pub depth: usize,
}

impl Cores {
    /// The speeds of `compute/data/cores.json`, for machines of which none are kept: estimates of a server's core, in which
    /// f16 and bf16 are widened and rounded.
    #[must_use]
    pub fn built_in() -> Self {
        let text = include_str!("../../../data/cores.json");
        let cores: Self = serde_json::from_str(text).expect("a test reads it");
        let source = "built-in speeds of a core, since none are kept for this machine".into();
        Self { source, ..cores }
    }

    /// What is expected of the steps of a job, one after the other.
    #[must_use]
    pub fn stepped(&self, job: &Job) -> Stepped {
        let counted = cpu::counted(job);
        let depth = counted.depth;
        let computed = counted.cycles * self.cycle_s(job);
        let bytes = 2.0 * job.shape.points() as f64 * job.dtype.bytes() as f64;
        // A pass reads and writes what a copy does.
        let moved = if counted.from_memory { bytes / self.copy_bytes_per_s } else { 0.0 };
        let per_pass = moved.max(self.pass_s);
        Stepped { seconds_per_step: computed.max(per_pass / depth as f64), depth }
    }

    /// Seconds that are expected of all steps of a job by jumps.
    #[must_use]
    pub fn jumped(&self, job: &Job) -> f64 {
        self.jump * fft::seconds(job) / rayon::current_num_threads() as f64
    }

    /// How many times as long a job is expected to take by steps as by jumps, if that is worth jumps.
    #[must_use]
    pub fn worth_a_jump(&self, job: &Job) -> Option<f64> {
        let steps = self.stepped(job).seconds_per_step * job.steps as f64;
        let times = steps / self.jumped(job);
        (steps > SHORT && times > FASTER).then_some(times)
    }

    /// Seconds of a cycle of a job: between few and many neighbours by the logarithm of their number.
    fn cycle_s(&self, job: &Job) -> f64 {
        let [few, many] = self.cycle_s[&job.dtype.to_string()];
        let [least, most] = NEIGHBOURS.map(f64::ln);
        let taps = (job.stencil.taps().len().max(1) as f64).ln();
        let part = ((taps - least) / (most - least)).clamp(0.0, 1.0);
        few + part * (many - few)
    }

    /// Whether every number is one that a machine can have, and no type is left out.
    fn is_whole(&self) -> bool {
        let Self { pass_s, cycle_s, copy_bytes_per_s, jump, .. } = self;
        let cycles = Dtype::ALL.iter().map(|it| cycle_s.get(&it.to_string()));
        let cycles: Option<Vec<&[f64; 2]>> = cycles.collect();
        let Some(cycles) = cycles else { return false };
        let mut numbers =
            cycles.into_iter().flatten().chain([pass_s, copy_bytes_per_s, jump]).copied();
        numbers.all(|number| (1e-15..1e18).contains(&number))
    }
}

/// Seconds on one core of a step of a point, and of each of its neighbours, as fast as cores and caches can.
const FASTEST: [f64; 2] = [0.1e-9, 0.05e-9];
/// By how much slower a core is than that, at most, but for unusual jobs.
const SLOWEST: f64 = 20.0;
/// A job that takes less needs no jumps, and by how much faster those have to be.
const SHORT: f64 = 0.1;
const FASTER: f64 = 1.5;

/// Whether a job is too small for jumps on any machine, so that nobody needs to know how fast this one is.
#[must_use]
pub fn is_small(job: &Job) -> bool {
    let steps = job.shape.points() as f64 * job.steps as f64;
    let per_point = FASTEST[0] + FASTEST[1] * job.stencil.taps().len() as f64;
    let by_steps = steps * SLOWEST * per_point / cpu::counted(job).threads as f64;
    let by_jumps = fft::seconds(job) / rayon::current_num_threads() as f64;
    by_steps < by_jumps.max(SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use transform::catalogue;

    fn job(stencil: &str, size: &str, dtype: Dtype, steps: usize) -> Job {
        let job = Job::new(catalogue::find(stencil).unwrap(), size.parse().unwrap(), dtype, steps);
        let boundary = problem::Boundary::parse("periodic", job.shape.dims()).unwrap();
        Job { boundary, ..job }
    }

    #[test]
    fn each_speed_counts_where_it_should() {
        let base = Cores::built_in();
        let seconds = |cores: &Cores, size: &str, dtype: Dtype| {
            cores.stepped(&job("star2d1r", size, dtype, 1)).seconds_per_step
        };
        let slower = |change: fn(&mut Cores), size: &str, dtype: Dtype| {
            let mut changed = base.clone();
            change(&mut changed);
            seconds(&changed, size, dtype) / seconds(&base, size, dtype)
        };
        for dtype in Dtype::ALL {
            let all = |cores: &mut Cores| {
                cores.cycle_s.values_mut().for_each(|it| *it = it.map(|it| it * 3.0));
            };
            assert!((slower(all, "300x300", *dtype) - 3.0).abs() < 1e-9, "{dtype}");
            let copy = |cores: &mut Cores| cores.copy_bytes_per_s = 1e8;
            assert!(slower(copy, "40000x40000", *dtype) > 2.0, "{dtype}");
            assert_eq!(slower(copy, "100x100", *dtype), 1.0, "{dtype}");
            let pass = |cores: &mut Cores| cores.pass_s *= 7.0;
            assert!((slower(pass, "4x4", *dtype) - 7.0).abs() < 1e-9, "{dtype}");
        }
    }

    #[test]
    fn neighbours_between_few_and_many_lie_between() {
        let mut cores = Cores::built_in();
        cores.cycle_s.insert("f32".into(), [1.0, 2.0]);
        let of = |stencil: &str, size: &str| cores.cycle_s(&job(stencil, size, Dtype::F32, 1));
        assert_eq!([of("star1d1r", "50"), of("star2d1r", "5x5")], [1.0, 1.0]);
        assert!((1.1..1.9).contains(&of("box2d2r", "9x9")));
        assert_eq!([of("box2d3r", "9x9"), of("box3d3r", "9x9x9")], [2.0, 2.0]);
    }

    #[test]
    fn what_is_small_is_worth_no_jump_on_any_machine() {
        let usual = Cores::built_in();
        let mut large = 0;
        for size in ["64x64", "512x512", "2048x2048"] {
            for steps in [1, 10, 100, 10_000, 1_000_000] {
                for dtype in Dtype::ALL {
                    let job = job("star2d1r", size, *dtype, steps);
                    let worth = usual.worth_a_jump(&job);
                    assert!(
                        !is_small(&job) || worth.is_none(),
                        "{size} {steps} {dtype}: {worth:?}"
                    );
                    large += usize::from(worth.is_some());
                }
            }
        }
        assert!(large > 5, "{large}");
    }

    #[test]
    fn numbers_that_no_machine_has_are_not_whole() {
        assert!(Cores::built_in().is_whole());
        for change in [
            |cores: &mut Cores| cores.pass_s = f64::NAN,
            |cores: &mut Cores| cores.copy_bytes_per_s = 0.0,
            |cores: &mut Cores| cores.jump = f64::INFINITY,
            |cores: &mut Cores| cores.cycle_s.get_mut("f16").unwrap()[1] = -1.0,
            |cores: &mut Cores| cores.cycle_s.retain(|name, _| name != "f64"),
        ] {
            let mut cores = Cores::built_in();
            change(&mut cores);
            assert!(!cores.is_whole(), "{cores:?}");
        }
    }
}
