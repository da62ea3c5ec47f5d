// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files a build depends on, from cargo's dep-info.

use crate::BuildError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The sources that the dep-info file lists, path dependencies included, with their manifests and
/// lock file.
pub fn sources(dep_info: &Path) -> Result<BTreeSet<PathBuf>, BuildError> {
    let text = std::fs::read_to_string(dep_info).map_err(BuildError::io(dep_info))?;
    let mut files: BTreeSet<PathBuf> = prerequisites(&text).into_iter().collect();
    files.extend(files.iter().flat_map(|source| manifests(source)).collect::<Vec<_>>());
    Ok(files)
}

/// The prerequisites of a makefile rule `output: source source …`, in which a backslash protects a
/// space.
fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let list = rule.split_once(": ").map_or("", |(_, list)| list.lines().next().unwrap_or(""));
    list.replace("\\ ", "\0")
        .split_whitespace()
        .map(|path| PathBuf::from(path.replace('\0', " ")))
        .collect()
}

/// The manifests above a source file, up to the one beside the lock file.
fn manifests(source: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in source.ancestors().skip(1) {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file() {
            found.push(manifest);
        }
        let lock = folder.join("Cargo.lock");
        if lock.is_file() {
            found.push(lock);
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_in_paths_are_read() {
        let rule = "/t/libk.d: /a/src/lib.rs /b\\ c/src/lib.rs\n";
        assert_eq!(prerequisites(rule), [Path::new("/a/src/lib.rs"), Path::new("/b c/src/lib.rs")]);
        assert!(prerequisites("/t/libk.d:\n").is_empty());
    }

    #[test]
    fn manifests_end_at_the_lock_file() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir_all(root.join("workspace/krate/src")).unwrap();
        for file in ["Cargo.toml", "workspace/Cargo.toml", "workspace/Cargo.lock"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        std::fs::write(root.join("workspace/krate/Cargo.toml"), "").unwrap();
        let found = manifests(&root.join("workspace/krate/src/lib.rs"));
        let expected =
            ["workspace/krate/Cargo.toml", "workspace/Cargo.toml", "workspace/Cargo.lock"];
        assert_eq!(found, expected.map(|file| root.join(file)));
    }
}
