// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether generated files are those that their command makes.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Asserts that a file is what its command makes now.
pub fn is_current(name: &str, current: &str, command: &str) {
    let written = fs::read_to_string(root().join(name)).unwrap();
    let differs =
        written.lines().zip(current.lines()).find(|(written, current)| written != current);
    assert!(
        written == current,
        "{name} is not current: run `{command}`; the first difference is {differs:?}"
    );
}
