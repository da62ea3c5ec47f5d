// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which measurements have a colour in common: those of a mode, or of an engine where engines stand side by side.

use plotters::style::RGBColor;

use crate::bench::{Results, Row};

/// Entries of the legend in a line.
pub const BESIDE: usize = 4;

/// Told apart by people who see few colours, too, as far as so many can be.
const COLORS: [RGBColor; 8] = [
    RGBColor(158, 188, 218),
    RGBColor(33, 102, 172),
    RGBColor(230, 145, 56),
    RGBColor(77, 146, 33),
    RGBColor(136, 86, 167),
    RGBColor(120, 120, 120),
    RGBColor(197, 27, 125),
    RGBColor(166, 97, 26),
];

/// Measurements of one colour.
#[derive(Debug, PartialEq)]
pub struct Series {
    /// What they have in common.
    pub name: String,
    pub color: RGBColor,
}

/// All of them, in the order of the rows.
pub fn of(results: &Results) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in results.rows.iter().filter(|row| row.measurement().is_some()) {
        let name = name(results, row);
        if series.iter().all(|known| known.name != name) {
            series.push(Series { name, color: COLORS[series.len() % COLORS.len()] });
        }
    }
    series
}

/// What the series of a row is called.
pub fn name(results: &Results, row: &Row) -> String {
    let mode = row.case.mode;
    let one_mode = results.rows.iter().all(|other| other.case.mode == mode);
    match row.case.engine {
        None => format!("mode {mode}"),
        Some(engine) if one_mode => engine.to_string(),
        Some(engine) => format!("{engine}, mode {mode}"),
    }
}
