// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole catalogue with its plans, as `docs/reference/catalogue.md`: stencils by domain, then by what is planned for them.

use std::fmt::Write;

use cuda_mma::fragment::Element;
use rayon::prelude::*;
use transform::catalogue::{self, Entry};
use transform::explore::Request;
use transform::plan::{LayoutPlan, plan};

use super::{default_shape, summary};
use crate::cli::Failure;
use compute::plan::{Candidate, RunTarget, on_gpu};
use problem::{Dtype, Job};

/// A stencil of the catalogue, its layout, and what is predicted to be its fastest.
type Planned = (&'static Entry, LayoutPlan, Option<Candidate>);

/// The page: layouts of so many steps at most, and what is predicted to be fastest for so many steps of a run.
///
/// # Errors
/// A stencil has no layout.
pub fn catalogue(
    element: Element,
    dtype: Dtype,
    target: &RunTarget,
    [most_steps, steps]: [usize; 2],
) -> Result<String, Failure> {
    let machine = &target.machine;
    let planned = |entry: &'static Entry| {
        let stencil = entry.stencil();
        let shape = default_shape(stencil.dims())?;
        let extents = shape.extents();
        let request = Request { stencil: &stencil, extents, element, machine, most_steps };
        let layout = plan(&request)?;
        let mut fastest =
            on_gpu(target, &Job::new(stencil, shape, dtype, steps)).ranked.into_iter();
        Ok((entry, layout, fastest.next()))
    };
    let plans: Result<Vec<Planned>, Failure> =
        catalogue::entries().par_iter().map(planned).collect();
    let plans = plans?;
    let domains = grouped(&plans, |(entry, ..)| format!("{} | {}", entry.domain, entry.kind));
    Ok(format!(
        "# Stencils of the catalogue\n\n\
         Made by `host plan --all`; a test keeps it current. {} stencils by domain and kind. A *step* is stable \
         and may be repeated. A *difference* is made to be applied once. A *filter* has weights that sum to 1. A \
         *first step* starts a scheme of two time levels from rest, and computes diffusion where it is repeated. \
         `host list NAME` prints weights.\n\n\
         | domain | kind | stencils |\n| --- | --- | --- |\n{domains}\n\
         ## Plans\n\
         What `--engine auto` takes in {element} for {steps} steps on {} ({}), on grids of 10^8 points in 1D, \
         10240x10240 in 2D and 1024x1024x1024 in 3D. *Steps* are fused x chained in a launch. Before them stands \
         the layout of one product: its tile, the columns k' of A', columns of zeros with those that fill the last \
         fragment, `mma.sp` for 128 outputs, and the roof that it meets first. `host plan NAME` has the densities.\n\n\
         | layout | tile | k' | zero columns | mma.sp | bound | engine | kernel | steps | GStencil/s | stencils |\n\
         | --- | --- | --: | --: | --: | --- | --- | --- | --- | --: | --- |\n{}",
        plans.len(),
        machine.name,
        machine.source,
        grouped(&plans, plan_cells),
    ))
}

/// The cells of a plan, without the stencil's name.
fn plan_cells((_, plan, fastest): &Planned) -> String {
    let layout = &plan.layout;
    let fastest = fastest.as_ref().map_or_else(
        || "- | - | - | -".to_owned(),
        |Candidate { engine, kernel, fuse, chain, gstencils_per_s, .. }| {
            format!("{engine} | {kernel} | {fuse}x{chain} | {gstencils_per_s:.0}")
        },
    );
    format!(
        "{} | {} | {} | {} | {:.2} | {} | {fastest}",
        layout.layout,
        summary::tile(layout, plan.dims),
        layout.columns,
        layout.slots - layout.columns,
        plan.instructions_per_128_outputs,
        layout.time.bound(),
    )
}

/// A row for each text that a plan has, in the order of the catalogue, with the names of all that have it.
fn grouped(plans: &[Planned], text: impl Fn(&Planned) -> String) -> String {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for planned in plans {
        let (cells, name) = (text(planned), planned.0.name);
        match rows.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, names)) => names.push(name),
            None => rows.push((cells, vec![name])),
        }
    }
    rows.iter().fold(String::new(), |mut table, (cells, names)| {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {cells} | {} |", names.join(", "));
        table
    })
}
