// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems on this machine's GPU, for who has one: `cargo test -p systems -- --ignored on_the_gpu`, with
//! `SYSTEM_CASES` for more of them.

use super::{cases, swept};
use crate::tests::draw;
use crate::{Description, System, SystemSimulation};
use compute::engine::EngineRequest;
use std::path::Path;

/// Steps one by one, as many as a launch takes, and the last one of a launch.
fn wrong(description: &Description, engine: EngineRequest) -> Result<(), problem::Error> {
    let system = System::new(description, Path::new(""))?;
    let mut simulation = SystemSimulation::on(&system, engine)?;
    simulation.checked_step()?;
    simulation.step(5)?;
    simulation.checked_step()?;
    simulation.step(19)?;
    simulation.checked_step()?;
    Ok(())
}

fn all(draw: fn(u64) -> Description, engine: EngineRequest) {
    let failed: Vec<String> = (0..cases(200))
        .filter_map(|seed| {
            wrong(&draw(seed), engine).err().map(|error| format!("seed {seed}: {error}"))
        })
        .collect();
    assert!(failed.is_empty(), "{} wrong: {}", failed.len(), failed.join("\n"));
}

#[test]
#[ignore = "needs a GPU"]
fn cuda_cores_agree_with_the_oracle() {
    all(draw::system, EngineRequest::Cuda);
}

#[test]
#[ignore = "needs a GPU"]
fn sparse_tensor_cores_agree_with_the_oracle() {
    all(swept::draw, EngineRequest::Sparse);
}
