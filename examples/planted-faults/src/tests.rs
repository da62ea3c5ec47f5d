// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each mistake is reported, as what it is and in its line, in several orders of events; without it nothing is.

use crate::table::{EmulatorReport, Planted, table};
use cuda_sim::{FaultKind, Module};

const SEEDS: u64 = 4;

/// The lines that a mark names, in all files.
fn lines(number: u32) -> Vec<(String, u32)> {
    let mark = format!("// fault {number}");
    let mut found = Vec::new();
    for file in ["plain", "blocks", "warps", "atomics", "copies", "products"] {
        let path = format!("{}/src/kernels/{file}.rs", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        let marked = text.lines().enumerate().filter(|(_, line)| line.ends_with(&mark));
        found.extend(marked.map(|(at, _)| (format!("src/kernels/{file}.rs"), at as u32 + 1)));
    }
    found
}

/// Whether a kind of report fits a mistake.
fn fits(number: u32, kind: &FaultKind) -> bool {
    use FaultKind::*;
    match number {
        1..=3 | 15 | 16 | 21 => matches!(kind, OutOfBounds { .. }),
        4 => matches!(kind, Trap),
        5 | 33 | 40 => matches!(kind, Misaligned { .. }),
        6 => matches!(kind, WildPointer { .. }),
        7 | 17 => matches!(kind, Unwritten(_)),
        9 | 10 | 13 | 14 | 20 | 26 | 28 | 30 | 31 => matches!(kind, Race { .. }),
        11 => matches!(kind, OutOfLocal { .. }),
        12 | 29 => matches!(kind, Endless(_)),
        18 | 19 | 24 | 27 | 42 => matches!(kind, Divergence { .. } | Deadlock { .. }),
        22 | 25 => matches!(kind, NotInMask { .. }),
        23 => matches!(kind, NoLane(32)),
        32 | 37 => matches!(kind, MissingWait { .. }),
        34 => matches!(kind, Unannounced { .. } | MissingWait { .. } | Unwritten(_)),
        35 => matches!(kind, BarrierUnfenced(_)),
        36 => matches!(kind, Unfenced { .. }),
        38 => matches!(kind, Deadlock { .. }),
        41 => matches!(kind, Unordered(_)),
        _ => false,
    }
}

/// Whether a mistake is reported as what it is, in its line.
fn is_reported(planted: &Planted, module: &Module, seed: u64) -> Result<(), String> {
    let fault = match planted.emulate(module, seed, true) {
        Ok(()) => return Err("nothing is reported".to_owned()),
        // Of what the host reads, no line of the kernel is told.
        Err(EmulatorReport::Unwritten(_)) if [8, 39].contains(&planted.number) => return Ok(()),
        Err(report @ EmulatorReport::Unwritten(_)) => return Err(report.to_string()),
        Err(EmulatorReport::Fault(fault)) => fault,
    };
    if !fits(planted.number, &fault.kind) {
        return Err(fault.to_string());
    }
    let marked = lines(planted.number);
    let of = |source: cuda_sim::SourceLine| {
        marked.iter().any(|(file, line)| source.file().ends_with(file) && source.line() == *line)
    };
    let is_other = match &fault.kind {
        FaultKind::Race { other, .. } => of(other.location),
        _ => true,
    };
    match of(fault.site.location) && is_other {
        true => Ok(()),
        false => Err(format!("{fault}, and not in {marked:?}")),
    }
}

/// The kernels as PTX; nothing where there is no compiler for them.
fn module() -> Option<Module> {
    let ptx: Result<&str, &str> = include!(concat!(env!("OUT_DIR"), "/lines.rs"));
    Some(Module::read(ptx.ok()?).expect("what the compiler made is PTX"))
}

#[test]
fn each_mistake_is_reported_in_its_line() {
    let Some(module) = module() else { return };
    let mut missed = Vec::new();
    for planted in table() {
        for seed in 0..SEEDS {
            if let Err(why) = is_reported(&planted, &module, seed) {
                missed.push(format!("{} ({}), seed {seed}: {why}", planted.number, planted.what));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn the_kernels_without_their_mistakes_pass() {
    let Some(module) = module() else { return };
    for planted in table() {
        for seed in 0..SEEDS {
            if let Err(report) = planted.emulate(&module, seed, false) {
                panic!("{} ({}): {report}", planted.number, planted.what);
            }
        }
    }
}
