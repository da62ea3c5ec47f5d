// SPDX-License-Identifier: MIT OR Apache-2.0
//! Says so when the loops are compiled without optimisation: a profile belongs to the program that uses this library.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!(
            "cargo::warning=the CPU's loops are compiled without optimisation and take some hundred times as long; \
             put `[profile.dev.package.tiles]` with `opt-level = 3` into your Cargo.toml, or build with --release"
        );
    }
}
