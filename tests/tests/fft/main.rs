// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine fft against the f64 oracle: on the CPU, and its GPU kernels in the emulator.

use stencil::check::verify;
use stencil::engine::SumSession;
use stencil::{Grid, Job, ValueLocation};

mod draw;
mod emulated;
mod on_cpu;

/// Takes all steps of a job, compares every point with the oracle, and does it again. Returns the relative error.
fn agree(session: &mut dyn SumSession, job: &Job, seed: u64) -> f64 {
    let input = Grid::random(job.shape, job.dtype, seed).unwrap();
    session.load(&input).unwrap();
    session.advance(job.steps).unwrap();
    let output = session.store().unwrap();
    output.check_finite(ValueLocation::Result).unwrap();
    let how = (session.arithmetic(), session.jumped());
    let comparison = verify::whole(job, how, &input, &output).unwrap();
    assert!(comparison.holds(), "{job:?}: {comparison:?} {:?}", session.jump());
    session.restart().unwrap();
    session.advance(job.steps).unwrap();
    assert_eq!(session.store().unwrap(), output, "{job:?}");
    comparison.rel_l2_err
}
