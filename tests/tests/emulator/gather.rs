// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gather kernels in the emulator against the plain stencil.

use cuda_mma::fragment::Element;
use cuda_sim::{Chip, OnChip as _};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use stencil::check::verify::Verify;
use stencil::engine::EngineRequest;
use stencil::plan::{RunTarget, choose, on_gpu};
use stencil::run::{Request, run};
use stencil::{Boundary, Dtype, Grid, Shape};
use stencil::{Depth, Job};
use tests::draw;
use tests::gather::{Case, TYPES, cases, random_stencil};
use tests::suite::TestCase as _;
use transform::catalogue;
use transform::gather::OutputTile;
use transform::machine::Machine;
use transform::{Stencil, Tap};

/// Checks a stencil in every type and tile on every grid, each in a launch of its own.
fn check(seed: u64, stencils: &[Stencil], grids: &[&[usize]]) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut cases = Vec::new();
    for stencil in stencils {
        for element in TYPES {
            for tile in OutputTile::ALL {
                cases.extend(
                    grids
                        .iter()
                        .filter(|_| stencil.dims() > 1 || tile == OutputTile::Row)
                        .map(|extents| Case::random(&mut random, element, tile, stencil, extents)),
                );
            }
        }
    }
    assert!(!cases.is_empty());
    cases.par_iter().for_each(Case::check);
}

#[test]
fn lines_of_any_shape_and_size_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut stencils = vec![catalogue::find("box1d8r").unwrap()];
    stencils.extend((0..9).map(|radius| draw::stencil(&mut random, 1, [0, 0, radius])));
    check(2, &stencils, &[&[1], &[7], &[127], &[513], &[1031]]);
}

#[test]
fn planes_of_any_shape_and_size_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut stencils: Vec<Stencil> =
        ["star2d1r", "star2d8r", "box2d2r"].map(|name| catalogue::find(name).unwrap()).into();
    stencils.extend((0..4).map(|_| random_stencil(&mut random, 2, 8)));
    check(4, &stencils, &[&[1, 1], &[5, 7], &[1, 300], &[67, 1], &[37, 131], &[19, 259]]);
}

#[test]
fn a_full_box_of_radius_8_is_right() {
    check(5, &[catalogue::find("box2d8r").unwrap()], &[&[3, 5], &[23, 141]]);
}

#[test]
fn volumes_of_any_shape_and_size_are_right() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let mut stencils: Vec<Stencil> =
        ["star3d2r", "star3d4r"].map(|name| catalogue::find(name).unwrap()).into();
    stencils.extend((0..3).map(|_| random_stencil(&mut random, 3, 8)));
    check(7, &stencils, &[&[1, 1, 1], &[11, 5, 3], &[2, 17, 67], &[5, 9, 131]]);
}

#[test]
fn single_far_weights_are_right() {
    let corners =
        [-8, 8].into_iter().flat_map(|z| [-8, 8].map(|y| [z, y, if z < y { 8 } else { -8 }]));
    let stencil = |offset| Stencil::new("shift", 3, vec![Tap { offset, weight: 1.0 }]).unwrap();
    let stencils: Vec<Stencil> = corners.map(stencil).collect();
    check(8, &stencils, &[&[10, 9, 19]]);
}

#[test]
fn stencils_are_right_on_sm_80() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for (name, extents) in
        [("box1d8r", &[700][..]), ("star2d8r", &[33, 130]), ("star3d4r", &[5, 9, 70])]
    {
        let stencil = catalogue::find(name).unwrap();
        for element in TYPES {
            let case = Case::random(&mut random, element, OutputTile::Row, &stencil, extents);
            Chip::Sm80.with(|| case.check());
        }
    }
}

#[test]
fn the_cases_for_a_gpu_are_right() {
    cases().par_iter().for_each(Case::check);
}

#[test]
fn a_wrong_point_is_noticed() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let stencil = draw::stencil(&mut random, 2, [0, 3, 2]);
    let case = Case::random(&mut random, Element::F16, OutputTile::Block, &stencil, &[9, 33]);
    let mut got = case.emulate().unwrap();
    assert!(case.of_bound(&got).0 <= 1.0);
    got[100] ^= 8;
    assert_eq!(case.of_bound(&got).1, [0, 3, 1]);
    assert!(case.of_bound(&got).0 > 1.0);
    got[100] = 0x7fff;
    assert!(case.of_bound(&got).0 > 1.0, "not a number");
}

/// Runs of several steps through the whole program, each point verified, at every kind of boundary, also
/// on grids that are smaller than the radius.
#[test]
fn runs_at_every_boundary_are_verified() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for (name, extents, dtype, fuse, boundary) in [
        ("star1d8r", &[300][..], Dtype::F16, 1, "periodic"),
        ("box1d8r", &[5], Dtype::Bf16, 1, "reflect"),
        ("star1d2r", &[700], Dtype::Tf32, 4, "x-:reflect,x+:constant=0.5"),
        ("box2d8r", &[41, 70], Dtype::F16, 1, "periodic"),
        ("star2d8r", &[13, 140], Dtype::Bf16, 1, "zero"),
        ("star2d8r", &[3, 2], Dtype::F16, 1, "reflect"),
        ("star2d2r", &[60, 33], Dtype::F16, 3, "x:periodic,y:constant=-0.25"),
        ("star2d5r", &[31, 150], Dtype::Tf32, 1, "x:reflect,y-:constant=0.5"),
        ("star3d4r", &[9, 20, 70], Dtype::F16, 1, "periodic"),
        ("box3d3r", &[7, 9, 65], Dtype::Bf16, 1, "z:reflect,y:constant=0.25,x:periodic"),
        ("star3d1r", &[11, 12, 40], Dtype::Tf32, 2, "zero"),
        ("star3d8r", &[2, 5, 3], Dtype::F16, 1, "constant=0.5"),
        ("star2d8r", &[13, 140], Dtype::Bf16, 1, "edge"),
        ("star2d8r", &[3, 2], Dtype::F16, 1, "x:edge,y-:reflect,y+:flux=0.125"),
    ] {
        let stencil = catalogue::find(name).unwrap();
        let dims = stencil.dims();
        let job = Job {
            boundary: Boundary::parse(boundary, dims).unwrap(),
            fuse: Depth::Steps(fuse),
            chain: Depth::Steps(1),
            kernel: Some("gather"),
            ..Job::new(stencil, Shape::new(extents).unwrap(), dtype, fuse + 1)
        };
        let input = Grid::random(job.shape, dtype, random.random()).unwrap();
        let (engine, verify) = (EngineRequest::Emulate, Some(Verify::Full));
        let (_, report) = run(&Request { job, input, engine, verify }).unwrap();
        assert!(report.verified, "{report}");
        assert!(report.kernel.as_deref().is_some_and(|kernel| kernel.starts_with("gather_")));
    }
}

/// What no other kernel on tensor cores takes, and no more than a radius of 8; the others are for CUDA cores.
#[test]
fn the_gather_is_what_tensor_cores_have_where_nothing_else_fits() {
    let job = |name: &str, extents: &[usize]| {
        let (stencil, shape) = (catalogue::find(name).unwrap(), Shape::new(extents).unwrap());
        Job::new(stencil, shape, Dtype::F16, 1)
    };
    for (name, extents) in
        [("box1d8r", &[50][..]), ("box2d8r", &[5, 5]), ("star3d4r", &[3; 3]), ("box3d3r", &[3; 3])]
    {
        let planned = on_gpu(&RunTarget::described(Machine::h200()), &job(name, extents));
        let first = planned.ranked.iter().find(|candidate| candidate.engine == "sparse").unwrap();
        assert!(first.kernel.starts_with("gather_f16"), "{name}: {}", first.kernel);
    }
    let far = job("star2d9r", &[5, 5]);
    let asked = Job { kernel: Some("gather"), ..far.clone() };
    let error = choose(EngineRequest::Emulate, &asked).err().unwrap();
    let text = "the gather kernels take radius up to 8 on each axis; this stencil has 9";
    assert!(error.to_string().ends_with(text), "{error}");
    let engine = choose(EngineRequest::Emulate, &far).unwrap().engine;
    let kernel = engine.prepare(&far).unwrap().kernel();
    assert_eq!(kernel.as_deref(), Some("points_f16"), "no kernel of tensor cores");
    let chained =
        Job { kernel: Some("gather"), chain: Depth::Steps(2), ..job("star2d1r", &[5, 5]) };
    let error = choose(EngineRequest::Emulate, &chained).err().unwrap();
    assert!(error.to_string().ends_with("gather takes one sweep in a launch, not 2"), "{error}");
}
