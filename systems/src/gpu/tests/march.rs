// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks that go along z have the bits of threads with points of their own, wherever blocks end.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::path::Path;

use transform::machine::Machine;
use transform::{Stencil, Tap};

use super::{cases, on_a_machine, simulation};
use crate::checked::System;
use crate::gpu::cost;
use crate::gpu::geometry::March;
use crate::gpu::kernel::GeneratedKernel;
use crate::gpu::march::held;
use crate::start::StartValues;
use crate::tests::draw;
use crate::{Description, FieldText, SystemSimulation, Text};
use problem::{Dtype, Error};

fn marched(system: &System, march: March) -> SystemSimulation {
    let beginning = StartValues::new(system).unwrap();
    let system = &system.with_sources_that_count(&beginning);
    let kernel = GeneratedKernel::marched(system, march).unwrap();
    on_a_machine(system, kernel, beginning)
}

/// Whether there is something to compare: no value has become too large.
fn agree(system: &System, march: March, what: &str) -> bool {
    let [mut together, mut singly] = [marched(system, march), simulation(system)];
    for _ in 0..2 {
        match singly.step(1) {
            Err(Error::FieldOverflow { .. }) => return false,
            stepped => stepped.unwrap(),
        }
        together.step(1).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    let names: Vec<String> = together.fields().map(str::to_owned).collect();
    for name in names {
        assert_eq!(together.field(&name).unwrap(), singly.field(&name).unwrap(), "{what}: {name}");
    }
    assert_eq!(together.records(), singly.records(), "{what}");
    true
}

/// Points along z, y and x at most, of systems that are emulated.
const EMULATED: [usize; 3] = [10, 14, 24];

/// A system on a grid of three axes, with so many points along them at most: one of two reads neighbours only, one of
/// three has zeros beyond all sides, which blocks take from copies, and sources are anywhere.
pub fn drawn(seed: u64, most: [usize; 3]) -> Description {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let reach = if seed.is_multiple_of(2) { 4 } else { 1 };
    let mut description = match seed % 5 {
        3 => draw::of_axes_in_stages(3, seed, reach),
        _ => draw::of_axes(3, seed, reach),
    };
    description.size = most.map(|most| random.random_range(3..=most)).to_vec();
    if seed.is_multiple_of(3) {
        let zero = || Text::new("a test", "zero");
        description.fields.iter_mut().for_each(|field| field.boundary = zero());
        description.works.iter_mut().for_each(|work| work.boundary = zero());
    }
    description.sources.clear();
    for number in 0..random.random_range(0..12) {
        let at: Vec<usize> =
            description.size.iter().map(|extent| random.random_range(0..*extent)).collect();
        let add = ["0.125*sin(3*t)", "0.5", "n/64"][number % 3];
        description = description.source("u0", &at, add).receiver("u0", &at);
    }
    description
}

#[test]
fn random_systems_have_the_bits_of_tiles() {
    let tried = (0..cases(24, 16)).into_par_iter().filter(|seed| {
        let system = System::new(&drawn(*seed, EMULATED), Path::new("")).unwrap();
        // What reads no neighbour along y or x does not march.
        let has_ring = |stage: &System| held(stage).iter().any(|it| it.ring.is_some());
        if !system.each_stage().iter().all(|stage| has_ring(stage)) {
            return false;
        }
        let mut random = ChaCha8Rng::seed_from_u64(*seed);
        let mut below = |most: usize| random.random_range(1..=most);
        let march = March { lanes: below(4), down: below(6), planes: below(6) };
        if march.geometry(&system).inside.points() == 0 {
            return false;
        }
        agree(&system, march, &format!("seed {seed}, {march:?}"))
    });
    let tried = tried.count();
    println!("{tried} systems");
    assert!(tried >= 4, "{tried}");
}

/// One field is read far before the point, the other one far behind it: planes of both fill rings that are as deep as each
/// of them, not as both together.
#[test]
fn fields_that_are_read_on_opposite_sides_have_the_bits_of_tiles() {
    let far = |z: i32| {
        let taps = [([z, 0, 1], 0.25), ([0, 1, 0], 0.5)];
        let taps = taps.map(|(offset, weight)| Tap { offset, weight });
        Stencil::new("far", 3, taps.to_vec()).unwrap()
    };
    let system = Description::new(&[11, 9, 16])
        .dtype(Dtype::F64)
        .stencil("behind", far(-3))
        .stencil("ahead", far(3))
        .field(FieldText::new("u", "x*y - z", "0.5*u + behind(v)").boundary("zero"))
        .field(FieldText::new("v", "x - y*z", "0.5*v - ahead(u)").boundary("zero"));
    let system = System::new(&system, Path::new("")).unwrap();
    let march = March { lanes: 4, down: 4, planes: 3 };
    assert!(agree(&system, march, "opposite sides"));
}

/// A wave of eighth order in a medium, as large blocks have it.
fn wave(size: &[usize], dtype: Dtype, boundary: &str) -> System {
    let description = Description::new(size)
        .dtype(dtype)
        .derivative("laplace", "laplace", 8)
        .coefficient("k", "0.01 + 0.01*random(1)")
        .field(FieldText::new("u", "x*y - z", "2*u - prev(u) + k*laplace(u)").boundary(boundary));
    System::new(&description, Path::new("")).unwrap()
}

#[test]
fn waves_have_the_bits_of_tiles() {
    for (dtype, boundary) in [
        (Dtype::F32, "reflect"),
        (Dtype::F32, "zero"),
        (Dtype::F64, "x:zero,y:edge,z:zero"),
        (Dtype::F16, "zero"),
        (Dtype::Bf16, "x:periodic,y:zero,z:constant=1"),
    ] {
        let system = wave(&[11, 14, 24 + 3 * (boundary.len() % 2)], dtype, boundary);
        let queues: Vec<_> = held(&system).iter().map(|it| (it.ring, it.queue)).collect();
        assert_eq!(queues, [(Some(0), Some(-4)), (None, Some(0)), (None, Some(0))]);
        for march in
            [March { lanes: 4, down: 8, planes: 2 }, March { lanes: 5, down: 3, planes: 9 }]
        {
            assert!(agree(&system, march, &format!("{dtype}, {boundary}, {march:?}")));
        }
    }
}

#[test]
fn large_waves_are_planned_to_march() {
    let machine = Machine::h200();
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16] {
        let system = wave(&[512, 512, 512], dtype, "zero");
        let (march, seconds) = March::best(&system, &machine).unwrap();
        let tiled = cost::tiled(&system, &machine);
        println!("{dtype}: {march:?}, {:.1} us, not {:.1}", seconds * 1e6, tiled * 1e6);
        assert!(seconds < tiled);
    }
}
