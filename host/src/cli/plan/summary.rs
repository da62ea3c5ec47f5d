// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan in a few lines.

use std::fmt::Write;

use transform::explore::Candidate;
use transform::plan::LayoutPlan;
use transform::sparsify::Granularity;

use problem::Shape;

/// Slots that are listed in a line.
const SLOTS: usize = 24;

/// The plan, for people.
pub fn render(plan: &LayoutPlan, shape: Shape) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, plan, shape);
    text
}

fn write(text: &mut String, plan: &LayoutPlan, shape: Shape) -> std::fmt::Result {
    let LayoutPlan { layout, element, rooflines, .. } = plan;
    let rows = layout.factors.iter().product::<usize>();
    let percent = |fraction: f64| 100.0 * fraction;
    writeln!(text, "{} on {shape} in {element}, for {}", plan.stencil, plan.machine)?;
    writeln!(text, "  ({})\n", plan.machine_source)?;
    let mut line = |what: &str, value: String| writeln!(text, "{what:<13} {value}");
    line("stencil", format!("{}D, radius {}, {} points", plan.dims, plan.radius, plan.points))?;
    line("layout", format!("{}, tiles of {} outputs", layout.layout, tile(layout, plan.dims)))?;
    if layout.steps > 1 {
        let alpha = rooflines.sparse.alpha;
        let fused =
            format!("{} steps a sweep as one of {} points", layout.steps, plan.fused_points);
        line("fused", format!("{fused}, α = {alpha:.2}"))?;
    }
    let residual = plan.weight_residual;
    let kept = match residual.abs() {
        // Sums of f64 weights are no better than this.
        off if off < 1e-14 => "their sum is kept".to_owned(),
        _ => format!("their sum is off by {residual:.1e}, by which mass changes at every sweep"),
    };
    line("weights", format!("rounded to {element}; {kept}"))?;
    let before = percent(plan.density_before);
    line("A'", format!("{rows} x {}, {before:.1} % not zero", layout.columns))?;
    let (slots, after) = (layout.slots, percent(plan.density_after));
    let zeros = slots - layout.columns;
    let form = Granularity::of(*element);
    line("A''", format!("{rows} x {slots}, {after:.1} % not zero, {form}, {zeros} zero columns"))?;
    let (mma, per_128) = (layout.work.mma, plan.instructions_per_128_outputs);
    let each = plan.instructions_per_output;
    line("instructions", format!("{per_128:.2} mma.sp.{mma} for 128 outputs, {each:.4} for one"))?;
    let (macs, useful) = (plan.macs_per_output, plan.points * layout.steps);
    line("work", format!("{macs:.1} multiply-adds for an output; stepping takes {useful}"))?;
    let load = layout.load;
    let outputs = layout.work.outputs();
    line(
        "loads of B",
        format!("{} wavefronts in {} for {outputs} outputs", load.wavefronts, loads(load.loads)),
    )?;
    let (time, limit) = (duration(plan.seconds), duration(plan.memory_limit_seconds));
    let ratio = plan.memory_limit_seconds / plan.seconds;
    line("sweep", format!("{time} at its roof, memory limit {limit}: {ratio:.2} of it"))?;
    let launched = plan.seconds > layout.time.total();
    let bound = if launched { "launch".into() } else { layout.time.bound().to_string() };
    line("roof", format!("{} GStencil/s, {bound} bound", rate(plan.gstencils_per_s)))?;
    line("permutation", "slots of A'' <- columns of A' (. is a zero column)".into())?;
    let column = |slot: &Option<usize>| slot.map_or(".".to_owned(), |column| column.to_string());
    for (row, slots) in plan.permutation.chunks(SLOTS).enumerate() {
        let columns: Vec<String> = slots.iter().map(column).collect();
        line(&format!("{:>13}", row * SLOTS), columns.join(" "))?;
    }
    Ok(())
}

/// A time in the unit that suits it.
fn duration(seconds: f64) -> String {
    if seconds < 1e-5 {
        format!("{:.3} µs", 1e6 * seconds)
    } else {
        format!("{:.3} ms", 1e3 * seconds)
    }
}

/// A speed with three digits at least.
pub fn rate(gstencils: f64) -> String {
    if gstencils >= 100.0 { format!("{gstencils:.0}") } else { format!("{gstencils:.3}") }
}

fn loads(count: usize) -> String {
    if count == 1 { "1 load".into() } else { format!("{count} loads") }
}

/// The outputs of a tile, as NYxNX.
pub fn tile(candidate: &Candidate, dims: usize) -> String {
    factors(candidate.factors, dims)
}

/// Factors along the axes that a stencil has, slowest first.
pub fn factors(factors: [usize; 3], dims: usize) -> String {
    let axes: Vec<String> = factors[3 - dims..].iter().map(usize::to_string).collect();
    axes.join("x")
}
