// SPDX-License-Identifier: MIT OR Apache-2.0
//! Families that were asked for and have nothing for a job.

use super::support::Folder;
use stencil::device::Chip;
use stencil::families::{FAMILIES, Unit};
use stencil::plan::{RunTarget, on_gpu};
use stencil::{Boundary, Depth, Dtype, Job};
use transform::catalogue;
use transform::machine::Machine;

/// Formerly a panic: "it was refused".
#[test]
fn a_chain_that_is_asked_for_needs_as_many_steps() {
    let text = |family: &str, least: usize, steps: usize| {
        format!(
            "error: engine 'emulate' cannot run this: {family} takes at least {least} time steps in a launch; \
             this run has {steps}\n  help: `--engine auto` takes an engine that can"
        )
    };
    let fail = |arguments: &str, text: &str| {
        Folder::new().fail(&format!("run {arguments} --engine emulate"), 2, text);
    };
    fail("star2d1r --size 20 --kernel chain2d", &text("chain2d", 2, 1));
    fail("star3d1r --size 20 --kernel chain3d --steps 2", &text("chain3d", 3, 2));
    fail("star2d1r --size 20 --kernel chain2d --steps 0", &text("chain2d", 2, 0));
}

/// Formerly that of a family which has nothing to do with it.
#[test]
fn the_refusal_is_that_of_who_came_nearest() {
    let start = "error: engine 'emulate' cannot run this:";
    for (arguments, text) in [
        ("--kernel direct --fuse 2", "it takes one step at a time, neither fused nor chained"),
        (
            "--chain 9",
            "sparse: chain2d takes 2 to 4 sweeps in a launch, not 9; dense: toeplitz2d takes one sweep in a launch, \
             not 9; cuda: no kernel chains 9 sweeps of radius 1 in 2D and f16",
        ),
        (
            "--fuse 9",
            "sparse: gather takes 1 to 7 time steps in a sum, not 9; dense: toeplitz2d takes 1 to 4 time steps in a \
             sum, not 9; cuda: temporal2d takes one time step in a sum, not 9",
        ),
    ] {
        let outcome = Folder::new()
            .host(&format!("run star2d1r --size 20 --steps 20 --engine emulate {arguments}"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.starts_with(&format!("{start} {text}\n")), "{}", outcome.stderr);
    }
}

/// Whatever is asked for: each unit has a way, whose launches take all steps, or a reason.
#[test]
fn every_unit_has_a_way_or_a_reason() {
    let kernels = FAMILIES.iter().map(|family| Some(family.name())).chain([None]);
    let depths = [Depth::Auto, Depth::Steps(1), Depth::Steps(2), Depth::Steps(3), Depth::Steps(9)];
    let kernels: Vec<_> = kernels.collect();
    for chip in [Chip::Sm80, Chip::Sm90] {
        let mut target = RunTarget::described(Machine::h200());
        target.limits.chip = chip;
        for (name, size) in [("star1d1r", "50"), ("box2d1r", "40x30"), ("star3d1r", "9x8x7")] {
            let stencil = catalogue::find(name).unwrap();
            let boundary = Boundary::parse("periodic", stencil.dims()).unwrap();
            for (fuse, chain, kernel) in depths.iter().flat_map(|fuse| {
                let kernels = &kernels;
                depths.iter().flat_map(move |chain| {
                    kernels.iter().map(move |kernel| (*fuse, *chain, *kernel))
                })
            }) {
                for (dtype, steps) in
                    [(Dtype::F16, 0), (Dtype::F16, 1), (Dtype::F64, 2), (Dtype::Tf32, 7)]
                {
                    let job = Job::new(stencil.clone(), size.parse().unwrap(), dtype, steps);
                    let job = Job { boundary, fuse, chain, kernel, ..job };
                    let planned = on_gpu(&target, &job);
                    for unit in Unit::ALL {
                        let engine = unit.engine();
                        let ways = planned.ranked.iter().filter(|way| way.engine == engine);
                        let ways: Vec<_> = ways.collect();
                        assert_eq!(ways.is_empty(), planned.refusal(engine).is_some(), "{job:?}");
                        for way in ways {
                            let last = way.launches.last().unwrap();
                            assert_eq!(last.steps(), 1, "{job:?}: {way:?}");
                        }
                    }
                }
            }
        }
    }
}
