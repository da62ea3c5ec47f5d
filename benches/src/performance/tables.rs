// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated sections of the page, as Markdown.

use std::fmt::Write;

use stencil::bench::{DepthMode, Measurement, Outcome, Row};
use stencil::{Dtype, Shape};

use super::peers::{Peer, Peers};
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

/// What others reach, beside what this program takes by itself: a row for each stencil.
pub fn peers(peers: &Peers, records: &Records) -> String {
    let Peers { gpu, driver, date, .. } = peers;
    let mut text = format!("Measured on one {gpu}, driver {driver}, {date}.\n\n");
    let is_same_gpu = records.device().is_some_and(|device| peers.are_of(device));
    let largest = records.largest_grids();
    let own = |peer: &Peer| {
        let grid = largest.iter().find(|(workload, _)| workload.stencil == peer.stencil)?;
        let own = records.measurement(*grid, peer.dtype(), DepthMode::Auto)?;
        is_same_gpu.then(|| format!("{}; ", count(own.gstencils_per_s)))
    };
    let cell = |peer: &Peer| {
        let Peer { system, gstencils_per_s, fuse, .. } = peer;
        let own = own(peer).unwrap_or_default();
        format!("{own}{system} {} ({fuse})", count(*gstencils_per_s))
    };
    let mut types: Vec<Dtype> = peers.measured.iter().map(Peer::dtype).collect();
    types.dedup();
    let names = types.iter().map(Dtype::to_string);
    text += &line(["stencil".to_owned()].into_iter().chain(names));
    text += &rule(1 + types.len());
    let mut stencils: Vec<&str> = Vec::new();
    for Peer { stencil, .. } in &peers.measured {
        if stencils.contains(&stencil.as_str()) {
            continue;
        }
        stencils.push(stencil);
        let cells = types.iter().map(|dtype| {
            let is = |peer: &&Peer| peer.stencil == *stencil && peer.dtype() == *dtype;
            peers.measured.iter().find(is).map_or_else(String::new, cell)
        });
        text += &line([stencil.clone()].into_iter().chain(cells));
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
