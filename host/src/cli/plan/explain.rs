// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every candidate of a plan: those that work, ranked, and the others with the reason.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use transform::explore::Candidate;
use transform::plan::LayoutPlan;
use transform::roofline::{Roof, Roofline};

use super::summary::{factors, tile};

/// Columns of text that a table takes.
const WIDTH: u16 = 132;

/// The tables and the comparison behind a plan.
pub fn render(plan: &LayoutPlan) -> String {
    let ranked = plan.exploration.ranked.len();
    let mut text = format!(
        "\n{ranked} layouts, by their roofs; ms of a sweep. Tiles whose bound rules them out are not \
         worked out and follow below\n"
    );
    text += &ranking(plan).to_string();
    let rejected = plan.exploration.rejected.len();
    text += &format!("\n\n{rejected} layouts not taken\n");
    text += &rejections(plan).to_string();
    text +=
        "\n\nroofs of a sweep, which no kernel reaches: sparse tensor cores against CUDA cores\n";
    text += &roofline(&plan.rooflines.sparse);
    text += "dense tensor cores against CUDA cores\n";
    text += &roofline(&plan.rooflines.dense);
    text
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table
}

fn ranking(plan: &LayoutPlan) -> Table {
    let mut table = table(&[
        "#",
        "steps",
        "tile",
        "layout",
        "k'",
        "slots",
        "zero",
        "mma/128",
        "wavefronts",
        "compute",
        "shared",
        "issue",
        "memory",
        "bound",
        "GStencil/s",
    ]);
    for (place, candidate) in plan.exploration.ranked.iter().enumerate() {
        let Candidate { time, work, .. } = candidate;
        let wavefronts = 128.0 * work.wavefronts as f64 / work.outputs() as f64;
        let points: usize = plan.extents.iter().product();
        let rate = points as f64 / candidate.seconds_per_step() / 1e9;
        let ms = |seconds: f64| format!("{:.3}", 1e3 * seconds);
        let number = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row(vec![
            number((place + 1).to_string()),
            number(candidate.steps.to_string()),
            number(tile(candidate, plan.dims)),
            Cell::new(candidate.layout.to_string()),
            number(candidate.columns.to_string()),
            number(candidate.slots.to_string()),
            number(candidate.zero_columns.to_string()),
            number(format!("{:.2}", work.instructions_per_128_outputs())),
            number(format!("{wavefronts:.1}")),
            number(ms(time.compute)),
            number(ms(time.shared)),
            number(ms(time.issue)),
            number(ms(time.global)),
            Cell::new(time.bound().to_string()),
            number(format!("{rate:.0}")),
        ]);
    }
    table
}

/// One row for each reason, with the tiles that it holds for.
fn rejections(plan: &LayoutPlan) -> Table {
    let mut by_reason: BTreeMap<(usize, String, &str), Vec<String>> = BTreeMap::new();
    for rejected in &plan.exploration.rejected {
        let layout = rejected.layout.map_or("any".into(), |layout| layout.to_string());
        let tiles = by_reason.entry((rejected.steps, layout, &rejected.reason)).or_default();
        tiles.extend(rejected.factors.map(|at| factors(at, plan.dims)));
    }
    let mut table = table(&["steps", "layout", "reason", "tiles"]);
    for ((steps, layout, reason), tiles) in by_reason {
        let tiles = if tiles.is_empty() { "all".into() } else { tiles.join(" ") };
        table.add_row(vec![steps.to_string(), layout, reason.to_owned(), tiles]);
    }
    table
}

fn roofline(roofline: &Roofline) -> String {
    let Roofline { alpha, sparsity, speedup, .. } = roofline;
    let reason = roofline.reason();
    let roof = |name: &str, roof: &Roof| {
        let Roof { demand, intensity, ridge, .. } = roof;
        let (flop, bytes) = (demand.flop, demand.bytes);
        format!(
            "  {name:<13} C = {flop:.1} flop, M = {bytes} bytes, I = {intensity:.2} flop/byte, \
             ridge {ridge:.2}\n"
        )
    };
    format!(
        "  {reason}; α = {alpha:.2}, S = {sparsity:.3}, roofs promise {speedup:.2} times the speed\n"
    ) + &roof("CUDA cores", &roofline.cuda)
        + &roof("tensor cores", &roofline.tensor)
}
