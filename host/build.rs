// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels to PTX for `cuda_driver::kernels!`; without a device compiler the program carries
//! none.
//!
//! It carries those for sm_80 and sm_90, which run on every later chip too; the variable
//! `HOST_BUILD_CHIPS`, such as `sm_90,sm_100a`, names others (`docs/decisions/0008-chips.md`), or `none`, for those who
//! work on what needs no GPU and do not want to wait.

use cuda_builder::{Chip, embed};

/// Names the chips to build for.
const VARIABLE: &str = "HOST_BUILD_CHIPS";
/// No chips.
const NONE: &str = "none";
/// Those of a program for every GPU.
const DEFAULT: &str = "sm_80,sm_90";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let wanted = std::env::var(VARIABLE).unwrap_or_else(|_| DEFAULT.into());
    let chip = |name: &str| Chip::from_name(name.trim()).ok_or(name.to_owned());
    let names = wanted.split(',').filter(|_| wanted != NONE);
    match names.map(chip).collect::<Result<Vec<Chip>, String>>() {
        Ok(chips) => embed("../kernels-gpu", &chips),
        Err(name) => {
            let known = Chip::ALL.map(Chip::name).join(", ");
            eprintln!(
                "{VARIABLE}={wanted}: `{name}` is none of the chips {known}; {NONE} builds without kernels"
            );
            std::process::exit(1);
        }
    }
}
