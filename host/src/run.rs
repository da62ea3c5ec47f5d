// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run: compute, verify, and only then measure.

use std::time::{Duration, Instant};

use crate::engine::{self, Choice, EngineRequest, Job, Session};
use crate::progress::Progress;
use crate::report::Report;
use crate::verify::{self, Sums, Verdict, Verify};
use crate::{Error, Grid, interrupt, sample};

/// Between two looks at Ctrl-C and the progress bar.
const BATCH: Duration = Duration::from_millis(100);
/// A run of this length needs no repetition to be measured.
const LONG: Duration = Duration::from_millis(500);
/// Steps of one timing sample, at least, and their time, at most.
const SAMPLE_STEPS: usize = 10;
const SAMPLE_TIME: Duration = Duration::from_millis(200);
/// Timing samples, of which the median counts.
const SAMPLES: usize = 9;

/// What to run.
pub struct Request {
    /// The computation.
    pub job: Job,
    /// The grid to start from, of the job's shape and element type.
    pub input: Grid,
    /// Which engine.
    pub engine: EngineRequest,
    /// How much to compare; chosen by cost if not given.
    pub verify: Option<Verify>,
    /// Show no progress.
    pub quiet: bool,
}

/// Runs a job and measures it. The result comes with its report, whose `failed` must be looked at.
///
/// # Errors
/// The input holds a value that is not finite, no engine can run the job, the device refuses, the
/// result is not finite, or Ctrl-C.
pub fn run(request: &Request) -> Result<(Grid, Report), Error> {
    let Request { job, input, .. } = request;
    input.check_finite("the input")?;
    let Choice { engine, why, .. } = engine::choose(request.engine, job)?;
    let mut session = engine.prepare(job)?;
    session.load(input)?;
    let first = advance(session.as_mut(), job.steps, request.quiet)?;
    let output = session.store()?;
    output.check_finite(&format!("the result after {} steps", job.steps))?;
    let verdict = compare(request, session.as_mut(), &output)?;

    let (seconds, copy) = measure(session.as_mut(), job.steps, first)?;
    let (seconds, copy) = (seconds.as_secs_f64(), copy.as_secs_f64());

    let points = job.shape.points();
    let bytes = 2.0 * job.dtype.bytes() as f64 * points as f64;
    let rate = |amount: f64, seconds: f64| if seconds > 0.0 { amount / seconds / 1e9 } else { 0.0 };
    let sweeps = session.sweeps(job.steps) as f64;
    let effective = rate(sweeps * bytes, seconds);
    let copy_rate = rate(bytes, copy);
    let whole = |verdict: &Verdict| verdict.holds() && verdict.steps == job.steps;
    let report = Report {
        stencil: job.stencil.name().to_owned(),
        shape: job.shape.axes().to_vec(),
        points,
        steps: job.steps,
        dtype: job.dtype.to_string(),
        engine: engine.name(),
        kernel: session.kernel(),
        fuse: session.fuse(),
        chain: session.chain(),
        boundary: job.boundary.describe(job.shape.dims()),
        seconds,
        gstencils_per_s: rate(job.steps as f64 * points as f64, seconds),
        effective_gb_per_s: effective,
        copy_gb_per_s: copy_rate,
        fraction_of_copy: if copy_rate > 0.0 { effective / copy_rate } else { 0.0 },
        max_abs_err: verdict.as_ref().map(|verdict| verdict.max_abs_err),
        rel_l2_err: verdict.as_ref().map(|verdict| verdict.rel_l2_err),
        verified: verdict.as_ref().is_some_and(whole),
        version: env!("CARGO_PKG_VERSION"),
        device: session.device(),
        why,
        arithmetic: session.arithmetic(),
        verdict,
    };
    Ok((output, report))
}

/// All steps, in batches of about [`BATCH`]; returns the device's time for them. Batches are of whole
/// launches, so that what is compared comes from the kernels that are measured.
fn advance(session: &mut dyn Session, steps: usize, quiet: bool) -> Result<Duration, Error> {
    let mut progress = Progress::new("computing", steps, quiet);
    let mut total = Duration::ZERO;
    let whole = session.fuse() * session.chain();
    let (mut done, mut launches) = (0, 1);
    while done < steps {
        let start = Instant::now();
        let batch = (launches * whole).min(steps - done);
        total += session.advance(batch)?;
        done += batch;
        progress.reached(done)?;
        let per_launch = start.elapsed().as_secs_f64() / launches as f64;
        launches = ((BATCH.as_secs_f64() / per_launch) as usize).clamp(1, 2 * launches);
    }
    Ok(total)
}

/// Compares with the reference; after fewer steps, if the plan says so.
fn compare(
    request: &Request,
    session: &mut dyn Session,
    output: &Grid,
) -> Result<Option<Verdict>, Error> {
    let Request { job, input, quiet, .. } = request;
    let Some(plan) = sample::plan(job, request.verify) else { return Ok(None) };
    let sums = Sums { fuse: session.fuse(), split: session.splits() };
    if plan.steps == job.steps {
        return verify::compare(job, input, output, &plan, sums, *quiet).map(Some);
    }
    session.restart()?;
    advance(session, plan.steps, *quiet)?;
    let early = session.store()?;
    verify::compare(job, input, &early, &plan, sums, *quiet).map(Some)
}

/// The times of all steps and of a copy. That of the steps is the run's own if it was long, else
/// from the median of repetitions, in turns with the copies, so that both meet the same conditions.
fn measure(
    session: &mut dyn Session,
    steps: usize,
    first: Duration,
) -> Result<(Duration, Duration), Error> {
    let long = first > LONG;
    let per_step = first.as_secs_f64() / steps.max(1) as f64;
    let most = (SAMPLE_TIME.as_secs_f64() / per_step.max(1e-9)) as usize;
    let count = if long { 0 } else { steps.max(SAMPLE_STEPS).min(most.max(1)) };
    // Of whole launches, if the run has some: the steps that are left cost more.
    let whole = session.fuse() * session.chain();
    let count = if count < steps { count.next_multiple_of(whole).min(steps) } else { count };
    let (mut sweeps, mut copies) = (Vec::new(), Vec::new());
    // The first turn warms up.
    for turn in 0..=SAMPLES {
        interrupt::check()?;
        session.restart()?;
        let sweep = session.advance(count)?;
        let copy = session.copy(count.max(2))?;
        if turn > 0 {
            sweeps.push(sweep);
            copies.push(copy);
        }
    }
    let repeated = median(sweeps).mul_f64(steps as f64 / count.max(1) as f64);
    Ok((if long { first } else { repeated }, median(copies)))
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes no time, and notes how many steps it was asked for at once.
    struct Noting(Vec<usize>);

    impl Session for Noting {
        fn device(&self) -> String {
            "none".into()
        }

        fn arithmetic(&self) -> &'static str {
            "none"
        }

        fn fuse(&self) -> usize {
            3
        }

        fn chain(&self) -> usize {
            4
        }

        fn load(&mut self, _: &Grid) -> Result<(), Error> {
            Ok(())
        }

        fn restart(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
            self.0.push(steps);
            Ok(Duration::from_millis(steps as u64))
        }

        fn store(&mut self) -> Result<Grid, Error> {
            unreachable!("nobody asks for the grid")
        }

        fn copy(&mut self, _: usize) -> Result<Duration, Error> {
            Ok(Duration::from_millis(1))
        }
    }

    #[test]
    fn batches_are_of_whole_launches() {
        for (steps, batches) in [(0, vec![]), (5, vec![5]), (12, vec![12]), (40, vec![12, 24, 4])] {
            let mut session = Noting(Vec::new());
            let time = advance(&mut session, steps, true).unwrap();
            assert_eq!((session.0, time), (batches, Duration::from_millis(steps as u64)));
        }
    }

    #[test]
    fn samples_are_of_whole_launches_or_of_the_run() {
        // At 1 ms a step 200 are a sample: 204 are whole launches.
        for (steps, count) in [(5, 10), (30, 30), (203, 203), (300, 204), (501, 0)] {
            let mut session = Noting(Vec::new());
            let first = Duration::from_millis(steps as u64);
            let (time, _) = measure(&mut session, steps, first).unwrap();
            assert!(session.0.iter().all(|&asked| asked == count), "{steps}: {:?}", session.0);
            assert_eq!(time, first);
        }
    }
}
