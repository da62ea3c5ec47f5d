// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways to compute a job, the fastest first, and why the others are none.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::summary::rate;
use compute::plan::{Candidate, Planned, Rejected, depth};

/// The engine that others come before.
const CPU: &str = "cpu";

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
        // Of a GPU that is only described, nobody asked the CPU, which takes whatever its memory holds.
        let auto = match planned.refusal(CPU) {
            Some(_) => "refuses it",
            None => "then takes the CPU, if the grid fits its memory",
        };
        writeln!(text, "\nno engine of {machine} takes this; `--engine auto` {auto}")?;
        return reasons(text, &rejected.iter().collect::<Vec<_>>());
    };
    let cpu_last = ranked.len() > 1 && ranked.last().is_some_and(|last| last.engine == CPU);
    let times = ranked.iter().map(|candidate| candidate.seconds_per_step);
    let beside = times.take(ranked.len() - usize::from(cpu_last));
    let mut order = if cpu_last { ", but the CPU after the GPU" } else { "" }.to_owned();
    if !beside.is_sorted() {
        order += ", and jumps and chains after simpler ways that are nearly as fast";
    }
    writeln!(text, "\nfastest first on {machine}{order}; `--engine auto` takes the first")?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use compute::families::Refusal;
    use compute::plan::{RunTarget, on_gpu, on_this_machine};
    use problem::{Depth, Dtype, Error, Job};
    use transform::catalogue;
    use transform::machine::Machine;

    fn job() -> Job {
        let stencil = catalogue::find("star2d1r").unwrap();
        Job::new(stencil, "30x40".parse().unwrap(), Dtype::F32, 10)
    }

    fn first_line(planned: &Planned) -> String {
        render(planned, false).lines().nth(1).unwrap_or_default().to_owned()
    }

    #[test]
    fn the_first_line_is_true_wherever_the_cpu_stands() {
        let h200 = || RunTarget::described(Machine::h200());
        let line = first_line(&on_gpu(&h200(), &job()));
        assert_eq!(line, "fastest first on NVIDIA H200; `--engine auto` takes the first");
        let line = first_line(&on_this_machine(Ok(h200()), &job()));
        let text = "fastest first on NVIDIA H200, but the CPU after the GPU; `--engine auto` takes the first";
        assert_eq!(line, text);

        let huge = Job { shape: "1073741824x536870912".parse().unwrap(), ..job() };
        let line = first_line(&on_gpu(&h200(), &huge));
        assert!(
            line.ends_with("`--engine auto` then takes the CPU, if the grid fits its memory"),
            "{line}"
        );
        let no_driver = || Refusal::of(Error::NoDriver { reason: "not found".into() });
        for none in [huge, Job { fuse: Depth::Steps(2), ..job() }] {
            let line = first_line(&on_this_machine(Err(no_driver()), &none));
            assert!(line.ends_with(" takes this; `--engine auto` refuses it"), "{line}");
        }
    }
}
