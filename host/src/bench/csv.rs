// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as CSV (RFC 4180, lines ended by a single newline), for spreadsheets and data frames.

use super::Results;
use super::record::{OutcomeKind, Record};

const HEADER: [&str; 21] = [
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
    "same_as",
    "reason",
    "asked",
    "kernel",
    "predicted_gstencils_per_s",
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
        OutcomeKind::Measured => "measured",
        OutcomeKind::Failed => "failed",
        OutcomeKind::Unsupported => "unsupported",
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
        text(record.same_as),
        text(record.reason),
        text(record.asked),
        text(record.kernel),
        text(record.predicted_gstencils_per_s),
    ]
}

fn quote(field: String) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{DepthMode, Outcome, Row, Workload};
    use problem::{Dtype, Shape};

    #[test]
    fn the_documents_describe_every_field_workload_and_mode() {
        let text = include_str!("../../../docs/how-to/reproduce-a-benchmark.md");
        let names = Workload::all().iter().flat_map(|workload| [workload.stencil, workload.paper]);
        for name in names.chain(HEADER) {
            assert!(text.contains(name), "{name}");
        }
        for mode in DepthMode::ALL {
            assert!(text.contains(&format!("`{mode}`")), "{mode:?}");
        }
    }

    #[test]
    fn fields_with_commas_quotes_and_newlines_are_quoted() {
        let case = crate::bench::BenchCase {
            workload: &Workload::all()[0],
            shape: Shape::new(&[7]).unwrap(),
            dtype: Dtype::F16,
            mode: DepthMode::Step,
            steps: 1,
            engine: None,
        };
        let outcome = Outcome::Failed { reason: "one, \"two\"\nthree".into() };
        let rows = vec![Row { case, outcome }];
        let (version, origin, engine) = Default::default();
        let text = render(&Results { version, origin, engine, complete: true, rows });
        let row =
            "star1d1r,Heat-1D,7,f16,step,1,failed,,,,,,,,,false,,\"one, \"\"two\"\"\nthree\",,,\n";
        assert_eq!(text, HEADER.join(",") + "\n" + row);
    }
}
