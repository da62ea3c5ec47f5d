// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that find neighbours beyond sides by themselves have the bits of tiles, and those of many arrays agree with the
//! oracle, at all sides and sizes.

use rayon::prelude::*;
use std::path::Path;

use super::{cases, on_a_machine, simulation};
use crate::SystemSimulation;
use crate::checked::System;
use crate::gpu::geometry::Geometry;
use crate::gpu::kernel::Kernel;
use crate::gpu::many;
use crate::start::StartValues;
use crate::tests::draw;

/// Cases, unless `SYSTEM_CASES` says how many.
const CASES: u64 = 24;

fn of(system: &System, geometry: &Geometry) -> SystemSimulation {
    let beginning = StartValues::new(system).unwrap();
    let system = &system.with_sources_that_count(&beginning);
    let kernel = Kernel::of_step(system, geometry.clone()).unwrap();
    on_a_machine(system, kernel, beginning)
}

fn agree(system: &System, what: &str) {
    let reach = system.program.reach(|_| true);
    let tiles = Geometry::new(system.shape.extents(), reach, system.dtype.bytes(), 100);
    let [mut alone, mut tiled] = [&many::geometry(system), &tiles].map(|it| of(system, it));
    for _ in 0..2 {
        alone.step(1).unwrap_or_else(|error| panic!("{what}: {error}"));
        tiled.step(1).unwrap_or_else(|error| panic!("{what}, tiles: {error}"));
    }
    let names: Vec<String> = alone.fields().map(str::to_owned).collect();
    for name in names {
        assert_eq!(alone.field(&name).unwrap(), tiled.field(&name).unwrap(), "{what}: {name}");
    }
    assert_eq!(alone.records(), tiled.records(), "{what}");
}

#[test]
fn random_systems_have_the_bits_of_tiles() {
    (0..cases(CASES)).into_par_iter().for_each(|seed| {
        let description = if seed % 2 == 0 { draw::system(seed) } else { draw::near(seed) };
        let at: Vec<usize> = description.size.iter().map(|extent| extent / 2).collect();
        let description = description.source("u0", &at, "0.25").receiver("u0", &at);
        agree(&System::new(&description, Path::new("")).unwrap(), &format!("seed {seed}"));
    });
}

#[test]
fn random_systems_of_many_arrays_agree_with_the_oracle() {
    (0..cases(CASES)).into_par_iter().for_each(|seed| {
        let system = System::new(&draw::many(seed), Path::new("")).unwrap();
        assert!(many::suits(&system), "seed {seed}");
        agree(&system, &format!("seed {seed}"));
        let mut simulation = simulation(&system);
        for _ in 0..2 {
            let check = simulation.checked_step();
            check.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    });
}
