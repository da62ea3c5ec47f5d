// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples of the library. Each checks its own answer; here they run without a program of their own.

use std::fs;
use std::path::Path;

/// An example is a file, and a test that runs its `main`.
macro_rules! examples {
    ($($name:ident: $file:literal;)*) => {
        $(
            #[path = $file]
            mod $name;

            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )*

        const FILES: &[&str] = &[$($file),*];
    };
}

examples! {
    heat: "../../../host/examples/01_heat.rs";
    wave: "../../../host/examples/02_wave.rs";
    own_stencil: "../../../host/examples/03_own_stencil.rs";
    arrays: "../../../host/examples/04_arrays.rs";
    choosing_an_engine: "../../../host/examples/05_choosing_an_engine.rs";
    sparse_operand: "../../../host/examples/06_sparse_operand.rs";
    observers: "../../../host/examples/07_observers.rs";
}

#[test]
fn every_example_is_run_is_short_and_is_on_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/reference/rust.md")).unwrap();
    let entries =
        fs::read_dir(root.join("host/examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries.collect();
    found.sort();
    assert_eq!(found.len(), FILES.len());
    for (path, name) in found.iter().zip(FILES) {
        assert_eq!(path.file_name(), Path::new(name).file_name());
        let name = Path::new(name).strip_prefix("..").unwrap().display();
        assert!(page.contains(&format!("({name})")), "{name} is not on the page");
        let lines = fs::read_to_string(path).unwrap().lines().count();
        assert!(lines < 60, "{name} has {lines} lines");
    }
}
