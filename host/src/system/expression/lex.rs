// SPDX-License-Identifier: MIT OR Apache-2.0
//! An expression as numbers, names and symbols.

use std::ops::Range;

use super::super::text::Text;
use crate::error::Mistake;

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
        } else if next.is_ascii_digit() || next == '.' {
            let length = number_length(rest);
            let number = rest[..length].parse().ok().filter(|number: &f64| number.is_finite());
            let wrong =
                || text.mistake(at..at + length, format!("'{}' is no number", &rest[..length]));
            (Token::Number(number.ok_or_else(wrong)?), length)
        } else if is_of_name(next) {
            let length = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            (Token::Name(rest[..length].to_owned()), length)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            let wrong = text.mistake(at..at + next.len_utf8(), format!("'{next}' means nothing"));
            return Err(match next {
                '=' => wrong.hint("two values are compared by =="),
                '&' | '|' | '!' => wrong.hint("conditions are joined by the words and, or, not"),
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
