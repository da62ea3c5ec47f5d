// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems on this machine's GPU, for who has one: `cargo test -p systems -- --ignored on_the_gpu`, with
//! `SYSTEM_CASES` for more of them, from seed `SYSTEM_FIRST` on.

use super::{cases, march, sweep};
use crate::tests::{draw, totals};
use crate::{ComputeOptions, Description, FieldText, System, SystemSimulation, families};
use compute::engine::EngineRequest;
use problem::Error;
use std::path::Path;

/// Steps one by one, as many as a launch takes, and the last one of a launch.
fn wrong(description: &Description, asked: &ComputeOptions) -> Result<(), Error> {
    let system = System::new(description, Path::new(""))?;
    let mut simulation = SystemSimulation::asked(&system, asked)?;
    simulation.checked_step()?;
    simulation.step(5)?;
    simulation.checked_step()?;
    simulation.step(19)?;
    simulation.checked_step()?;
    Ok(())
}

/// All cases; those that a family refuses, where one is asked for, are not counted. Returns how many were.
fn all(draw: impl Fn(u64) -> Description, asked: &ComputeOptions) -> u64 {
    let first = std::env::var("SYSTEM_FIRST").map_or(0, |text| text.parse().unwrap());
    let (mut failed, mut taken) = (Vec::new(), 0);
    // It keeps the GPU open, which would take longer for each case than the case.
    let _open = held();
    for seed in first..first + cases(200, 200) {
        match wrong(&draw(seed), asked) {
            Err(Error::Unsupported { .. }) if asked.family.is_some() => {}
            Err(error) => failed.push(format!("seed {seed}: {error}")),
            Ok(()) => taken += 1,
        }
    }
    assert!(failed.is_empty(), "{} wrong: {}", failed.len(), failed.join("\n"));
    taken
}

/// A small system on the GPU.
fn held() -> Result<SystemSimulation, Error> {
    let description = Description::new(&[8]).field(FieldText::new("u", "x", "u*u"));
    SystemSimulation::asked(&System::new(&description, Path::new(""))?, &on(EngineRequest::Cuda))
}

fn on(engine: EngineRequest) -> ComputeOptions {
    ComputeOptions { engine, ..ComputeOptions::default() }
}

fn by(family: &str) -> ComputeOptions {
    let family = families::find(family).expect("a family").name();
    ComputeOptions { family: Some(family), ..ComputeOptions::default() }
}

#[test]
#[ignore = "needs a GPU"]
fn cuda_cores_agree_with_the_oracle() {
    all(draw::system, &on(EngineRequest::Cuda));
}

#[test]
#[ignore = "needs a GPU"]
fn sparse_tensor_cores_agree_with_the_oracle() {
    all(sweep::draw, &on(EngineRequest::Sparse));
}

/// Points along z, y and x at most, of systems whose steps are marches: blocks are 64 points wide.
const MARCHED: [usize; 3] = [40, 60, 200];

#[test]
#[ignore = "needs a GPU"]
fn marches_agree_with_the_oracle() {
    let taken = all(|seed| march::drawn(seed, MARCHED), &by("march"));
    println!("march: {taken}");
    assert!(taken > 0);
}

#[test]
#[ignore = "needs a GPU"]
fn each_family_agrees_with_the_oracle() {
    for family in ["step", "chain"] {
        println!("{family}: {}", all(draw::system, &by(family)));
    }
}

#[test]
#[ignore = "needs a GPU"]
fn steps_with_stages_agree_with_the_oracle() {
    println!("stages: {}", all(|seed| draw::in_stages(seed, 3), &by("step")));
}

#[test]
#[ignore = "needs a GPU"]
fn stages_in_one_launch_agree_with_the_oracle() {
    let taken = all(|seed| draw::alike_in_stages(seed, 2), &by("chain"));
    println!("stages in one launch: {taken}");
    assert!(taken > 0);
}

#[test]
#[ignore = "needs a GPU"]
fn solves_agree_with_the_oracle() {
    println!("solves: {}", all(|seed| draw::with_solves(seed, 3, true), &by("step")));
}

/// Totals of what lies on the GPU, to the bits of what this machine makes of a copy; every other system has an equation of them.
#[test]
#[ignore = "needs a GPU"]
fn totals_have_the_bits_of_this_machine() {
    let first = std::env::var("SYSTEM_FIRST").map_or(0, |text| text.parse().unwrap());
    let _open = held();
    for seed in first..first + cases(100, 100) {
        let description = match seed % 4 {
            0 => draw::in_stages(seed, 2),
            1 => draw::many(seed),
            _ => draw::system(seed),
        };
        let description = totals::with_totals(description, seed, seed % 2 == 0);
        let system = System::new(&description, Path::new("")).unwrap();
        let simulation = SystemSimulation::asked(&system, &on(EngineRequest::Cuda)).unwrap();
        let mut simulation = simulation.with_series(3).unwrap();
        for _ in 0..2 {
            simulation.checked_step().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            simulation.step(6).unwrap();
            totals::assert_equal_bits(&mut simulation, &format!("seed {seed}"));
        }
        assert_eq!(simulation.series().len(), 5, "seed {seed}");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn fields_that_never_meet_agree_with_the_oracle() {
    let beside = |seed| {
        // A field that no other one reads, and that is a stencil.
        let field = FieldText::new("alone", "0.5*random(7)", "alone + 0.125*hx^2*own(alone)");
        draw::system(seed).derivative("own", "xx", 2).field(field)
    };
    let taken = all(beside, &by("apart"));
    println!("apart: {taken}");
    assert!(taken > 0);
}
