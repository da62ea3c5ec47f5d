// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cpu engine against the f64 oracle, on random stencils, sizes and numbers of steps.

use proptest::prelude::*;
use stencil::Job;
use stencil::check::verify;
use stencil::engine::{Engine, cpu::Cpu};
use stencil::problem::boundary::Side;
use stencil::{Boundary, Depth, Dtype, Grid, Shape};
use transform::{Stencil, Tap};

/// Any offsets within a reach of its own on each side of each axis, in any number, so asymmetric,
/// off-centre and with holes; `Σ|w| ≤ 1`.
fn stencils() -> impl Strategy<Value = Stencil> {
    let reach = prop::array::uniform3(prop::array::uniform2(-4i32..=4));
    (1usize..=3, reach).prop_flat_map(|(dims, reach)| {
        let offset = move |axis: usize| {
            let [a, b] = reach[axis];
            if axis < 3 - dims { 0..=0 } else { a.min(b)..=a.max(b) }
        };
        let offset = (offset(0), offset(1), offset(2));
        let taps = prop::collection::btree_map(offset, -1.0f64..1.0, 1..30);
        taps.prop_map(move |taps| {
            let gain: f64 = taps.values().map(|weight| weight.abs()).sum();
            let tap =
                |((z, y, x), weight)| Tap { offset: [z, y, x], weight: weight / gain.max(1.0) };
            Stencil::new("random", dims, taps.into_iter().map(tap).collect()).unwrap()
        })
    })
}

fn boundaries() -> impl Strategy<Value = Boundary> {
    let side = || {
        prop_oneof![
            Just(Side::Zero),
            (-1.0..1.0).prop_map(Side::Constant),
            Just(Side::Reflect),
            Just(Side::Symmetric),
            Just(Side::Edge),
            (-0.2..0.2).prop_map(Side::Flux),
            Just(Side::Odd),
            Just(Side::OddReflect),
            (0.0..1.0, 0.1..1.0, -0.2..0.2).prop_map(|(a, b, c)| Side::Robin([a, b, c])),
        ]
    };
    let axis = prop_oneof![(side(), side()).prop_map(|(a, b)| [a, b]), Just([Side::Periodic; 2])];
    prop::array::uniform3(axis).prop_map(|sides| Boundary { sides })
}

fn jobs() -> impl Strategy<Value = Job> {
    let dtypes = prop::sample::select(Dtype::ALL);
    let extents = prop::array::uniform3(1usize..=40);
    let steps = (0usize..=12, 0usize..=12);
    (stencils(), extents, dtypes, boundaries(), steps).prop_map(
        |(stencil, extents, dtype, boundary, (steps, chain))| {
            let boundary = boundary.map_constants(|value| dtype.round(value));
            // A third axis of 40 takes the oracle long.
            let most = if stencil.dims() == 3 { 12 } else { 40 };
            let extents = extents.map(|extent| extent.min(most));
            let shape = Shape::new(&extents[..stencil.dims()]).unwrap();
            let chain = match chain {
                0 => Depth::Auto,
                chain => Depth::Steps(chain.min(steps.max(1))),
            };
            Job { boundary, chain, ..Job::new(stencil, shape, dtype, steps) }
        },
    )
}

fn check(job: &Job, seed: u64) {
    let input = Grid::random(job.shape, job.dtype, seed).unwrap();
    let mut session = Cpu.prepare(job).unwrap();
    session.load(&input).unwrap();
    session.advance(job.steps).unwrap();
    let output = session.store().unwrap();
    output.check_finite(stencil::ValueLocation::Result).unwrap();
    let comparison =
        verify::whole(job, (session.arithmetic(), session.jumped()), &input, &output).unwrap();
    assert!(comparison.holds(), "{job:?}: {comparison:?}");

    // A second time from the same input, in two parts.
    session.restart().unwrap();
    session.advance(job.steps / 2).unwrap();
    session.advance(job.steps - job.steps / 2).unwrap();
    assert_eq!(session.store().unwrap(), output, "{job:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_job_agrees_with_the_oracle(job in jobs(), seed: u64) {
        check(&job, seed);
    }
}

#[test]
fn sizes_around_tiles_and_registers() {
    for name in ["star2d1r", "box2d3r"] {
        let stencil = transform::catalogue::find(name).unwrap();
        for size in
            ["1x1", "1x1025", "33x63", "7x5", "31x1", "65x513", "2x129", "97x101", "18x4099"]
        {
            for &dtype in Dtype::ALL {
                let shape = size.parse().unwrap();
                check(&Job::new(stencil.clone(), shape, dtype, 2), 1);
            }
        }
    }
}

#[test]
fn the_largest_radius_on_a_smaller_grid() {
    let weights = vec![1.0 / 1089.0; 33 * 33];
    let stencil = Stencil::dense("wide", &[33, 33], &weights).unwrap();
    for &dtype in Dtype::ALL {
        let shape = "5x7".parse().unwrap();
        check(&Job::new(stencil.clone(), shape, dtype, 3), 2);
    }
}

/// The grid after all steps, so many of them in each pass.
fn result(job: &Job, chain: Depth, input: &Grid) -> Grid {
    let job = Job { chain, ..job.clone() };
    let mut session = Cpu.prepare(&job).unwrap();
    session.load(input).unwrap();
    session.advance(job.steps).unwrap();
    session.store().unwrap()
}

/// On grids of several tiles, which take several steps at once.
#[test]
fn how_many_steps_are_taken_at_once_changes_no_bit() {
    for (name, size, boundary) in [
        ("star2d1r", "311x1100", "x:periodic,y-:constant=0.5,y+:reflect"),
        ("box2d3r", "257x700", "x:reflect,y:periodic"),
        ("star3d1r", "41x150x190", "z:periodic,y:reflect,x-:constant=1"),
        ("box3d1r", "67x90x280", "z-:reflect,z+:constant=1,x:periodic"),
        ("star1d2r", "100003", "x:zero"),
        ("box2d3r", "131x520", "x:edge,y-:flux=0.01,y+:zero"),
        ("box3d1r", "41x60x130", "z-:flux=0.02,z+:flux=-0.01,y:edge,x-:flux=0.01,x+:constant=1"),
    ] {
        let stencil = transform::catalogue::find(name).unwrap();
        let shape: Shape = size.parse().unwrap();
        for &dtype in Dtype::ALL {
            let boundary = Boundary::parse(boundary, stencil.dims()).unwrap();
            let job = Job { boundary, ..Job::new(stencil.clone(), shape, dtype, 21) };
            let input = Grid::random(shape, dtype, 3).unwrap();
            let one = result(&job, Depth::Steps(1), &input);
            for chain in [Depth::Auto, Depth::Steps(2), Depth::Steps(5), Depth::Steps(8)] {
                assert_eq!(result(&job, chain, &input), one, "{job:?}, {chain}");
            }
            if dtype == Dtype::F64 {
                let arithmetic = Cpu.prepare(&job).unwrap().arithmetic();
                let comparison = verify::whole(&job, (arithmetic, None), &input, &one).unwrap();
                assert!(comparison.holds(), "{job:?}: {comparison:?}");
            }
        }
    }
}

#[test]
fn more_steps_at_once_than_there_are_and_sums_of_several_are_refused() {
    let stencil = transform::catalogue::find("star2d1r").unwrap();
    let job = Job::new(stencil, "9x9".parse().unwrap(), Dtype::F32, 3);
    for (job, text) in [
        (
            Job { chain: Depth::Steps(4), ..job.clone() },
            "engine 'cpu' cannot run this: 4 sweeps are asked for at once; this run has 3 in total",
        ),
        (
            Job { fuse: Depth::Steps(2), ..job.clone() },
            "engine 'cpu' cannot run this: it takes one time step in a sum, not 2",
        ),
    ] {
        let error = Cpu.prepare(&job).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    assert!(Cpu.prepare(&Job { chain: Depth::Steps(3), ..job }).is_ok());
}
