// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes after the steps: files, verification, measurement, report.

use std::path::PathBuf;

use super::records;
use crate::cli::file_args::{FileArgs, Outputs};
use crate::cli::files::Destination;
use crate::cli::tell::print_report;
use crate::cli::watching::{RunObservers, named, publish};
use crate::cli::{remedy, warn};
use compute::report::{Files, Report};
use compute::run::Completed;
use files::io::Output;
use problem::Error;

/// What is told, and what a report says of where values came from.
pub struct FinishOptions<'a> {
    /// Whether nothing is printed but warnings.
    pub quiet: bool,
    /// Of random ones.
    pub seed: Option<u64>,
    /// The files of weights and of values.
    pub read: [Option<PathBuf>; 2],
    /// The names of what receivers record.
    pub receivers: &'a [String],
    /// The names of totals.
    pub totals: &'a [String],
}

/// The files that a run has written.
pub struct WrittenFiles<'a> {
    /// Files of fields.
    pub outputs: Option<&'a Outputs>,
    /// What receivers recorded.
    pub records: Option<Output>,
    /// What totals were.
    pub series: Option<Output>,
    /// The report.
    pub json: Option<Destination>,
}

/// Keeps the result, verifies it, measures, and reports: each as far as it goes, whatever happens to the
/// others.
pub fn finish(
    args: &FileArgs,
    told: FinishOptions,
    completed: &mut dyn Completed,
    written: WrittenFiles,
    mut watching: RunObservers,
) -> Result<(), Error> {
    let step = completed.step();
    let outputs = written.outputs;
    let files = outputs.map(|outputs| outputs.after(step)).transpose()?.unwrap_or_default();
    // Beside its place at first: what is wrong must not replace an earlier result.
    let (mut staged, mut last) = (Vec::new(), None);
    if let Some(outputs) = outputs {
        completed.show(&mut |snapshot| {
            staged = watching.stage(outputs, &files, step, snapshot)?;
            last = Some(outputs.recording.moment(step, snapshot));
            Ok(())
        })?;
    }
    let verified = completed.verify();
    let wrong = completed.failure();
    let mut kept = Ok(None);
    if wrong.is_none() {
        if let Some(outputs) = outputs {
            kept = publish(outputs, staged, last)
                .map(|()| args.output.as_deref().map(|pattern| named(&files, pattern)));
        }
        if let Some(output) = written.records {
            let recorded =
                records::write(&output, (&["t"][..], told.receivers), completed.records());
            kept = kept.and_then(|kept| recorded.map(|()| kept));
        }
        if let Some(output) = written.series {
            let names = (&["step", "t"][..], told.totals);
            let written = records::write(&output, names, completed.series());
            kept = kept.and_then(|kept| written.map(|()| kept));
        }
    }
    let measured = match verified {
        Ok(true) => completed.measure(),
        _ => Ok(()),
    };
    let report = completed.report();
    let lost = report.lost();
    let warnings = lost.as_ref().map(remedy::of_lost_digits).into_iter();
    warnings.chain(remedy::of_values(&report)).for_each(|text| warn(&text));
    let report = Report {
        seed: told.seed,
        files: Files::new(
            told.read[0].as_deref(),
            told.read[1].as_deref(),
            kept.as_ref().ok().and_then(|kept| kept.as_deref()),
        ),
        snapshots: watching.waited(),
        ..report
    };
    let told = print_report(args, told.quiet, &report, &watching.told(step), written.json);
    let checkpoint = watching.kept();
    if let Some(wrong) = wrong {
        return Err(wrong.into());
    }
    kept.map(|_| ()).and(verified.map(|_| ())).and(measured).and(told).and(checkpoint)
}
