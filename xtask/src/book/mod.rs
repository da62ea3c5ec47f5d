// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the words of the project: links and anchors of the book, words that are banned, sentences that are too long, names of types.

use std::path::{Path, PathBuf};

mod links;
mod names;
mod sentences;
mod words;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files of a folder whose names end so, except in folders that git ignores or that are hidden.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

/// The pages of the project, sorted.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), "md", &mut found);
    found.sort();
    found
}

/// The pages that are written for readers: the README and the book, without decisions, which are records.
fn read_pages() -> Vec<PathBuf> {
    let is_read = |page: &PathBuf| {
        let page = page.strip_prefix(root()).expect("a page of the project");
        page == Path::new("README.md")
            || page.starts_with("docs") && !page.starts_with("docs/decisions")
    };
    pages().into_iter().filter(is_read).collect()
}

/// The lines of a page outside of fenced blocks and of generated sections, each with its number.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let (mut fenced, mut generated) = (false, false);
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            generated |= line.starts_with("<!-- generated: ");
            if !generated {
                lines.push((number + 1, line));
            }
            generated &= !line.starts_with("<!-- end of ");
        }
    }
    lines
}

/// The doc comments of a source, each as one text, with the number of its first line.
fn doc_comments(source: &str) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut last = 0;
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            continue;
        };
        match comments.last_mut() {
            Some((_, comment)) if number == last + 1 => {
                comment.push('\n');
                comment.push_str(text.trim());
            }
            _ => comments.push((number + 1, text.trim().to_owned())),
        }
        last = number;
    }
    comments
}

#[test]
fn fences_and_generated_sections_are_no_prose() {
    let page = "a\n```sh\nb\n```\n<!-- generated: x -->\nc\n<!-- end of x -->\nd";
    assert_eq!(prose(page), [(1, "a"), (8, "d")]);
    let source = "/// One\n/// two.\nfn f() {}\n    //! Three.\n";
    assert_eq!(doc_comments(source), [(1, "One\ntwo.".to_owned()), (4, "Three.".to_owned())]);
}
