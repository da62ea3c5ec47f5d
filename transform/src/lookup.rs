// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lookup tables (SparStencil §3.3): where in shared memory a lane finds its elements of B, worked out
//! here so that the kernel neither divides nor searches; and what those loads cost in bank conflicts.
//!
//! B has 8 columns: 8 tiles side by side along x. Its row for slot s is, in each tile, the input of
//! the column that s holds. Tile n starts n·r1 elements further, so an address is
//! `offset(slot) + n·r1·bytes`, and one offset for each slot is the whole table.

use crate::conflict::Pattern;
use cuda_mma::fragment::{LANES, N, SparseMma};
use serde::{Deserialize, Serialize};

/// Banks of shared memory; each serves one 32-bit word in a cycle.
pub const BANKS: usize = 32;

/// Bytes of a bank's word.
pub const WORD: usize = 4;

/// A block of inputs in shared memory, row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputTile {
    /// Bytes from a row to the next; a multiple of 16, as the copy engines want it.
    pub pitch: usize,
    /// Rows of a plane.
    pub rows: usize,
}

impl InputTile {
    /// The block that 8 tiles side by side read. The pitch is an odd multiple of 16 bytes, so that 8
    /// rows start in different banks.
    #[must_use]
    pub fn of(pattern: &Pattern, mma: SparseMma) -> Self {
        let width = N * pattern.factors[2] + pattern.lengths[2] - 1;
        let chunks = (width * mma.element.bytes()).div_ceil(16) | 1;
        Self { pitch: 16 * chunks, rows: pattern.lengths[1] + pattern.factors[1] - 1 }
    }
}

/// The addresses of B's elements.
#[derive(Clone, Debug, PartialEq)]
pub struct LookupTable {
    /// The instruction.
    pub mma: SparseMma,
    /// Slot → byte offset from the tile's first input. A zero column may load anything finite: it has
    /// the address of its neighbour in the word where there is one.
    pub offsets: Vec<u32>,
    /// Bytes from a tile to the one beside it.
    pub stride: u32,
}

/// What loading the fragments of B costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadCost {
    /// Load instructions of a warp.
    pub loads: usize,
    /// Cycles of shared memory: one for each load, and one more for each further word in a bank.
    pub wavefronts: usize,
}

impl LookupTable {
    /// The table for an order of columns, filled up to whole steps of the instruction.
    ///
    /// # Panics
    /// Where the order names a column that the pattern lacks.
    #[must_use]
    pub fn new(
        pattern: &Pattern,
        slots: &[Option<usize>],
        mma: SparseMma,
        tile: InputTile,
    ) -> Self {
        let bytes = mma.element.bytes();
        let first = pattern.first_input();
        let offset = |column: usize| {
            let at = |axis: usize| (pattern.inputs[column][axis] - first[axis]) as usize;
            ((at(0) * tile.rows + at(1)) * tile.pitch + at(2) * bytes) as u32
        };
        let mut offsets = Vec::with_capacity(slots.len().next_multiple_of(mma.k));
        for word in slots.chunks(mma.per_word()) {
            match *word {
                [None, Some(high)] => {
                    let high = offset(high);
                    offsets.extend([high ^ bytes as u32, high]);
                }
                [Some(low), None] => {
                    let low = offset(low);
                    offsets.extend([low, low ^ bytes as u32]);
                }
                _ => {
                    let slots = 0..mma.per_word();
                    offsets.extend(slots.map(|i| {
                        word.get(i).copied().flatten().map_or((i * bytes) as u32, offset)
                    }));
                }
            }
        }
        let padded = offsets.len().next_multiple_of(mma.k);
        let fill = offsets.len()..padded;
        offsets.extend(fill.map(|slot| (slot % mma.per_word() * bytes) as u32));
        let stride = (pattern.factors[2] * bytes) as u32;
        Self { mma, offsets, stride }
    }

    /// Steps along K.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.offsets.len() / self.mma.k
    }

    /// What it costs a warp to load every fragment once. A word whose elements are neighbours, at a
    /// multiple of 4 bytes in every tile, takes one load; otherwise each element takes one.
    #[must_use]
    pub fn cost(&self) -> LoadCost {
        let mma = self.mma;
        let (bytes, halves) = (mma.element.bytes() as u32, mma.per_word());
        let mut cost = LoadCost::default();
        for step in self.offsets.chunks(mma.k) {
            for word in 0..mma.b_words() {
                let address = |lane, i| {
                    let (slot, tile) = mma.b(lane, word, i);
                    step[slot] + tile as u32 * self.stride
                };
                let whole = halves == 1
                    || (0..LANES).all(|lane| {
                        let low = address(lane, 0);
                        low.is_multiple_of(WORD as u32) && address(lane, 1) == low + bytes
                    });
                for i in 0..if whole { 1 } else { halves } {
                    cost.loads += 1;
                    cost.wavefronts += wavefronts(&std::array::from_fn(|lane| address(lane, i)));
                }
            }
        }
        cost
    }
}

/// Cycles that shared memory needs for one load of at most 4 bytes a lane: the most different words
/// that lanes want from one bank.
#[must_use]
pub fn wavefronts(addresses: &[u32; LANES]) -> usize {
    let mut words: [u32; LANES] = addresses.map(|address| address / WORD as u32);
    words.sort_unstable();
    let mut in_bank = [0; BANKS];
    for (i, &word) in words.iter().enumerate() {
        if i == 0 || words[i - 1] != word {
            in_bank[word as usize % BANKS] += 1;
        }
    }
    in_bank.into_iter().max().unwrap_or(0)
}

/// Wavefronts of 16 bytes a lane: 8 lanes at a time, each of which wants 4 neighbouring words.
#[must_use]
pub fn wavefronts_16_bytes(addresses: &[u32; LANES]) -> usize {
    let phases = addresses
        .chunks(8)
        .map(|lanes| wavefronts(&std::array::from_fn(|i| lanes[i / 4] + (i % 4 * WORD) as u32)));
    phases.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::matching::Strategy;
    use crate::sparsify::Granularity;
    use cuda_mma::fragment::M16N8K32;

    #[test]
    fn conflicts_are_counted_as_the_banks_have_them() {
        let stride = |bytes: u32| wavefronts(&std::array::from_fn(|lane| lane as u32 * bytes));
        assert_eq!([0, 2, 4, 8, 64, 128, 132].map(stride), [1, 1, 1, 2, 16, 32, 1]);
        let wide = |bytes: u32| wavefronts_16_bytes(&std::array::from_fn(|l| l as u32 * bytes));
        assert_eq!([16, 32, 128, 144].map(wide), [4, 8, 32, 4]);
    }

    #[test]
    fn offsets_lead_to_the_inputs() {
        let stencil = catalogue::find("box2d2r").unwrap();
        let pattern = Pattern::new(&stencil, [1, 2, 8]).unwrap();
        let order =
            Strategy::Hierarchical.order(&pattern, Granularity::of(M16N8K32.element)).unwrap();
        let tile = InputTile { pitch: 208, rows: 6 };
        let table = LookupTable::new(&pattern, &order.slots, M16N8K32, tile);
        assert_eq!(table.offsets.len() % 32, 0);
        assert_eq!(table.stride, 16);
        for (slot, column) in order.slots.iter().enumerate() {
            let Some(column) = column else { continue };
            let [_, y, x] = pattern.inputs[*column];
            assert_eq!(table.offsets[slot], (y + 2) as u32 * 208 + (x + 2) as u32 * 2);
        }
        let cost = table.cost();
        assert!(cost.loads >= 4 * table.steps() && cost.wavefronts >= cost.loads);
    }
}
