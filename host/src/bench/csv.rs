// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as CSV (RFC 4180, lines ended by a single newline), for spreadsheets and data frames.

use super::Results;
use super::record::{Kind, Record};

const HEADER: [&str; 17] = [
    "stencil",
    "paper",
    "shape",
    "dtype",
    "mode",
    "steps",
    "outcome",
    "engine",
    "device",
    "fuse",
    "chain",
    "gstencils_per_s",
    "effective_gb_per_s",
    "fraction_of_copy",
    "rel_l2_err",
    "verified",
    "reason",
];

/// A line of names, then one for each row; a field that a row lacks is empty.
#[must_use]
pub fn render(results: &Results) -> String {
    let rows = results.rows.iter().map(|row| fields(Record::from(row)));
    let lines = std::iter::once(HEADER.map(str::to_owned)).chain(rows);
    lines.map(|fields| fields.map(quote).join(",") + "\n").collect()
}

fn fields(record: Record) -> [String; HEADER.len()] {
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    let extents: Vec<String> = record.shape.iter().map(usize::to_string).collect();
    let outcome = match record.outcome {
        Kind::Measured => "measured",
        Kind::Failed => "failed",
        Kind::Unsupported => "unsupported",
    };
    [
        record.stencil,
        record.paper,
        extents.join("x"),
        record.dtype,
        record.mode,
        record.steps.to_string(),
        outcome.into(),
        text(record.engine),
        text(record.device),
        text(record.fuse),
        text(record.chain),
        text(record.gstencils_per_s),
        text(record.effective_gb_per_s),
        text(record.fraction_of_copy),
        text(record.rel_l2_err),
        record.verified.to_string(),
        text(record.reason),
    ]
}

fn quote(field: String) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}
