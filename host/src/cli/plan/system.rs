// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan FILE.toml`: how many steps of a system a GPU takes in a launch, and how fast that is predicted to be;
//! whether jumps take them; and all other ways, with why some are none.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use super::PlanArgs;
use crate::cli::Failure;
use compute::plan::Target;
use problem::Shape;
use systems::fft::{self, JumpPlan};
use systems::gpu::{self, Cores, SystemPlan};
use systems::ranking::Ranking;
use systems::{Description, System};

/// On a GPU, by jumps, and all ways.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    #[serde(flatten)]
    on_a_gpu: SystemPlan,
    jump: JumpPlan,
    #[serde(flatten)]
    ranking: Ranking,
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}{}{}", self.on_a_gpu, self.jump, self.ranking)
    }
}

/// The system of a file, with the size, the steps and the type that are given instead of its own.
pub fn read(path: &Path, args: &PlanArgs) -> Result<System, Failure> {
    let mut description = Description::read(path)?;
    description.dtype = args.dtype.unwrap_or(description.dtype);
    description.steps = args.steps.unwrap_or(description.steps);
    if let Some(size) = &args.size {
        let shape = size.parse::<Shape>()?.spread(description.size.len())?;
        description.size = shape.axes().to_vec();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(System::new(&description, folder)?)
}

/// The plan of a system.
pub fn plan(system: &System, target: &Target) -> Result<Planned, Failure> {
    let jump = fft::plan(system, &target.machine);
    let ranking = Ranking::of(system, &target.machine);
    Ok(Planned { on_a_gpu: gpu::plan(system, &target.machine, Cores::Any)?, jump, ranking })
}
