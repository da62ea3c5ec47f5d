// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mistake in a text: what is wrong, and where, with the line and a mark below it.

use std::fmt;
use std::ops::Range;

use super::Error;

/// A mistake in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Which text: a file, or what an expression is for.
    pub place: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line.
    pub text: String,
    /// Characters of it that are marked, at least 1.
    pub width: usize,
    /// What is wrong.
    pub what: String,
    /// What may have been meant, or what to write instead.
    pub hint: Option<String>,
}

impl Mistake {
    /// One at these bytes of a text.
    #[must_use]
    pub fn new(place: &str, text: &str, at: Range<usize>, what: String) -> Self {
        // The nearest character, should the place not be one.
        let start = (0..=at.start.min(text.len())).rfind(|&byte| text.is_char_boundary(byte));
        let start = start.unwrap_or_default();
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let end = (at.end.min(line_end)..=line_end).find(|&byte| text.is_char_boundary(byte));
        let marked = &text[start..end.unwrap_or(line_end).max(start)];
        Self {
            place: place.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            text: text[line_start..line_end].trim_end().to_owned(),
            width: marked.chars().count().max(1),
            what,
            hint: None,
        }
    }

    /// Adds a hint to the mistake: what may have been meant, or what to write instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Self {
        Self::System(Box::new(mistake))
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { place, line, column, text, width, what, .. } = self;
        if text.is_empty() && *line == 1 {
            // What is wrong is of no text, such as an array.
            return write!(f, "{place}: {what}");
        }
        // Tabs stay what they are, so that the mark stands below its place.
        let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
        let before: String = text.chars().take(column - 1).map(blank).collect();
        let mark = "^".repeat(*width);
        write!(f, "{place}, line {line}, column {column}: {what}\n  | {text}\n  | {before}{mark}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_text_has_no_mark() {
        let mistake = Mistake::new("the series of sources", "", 0..0, "there is none".into());
        assert_eq!(mistake.to_string(), "the series of sources: there is none");
    }

    #[test]
    fn the_mark_stands_below_its_place() {
        let text = "a = 1\n\tü = oops + 2\n";
        let at = text.find("oops").unwrap();
        let mistake = Mistake::new("mine.toml", text, at..at + 4, "no such name".into());
        assert_eq!((mistake.line, mistake.column), (2, 6));
        assert_eq!(
            mistake.to_string(),
            "mine.toml, line 2, column 6: no such name\n  | \tü = oops + 2\n  | \t    ^^^^"
        );
    }

    #[test]
    fn any_place_is_one() {
        let text = "é\n";
        for (start, end) in [(0, 0), (1, 1), (0, 9), (3, 3), (7, 9), (2, 1)] {
            let mistake = Mistake::new("", text, start..end, String::new());
            assert!(mistake.width >= 1 && mistake.line <= 2, "{mistake}");
        }
    }
}
