// SPDX-License-Identifier: MIT OR Apache-2.0
//! One stencil: what it is, its offsets and weights, and the sum as a formula.

use std::fmt::Write;

use serde::Serialize;
use transform::Stencil;
use transform::catalogue::Entry;
use transform::stencil::Tap;

/// Offsets of a table; the JSON has the others of larger stencils.
const MOST_ROWS: usize = 64;
/// Columns of text that the formula takes.
const WIDTH: usize = 100;

/// A stencil for programs.
#[derive(Debug, Serialize)]
pub struct Detail {
    name: String,
    aliases: Vec<&'static str>,
    domain: &'static str,
    kind: String,
    about: &'static str,
    source: &'static str,
    dims: usize,
    radius: usize,
    #[serde(flatten)]
    sum: SumDetail,
}

/// The sum that a stencil is, for programs.
#[derive(Debug, Serialize)]
pub struct SumDetail {
    /// Slowest axis first.
    offsets: Vec<Vec<i32>>,
    weights: Vec<f64>,
    formula: String,
}

impl SumDetail {
    /// The sum of a stencil.
    pub fn of(stencil: &Stencil) -> Self {
        let (dims, taps) = (stencil.dims(), stencil.taps());
        Self {
            offsets: taps.iter().map(|tap| tap.offset[3 - dims..].to_vec()).collect(),
            weights: taps.iter().map(|tap| tap.weight).collect(),
            formula: formula(stencil).concat(),
        }
    }
}

impl Detail {
    /// The detail of an entry of the catalogue.
    pub fn of(entry: &Entry) -> Self {
        let stencil = entry.stencil();
        Self {
            name: entry.name.to_owned(),
            aliases: entry.aliases.to_vec(),
            domain: entry.domain,
            kind: entry.kind.to_string(),
            about: entry.about,
            source: entry.source,
            dims: stencil.dims(),
            radius: stencil.radius(),
            sum: SumDetail::of(&stencil),
        }
    }
}

/// What there is to say of a stencil, of the catalogue or of a shape.
pub fn render(stencil: &Stencil, entry: Option<&Entry>) -> String {
    let (points, radius) = (stencil.taps().len(), stencil.radius());
    let mut text = format!("{}   {points} points, radius {radius}", stencil.name());
    if let Some(entry) = entry {
        let aliases = match entry.aliases {
            [] => String::new(),
            aliases => format!("; also {}", aliases.join(", ")),
        };
        let Entry { about, kind, domain, source, .. } = entry;
        text += &format!("{aliases}\n{kind}, {domain}: {about}\n{source}");
    }
    text += "\n\n";
    let (mut line, indent) = (String::new(), "    ");
    for part in formula(stencil) {
        if !line.is_empty() && line.chars().count() + part.trim_end().chars().count() > WIDTH {
            text += line.trim_end();
            text += "\n";
            line = indent.to_owned();
        }
        line += &part;
    }
    text += line.trim_end();
    text += "\n\n";
    let dims = stencil.dims();
    for name in &["z", "y", "x"][3 - dims..] {
        write!(text, "{name:>4}").expect("a string takes any text");
    }
    text += "  weight\n";
    for Tap { offset, weight } in stencil.taps().iter().take(MOST_ROWS) {
        for offset in &offset[3 - dims..] {
            write!(text, "{offset:>4}").expect("a string takes any text");
        }
        writeln!(text, "  {weight}").expect("a string takes any text");
    }
    if points > MOST_ROWS {
        let more = points - MOST_ROWS;
        writeln!(text, "and {more} more: --json FILE writes those of the catalogue")
            .expect("a string takes any text");
    }
    text
}

/// The sum in parts that a line may end after: points of the same weight stand together.
fn formula(stencil: &Stencil) -> Vec<String> {
    let dims = stencil.dims();
    let point = |tap: &Tap| {
        let axes = ["z", "y", "x"].into_iter().zip(tap.offset).skip(3 - dims);
        let axes = axes.map(|(axis, offset)| match offset {
            0 => axis.to_owned(),
            offset => format!("{axis}{offset:+}"),
        });
        format!("u[{}]", axes.collect::<Vec<_>>().join(","))
    };
    let mut groups: Vec<(f64, Vec<String>)> = Vec::new();
    for tap in stencil.taps() {
        match groups.iter_mut().find(|(weight, _)| *weight == tap.weight) {
            Some((_, points)) => points.push(point(tap)),
            None => groups.push((tap.weight, vec![point(tap)])),
        }
    }
    let mut parts = vec![format!("u'[{}] = ", ["z", "y", "x"][3 - dims..].join(","))];
    for (index, (weight, points)) in groups.iter().enumerate() {
        let sign = match (index, *weight < 0.0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => "+ ",
            (_, true) => "- ",
        };
        let [open, close] = if points.len() > 1 { ["(", ")"] } else { ["", ""] };
        let last = points.len() - 1;
        for (place, point) in points.iter().enumerate() {
            let start =
                if place == 0 { format!("{sign}{} {open}", weight.abs()) } else { "+ ".into() };
            let end = if place == last { format!("{close} ") } else { " ".into() };
            parts.push(format!("{start}{point}{end}"));
        }
    }
    if let Some(last) = parts.last_mut() {
        last.truncate(last.trim_end().len());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_one_weight_stand_together() {
        let stencil = Stencil::dense("own", &[3], &[0.25, 0.5, 0.25]).unwrap();
        assert_eq!(formula(&stencil).concat(), "u'[x] = 0.25 (u[x-1] + u[x+1]) + 0.5 u[x]");
        let stencil = Stencil::dense("own", &[1, 3], &[-1.0, 0.0, 2.0]).unwrap();
        assert_eq!(formula(&stencil).concat(), "u'[y,x] = -1 u[y,x-1] + 2 u[y,x+1]");
    }
}
