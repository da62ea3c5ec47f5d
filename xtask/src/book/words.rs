// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that make a reader look elsewhere. A text that begins with "The same" cannot be read by itself.

use super::{doc_comments, files, prose, read_pages, root};

/// No sentence of a page and no doc comment begins so.
const OPENINGS: [&str; 4] = ["The same", "Likewise", "Those of", "That of"];
/// Words that no page has.
const BANNED: [&str; 6] =
    ["likewise", "thereof", "hereby", "whosoever", "aforementioned", "nobody knows"];

/// The texts of a line that a reader sees as beginnings: the line, its cells, and its sentences.
fn beginnings(line: &str) -> impl Iterator<Item = &str> {
    let cells = line.split(" | ").flat_map(|cell| cell.split(". "));
    cells.map(|text| text.trim_start_matches([' ', '|', '-', '*', '#', '>', '.']))
}

/// Whether a text begins with one of the openings, as words of their own.
fn opens_badly(text: &str) -> bool {
    OPENINGS.iter().any(|opening| {
        let rest = text.strip_prefix(opening);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

#[test]
fn openings_are_found() {
    for bad in ["The same in 2D", "| a | Likewise", "It is. Those of x", "- That of y"] {
        assert!(beginnings(bad).any(opens_badly), "{bad}");
    }
    for good in ["The samesided", "It has the same bits", "| the same |", "Whatever"] {
        assert!(!beginnings(good).any(opens_badly), "{good}");
    }
}

#[test]
fn pages_use_no_banned_words() {
    let mut found = Vec::new();
    for page in read_pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (number, line) in prose(&text) {
            let lower = line.to_lowercase();
            let banned = BANNED.iter().find(|word| lower.contains(**word));
            if beginnings(line).any(opens_badly) || banned.is_some() {
                found.push(format!("{}:{number}: {line}", page.display()));
            }
        }
    }
    assert!(found.is_empty(), "say it in full:\n{}", found.join("\n"));
}

#[test]
fn doc_comments_stand_alone() {
    let mut sources = Vec::new();
    files(&root(), "rs", &mut sources);
    let mut found = Vec::new();
    for source in sources {
        let text = std::fs::read_to_string(&source).unwrap();
        for (number, comment) in doc_comments(&text) {
            if opens_badly(&comment) {
                let line = comment.lines().next().unwrap_or_default();
                found.push(format!("{}:{number}: {line}", source.display()));
            }
        }
    }
    assert!(found.is_empty(), "say by itself what an item is:\n{}", found.join("\n"));
}
