// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host list`: the named stencils, domain by domain.

use std::fmt::Write;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use transform::catalogue::{self, Domain, Entry};
use transform::stencil::MAX_RADIUS;

/// Columns of text that the list takes.
const WIDTH: u16 = 100;

/// Which stencils to print
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Only those of this field of application
    #[arg(long, value_name = "DOMAIN", ignore_case = true, value_parser = domains())]
    domain: Option<String>,
}

/// The domains as values of an option: they stand in its help and in its errors.
fn domains() -> PossibleValuesParser {
    let value = |domain: &Domain| PossibleValue::new(domain.name).help(domain.about);
    PossibleValuesParser::new(catalogue::domains().iter().map(value))
}

/// A heading, the stencils and their sources, for each domain.
pub fn render(args: &ListArgs) -> String {
    let asked = |domain: &&Domain| {
        args.domain.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(domain.name))
    };
    let sections: String = catalogue::domains().iter().filter(asked).map(section).collect();
    sections
        + &format!(
            "A step is stable and may be repeated. A filter smooths, sharpens or interpolates. A \
             difference is\nmade to be applied once. A first step starts a scheme of two time levels \
             from rest; repeated, it\ncomputes diffusion, not waves.\n\
             Shapes need no entry: star, box or diamond, 1 to 3 dimensions and a radius of 1 to \
             {MAX_RADIUS}, such as\ndiamond3d4r. `host plan NAME` shows what becomes of a stencil.\n"
        )
}

fn section(domain: &Domain) -> String {
    let mut stencils = table(&["name", "points", "radius", "kind", "what it is", "source"]);
    for column in [1, 2, 5] {
        let column = stencils.column_mut(column).expect("the header has it");
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut sources: Vec<&str> = Vec::new();
    for entry in catalogue::entries().iter().filter(|entry| entry.domain == domain.name) {
        let known = sources.iter().position(|source| *source == entry.source);
        let source = known.unwrap_or_else(|| {
            sources.push(entry.source);
            sources.len() - 1
        });
        stencils.add_row(row(entry, source + 1));
    }
    let mut references = table(&[]);
    for (index, source) in sources.iter().enumerate() {
        references.add_row([format!("[{}]", index + 1), (*source).to_owned()]);
    }
    let mut text = format!("{}: {}\n", domain.name, domain.about);
    for line in stencils.lines().chain(references.lines()) {
        writeln!(text, "{}", line.trim_end()).expect("a string takes any text");
    }
    text + "\n"
}

fn row(entry: &Entry, source: usize) -> [String; 6] {
    let stencil = entry.stencil();
    let aliases = match entry.aliases {
        [] => String::new(),
        aliases => format!("; also {}", aliases.join(", ")),
    };
    let (points, radius) = (stencil.taps().len().to_string(), stencil.radius().to_string());
    let about = format!("{}{aliases}", entry.about);
    let kind = entry.kind.to_string();
    [entry.name.to_owned(), points, radius, kind, about, format!("[{source}]")]
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    table
}
