// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels to PTX for `cuda_driver::kernels!`: for the GPUs of this machine. Where there is none, or no device
//! compiler, the program carries none.
//!
//! The variable `HOST_BUILD_CHIPS`, such as `sm_80,sm_90`, names the chips for a program that goes elsewhere
//! (`docs/decisions/0008-chips.md`); `none` builds without kernels.

use std::collections::BTreeSet;
use std::path::Path;

use cuda_builder::{Chip, embed_or};
use cuda_driver::Gpu;

/// Names the chips to build for.
const VARIABLE: &str = "HOST_BUILD_CHIPS";
/// No chips.
const NONE: &str = "none";
/// Those that serve every GPU: the kernels for one run on all later ones.
const ALL: [Chip; 2] = [Chip::Sm80, Chip::Sm90];
/// What changes when a driver is installed.
const LIBRARIES: &str = "/etc/ld.so.cache";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let kernels = "../kernels-gpu";
    match std::env::var(VARIABLE) {
        Err(_) => {
            if Path::new(LIBRARIES).exists() {
                println!("cargo::rerun-if-changed={LIBRARIES}");
            }
            match here() {
                Ok(chips) => embed_or(kernels, &chips, "no GPU of this machine takes any"),
                Err(reason) => embed_or(kernels, &[], &reason),
            }
        }
        Ok(none) if none == NONE => {
            embed_or(kernels, &[], &format!("it was built with {VARIABLE}={NONE}"));
        }
        Ok(named) => embed_or(kernels, &those_named(&named), "no chip was named"),
    }
}

/// The chips to build for so that each GPU of this machine has the best kernels, or why there are none.
fn here() -> Result<Vec<Chip>, String> {
    let remedy = format!(
        "build it where the GPU is, or for another machine with {VARIABLE}={}",
        ALL.map(Chip::name).join(",")
    );
    let gpus = Gpu::capabilities().map_err(|_| format!("no GPU was found here; {remedy}"))?;
    let best = |gpu: &(u32, u32)| ALL.into_iter().rfind(|chip| chip.runs_on(*gpu));
    let chips: BTreeSet<Chip> = gpus.iter().filter_map(best).collect();
    match chips.is_empty() {
        true => Err(format!("no GPU here is of compute capability 8.0 or later; {remedy}")),
        false => Ok(chips.into_iter().collect()),
    }
}

/// The chips of a list of names; a name that is none ends the script.
fn those_named(list: &str) -> Vec<Chip> {
    let chip = |name: &str| Chip::from_name(name.trim()).ok_or(name.to_owned());
    match list.split(',').map(chip).collect::<Result<Vec<Chip>, String>>() {
        Ok(chips) => chips,
        Err(name) => {
            let known = Chip::ALL.map(Chip::name).join(", ");
            eprintln!(
                "{VARIABLE}={list}: `{name}` is none of the chips {known}; {NONE} builds without kernels"
            );
            std::process::exit(1);
        }
    }
}
