// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sentences of more than 40 words are hard to read. Neither pages nor doc comments have any.

use super::{doc_comments, files, prose, read_pages, root};

/// The words that a sentence may have.
const WORDS: usize = 40;

/// The sentences of a text that are too long, each with the number of its words.
fn long(text: &str) -> Vec<(usize, String)> {
    // Ends of sentences, and what stands between them in a list.
    let ends = [". ", "! ", "? ", "; ", ": "];
    let mut text = text.replace('\n', " ");
    for end in ends {
        text = text.replace(end, "\u{1}");
    }
    let sentences = text.split('\u{1}').map(str::trim);
    let words = |sentence: &str| {
        // A word has a letter: signs and numbers of formulas are none.
        let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
        sentence.split_whitespace().filter(is_word).count()
    };
    let long = sentences.filter(|sentence| words(sentence) > WORDS);
    long.map(|sentence| (words(sentence), sentence.to_owned())).collect()
}

/// The texts of a page or of a doc comment: paragraphs, items of lists, cells of tables, each with its line.
fn texts(page: &str) -> Vec<(usize, String)> {
    let mut texts: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in prose(page) {
        let line = line.trim();
        if line.starts_with('|') {
            texts.extend(line.split('|').map(|cell| (number, cell.trim().to_owned())));
            open = false;
        } else if line.is_empty() || line.starts_with('#') {
            open = false;
        } else if open && !line.starts_with("- ") && !line.starts_with(|c: char| c.is_ascii_digit())
        {
            let last = &mut texts.last_mut().expect("an open text").1;
            last.push(' ');
            last.push_str(line);
        } else {
            texts.push((number, line.to_owned()));
            open = true;
        }
    }
    texts
}

#[test]
fn long_sentences_are_found() {
    let long_one = vec!["word"; 41].join(" ");
    let page = format!("short. {long_one}. short\n\n| a | {long_one} |\n- {long_one}\n\n1 2 3\n");
    let found: Vec<usize> = texts(&page).iter().map(|(_, text)| long(text).len()).collect();
    assert_eq!(found.iter().sum::<usize>(), 3, "{found:?}");
    assert!(long(&vec!["7"; 50].join(" ")).is_empty());
}

#[test]
fn sentences_of_pages_are_short() {
    let mut found = Vec::new();
    for page in read_pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (number, text) in texts(&text) {
            let of_text = long(&text).into_iter();
            found.extend(of_text.map(|(words, sentence)| {
                format!("{}:{number}: {words} words: {sentence}", page.display())
            }));
        }
    }
    assert!(found.is_empty(), "make two of each:\n{}", found.join("\n"));
}

#[test]
fn sentences_of_doc_comments_are_short() {
    let mut sources = Vec::new();
    files(&root(), "rs", &mut sources);
    let mut found = Vec::new();
    for source in sources {
        let text = std::fs::read_to_string(&source).unwrap();
        for (number, comment) in doc_comments(&text) {
            for (_, text) in texts(&comment) {
                let of_comment = long(&text).into_iter();
                found.extend(of_comment.map(|(words, sentence)| {
                    format!("{}:{number}: {words} words: {sentence}", source.display())
                }));
            }
        }
    }
    assert!(found.is_empty(), "make two of each:\n{}", found.join("\n"));
}
