// SPDX-License-Identifier: MIT OR Apache-2.0
//! Seconds of runs by their number of steps, and where one way becomes faster than another.

use std::collections::BTreeMap;
use std::fmt;

use stencil::bench::{DepthMode, Row};
use stencil::engine::EngineRequest;
use stencil::engine::fft::on_gpu;
use stencil::plan::{self, RunTarget};
use stencil::{Dtype, Shape};
use transform::machine::Machine;

use crate::records::Records;

/// How steps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SteppingMethod {
    /// One in each launch.
    Single,
    /// Several in each launch, by the engine that is fastest.
    Several,
    /// Any number at once, by transforms.
    Jump,
}

impl SteppingMethod {
    /// All of them, the one for the fewest steps first.
    pub const ALL: [Self; 3] = [Self::Single, Self::Several, Self::Jump];

    /// The way of a measurement, if it has one of these.
    fn of(row: &Row) -> Option<Self> {
        match (row.case.mode, row.case.engine) {
            (_, Some(EngineRequest::Fft)) => Some(Self::Jump),
            (DepthMode::Step, _) => Some(Self::Single),
            (DepthMode::Auto, Some(_)) => Some(Self::Several),
            _ => None,
        }
    }
}

impl fmt::Display for SteppingMethod {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "single steps",
            Self::Several => "several steps in a launch",
            Self::Jump => "jumps",
        })
    }
}

/// Where a time is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeSource {
    /// The planner.
    Predicted,
    /// The clock.
    Measured,
}

/// The times of one stencil on one grid in one type.
pub struct Curves {
    /// Stencil.
    pub stencil: &'static str,
    /// Grid.
    pub shape: Shape,
    /// Type.
    pub dtype: Dtype,
    /// Seconds of a run of so many steps.
    seconds: BTreeMap<(SteppingMethod, TimeSource), BTreeMap<usize, f64>>,
}

impl Curves {
    /// Seconds of a run.
    pub fn seconds(&self, way: SteppingMethod, source: TimeSource, steps: usize) -> Option<f64> {
        self.seconds.get(&(way, source))?.get(&steps).copied()
    }

    /// Steps and seconds of a way, fewest first.
    pub fn curve(
        &self,
        way: SteppingMethod,
        source: TimeSource,
    ) -> impl Iterator<Item = (usize, f64)> {
        let curve = self.seconds.get(&(way, source)).into_iter().flatten();
        curve.map(|(&steps, &seconds)| (steps, seconds))
    }

    /// All numbers of steps that were measured.
    pub fn steps(&self) -> Vec<usize> {
        let all = self.seconds.values().flat_map(|curve| curve.keys().copied());
        let mut all: Vec<usize> = all.collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// From how many steps on the second of two ways is the faster one: between two numbers that were measured as if
    /// logarithms of times were straight in those of steps; the first number where it always is; none where it never is.
    pub fn crossing(&self, [from, to]: [SteppingMethod; 2], source: TimeSource) -> Option<f64> {
        let lead = |steps: usize| {
            let [a, b] = [from, to].map(|way| self.seconds(way, source, steps));
            Some((steps as f64, (a? / b?).ln()))
        };
        let leads: Vec<(f64, f64)> = self.steps().into_iter().filter_map(lead).collect();
        let first = leads.iter().rposition(|&(_, lead)| lead <= 0.0).map_or(0, |last| last + 1);
        let &(steps, lead) = leads.get(first)?;
        let Some(&(before, behind)) = first.checked_sub(1).map(|before| &leads[before]) else {
            return Some(steps);
        };
        let part = -behind / (lead - behind);
        Some((before.ln() + part * (steps.ln() - before.ln())).exp())
    }
}

/// The curves of all stencils, grids and types, in the order of the records.
pub fn panels(records: &Records) -> Vec<Curves> {
    // Of jumps a record has no prediction: the planner makes it, of the machine that they were measured on.
    let abilities = plan::abilities(RunTarget::described(Machine::h200()));
    let mut all: Vec<Curves> = Vec::new();
    for row in &records.rows {
        let (case, Some(way), Some(measured)) =
            (&row.case, SteppingMethod::of(row), row.measurement())
        else {
            continue;
        };
        let (stencil, shape, dtype) = (case.workload.stencil, case.shape, case.dtype);
        let is_own = |curves: &&mut Curves| {
            (curves.stencil, curves.shape, curves.dtype) == (stencil, shape, dtype)
        };
        let curves = match all.iter_mut().find(is_own) {
            Some(curves) => curves,
            None => {
                all.push(Curves { stencil, shape, dtype, seconds: BTreeMap::new() });
                all.last_mut().expect("it was pushed")
            }
        };
        let of_speed = |speed: f64| (case.steps * shape.points()) as f64 / (1e9 * speed);
        let predicted = measured.predicted_gstencils_per_s.map(of_speed);
        let predicted = match way {
            SteppingMethod::Jump => on_gpu::seconds(&abilities, &case.job()),
            _ => predicted,
        };
        let measured = Some(of_speed(measured.gstencils_per_s));
        for (source, seconds) in
            [(TimeSource::Measured, measured), (TimeSource::Predicted, predicted)]
        {
            let Some(seconds) = seconds else { continue };
            // Of several engines the fastest.
            let best = curves.seconds.entry((way, source)).or_default();
            let best = best.entry(case.steps).or_insert(f64::INFINITY);
            *best = best.min(seconds);
        }
    }
    all
}
