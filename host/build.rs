// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels to PTX for each chip and leaves it in OUT_DIR: `sm_90a.ptx` and so on; empty
//! files without a device compiler.
//!
//! The variable `HOST_BUILD_CHIPS`, such as `sm_90a` or `sm_80,sm_90a`, leaves the other chips out.

use cuda_builder::{Arch, BuildError, CudaBuilder};
use std::{env, fs, path::PathBuf, process};

/// Which chips to build for; all of them if it is not set.
const VARIABLE: &str = "HOST_BUILD_CHIPS";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut compiler = format!("none of {VARIABLE} is a chip");
    let wanted = env::var(VARIABLE).unwrap_or_else(|_| Arch::ALL.map(Arch::name).join(","));
    for arch in Arch::ALL {
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
