// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crates of the toolchain as packages: checked as whoever downloads them would build them, and ready to be published
//! ([why so](../../docs/decisions/0084-packages.md)). The manifests of this tree let nobody publish; those of a copy do.

use crate::{cargo, step};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::{Table, Value};

/// What must be in each package besides its sources.
const FILES: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Packs every crate of the toolchain from a copy in `folder`, builds each from its package, and documents it. `address` is
/// that of the public repository.
pub fn run(root: &Path, folder: &Path, address: Option<&str>, verify: bool) -> Result<Vec<String>> {
    let copy = std::path::absolute(folder)?.join("tree");
    if copy.exists() {
        fs::remove_dir_all(&copy).with_context(|| format!("cannot empty {}", copy.display()))?;
    }
    let packages = copy_tree(root, &copy, address)?;
    let target = std::path::absolute(folder)?.join("target");
    let mut pack = as_elsewhere();
    pack.args(["package", "--workspace", "--locked", "--quiet"]);
    if !verify {
        pack.arg("--no-verify");
    }
    step::run("packages", pack.current_dir(&copy).env("CARGO_TARGET_DIR", &target))?;
    for name in &packages {
        check(&target.join(format!("package/{name}-{}.crate", env!("CARGO_PKG_VERSION"))), name)?;
    }
    if verify {
        let mut doc = as_elsewhere();
        doc.args(["doc", "--workspace", "--no-deps", "--locked", "--quiet"]);
        doc.env("RUSTDOCFLAGS", "--deny=warnings").env("CARGO_TARGET_DIR", &target);
        step::run("documentation", doc.current_dir(&copy))?;
    }
    Ok(packages)
}

/// A cargo whose compiler is the ordinary one, also where the tests' lints.
fn as_elsewhere() -> Command {
    let mut command = cargo();
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    command
}

/// A workspace of the toolchain alone, whose packages may be published. Their names.
fn copy_tree(root: &Path, copy: &Path, address: Option<&str>) -> Result<Vec<String>> {
    copy_folder(&root.join("toolchain"), &copy.join("toolchain"))?;
    for name in ["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root.join(name), copy.join(name))
            .with_context(|| format!("cannot copy {name}"))?;
    }
    let mut manifest = read(&root.join("Cargo.toml"))?;
    let workspace = table(&mut manifest, "workspace")?;
    workspace.remove("default-members");
    workspace.insert("members".into(), Value::Array(vec!["toolchain/*".into()]));
    let package = table(workspace, "package")?;
    package.insert("publish".into(), true.into());
    if let Some(address) = address {
        package.insert("repository".into(), address.into());
    }
    // Some profiles name packages that are not there; the rest is for speed.
    manifest.remove("profile");
    fs::write(copy.join("Cargo.toml"), manifest.to_string())?;
    // Without the packages of the rest.
    let mut lock = cargo();
    lock.args(["update", "--workspace", "--offline", "--quiet"]);
    step::run("versions", lock.current_dir(copy))?;
    let mut names = Vec::new();
    for entry in fs::read_dir(copy.join("toolchain"))? {
        let mut manifest = read(&entry?.path().join("Cargo.toml"))?;
        let name = table(&mut manifest, "package")?["name"].as_str().context("no name")?.to_owned();
        names.push(name);
    }
    names.sort();
    Ok(names)
}

fn read(manifest: &Path) -> Result<Table> {
    let text = fs::read_to_string(manifest)
        .with_context(|| format!("cannot read {}", manifest.display()))?;
    text.parse().with_context(|| format!("cannot understand {}", manifest.display()))
}

fn table<'a>(table: &'a mut Table, key: &str) -> Result<&'a mut Table> {
    table.get_mut(key).and_then(Value::as_table_mut).with_context(|| format!("no table [{key}]"))
}

/// A folder with all that is in it; links stay links.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&from, &to)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&from)?, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    Ok(())
}

/// That a package has what each must have.
fn check(archive: &Path, name: &str) -> Result<()> {
    let mut tar = Command::new("tar");
    let list = step::output(tar.arg("--list").arg("--file").arg(archive));
    let list = list.with_context(|| format!("cannot list {}", archive.display()))?;
    let files: Vec<PathBuf> = list.lines().map(PathBuf::from).collect();
    for file in FILES {
        let path = Path::new(&format!("{name}-{}", env!("CARGO_PKG_VERSION"))).join(file);
        ensure!(files.contains(&path), "{} has no {file}", archive.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{read, run, table};
    use std::path::Path;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn the_packages_of_the_toolchain_have_what_each_must_have() {
        let folder = tempfile::tempdir().unwrap();
        let thorough = std::env::var_os("THOROUGH").is_some();
        let packages = run(root(), folder.path(), None, thorough).unwrap();
        assert_eq!(packages.len(), 14, "{packages:?}");
        // These belong to rust-cuda.
        for name in ["cuda_std", "cuda_std_macros", "cuda_builder"] {
            assert!(!packages.contains(&name.to_owned()));
            assert!(packages.contains(&format!("{name}_rustc")));
        }
    }

    /// Each says so by itself, or takes it from the workspace; what says nothing could be published.
    #[test]
    fn no_manifest_lets_anybody_publish() {
        let mut manifest = read(&root().join("Cargo.toml")).unwrap();
        let workspace = table(&mut manifest, "workspace").unwrap();
        let members = workspace["members"].as_array().unwrap().clone();
        assert_eq!(table(workspace, "package").unwrap()["publish"].as_bool(), Some(false));
        for member in members {
            let member = member.as_str().unwrap();
            let mut manifest = read(&root().join(member).join("Cargo.toml")).unwrap();
            let package = table(&mut manifest, "package").unwrap();
            let publish = package.get("publish").unwrap_or_else(|| panic!("{member}: `publish`"));
            let inherits = publish.get("workspace").and_then(toml::Value::as_bool);
            assert!(publish.as_bool() == Some(false) || inherits == Some(true), "{member}");
        }
    }

    #[test]
    fn the_manifests_of_the_toolchain_say_what_a_registry_asks_for() {
        for entry in std::fs::read_dir(root().join("toolchain")).unwrap() {
            let path = entry.unwrap().path().join("Cargo.toml");
            let mut manifest = read(&path).unwrap();
            let package = table(&mut manifest, "package").unwrap();
            let name = package["name"].as_str().unwrap().to_owned();
            for key in ["description", "license", "repository", "readme", "metadata"] {
                assert!(package.contains_key(key), "{name}: {key}");
            }
            let documentation = package["documentation"].as_str().unwrap();
            assert!(documentation.ends_with(&format!("/{name}")), "{name}: {documentation}");
            for key in ["keywords", "categories"] {
                let words = package[key].as_array().unwrap();
                assert!((1..=5).contains(&words.len()), "{name}: {key}");
            }
        }
    }
}
