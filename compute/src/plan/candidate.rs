// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways to compute a job, ranked, and those that are none.

use crate::families::cost::Cost;
use crate::families::{Proposal, Refusal};
use problem::Job;
use serde::Serialize;
use std::fmt;

/// A way to compute a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The engine.
    pub engine: &'static str,
    /// The kernel that takes most of the steps.
    pub kernel: String,
    /// Its family, if it is of one.
    pub family: Option<&'static str>,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
    /// Predicted seconds of a time step, on average over those of the job.
    pub seconds_per_step: f64,
    /// Predicted points and steps in a second, in 10^9.
    pub gstencils_per_s: f64,
    /// What the prediction of a stencil is made of: the launch that takes most of the steps.
    #[serde(skip)]
    pub cost: Option<Cost>,
    /// Of a stencil on a GPU, that launch and those for the steps that remain.
    #[serde(skip)]
    pub launches: Vec<Proposal>,
}

impl Candidate {
    /// Of one step at a time.
    pub(super) fn of_one_step(
        engine: &'static str,
        job: &Job,
        cost: Cost,
        seconds_per_step: f64,
    ) -> Self {
        Self {
            engine,
            kernel: cost.kernel.clone(),
            family: None,
            fuse: 1,
            chain: 1,
            seconds_per_step,
            gstencils_per_s: gstencils_per_s(job, seconds_per_step),
            cost: Some(cost),
            launches: Vec::new(),
        }
    }

    /// By launches on a GPU.
    pub(super) fn of_launches(job: &Job, launches: Vec<Proposal>, seconds_per_step: f64) -> Self {
        let &Proposal { family, fuse, chain, .. } = &launches[0];
        let cost = launches[0].cost(job);
        Self {
            family: Some(family.name()),
            fuse,
            chain,
            launches,
            ..Self::of_one_step(family.unit().engine(), job, cost, seconds_per_step)
        }
    }
}

fn gstencils_per_s(job: &Job, seconds_per_step: f64) -> f64 {
    job.shape.points() as f64 / seconds_per_step / 1e9
}

impl fmt::Display for Candidate {
    /// As in `sparse chain2d_f16_r3_c4, 3 fused x 4 chained`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.engine, self.kernel)?;
        match depth(self.fuse, self.chain) {
            depth if depth.is_empty() => Ok(()),
            depth => write!(f, ", {depth}"),
        }
    }
}

/// Fused and chained steps in words; nothing of one step at a time.
#[must_use]
pub fn depth(fuse: usize, chain: usize) -> String {
    match (fuse, chain) {
        (1, 1) => String::new(),
        (fuse, 1) => format!("{fuse} fused"),
        (1, chain) => format!("{chain} chained"),
        (fuse, chain) => format!("{fuse} fused x {chain} chained"),
    }
}

/// A way that is none for this job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// The engine.
    pub engine: &'static str,
    /// The kernel, or its family; none where the whole engine is out.
    pub kernel: Option<String>,
    /// Time steps in one sum.
    pub fuse: usize,
    /// Such sums chained on chip.
    pub chain: usize,
    /// Why: its `kind` and `reason`.
    #[serde(flatten)]
    pub refusal: Refusal,
}

/// All candidates of a plan, with those that were rejected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    /// What the times are for.
    pub machine: String,
    /// Where its speeds come from.
    pub figures: String,
    /// Those that there are, in the order in which `--engine auto` takes them: the fastest first, and the CPU
    /// after every GPU engine.
    pub ranked: Vec<Candidate>,
    /// The others.
    pub rejected: Vec<Rejected>,
}

impl Planned {
    /// Nothing yet.
    #[must_use]
    pub fn new(machine: String, figures: String) -> Self {
        Self { machine, figures, ranked: Vec::new(), rejected: Vec::new() }
    }

    /// A whole engine that is out.
    pub fn reject(&mut self, engine: &'static str, refusal: Refusal) {
        self.rejected.push(Rejected { engine, kernel: None, fuse: 1, chain: 1, refusal });
    }

    /// Why an engine is out, if none of its kernels takes the job: the reason of the one that was nearest to it.
    #[must_use]
    pub fn refusal(&self, engine: &str) -> Option<&Refusal> {
        if self.ranked.iter().any(|candidate| candidate.engine == engine) {
            return None;
        }
        let own = self.rejected.iter().filter(|rejected| rejected.engine == engine);
        Refusal::nearest(own.map(|one| (one.fuse * one.chain, &one.refusal)))
    }
}
