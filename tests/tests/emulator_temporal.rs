// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temporal blocking in the emulator: mistakes in how its launches and its threads wait, and in what lies beyond the grid
//! between its steps, are caught. That it computes what it should is tested with the other families.

use host::check::verify::Verify;
use host::engine::EngineRequest;
use host::run::{Request, run};
use host::{Depth, Dtype, Error, Grid, Job, Shape};
use kernels_gpu::fault::{self, Fault};
use transform::catalogue;

/// A launch: stencil, type, grid and steps.
type Launch = (&'static str, Dtype, &'static [usize], usize);

/// Whether its results are those of the plain stencil, at every point.
fn launch((name, dtype, extents, chain): Launch) -> Result<bool, Error> {
    let shape = Shape::new(extents).unwrap();
    let family = if extents.len() == 2 { "temporal2d" } else { "temporal3d" };
    let stencil = catalogue::find(name).unwrap();
    let job = Job {
        kernel: Some(family),
        fuse: Depth::Steps(1),
        chain: Depth::Steps(chain),
        ..Job::new(stencil, shape, dtype, chain)
    };
    let input = Grid::random(shape, dtype, 1).unwrap();
    let (engine, verify) = (EngineRequest::Emulate, Some(Verify::Full));
    let (_, report) = run(&Request { job, input, engine, verify })?;
    Ok(report.verification.passed == Some(true))
}

/// One of each form in 2D and in 3D.
const LAUNCHES: [Launch; 6] = [
    ("star2d1r", Dtype::F64, &[70, 240], 12),
    ("box2d1r", Dtype::F32, &[60, 248], 8),
    ("star2d3r", Dtype::F32, &[40, 248], 3),
    ("star3d1r", Dtype::F64, &[12, 32, 64], 4),
    ("star3d1r", Dtype::F32, &[12, 40, 128], 4),
    ("box3d1r", Dtype::F64, &[12, 40, 64], 3),
];

fn with(
    planted: Fault,
    launches: impl IntoIterator<Item = Launch>,
    expected: impl Fn(&Result<bool, Error>) -> bool,
) {
    for one in launches {
        let found = fault::with(planted, || launch(one));
        assert!(expected(&found), "{planted:?} in {one:?}: {found:?}");
    }
}

#[test]
fn without_a_mistake_nothing_is_reported() {
    for one in LAUNCHES {
        assert!(launch(one).unwrap(), "{one:?}");
    }
}

#[test]
fn what_lies_beyond_the_grid_must_not_count() {
    let is_wrong = |found: &Result<bool, Error>| matches!(found, Ok(false));
    with(Fault::ColumnsBeyond, LAUNCHES, is_wrong);
    with(Fault::RowsBeyond, LAUNCHES, is_wrong);
}

#[test]
fn rows_that_nobody_has_announced_are_reported() {
    with(Fault::NoAnnouncement, LAUNCHES, |found| matches!(found, Err(Error::Fault(_))));
}

/// In 3D the block's barrier comes between a lane's reading and the next copy anyway.
#[test]
fn rows_that_lanes_leave_too_early_are_reported() {
    let in_2d = LAUNCHES.into_iter().filter(|(.., extents, _)| extents.len() == 2);
    with(Fault::EarlyRelease, in_2d, |found| matches!(found, Err(Error::Fault(_))));
}
