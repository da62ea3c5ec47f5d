// SPDX-License-Identifier: MIT OR Apache-2.0
//! An expression as numbers, names and symbols.

use std::ops::Range;

use crate::error::Mistake;
use crate::text::Text;

/// What an expression consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A number.
    Number(f64),
    /// A name, or a word such as `and`.
    Name(String),
    /// One of [`SYMBOLS`].
    Symbol(&'static str),
    /// There is no more.
    End,
}

/// Longer ones before those that they begin with.
const SYMBOLS: [&str; 14] =
    ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "^", "(", ")", ","];

/// How an expression reads an array of a file.
const FILES: &str = "only a start takes a file, a .npy array; expressions read it by the name of a coefficient: \
                     [coefficients.NAME] start = \"FILE.npy\"";
/// How an expression reads a neighbour.
const NEIGHBOURS: &str = "neighbours are read by stencils; of the one on the right: under [stencils] right = \
                          { offsets = [[0, 1]], weights = [1] }, and in the expression right(u)";

/// The tokens of an expression, each with its bytes in the whole text; the last one is [`Token::End`].
///
/// # Errors
/// A character that stands for nothing, or a number that is none.
pub fn lex(text: &Text) -> Result<Vec<(Token, Range<usize>)>, Mistake> {
    let mut tokens = Vec::new();
    let Range { start: mut at, end } = text.range();
    while let Some(next) = text.whole()[at..end].chars().next() {
        let rest = &text.whole()[at..end];
        let (token, length) = if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        } else if next == '.'
            && let Some(name) = name_before(&tokens, at)
        {
            let file = name.start..at + number_length(rest);
            let what = format!("'{}' is the name of a file", &text.whole()[file.clone()]);
            return Err(text.mistake(file, what).hint(FILES));
        } else if next.is_ascii_digit() || next == '.' {
            let length = number_length(rest);
            let number = rest[..length].parse().ok().filter(|number: &f64| number.is_finite());
            let wrong =
                || text.mistake(at..at + length, format!("'{}' is no number", &rest[..length]));
            (Token::Number(number.ok_or_else(wrong)?), length)
        } else if is_of_name(next) {
            let length = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            (Token::Name(rest[..length].to_owned()), length)
        } else if rest.starts_with("**") {
            let wrong = text.mistake(at..at + 2, "'**' means nothing");
            return Err(wrong.hint("a power is written a^b"));
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            let wrong = text.mistake(at..at + next.len_utf8(), format!("'{next}' means nothing"));
            return Err(match next {
                '=' => wrong.hint("two values are compared by =="),
                '&' | '|' | '!' => wrong.hint("conditions are joined by the words and, or, not"),
                '[' if name_before(&tokens, at).is_some() => wrong.hint(NEIGHBOURS),
                '[' | '{' => wrong.hint("parts of an expression are held together by ( and )"),
                _ => wrong,
            });
        };
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, end..end));
    Ok(tokens)
}

/// The place of a name that ends where something else begins.
fn name_before(tokens: &[(Token, Range<usize>)], at: usize) -> Option<&Range<usize>> {
    match tokens.last() {
        Some((Token::Name(_), place)) if place.end == at => Some(place),
        _ => None,
    }
}

fn is_of_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// Digits, a point and digits, an exponent; and what sticks to them, which makes it no number.
fn number_length(text: &str) -> usize {
    let mut before = ' ';
    let goes_on = |c: char| {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        before = c;
        sign || c == '.' || is_of_name(c)
    };
    let mut goes_on = goes_on;
    text.find(|c| !goes_on(c)).unwrap_or(text.len())
}
