// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records of this project beside others' code, and the sections of `docs/benchmarks/others.md` that are made of them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stencil::bench::Origin;

use super::solutions::Agreement;
use super::stencils::StencilRow;
use super::systems::SystemRow;
use crate::markdown::{line, rule, with_sections};

/// The page, from the repository's root.
pub const PAGE: &str = "docs/benchmarks/others.md";
/// Its records of speeds: on a CPU, on a GPU, and beside py-pde.
pub const RECORDS: [&str; 3] = [
    "benches/results/peers-cpu.json",
    "benches/results/peers-gpu.json",
    "benches/results/peers-py-pde.json",
];
/// Its records of solutions: Devito's, exponax's and those of SWASHES.
pub const SOLUTIONS: [&str; 3] = [
    "benches/results/peers-devito.json",
    "benches/results/peers-exponax.json",
    "benches/results/peers-swashes.json",
];
/// How the page is made anew.
pub const COMMAND: &str = "cargo run --release -p benches -- peers --page";

/// Where the numbers of a run come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordSource {
    /// Which program ran, when, and with which driver.
    #[serde(flatten)]
    pub origin: Origin,
    /// What computed.
    pub device: String,
    /// Others' packages, with their releases.
    pub peers: Vec<String>,
}

impl RecordSource {
    /// On what, beside what, of which commit; `turns` say how often, or are empty.
    fn text(&self, turns: &str) -> String {
        let Self { origin, device, peers } = self;
        let known = |name: &str, value: &Option<String>| {
            value.as_ref().map_or(String::new(), |value| format!(", {name}{value}"))
        };
        format!(
            "{device}{}; beside {}{turns}{}{}.",
            known("driver ", &origin.driver),
            peers.join(", "),
            known("commit ", &origin.commit),
            known("", &origin.date),
        )
    }
}

/// What was measured in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Where it comes from.
    #[serde(flatten)]
    pub source: RecordSource,
    /// Turns, of which the medians are.
    pub turns: usize,
    /// Stencils beside Devito.
    pub stencils: Vec<StencilRow>,
    /// Systems beside each peer.
    pub systems: Vec<SystemRow>,
}

/// Systems beside others' solutions, compared in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Solutions {
    /// Where they come from.
    #[serde(flatten)]
    pub source: RecordSource,
    /// A row for each quantity.
    pub agreements: Vec<Agreement>,
}

/// Reads a record from a file.
///
/// # Errors
/// It cannot be read, or is no such record.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: no record", path.display()))
}

/// Writes a record into a file.
///
/// # Errors
/// It cannot be written.
pub fn write<T: Serialize>(record: &T, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(record)? + "\n";
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

impl Solutions {
    fn table(&self) -> String {
        let mut rows = String::new();
        // What is compared of a problem beside one solution has one row.
        let is_same = |one: &Agreement, other: &Agreement| {
            (&one.problem, &one.peer) == (&other.problem, &other.peer)
        };
        for quantities in self.agreements.chunk_by(is_same) {
            rows += &(Agreement::farthest(quantities).line() + "\n");
        }
        format!("{}\n\n{}\n{rows}", self.source.text(""), Agreement::HEADER)
    }
}

impl Record {
    fn source(&self) -> String {
        self.source.text(&format!("; {} turns", self.turns))
    }

    fn systems(&self) -> String {
        let rows: String = self.systems.iter().map(|row| row.line() + "\n").collect();
        format!("{}\n\n{}\n{rows}", self.source(), SystemRow::HEADER)
    }

    /// The table of stencils.
    fn stencils(&self) -> String {
        let heads = [
            "stencil, grid, type, steps",
            "here",
            "Devito",
            "ratio",
            "of the best turns",
            "of a copy",
            "apart",
        ];
        let mut text = self.source() + "\n\n";
        text += &(line(heads.map(String::from).into_iter()) + &rule(heads.len()));
        for row in &self.stencils {
            text += &line(row.cells().into_iter());
        }
        text
    }
}

/// Makes the page of its records. Writes nothing.
///
/// # Errors
/// A file that cannot be read or is no record; a page without its markers.
pub fn generate(root: &Path) -> Result<String> {
    let [cpu, gpu, py_pde] = RECORDS.map(|name| read::<Record>(&root.join(name)));
    let (cpu, gpu, py_pde) = (cpu?, gpu?, py_pde?);
    let [devito, exponax, swashes] = SOLUTIONS.map(|name| read::<Solutions>(&root.join(name)));
    let path = root.join(PAGE);
    let written =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let sections = [
        ("systems on a CPU", cpu.systems()),
        ("systems on a GPU", gpu.systems()),
        ("equations of py-pde", py_pde.systems()),
        ("traces by Devito", devito?.table()),
        ("solutions by exponax", exponax?.table()),
        ("solutions by SWASHES", swashes?.table()),
        ("stencils on a CPU", cpu.stencils()),
    ];
    with_sections(&written, &sections).with_context(|| format!("{}", path.display()))
}
