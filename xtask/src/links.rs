// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links in the documentation: each must lead to a file. And the book has every page.

use std::path::{Path, PathBuf};

/// All Markdown files of the project, but for those in folders that git ignores or that are hidden.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_link_between_pages_leads_to_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    pages(&root, &mut found);
    assert!(found.len() > 20);
    let mut links = 0;
    for page in found {
        let text = std::fs::read_to_string(&page).unwrap();
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains('`') {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target} is no file", page.display());
            links += 1;
        }
    }
    assert!(links > 50, "{links}");
}

/// `mdbook build` leaves out what docs/SUMMARY.md does not name, and takes a name twice without a word.
#[test]
fn the_book_has_every_page_once() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let targets = summary.split("](").skip(1).filter_map(|after| after.split(')').next());
    let mut listed: Vec<PathBuf> = targets.map(|target| docs.join(target)).collect();
    listed.push(docs.join("SUMMARY.md"));
    listed.sort();
    let mut found = Vec::new();
    pages(&docs, &mut found);
    found.sort();
    for page in &found {
        assert!(listed.contains(page), "docs/SUMMARY.md has no line for {}", page.display());
    }
    assert_eq!(listed, found);
}
