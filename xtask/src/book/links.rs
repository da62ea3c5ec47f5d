// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links in the documentation: each must lead to a file, and its anchor to a heading. And the book has every page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{pages, prose, root};

/// The anchor that a heading has, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    // Of a link its text.
    while let Some((before, after)) = rest.split_once("](") {
        text += &before.replacen('[', "", 1);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text += rest;
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a page. The second heading of a text has a number after it.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times = BTreeMap::<String, usize>::new();
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading);
        let before = times.entry(anchor.clone()).or_default();
        found.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    found
}

#[test]
fn anchors_are_those_of_github() {
    let page = "# A run: `host run`\n## [Why](x.md) it is\n## What\n## What\n```\n# no\n```\n";
    let expected = ["a-run-host-run", "what", "what-1", "why-it-is"];
    assert_eq!(anchors(page), expected.map(str::to_owned).into());
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let found = pages();
    assert!(found.len() > 20);
    let mut wrong = Vec::new();
    let mut links = 0;
    for page in found {
        let text = std::fs::read_to_string(&page).unwrap();
        let lines = text.lines().enumerate();
        let targets = lines.flat_map(|(number, line)| {
            line.split("](").skip(1).map(move |after| (number + 1, after))
        });
        for (number, after) in targets {
            let target = after.split([')', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains('`') {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let place = || format!("{}:{number}: {target}", page.display());
            if !path.exists() {
                wrong.push(format!("{} is no file", place()));
            } else if !heading.is_empty() && path.extension().is_some_and(|end| end == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                if !anchors(&text).contains(heading) {
                    wrong.push(format!("{} is no heading there", place()));
                }
            }
            links += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(links > 300, "{links}");
}

/// Pages that sources and messages name (`docs/….md`) are there.
#[test]
fn every_page_that_a_source_names_is_there() {
    let mut sources = Vec::new();
    for extension in ["rs", "py", "toml"] {
        super::files(&root(), extension, &mut sources);
    }
    let mut named = 0;
    for source in sources {
        let text = std::fs::read_to_string(&source).unwrap();
        for after in text.split("docs/").skip(1) {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || "/-_.*".contains(c);
            let name = after.split(|c| !is_of_name(c)).next().unwrap_or_default();
            let Some((name, _)) = name.split_once(".md") else { continue };
            let page = root().join(format!("docs/{name}.md"));
            assert!(name.contains('*') || page.exists(), "{}: docs/{name}.md", source.display());
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}

/// `mdbook build` leaves out what docs/SUMMARY.md does not name, and takes a name twice without a word.
#[test]
fn the_book_has_every_page_once() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let targets = summary.split("](").skip(1).filter_map(|after| after.split(')').next());
    let mut listed: Vec<PathBuf> = targets.map(|target| docs.join(target)).collect();
    listed.push(docs.join("SUMMARY.md"));
    listed.sort();
    let mut found = Vec::new();
    super::files(&docs, "md", &mut found);
    found.sort();
    for page in &found {
        assert!(listed.contains(page), "docs/SUMMARY.md has no line for {}", page.display());
    }
    assert_eq!(listed, found);
}

/// The README is read in a minute.
#[test]
fn the_readme_is_short() {
    let readme = std::fs::read_to_string(root().join(Path::new("README.md"))).unwrap();
    assert!(readme.lines().count() <= 150);
    for (number, line) in readme.lines().enumerate() {
        for cell in line.split('|') {
            assert!(cell.chars().count() <= 350, "line {}: a cell too long to read", number + 1);
        }
    }
}
