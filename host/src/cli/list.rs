// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host list`: the named stencils, domain by domain.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use transform::catalogue::{self, Domain, Entry, Shape};
use transform::stencil::MAX_RADIUS;

use self::detail::Detail;
pub use self::detail::SumDetail;
use super::Failure;
use super::files::{CommandFiles, Destination};
use super::stencil_args::catalogue_names;
use problem::similar_names::near;

mod detail;

/// Columns of text that the list takes.
const WIDTH: u16 = 100;

const EXAMPLES: &str = "\
Examples:
  host list --domain heat
  host list upwind                   those with the word in their name, description or domain
  host list star2d1r                 one stencil: its weights, and the sum as a formula
  host list --domain heat --json -   for programs, with all offsets and weights

Exit codes: 0 done, 2 bad input, also where nothing holds the word.";

/// Which stencils to print
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// Print the stencil of this name, with its weights; otherwise the stencils with this word in the name, the
    /// description or the domain. Upper case, - and _ make no difference
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Print only stencils of this field of application
    #[arg(long, value_name = "DOMAIN", ignore_case = true, value_parser = domains())]
    domain: Option<String>,
    /// Write the stencils as JSON to this file, with offsets and weights; - prints it in place of the list
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The domains as values of an option: they stand in its help and in its errors.
fn domains() -> PossibleValuesParser {
    let value = |domain: &Domain| PossibleValue::new(domain.name).help(domain.about);
    PossibleValuesParser::new(catalogue::domains().iter().map(value))
}

/// Runs the command and returns what it prints.
///
/// # Errors
/// [`Failure::NotListed`]: no stencil holds the word; or a failure of
/// [`CommandFiles::writes_or_prints`] or of writing the file.
pub fn run(args: &ListArgs) -> Result<String, Failure> {
    let json = CommandFiles::default().writes_or_prints("--json", args.json.as_deref())?;
    let Some(json) = json else { return render(args) };
    let word = args.word.as_deref().unwrap_or_default();
    let named = exactly(args);
    let wanted = |entry: &&Entry| match named {
        Some(named) => entry.name == named.name,
        None => {
            let domain = catalogue::domains().iter().find(|domain| domain.name == entry.domain);
            let asked =
                args.domain.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(entry.domain));
            asked && domain.is_some_and(|domain| holds(entry, domain, word))
        }
    };
    let all: Vec<Detail> = catalogue::entries().iter().filter(wanted).map(Detail::of).collect();
    if all.is_empty() {
        return Err(not_listed(word));
    }
    let text = serde_json::to_string_pretty(&all).expect("a list is plain data") + "\n";
    match json {
        Destination::Stdout => Ok(text),
        Destination::File(file) => {
            file.write(|to| to.write_all(text.as_bytes()))?;
            Ok(String::new())
        }
    }
}

/// The entry that the word names, as it is written or by another of its names.
fn exactly(args: &ListArgs) -> Option<&'static Entry> {
    let word = args.word.as_deref().filter(|_| args.domain.is_none())?;
    let named = |entry: &&Entry| entry.name == word || entry.aliases.contains(&word);
    catalogue::entries().iter().find(named)
}

fn not_listed(word: &str) -> Failure {
    Failure::NotListed { near: near(word, catalogue_names()), word: word.to_owned() }
}

/// A heading, the stencils and their sources, for each domain; or one stencil.
fn render(args: &ListArgs) -> Result<String, Failure> {
    if let Some(entry) = exactly(args) {
        return Ok(detail::render(&entry.stencil(), Some(entry)));
    }
    // Shapes need no entry.
    let shape = args.word.as_deref().filter(|word| word.parse::<Shape>().is_ok());
    if let Some(stencil) = shape.filter(|_| args.domain.is_none()).and_then(catalogue::find) {
        return Ok(detail::render(&stencil, None));
    }
    let word = args.word.as_deref().unwrap_or_default();
    let asked = |domain: &&Domain| {
        args.domain.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(domain.name))
    };
    let sections: String = catalogue::domains()
        .iter()
        .filter(asked)
        .filter_map(|domain| {
            let all = catalogue::entries().iter().filter(|entry| entry.domain == domain.name);
            let entries: Vec<&Entry> = all.filter(|entry| holds(entry, domain, word)).collect();
            (!entries.is_empty()).then(|| section(domain, &entries))
        })
        .collect();
    if sections.is_empty() {
        return Err(not_listed(word));
    }
    Ok(sections
        + &format!(
            "A step is stable and may be repeated. A filter smooths, sharpens or interpolates. A \
             difference is\nmade to be applied once. A first step starts a scheme of two time levels \
             from rest; repeated, it\ncomputes diffusion, not waves.\n\
             Shapes need no entry: star, box or diamond, 1 to 3 dimensions and a radius of 1 to \
             {MAX_RADIUS}, such as\ndiamond3d4r. `host plan NAME` shows what becomes of a stencil.\n"
        ))
}

/// Whether a word stands in what is printed of an entry, but for its source.
fn holds(entry: &Entry, domain: &Domain, word: &str) -> bool {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let kind = entry.kind.to_string();
    let texts = [entry.name, domain.name, domain.about, entry.about, kind.as_str()];
    let wanted = plain(word);
    texts.iter().chain(entry.aliases).any(|text| plain(text).contains(&wanted))
}

fn section(domain: &Domain, entries: &[&Entry]) -> String {
    let mut stencils = table(&["name", "points", "radius", "kind", "what it is", "source"]);
    for column in [1, 2, 5] {
        let column = stencils.column_mut(column).expect("the header has it");
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut sources: Vec<&str> = Vec::new();
    for entry in entries {
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
