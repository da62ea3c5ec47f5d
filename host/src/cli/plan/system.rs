// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan FILE.toml`: how many steps of a system a GPU takes in a launch, and how fast that is predicted to be;
//! and whether jumps take them.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::Shape;
use crate::cli::Failure;
use crate::plan::Target;
use crate::system::fft::{self, JumpPlan};
use crate::system::gpu::{self, Cores, SystemPlan};
use crate::system::{Description, System};

/// On a GPU, and by jumps.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    #[serde(flatten)]
    on_a_gpu: SystemPlan,
    jump: JumpPlan,
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}{}", self.on_a_gpu, self.jump)
    }
}

/// The plan of a system's file, on a grid of this size instead of its own if one is given.
pub fn of_file(path: &Path, size: Option<&str>, target: &Target) -> Result<Planned, Failure> {
    let mut description = Description::read(path)?;
    if let Some(size) = size {
        let shape = size.parse::<Shape>()?.spread(description.size.len())?;
        description.size = shape.axes().to_vec();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let system = System::new(&description, folder)?;
    let jump = fft::plan(&system, &target.machine);
    Ok(Planned { on_a_gpu: gpu::plan(&system, &target.machine, Cores::Any)?, jump })
}
