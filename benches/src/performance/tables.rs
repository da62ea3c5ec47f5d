// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated sections of the page, as Markdown.

use std::fmt::Write;

use stencil::bench::{DepthMode, Measurement, Outcome, Row};
use stencil::engine::EngineRequest;
use stencil::{Dtype, Shape};

use super::peers::Peers;
use crate::markdown::{count, line, rule};
use crate::records::Records;

/// What was measured on, when, and of which commit.
pub fn machine(records: &Records) -> String {
    let unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".into());
    let days = match records.dates.as_slice() {
        [] => "not recorded".to_owned(),
        [day] => day.clone(),
        [first, .., last] => format!("{first} to {last}"),
    };
    let devices = records.devices().join("; ");
    let (driver, commit) = (unknown(&records.origin.driver), unknown(&records.origin.commit));
    let mut text = format!(
        "| machine | driver | commit | date |\n| --- | --- | --- | --- |\n\
         | {devices} | {driver} | {commit} | {days} |\n"
    );
    let copies: Vec<f64> = copies(records).collect();
    if !copies.is_empty() {
        let [least, most] = [copies.iter().copied().fold(f64::INFINITY, f64::min), max(&copies)];
        let (least, most) = (count(least), count(most));
        write!(text, "\nThe copy that speeds are compared with moved {least} to {most} GB/s.\n")
            .expect("a string takes any text");
    }
    text
}

/// Speeds of the copy beside each run, in GB/s.
fn copies(records: &Records) -> impl Iterator<Item = f64> {
    let measured = records.taken().filter_map(Row::measurement);
    measured.map(|measured| measured.effective_gb_per_s / measured.fraction_of_copy)
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// A table for each mode that was measured.
pub fn speeds(records: &Records) -> String {
    let tables = DepthMode::ALL.iter().filter_map(|mode| {
        let is_recorded = records.taken().any(|row| row.case.mode == *mode);
        is_recorded.then(|| speeds_in(records, *mode))
    });
    tables.collect::<Vec<String>>().join("\n")
}

fn speeds_in(records: &Records, mode: DepthMode) -> String {
    let what = match mode {
        DepthMode::Step => "One time step in each sweep through memory",
        DepthMode::Fused => "Several time steps as one sum",
        DepthMode::Chained => "Several sweeps on chip",
        DepthMode::Auto => "What the program takes by itself",
    };
    let mut text = format!("**{what}** (`--mode {mode}`)\n\n");
    let types: Vec<Dtype> = Dtype::ALL.to_vec();
    let names: Vec<String> = types.iter().map(Dtype::to_string).collect();
    text += &line(["stencil", "grid", "steps"].map(str::to_owned).into_iter().chain(names));
    text += &rule(3 + types.len());
    for (workload, shape) in records.grids() {
        let mut rows: Vec<&Row> = records.taken().collect();
        rows.retain(|row| row.case.workload == workload && row.case.shape == shape);
        rows.retain(|row| row.case.mode == mode);
        let mut steps: Vec<usize> = rows.iter().map(|row| row.case.steps).collect();
        steps.dedup();
        for steps in steps {
            let cells = types.iter().map(|dtype| {
                let is = |row: &&&Row| row.case.dtype == *dtype && row.case.steps == steps;
                rows.iter().find(is).map_or_else(String::new, |row| cell(row))
            });
            let names = [workload.stencil.to_owned(), grid(shape), steps.to_string()];
            text += &line(names.into_iter().chain(cells));
        }
    }
    text
}

/// Such as `6,697 3×4 (0.54; 3e-4)`.
fn cell(row: &Row) -> String {
    let measured = match &row.outcome {
        Outcome::Measured(measured) => measured,
        Outcome::Failed { .. } => return "failed".into(),
        Outcome::Unsupported { .. } => return "–".into(),
    };
    let Measurement { fuse, chain, fraction_of_copy, rel_l2_err, .. } = measured;
    let mut text = count(measured.gstencils_per_s);
    match measured.engine.as_str() {
        "sparse" => {}
        "cuda" => text += " c",
        other => text = format!("{text} {other}"),
    }
    if *fuse * *chain > 1 {
        write!(text, " {fuse}×{chain}").expect("a string takes any text");
    }
    let error = if *rel_l2_err == 0.0 { "0".into() } else { format!("{rel_l2_err:.0e}") };
    format!("{text} ({fraction_of_copy:.2}; {error})")
}

/// The engines that were measured side by side.
pub fn engines(records: &Records) -> String {
    let mut rows: Vec<&Row> = records.rows.iter().collect();
    rows.retain(|row| row.case.engine.is_some());
    let mut engines: Vec<EngineRequest> = rows.iter().filter_map(|row| row.case.engine).collect();
    engines.sort_by_key(|engine| EngineRequest::ALL.iter().position(|known| known == engine));
    engines.dedup();
    if engines.is_empty() {
        return "Not measured at this commit.".into();
    }
    let names = engines.iter().map(EngineRequest::to_string);
    let mut text =
        line(["stencil", "grid", "type", "mode"].map(str::to_owned).into_iter().chain(names));
    text += &rule(4 + engines.len());
    let mut known: Vec<&Row> = Vec::new();
    for row in &rows {
        let case = &row.case;
        if known.iter().any(|known| known.case.is_beside(case)) {
            continue;
        }
        known.push(row);
        let mut beside = rows.clone();
        beside.retain(|other| other.case.is_beside(case));
        let speeds: Vec<f64> = beside.iter().filter_map(|other| other.speed()).collect();
        let fastest = max(&speeds);
        let cells = engines.iter().map(|engine| {
            let found = beside.iter().find(|other| other.case.engine == Some(*engine));
            found.map_or_else(String::new, |row| beside_cell(row, fastest))
        });
        let names = [case.workload.stencil.into(), grid(case.shape), case.dtype.to_string()];
        text += &line(names.into_iter().chain([case.mode.to_string()]).chain(cells));
    }
    text
}

/// Measured, and in brackets predicted; bold if it is the fastest.
fn beside_cell(row: &Row, fastest: f64) -> String {
    let Some(measured) = row.measurement() else {
        return if row.failed() { "failed".into() } else { "–".into() };
    };
    let speed = count(measured.gstencils_per_s);
    let speed = if measured.gstencils_per_s < fastest { speed } else { format!("**{speed}**") };
    match measured.predicted_gstencils_per_s {
        Some(predicted) => format!("{speed} ({})", count(predicted)),
        None => speed,
    }
}

/// What others reach, beside what this program takes by itself.
pub fn peers(peers: &Peers, records: &Records) -> String {
    let Peers { gpu, driver, date, .. } = peers;
    let mut text = format!("Measured on one {gpu}, driver {driver}, {date}.\n\n");
    text += "| stencil | type | GStencil/s | system | steps in a launch | grid | this program |\n";
    text += &rule(7);
    let is_same_gpu = records.device().is_some_and(|device| peers.are_of(device));
    let largest = records.largest_grids();
    for peer in &peers.measured {
        let system = peers.systems.get_key_value(&peer.system).map_or("", |(name, _)| name);
        let shape = peer.shape.iter().map(usize::to_string).collect::<Vec<String>>().join("×");
        let speed = count(peer.gstencils_per_s);
        let (stencil, dtype, fuse) = (&peer.stencil, peer.dtype(), peer.fuse);
        let own = largest.iter().find(|(workload, _)| workload.stencil == stencil);
        let own = own.filter(|_| is_same_gpu);
        let own = own.and_then(|grid| records.measurement(*grid, dtype, DepthMode::Auto));
        let own = own.map_or_else(String::new, |own| count(own.gstencils_per_s));
        writeln!(text, "| {stencil} | {dtype} | {speed} | {system} | {fuse} | {shape} | {own} |")
            .expect("a string takes any text");
    }
    text += "\n";
    for (name, system) in &peers.systems {
        writeln!(text, "- {name}: {}; {}", system.source, system.note)
            .expect("a string takes any text");
    }
    text
}

fn grid(shape: Shape) -> String {
    shape.to_string().replace('x', "×")
}
