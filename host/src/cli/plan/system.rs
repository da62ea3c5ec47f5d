// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan FILE.toml` of a system that is no stencil.

use std::path::Path;

use serde::Serialize;

use super::PlanArgs;
use super::ranking;
use crate::cli::Failure;
use compute::plan::Planned;
use problem::Shape;
use systems::families::Hardware;
use systems::{Description, System, plan};

/// The ways to take the steps of a system. Serialised, it is what `host plan` writes as JSON.
#[derive(Debug, Serialize)]
pub struct SystemPlan {
    /// Its title.
    title: String,
    /// The names of its fields.
    fields: Vec<String>,
    /// Extents, slowest axis first.
    shape: Vec<usize>,
    /// How fields are stored.
    dtype: String,
    #[serde(flatten)]
    planned: Planned,
}

impl SystemPlan {
    /// The plan of a system on such hardware.
    pub fn new(system: &System, hardware: &Hardware) -> Self {
        Self {
            title: system.title().to_owned(),
            fields: system.fields().map(str::to_owned).collect(),
            shape: system.shape().axes().to_vec(),
            dtype: system.dtype().to_string(),
            planned: plan::planned(system, hardware),
        }
    }

    /// The plan for people; with `all`, every way and every reason.
    pub fn readable(&self, all: bool) -> String {
        let title = if self.title.is_empty() { "(no title)" } else { &self.title };
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let (fields, shape) = (self.fields.join(", "), shape.join("x"));
        let Self { dtype, planned, .. } = self;
        let machine = &planned.machine;
        format!("{title}: {fields}, on {shape} in {dtype}, for {machine}\n")
            + &ranking::render(planned, all)
    }
}

/// The system of a file, with the size, the steps and the type that are given instead of its own.
pub fn read(path: &Path, args: &PlanArgs) -> Result<System, Failure> {
    let mut description = Description::read(path)?;
    description.dtype = args.dtype.unwrap_or(description.dtype);
    if let Some(size) = &args.size {
        let shape = size.parse::<Shape>()?.spread(description.size.len())?;
        description.size = shape.axes().to_vec();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let system = System::new(&description, folder)?;
    let steps = args.steps.unwrap_or(system.steps());
    Ok(system.with_steps(steps))
}
