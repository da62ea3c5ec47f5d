// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plans of the whole catalogue, as the table of `docs/catalogue.md`.

use std::fmt::Write;

use cuda_mma::fragment::Element;
use rayon::prelude::*;
use transform::catalogue::{self, Entry};
use transform::explore::Request;
use transform::machine::Machine;
use transform::plan::{Plan, plan};

use super::{default_shape, summary};
use crate::Error;

/// The table.
///
/// # Errors
/// A kernel has no layout.
pub fn catalogue(element: Element, machine: &Machine, most_steps: usize) -> Result<String, Error> {
    let planned = |entry: &'static Entry| {
        let stencil = entry.stencil();
        let extents = default_shape(stencil.dims())?.extents();
        let request = Request { stencil: &stencil, extents, element, machine, most_steps };
        Ok((entry, plan(&request)?))
    };
    let plans: Result<Vec<(&Entry, Plan)>, Error> =
        catalogue::entries().par_iter().map(planned).collect();
    let mut text = format!(
        "# Plans of the catalogue\n\n\
         Made by `host plan --all`; a test keeps it current. {} kernels in {element}, for {} ({}), \
         on grids of 10^8 points in 1D, 10240x10240 in 2D and 1024x1024x1024 in 3D. Zero columns \
         include those that fill the last fragment. A stencil of kind step is stable and may be \
         repeated; a difference is made to be applied once; a first step starts a scheme of two \
         time levels from rest, and computes diffusion where it is repeated.\n\n\
         | kernel | domain | kind | points | layout | tile | k' | density of A' | of A'' | zero columns | \
         mma.sp per 128 outputs | predicted bound | GStencil/s | engine |\n\
         | --- | --- | --- | --: | --- | --: | --: | --: | --: | --: | --: | --- | --: | --- |\n",
        plans.as_ref().map_or(0, Vec::len),
        machine.name,
        machine.source,
    );
    for (entry, plan) in plans? {
        let Entry { name, domain, kind, .. } = entry;
        let Plan { layout, recommendation, .. } = &plan;
        let tile = summary::tile(layout, plan.dims);
        let zeros = layout.slots - layout.columns;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {domain} | {kind} | {} | {} | {tile} | {} | {:.2} | {:.2} | {zeros} | {:.2} | {} | \
             {:.0} | {} |",
            plan.points,
            layout.layout,
            layout.columns,
            plan.density_before,
            plan.density_after,
            plan.instructions_per_128_outputs,
            layout.time.bound(),
            plan.gstencils_per_s,
            recommendation.engine,
        );
    }
    Ok(text)
}
