// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes after the steps: files, verification, measurement, report.

use std::path::PathBuf;

use crate::cli::file_args::{FileArgs, Outputs};
use crate::cli::files::Destination;
use crate::cli::tell::tell;
use crate::cli::watching::{Watching, named, publish};
use crate::cli::{remedy, warn};
use compute::report::{Files, Report};
use compute::run::Computed;
use problem::Error;

/// What is told, and what a report says of where values came from.
pub struct Told {
    /// Whether nothing is printed but warnings.
    pub quiet: bool,
    /// Of random ones.
    pub seed: Option<u64>,
    /// The files of weights and of values.
    pub read: [Option<PathBuf>; 2],
}

/// Keeps the result, verifies it, measures, and reports: each as far as it goes, whatever happens to the
/// others.
pub fn finish(
    args: &FileArgs,
    told: Told,
    mut computed: Computed,
    outputs: Option<&Outputs>,
    mut watching: Watching,
    json: Option<Destination>,
) -> Result<(), Error> {
    let step = computed.step();
    let files = outputs.map(|outputs| outputs.after(step)).transpose()?.unwrap_or_default();
    // Beside its place at first: what is wrong must not replace an earlier result.
    let staged = match outputs {
        None => Vec::new(),
        Some(outputs) => watching.stage(outputs, &files, step, &mut computed.snapshot())?,
    };
    let verified = computed.verify();
    let wrong = computed.verdict().failure().cloned();
    let kept = match outputs {
        Some(outputs) if wrong.is_none() => publish(outputs, staged, step)
            .map(|()| args.output.as_deref().map(|pattern| named(&files, pattern))),
        _ => Ok(None),
    };
    let measured = match verified {
        Ok(true) => computed.measure(),
        _ => Ok(()),
    };
    let lost = computed.report().lost();
    lost.as_ref().map(remedy::of_lost_digits).into_iter().for_each(|text| warn(&text));
    let report = Report {
        seed: told.seed,
        files: Files::new(
            told.read[0].as_deref(),
            told.read[1].as_deref(),
            kept.as_ref().ok().and_then(|kept| kept.as_deref()),
        ),
        snapshots: watching.waited(),
        ..computed.report()
    };
    let told = tell(args, told.quiet, &report, &watching.told(step), json);
    let checkpoint = watching.kept();
    if let Some(wrong) = wrong {
        return Err(wrong.into());
    }
    kept.map(|_| ()).and(verified.map(|_| ())).and(measured).and(told).and(checkpoint)
}
