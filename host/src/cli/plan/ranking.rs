// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways to compute a job, the fastest first, and why the others are none.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::summary::rate;
use crate::plan::{Candidate, Planned, Rejected, depth};

/// Ways that are listed unless all are asked for.
const LISTED: usize = 8;

/// The ranking, for people; with `all`, every way and every reason.
pub fn render(planned: &Planned, all: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, planned, all);
    text
}

fn write(text: &mut String, planned: &Planned, all: bool) -> std::fmt::Result {
    let Planned { machine, figures, ranked, rejected } = planned;
    let Some(first) = ranked.first() else {
        writeln!(text, "\nno engine of {machine} takes this; `--engine auto` then takes the CPU")?;
        return reasons(text, &rejected.iter().collect::<Vec<_>>());
    };
    writeln!(text, "\nfastest first on {machine}; `--engine auto` takes the first")?;
    writeln!(text, "  ({figures})")?;
    let listed = if all { ranked.len() } else { LISTED };
    for candidate in ranked.iter().take(listed) {
        let Candidate { engine, kernel, seconds_per_step, gstencils_per_s, .. } = candidate;
        let behind = seconds_per_step / first.seconds_per_step;
        writeln!(
            text,
            "  {engine:<7} {kernel:<26} {:<20} {:>8} GStencil/s  {:>9.3} µs a step  {behind:.2}",
            depth(candidate.fuse, candidate.chain),
            rate(*gstencils_per_s),
            1e6 * seconds_per_step,
        )?;
    }
    let hidden = ranked.len().saturating_sub(listed);
    if all {
        return reasons(text, &rejected.iter().collect::<Vec<_>>());
    }
    let (kernels, engines): (Vec<_>, Vec<_>) =
        rejected.iter().partition(|rejected| rejected.kernel.is_some());
    let counts = [(hidden, "slower"), (kernels.len(), "out")].into_iter();
    let counts: Vec<String> = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} more are {what}"))
        .collect();
    if !counts.is_empty() {
        writeln!(text, "  {} (--explain shows all, with the reasons)", counts.join(", "))?;
    }
    reasons(text, &engines)
}

/// One line for each reason, with what it holds for.
fn reasons(text: &mut String, rejected: &[&Rejected]) -> std::fmt::Result {
    if rejected.is_empty() {
        return Ok(());
    }
    let mut by_reason: BTreeMap<(&str, &str, String), Vec<String>> = BTreeMap::new();
    for rejected in rejected {
        let kernel = rejected.kernel.as_deref().unwrap_or("all kernels");
        let reason = rejected.refusal.to_string();
        let depths = by_reason.entry((rejected.engine, kernel, reason)).or_default();
        depths.push(format!("{}x{}", rejected.fuse, rejected.chain));
    }
    writeln!(text, "out, by steps fused x sweeps chained")?;
    for ((engine, kernel, reason), depths) in by_reason {
        writeln!(text, "  {engine:<7} {kernel:<12} {}: {reason}", depths.join(" "))?;
    }
    Ok(())
}
