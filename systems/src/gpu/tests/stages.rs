// SPDX-License-Identifier: MIT OR Apache-2.0
//! All stages of a step, and several such steps, in one launch: the built-in systems that have some, and what their blocks hold.

use std::path::Path;

use rayon::prelude::*;

use super::chain::{chained, same};
use super::{assemble, simulation};
use crate::checked::System;
use crate::examples::EXAMPLES;
use crate::expression::Array;
use crate::families::Hardware;
use crate::gpu::held::TileState;
use crate::gpu::tile::BlockTile;
use crate::plan::{self, Request};
use crate::tests::tier::is_thorough;
use crate::{Description, FieldText, Method};
use compute::engine::EngineRequest;
use problem::{Depth, Dtype};
use transform::machine::Machine;

/// A built-in system on a grid of this size.
fn example(name: &str, size: &[usize]) -> Description {
    let example = EXAMPLES.iter().find(|it| it.name == name).expect("a built-in system");
    let mut description = Description::parse(example.name, example.text).unwrap();
    description.size = size.to_vec();
    // A grid of few points has no room for them.
    (description.sponge, description.pml) = (None, None);
    description
}

/// Grids whose sizes are primes, smaller than a step reads, or of one row, by parts with few points in the middle.
#[test]
fn built_in_systems_take_their_stages_in_one_launch() {
    let sizes: &[&[usize]] = &[&[31, 37], &[2, 3], &[1, 41], &[23, 1], &[7, 61]];
    let names = ["yee", "elastic-free-surface", "burgers", "schroedinger"];
    let numbers: Vec<_> =
        (0..names.len()).flat_map(|name| (0..sizes.len()).map(move |size| (name, size))).collect();
    numbers.into_par_iter().for_each(|(name, size)| {
        // Else one step for half of them, and three for the others.
        let depths = if is_thorough() { &[1, 3][..] } else { &[[1], [3]][(name + size) % 2][..] };
        let (name, size) = (&names[name], &sizes[size]);
        let mut description = example(name, size);
        for number in 0..3 {
            let at: Vec<usize> = size.iter().map(|extent| (number * 7) % extent).collect();
            let field =
                description.fields[number % description.fields.len()].name.as_str().to_owned();
            description = description.receiver(&field, &at);
            if *name != "burgers" {
                description = description.source(&field, &at, "0.25*cos(t)");
            }
        }
        let system = System::new(&description, Path::new("")).unwrap();
        assert!(system.is_staged());
        let ([_, y, x], [_, far_y, far_x]) = (system.reach(), system.program.reach(|_| true));
        for &steps in depths {
            let (lanes, down) = (2 * x * steps + 2 * far_x + 5, 2 * y * steps + 2 * far_y + 3);
            let tile = BlockTile::of(&system, steps, [lanes, 2, down.div_ceil(2)], None);
            let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
            let what = format!("{name} {size:?}, {tile:?}");
            for count in [1, steps, 2] {
                together.step(count).unwrap_or_else(|error| panic!("{what}: {error}"));
                (0..count).for_each(|_| singly.step(1).unwrap());
                same(&mut together, &mut singly, &what);
            }
            together.checked_step().unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    });
}

/// Sponges and layers are parts of the equations, and a layer's memories are fields.
#[test]
fn what_absorbs_waves_is_taken_too() {
    for name in ["elastic-free-surface", "elastic-pml"] {
        let built_in = EXAMPLES.iter().find(|it| it.name == name).expect("a built-in system");
        let mut description = Description::parse(built_in.name, built_in.text).unwrap();
        description.size = vec![47, 67];
        let system = System::new(&description, Path::new("")).unwrap();
        let tile = BlockTile::of(&system, 2, [40, 4, 10], None);
        let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
        together.step(3).unwrap();
        singly.step(3).unwrap();
        same(&mut together, &mut singly, name);
    }
}

/// Of the classical method the values of three stages and those before the step take turns at two places.
#[test]
fn stages_take_turns_in_shared_memory() {
    let system = System::new(&example("burgers", &[64, 64]), Path::new("")).unwrap();
    let held = TileState::new(&system).unwrap();
    assert_eq!((held.states.len(), held.slots()), (2, 4));
    // By a launch for each stage.
    assert_eq!(system.moved(), (20, 14));
    let at = |array| held.slot(array).unwrap();
    let stages = &system.stages;
    for (number, stage) in stages.iter().enumerate() {
        let around: Vec<Array> =
            stage.reads().filter(|(_, it)| *it != [0; 3]).map(|(array, _)| array).collect();
        // What is put while others read lies elsewhere.
        let put = stage.writes.iter().copied().filter(|it| held.slot(*it).is_some());
        for array in put.filter(|_| number + 1 < stages.len()) {
            assert!(around.iter().all(|read| at(*read) != at(array)), "{array:?}");
        }
    }
    // A receiver notes what is there after the step while the first stage of the next one may be computed.
    let with_receiver = example("burgers", &[64, 64]).receiver("u", &[3, 3]);
    let system = System::new(&with_receiver, Path::new("")).unwrap();
    assert_eq!(TileState::new(&system).unwrap().slots(), 4);
}

/// What several stages read at a point, of noise, time and its coordinates, has the value of one step.
#[test]
fn stages_share_the_numbers_of_a_step() {
    for dtype in [Dtype::F64, Dtype::F32, Dtype::Bf16] {
        let description = Description::new(&[13, 29])
            .dtype(dtype)
            .time_step(0.1)
            .method(Method::Rk4)
            .derivative("laplace", "laplace", 2)
            .coefficient("c", "0.5 + 0.1*x")
            .work_with("w", "c*laplace(u) + 0.1*normal(3)", "x:periodic,y:edge")
            .field(
                FieldText::rate("u", "sin(x + y)", "0.1*laplace(w) + 0.1*normal(3) + 0.1*sin(t)")
                    .boundary("x:periodic,y-:value=sin(t),y+:slope=0.1*t"),
            )
            .source("u", &[0, 0], "0.5*n")
            .receiver("u", &[12, 28]);
        let system = System::new(&description, Path::new("")).unwrap();
        let tile = BlockTile::of(&system, 2, [2 * 16 + 7, 3, 13], None);
        let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
        for &count in if is_thorough() { &[1, 2, 3][..] } else { &[1, 2] } {
            together.step(count).unwrap();
            singly.step(count).unwrap();
            same(&mut together, &mut singly, &format!("{dtype}"));
        }
        together.checked_step().unwrap();
    }
}

#[test]
fn what_cannot_be_taken_in_one_launch_is_told() {
    let reason = |description: &Description| {
        let system = System::new(description, Path::new("")).unwrap();
        TileState::new(&system).err().unwrap_or_default()
    };
    let staged = |size: &[usize]| {
        Description::new(size)
            .derivative("dx", "x", 2)
            .field(FieldText::new("u", "x", "u + 0.1*dx(new(v))"))
            .field(FieldText::new("v", "x", "v + 0.1*dx(u)"))
    };
    assert_eq!(reason(&staged(&[9, 9])), "");
    assert_eq!(reason(&staged(&[9, 9, 9])), "");
    let mixed = staged(&[9, 9]).work_with("w", "u", "x:periodic");
    let mixed = mixed.field(FieldText::new("r", "0", "0.5*r + 0.1*dx(w)"));
    assert!(reason(&mixed).contains("periodic for some"), "{}", reason(&mixed));
}

/// What the planner takes of large grids: a chain where it says that this is faster, whose values all find registers.
#[test]
fn stages_in_one_launch_are_planned_without_spills() {
    let hardware = Hardware::described(Machine::h200());
    let mut depths = Vec::new();
    for (name, dtype, size) in [
        ("yee", Dtype::F32, 4096),
        ("yee", Dtype::F64, 4096),
        ("yee", Dtype::F16, 4096),
        ("elastic-free-surface", Dtype::F32, 4096),
        ("elastic-pml", Dtype::F32, 4096),
        ("burgers", Dtype::F32, 2048),
        ("burgers", Dtype::F64, 2048),
        ("schroedinger", Dtype::F64, 2048),
        ("burgers", Dtype::F64, 128),
    ] {
        let description = example(name, &[size; 2]).dtype(dtype);
        let system = System::new(&description, Path::new("")).unwrap();
        let request = |family| Request {
            engine: EngineRequest::Cuda,
            family: Some(family),
            steps: 1000,
            written: true,
        };
        let seconds = |family, chain| {
            let system = system.clone().with_chain(chain);
            let chosen = plan::choose_on(&hardware, &system, request(family));
            chosen.map(|it| it.way).ok()
        };
        let single = seconds("step", Depth::Auto).expect("a launch for each stage");
        println!(
            "{name} {dtype} {size}: {:.1} us by {}",
            single.seconds_per_step * 1e6,
            single.kernel
        );
        for depth in 1..=8 {
            let Some(way) = seconds("chain", Depth::Steps(depth)) else { continue };
            depths.push((name, depth));
            println!("    {:.1} us by {}", way.seconds_per_step * 1e6, way.kernel);
            let text = way.launch.expect("a launch").kernel(&system).unwrap().text;
            for &chip in if is_thorough() { &["sm_80", "sm_90a"][..] } else { &["sm_90a"] } {
                let no_spills = assemble(&way.kernel, &text, chip).unwrap_or(true);
                assert!(no_spills, "{} for {chip} spills", way.kernel);
            }
        }
    }
    // Each system has all stages of one step in a launch, and those that read not far have more.
    for name in ["yee", "elastic-free-surface", "elastic-pml", "burgers", "schroedinger"] {
        assert!(depths.contains(&(name, 1)), "{name}");
    }
    assert!(depths.contains(&("yee", 4)));
}
