// SPDX-License-Identifier: MIT OR Apache-2.0
//! The licences of the libraries that are in what goes elsewhere.

use crate::{cargo, step};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The libraries in what a package builds: names, versions, licences, and the texts of these.
pub fn third_party(package: &str) -> Result<String> {
    let mut tree = cargo();
    tree.arg("tree").arg(format!("--package={package}"));
    tree.args(["--edges=normal", "--prefix=none", "--format={p}"]);
    let tree = step::output(&mut tree).context("cannot list the libraries")?;
    // `name v1.2.3`, and for those of this workspace their folder.
    let foreign = tree.lines().filter(|line| !line.contains("(/"));
    let used: BTreeSet<(&str, &str)> = foreign
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let metadata = step::output(cargo().args(["metadata", "--format-version=1"]));
    let metadata: Value =
        serde_json::from_str(&metadata.context("cannot describe the libraries")?)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut list = String::from("It has these libraries in it:\n\n");
    // Each text once, with those that it is of.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let [name, version, licence, manifest] =
            ["name", "version", "license", "manifest_path"].map(|key| package[key].as_str());
        let (Some(name), Some(version), Some(manifest)) = (name, version, manifest) else {
            continue;
        };
        if !used.contains(&(name, version)) {
            continue;
        }
        list += &format!("{name} {version}: {}\n", licence.unwrap_or("see its text"));
        for text in licence_texts(Path::new(manifest))? {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    for (text, of) in texts {
        list += &format!("\n---- {}\n\n{}\n", of.join(", "), text.trim());
    }
    Ok(list)
}

/// The texts beside a manifest that licences are in.
fn licence_texts(manifest: &Path) -> Result<Vec<String>> {
    let folder = manifest.parent().context("a manifest lies in a folder")?;
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    let is_one = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().to_uppercase();
        path.is_file()
            && ["LICEN", "COPYING", "UNLICENSE", "NOTICE"].iter().any(|it| name.starts_with(it))
    };
    paths
        .iter()
        .filter(is_one)
        .map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_licences_are_found_by_their_names() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let texts = licence_texts(&here).unwrap();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("Apache License") && texts[1].contains("MIT License"));
    }
}
