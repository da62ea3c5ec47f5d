// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plans of the whole catalogue, as the table of `docs/reference/catalogue.md`.

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

/// A kernel of the catalogue, its layout, and what is predicted to be its fastest.
type Planned = (&'static Entry, LayoutPlan, Option<Candidate>);

/// The table: layouts of so many steps at most, and what is predicted to be fastest for so many steps of a run.
///
/// # Errors
/// A kernel has no layout.
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
    let mut text = format!(
        "# Plans of the catalogue\n\n\
         Made by `host plan --all`; a test keeps it current. {} kernels in {element}, for {} ({}), \
         on grids of 10^8 points in 1D, 10240x10240 in 2D and 1024x1024x1024 in 3D. Zero columns \
         include those that fill the last fragment. A stencil of kind step is stable and may be \
         repeated; a difference is made to be applied once; a first step starts a scheme of two \
         time levels from rest, and computes diffusion where it is repeated. Bound is the roof that the \
         layout meets first. Engine, kernel and speed are what the planner ranks first for a run of \
         {steps} steps (fused x chained in a launch), as `--engine auto` takes it.\n\n\
         | kernel | domain | kind | points | layout | tile | k' | density of A' | of A'' | zero columns | \
         mma.sp per 128 outputs | bound | engine | kernel | steps | GStencil/s |\n\
         | --- | --- | --- | --: | --- | --: | --: | --: | --: | --: | --: | --- | --- | --- | --: | --: |\n",
        plans.as_ref().map_or(0, Vec::len),
        machine.name,
        machine.source,
    );
    for (entry, plan, fastest) in plans? {
        let Entry { name, domain, kind, .. } = entry;
        let layout = &plan.layout;
        let tile = summary::tile(layout, plan.dims);
        let zeros = layout.slots - layout.columns;
        let fastest = fastest.map_or_else(
            || "- | - | - | -".to_owned(),
            |Candidate { engine, kernel, fuse, chain, gstencils_per_s, .. }| {
                format!("{engine} | {kernel} | {fuse}x{chain} | {gstencils_per_s:.0}")
            },
        );
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {domain} | {kind} | {} | {} | {tile} | {} | {:.2} | {:.2} | {zeros} | {:.2} | {} | \
             {fastest} |",
            plan.points,
            layout.layout,
            layout.columns,
            plan.density_before,
            plan.density_after,
            plan.instructions_per_128_outputs,
            layout.time.bound(),
        );
    }
    Ok(text)
}
