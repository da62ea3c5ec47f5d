// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is predicted of a system on a GPU, for people and programs.

use std::fmt;

use serde::Serialize;
use transform::machine::Machine;

use super::choice::{Choice, Cores, choose};
use crate::checked::System;
use problem::Error;

/// How a GPU would compute a system, and how fast. Serialised, it is what `host plan` writes as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct SystemPlan {
    /// The system.
    pub title: String,
    /// The names of its fields.
    pub fields: Vec<String>,
    /// Extents, slowest axis first.
    pub shape: Vec<usize>,
    /// How fields are stored.
    pub dtype: String,
    /// The GPU.
    pub machine: String,
    /// The engine: `cuda`, or `sparse` for a sweep on sparse tensor cores.
    pub engine: &'static str,
    /// Steps of a launch.
    pub steps_per_launch: usize,
    /// Why it is one; null if it is not.
    pub why_one: Option<String>,
    /// Points along (z,) y and x that a block holds, z plane by plane, and those of them that are right after the launch;
    /// null with one step.
    pub part: Option<[Vec<usize>; 2]>,
    /// Predicted seconds of a step.
    pub seconds_per_step: f64,
    /// The same on CUDA cores with one step a launch.
    pub seconds_per_step_of_one: f64,
    /// Predicted 10^9 points times fields times steps in a second.
    pub gstencils_per_s: f64,
}

/// Predicted seconds of a step on the GPU of this machine, if there is one that can compute this.
#[must_use]
pub fn seconds_here(system: &System, cores: Cores) -> Option<f64> {
    let machine = compute::device::first().ok()?.machine();
    plan(system, &machine, cores).ok().map(|plan| plan.seconds_per_step)
}

/// What is predicted of a system on a GPU.
///
/// # Errors
/// [`Error::Unsupported`]: kernels have no instructions for it, or cannot take as many steps as are asked for.
pub fn plan(system: &System, machine: &Machine, cores: Cores) -> Result<SystemPlan, Error> {
    super::ptx(system).map_err(|reason| Error::Unsupported { engine: "cuda", reason })?;
    let Choice { swept, tile, seconds, single_seconds, why } = choose(system, machine, cores)?;
    let cores = if swept.is_some() { Cores::Sparse } else { Cores::Cuda };
    let work = (system.shape.points() * system.fields.len()) as f64;
    Ok(SystemPlan {
        title: system.title.clone(),
        fields: system.fields().map(str::to_owned).collect(),
        shape: system.shape.axes().to_vec(),
        dtype: system.dtype.to_string(),
        machine: machine.name.clone(),
        engine: cores.engine(),
        steps_per_launch: tile.map_or(1, |tile| tile.steps),
        why_one: why,
        part: tile.map(|tile| {
            let first = if tile.planes.is_some() { 0 } else { 1 };
            [tile.extents(), tile.middle()].map(|points| points[first..].to_vec())
        }),
        seconds_per_step: seconds,
        seconds_per_step_of_one: single_seconds,
        gstencils_per_s: work / seconds / 1e9,
    })
}

impl fmt::Display for SystemPlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "{name:<11}{value}");
        let fields = self.fields.join(", ");
        let title = if self.title.is_empty() { "(no title)" } else { &self.title };
        let by = |axes: &[usize]| axes.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        line("system", &format_args!("{title}: {fields}"))?;
        line("grid", &format_args!("{} of {}", by(&self.shape), self.dtype))?;
        line("machine", &self.machine)?;
        line("engine", &self.engine)?;
        match (&self.part, &self.why_one) {
            (Some([held, right]), _) => line(
                "launch",
                &format_args!(
                    "{} steps; a block holds {} points, of which {} are right in the end",
                    self.steps_per_launch,
                    by(held),
                    by(right)
                ),
            )?,
            (None, Some(why)) => line("launch", &format_args!("1 step ({why})"))?,
            (None, None) => line("launch", &"1 step, as asked")?,
        }
        let micro = self.seconds_per_step * 1e6;
        line(
            "predicted",
            &format_args!("{micro:.2} us a step, {:.0} GStencil/s", self.gstencils_per_s),
        )?;
        let gain = self.seconds_per_step_of_one / self.seconds_per_step;
        let of = if self.engine == "cuda" { "one step a launch" } else { "CUDA cores" };
        line("gain", &format_args!("{gain:.2} times {of}"))
    }
}
