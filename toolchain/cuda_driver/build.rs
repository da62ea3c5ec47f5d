// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cust_raw` links to `libcuda`, of which this crate defines every function. An empty stand-in satisfies
//! the linker.

fn main() {
    println!("cargo::rerun-if-changed=link");
    if std::env::var_os("CARGO_FEATURE_CUST").is_some() {
        let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-search=native={here}/link/lib64");
    }
}
