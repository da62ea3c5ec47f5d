// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strided swapping (SPIDER §3.1): a rule instead of a search.
//!
//! Every input row becomes 2S slots, S = L + 1 rounded up to even: slot j holds column j of the row,
//! but the odd slots below S are swapped with those S further. A group of four then holds columns c,
//! c + 2 and c + S + 1, c + S + 3; those of one kind are at least L away from those of the other. With
//! r1 = S outputs along x, which is SPIDER's choice for odd L, 2 slots of a row are zero columns.

use super::{ColumnOrder, NoOrder};
use crate::conflict::Pattern;

/// Orders the columns by the rule.
///
/// # Errors
/// More outputs along x than 2S slots have inputs for.
pub fn order(pattern: &Pattern) -> Result<ColumnOrder, NoOrder> {
    let length = pattern.lengths[2];
    let stride = (length + 1).next_multiple_of(2);
    let outputs = pattern.factors[2];
    let most = 2 * stride + 1 - length;
    if outputs > most {
        return Err(NoOrder::TooWide { outputs, length, most });
    }
    let first = pattern.first_input()[2];
    let mut slots = Vec::new();
    let mut next = 0;
    for row in pattern.inputs.chunk_by(|a, b| a[..2] == b[..2]) {
        let start = slots.len();
        slots.resize(start + 2 * stride, None);
        for input in row {
            let column = (input[2] - first) as usize;
            let slot = if column % 2 == 1 { (column + stride) % (2 * stride) } else { column };
            slots[start + slot] = Some(next);
            next += 1;
        }
    }
    let zero_columns = slots.len() - pattern.columns.len();
    Ok(ColumnOrder { slots, zero_columns })
}
