// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables of a module, as they are declared.

use crate::module::Variable;
use crate::operands::literal;
use crate::types::PtxType;

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this PTX is not understood: `{0}`")]
pub struct ParseError(pub String);

/// The error for a text, of which the beginning is told.
pub fn misread(text: &str) -> ParseError {
    ParseError(text.chars().take(100).collect())
}

/// The values of a list.
pub fn list(values: &str) -> impl Iterator<Item = &str> {
    values.trim().trim_start_matches('{').trim_end_matches('}').split(',').map(str::trim)
}

/// The type that a declaration names last.
pub fn element(head: &str) -> Option<PtxType> {
    head.split_whitespace().rev().find_map(|word| PtxType::of(word.strip_prefix('.')?))
}

/// A variable, and whether it is in shared memory.
pub fn variable(text: &str) -> Result<Option<(Variable, bool)>, ParseError> {
    let (head, values) = text.split_once('=').map_or((text, None), |(a, b)| (a, Some(b)));
    let words: Vec<&str> = head.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    if !has(".global") && !has(".const") && !has(".shared") {
        return Ok(None);
    }
    let ty = element(head).ok_or_else(|| misread(text))?;
    let alignment = after(&words, ".align").unwrap_or(ty.bytes());
    let declared = words.last().ok_or_else(|| misread(text))?;
    let (name, count) = match declared.split_once('[') {
        Some((name, count)) => (name, count.trim_end_matches(']').parse().ok()),
        None => (*declared, Some(1)),
    };
    let mut bytes = vec![0; count.unwrap_or(0) * ty.bytes()];
    for (at, value) in values.map(list).into_iter().flatten().enumerate() {
        let number = literal(value).unwrap_or(0).to_le_bytes();
        let start = at * ty.bytes();
        if let Some(place) = bytes.get_mut(start..start + ty.bytes()) {
            place.copy_from_slice(&number[..ty.bytes()]);
        }
    }
    let variable = Variable {
        name: name.to_owned(),
        alignment,
        bytes,
        addresses: Vec::new(),
        is_dynamic: count.is_none(),
        is_constant: has(".const"),
    };
    Ok(Some((variable, has(".shared"))))
}

/// The number after a word.
pub fn after(words: &[&str], word: &str) -> Option<usize> {
    let at = words.iter().position(|it| *it == word)?;
    words.get(at + 1)?.parse().ok()
}
