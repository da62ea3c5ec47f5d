// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of two neighbouring columns, matched as they are: two words make a group of four.
//!
//! A load fetches a word of two 16-bit inputs that are neighbours along x, but pairs of columns that
//! never conflict lie far apart. 2:4 does not ask for such pairs. A word whose columns are both nonzero
//! in a row needs a partner that is zero there; one with a single nonzero may meet another. A maximum
//! matching of the words costs as many zero columns as whole words allow, and every word of B is one
//! load.

use super::{ColumnOrder, NoOrder, blossom};
use crate::conflict::{Pattern, RowMask};

/// Two slots and the rows in which they are nonzero.
struct Word {
    slots: [Option<usize>; 2],
    once: RowMask,
    twice: RowMask,
}

/// Orders the columns in whole words.
///
/// # Errors
/// More columns than [`blossom`] takes.
pub fn order(pattern: &Pattern) -> Result<ColumnOrder, NoOrder> {
    blossom::check(pattern.columns.len())?;
    let words = words(pattern);
    let fit = |a: usize, b: usize| {
        let (a, b) = (&words[a], &words[b]);
        a.twice & b.once == 0 && a.once & b.twice == 0
    };
    let pairs = blossom::maximum_matching_of(words.len(), fit);
    let slots: Vec<Option<usize>> = pairs
        .iter()
        .flat_map(|&(a, b)| [words[a].slots, b.map_or([None; 2], |b| words[b].slots)].concat())
        .collect();
    let zero_columns = slots.len() - pattern.columns.len();
    Ok(ColumnOrder { slots, zero_columns })
}

/// The columns by words: an even and the next odd position along x, from the tile's first input.
fn words(pattern: &Pattern) -> Vec<Word> {
    let first = pattern.first_input()[2];
    let mut words: Vec<([i32; 3], Word)> = Vec::new();
    for (column, (&[z, y, x], &rows)) in pattern.inputs.iter().zip(&pattern.columns).enumerate() {
        let (place, half) = ([z, y, (x - first) / 2], ((x - first) % 2) as usize);
        match words.last_mut() {
            Some((last, word)) if *last == place => {
                word.slots[half] = Some(column);
                (word.once, word.twice) = (word.once | rows, word.once & rows);
            }
            _ => {
                let mut slots = [None; 2];
                slots[half] = Some(column);
                words.push((place, Word { slots, once: rows, twice: 0 }));
            }
        }
    }
    words.into_iter().map(|(_, word)| word).collect()
}
