// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparison of a result with the reference from the input on.

use crate::engine::fft::{self, Fft};
use crate::engine::{Engine, Input};
use crate::engine::{State, SumSession};
use crate::run::PIECE_BYTES;
use problem::check::growth;
use problem::check::reference;
use problem::check::verify::{Comparison, ComparisonOutcome, RunningComparison};
use problem::control::{Control, Work};
use problem::region::Region;
use problem::{Depth, Dtype, Error, Grid, Job, Values};

/// Compares regions after all steps; nothing, if there are none.
///
/// # Errors
/// Somebody asked for an end, or the device refuses.
pub fn compare(
    job: &Job,
    session: &mut dyn SumSession,
    regions: &[Region],
    control: &Control,
) -> Result<Option<Comparison>, Error> {
    if regions.is_empty() {
        return Ok(None);
    }
    let mut progress = control.begin(Work::Verifying, job.steps.saturating_mul(regions.len()));
    let mut comparing =
        RunningComparison::new(job, session.arithmetic(), 0, job.steps).by(session.jumped());
    let mut done = 0;
    for region in regions {
        let from = reference::before(*region, job.steps, job);
        let read = |piece| session.read(0, State::Loaded, piece);
        let before = reference::gather(job.shape, from, read)?;
        let after = session.read(0, State::Now, *region)?;
        comparing.region(*region, before, &after, || {
            done += 1;
            progress.reached(done)
        })?;
        progress.reached(done)?;
    }
    found(comparing, session).map(Some)
}

/// The longest that the reference by jumps may take if nobody asks for it, about.
const SECONDS: f64 = 5.0;
/// The most steps whose rounding is summed up.
const MOST_STEPS: usize = 100_000_000;

/// A reference for a run: its steps by jumps in f64, where that is exact and needs at most so many bytes. It makes two
/// jumps of about half of the steps, other ones than an engine that jumps itself.
#[must_use]
pub fn by_jumps(job: &Job, most_bytes: u128) -> Option<Job> {
    let steps = (job.steps / 2 + 1).min(job.steps);
    let (dtype, jump) = (Dtype::F64, Depth::Steps(steps.max(1)));
    let reference =
        Job { dtype, jump, fuse: Depth::Auto, chain: Depth::Auto, kernel: None, ..job.clone() };
    let need = Fft.host_bytes(&reference, Input::Dropped) + 8 * job.shape.points() as u128;
    // Otherwise there is no bound of how large values become on the way.
    let bounded = job.stencil.gain() <= 1.0 + 1e-9 && job.steps <= MOST_STEPS;
    let good = bounded
        && need <= most_bytes
        && fft::check(&reference).is_ok()
        && fft::is_exact(&reference)
        && fft::seconds(&reference) <= SECONDS * rayon::current_num_threads() as f64;
    good.then_some(reference)
}

/// Compares every point after all steps with a reference by jumps.
///
/// # Errors
/// Somebody asked for an end, or the device refuses.
pub fn compare_by_jumps(
    job: &Job,
    reference: &Job,
    session: &mut dyn SumSession,
    control: &Control,
) -> Result<Comparison, Error> {
    let mut progress = control.begin(Work::Verifying, job.steps);
    let whole = Region::whole(job.shape);
    let read = |piece| session.read(0, State::Loaded, piece);
    let values = Values::F64(problem::check::reference::gather(job.shape, whole, read)?);
    let input = Grid { shape: job.shape, values };
    let largest = growth::largest(&input).max(job.boundary.largest());
    let mut exact = Fft.prepare(reference)?;
    exact.load(&input)?;
    drop(input);
    exact.drop_input();
    let mut left = job.steps;
    while left > 0 {
        let count = left.min(exact.launch());
        exact.advance(count)?;
        left -= count;
        progress.reached(job.steps - left)?;
    }
    let comparing = RunningComparison::new(job, session.arithmetic(), 0, job.steps);
    let mut comparing = comparing.by(session.jumped());
    // The reference's own transforms, and what it stored.
    let own = exact.jumped().unwrap_or_default();
    let off = own.error + own.count as f64 * f64::EPSILON * (largest + own.error);
    let explained = comparing.explained(largest * 1.000_001, off);
    for piece in Region::pieces(job.shape, PIECE_BYTES / 8) {
        let after = session.read(0, State::Now, piece)?;
        let exact = exact.read(0, State::Now, piece)?;
        let Values::F64(exact) = exact else { unreachable!("it computes in f64") };
        comparing.region_of(piece, (&exact, off), &after, explained);
        control.stop.check()?;
    }
    Ok(comparing.finish())
}

/// What a comparison with the grid as it is now found. Samples that digits seem to be lost of are set against the largest
/// value of the grid.
///
/// # Errors
/// The device refuses.
pub fn found(
    comparing: RunningComparison,
    session: &mut dyn SumSession,
) -> Result<Comparison, Error> {
    let found = comparing.finish();
    if found.whole || found.outcome() != ComparisonOutcome::DigitsLost {
        return Ok(found);
    }
    let shape = session.shape();
    let mut largest = 0.0f64;
    for piece in Region::pieces(shape, PIECE_BYTES / session.dtype().bytes()) {
        largest = largest.max(growth::largest_of(&session.read(0, State::Now, piece)?));
    }
    Ok(found.beside(largest))
}
