// SPDX-License-Identifier: MIT OR Apache-2.0
//! All ways to take the steps of a system, the fastest first, and why the others are none.

use std::fmt;

use serde::Serialize;
use transform::machine::Machine;

use super::checked::System;
use super::fft::{self, JumpPlan};
use super::gpu::{self, Cores};
use super::sum;

/// A way to take steps, and what is predicted of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// The engine.
    pub engine: &'static str,
    /// Where: the machine's name, or `this machine's cores`.
    pub device: String,
    /// Steps of a launch, or of a jump.
    pub steps_at_once: usize,
    /// Predicted seconds of a step.
    pub seconds_per_step: f64,
    /// Predicted 10^9 points times fields times steps in a second.
    pub gstencils_per_s: f64,
}

/// What cannot take steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Out {
    /// The engine.
    pub engine: &'static str,
    /// Steps of a launch; null for any number.
    pub steps_at_once: Option<usize>,
    /// Why it cannot.
    pub reason: String,
}

/// The ways, by what they are predicted to take. Serialised, it is part of what `host plan` writes as JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ranking {
    /// The fastest first.
    pub ranked: Vec<Way>,
    /// The others, with the reasons.
    pub rejected: Vec<Out>,
}

impl Ranking {
    /// The ways of a system on a machine with such a GPU, and on the cores of this one.
    #[must_use]
    pub fn of(system: &System, machine: &Machine) -> Self {
        let mut ranking = Self::default();
        let work = (system.shape.points() * system.fields.len()) as f64;
        let way = |engine, device: &str, steps_at_once, seconds_per_step: f64| Way {
            engine,
            device: device.to_owned(),
            steps_at_once,
            seconds_per_step,
            gstencils_per_s: work / seconds_per_step / 1e9,
        };
        let out = |engine, steps_at_once, reason: &str| Out {
            engine,
            steps_at_once,
            reason: reason.to_owned(),
        };
        let cores = "this machine's cores";
        for (steps, found) in gpu::chains(system, machine) {
            match found {
                Ok(seconds) => {
                    ranking.ranked.push(way(Cores::Cuda.engine(), &machine.name, steps, seconds));
                }
                Err(reason) => {
                    ranking.rejected.push(out(Cores::Cuda.engine(), Some(steps), &reason));
                }
            }
        }
        match gpu::sweep(system, machine) {
            Ok(seconds) => {
                ranking.ranked.push(way(Cores::Sparse.engine(), &machine.name, 1, seconds));
            }
            Err(reason) => ranking.rejected.push(out(Cores::Sparse.engine(), None, &reason)),
        }
        let JumpPlan { why_not, steps, seconds, seconds_on_gpu, why_not_on_gpu, .. } =
            fft::plan(system, machine);
        if let Some(reason) = why_not.or(why_not_on_gpu) {
            ranking.rejected.push(out("fft", None, &reason));
        }
        let jumps = [(machine.name.as_str(), seconds_on_gpu), (cores, seconds)];
        for (device, seconds) in jumps.into_iter().filter(|_| steps > 0) {
            let of_step = seconds.map(|seconds| seconds / steps as f64);
            ranking.ranked.extend(of_step.map(|seconds| way("fft", device, steps, seconds)));
        }
        ranking.ranked.push(way("cpu", cores, 1, fft::stepped(system, 1)));
        let reason = "no kernel there finishes a sum with equations";
        ranking.rejected.push(out("dense", None, reason));
        if let Err(why) = sum::job(system) {
            let reason = format!("it is no stencil, whose kernels would take it: {why}");
            ranking.rejected.push(out("stencils", None, &reason));
        }
        ranking.ranked.sort_by(|a, b| a.seconds_per_step.total_cmp(&b.seconds_per_step));
        ranking
    }
}

impl fmt::Display for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let fastest = self.ranked.first().map_or(1.0, |first| first.seconds_per_step);
        writeln!(f, "\npredicted, fastest first")?;
        for Way { engine, device, steps_at_once, seconds_per_step, gstencils_per_s } in &self.ranked
        {
            let behind = seconds_per_step / fastest;
            writeln!(
                f,
                "  {engine:<7} {:<26} {gstencils_per_s:>9.3} GStencil/s  {:>11.3} µs a step  {behind:>6.2}  {device}",
                count(*steps_at_once),
                1e6 * seconds_per_step,
            )?;
        }
        writeln!(f, "out")?;
        for Out { engine, steps_at_once, reason } in &self.rejected {
            match steps_at_once {
                Some(steps) => writeln!(f, "  {engine:<7} {}: {reason}", count(*steps))?,
                None => writeln!(f, "  {engine:<7} {reason}")?,
            }
        }
        Ok(())
    }
}

fn count(steps: usize) -> String {
    match steps {
        1 => "1 step at once".into(),
        steps => format!("{steps} steps at once"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Description;
    use crate::examples::EXAMPLES;

    /// What is fastest on CUDA cores is what is taken there, and each engine is ranked or refused.
    #[test]
    fn every_engine_is_ranked_or_refused() {
        for example in EXAMPLES {
            let description = Description::parse(example.name, example.text).unwrap();
            let system = System::new(&description, Path::new("")).unwrap();
            let ranking = Ranking::of(&system, &Machine::h200());
            for engine in ["cuda", "sparse", "fft", "cpu", "dense"] {
                let ranked = ranking.ranked.iter().any(|way| way.engine == engine);
                let refused = ranking.rejected.iter().any(|out| out.engine == engine);
                assert!(ranked || refused, "{}: {engine}", example.name);
            }
            let on_cuda_cores = |way: &&Way| way.engine == "cuda";
            let first = ranking.ranked.iter().find(on_cuda_cores).unwrap();
            let plan = gpu::plan(&system, &Machine::h200(), Cores::Cuda).unwrap();
            // A gain of less than a 20th is left.
            assert!(first.seconds_per_step <= plan.seconds_per_step, "{}", example.name);
            assert!(first.seconds_per_step * 1.06 > plan.seconds_per_step, "{}", example.name);
        }
    }
}
