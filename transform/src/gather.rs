// SPDX-License-Identifier: MIT OR Apache-2.0
//! The chunk gather: layouts for any stencil of radius up to [`REACH`], as the kernels `gather` of
//! `kernels-gpu` run them, by a lookup table (SparStencil §3.3).
//!
//! **Chunks.** The unit of what is gathered is a chunk of 16 bytes of an input row: 8 columns of a
//! 16-bit type, 4 of tf32. A step of the product takes four chunks, wherever they lie: lane t of a quad
//! loads chunk t by one 16-byte load, and its word j is the lane's word j of B. Only chunks in which
//! some weight stands are loaded; those of rows and planes without weights cost nothing.
//!
//! **2:4.** A group of four slots is word j of chunk 0 and word j of chunk 1 (or of 2 and 3). So two
//! chunks may share lanes t and t + 1 where no row of A has more than two nonzeros in any two words j: a
//! word that a row fills needs a partner that is zero there, and one with a single nonzero may meet
//! another. In tf32 a word is one column, and at most one of the two may be nonzero. That is a
//! matching of chunks (SparStencil §3.2, at the granularity of loads); with a rest that has no partner and
//! shares lanes with zeros, every stencil has a layout. Boxes of up to 15 weights a row are matched as
//! SPIDER's strided swapping does it, chunks c and c + 2; stars pair chunks of different rows.
//!
//! **Banks.** Pairs are put together to steps so that the 16-byte loads of a step meet in as few banks as
//! may be: [`Pitch`] says how rows and planes lie in shared memory.

use crate::encode::encode;
use crate::lookup::wavefronts_16_bytes;
use crate::matching::blossom::maximum_matching_of;
use crate::matrix::Matrix;
use crate::morph::morph;
use crate::row_operand::transposed_output_of_row;
use crate::sparsify::{Granularity, Sparse24};
use crate::stencil::Stencil;
use cuda_mma::fragment::{Element, LANES, M, SparseMma};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use thiserror::Error;

/// The largest radius on any axis.
pub const REACH: usize = 8;

/// Bytes of a chunk: what a lane loads at once.
pub const CHUNK_BYTES: usize = 16;

/// Chunks of a step: one for each lane of a quad.
pub const CHUNKS: usize = 4;

/// Bytes of a round of all banks: residues of pitches modulo this decide about conflicts.
const ROUND: usize = 128;

/// Which 16 outputs one column of a product computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum OutputTile {
    /// 16 of a row: long rows of weights share many inputs.
    #[serde(rename = "1x16")]
    Row,
    /// 2 rows × 8 columns: columns of weights share more.
    #[serde(rename = "2x8")]
    Block,
}

impl OutputTile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Row, Self::Block];

    /// Rows of outputs.
    #[must_use]
    pub const fn rows(self) -> usize {
        match self {
            Self::Row => 1,
            Self::Block => 2,
        }
    }

    /// Columns of outputs.
    #[must_use]
    pub const fn columns(self) -> usize {
        M / self.rows()
    }

    /// Row and column of the output that a row of A computes. In rows of a 16-bit type the order is the
    /// one with which lanes end up with neighbouring outputs ([`transposed_output_of_row`]).
    #[must_use]
    pub const fn output(self, element: Element, row: usize) -> (usize, usize) {
        match self {
            Self::Row if element.per_word() == 2 => (0, transposed_output_of_row(row)),
            Self::Row => (0, row),
            Self::Block => (row / 8, row % 8),
        }
    }
}

/// Rows × columns.
impl fmt::Display for OutputTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows(), self.columns())
    }
}

/// How rows and planes of inputs lie in shared memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pitch {
    /// From a row to the next.
    pub row: usize,
    /// From a plane to the next.
    pub plane: usize,
}

impl Pitch {
    /// The smallest that hold so many bytes of a row and as many rows of a plane, and in which a layout
    /// has the bank conflicts that it was made for.
    #[must_use]
    pub fn fitting(tile: OutputTile, element: Element, row_bytes: usize, rows: usize) -> Self {
        let (row_residue, plane_residue) = residues(tile, element);
        // The next number that leaves a residue below a round.
        let up = |bytes: usize, residue: usize| {
            (bytes + ROUND - residue).next_multiple_of(ROUND) - ROUND + residue
        };
        let row = up(row_bytes, row_residue);
        Self { row, plane: up(row * rows, plane_residue) }
    }
}

/// What pitches of rows and of planes leave modulo a round of the banks: of those that are multiples of
/// 32 bytes, so that rows start at sectors, the ones with which the catalogue's stars and boxes have the
/// fewest conflicts.
const fn residues(tile: OutputTile, element: Element) -> (usize, usize) {
    match (tile, element.per_word()) {
        (_, 2) => (32, 96),
        (OutputTile::Row, _) => (32, 32),
        (OutputTile::Block, _) => (64, 64),
    }
}

/// 16 bytes of an input row: its plane and row, and its first column, relative to the tile's first output.
pub type Chunk = [i32; 3];

/// What of a layout decides about a tile in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Type of the weights.
    pub element: Element,
    /// The outputs of a product's column.
    pub tile: OutputTile,
    /// First plane and row with weights, relative to the tile's first output.
    pub first: [i32; 2],
    /// Planes and rows from there that hold all weights of all outputs of a tile.
    pub extent: [usize; 2],
}

/// A stencil laid out for the gather kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Gather {
    /// What a tile takes of its surroundings.
    pub footprint: Footprint,
    /// The chunks of each step; those of a pair without a second one are the same.
    pub steps: Vec<[Chunk; CHUNKS]>,
    /// Slot of A'' → input, relative to the tile's first output; none where A'' has a zero column.
    pub inputs: Vec<Option<[i32; 3]>>,
    /// A of each step and metadata, as [`crate::encode::Encoded::words`].
    pub operand: Vec<u32>,
}

/// Why a stencil has no such layout.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("the gather kernels take radius up to {REACH} on each axis; this stencil has {0}")]
pub struct NoGather(pub usize);

/// A chunk and where its columns are nonzero.
struct Item {
    chunk: Chunk,
    /// (Row of A, word) with at least one nonzero; a bit each.
    once: u64,
    /// With two.
    twice: u64,
}

/// Two chunks in lanes t and t + 1; none where zeros do.
type Pair = (Chunk, Option<Chunk>);

/// The layout for tiles of a kind.
///
/// # Errors
/// A radius beyond [`REACH`].
///
/// # Panics
/// Never: pairs of chunks are 2:4, because they were matched so.
pub fn gather_tiles(
    stencil: &Stencil,
    element: Element,
    tile: OutputTile,
) -> Result<Gather, NoGather> {
    if stencil.radius() > REACH {
        return Err(NoGather(stencil.radius()));
    }
    let mma = SparseMma::deepest(element);
    let items = items(stencil, element, tile);
    let fit = |a: usize, b: usize| {
        let (a, b) = (&items[a], &items[b]);
        a.twice & b.once == 0 && a.once & b.twice == 0
    };
    let chunk = |item: usize| items[item].chunk;
    let apart = |a: usize, b: usize| {
        wavefronts_of(element, tile, [chunk(a), chunk(b), chunk(a), chunk(b)]) <= LEAST_WAVEFRONTS
    };
    // As few pairs as there can be; if some such have no bank conflicts, those.
    let any = maximum_matching_of(items.len(), fit);
    let best = maximum_matching_of(items.len(), |a, b| fit(a, b) && apart(a, b));
    let matched = if best.len() > any.len() { any } else { best };
    let pairs: Vec<Pair> = matched.iter().map(|&(a, b)| (chunk(a), b.map(chunk))).collect();
    let pairs = in_steps(element, tile, &pairs);

    let morphed = morph(stencil, [1, tile.rows(), tile.columns()]);
    let column: HashMap<[i32; 3], usize> =
        morphed.inputs.iter().enumerate().map(|(column, &input)| (input, column)).collect();
    let mut order = vec![None; pairs.len() / 2 * mma.k];
    for (index, pair) in pairs.iter().enumerate() {
        let (step, first_lane) = (index / 2, index % 2 * 2);
        let chunks = pair.map_or([None; 2], |(a, b)| [Some(a), b]);
        for (t, chunk) in chunks.into_iter().enumerate() {
            let Some([z, y, x]) = chunk else { continue };
            for word in 0..mma.b_words() {
                for i in 0..mma.per_word() {
                    let (slot, _) = mma.b(first_lane + t, word, i);
                    let input = [z, y, x + (mma.per_word() * word + i) as i32];
                    order[step * mma.k + slot] = column.get(&input).copied();
                }
            }
        }
    }
    let input = |&column: &Option<usize>| {
        let empty = |column| (0..M).all(|row| morphed.matrix.at(row, column) == 0.0);
        column.filter(|&column| !empty(column)).map(|column| morphed.inputs[column])
    };
    let inputs = order.iter().map(input).collect();
    let granularity = Granularity::of(element);
    let sparse = Sparse24::with(granularity, &morphed.matrix, order).expect("matched to be sparse");
    let rows = Matrix::new(M, sparse.matrix.columns(), |row, slot| {
        let (y, x) = tile.output(element, row);
        sparse.matrix.at(y * tile.columns() + x, slot)
    });
    let operand = encode(&Sparse24 { matrix: rows, ..sparse }, mma, 0).words;

    let steps: Vec<[Chunk; CHUNKS]> = pairs
        .chunks(2)
        .map(|pairs| {
            let (first, _) = pairs[0].expect("a step has a pair");
            let both = |pair: Option<Pair>| pair.map_or([first; 2], |(a, b)| [a, b.unwrap_or(a)]);
            let ([a, b], [c, d]) = (both(pairs[0]), both(pairs[1]));
            [a, b, c, d]
        })
        .collect();
    let along = |axis: usize| {
        let all = || steps.iter().flatten().map(move |chunk| chunk[axis]);
        let (first, last) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        (first, (last - first + 1) as usize)
    };
    let ((z, planes), (y, rows)) = (along(0), along(1));
    let footprint = Footprint { element, tile, first: [z, y], extent: [planes, rows] };
    Ok(Gather { footprint, steps, inputs, operand })
}

/// The chunks with weights, in the order of memory.
fn items(stencil: &Stencil, element: Element, tile: OutputTile) -> Vec<Item> {
    let (per_word, width) = (element.per_word() as i32, (CHUNK_BYTES / element.bytes()) as i32);
    let mut masks: std::collections::BTreeMap<Chunk, [u64; 2]> = Default::default();
    for row in 0..M {
        let (oy, ox) = tile.output(element, row);
        for tap in stencil.taps() {
            let [z, y, x] = tap.offset;
            let (y, x) = (y + oy as i32, x + ox as i32);
            let (first, inside) = (x.div_euclid(width) * width, x.rem_euclid(width));
            let bit = 1 << (row as i32 * 4 + inside / per_word);
            let halves = masks.entry([z, y, first]).or_default();
            halves[(inside % per_word) as usize] |= bit;
        }
    }
    let item = |(chunk, [even, odd]): (Chunk, [u64; 2])| match element.per_word() {
        2 => Item { chunk, once: even | odd, twice: even & odd },
        // Of two words only one may be nonzero.
        _ => Item { chunk, once: even, twice: even },
    };
    masks.into_iter().map(item).collect()
}

/// Puts pairs together, two a step: as many as can be without bank conflicts, the others each with the
/// one with which it has the fewest. The last step may lack a pair.
fn in_steps(element: Element, tile: OutputTile, pairs: &[Pair]) -> Vec<Option<Pair>> {
    /// Candidates that are tried for each pair.
    const TRIED: usize = 64;
    let cost = |a: usize, b: usize| {
        let [first, second] = [a, b].map(|pair| (pairs[pair].0, pairs[pair].1));
        let both = |(a, b): Pair| [a, b.unwrap_or(a)];
        let ([a, b], [c, d]) = (both(first), both(second));
        wavefronts_of(element, tile, [a, b, c, d])
    };
    let matched = maximum_matching_of(pairs.len(), |a, b| cost(a, b) <= LEAST_WAVEFRONTS);
    let (mut steps, mut left): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    for (first, second) in matched {
        match second {
            Some(second) => steps.push((first, Some(second))),
            None => left.push(first),
        }
    }
    while let Some(first) = left.pop() {
        let candidates = left.len().saturating_sub(TRIED)..left.len();
        let best = candidates.min_by_key(|&index| cost(first, left[index]));
        steps.push((first, best.map(|index| left.swap_remove(index))));
    }
    // The step that lacks a pair is the last.
    steps.sort_by_key(|(first, second)| (second.is_none(), *first));
    let pair = |index: usize| pairs[index];
    steps.into_iter().flat_map(|(a, b)| [Some(pair(a)), b.map(pair)]).collect()
}

/// Wavefronts of a 16-byte load of all lanes without conflicts.
const LEAST_WAVEFRONTS: usize = LANES * CHUNK_BYTES / ROUND;

/// Wavefronts of the load of a step in which rows and planes lie as [`Pitch::fitting`] has it.
fn wavefronts_of(element: Element, tile: OutputTile, chunks: [Chunk; CHUNKS]) -> usize {
    // So large that chunks of different rows do not coincide.
    let pitch = Pitch::fitting(tile, element, 4 * ROUND, 64);
    wavefronts(element, tile, chunks.map(|chunk| offset(element, chunk, [-16, -16], pitch)))
}

fn wavefronts(element: Element, tile: OutputTile, offsets: [u32; CHUNKS]) -> usize {
    let stride = (tile.columns() * element.bytes()) as u32;
    wavefronts_16_bytes(&std::array::from_fn(|lane| {
        offsets[lane % CHUNKS] + (lane / CHUNKS) as u32 * stride
    }))
}

/// Byte offset of a chunk from [`REACH`] columns left of a tile, in the first of its planes and rows.
fn offset(element: Element, [z, y, x]: Chunk, first: [i32; 2], pitch: Pitch) -> u32 {
    let (plane, row) = ((z - first[0]) as usize, (y - first[1]) as usize);
    let column = (x + REACH as i32) as usize;
    (plane * pitch.plane + row * pitch.row + column * element.bytes()) as u32
}

impl Gather {
    /// The lookup table: for each step, the byte offset of each chunk from [`REACH`] columns left of the
    /// tile's first output, in the first plane and row.
    #[must_use]
    pub fn offsets(&self, pitch: Pitch) -> Vec<[u32; CHUNKS]> {
        let Footprint { element, first, .. } = self.footprint;
        let offset = |chunk| offset(element, chunk, first, pitch);
        self.steps.iter().map(|chunks| chunks.map(offset)).collect()
    }

    /// What the kernel is given: for each step, for 32 lanes 4 words of A each, then for each lane its
    /// metadata and the byte offset of its chunk. Then the last step twice again, which is loaded ahead but
    /// not used.
    #[must_use]
    pub fn table(&self, pitch: Pitch) -> Vec<u32> {
        let offsets = self.offsets(pitch);
        let words = SparseMma::deepest(self.footprint.element).a_words();
        let last = offsets.len() - 1;
        let step = |step: usize| {
            let operand = &self.operand[step * (words + 1) * LANES..][..(words + 1) * LANES];
            let (a, metadata) = operand.split_at(words * LANES);
            let a = (0..LANES).flat_map(move |lane| (0..words).map(move |i| a[i * LANES + lane]));
            let offsets = offsets[step];
            let rest = (0..LANES).flat_map(move |lane| [metadata[lane], offsets[lane % CHUNKS]]);
            a.chain(rest)
        };
        (0..=last).chain([last; 2]).flat_map(step).collect()
    }

    /// Wavefronts of shared memory for all loads of B of 128 outputs.
    #[must_use]
    pub fn wavefronts(&self, pitch: Pitch) -> usize {
        let Footprint { element, tile, .. } = self.footprint;
        let of_step = |offsets| wavefronts(element, tile, offsets);
        self.offsets(pitch).into_iter().map(of_step).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn steps(name: &str, element: Element) -> [usize; 2] {
        let stencil = catalogue::find(name).unwrap();
        OutputTile::ALL.map(|tile| gather_tiles(&stencil, element, tile).unwrap().steps.len())
    }

    #[test]
    fn rows_without_weights_cost_nothing_and_rows_of_15_a_step_each() {
        for (name, f16, tf32) in [
            ("star2d3r", [4, 3], [8, 5]),
            ("star3d4r", [9, 8], [18, 14]),
            ("star2d8r", [10, 6], [19, 11]),
            ("box2d7r", [15, 16], [30, 31]),
            ("box2d8r", [26, 26], [43, 43]),
            ("box3d3r", [49, 42], [74, 56]),
        ] {
            assert_eq!(steps(name, Element::F16), f16, "{name}");
            assert_eq!(steps(name, Element::Tf32), tf32, "{name}");
        }
        assert_eq!(steps("box1d8r", Element::F16)[0], 2);
    }

    #[test]
    fn few_loads_meet_in_a_bank() {
        for name in
            ["star1d1r", "box2d8r", "box2d3r", "star2d3r", "star3d4r", "star3d8r", "box3d3r"]
        {
            let stencil = catalogue::find(name).unwrap();
            for element in [Element::F16, Element::Bf16, Element::Tf32] {
                for tile in
                    OutputTile::ALL.into_iter().filter(|tile| stencil.dims() > tile.rows() - 1)
                {
                    let gather = gather_tiles(&stencil, element, tile).unwrap();
                    let [_, rows] = gather.footprint.extent;
                    let pitch = Pitch::fitting(tile, element, 560, rows + 31);
                    let least = LEAST_WAVEFRONTS * gather.steps.len();
                    let found = gather.wavefronts(pitch);
                    assert!(found <= least * 3 / 2, "{name} {element} {tile}: {found} of {least}");
                }
            }
        }
    }

    #[test]
    fn pitches_hold_rows_and_leave_their_residues() {
        for bytes in [16, 31, 32, 33, 144, 560] {
            let pitch = Pitch::fitting(OutputTile::Block, Element::F16, bytes, 7);
            assert!((bytes..bytes + ROUND).contains(&pitch.row) && pitch.row % ROUND == 32);
            assert!((7 * pitch.row..7 * pitch.row + ROUND).contains(&pitch.plane));
            assert_eq!(pitch.plane % ROUND, 96);
        }
    }

    #[test]
    fn a_stencil_that_reaches_too_far_is_refused_with_its_radius() {
        let stencil = catalogue::find("star1d9r").unwrap();
        assert_eq!(
            gather_tiles(&stencil, Element::F16, OutputTile::Row).unwrap_err().to_string(),
            "the gather kernels take radius up to 8 on each axis; this stencil has 9"
        );
    }
}
