// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several steps in a launch have the bits of single ones, and agree with the oracle, wherever parts end.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::path::Path;

use transform::Stencil;
use transform::machine::Machine;

use super::{assemble, cases, on_a_machine, simulation};
use crate::checked::System;
use crate::examples::EXAMPLES;
use crate::families::Hardware;
use crate::gpu::kernel::GeneratedKernel;
use crate::gpu::tile::BlockTile;
use crate::gpu::{LaunchWork, TileState, cost};
use crate::plan::{self, Request};
use crate::start::StartValues;
use crate::tests::draw;
use crate::{Description, FieldText, SystemSimulation};
use compute::engine::EngineRequest;
use problem::Dtype;

/// Cases, unless `SYSTEM_CASES` says how many.
const CASES: u64 = 20;

/// A simulation by a kernel of several steps a launch, which is executed by reading it.
pub fn chained(system: &System, tile: BlockTile) -> SystemSimulation {
    let beginning = StartValues::new(system).unwrap();
    let system = &system.with_sources_that_count(&beginning);
    let kernel = GeneratedKernel::chained(system, tile).unwrap();
    on_a_machine(system, kernel, beginning)
}

/// A part of any size.
fn tile(system: &System, random: &mut ChaCha8Rng, steps: usize) -> BlockTile {
    let [_, ny, _] = system.shape.extents();
    let ([_, y, x], reads) = (system.reach(), system.program.reach(|_| true));
    let three = system.shape.dims() == 3;
    let planes = three.then(|| random.random_range(1..=8));
    let rows = random.random_range(1..=4);
    let mut points = |axis: usize, reach: usize, most: usize| {
        2 * reach * steps + 2 * reads[axis] + random.random_range(1..most)
    };
    if (ny, y) == (1, 0) && !three {
        return BlockTile::of(system, steps, [points(2, x, 60), 1, 1], planes);
    }
    let (lanes, down) = (points(2, x, 20), points(1, y, 20).div_ceil(rows));
    BlockTile::of(system, steps, [lanes, rows, down], planes)
}

pub fn same(a: &mut SystemSimulation, b: &mut SystemSimulation, what: &str) {
    let names: Vec<String> = a.fields().map(str::to_owned).collect();
    for name in names {
        assert_eq!(a.field(&name).unwrap(), b.field(&name).unwrap(), "{what}: {name}");
    }
    assert_eq!(a.records(), b.records(), "{what}");
}

#[test]
fn chains_have_the_bits_of_single_steps() {
    let all = cases(CASES, CASES);
    let tried: Vec<Option<(usize, usize)>> = (0..all)
        .into_par_iter()
        .map(|seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let description = drawn(seed, &mut random);
            let system = System::new(&description, Path::new("")).unwrap();
            if TileState::new(&system).is_err() {
                return None;
            }
            if all > CASES {
                println!("seed {seed}");
            }
            let steps = random.random_range(match (system.is_staged(), system.shape.dims()) {
                // A block computes the neighbours of all stages of all steps along all axes.
                (true, 3) => 1..=2,
                (true, _) => 1..=4,
                (false, _) => 2..=4,
            });
            let tile = tile(&system, &mut random, steps);
            // A layer may have more memories than a kernel takes arrays.
            if LaunchWork::Chain(tile).check(&system).is_err() {
                return None;
            }
            let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
            let what = format!("seed {seed}, {tile:?}");
            for (first, count) in [(0, 1), (1, 2 * steps - 1)] {
                together.step(count).unwrap();
                (0..count).for_each(|_| singly.step(1).unwrap());
                same(&mut together, &mut singly, &format!("{what} after {}", first + count));
            }
            together
                .run(4 * steps, &[2 * steps, 4 * steps - 1], &mut problem::observe::NoObserver)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            singly.step(2 * steps).unwrap();
            same(&mut together, &mut singly, &what);
            let check = together.checked_step().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(check.undecided * 100 <= check.points, "{what}: {check:?}");
            Some((system.stages.len(), system.shape.dims()))
        })
        .collect();
    let of = |is_staged| {
        let own = tried.iter().flatten().filter(|(stages, _)| (*stages > 1) == is_staged);
        own.count()
    };
    let in_space = tried.iter().flatten().filter(|(stages, dims)| *stages > 1 && *dims == 3);
    let in_space = in_space.count();
    println!("{} chains, {} of several stages, {in_space} in 3D", of(false), of(true));
    let least = |count: usize| count * 8 >= CASES as usize;
    assert!(least(of(false)) && least(of(true)) && least(in_space));
}

/// A system whose stages read direct neighbours, with as many axes as its seed says, so that none are left out: of twelve seeds
/// one in three has three.
fn in_stages(seed: u64) -> Description {
    let dims = 3 - seed as usize / 4 % 3;
    let mut drawn = (0..).map(|again| draw::alike_in_stages(seed + 1_000_000 * again, 1));
    let has_stages = |drawn: &Description| {
        System::new(drawn, Path::new("")).is_ok_and(|system| system.stages.len() > 1)
    };
    let found = drawn.find(|drawn| drawn.size.len() == dims && has_stages(drawn));
    found.expect("such systems are drawn")
}

/// A small system, of two kinds of four with stages, if by chance it has some, with sources and receivers at some points.
fn drawn(seed: u64, random: &mut ChaCha8Rng) -> Description {
    let (mut description, most) = match seed % 4 {
        0 => (draw::system(seed), [300, 24, 4]),
        1 => (draw::near(seed), [300, 40, 10]),
        2 => (draw::alike_in_stages(seed, 3), [200, 20, 6]),
        _ => (in_stages(seed), [300, 40, 6]),
    };
    let most = most[description.size.len() - 1];
    description.size.iter_mut().for_each(|extent| *extent = 1 + (*extent - 1) % most);
    description.sources.clear();
    for number in 0..random.random_range(0..12) {
        let at: Vec<usize> =
            description.size.iter().map(|extent| random.random_range(0..*extent)).collect();
        let add = ["0.125*sin(3*t)", "0.5", "n/64"][number % 3];
        description = description.source("u0", &at, add);
        if number % 2 == 0 {
            description = description.receiver("u0", &at);
        }
    }
    // There may be no room for a layer now.
    if System::new(&description, Path::new("")).is_err() {
        description.pml = None;
    }
    description
}

/// Grids of fewer planes than are read above, and of some more, with each boundary that needs planes beyond them.
#[test]
fn chains_of_few_planes() {
    for reach in 1..=3usize {
        let weights = vec![1.0 / (9.0 * (2 * reach + 1) as f64); 9 * (2 * reach + 1)];
        let mean = Stencil::dense("mean", &[2 * reach + 1, 3, 3], &weights).unwrap();
        for planes in 1..=reach + 2 {
            let boundary = ["zero", "z:constant=0.5", "edge", "reflect"][(planes + 2 * reach) % 4];
            let description = Description::new(&[planes, 3, 5])
                .stencil("mean", mean.clone())
                .field(FieldText::new("u", "1 + x*y - z", "mean(u)").boundary(boundary));
            let system = System::new(&description, Path::new("")).unwrap();
            assert_eq!(system.reach(), [reach, 1, 1]);
            let steps = 2 + planes % 2;
            let [lanes, down] = [5, 3].map(|values| 2 * steps + 2 + values);
            let part = Some(1 + planes % 3);
            let tile = BlockTile::of(&system, steps, [lanes, 1, down], part);
            let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
            for count in [steps, 1] {
                together.step(count).unwrap();
                singly.step(count).unwrap();
                same(&mut together, &mut singly, &format!("{planes} planes, {boundary}, {tile:?}"));
            }
        }
    }
}

/// Of each count of axes, with fewer receivers, as many and several times as many as a block has threads.
#[test]
fn blocks_note_any_number_of_receivers() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for (size, [lanes, down], planes) in
        [(&[30][..], [20, 1], None), (&[5, 7], [9, 8], None), (&[3, 4, 5], [9, 8], Some(2))]
    {
        let threads = lanes * down;
        for (count, dtype) in [
            (threads - 1, Dtype::F64),
            (threads, Dtype::F16),
            (threads + 1, Dtype::F32),
            (2 * threads + 3, Dtype::Bf16),
            (3 * threads, Dtype::F64),
        ] {
            let mut description = Description::new(size)
                .dtype(dtype)
                .derivative("lap", "laplace", 2)
                .field(FieldText::new("u", "x + 1", "u + 0.1*lap(u)"))
                .field(FieldText::new("v", "2 - x", "v + 0.05*lap(v) + 0.1*u"));
            for number in 0..count {
                // Most of them at one point, so that one block has them.
                let at: Vec<usize> =
                    size.iter().map(|most| random.random_range(0..*most)).collect();
                let at = if number % 8 == 0 { at } else { vec![0; size.len()] };
                description = description.receiver(["u", "v"][number % 2], &at);
            }
            let system = System::new(&description, Path::new("")).unwrap();
            let tile = BlockTile::of(&system, 2, [lanes, 1, down], planes);
            assert_eq!(tile.threads(), threads);
            let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
            together.step(3).unwrap();
            singly.step(3).unwrap();
            same(
                &mut together,
                &mut singly,
                &format!("{count} receivers of {threads} threads, {size:?}"),
            );
        }
    }
}

/// Of the built-in systems those with chains.
#[test]
fn built_in_systems_have_chains() {
    let mut tried = 0;
    for example in EXAMPLES {
        let mut description = Description::parse(example.name, example.text).unwrap();
        let is_3d = description.size.len() == 3;
        description.size = if is_3d { vec![11, 21, 37] } else { vec![21, 75] };
        let system = System::new(&description, Path::new("")).unwrap();
        if TileState::new(&system).is_err() {
            continue;
        }
        tried += 1;
        // A step of four stages reads so far that two have no middle.
        let of_steps = |steps| BlockTile::of(&system, steps, [32, 8, 4], is_3d.then_some(6));
        let mut tiles = [2, 1].into_iter().map(of_steps);
        let tile = tiles.find(|tile| tile.middle().iter().all(|points| *points > 0)).unwrap();
        let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
        together.step(3).unwrap();
        singly.step(3).unwrap();
        same(&mut together, &mut singly, example.name);
    }
    assert!(tried >= 4, "{tried}");
}

/// Fields that take each other's values, and more levels than a launch takes steps.
#[test]
fn values_change_places() {
    for dtype in [Dtype::F64, Dtype::Bf16] {
        let description = Description::new(&[13, 40])
            .dtype(dtype)
            .derivative("laplace", "laplace", 2)
            .field(FieldText::new("u", "x", "v").boundary("periodic"))
            .field(FieldText::new("v", "y", "u").boundary("periodic"))
            .field(FieldText::new("w", "x*y/64", "prev2(w) + 0.125*laplace(u)").boundary("zero"));
        let system = System::new(&description, Path::new("")).unwrap();
        let tile = BlockTile::of(&system, 3, [24, 2, 8], None);
        let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
        for count in [1, 2, 3, 4] {
            together.step(count).unwrap();
            singly.step(count).unwrap();
            same(&mut together, &mut singly, &format!("{dtype}"));
        }
    }
}

/// What the planner takes of large systems finds registers.
#[test]
fn chains_are_assembled_without_spills() {
    for example in EXAMPLES {
        let mut description = Description::parse(example.name, example.text).unwrap();
        for is_large in [false, true] {
            if is_large {
                let axes = description.size.len();
                description.size = vec![[4096, 4096, 512][axes - 1]; axes];
            }
            let system = System::new(&description, Path::new("")).unwrap();
            let chosen = plan::on_cuda_cores(&system, Machine::h200()).unwrap();
            println!("{} {:?}: {}", example.name, description.size, chosen.way.kernel);
            let Some(LaunchWork::Chain(tile)) = chosen.way.launch else { continue };
            let text = GeneratedKernel::chained(&system, tile).unwrap().text;
            for chip in ["sm_80", "sm_90a"] {
                let no_spills = assemble(example.name, &text, chip).unwrap_or(true);
                assert!(no_spills, "{} for {chip} spills", example.name);
            }
        }
    }
}

/// Fields of which each is read along one axis and periodic along the other, and grids of one row that are read above.
#[test]
fn what_nobody_reads_is_left_out() {
    for (size, boundary) in [([30, 50], "y:periodic,x:reflect"), ([1, 60], "reflect")] {
        let description = Description::new(&size)
            .derivative("across", "xx", 2)
            .derivative("down", "yy", 2)
            .field(FieldText::new("u", "x", "u + 0.125*across(u) + 0.1*v").boundary(boundary))
            .field(
                FieldText::new("v", "y", "v + 0.125*down(v)").boundary("x:periodic,y:constant=1"),
            );
        let system = System::new(&description, Path::new("")).unwrap();
        let tile = BlockTile::of(&system, 3, [24, 3, 6], None);
        let [mut together, mut singly] = [chained(&system, tile), simulation(&system)];
        together.step(7).unwrap();
        singly.step(7).unwrap();
        same(&mut together, &mut singly, boundary);
    }
}

/// Beside tiles of one step large grids of three axes gain, small ones wait for planes longer than for launches.
#[test]
fn chains_in_3d_are_planned() {
    let plan = |size: usize, dtype: Dtype, next: &str| {
        let description = Description::new(&[size; 3])
            .dtype(dtype)
            .derivative("laplace", "laplace", 2)
            .coefficient("k", "0.5 + random(1)")
            .field(FieldText::new("u", "1", next))
            .field(FieldText::new("v", "0", "v + 0.05*laplace(v) + u*v^2 - 0.1*v"));
        let system = System::new(&description, Path::new("")).unwrap();
        let hardware = Hardware::described(Machine::h200());
        let (engine, family) = (EngineRequest::Cuda, Some("chain"));
        let request = Request { engine, family, steps: system.steps, written: true };
        let way = plan::choose_on(&hardware, &system, request).unwrap().way;
        let gain = cost::tiled(&system, &Machine::h200()) / way.seconds_per_step;
        println!("{size} {dtype} {next}: {gain:.2} {}", way.kernel);
        gain
    };
    let gray = "u + 0.1*laplace(u) - u*v^2 + 0.035*(1 - u)";
    for size in [32, 64, 128, 256, 512] {
        for dtype in [Dtype::F16, Dtype::F32, Dtype::F64] {
            plan(size, dtype, gray);
            plan(size, dtype, "u + 0.1*k*laplace(u)");
        }
    }
    assert!(plan(512, Dtype::F32, gray) > 1.1);
    assert!(plan(32, Dtype::F32, gray) < 1.0);
}
