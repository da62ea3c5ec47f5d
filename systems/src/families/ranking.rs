// SPDX-License-Identifier: MIT OR Apache-2.0
//! What families propose for a system, the way that is predicted to be the fastest first.

use super::{Family, PlannedRun, RejectedPlan, StepPlan};
use compute::families::Refusal;
use compute::plan::Rejected;
use problem::Depth;

/// Ways to take the steps of a system.
pub struct Ranking {
    /// Those that there are, the fastest first.
    pub ways: Vec<StepPlan>,
    /// Why others are none.
    pub rejected: Vec<Rejected>,
}

impl Ranking {
    /// Of some families.
    pub fn of(families: &[&'static dyn Family], run: &PlannedRun) -> Self {
        let (mut ways, mut rejected) = (Vec::new(), Vec::new());
        for &family in families {
            for proposal in proposals(family, run) {
                match proposal {
                    Ok(way) => ways.push(way),
                    Err(RejectedPlan { chain, refusal }) => rejected.push(Rejected {
                        engine: family.engine(),
                        kernel: chain.map(|_| family.name().to_owned()),
                        fuse: 1,
                        chain: chain.unwrap_or(1),
                        refusal,
                    }),
                }
            }
        }
        let has_gpu = ways.iter().any(|way: &StepPlan| way.launch.is_some());
        let order = |way: &StepPlan| {
            let is_last = has_gpu && way.family.engine() == "cpu";
            let seconds = way.seconds_per_step * run.steps.max(1) as f64;
            (is_last, way.family.gain(run.system) * seconds + way.set_up)
        };
        ways.sort_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        Self { ways, rejected }
    }

    /// Why the families of an engine have no way: the reason of the one that was nearest to it.
    pub fn refusal(&self, engine: &str) -> Option<Refusal> {
        if self.ways.iter().any(|way| way.family.engine() == engine) {
            return None;
        }
        let own = self.rejected.iter().filter(|rejected| rejected.engine == engine);
        Refusal::nearest(own.map(|one| (one.chain, &one.refusal))).cloned()
    }
}

/// What a family proposes; nothing but jumps where their length is asked for.
fn proposals(family: &'static dyn Family, run: &PlannedRun) -> Vec<Result<StepPlan, RejectedPlan>> {
    let jumps = family.engine() == "fft";
    match run.system.jump {
        Depth::Steps(_) if !jumps => vec![Err(Refusal::Jump.into())],
        _ => family.propose(run),
    }
}
