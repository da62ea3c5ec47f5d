// SPDX-License-Identifier: MIT OR Apache-2.0
//! TOML files of systems of fields.

use std::path::Path;
use stencil::Error;
use stencil::cli::{Failure, remedy};
use stencil::engine::EngineRequest;
use stencil::system::{Description, System, SystemSimulation};

/// Grids and equations that take no longer than a target may.
const MOST_POINTS: usize = 64;

/// Reads a system, and takes two steps of it: each is what the oracle says. The place that an error names lies in a
/// text that it shows.
///
/// # Panics
/// A promise is broken.
pub fn system_file(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    match steps(text) {
        Ok(()) => (),
        Err(error @ Error::Verification { .. }) => panic!("{error}"),
        Err(error) => {
            if let Error::System(mistake) = &error {
                assert!(!mistake.what.is_empty() && mistake.line > 0);
                let end = mistake.text.chars().count() + 1;
                assert!((1..=end.max(mistake.column)).contains(&mistake.column), "{error}");
            }
            let failure = Failure::Library(error);
            assert!(!failure.to_string().is_empty() && !remedy(&failure).is_empty());
        }
    }
}

fn steps(text: &str) -> Result<(), Error> {
    let mut description = Description::parse("a.toml", text)?;
    // Files that it names are not read: there is no such folder.
    let system = System::new(&description, Path::new("/nowhere"))?;
    if system.shape().points() > MOST_POINTS {
        description.size = vec![4; system.shape().dims()];
    }
    let system = System::new(&description, Path::new("/nowhere"))?;
    let mut simulation = SystemSimulation::on(&system, EngineRequest::Cpu)?;
    for _ in 0..2 {
        simulation.checked_step()?;
    }
    Ok(())
}
