// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host plan`: what the transformation does to a stencil.

use clap::Args;

use super::stencil_args::StencilArgs;
use crate::{Error, Shape};

/// What the transformation does to a stencil, and what to expect of it.
#[derive(Args, Debug)]
pub struct PlanArgs {
    #[command(flatten)]
    stencil: StencilArgs,
    /// Points per axis, as N or NYxNX
    #[arg(long, value_name = "N|NYxNX", default_value = "10240")]
    size: Shape,
}

/// Runs the command and returns what it prints.
///
/// # Errors
/// The stencil or the size is no good.
pub fn run(args: &PlanArgs) -> Result<String, Error> {
    let stencil = args.stencil.load()?;
    let shape = args.size.spread(stencil.dims())?;
    Ok(format!("{} on {shape}\n", stencil.name()))
}
