// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packages that are compiled in a kernel crate's place: one for each group of its kernels, with its sources and
//! dependencies. They have no build script, which in a crate that compiles its own kernels would start again, and nothing
//! that only the script and the tests need.

use crate::BuildError;
use crate::environment::{active_features, cargo};
use crate::group::Group;
use serde_json::{Value, json};
use std::collections::BTreeSet;
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

/// A package in the crate's place.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// Its name.
    pub package: String,
    /// The kernels that it has, if not all.
    pub kernels: Vec<String>,
    /// What the compiler is told besides, in this package only.
    pub rustflags: Vec<String>,
}

impl StandIn {
    /// The name of its library in file names.
    pub fn library(&self) -> String {
        self.package.replace('-', "_")
    }
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

    /// Its name.
    pub fn name(&self) -> &str {
        self.description["name"].as_str().unwrap_or("kernels")
    }

    /// The groups of its kernels.
    ///
    /// # Errors
    /// Its manifest says in a form of its own which there are.
    pub fn groups(&self) -> Result<Vec<Group>, BuildError> {
        let groups = Group::read(&self.description["metadata"], &self.manifest_path())?;
        if !groups.is_empty() {
            return Ok(groups);
        }
        let declared = self.description["features"].as_object();
        // A build script knows the active features of its own crate only.
        let active = active_features().filter(|_| self.compiles_itself());
        let features = active.map(|is_active| {
            let names = declared.into_iter().flatten().map(|(name, _)| name.clone());
            names.filter(|name| is_active(name)).collect()
        });
        Ok(vec![Group::of_all(features)])
    }

    /// The packages from elsewhere that its kernels may use, each with its version, as the lock file has them.
    pub fn locked(&self) -> BTreeSet<String> {
        let own = self.dependencies().filter(|d| d["kind"].is_null());
        let names = own.filter_map(|dependency| dependency["name"].as_str());
        reached(&std::fs::read_to_string(&self.lock).unwrap_or_default(), names)
    }

    /// The lock file, if there is one.
    pub fn lock(&self) -> Option<PathBuf> {
        Some(self.lock.clone()).filter(|lock| lock.is_file())
    }

    fn manifest_path(&self) -> PathBuf {
        PathBuf::from(self.description["manifest_path"].as_str().unwrap_or_default())
    }

    /// Writes a workspace with these packages into `folder`, with the lock file; `profile` is what all of them and their
    /// dependencies are compiled with.
    pub fn stand_in(
        &self,
        folder: &Path,
        all: &[(StandIn, Group)],
        profile: &str,
    ) -> Result<(), BuildError> {
        let names: Vec<&str> = all.iter().map(|(it, _)| it.package.as_str()).collect();
        let mut workspace = format!(
            "cargo-features = [\"profile-rustflags\"]\n[workspace]\nresolver = \"3\"\nmembers = {}\n\
             [profile.release]\n{profile}",
            json!(names)
        );
        for (StandIn { package, rustflags, .. }, group) in all {
            let _ = writeln!(workspace, "[profile.release.package.{}]", json!(package));
            let _ = writeln!(workspace, "rustflags = {}", json!(rustflags));
            write(&folder.join(package).join("Cargo.toml"), &self.manifest(package, group)?)?;
        }
        write(&folder.join("Cargo.toml"), &workspace)?;
        if self.lock.is_file() {
            std::fs::copy(&self.lock, folder.join("Cargo.lock"))
                .map_err(BuildError::io(&self.lock))?;
        }
        Ok(())
    }

    fn dependencies(&self) -> impl Iterator<Item = &Value> {
        self.description["dependencies"].as_array().into_iter().flatten()
    }

    /// The text of a package's manifest. A JSON string, number, boolean or list of strings is one in TOML, too.
    fn manifest(&self, package: &str, group: &Group) -> Result<String, BuildError> {
        let of = &self.description;
        let root = self.root().ok_or_else(|| BuildError::NoRoot { path: self.manifest_path() })?;
        let mut text = format!(
            "[package]\nname = {}\nversion = {}\nedition = {}\nbuild = false\n\
             [lib]\npath = {}\ncrate-type = [\"cdylib\"]\n[features]\n",
            json!(package),
            of["version"],
            of["edition"],
            json!(root)
        );
        for (name, enables) in of["features"].as_object().into_iter().flatten() {
            let own = (name == "default").then(|| group.features.as_ref().map(|on| json!(on)));
            let _ =
                writeln!(text, "{} = {}", json!(name), own.flatten().as_ref().unwrap_or(enables));
        }
        if let (Some(on), None) = (&group.features, of["features"].get("default")) {
            let _ = writeln!(text, "default = {}", json!(on));
        }
        for dependency in self.dependencies().filter(|d| d["kind"].is_null()) {
            text.push_str(&table(dependency));
        }
        Ok(text)
    }
}

/// The packages of a lock file that these packages and those that they use come to, but for those with a path.
fn reached<'a>(lock: &'a str, names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let packages: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    let value = |package: &'a str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|text| text.trim_matches('"'))
    };
    let (mut waiting, mut seen, mut all) =
        (names.collect::<Vec<_>>(), BTreeSet::new(), BTreeSet::new());
    while let Some(name) = waiting.pop() {
        if !seen.insert(name) {
            continue;
        }
        // Of several versions all count: which one is used the list does not always say.
        for package in packages.iter().filter(|package| value(package, "name") == Some(name)) {
            if value(package, "source").is_some() {
                all.insert(format!("{name} {}", value(package, "version").unwrap_or_default()));
            }
            let used = package.lines().filter_map(|line| line.trim().strip_prefix('"'));
            waiting.extend(used.filter_map(|line| line.split(['"', ' ']).next()));
        }
    }
    all
}

/// Writes a file, unless it is what it should be: cargo takes a newer manifest for another one.
fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(BuildError::io(path))
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
                dependency(BUILDER, json!("build"), json!({})),
                dependency("cuda_sim", json!("dev"), json!({})),
            ]),
            json!([program("main"), {"kind": ["custom-build"], "src_path": "/w/build.rs"}]),
        );
        assert!(package.compiles_itself());
        let on = Some(vec!["fast".to_owned()]);
        let text = package.manifest("own-kernels-1", &Group::of_all(on)).unwrap();
        for expected in [
            "name = \"own-kernels-1\"\nversion = \"1.2.3\"\nedition = \"2024\"\nbuild = false\n",
            "[lib]\npath = \"/w/own kernels/src/main.rs\"\ncrate-type = [\"cdylib\"]\n",
            "\"default\" = [\"fast\"]\n",
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
    fn the_lock_file_tells_what_is_used() {
        let package = |name: &str, version: &str, more: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{more}\n")
        };
        let far = "source = \"registry\"\n";
        let lock = [
            package("kernels", "0.1.0", "dependencies = [\n \"near\",\n]\n"),
            package("near", "0.1.0", "dependencies = [\n \"deep 2.0.0\",\n \"wide\",\n]\n"),
            package("deep", "1.0.0", far),
            package("deep", "2.0.0", far),
            package("wide", "3.1.0", &format!("{far}dependencies = [\n \"near\",\n]\n")),
            package("unused", "9.0.0", far),
        ]
        .concat();
        let all = reached(&lock, ["near"].into_iter());
        assert_eq!(all.into_iter().collect::<Vec<_>>(), ["deep 1.0.0", "deep 2.0.0", "wide 3.1.0"]);
    }

    #[test]
    fn the_library_has_the_kernels_or_else_the_only_program() {
        let library = json!({"kind": ["lib"], "src_path": "/w/src/lib.rs"});
        let root = |targets| package(json!([]), targets).root().map(Path::to_owned);
        assert_eq!(root(json!([program("main"), library])), Some("/w/src/lib.rs".into()));
        assert_eq!(root(json!([program("a")])), Some("/w/own kernels/src/a.rs".into()));
        assert_eq!(root(json!([program("a"), program("b")])), None);
        let error = package(json!([]), json!([program("a"), program("b")]));
        let error = error.manifest("k", &Group::of_all(None)).unwrap_err();
        assert!(error.to_string().contains("own kernels/Cargo.toml"), "{error}");
    }
}
