// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the tests in Python with the library that was built beside this program.
//!
//! `cargo xtask test` installs numpy and pytest into a folder, and names it by `PYTHON_PACKAGES`; without it nothing
//! is tested here. The tests of a wheel run by `pip install ./python[test] && pytest python`.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_package_passes_its_tests() {
    let Some(packages) = std::env::var_os("PYTHON_PACKAGES") else {
        println!("skipped: PYTHON_PACKAGES names no folder with numpy and pytest");
        return;
    };
    let library = library();
    assert!(library.exists(), "{} is built beside the tests", library.display());
    let status = Command::new("python3")
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("STENCIL_LIBRARY", library)
        .status()
        .expect("python3 starts");
    assert!(status.success(), "{status}");
}

/// Beside this program, which lies in the folder of everything that is built.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("a program");
    let name = format!("{}_stencil{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    own.parent().unwrap_or(Path::new(".")).join(name)
}
