// SPDX-License-Identifier: MIT OR Apache-2.0
//! A crate that compiles its own kernels in its own build script. Cargo would start that script again
//! in the inner build, which therefore gets a manifest of its own: the same sources, dependencies and
//! features, without the script and what only the script and the tests need.

use crate::BuildError;
use crate::environment::{active_features, cargo};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Who has this build-dependency compiles itself.
const BUILDER: &str = env!("CARGO_PKG_NAME");

/// What cargo knows of the kernel crate's own manifest.
pub struct Package {
    description: Value,
    /// The lock file that the outer build heeds.
    lock: PathBuf,
}

/// The manifest in the crate's place.
pub struct StandIn {
    /// Where it is.
    pub manifest: PathBuf,
    /// Features that are on; none if the crate's defaults are.
    pub features: Option<Vec<String>>,
}

impl Package {
    /// Asks cargo about the crate in folder `krate`.
    pub fn read(krate: &Path) -> Result<Self, BuildError> {
        let manifest = krate.join("Cargo.toml");
        let output = cargo()
            .args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"])
            .arg(&manifest)
            .output()
            .map_err(BuildError::io("cargo"))?;
        let unclear = || BuildError::Manifest {
            path: manifest.clone(),
            reason: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        };
        let mut metadata: Value = serde_json::from_slice(&output.stdout).map_err(|_| unclear())?;
        let lock =
            Path::new(metadata["workspace_root"].as_str().unwrap_or_default()).join("Cargo.lock");
        let packages = metadata["packages"].as_array_mut().ok_or_else(unclear)?;
        let is_it = |package: &mut Value| {
            package["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest)
        };
        let description = packages.iter_mut().find_map(|p| is_it(p).then(|| p.take()));
        Ok(Self { description: description.ok_or_else(unclear)?, lock })
    }

    /// Whether its build script compiles kernels, which can only be its own.
    pub fn compiles_itself(&self) -> bool {
        self.dependencies().any(|d| d["name"] == BUILDER && d["kind"] == "build")
    }

    /// The file with the kernels: the root of the library, or of the only program.
    pub fn root(&self) -> Option<&Path> {
        let targets = self.description["targets"].as_array()?;
        let is = |target: &Value, kinds: &[&str]| {
            kinds
                .iter()
                .any(|kind| target["kind"].as_array().is_some_and(|k| k.contains(&json!(kind))))
        };
        let library = targets.iter().find(|t| is(t, &["lib", "rlib", "cdylib", "dylib"]));
        let mut programs = targets.iter().filter(|target| is(target, &["bin"]));
        let only = || programs.next().filter(|_| programs.next().is_none());
        library.or_else(only)?["src_path"].as_str().map(Path::new)
    }

    /// Writes the manifest that stands in for the crate's into `folder`, with its lock file.
    pub fn stand_in(&self, folder: &Path) -> Result<StandIn, BuildError> {
        let manifest = folder.join("Cargo.toml");
        std::fs::create_dir_all(folder).map_err(BuildError::io(folder))?;
        std::fs::write(&manifest, self.manifest()?).map_err(BuildError::io(&manifest))?;
        if self.lock.is_file() {
            std::fs::copy(&self.lock, folder.join("Cargo.lock"))
                .map_err(BuildError::io(&self.lock))?;
        }
        let declared = self.description["features"].as_object();
        let features = active_features().map(|is_active| {
            declared
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .filter(|n| is_active(n))
                .collect()
        });
        Ok(StandIn { manifest, features })
    }

    fn dependencies(&self) -> impl Iterator<Item = &Value> {
        self.description["dependencies"].as_array().into_iter().flatten()
    }

    /// The manifest's text. A JSON string, number, boolean or list of strings is one in TOML, too.
    fn manifest(&self) -> Result<String, BuildError> {
        let package = &self.description;
        let path = || PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
        let root = self.root().ok_or_else(|| BuildError::NoRoot { path: path() })?;
        let mut text = format!(
            "[package]\nname = {}\nversion = {}\nedition = {}\nbuild = false\n\
             [lib]\npath = {}\n[workspace]\n[features]\n",
            package["name"],
            package["version"],
            package["edition"],
            json!(root)
        );
        for (name, enables) in package["features"].as_object().into_iter().flatten() {
            let _ = writeln!(text, "{} = {enables}", json!(name));
        }
        for dependency in self.dependencies().filter(|d| d["kind"].is_null()) {
            text.push_str(&table(dependency));
        }
        Ok(text)
    }
}

/// The table of a dependency.
fn table(dependency: &Value) -> String {
    let of_target = match &dependency["target"] {
        Value::Null => String::new(),
        target => format!("target.{target}."),
    };
    let key = if dependency["rename"].is_null() { "name" } else { "rename" };
    let mut text = format!("[{of_target}dependencies.{}]\n", dependency[key]);
    let mut set = |key: &str, value: &Value| {
        if !value.is_null() {
            let _ = writeln!(text, "{key} = {value}");
        }
    };
    set("package", &dependency["name"]);
    set("version", &dependency["req"]);
    set("path", &dependency["path"]);
    set("registry-index", &dependency["registry"]);
    set("default-features", &dependency["uses_default_features"]);
    set("optional", &dependency["optional"]);
    set("features", &dependency["features"]);
    // Such as `git+https://host/repository?branch=name`.
    if let Some(git) = dependency["source"].as_str().and_then(|s| s.strip_prefix("git+")) {
        let (url, query) = git.split_once('?').unwrap_or((git, ""));
        set("git", &json!(url));
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            set(key, &json!(value));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(dependencies: Value, targets: Value) -> Package {
        let description = json!({
            "name": "own-kernels", "version": "1.2.3", "edition": "2024",
            "manifest_path": "/w/own kernels/Cargo.toml",
            "features": {"default": ["fast"], "fast": ["dep:helper"]},
            "dependencies": dependencies, "targets": targets,
        });
        Package { description, lock: "/no/such/lock".into() }
    }

    fn program(name: &str) -> Value {
        json!({"kind": ["bin"], "name": name, "src_path": format!("/w/own kernels/src/{name}.rs")})
    }

    #[test]
    fn the_manifest_keeps_what_the_kernels_need() {
        let dependency = |name: &str, kind: Value, more: Value| {
            let mut all = json!({
                "name": name, "kind": kind, "rename": null, "req": "^1", "optional": false,
                "uses_default_features": true, "features": [], "target": null, "registry": null,
            });
            all.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
            all
        };
        let package = package(
            json!([
                dependency("cuda_std", Value::Null, json!({"path": "/w/\"cuda_std"})),
                dependency(
                    "far",
                    Value::Null,
                    json!({
                        "rename": "near", "source": "git+https://host/far?branch=main",
                        "uses_default_features": false, "features": ["small"],
                    })
                ),
                dependency(
                    "cuda_driver",
                    Value::Null,
                    json!({
                        "target": "cfg(not(target_arch = \"nvptx64\"))",
                    })
                ),
                dependency("cuda_builder", json!("build"), json!({})),
                dependency("cuda_sim", json!("dev"), json!({})),
            ]),
            json!([program("main"), {"kind": ["custom-build"], "src_path": "/w/build.rs"}]),
        );
        assert!(package.compiles_itself());
        let text = package.manifest().unwrap();
        for expected in [
            "name = \"own-kernels\"\nversion = \"1.2.3\"\nedition = \"2024\"\nbuild = false\n",
            "[lib]\npath = \"/w/own kernels/src/main.rs\"\n",
            "\"fast\" = [\"dep:helper\"]\n",
            "[dependencies.\"cuda_std\"]\npackage = \"cuda_std\"\nversion = \"^1\"\npath = \"/w/\\\"cuda_std\"\n",
            "[dependencies.\"near\"]\npackage = \"far\"\n",
            "default-features = false\noptional = false\nfeatures = [\"small\"]\ngit = \"https://host/far\"\nbranch = \"main\"\n",
            "[target.\"cfg(not(target_arch = \\\"nvptx64\\\"))\".dependencies.\"cuda_driver\"]\n",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
        assert!(!text.contains("cuda_builder") && !text.contains("cuda_sim"), "{text}");
    }

    #[test]
    fn the_library_has_the_kernels_or_else_the_only_program() {
        let library = json!({"kind": ["lib"], "src_path": "/w/src/lib.rs"});
        let root = |targets| package(json!([]), targets).root().map(Path::to_owned);
        assert_eq!(root(json!([program("main"), library])), Some("/w/src/lib.rs".into()));
        assert_eq!(root(json!([program("a")])), Some("/w/own kernels/src/a.rs".into()));
        assert_eq!(root(json!([program("a"), program("b")])), None);
        let error = package(json!([]), json!([program("a"), program("b")])).manifest().unwrap_err();
        assert!(error.to_string().contains("own kernels/Cargo.toml"), "{error}");
    }
}
