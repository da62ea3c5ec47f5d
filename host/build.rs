// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels to PTX and leaves it in OUT_DIR: a file for each chip, empty for those that the
//! program is not to carry, and for all without a device compiler.
//!
//! It carries those for sm_80 and sm_90, which run on every later chip too; the variable
//! `HOST_BUILD_CHIPS`, such as `sm_90,sm_100a`, names others (`docs/decisions/chips.md`).

use cuda_builder::{BuildError, Chip, CudaBuilder};
use std::{env, fs, path::PathBuf, process};

/// Names the chips to build for.
const VARIABLE: &str = "HOST_BUILD_CHIPS";
/// Those of a program for every GPU.
const DEFAULT: &str = "sm_80,sm_90";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut compiler = format!("none of {VARIABLE} is a chip");
    let wanted = env::var(VARIABLE).unwrap_or_else(|_| DEFAULT.into());
    for arch in Chip::ALL {
        let ptx = out.join(arch.name()).with_extension("ptx");
        if !wanted.split(',').any(|name| name.trim() == arch.name()) {
            fs::write(&ptx, "").expect("OUT_DIR is writable");
            continue;
        }
        match CudaBuilder::new("../kernels-gpu").arch(arch).copy_to(&ptx).build() {
            Ok(built) => compiler = built.compiler,
            Err(reason @ BuildError::NoCompiler { .. }) => {
                fs::write(&ptx, "").expect("OUT_DIR is writable");
                compiler = reason.to_string();
            }
            Err(reason) => {
                eprintln!("{reason}");
                process::exit(1);
            }
        }
    }
    if !compiler.starts_with("rustc") {
        println!("cargo::warning={compiler}");
    }
    println!("cargo::rustc-env=DEVICE_COMPILER={compiler}");
}
