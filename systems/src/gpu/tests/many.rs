// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that find neighbours beyond sides by themselves have the bits of tiles, and those of many arrays agree with the
//! oracle, at all sides and sizes.

use rayon::prelude::*;
use std::path::Path;

use super::{assemble, cases, on_a_machine, simulation};
use crate::checked::System;
use crate::examples::find;
use crate::gpu::geometry::Geometry;
use crate::gpu::kernel::GeneratedKernel;
use crate::gpu::many_arrays;
use crate::gpu::tile::BlockTile;
use crate::start::StartValues;
use crate::tests::draw;
use crate::tests::tier::is_thorough;
use crate::{Description, SystemSimulation, Text};
use problem::Dtype;

fn of(system: &System, geometry: &Geometry) -> SystemSimulation {
    let beginning = StartValues::new(system).unwrap();
    let system = &system.with_sources_that_count(&beginning);
    let kernel = GeneratedKernel::of_step(system, geometry.clone()).unwrap();
    on_a_machine(system, kernel, beginning)
}

fn agree(system: &System, what: &str) {
    let reach = system.program.reach(|_| true);
    let tiles = Geometry::new(system.shape.extents(), reach, system.dtype.bytes(), 100);
    let [mut alone, mut tiled] =
        [&Geometry::finding_sides(system), &tiles].map(|it| of(system, it));
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
    (0..cases(24, 16)).into_par_iter().for_each(|seed| {
        let description = if seed % 2 == 0 { draw::system(seed) } else { draw::near(seed) };
        let at: Vec<usize> = description.size.iter().map(|extent| extent / 2).collect();
        let description = description.source("u0", &at, "0.25").receiver("u0", &at);
        agree(&System::new(&description, Path::new("")).unwrap(), &format!("seed {seed}"));
    });
}

#[test]
fn random_systems_of_many_arrays_agree_with_the_oracle() {
    (0..cases(24, 16)).into_par_iter().for_each(|seed| {
        let system = System::new(&draw::many(seed), Path::new("")).unwrap();
        assert!(many_arrays::suits(&system), "seed {seed}");
        agree(&system, &format!("seed {seed}"));
        let mut simulation = simulation(&system);
        for _ in 0..2 {
            let check = simulation.checked_step();
            check.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    });
}

/// Extents of one point, primes, rows of odd length, and all sides.
#[test]
fn liquid_in_any_box_agrees_with_the_oracle() {
    let text = find("lid-driven-cavity").unwrap().text;
    let sizes = [[1, 1, 1], [1, 2, 1], [2, 3, 2], [3, 1, 13], [2, 5, 16], [3, 4, 31]];
    let boundaries = [
        "zero",
        "periodic",
        "reflect",
        "symmetric",
        "edge",
        "constant=0.01",
        "x:periodic,y-:flux=0.01,y+:edge,z:symmetric",
        "x-:constant=0.02,x+:reflect,y:periodic,z-:edge,z+:zero",
    ];
    let types = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16];
    let cases = boundaries.iter().enumerate().flat_map(|(number, boundary)| {
        // Else every side with half of the sizes.
        let sizes = sizes.iter().enumerate();
        let sizes = sizes.filter(move |(at, _)| is_thorough() || (number + at) % 2 == 0);
        sizes.map(move |(_, size)| (size, *boundary, types[(number + size[1]) % 4]))
    });
    let cases: Vec<_> = cases.collect();
    cases.into_par_iter().for_each(|(size, boundary, dtype)| {
        let mut description = Description::parse("a test", text).unwrap();
        (description.size, description.dtype) = (size.to_vec(), dtype);
        // Also what the lid and walls do not look at counts.
        for (_, term) in &mut description.terms {
            for side in ["north", "east", "back"] {
                let now =
                    term.as_str().replace(&format!("if({side},"), &format!("if({side} and n > 0,"));
                *term = Text::new("a test", &now);
            }
        }
        for field in &mut description.fields {
            field.boundary = Text::new("a test", boundary);
        }
        let what = format!("{size:?}, {dtype}, {boundary}");
        let system = System::new(&description, Path::new("")).unwrap();
        assert!(many_arrays::suits(&system));
        let geometry = Geometry::finding_sides(&system);
        let is_whole = geometry.inside.points() == system.shape.points();
        // No mirror image of one point has another place.
        let is_looked_up =
            boundary.contains("flux") || boundary.contains("reflect") && size.contains(&1);
        assert!(is_whole || is_looked_up, "{what}: {geometry:?}");
        let mut simulation = simulation(&system);
        for _ in 0..2 {
            simulation.checked_step().unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        agree(&system, &what);
    });
}

/// A grid whose sides all are of threads with whole words, none looked up.
#[test]
fn no_point_beside_a_usual_side_is_looked_up() {
    let mut description =
        Description::parse("a test", find("lid-driven-cavity").unwrap().text).unwrap();
    for (dtype, columns) in [(Dtype::F32, 2), (Dtype::F64, 1), (Dtype::F16, 2)] {
        description.dtype = dtype;
        for (nx, columns) in [(32, columns), (33, 1), (1, 1)] {
            description.size[2] = nx;
            let geometry = Geometry::of(&System::new(&description, Path::new("")).unwrap());
            assert_eq!((geometry.edges.len(), geometry.columns, geometry.rows), (0, columns, 1));
        }
    }
}

/// As many threads as wait for memory have registers.
#[test]
fn kernels_of_many_arrays_do_not_spill() {
    let text = find("lid-driven-cavity").unwrap().text;
    let mut description = Description::parse("a test", text).unwrap();
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16] {
        description.dtype = dtype;
        for nx in [32, 33] {
            description.size[2] = nx;
            let system = System::new(&description, Path::new("")).unwrap();
            let kernel = GeneratedKernel::new(&system).unwrap();
            for chip in ["sm_80", "sm_90a"] {
                let name = format!("{dtype}, rows of {nx}");
                assert!(assemble(&name, &kernel.text, chip).unwrap_or(true), "{name} spills");
            }
        }
    }
}

/// Blocks of several steps hold parts of the grid, of which a multiprocessor may have room for one.
#[test]
fn chains_of_many_arrays_have_as_many_registers_as_they_need() {
    let systems = (0..20).map(|seed| System::new(&draw::many(seed), Path::new("")).unwrap());
    let mut tried = 0;
    for system in systems.filter(|system| system.shape.dims() == 2) {
        let [_, y, x] = system.reach();
        let (lanes, down) = (2 * x + 28, 2 * y + 4);
        let tile = BlockTile::of(&system, 1, [lanes, 1, down], None);
        // An axis may be periodic for some of the fields only.
        let Ok(kernel) = GeneratedKernel::chained(&system, tile) else { continue };
        assert!(kernel.text.contains(".minnctapersm 1\n"));
        tried += 1;
    }
    assert!(tried > 0);
}
