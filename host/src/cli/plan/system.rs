// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan FILE.toml`: how many steps of a system a GPU takes in a launch, and how fast that is predicted to be.

use std::path::Path;

use crate::Shape;
use crate::cli::Failure;
use crate::plan::Target;
use crate::system::gpu::{SystemPlan, plan};
use crate::system::{Description, System};

/// The plan of a system's file, on a grid of this size instead of its own if one is given.
pub fn of_file(path: &Path, size: Option<&str>, target: &Target) -> Result<SystemPlan, Failure> {
    let mut description = Description::read(path)?;
    if let Some(size) = size {
        let shape = size.parse::<Shape>()?.spread(description.size.len())?;
        description.size = shape.axes().to_vec();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(plan(&System::new(&description, folder)?, &target.machine)?)
}
