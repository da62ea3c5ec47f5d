// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules that use each other in a circle: there must be none, in any library of the workspace.
//!
//! **The rule.** Of the modules that lie side by side, in the root of a crate or below one module, none may use
//! another one that uses it, itself or by way of others. What a module uses, all modules below it use for it;
//! what a name means that a module passes on (`pub use`) is looked up where it is defined. A module and those
//! below it are one thing: they may use each other. Tests in the sources do not count.

mod tree;

use petgraph::graphmap::DiGraphMap;
use std::fs;
use std::path::{Path, PathBuf};
use tree::Tree;

/// A circle.
#[derive(Debug, PartialEq)]
struct Circle {
    /// The path of the crate, or of the module, that these modules are in.
    place: String,
    /// Their names, in order.
    modules: Vec<String>,
    /// Which of them, or what lies below, uses which.
    uses: Vec<String>,
}

/// The circles of a crate.
fn circles(name: &str, tree: &Tree) -> Vec<Circle> {
    let mut circles = Vec::new();
    for parent in tree.modules() {
        // Of the modules right below, and with the modules that it is for.
        let mut uses = DiGraphMap::<&str, (&[String], &[String])>::new();
        for (from, to) in tree.uses() {
            let [of, on] = [from, to].map(|path| path.strip_prefix(&**parent)?.first());
            if let (Some(of), Some(on)) = (of, on)
                && of != on
            {
                uses.add_edge(of, on, (from, to));
            }
        }
        for mut modules in petgraph::algo::tarjan_scc(&uses).into_iter().filter(|it| it.len() > 1) {
            modules.sort_unstable();
            let inside = |name| modules.contains(&name);
            let uses = uses.all_edges().filter(|&(of, on, _)| inside(of) && inside(on));
            circles.push(Circle {
                place: [&[name.to_owned()], &**parent].concat().join("::"),
                uses: uses
                    .map(|(.., (a, b))| format!("{} uses {}", a.join("::"), b.join("::")))
                    .collect(),
                modules: modules.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    circles
}

/// The folders of the workspace's libraries, with their names.
fn libraries(root: &Path) -> Vec<(String, PathBuf)> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    let members = manifest["workspace"]["members"].as_array().expect("a list");
    let folders = members.iter().map(|member| root.join(member.as_str().expect("a folder")));
    let libraries = folders.filter(|folder| folder.join("src/lib.rs").exists());
    let name = |folder: &Path| folder.file_name().expect("a name").to_string_lossy().into_owned();
    libraries.map(|folder| (name(&folder), folder)).collect()
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut found, mut modules) = (Vec::new(), 0);
    let libraries = libraries(&root);
    assert!(libraries.len() >= 12, "{libraries:?}");
    for (name, folder) in libraries {
        let tree = Tree::read(&folder.join("src/lib.rs"), &|path| fs::read_to_string(path).ok());
        modules += tree.modules().len();
        found.extend(circles(&name, &tree));
    }
    assert!(modules > 200, "{modules}");
    assert!(found.is_empty(), "modules use each other in circles: {found:#?}");
}

/// The circles of a crate of these files, of which the first is its root.
#[cfg(test)]
fn of_files(files: &[(&str, &str)]) -> Vec<String> {
    let read = |path: &Path| {
        let file = files.iter().find(|(name, _)| path == Path::new(name))?;
        Some(file.1.to_owned())
    };
    let found = circles("it", &Tree::read(Path::new("lib.rs"), &read));
    found.iter().map(|of| format!("{}: {}", of.place, of.modules.join(", "))).collect()
}

#[test]
fn a_circle_is_found_however_modules_are_named() {
    for b in [
        "use crate::a::A;",
        "use super::a::{self, A};",
        "use crate::{A, B as C};",
        "fn f(_: crate::a::A) {}",
        "fn f() { g!(super::a::A) }",
    ] {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::c::C; struct A;"),
            ("b.rs", b),
            ("c/mod.rs", "mod d; struct C;"),
            ("c/d.rs", "use crate::b::B;"),
        ];
        assert_eq!(of_files(&files), ["it: a, b, c"], "{b}");
    }
}

#[test]
fn a_circle_below_a_module_is_found() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod b; mod c; mod d; pub use b::B;"),
        ("a/b.rs", "use super::c::C;"),
        ("a/c.rs", "use crate::a::B; fn f() { super::d::g() }"),
        ("a/d.rs", ""),
    ];
    assert_eq!(of_files(&files), ["it::a: b, c"]);
}

#[test]
fn a_module_and_those_below_it_and_tests_make_no_circle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod e { pub struct E; } pub use a::A;"),
        ("a.rs", "mod c; pub use c::C; pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
        ("a/c.rs", "use super::A; #[cfg(test)] use crate::b::B;"),
        ("b.rs", "use crate::A; use std::a::A as D; use e::E; /// [`crate::b`]\nstruct B;"),
    ];
    assert_eq!(of_files(&files), [""; 0]);
}
