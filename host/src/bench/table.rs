// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results as a table, for people.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::{DepthMode, Results, Row, regret};

/// The devices, a line for each measurement, and below it the reasons that lines refer to by number,
/// and which modes were not measured because they are the same.
#[must_use]
pub fn render(results: &Results) -> String {
    let by_engine = results.is_by_engine();
    let beside: &[&str] = if by_engine { &["predicted", "of best"] } else { &[] };
    let numbers = [
        &["steps", "engine", "fuse", "chain", "GStencil/s"],
        beside,
        &["GB/s", "of copy", "L2 error", "verified"],
    ];
    let mut table = with_header(&["stencil", "paper", "grid", "type", "mode"], &numbers.concat());
    let mut notes = Notes::default();
    for row in results.rows.iter().filter(|row| !row.is_copy()) {
        table.add_row(cells(row, results, &mut notes));
    }
    let mut text = String::new();
    for device in results.devices() {
        writeln!(text, "{device}").expect("a string takes any text");
    }
    let regret = if by_engine { regret::render(results) } else { String::new() };
    text + &lines(&table) + &notes.render() + &same(results) + &regret
}

/// A line for each engine and mode that stands for others.
fn same(results: &Results) -> String {
    let mut known: Vec<(&str, DepthMode, Vec<String>)> = Vec::new();
    for row in &results.rows {
        let Some(measured) = row.measurement() else { continue };
        let (engine, mode) = (measured.engine.as_str(), row.case.mode.to_string());
        let Some(of) = measured.same_as else { continue };
        match known.iter_mut().find(|(other, other_of, _)| (*other, *other_of) == (engine, of)) {
            Some((_, _, modes)) if modes.contains(&mode) => {}
            Some((_, _, modes)) => modes.push(mode),
            None => known.push((engine, of, vec![mode])),
        }
    }
    let line = |(engine, of, modes): &(&str, DepthMode, Vec<String>)| {
        let modes = modes.join(", ");
        format!("{engine} does the same in these modes, measured once as {of}: {modes}\n")
    };
    known.iter().map(line).collect()
}

fn cells(row: &Row, results: &Results, notes: &mut Notes) -> Vec<String> {
    let case = &row.case;
    let note = row.reason().map(|reason| notes.refer(reason));
    let mut cells = names(row);
    cells.push(case.steps.to_string());
    let Some(measured) = row.measurement() else {
        cells.push(case.engine.map_or_else(|| "-".to_owned(), |engine| engine.to_string()));
        let rest = if case.engine.is_some() { 8 } else { 6 };
        cells.extend(std::iter::repeat_n("-".to_owned(), rest));
        let what = if row.failed() { "FAILED" } else { "-" };
        cells.push(format!("{what} {}", note.unwrap_or_default()));
        return cells;
    };
    let verified = measured.mark();
    cells.extend([
        measured.engine.clone(),
        measured.fuse.to_string(),
        measured.chain.to_string(),
        speed(measured.gstencils_per_s),
    ]);
    if case.engine.is_some() {
        let best = results.best_speed(case).unwrap_or(measured.gstencils_per_s);
        cells.push(measured.predicted_gstencils_per_s.map_or_else(|| "-".to_owned(), speed));
        cells.push(format!("{:.2}", measured.gstencils_per_s / best));
    }
    cells.extend([
        format!("{:.1}", measured.effective_gb_per_s),
        format!("{:.2}", measured.fraction_of_copy),
        format!("{:.2e}", measured.rel_l2_err),
        note.map_or_else(|| verified.to_owned(), |note| format!("{verified} {note}")),
    ]);
    cells
}

/// Stencil, paper's name, grid, element type and mode.
pub(super) fn names(row: &Row) -> Vec<String> {
    let case = &row.case;
    let (stencil, paper) = (case.workload.stencil, case.workload.paper);
    vec![
        stencil.into(),
        paper.into(),
        case.shape.to_string(),
        case.dtype.to_string(),
        case.mode.to_string(),
    ]
}

/// GStencil/s, of GPUs in thousands, of emulators in thousandths.
pub(super) fn speed(gstencils_per_s: f64) -> String {
    let digits = if gstencils_per_s < 10.0 { 4 } else { 1 };
    format!("{gstencils_per_s:.digits$}")
}

/// A table with columns of names, aligned left, and then of numbers, aligned right.
pub(super) fn with_header(names: &[&str], numbers: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([names, numbers].concat());
    for column in names.len()..names.len() + numbers.len() {
        let column = table.column_mut(column).expect("the header has it");
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The table's lines without blanks at their ends.
pub(super) fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Reasons, each once, that rows refer to by number.
#[derive(Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// The number of a reason, as `[1]`.
    pub fn refer(&mut self, reason: &str) -> String {
        let known = self.0.iter().position(|note| note == reason);
        let index = known.unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        });
        format!("[{}]", index + 1)
    }

    /// A line for each.
    pub fn render(&self) -> String {
        let notes = self.0.iter().enumerate();
        notes.map(|(index, note)| format!("[{}] {note}\n", index + 1)).collect()
    }
}
