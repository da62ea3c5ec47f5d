// SPDX-License-Identifier: MIT OR Apache-2.0
//! The toolchain stands by itself. `docs/explanation/rust-on-gpus.md` is true: its files make a crate outside of
//! this workspace whose tests pass, and its mistake is reported as it says. The toolchain's crates,
//! like the examples, use nothing of the rest.

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
    let [build, first, smooth, product] = blocks(&page, "rust")[..] else {
        panic!("four blocks of Rust")
    };
    assert_eq!([build, first].map(write), ["build.rs", "src/main.rs"]);
    assert_passes();

    let [out_of_bounds, missing_barrier, ..] = blocks(&page, "text")[..] else {
        panic!("two reports")
    };
    let assert_reports = |report: &str| {
        let Output { stdout, status, .. } = test();
        let stdout = String::from_utf8_lossy(&stdout);
        assert!(!status.success() && stdout.contains(report.trim()), "{report}\n{stdout}");
    };
    write(&first.replace("if i < n", "if i <= n"));
    // Which lane is first depends on nothing: only one reads there.
    assert_reports(out_of_bounds);

    // The page shows the kernels; launches, tests and operands are files.
    let with_rest = |kernel: &str, file: &str| {
        let rest = std::fs::read_to_string(root().join("tests/tests/rust_on_gpus").join(file));
        format!("{kernel}\n{}", rest.unwrap())
    };
    assert_eq!(write(&with_rest(smooth, "smooth.rs")), "src/main.rs");
    assert_passes();
    // The first seed decides which threads the report names.
    write(&with_rest(&smooth.replace("thread::sync_threads();", ""), "smooth.rs"));
    assert_reports(missing_barrier);
    assert_eq!(write(&with_rest(product, "product.rs")), "src/main.rs");
    assert_passes();

    clean(&krate, "product");
}

/// What was built of a crate that has another path next time is of no use.
fn clean(krate: &Path, name: &str) {
    let mut clean = cargo(krate);
    clean.args(["clean", "--offline", "--quiet", "--package", name]);
    assert!(clean.env("CARGO_TARGET_DIR", target()).status().unwrap().success());
}

#[test]
fn five_commands_make_a_tested_kernel_in_an_empty_folder() {
    let page = std::fs::read_to_string(root().join("docs/explanation/rust-on-gpus.md")).unwrap();
    let commands = blocks(&page, "sh")[0];
    assert_eq!(commands.lines().count(), 5, "{commands}");
    let commands = commands.replace("/path/to/checkout", root().to_str().unwrap());
    let outside = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &commands]).current_dir(outside.path());
    shell.env_remove("CUDA_LIBRARY_PATH").env_remove("RUSTC_WORKSPACE_WRAPPER");
    shell.env("CARGO_NET_OFFLINE", "true").env("CARGO_TARGET_DIR", target());
    if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_none() {
        shell.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    }
    let Output { status, stdout, stderr } = shell.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success() && stdout.contains("test result: ok. "), "{stdout}{stderr}");
    assert!(!stdout.contains("ok. 0 passed") && !stderr.contains("warning"), "{stdout}{stderr}");
    clean(&outside.path().join("sum"), "sum");
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// What a package of this workspace uses, with its features only: the one in this folder.
fn used_by(folder: &Path) -> BTreeSet<String> {
    let output = cargo(&root())
        .args(["tree", "--offline", "--edges=all", "--prefix=none", "--format={p}"])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

/// The folders of packages in a folder.
fn packages_in(folder: &str) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("Cargo.toml").is_file()).collect()
}

const REST: [&str; 4] = ["transform", "kernels-gpu", "stencil", "tests"];

/// The example that puts a function into a stencil kernel: it also uses the kernels.
const OF_STENCILS: &str = "reaction";

#[test]
fn the_examples_use_the_toolchain_and_little_else() {
    let (of_stencils, examples): (Vec<_>, Vec<_>) =
        packages_in("examples").into_iter().partition(|path| path.ends_with(OF_STENCILS));
    assert_eq!((of_stencils.len(), examples.len()), (1, 5));
    let used = used_by(&of_stencils[0]);
    assert!(used.contains("kernels-gpu") && !used.contains("stencil"), "{used:?}");
    for example in examples {
        let used = used_by(&example);
        assert!(used.contains("cuda_sim") && used.contains("cuda_driver"), "{used:?}");
        for unwanted in REST.into_iter().chain(["cust", "cust_raw", "petgraph", "toml"]) {
            assert!(!used.contains(unwanted), "{example:?} brings {unwanted}: {used:?}");
        }
    }
}

/// Whether it can be packaged, `xtask/src/package.rs` tests.
#[test]
fn the_toolchain_uses_nothing_of_the_rest() {
    let packages = packages_in("toolchain");
    assert!(packages.len() > 7, "{packages:?}");
    for package in &packages {
        let used = used_by(package);
        assert!(REST.into_iter().all(|rest| !used.contains(rest)), "{package:?}: {used:?}");
    }
}
