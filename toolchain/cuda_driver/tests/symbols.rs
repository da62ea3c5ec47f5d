// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of symbols against `cust_raw`'s own declarations.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Where cargo keeps the source of `cust_raw`.
fn cust_raw() -> std::path::PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--filter-platform"])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == "cust_raw").expect("a dependency of cust");
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().into()
}

#[test]
fn the_list_is_what_cust_raw_declares() {
    let bindings = std::fs::read_to_string(cust_raw().join("src/cuda.rs")).unwrap();
    let declared: BTreeSet<&str> = bindings
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn "))
        .filter_map(|rest| rest.split_once('(').map(|(name, _)| name))
        .collect();
    assert!(declared.len() > 300, "the bindings were not understood: {}", declared.len());

    let source = include_str!("../src/load/symbols.rs");
    let listed: BTreeSet<&str> = source
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("cu") && word[2..].starts_with(char::is_uppercase))
        .collect();
    assert_eq!(listed, declared);
}
