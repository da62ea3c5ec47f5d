// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparison of a result with the reference from the input on.

use crate::Error;
use crate::Job;
use crate::check::reference;
use crate::check::verify::{Comparing, Comparison};
use crate::control::{Control, Work};
use crate::engine::{Session, State};
use crate::problem::region::Region;

/// Compares regions after all steps; nothing, if there are none.
///
/// # Errors
/// Somebody asked for an end, or the device refuses.
pub fn compare(
    job: &Job,
    session: &mut dyn Session,
    regions: &[Region],
    control: &Control,
) -> Result<Option<Comparison>, Error> {
    if regions.is_empty() {
        return Ok(None);
    }
    let mut progress = control.begin(Work::Verifying, job.steps.saturating_mul(regions.len()));
    let mut comparing = Comparing::new(job, session.arithmetic(), 0, job.steps);
    let mut done = 0;
    for region in regions {
        let from = reference::before(*region, job.steps, job);
        let read = |piece| session.read(State::Loaded, piece);
        let before = reference::gather(job.shape, from, read)?;
        let after = session.read(State::Now, *region)?;
        comparing.region(*region, before, &after, || {
            done += 1;
            progress.reached(done)
        })?;
        progress.reached(done)?;
    }
    Ok(Some(comparing.finish()))
}
