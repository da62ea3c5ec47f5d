// SPDX-License-Identifier: MIT OR Apache-2.0
//! From cases to results.

use std::borrow::Cow;

use super::{BenchCase, DepthMode, Measurement, Outcome, ProblemKind, Results, Row, system};
use compute::engine::Engine;
use compute::run::{InputMemory, Options, Run};
use problem::control::{Control, Piece, Stop, Work};
use problem::{Error, Grid};

/// Seed of the grids' random values.
pub(super) const SEED: u64 = 0;

/// Measures one case after the other into `results`, and hands them to `keep` after each, so that
/// whatever ends it, what was measured is kept. What goes wrong with a case stands in its row.
///
/// # Errors
/// Somebody asked for an end, there is no GPU for the engine that was asked for, or `keep` fails.
pub fn measure(
    cases: &[BenchCase],
    control: &Control,
    results: &mut Results,
    mut keep: impl FnMut(&Results) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut progress = control.begin(Work::Benchmark, cases.len());
    let mut input = None;
    for case in cases {
        progress.reached(results.rows.len())?;
        progress.starts(&case.to_string());
        let outcome = match run(case, results, &control.stop, &mut progress, &mut input) {
            Ok(measurement) => Outcome::Measured(measurement),
            Err(error) => without_measurement(error, case.engine.is_some())?,
        };
        results.rows.push(Row { case: case.clone(), outcome });
        results.complete = results.rows.len() == cases.len();
        keep(results)?;
    }
    Ok(())
}

/// The measurement of another mode, where the engine does the same in both.
fn known(case: &BenchCase, results: &Results, engine: &dyn Engine) -> Option<Measurement> {
    let like = results.rows.iter().filter(|row| row.case.is_like(case) && !row.is_copy());
    let depths = |mode: DepthMode| {
        let (fuse, chain) = mode.depths();
        (engine.fuses().then_some(fuse), engine.chains().then_some(chain))
    };
    let same = |row: &&Row, measured: &Measurement| {
        engine.name() == measured.engine && depths(row.case.mode) == depths(case.mode)
    };
    let mut known = like.filter_map(|row| Some((row, row.measurement()?)));
    let (row, measured) = known.find(|(row, measured)| same(row, measured))?;
    Some(Measurement { same_as: Some(row.case.mode), ..measured.clone() })
}

/// What stands in the row of a case that was not measured; beside other engines also that there is no GPU.
pub(super) fn without_measurement(error: Error, beside_others: bool) -> Result<Outcome, Error> {
    let reason = error.to_string();
    match error {
        Error::Stopped { .. } => Err(error),
        Error::NoDriver { .. } | Error::NoGpu { .. } | Error::NoDeviceCode { .. } => {
            if beside_others {
                Ok(Outcome::Unsupported { reason })
            } else {
                Err(error)
            }
        }
        Error::Unsupported { .. }
        | Error::Asked { .. }
        | Error::Memory { .. }
        | Error::GpuMemory { .. }
        | Error::GpuFull { .. } => Ok(Outcome::Unsupported { reason }),
        _ => Ok(Outcome::Failed { reason }),
    }
}

/// Plans a case, and unless its measurement is known computes, verifies and measures it.
fn run(
    case: &BenchCase,
    results: &Results,
    stop: &Stop,
    progress: &mut Piece,
    input: &mut Option<Grid>,
) -> Result<Measurement, Error> {
    if case.workload.kind == ProblemKind::System {
        return system::run(case, results.engine_of(case), stop);
    }
    let (job, engine) = (case.job(), results.engine_of(case));
    // Random values of a large grid take seconds: the modes of one workload share them.
    let fits = |grid: &Grid| grid.shape == case.shape && grid.dtype() == case.dtype.stored();
    let kept = input.take().filter(fits);
    let start = if kept.is_some() { InputMemory::Lent } else { InputMemory::ToBeLent };
    // What is told is how many are measured.
    let control = Control { stop: stop.clone(), progress: None };
    let options = Options { engine, control, ..Options::default() };
    // Before a grid is made that nobody can use.
    let planned = Run::plan(job, options, start)?;
    if let Some(speeds) = planned.stale_speeds() {
        progress.stale_speeds(speeds);
    }
    if let Some(measurement) = known(case, results, planned.engine()) {
        *input = kept;
        return Ok(measurement);
    }
    let grid = match kept {
        Some(grid) => grid,
        None => Grid::random(case.shape, case.dtype, SEED)?,
    };
    let measured = of_run(planned, &grid);
    *input = Some(grid);
    measured
}

/// Computes what was planned, verifies and measures it.
pub(super) fn of_run(planned: Run, input: &Grid) -> Result<Measurement, Error> {
    let mut computed = planned.compute(Cow::Borrowed(input))?;
    computed.verify()?;
    computed.measure()?;
    let report = computed.report();
    match report.verification.verdict.failure() {
        Some(wrong) => Err(wrong.clone().into()),
        None => Ok(Measurement::of(&report).expect("the run was compared and measured")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::error::InterruptedWork;
    use problem::memory::Bytes;

    #[test]
    fn a_grid_that_no_memory_holds_is_not_supported() {
        let [need, total] = [2, 1].map(Bytes);
        let too_big = Error::GpuMemory { what: "grids".into(), need, total };
        let unsupported = Outcome::Unsupported { reason: too_big.to_string() };
        assert_eq!(without_measurement(too_big, false).unwrap(), unsupported);
        let refused = Error::Driver { action: "launch".into(), reason: "no".into() };
        assert!(matches!(without_measurement(refused, false), Ok(Outcome::Failed { .. })));
        let stopped = Error::Stopped { during: InterruptedWork::Computing };
        assert!(without_measurement(stopped, true).is_err());
    }

    #[test]
    fn without_a_gpu_only_what_asks_for_it_alone_ends() {
        let no_driver = || Error::NoDriver { reason: "not found".into() };
        assert!(without_measurement(no_driver(), false).is_err());
        let unsupported = Outcome::Unsupported { reason: no_driver().to_string() };
        assert_eq!(without_measurement(no_driver(), true).unwrap(), unsupported);
    }
}
