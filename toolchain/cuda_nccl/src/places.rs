// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where NCCL may lie that the dynamic loader does not look: pip's and conda's folders.

use std::path::{Path, PathBuf};

/// The library's file name.
pub const LIBRARY: &str = "libnccl.so.2";

/// The libraries in the folders of Python environments, those that are active first.
pub fn installed() -> Vec<PathBuf> {
    let of_variable = |name, below| Some(Path::new(&std::env::var_os(name)?).join(below));
    let environments = [
        of_variable("CONDA_PREFIX", ""),
        of_variable("VIRTUAL_ENV", ""),
        of_variable("HOME", ".local"),
        Some("/usr/local".into()),
        Some("/usr".into()),
    ];
    environments.iter().flatten().flat_map(|root| under(root)).collect()
}

/// The libraries in the folders of an environment.
fn under(root: &Path) -> Vec<PathBuf> {
    let lib = root.join("lib");
    let mut pythons: Vec<_> = std::fs::read_dir(&lib)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python3"))
        })
        .collect();
    pythons.sort();
    let wheels = pythons.iter().flat_map(|python| {
        ["site-packages", "dist-packages"]
            .map(|packages| python.join(packages).join("nvidia/nccl/lib").join(LIBRARY))
    });
    std::iter::once(lib.join(LIBRARY)).chain(wheels).filter(|path| path.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_are_found_in_an_environment() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(under(root.path()), Vec::<PathBuf>::new());
        let files = [
            "lib/libnccl.so.2",
            "lib/python3.11/dist-packages/nvidia/nccl/lib/libnccl.so.2",
            "lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
        ]
        .map(|file| root.path().join(file));
        for file in files.iter().rev() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        std::fs::create_dir_all(root.path().join("lib/python3.13/site-packages")).unwrap();
        assert_eq!(under(root.path()), files);
    }
}
