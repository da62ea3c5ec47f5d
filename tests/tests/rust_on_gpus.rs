// SPDX-License-Identifier: MIT OR Apache-2.0
//! The toolchain stands by itself. `docs/explanation/rust-on-gpus.md` is true: its files make a crate outside of this
//! workspace whose tests pass, and its mistake is reported as it says. The toolchain's crates can be packaged
//! and, like the examples, use nothing of the rest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().into()
}

/// A cargo that knows nothing of the one that runs this test, or of this workspace's settings.
fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(folder).env_remove("CUDA_LIBRARY_PATH");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let of_tests = ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS"].contains(&&*name);
        if of_tests || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// The page's blocks of a language, each without its fences.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    page.split(&*start).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_page_makes_a_tested_crate_from_nothing() {
    let page = std::fs::read_to_string(root().join("docs/explanation/rust-on-gpus.md")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let krate = outside.path().join("product");
    std::fs::create_dir_all(krate.join("src")).unwrap();
    let write = |text: &str| {
        let name = text.lines().next().unwrap().trim_start_matches(['/', '#', ' ']);
        let text = text.replace("/path/to/checkout", root().to_str().unwrap());
        std::fs::write(krate.join(name), text).unwrap();
        name.to_owned()
    };
    let test = || -> Output {
        // Dependencies are those of this workspace, already compiled where they are compiled alike.
        let mut command = cargo(&krate);
        command.args(["test", "--offline"]).env("CARGO_TARGET_DIR", target());
        if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_none() {
            command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        }
        command.output().unwrap()
    };
    let assert_passes = || {
        let Output { status, stdout, stderr } = test();
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
        assert!(!stderr.contains("warning"), "{stderr}");
    };

    assert_eq!(write(blocks(&page, "toml")[0]), "Cargo.toml");
    // The versions that this workspace has; cargo drops what the crate does not use.
    std::fs::copy(root().join("Cargo.lock"), krate.join("Cargo.lock")).unwrap();
    let [build, first, second] = blocks(&page, "rust")[..] else { panic!("three blocks of Rust") };
    assert_eq!([build, first].map(write), ["build.rs", "src/main.rs"]);
    assert_passes();

    let [report] = blocks(&page, "text")[..] else { panic!("one report") };
    write(&first.replace("if i < n", "if i <= n"));
    let Output { stdout, status, .. } = test();
    // Which lane is first depends on nothing: only one reads there.
    let stdout = String::from_utf8_lossy(&stdout);
    assert!(!status.success() && stdout.contains(report.trim()), "{report}\n{stdout}");

    assert_eq!(write(second), "src/main.rs");
    assert_passes();

    // The crate has another path next time, so what was built of it is of no use.
    let mut clean = cargo(&krate);
    clean.args(["clean", "--offline", "--quiet", "--package=product"]);
    assert!(clean.env("CARGO_TARGET_DIR", target()).status().unwrap().success());
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// What a package of this workspace uses, with its features only.
fn used_by(package: &str) -> BTreeSet<String> {
    let output = cargo(&root())
        .args(["tree", "--offline", "--edges=all", "--prefix=none", "--format={p}"])
        .arg(format!("--package={package}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

/// The folders in a folder, which are named as their packages are.
fn packages_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

const REST: [&str; 4] = ["transform", "kernels-gpu", "stencil", "tests"];

/// The example that puts a function into a stencil kernel: it also uses the kernels.
const OF_STENCILS: &str = "reaction";

#[test]
fn the_examples_use_the_toolchain_and_little_else() {
    let (of_stencils, examples): (Vec<_>, Vec<_>) =
        packages_in("examples").into_iter().partition(|name| name == OF_STENCILS);
    assert_eq!((of_stencils.len(), examples.len()), (1, 4));
    let used = used_by(OF_STENCILS);
    assert!(used.contains("kernels-gpu") && !used.contains("stencil"), "{used:?}");
    for example in examples {
        let used = used_by(&example);
        assert!(used.contains("cuda_sim") && used.contains("cuda_driver"), "{used:?}");
        for unwanted in REST.into_iter().chain(["cust", "cust_raw", "petgraph", "toml"]) {
            assert!(!used.contains(unwanted), "{example} brings {unwanted}: {used:?}");
        }
    }
}

#[test]
fn the_toolchain_can_be_packaged() {
    let packages = packages_in("toolchain");
    assert!(packages.len() > 7, "{packages:?}");
    for package in &packages {
        let used = used_by(package);
        assert!(REST.into_iter().all(|rest| !used.contains(rest)), "{package}: {used:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = cargo(&root());
    command.args(["package", "--offline", "--no-verify", "--allow-dirty", "--target-dir"]);
    command.arg(folder.path()).args(packages.iter().map(|name| format!("--package={name}")));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for package in packages {
        let archive = folder.path().join(format!("package/{package}-0.1.0.crate"));
        let list = Command::new("tar").arg("--list").arg("--file").arg(archive).output().unwrap();
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        for file in ["README.md", "src/lib.rs"] {
            let path = format!("{package}-0.1.0/{file}");
            assert!(list.lines().any(|line| line == path), "{path} is missing: {list}");
        }
    }
}
