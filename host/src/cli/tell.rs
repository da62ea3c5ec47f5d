// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of a run: for people on standard output, for programs in a file.

use super::file_args::FileArgs;
use super::files::Destination;
use super::print;
use compute::report::Report;
use problem::Error;

/// Prints the report and what is said `besides`, unless it is to be `quiet`, and writes it as JSON.
pub fn print_report(
    args: &FileArgs,
    quiet: bool,
    report: &Report,
    besides: &str,
    json: Option<Destination>,
) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(report).expect("a report is plain data") + "\n";
    let printed = match json {
        Some(Destination::Stdout) => print(&text),
        _ if quiet => Ok(()),
        _ => {
            let readable = report.advising("--verify full").to_string();
            super::report(&(readable + besides), args.streams())
        }
    };
    let written = match json {
        Some(Destination::File(file)) => file.write(|to| to.write_all(text.as_bytes())),
        _ => Ok(()),
    };
    printed.and(written)
}
